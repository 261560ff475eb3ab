/*
 * timed_section.h - the frame of the strategies that build their article's lock from plain commands
 * and renew it by a timer.
 *
 * As in locked_section.h: acquire the lock, sell, release it. The strategy's descriptor defines the
 * lock as a `timed_lock`: its three steps, and when renewals are due.
 */
#ifndef FLASHSALE_TIMED_SECTION_H
#define FLASHSALE_TIMED_SECTION_H

#include "server/selling/strategy.h"
#include "server/selling/timer_wheel.h"

#include <stdatomic.h>

#define TIMED_IO_MS 1000 /* for a renewal, and for a release */

/* One buyer's lock, from the first try to its release. */
typedef struct timed_hold {
    const open_sale *sale;
    dlock_time deadline; /* of the current step */
    char lease_ms[24];   /* as a word of a command */
    char value[192];     /* the lock's value in Redis, as far as we know; at first a token that is
                            unique to this hold */
    int renewals;        /* so far */
    atomic_bool lost;    /* a renewal failed */
    wheel_timer timer;
} timed_hold;

typedef enum timed_try { TRY_TAKEN, TRY_HELD, TRY_FAILED } timed_try;

typedef struct timed_lock {
    int tenths[2];     /* of the lease: until the first renewal, and between renewals */
    int renewals_most; /* 0 = any number */
    bool loss_cancels; /* after a failed renewal nothing more is written */

    timed_try (*try)(timed_hold *hold);
    bool (*renew)(timed_hold *hold); /* false: the lock is not ours, or this is unknown */
    void (*release)(timed_hold *hold);
} timed_lock;

/* For the steps. Runs a command; ret gets its reply as a word, "" = nil. False: no answer; logged.
 */
bool timed_ask(const timed_hold *hold, const char *const *words, char ret[24]);

/* For the steps. Runs a script, TIMED_SCRIPT(name, text), on the lock's key, and returns its
 * number; -1 = no answer; logged. */
int timed_script(const timed_hold *hold, dlock_script *script, const char *const *arguments);
#define TIMED_SCRIPT(name, body) DLOCK_SCRIPT(name, "#!lua flags=allow-oom\n" body)

/* A strategy's buy(). */
void timed_section_buy(const open_sale *sale, void *state, const purchase *request,
                       purchase_result *result);

#endif
