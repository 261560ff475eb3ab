/*
 * document.h - the live page's data of one item, as last read from Redis: the numbers of its sale,
 * its locks, and the latest orders; also as JSON (API.md, GET /dashboard).
 *
 * What can not be read keeps its last value. The document is public, so it names no user and no
 * request. For one thread.
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
    bool over;       /* the item has no sale left, or none that can be shown */
    dlock_time read; /* when the sale's numbers were last read; 0 = never */
    sale_terms terms;
    const char *state; /* of the sale: "open", "halted", "damaged" */
    ledger_numbers numbers;
    int locks; /* one, or one per segment; 0 = the strategy has none, or unknown */
    dlock_info lock[SEGMENTS_MAX];
    latest_orders latest;
} document;

/* For an item that was not read yet. */
void document_init(document *doc, const char *item);

/* Reads from Redis, with several calls per segment. A silent server is not asked; after an
 * unanswered call no other follows. */
void document_ask(document *doc, sale_table *sales);

/* Appends its members, from "item" on. */
void document_write(fs_text *out, const document *doc, const instances *in);

#endif
