/*
 * item_view.h - what the live page shows of one item, as Redis last had it: the numbers of its
 * sale, its locks, and the latest orders.
 *
 * What can not be read stays as it was. For one thread.
 */
#ifndef FLASHSALE_ITEM_VIEW_H
#define FLASHSALE_ITEM_VIEW_H

#include "server/sale/sale_table.h"
#include "server/store/ledger.h"

#define VIEW_ORDERS 10

typedef struct latest_order {
    int segment;
    fs_order order;
} latest_order;

typedef struct item_view {
    char item[IDENT_MAX + 1];
    bool up;         /* Redis has answered the last questions */
    bool over;       /* the item has no sale any more, or none that can be shown */
    dlock_time read; /* when the numbers of the sale last were; 0 = they are not known */
    sale_terms terms;
    const char *state; /* of the sale: "open", "halted", "damaged" */
    ledger_numbers numbers;
    int locks; /* one, or one a segment; 0 = the strategy has none, or they are not known */
    dlock_info lock[SEGMENTS_MAX];
    int orders;
    latest_order latest[VIEW_ORDERS]; /* the latest first */
} item_view;

void view_init(item_view *view, const char *item);

/* Asks Redis, some questions for each segment. A server that is silent is not asked, and after a
 * question that it does not answer no other follows. */
void view_read(item_view *view, sale_table *sales);

#endif
