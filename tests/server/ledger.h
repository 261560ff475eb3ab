/* ledger.h - the epochs of a ledger that a test makes by hand, and what is known of them. */
#ifndef TESTS_SERVER_LEDGER_H
#define TESTS_SERVER_LEDGER_H

#include "server/store/known_ledger.h"
#include "tests/support/service.h"

#define LEDGER_EPOCH  "0123456789ab"
#define LEDGER_EPOCHS LEDGER_EPOCH " 1 run"

/* Lets `known` write in these epochs, having seen so many orders. */
static inline void ledger_know(known_ledger *known, int64_t orders)
{
    const seen_ledger seen = {.epochs = LEDGER_EPOCHS};
    known_ledger_free(known);
    assert_true(known_ledger_adopt(known, &seen, 0, true));
    known_ledger_saw(known, LEDGER_EPOCH, orders);
}

/* Makes them in Redis. */
static inline void ledger_make(const sale_keys *keys, known_ledger *known)
{
    freeReplyObject(fx_redis_reply(fx.redis, "SET %s %s", keys->epochs, LEDGER_EPOCHS));
    ledger_know(known, 0);
}

/* As if another run of the server had begun the epoch of the item's sale, which has no order. */
static inline void ledger_make_older(const char *item)
{
    freeReplyObject(fx_redis_reply(fx.redis, "SET fs:{%s}:%s:epochs %s", item,
                                   fx_current_sale(item), LEDGER_EPOCHS));
}

#endif
