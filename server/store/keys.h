/*
 * keys.h - the names of a sale's keys in Redis.
 *
 * Stock, orders and lock lie in one Redis slot, so that one script can see all of it. A sale has
 * one such set of keys, tagged {item}; a sharded sale has one a segment, tagged {item#k}, and no
 * script ever needs two of them.
 */
#ifndef FLASHSALE_KEYS_H
#define FLASHSALE_KEYS_H

#include "lock/dlock_redis.h"
#include "server/base/text.h"

#define KEY_MAX 192

/* A sale that has ended is kept for so long, its orders too. */
#define TERMS_KEPT_S (24 * 3600)

/* The tag of the item itself: of a sale that is not sharded, and of every sale's terms. */
#define SEGMENT_NONE (-1)

typedef struct sale_keys {
    int segment;           /* 0 unless the sale is sharded */
    char current[KEY_MAX]; /* fs:{tag}:sale          string: the sale in force, or a halt's words */
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
    char lock[KEY_MAX]; /* fs:{tag}:<sale>:lock   the lock; its kind is the strategy's affair */
} sale_keys;

/* Fills in the names. `segment`: 0, 1, ... or SEGMENT_NONE. Of a sale without reservations. */
void keys_name(sale_keys *keys, const char *item, int segment, const char *sale);

/* Appends the keys that a sale leaves behind in its slot when it is over, and returns how many
 * there are. Its lock ends by its own lease. */
int keys_put_leftovers(dlock_args *args, const sale_keys *old);

/* Sale ids are 14 hexadecimal digits, so that a later one is the larger text, too. */
bool sale_id_ok(const char *text, size_t len);

#endif
