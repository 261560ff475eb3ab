/*
 * document.h - what the live page shows of one item, as Redis last had it: the numbers of its sale,
 * its locks, and the latest orders; and the whole as JSON, see API.md, GET /dashboard.
 *
 * What can not be read stays as it was. It names no user and no request: whoever can see the page
 * may read it. For one thread.
 */
#ifndef FLASHSALE_DOCUMENT_H
#define FLASHSALE_DOCUMENT_H

#include "server/dashboard/instances.h"
#include "server/sale/sale_table.h"
#include "server/store/ledger.h"

#define LATEST_ORDERS 10

typedef struct latest_orders { /* the latest first */
    int count;
    struct {
        int segment;
        fs_order order;
    } of[LATEST_ORDERS];
} latest_orders;

typedef struct document {
    char item[IDENT_MAX + 1];
    bool up;         /* Redis has answered the last questions */
    bool over;       /* the item has no sale any more, or none that can be shown */
    dlock_time read; /* when the numbers of the sale last were; 0 = they are not known */
    sale_terms terms;
    const char *state; /* of the sale: "open", "halted", "damaged" */
    ledger_numbers numbers;
    int locks; /* one, or one a segment; 0 = the strategy has none, or they are not known */
    dlock_info lock[SEGMENTS_MAX];
    latest_orders latest;
} document;

/* Of an item that Redis was not asked about as yet. */
void document_init(document *doc, const char *item);

/* Asks Redis, some questions for each segment. A server that is silent is not asked, and after a
 * question that it does not answer no other follows. */
void document_ask(document *doc, sale_table *sales);

/* Appends its members, from "item" on. */
void document_write(fs_text *out, const document *doc, const instances *in);

#endif
