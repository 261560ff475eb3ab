/*
 * ledger.h - orders in the sequence of their sale, found by request id.
 */
#ifndef STUBSERVER_LEDGER_H
#define STUBSERVER_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REQUEST_MAX 80

enum state { STATE_SOLD, STATE_RESERVED, STATE_CANCELLED, STATE_EXPIRED };

struct order {
    char request[REQUEST_MAX], user[REQUEST_MAX];
    int64_t sequence; /* of the sale, from 1 */
    int64_t number;   /* in its id: of its segment */
    int64_t quantity;
    int64_t remaining; /* units left after it, in its segment */
    int64_t fence;
    int64_t made_ms; /* CLOCK_MONOTONIC */
    int64_t time_us; /* since 1970 */
    int segment, target;
    enum state state;
    int64_t reserve_s, expires_us; /* 0: it was sold at once */
    bool hidden;                   /* nobody but its buyer is shown it */
};

struct ledger {
    struct order *orders;
    size_t count, room;
    uint32_t *slots; /* open addressing: index + 1 of an order, 0 = free; a power of two */
    size_t slot_count;
};

/* Writes an order down. Ends the process when memory is short: this is a test's tool. */
void ledger_add(struct ledger *ledger, const struct order *order);

/* The first order of a request, or NULL. Valid until the next is added. */
struct order *ledger_find(const struct ledger *ledger, const char *request);

void ledger_clear(struct ledger *ledger);

#endif
