/*
 * keys.h - the names of a sale's keys in Redis.
 *
 * Stock, orders and lock share one Redis slot, so one script can use all of them. A sale has one
 * such set of keys, tagged {item}; a sharded sale has one per segment, tagged {item#k}. No script
 * uses two sets.
 */
#ifndef FLASHSALE_KEYS_H
#define FLASHSALE_KEYS_H

#include "lock/dlock_redis.h"
#include "server/base/text.h"

#define KEY_MAX 192

/* How long an ended sale and its orders are kept. */
#define TERMS_KEPT_S (24 * 3600)

/* The item's own tag. It has every sale's terms, and all of a sale that is not sharded. */
#define SEGMENT_NONE (-1)

typedef struct sale_keys {
    int segment;           /* 0 unless the sale is sharded */
    char current[KEY_MAX]; /* fs:{tag}:sale          string: the sale in force, or a halt */
    char latest[KEY_MAX];  /* fs:{tag}:latest        string: the latest sale ever started */
    char base[KEY_MAX];    /* fs:{tag}:<sale> */
    char cfg[KEY_MAX];     /* fs:{tag}:<sale>:cfg    hash: the sale's terms */
    char stock[KEY_MAX];   /* fs:{tag}:<sale>:stock  string: units left */
    char sold[KEY_MAX];    /* fs:{tag}:<sale>:sold   string: units ordered */
    char orders[KEY_MAX];  /* fs:{tag}:<sale>:orders hash: request id -> record (purchase.h) */
    char ledger[KEY_MAX];  /* fs:{tag}:<sale>:ledger list: request ids, in the order of sale */
    char users[KEY_MAX];   /* fs:{tag}:<sale>:users  hash: user -> units, if there is a limit */
    char epochs[KEY_MAX];  /* fs:{tag}:<sale>:epochs string: the ledger's history (epochs.h) */
    bool reserves;         /* the sale has reservations (reservations.h), and the next three keys */
    char reserved[KEY_MAX]; /* fs:{tag}:<sale>:reserved hash: units reserved, in all and by end */
    char buckets[KEY_MAX];  /* fs:{tag}:<sale>:buckets  sorted set: the ends that there are */
    char moves[KEY_MAX];    /* fs:{tag}:<sale>:moves    list: what became of reservations */
    char lost[KEY_MAX]; /* fs:{tag}:<sale>:lost   hash: orders that Redis has forgotten (halt.h) */
    char lock[KEY_MAX]; /* fs:{tag}:<sale>:lock   the lock; the strategy determines its kind */
} sale_keys;

/* Fills in the names for a sale without reservations. `segment`: 0, 1, ... or SEGMENT_NONE. */
void keys_name(sale_keys *keys, const char *item, int segment, const char *sale);

/* Appends the keys that an ended sale leaves in its slot. Its lock ends by its lease. */
void keys_put_leftovers(dlock_args *args, const sale_keys *old);

/* Sale ids are 14 hexadecimal digits, so they sort as texts by their start. */
bool sale_id_ok(const char *text, size_t len);

#endif
