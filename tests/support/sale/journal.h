/*
 * journal.h - writes the history of a sale: what its buyers asked and were told, what was done to
 * the service meanwhile, what was there at rest. loadtest/history/format.h has the format.
 *
 * One line an event; any thread. Times are us of CLOCK_MONOTONIC.
 */
#ifndef TESTS_SUPPORT_SALE_JOURNAL_H
#define TESTS_SUPPORT_SALE_JOURNAL_H

#include <stdint.h>

typedef struct journal journal;

/* Begins a history; fails the running test when the file can not be made. */
journal *journal_open(const char *path);

/* Writes a line, without its newline. */
void journal_write(journal *to, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* It will lack something that happened: why, in one word. */
void journal_lacks(journal *to, const char *why);

/* Ends it, and frees it: without this it is taken for cut off. */
void journal_close(journal *history);

int64_t journal_now_us(void);

/* us since 1970, by the machine's clock, which is Redis's where no test moves it. */
int64_t journal_wall_us(void);

#endif
