/*
 * replicas.h - durability `replicated`: an order is acknowledged when the server's replicas have
 * it.
 *
 * The promise: what a buyer was told survives the failure of one server. A failover may promote any
 * replica that is online, also one that was behind; so all that are online must have the order, and
 * min_replicas of them in any case:
 *
 *     needed = max(min_replicas, those online when the keeper last looked)
 *
 * They are counted by WAIT, which goes out with the script that sells, on the same connection, and
 * costs no round trip of its own. When fewer have it in time, the order is there and a failover may
 * undo it: nobody knows, so the buyer hears "unknown". Whoever tells of an order later, to a retry
 * or to a question, makes sure anew (ledger_confirm()). While fewer than min_replicas are online
 * nothing is sold.
 *
 * What it does not cover: the loss of the server and of all replicas that had the order; a replica
 * that is promoted although it was not online, or is behind; and a refusal, which needs no copies.
 *
 * A write waits for the replicas no longer than a read waits for Redis (STORE_READ_MS).
 */
#ifndef FLASHSALE_REPLICAS_H
#define FLASHSALE_REPLICAS_H

#include "server/store/terms.h"

/* How many replicas must have what is written under `keys` before anybody is told of it; 0 unless
 * the terms ask for replicas. */
int replicas_needed(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* Whether so few are online that nothing is to be sold under `keys`. */
bool replicas_missing(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* The deadline of a write for which the replicas are waited for, made for a request with
 * `deadline`; the same one when `needed` is 0. */
dlock_time replicas_deadline(int needed, dlock_time deadline);

#endif
