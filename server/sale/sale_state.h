/*
 * sale_state.h - how an item's sale stands in this process: one state, and what changes it.
 *
 *     none ---------> open <-------> damaged      a look finds it sound, or damaged
 *                       |              |
 *                       '---> halted <-'           Redis has forgotten something; the admin decides
 *                       '---> over                 the item's sale is for another program
 *
 * The state is the item's, not the sale's: a buyer who still has the sale before hears of the
 * newest. sale_table_change() is the one function that changes it, by the table in sale_state.c,
 * and logs it. Everybody else asks.
 */
#ifndef FLASHSALE_SALE_STATE_H
#define FLASHSALE_SALE_STATE_H

#include "server/store/halt.h"
#include "server/store/outcome.h"

#include <stdatomic.h>

typedef enum sale_state {
    STATE_NONE = 0, /* nothing is known of a sale */
    STATE_OPEN,     /* it sells */
    STATE_DAMAGED,  /* its data in Redis are damaged: every buyer looks whether they are mended */
    STATE_HALTED,   /* it must not sell before the admin says so (store/halt.h) */
    STATE_OVER,     /* the item's sale is for another program; perhaps an older one is remembered */
    SALE_STATES
} sale_state;

typedef enum sale_event {
    EVENT_SOUND = 0,  /* a look has found all that is remembered */
    EVENT_DAMAGED,    /* a look, or a sale that can not be read */
    EVENT_HALTED,     /* a look, or a sale that was lost */
    EVENT_SUPERSEDED, /* the item has a newer sale, which is not for this program */
    EVENT_LIFTED, /* no sale is open here, and what is said of it is over: the halt, or the sale */
    SALE_EVENTS
} sale_event;

/* An item's state. `is` may be read by anybody, the rest under the table's lock. */
typedef struct item_state {
    atomic_int is;
    sale_halt halt;   /* STATE_HALTED: why; perhaps of a sale that can not be opened here */
    char detail[112]; /* STATE_DAMAGED: what is damaged */
} item_state;

/* The state after the event. */
sale_state sale_state_after(sale_state before, sale_event event);

/* As the live page and the log say it: "open". */
const char *sale_state_name(sale_state state);

/* Why nothing is sold while it stands so; BUY_SOLD: it is sold from. */
purchase_outcome sale_state_outcome(sale_state state);

/* Logs that the item's sale has come to stand so. */
void sale_state_log(const char *item, const char *sale, sale_state before, const item_state *now);

#endif
