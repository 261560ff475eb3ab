/*
 * dashboard.h - what the live page shows: a document for each item that somebody looks at, made by
 * one thread in the background.
 *
 *     viewers ----- copy ---- document of P0001 <---.
 *     viewers ----- copy ---- document of P0002 <----+-- the thread ---- Redis
 *                                                   /       `---- tells the others of this instance
 *
 * However many look, Redis is asked twice a second for each item and instance, and no viewer waits
 * for it, but for the first one. An item that nobody has asked for in a while costs nothing.
 */
#ifndef FLASHSALE_DASHBOARD_H
#define FLASHSALE_DASHBOARD_H

#include "server/metrics/metrics.h"
#include "server/sale/sale_table.h"

typedef struct dashboard dashboard;

/* Begins to tell the other instances of this one, whose name must be known. All is borrowed. NULL:
 * out of memory or threads. */
dashboard *dashboard_start(fs_store *store, sale_table *sales, fs_metrics *metrics);

/* Waits for what is under way at Redis. No dashboard_read() may be. NULL is allowed. */
void dashboard_stop(dashboard *d);

typedef enum dashboard_answer {
    DASHBOARD_TOLD = 0,
    DASHBOARD_LATE, /* it was not made by the deadline */
    DASHBOARD_OVER, /* the item's sale is not there any more, or can not be shown */
} dashboard_answer;

/* Appends the members of the item's document, its age first; nothing if it is not told. The first
 * asker waits, until the deadline, for the document to be made. Past the deadline nobody waits, or
 * takes the place of an item that is looked at. */
dashboard_answer dashboard_read(dashboard *d, const char *item, dlock_time deadline, fs_text *out);

#endif
