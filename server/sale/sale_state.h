/*
 * sale_state.h - the state of an item's sale in this process, and the events that change it.
 *
 *     none ---------> open <-------> damaged      a look finds it sound, or damaged
 *                       |              |
 *                       '---> halted <-'           Redis has lost data; the admin decides
 *                       '---> over                 the item's sale is for another version
 *
 * The state belongs to the item, not to a sale: a buyer who still uses an earlier sale gets the
 * state of the newest. Only sale_table_change() changes it, by the table in sale_state.c, and logs
 * the change.
 */
#ifndef FLASHSALE_SALE_STATE_H
#define FLASHSALE_SALE_STATE_H

#include "server/store/halt.h"
#include "server/store/outcome.h"

#include <stdatomic.h>

typedef enum sale_state {
    STATE_NONE = 0, /* no sale is known */
    STATE_OPEN,     /* it sells */
    STATE_DAMAGED,  /* its data in Redis are damaged; every buyer checks whether they are mended */
    STATE_HALTED,   /* it must not sell before the admin decides (store/halt.h) */
    STATE_OVER,     /* the item's sale is for another version; an older one may be remembered */
    SALE_STATES
} sale_state;

typedef enum sale_event {
    EVENT_SOUND = 0,  /* a look has found all that is remembered */
    EVENT_DAMAGED,    /* a look has found damage, or a sale can not be read */
    EVENT_HALTED,     /* a look has found a loss, or the sale was lost */
    EVENT_SUPERSEDED, /* the item has a newer sale, which is for another version */
    EVENT_LIFTED,     /* no sale is open here, and the noted halt or sale has ended */
    SALE_EVENTS
} sale_event;

/* An item's state. Any thread may read `is`; the table's lock guards the rest. */
typedef struct item_state {
    atomic_int is;
    sale_halt halt;   /* STATE_HALTED: why; the sale may be one that can not be opened here */
    char detail[112]; /* STATE_DAMAGED: what is damaged */
} item_state;

/* The state after the event. */
sale_state sale_state_after(sale_state before, sale_event event);

/* Its name for the live page and the log: "open". */
const char *sale_state_name(sale_state state);

/* Why nothing is sold in this state; BUY_SOLD: the sale sells. */
purchase_outcome sale_state_outcome(sale_state state);

/* Logs the new state of the item's sale. */
void sale_state_log(const char *item, const char *sale, sale_state before, const item_state *now);

#endif
