/*
 * The command that `dlock run` runs: start it, pass signals on, learn its end.
 *
 * A command started from a terminal stays in the terminal's process group, so that Ctrl-C, Ctrl-Z
 * and reading from the terminal work as without dlock. Any other gets a group of its own, so that
 * ending it also ends what it started.
 */
#ifndef DLOCK_CMD_CHILD_H
#define DLOCK_CMD_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <sys/signalfd.h>
#include <sys/types.h>

typedef struct child_process {
    pid_t pid;
    bool own_group;
} child_process;

/* Starts the command with the given signal mask; the environment is this process's. The command
 * gets SIGTERM should this process die. False and errno when there is no process to be had; a
 * command that can not be started ends with 126 or 127 and has said why. */
bool child_start(child_process *child, char **argv, const sigset_t *mask);

/* Sends a signal to the command, and to all of its group if it has one of its own. */
void child_signal(const child_process *child, int signo);

/* Passes on a signal that this process got, unless the terminal sent it to the command as well. */
void child_forward(const child_process *child, const struct signalfd_siginfo *info);

/* Whether the command has ended; then *ret is its exit code, 128 + N after signal N. */
bool child_ended(const child_process *child, int *ret);

#endif
