/*
 * strategy.h - a way to sell: the one interface behind which all of them live.
 *
 * A strategy is one file, strategies/NAME.c, with one `const fs_strategy strategy_NAME`. The build
 * finds it there; in the service nothing else depends on its name. Most have a frame's functions
 * (locked_section.h, timed_section.h, batch_section.h, transaction.h) and differ only in what they
 * tell it.
 *
 * Life cycle: open() once a sale and process, then buy() from any number of threads, then close()
 * when no buy() is under way. open() makes locks, but does not ask Redis. A strategy
 * that keeps nothing has neither.
 *
 * Tests stop a strategy at FAIL_POINTs, which it has to pass: "locked" when it has its lock,
 * "in-section" between its decision and its first write, "written" behind its last one; without
 * `guarded` also "half-written", when the units are taken and the order is not recorded. All frames
 * but transaction.h and sell.h pass them.
 */
#ifndef FLASHSALE_STRATEGY_H
#define FLASHSALE_STRATEGY_H

#include "server/selling/open_sale.h"

struct timed_lock;

typedef struct fs_strategy {
    const char *name;
    const char *summary;  /* how it sells */
    const char *source;   /* where it comes from */
    const char *weakness; /* what goes wrong with it, or what it costs */
    int place;            /* in lists; those without one come last */

    /* What a strategy claims, and the tests that hold it to that. All make one order of a request
     * at most, and none after its not_after_us (tests/server/test_buy.c, test_not_after.c). */

    /* One step decides and writes units and order: nothing is oversold or lost whatever happens to
     * lock, connection or process (test_schedule.c, test_scripts.c; the matrix: held under each
     * fault that the sale's durability covers). One that is not sells two of one in
     * test_schedule.c. */
    bool guarded;
    /* Asking again after BUY_UNKNOWN, as checkout.c does, is answered by the order of the first
     * try, and that makes none if it comes later (the matrix: lost-reply, late-command). */
    bool replayable;
    /* Units can be reserved, and return (store/reservations.h): all that it writes is written by
     * sell() (test_reservations.c, and the matrix). Who reads first and writes later would return
     * stock twice. */
    bool reserves;
    /* There is a lock, so that hold_ms means something; a buyer who waits for it in vain is told
     * BUY_BUSY (test_schedule.c). One that is not guarded, too, oversells when its holder is
     * stopped for longer than the lease (the matrix: stale-write; without `renews` pause). */
    bool locked;
    /* Its lease is extended while it is held (test_long_section.c). */
    bool renews;
    /* The stock is split into segments, keys[k] being those of one (test_buy.c). */
    bool sharded;

    int64_t lease_ms; /* defaults; the sale's own terms override them */
    int64_t wait_ms;

    dlock_options lock;             /* for a frame with a lock of libdlock; the lease is the frame's
                                       to fill in */
    const struct timed_lock *timed; /* for timed_section.h: the lock's own steps */

    /* 0 and *ret, or -1 and a sentence in err. NULL: there is no state. */
    int (*open)(const open_sale *sale, void **ret, char *err, size_t err_len);
    /* Answers `result` in every case, by the request's deadline. */
    void (*buy)(const open_sale *sale, void *state, const purchase *request,
                purchase_result *result);
    void (*close)(void *state);
} fs_strategy;

#endif
