/*
 * timed_section.h - the frame of the strategies whose lock is renewed by a timer of the article's
 * own.
 *
 * As locked_section.h, for those who ask for the lock with words of their own.
 */
#ifndef FLASHSALE_TIMED_SECTION_H
#define FLASHSALE_TIMED_SECTION_H

#include "server/selling/read_then_write.h"
#include "server/selling/timer_wheel.h"

typedef struct fs_timed {
    const sale_terms *terms; /* (borrowed) */
    fs_wheel *wheel;
    char lease_ms[24]; /* as a word of a command */
} fs_timed;

/* A strategy's open() and close(): *state becomes an fs_timed. */
int timed_open(const sale_terms *terms, void **state, char *err, size_t err_len);
void timed_close(void *state);

#endif
