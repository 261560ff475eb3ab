/*
 * strategy.h - a way to sell: the one interface behind which all of them live.
 *
 * A strategy is one file, strategies/NAME.c, with one `const fs_strategy strategy_NAME`. The build
 * finds it there; nothing else that the service does depends on its name.
 *
 * Life cycle: open() once a sale and process, then buy() from any number of threads, then close()
 * when no buy() is under way. open() makes locks, but does not ask Redis. A strategy
 * that keeps nothing has neither. Most have a frame's functions (locked_section.h,
 * timed_section.h, batch_section.h) and differ only in what they tell it.
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
    bool standard;        /* the one that sells when none is named */

    bool locked;     /* there is a lock, so hold_ms means something */
    bool renews;     /* the lock's lease is renewed */
    bool replayable; /* one script decides, so asking again after an unknown outcome is answered by
                        the record of the first try, if there is one */
    bool guarded;    /* one script decides and writes, so nothing is oversold whatever happens to
                        the lock */
    bool sharded;    /* the stock is split into segments */

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
