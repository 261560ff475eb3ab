/*
 * keys.h - the names of one stock's keys in Redis.
 *
 * A shelf is a stock with its orders and its lock in one Redis slot, so that one script can see
 * all of it. A sale has one shelf, tagged {item}; a sharded sale has one a segment, tagged
 * {item#k}, and no script ever needs two of them.
 */
#ifndef FLASHSALE_KEYS_H
#define FLASHSALE_KEYS_H

#include "server/store/order.h"

#define KEY_MAX 192

typedef struct fs_shelf {
    int segment;           /* 0 unless the sale is sharded */
    char current[KEY_MAX]; /* fs:{tag}:sale          string: the sale in force */
    char base[KEY_MAX];    /* fs:{tag}:<sale>        what the lock's companion keys start with */
    char cfg[KEY_MAX];     /* fs:{tag}:<sale>:cfg    hash: the sale's terms */
    char stock[KEY_MAX];   /* fs:{tag}:<sale>:stock  string: units left */
    char sold[KEY_MAX];    /* fs:{tag}:<sale>:sold   string: units ordered */
    char orders[KEY_MAX];  /* fs:{tag}:<sale>:orders hash: request id -> record (order.h) */
    char ledger[KEY_MAX];  /* fs:{tag}:<sale>:ledger list: request ids, in the order of sale */
    char users[KEY_MAX];   /* fs:{tag}:<sale>:users  hash: user -> units, if there is a limit */
    char lock[KEY_MAX];    /* fs:{tag}:<sale>:lock   the lock; its kind is the strategy's affair */
} fs_shelf;

#define SHELF_WHOLE (-1) /* the only shelf of a sale that is not sharded */

/* Fills in the names. `segment`: 0, 1, ... or SHELF_WHOLE. */
void shelf_name(fs_shelf *shelf, const char *item, int segment, const char *sale);

#endif
