/*
 * strategy.h - a way to sell: the one interface behind which all of them live.
 *
 * To add a strategy: write strategies/NAME.c with one `const strategy strategy_NAME`, and add one
 * line to strategies/registry.c. Nothing else in the service knows any strategy by name.
 *
 * Life cycle: open() once a sale and process, then buy() from any number of threads, then close()
 * when no buy() is under way. open() makes locks and threads, but does not ask Redis.
 */
#ifndef FLASHSALE_STRATEGY_H
#define FLASHSALE_STRATEGY_H

#include "server/store/purchase.h"
#include "server/store/terms.h"

typedef struct fs_strategy {
    const char *name;
    const char *summary;  /* how it sells */
    const char *source;   /* where it comes from */
    const char *weakness; /* what goes wrong with it, or what it costs */
    bool locked;          /* there is a lock, so hold_ms means something */
    bool renews;          /* the lock's lease is renewed */
    bool replayable;      /* one script decides, so asking again after an unknown outcome is
                             answered by the record of the first try, if there is one */
    bool guarded;         /* one script decides and writes, so nothing is oversold whatever
                             happens to the lock */
    bool sharded;         /* the stock is split into segments */
    int64_t lease_ms;     /* defaults; the sale's own terms override them */
    int64_t wait_ms;

    /* 0 and *state, or -1 and a sentence in err. `terms` outlives the state. */
    int (*open)(const sale_terms *terms, void **state, char *err, size_t err_len);
    void (*buy)(void *state, const buy_request *request, buy_result *result);
    void (*close)(void *state);
} fs_strategy;

/* All strategies, in the order of the documents; ends with NULL. */
extern const fs_strategy *const strategy_list[];

/* NULL: no such strategy. */
const fs_strategy *strategy_find(const char *name);

/* Their names in one line, "none, setnx, ...", for error texts. */
const char *strategy_names(void);

#endif
