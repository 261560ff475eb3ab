/*
 * terms.h - the terms of one sale, which Redis keeps and which never change.
 *
 * All instances read the same terms, so all sell in the same way. They are one hash, `cfg`, under
 * the item's own tag. Its digest reveals damage. (Each segment of a sharded sale has a copy, which
 * the starting script writes and which is never read.)
 */
#ifndef FLASHSALE_TERMS_H
#define FLASHSALE_TERMS_H

#include "server/store/halt.h"
#include "server/store/keys.h"
#include "server/store/reservations.h"

#define SEGMENTS_MAX      16
#define REPLICAS_MAX      16
#define STRATEGY_NAME_MAX 31

typedef enum durability {
    DURABILITY_MEMORY = 0, /* an order is acknowledged once Redis has it in memory */
    DURABILITY_REPLICATED, /* ... once its replicas have it too; see replicas.h */
    DURABILITY_DISK,       /* ... once Redis has synced it to disk (AOF "always") */
    DURABILITY_LEVELS
} durability;

typedef struct sale_terms {
    char item[IDENT_MAX + 1];
    char id[IDENT_MAX + 1]; /* unique per run; later sales of an item have larger ones */
    char strategy[STRATEGY_NAME_MAX + 1];
    int64_t initial;        /* units */
    int64_t per_user_limit; /* units; 0 = none */
    int64_t lease_ms;
    int64_t wait_ms;       /* how long a buyer waits for the lock; 0 = not at all */
    int64_t reserve_max_s; /* the longest reservation; 0 = none (reservations.h) */
    int64_t hold_ms;       /* how long the critical section is made to last */
    durability durability;
    int min_replicas;             /* replicated: at least so many must have an order; else 0 */
    int segments;                 /* 0 unless sharded */
    char previous[IDENT_MAX + 1]; /* the sale before; empty = none */
    int previous_segments;        /* the most that any earlier sale had: an instance that opens
                                     this one closes them all, whichever sale they hold */
    char replaces[IDENT_MAX + 1]; /* the halted sale that it is to replace; not kept */
    bool segments_started;        /* each segment got its stock, and none gets it again; those of
                                     earlier sales are closed */
    int64_t accepted; /* when the admin last accepted a loss of data, by resuming or replacing a
                         halted sale: Unix time in us by Redis's clock, never the same twice; 0 =
                         never */
} sale_terms;

const char *durability_name(durability level);

/* False: no such level. */
bool durability_find(const char *name, durability *ret);

/* ---- what follows from them ------------------------------------------------------------------ */

/* A request is answered within this time and writes nothing later, unless the sale lets buyers wait
 * longer. It is the only deadline of all work for the request. */
#define REQUEST_MS 10000
int64_t terms_request_ms(const sale_terms *terms);

/* The longest hold_ms that still lets a buyer buy in that time. */
int64_t terms_hold_most_ms(const sale_terms *terms);

/* How many sets of keys the sale has, at least 1; and the names in set k, from 0 on. */
int terms_key_sets(const sale_terms *terms);
void terms_keys(const sale_terms *terms, int k, sale_keys *ret);

/* The initial units of segment k: equal parts of the stock; the first segments get one of the
 * remaining units each. */
int64_t terms_units(const sale_terms *terms, int segment);

/* The node of the server with the item's own tag: the terms, and the pointer to the sale. */
fs_node *terms_node(fs_store *store, const char *item);

/* ---- in Redis -------------------------------------------------------------------------------- */

/* The status of an item's sale. */
typedef enum sale_status {
    SALE_OK = 0,
    SALE_NONE,       /* the item has no sale */
    SALE_HALTED,     /* it must not sell before the admin decides; see halt.h */
    SALE_DAMAGED,    /* the pointer or the terms are damaged */
    SALE_UNREADABLE, /* it is for another version: another schema, or a strategy that this program
                        does not have */
    SALE_UNAVAILABLE /* Redis did not answer */
} sale_status;

/* The value of a tag's pointer. */
typedef struct sale_current {
    char text[POINTER_MAX + 1]; /* as in Redis; "" = none */
    char id[IDENT_MAX + 1];     /* of the sale in force, or of the halted one */
    sale_halt halt;             /* SALE_HALTED */
} sale_current;

/* The sale in force under a tag, the item's own (SEGMENT_NONE) or a segment's: SALE_OK, _HALTED,
 * _NONE, _DAMAGED, _UNAVAILABLE. Only sale/sale_check.h reads pointers in another way. */
sale_status terms_in_force(fs_store *store, const char *item, int segment, dlock_time deadline,
                           sale_current *ret);

/* An item and its current sale. */
typedef struct sale_pointer {
    char item[IDENT_MAX + 1];
    int server;         /* of the item's own tag; see store_node_at() */
    sale_status status; /* SALE_OK, _HALTED, _NONE, _DAMAGED */
    char id[IDENT_MAX + 1];
} sale_pointer;

/* The same for many items at once, on the caller's connection: fills in status and id. False: no
 * answer by the deadline, and some were not filled in. */
bool terms_in_force_all(dlock_redis_conn *conn, sale_pointer *pointers, int count,
                        dlock_time deadline);

/* Reads the terms of sale `id`; on failure err (NULL is allowed) gets a sentence. SALE_OK, _NONE
 * (there are none), _DAMAGED, _UNREADABLE, _UNAVAILABLE. Does not check whether this program has
 * the strategy. */
sale_status terms_read(fs_store *store, const char *item, const char *id, dlock_time deadline,
                       sale_terms *ret, char *err, size_t err_len);

/* The same from the hash's fields and values, read at `now_us` by the server's clock: SALE_OK,
 * _DAMAGED, _UNREADABLE. */
sale_status terms_from(const redisReply *hash, const char *item, const char *id, int64_t now_us,
                       sale_terms *ret, char *err, size_t err_len);

/* Whether both are the terms of one sale; `accepted` may differ. */
bool terms_same(const sale_terms *a, const sale_terms *b);

/* Appends the fields and values of the hash. */
void terms_put(dlock_args *args, const sale_terms *terms);

/* For scripts that begin with state.lua: the first appends their keys and returns the number of
 * keys, the second appends their first arguments. They write under the newest of the `epochs` ("" =
 * they only read); `known` is the highest order number seen in it, 0 = none. */
#define STATE_KEYS 7 /* of a sale without reservations */
int terms_put_keys(dlock_args *args, const sale_keys *keys);
void terms_put_caller(dlock_args *args, const sale_terms *terms, const char *epochs, int64_t known);

/* Both, for a reader of segment k that has seen no order. Returns the number of keys. */
int terms_put_segment(dlock_args *args, const sale_terms *terms, int k);

/* Logs that the sale's data in Redis are damaged: `what` names the key or its value. */
void terms_log_damage(const sale_terms *terms, const char *what);

#endif
