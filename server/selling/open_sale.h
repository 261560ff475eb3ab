/*
 * open_sale.h - a sale that is open in this process, as its strategy sees it.
 */
#ifndef FLASHSALE_OPEN_SALE_H
#define FLASHSALE_OPEN_SALE_H

#include "server/store/known_ledger.h"
#include "server/store/ledger.h"
#include "server/store/purchase.h"
#include "server/store/terms.h"

/* A sale's numbers at the last look at Redis. */
typedef struct sale_figures {
    _Atomic int64_t remaining, units, orders, reserved;
    atomic_bool seen;
} sale_figures;

/* sale_open() makes all members that are not borrowed. */
typedef struct open_sale {
    sale_terms terms;
    const struct fs_strategy *strategy;
    fs_store *store;   /* (borrowed) */
    int key_sets;      /* 1, or one per segment; the length of the next arrays */
    sale_keys *keys;   /* [0] is the only one of a sale that is not sharded */
    dlock_args *words; /* the first words of its scripts, which never change */
    int state_keys;    /* how many of those words are keys */
    int64_t *units;    /* units at the start */
    known_ledger *known;
    sale_figures *figures; /* of all segments */
    int64_t request_ms;    /* terms_request_ms() */
} open_sale;

/* Opens a sale on these terms. The caller calls the strategy's open(). False: out of memory. */
bool sale_open(open_sale *ret, const sale_terms *terms, const struct fs_strategy *strategy,
               fs_store *store);
void sale_close(open_sale *sale);

/* Makes a lock for buyers of the sale, with the sale's lease. */
dlock_status sale_lock_new(const open_sale *sale, const dlock_options *options, const char *name,
                           dlock_lock **ret, char *err, size_t err_len);

/* The holder and the number of waiters of set k's lock, which is of this kind. Of a quorum only the
 * first server is asked; while that one is away, the lock counts as free. False: no answer. */
bool sale_lock_look(const open_sale *sale, dlock_kind kind, int k, dlock_info *ret);

/* The server of the sale's keys in set k. */
fs_node *sale_node(const open_sale *sale, int k);

/* Why the sale must not sell from that server, `node`, now: BUY_WRITES_PAUSED; BUY_MAY_EVICT or
 * _NOT_DURABLE, as it breaks a promise of the sale; BUY_UNAVAILABLE = it does not answer, so this
 * is unknown; BUY_SOLD = no reason. */
purchase_outcome sale_missing_promise(const open_sale *sale, int k, const fs_node *node);

/* Appends the keys and the first arguments of a script that begins with state.lua and writes.
 * Returns the epochs, newest first; the script writes under the newest. (borrowed) */
const char *sale_put_state(dlock_args *args, const open_sale *sale, const sale_keys *keys);

/* Remembers an order under `keys`: a Redis without it has lost data. In a replicated sale remember
 * only orders that the replicas have: a failover may undo others, and no buyer was told of those.
 */
void sale_saw_order(const open_sale *sale, const sale_keys *keys, const fs_order *order);

/* The numbers of the whole sale at the last look (sale/sale_check.h); one thread at a time looks.
 * False: there was no look. A reader may get the units of one look and the stock of the next; that
 * never overstates lost updates. */
void sale_saw_numbers(const open_sale *sale, const ledger_numbers *numbers);
bool sale_last_seen(const open_sale *sale, ledger_numbers *ret);

/* Whether the result is an order that the buyer may be told: in a replicated sale the replicas must
 * have it. */
bool sale_may_tell(const open_sale *sale, const purchase_result *result);

/* Reads a script's answer to one buyer, from the stock under `keys`. NULL, or a reply that is not
 * text, means BUY_UNKNOWN. */
void sale_answer(const open_sale *sale, const sale_keys *keys, const redisReply *answer,
                 const purchase *asked, purchase_result *result);

/* Fills in the answer after a sale: result->order is written under `keys`. */
void sale_sold(const open_sale *sale, const sale_keys *keys, purchase_result *result);

/* Makes the critical section last as long as the sale says, but not beyond the deadline. */
void sale_hold(const open_sale *sale, dlock_time deadline);

#endif
