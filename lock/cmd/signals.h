/*
 * The signals that dlock catches while it runs a command under a lock: all are blocked before the
 * library starts its threads, and read from one signalfd.
 */
#ifndef DLOCK_CMD_SIGNALS_H
#define DLOCK_CMD_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

/* Blocks them, except those that were ignored at the start. *before is the mask of before, *fd the
 * signalfd. False: there is none, errno says why. */
bool signals_catch(sigset_t *caught, sigset_t *before, int *fd);

/* Whether a signal ends the program on the spot: as long as there is nothing to give back. */
void signals_end_us(const sigset_t *caught, bool yes);

/* The next signal that ends a wait, or 0. Takes the others, which are meant for a command that does
 * not run yet. */
int signals_ending(int fd);

#endif
