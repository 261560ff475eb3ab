/*
 * open_sale.h - a sale that is open in this process, as its strategy sees it.
 */
#ifndef FLASHSALE_OPEN_SALE_H
#define FLASHSALE_OPEN_SALE_H

#include "server/store/known_ledger.h"
#include "server/store/ledger.h"
#include "server/store/purchase.h"
#include "server/store/terms.h"

/* What was seen of a sale's numbers at the last look at Redis. */
typedef struct sale_figures {
    _Atomic int64_t remaining, units, orders, reserved;
    atomic_bool seen;
} sale_figures;

/* Its own are made by sale_open(). */
typedef struct open_sale {
    sale_terms terms;
    const struct fs_strategy *strategy;
    fs_store *store;       /* (borrowed) */
    int key_sets;          /* 1, or one a segment */
    sale_keys *keys;       /* so many; keys[0] is the only one of a sale that is not sharded */
    dlock_args *words;     /* so many: what the scripts' words begin with, always the same */
    int state_keys;        /* how many of them are keys */
    int64_t *units;        /* so many: units with which it began */
    known_ledger *known;   /* so many */
    sale_figures *figures; /* of all */
    int64_t request_ms;    /* terms_request_ms() */
} open_sale;

/* Opens a sale on these terms; its strategy's own open() is the caller's. False: out of memory. */
bool sale_open(open_sale *ret, const sale_terms *terms, const struct fs_strategy *strategy,
               fs_store *store);
void sale_close(open_sale *sale);

/* Makes a lock for buyers of the sale, with the sale's lease. */
dlock_status sale_lock_new(const open_sale *sale, const dlock_options *options, const char *name,
                           dlock_lock **ret, char *err, size_t err_len);

/* Who has the lock of set k, which is of this kind, and how many wait for it. A quorum's is looked
 * at on its first server, and counts as free while that one is away. False: not answered. */
bool sale_lock_look(const open_sale *sale, dlock_kind kind, int k, dlock_info *ret);

/* The server that has the sale's keys of set k. */
fs_node *sale_node(const open_sale *sale, int k);

/* Why that server, `node`, is not to be sold from at present: BUY_WRITES_PAUSED, or what it does
 * not keep of what the sale needs: BUY_MAY_EVICT, _NOT_DURABLE; BUY_UNAVAILABLE = it does not
 * answer, so nobody knows; BUY_SOLD = nothing. */
purchase_outcome sale_missing_promise(const open_sale *sale, int k, const fs_node *node);

/* Appends the keys and the first arguments of a script that begins with state.lua and writes. The
 * epochs, the newest first, that it writes under. (borrowed) */
const char *sale_put_state(dlock_args *args, const open_sale *sale, const sale_keys *keys);

/* Remembers an order under `keys`: a Redis that does not have it has forgotten. Of a replicated
 * sale only orders that the replicas have are to be remembered: a failover may undo the others, and
 * nobody was told of them. */
void sale_saw_order(const open_sale *sale, const sale_keys *keys, const fs_order *order);

/* The numbers of the whole sale at the last look (sale/sale_check.h), which one thread at a time
 * takes. False: there was none. Of two looks the earlier units and the later stock may come
 * together, which never makes more updates lost than were. */
void sale_saw_numbers(const open_sale *sale, const ledger_numbers *numbers);
bool sale_last_seen(const open_sale *sale, ledger_numbers *ret);

/* Whether the buyer may be told of this order: it is one, and in a replicated sale the replicas
 * have it. */
bool sale_may_tell(const open_sale *sale, const purchase_result *result);

/* A script's answer to one buyer, from the stock under `keys`. What is no text (or NULL) says
 * nothing: BUY_UNKNOWN. */
void sale_answer(const open_sale *sale, const sale_keys *keys, const redisReply *answer,
                 const purchase *asked, purchase_result *result);

/* The answer to a buyer who was sold to: result->order is written, under `keys`. */
void sale_sold(const open_sale *sale, const sale_keys *keys, purchase_result *result);

/* Makes the critical section last as long as the sale says, but not beyond the deadline. */
void sale_hold(const open_sale *sale, dlock_time deadline);

#endif
