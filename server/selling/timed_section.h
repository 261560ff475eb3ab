/*
 * timed_section.h - the frame of the strategies whose lock is the article's own, made of plain
 * commands and renewed by a timer.
 *
 * As locked_section.h: take the lock, sell, give it back. How that is done stands in the
 * strategy's descriptor as a `timed_lock`: three steps, and when a renewal is due.
 */
#ifndef FLASHSALE_TIMED_SECTION_H
#define FLASHSALE_TIMED_SECTION_H

#include "server/selling/strategy.h"
#include "server/selling/timer_wheel.h"

#include <stdatomic.h>

#define TIMED_IO_MS 1000 /* for a renewal, and for a release */

/* One buyer's lock, while it is asked for and held. */
typedef struct timed_hold {
    const open_sale *sale;
    dlock_time deadline; /* of the step that runs */
    char lease_ms[24];   /* as a word of a command */
    char value[192];     /* the lock's, as we believe it stands in Redis; at first a token that no
                            other hold has */
    int renewals;        /* so far */
    atomic_bool lost;    /* a renewal failed */
    wheel_timer timer;
} timed_hold;

typedef enum timed_try { TRY_TAKEN, TRY_HELD, TRY_FAILED } timed_try;

typedef struct timed_lock {
    int tenths[2];     /* of the lease: until the first renewal, and from one to the next */
    int renewals_most; /* 0 = any number */
    bool loss_cancels; /* what is not yet written when a renewal fails, is not written any more */

    timed_try (*try)(timed_hold *hold);
    bool (*renew)(timed_hold *hold); /* false: the lock is not ours, or nobody knows */
    void (*release)(timed_hold *hold);
} timed_lock;

/* For the steps. Runs a command; its reply as a word, "" = nothing. False: no answer; logged. */
bool timed_ask(const timed_hold *hold, const char *const *words, char ret[24]);

/* Likewise. Runs a script on the lock's key, TIMED_SCRIPT(its name, its text); its number, -1 = no
 * answer; logged. */
int timed_script(const timed_hold *hold, dlock_script *script, const char *const *arguments);
#define TIMED_SCRIPT(name, body) DLOCK_SCRIPT(name, "#!lua flags=allow-oom\n" body)

/* A strategy's buy(). */
void timed_section_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result);

#endif
