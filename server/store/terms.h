/*
 * terms.h - the terms of one sale, as they stand in Redis and never change.
 *
 * All instances read the same terms, so all sell in the same way. They are one hash, `cfg`, under
 * the item's own tag, with a digest by which a damaged one is known. (Each segment of a sharded
 * sale has a copy, which the script that starts it leaves there and nobody reads.)
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
    DURABILITY_MEMORY = 0, /* acknowledged when Redis has it in memory */
    DURABILITY_REPLICATED, /* acknowledged when its replicas have it, too; see replicas.h */
    DURABILITY_DISK,       /* acknowledged when Redis has it on disk (AOF "always") */
    DURABILITY_LEVELS
} durability;

typedef struct sale_terms {
    char item[IDENT_MAX + 1];
    char id[IDENT_MAX + 1]; /* unique per run; later sales of an item have larger ones */
    char strategy[STRATEGY_NAME_MAX + 1];
    int64_t initial;        /* units */
    int64_t per_user_limit; /* units; 0 = none */
    int64_t lease_ms;
    int64_t wait_ms;       /* how long a buyer waits for the lock; 0 = fails fast */
    int64_t reserve_max_s; /* how long a unit may be reserved; 0 = not at all (reservations.h) */
    int64_t hold_ms;       /* how long the critical section lasts on purpose */
    durability durability;
    int min_replicas;             /* replicated: so many have an order at least; otherwise 0 */
    int segments;                 /* 0 unless sharded */
    char previous[IDENT_MAX + 1]; /* the sale before; empty = none */
    int previous_segments;        /* the most that any sale before had: whoever takes this one up
                                     closes them all, whichever sale they hold */
    char replaces[IDENT_MAX + 1]; /* the halted sale in whose place it is to be started; not kept */
    bool segments_started;        /* each segment has been given its stock, and none is given it
                                     again; those of the sales before are closed */
    int64_t accepted; /* when the admin has said last that it may go on although Redis has forgotten
                         something, by a resumption or by a start in place of a halted sale: Unix
                         time in us by Redis's clock, never the same twice; 0 = not at all */
} sale_terms;

const char *durability_name(durability level);

/* False: no such level. */
bool durability_find(const char *name, durability *ret);

/* ---- what follows from them ------------------------------------------------------------------ */

/* A request is answered in this time, and writes nothing after it, unless the sale lets its buyers
 * wait longer: the one deadline of all that is done for it. */
#define REQUEST_MS 10000
int64_t terms_request_ms(const sale_terms *terms);

/* The longest hold_ms with which a buyer can still be sold to in that time. */
int64_t terms_hold_most_ms(const sale_terms *terms);

/* How many sets of keys the sale has, at least 1; and the names in set k, from 0 on. */
int terms_key_sets(const sale_terms *terms);
void terms_keys(const sale_terms *terms, int k, sale_keys *ret);

/* Units with which segment k began: of a sharded sale's stock equal parts, what is left over one by
 * one from the first. */
int64_t terms_units(const sale_terms *terms, int segment);

/* The node of the server that has the item's own tag: its terms, and which sale is current. */
fs_node *terms_node(fs_store *store, const char *item);

/* ---- in Redis -------------------------------------------------------------------------------- */

/* How it stands with an item's sale. */
typedef enum sale_status {
    SALE_OK = 0,
    SALE_NONE,       /* the item has no sale */
    SALE_HALTED,     /* it must not sell before the admin says so; see halt.h */
    SALE_DAMAGED,    /* the pointer or the terms are not what they were, or are no terms at all */
    SALE_UNREADABLE, /* it is there but not for this program: another schema, or a strategy that it
                        does not have */
    SALE_UNAVAILABLE /* Redis did not answer */
} sale_status;

/* What stands under a tag's pointer. */
typedef struct sale_current {
    char text[POINTER_MAX + 1]; /* as it stands there; "" = nothing */
    char id[IDENT_MAX + 1];     /* of the sale in force, or of the halted one */
    sale_halt halt;             /* SALE_HALTED */
} sale_current;

/* The sale in force under a tag, the item's own (SEGMENT_NONE) or a segment's: SALE_OK, _HALTED,
 * _NONE, _DAMAGED, _UNAVAILABLE. Only who compares (sale/sale_check.h) reads pointers otherwise. */
sale_status terms_in_force(fs_store *store, const char *item, int segment, dlock_time deadline,
                           sale_current *ret);

/* An item, and what is known of its current sale. */
typedef struct sale_pointer {
    char item[IDENT_MAX + 1];
    int server;         /* that has the item's own tag; see store_node_at() */
    sale_status status; /* SALE_OK, _HALTED, _NONE, _DAMAGED */
    char id[IDENT_MAX + 1];
} sale_pointer;

/* The same for many items at once, on a connection of the caller's: fills in status and id.
 * False: not answered by the deadline, and some were not filled in. */
bool terms_in_force_all(dlock_redis_conn *conn, sale_pointer *pointers, int count,
                        dlock_time deadline);

/* The terms of sale `id`, with a sentence in err (NULL: none) when they can not be had. SALE_OK,
 * _NONE (there are none), _DAMAGED, _UNREADABLE, _UNAVAILABLE. Does not look whether this program
 * has the strategy. */
sale_status terms_read(fs_store *store, const char *item, const char *id, dlock_time deadline,
                       sale_terms *ret, char *err, size_t err_len);

/* The same from the hash's fields and values, as they were at that time by its server's clock:
 * SALE_OK, _DAMAGED, _UNREADABLE. */
sale_status terms_from(const redisReply *hash, const char *item, const char *id, int64_t now_us,
                       sale_terms *ret, char *err, size_t err_len);

/* Whether two are the same terms of the same sale, whatever the admin has accepted. */
bool terms_same(const sale_terms *a, const sale_terms *b);

/* Appends the fields and values of the hash. */
void terms_put(dlock_args *args, const sale_terms *terms);

/* Appends the keys, of which there are so many, and then the first arguments, of the scripts that
 * begin with state.lua: they write under the newest of the `epochs`, "" = they only read, in which
 * `known` is the highest order number seen, 0 = none. */
#define STATE_KEYS 7 /* of a sale without reservations */
int terms_put_keys(dlock_args *args, const sale_keys *keys);
void terms_put_caller(dlock_args *args, const sale_terms *terms, const char *epochs, int64_t known);

/* Begins the words of such a script for segment k, by somebody who has seen no order. How many keys
 * they have. */
int terms_put_segment(dlock_args *args, const sale_terms *terms, int k);

/* Logs that the sale's data in Redis are damaged: which key, or what stands there. */
void terms_log_damage(const sale_terms *terms, const char *what);

#endif
