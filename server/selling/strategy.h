/*
 * strategy.h - the interface of all strategies: ways to sell.
 *
 * A strategy is one file, strategies/NAME.c, with one `const fs_strategy strategy_NAME`. The build
 * finds it there; nothing else in the service depends on its name. Most strategies use the
 * functions of a frame (locked_section.h, timed_section.h, batch_section.h, transaction.h), and
 * differ only in their descriptor.
 *
 * Life cycle: open() once per sale and process; then buy() from any number of threads; then
 * close(), when no buy() is running. open() makes locks, but does not ask Redis. A strategy without
 * state has neither open() nor close().
 *
 * Tests stop a strategy at FAIL_POINTs, so it must pass them: "locked" when it has acquired its
 * lock, "in-section" between its decision and its first write, "written" after its last write; and,
 * unless it is `guarded`, "half-written" when the units are taken and the order is not yet
 * recorded. The frames pass them, except transaction.h and sell.h.
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
    int place;            /* in lists; strategies without one come last */

    /* What a strategy claims, and the tests of each claim. Every strategy makes at most one order
     * per request, and none after its not_after_us (tests/server/test_buy.c, test_not_after.c). */

    /* One atomic step decides and writes units and order. So nothing is oversold or lost, whatever
     * happens to lock, connection or process (test_schedule.c, test_scripts.c; the matrix: held
     * under each fault that the sale's durability covers). An unguarded strategy sells one unit
     * twice in test_schedule.c. */
    bool guarded;
    /* A retry after BUY_UNKNOWN, which checkout.c makes, returns the order of the first try; and if
     * the first try arrives later, it makes no order (the matrix: lost-reply, late-command). */
    bool replayable;
    /* Units can be reserved, and return (store/reservations.h). This requires that sell() makes all
     * writes (test_reservations.c, and the matrix): a strategy that reads first and writes later
     * would return units twice. */
    bool reserves;
    /* It has a lock, so hold_ms applies. A buyer whose wait for the lock times out gets BUY_BUSY
     * (test_schedule.c). An unguarded one oversells when its holder is paused for longer than the
     * lease (the matrix: stale-write; without `renews` also pause). */
    bool locked;
    /* The lease is extended while the lock is held (test_long_section.c). */
    bool renews;
    /* The stock is split into segments; segment k has keys[k] (test_buy.c). */
    bool sharded;

    int64_t lease_ms; /* defaults; the sale's terms override them */
    int64_t wait_ms;

    dlock_options lock;             /* for a frame with a lock of libdlock, which fills in the
                                       lease */
    const struct timed_lock *timed; /* for timed_section.h: the lock's steps */

    /* 0 and *ret, or -1 and a sentence in err. NULL: the strategy has no state. */
    int (*open)(const open_sale *sale, void **ret, char *err, size_t err_len);
    /* Answers `result` in every case, by the request's deadline. */
    void (*buy)(const open_sale *sale, void *state, const purchase *request,
                purchase_result *result);
    void (*close)(void *state);
} fs_strategy;

#endif
