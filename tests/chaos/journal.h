/*
 * journal.h - the history of a cell: what its buyers asked and were told, what was done to the
 * service meanwhile, what was there at rest. tests/tools/buycheck/buys.h has the format.
 *
 * One line an event, in one write; any thread. Times are µs of CLOCK_MONOTONIC.
 */
#ifndef TESTS_CHAOS_JOURNAL_H
#define TESTS_CHAOS_JOURNAL_H

#include <stdint.h>

/* Begins a history; fails the running test when the file can not be made. */
void journal_open(const char *path);

/* Writes a line, without its newline. */
void journal(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends it: without this it is taken for cut off. */
void journal_close(void);

int64_t journal_now_us(void);

#endif
