/*
 * dashboard.h - the live page's data: a document for each item with viewers, made by one background
 * thread.
 *
 *     viewers ----- copy ---- document of P0001 <---.
 *     viewers ----- copy ---- document of P0002 <----+-- the thread ---- Redis
 *                                                   /       `---- tells the others of this instance
 *
 * However many viewers there are, each instance asks Redis twice a second for each item. Only the
 * first viewer waits for the answer. An item without recent viewers costs nothing.
 */
#ifndef FLASHSALE_DASHBOARD_H
#define FLASHSALE_DASHBOARD_H

#include "server/metrics/metrics.h"
#include "server/sale/sale_table.h"

typedef struct dashboard dashboard;

/* Starts the heartbeats to the other instances; this one must have its name. All is borrowed. NULL:
 * out of memory or threads. */
dashboard *dashboard_start(fs_store *store, sale_table *sales, fs_metrics *metrics);

/* Waits for running calls to Redis. No dashboard_read() may be running. NULL is allowed. */
void dashboard_stop(dashboard *d);

typedef enum dashboard_answer {
    DASHBOARD_TOLD = 0,
    DASHBOARD_LATE, /* it was not ready by the deadline */
    DASHBOARD_OVER, /* the item's sale is gone, or can not be shown */
} dashboard_answer;

/* DASHBOARD_TOLD: appends the members of the item's document, its age first. The first caller waits
 * for the document until the deadline. With a deadline in the past, a call neither waits nor takes
 * the place of an item that has viewers. */
dashboard_answer dashboard_read(dashboard *d, const char *item, dlock_time deadline, fs_text *out);

/* The name of the instance with this lock owner's token. False: no heartbeat tells of it. Waits for
 * a call to Redis that is under way. */
bool dashboard_owner(dashboard *d, const char *owner, char ret[IDENT_MAX + 1]);

#endif
