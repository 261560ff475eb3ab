/*
 * replicas.h - durability `replicated`: an order is acknowledged when every replica that could be
 * promoted has it. server/API.md, "Orders that outlive a server", states the promise, its limits,
 * and when a replica is no longer required.
 *
 * A failover may promote any replica that followed the primary recently, even one that lags or is
 * now cut off from the primary and from us. So each of them must have the order:
 *
 *   1. The set (replica_set.h) has the replicas that could be promoted: with Sentinel those that
 * any sentinel lists, in a cluster those of CLUSTER NODES, and all that are in step. While one of
 *      them is missing, or fewer than min_replicas are online, nothing is sold.
 *   2. WAIT follows the script that sells, on the same connection, for all that are online:
 *
 *          needed = max(min_replicas, those in step when the keeper last looked)
 *
 *   3. WAIT only counts replicas. ROLE, which follows it, names them with the offset that each has
 *      acknowledged. The order is acknowledged only if the server is still the primary, and each
 *      replica of the set is among those that WAIT counted. A replica that was just promoted has
 *      left the list, so another one can not count in its place.
 *
 * Neither costs a round trip of its own. If either check fails, the order exists but a failover may
 * undo it, so the buyer gets "unknown". A later answer about the order, to a retry or a question,
 * is confirmed anew (ledger_confirm()).
 *
 * While no majority of the sentinels answers, or this user lacks the right to ask who could be
 * promoted, no replica leaves the set; at the start, nothing is sold. Besides the limits in API.md
 * two cases are not covered: a replica that is hidden from the sentinels (replica-announced no) and
 * not in step; and, for up to 10 s, one whose priority was raised while it was not in step.
 */
#ifndef FLASHSALE_REPLICAS_H
#define FLASHSALE_REPLICAS_H

#include "server/store/server_check.h"
#include "server/store/terms.h"

/* How many replicas must have a write under `keys` before it may be told; 0 unless the terms ask
 * for replicas. */
int replicas_needed(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* Whether a replica that could be promoted is missing under `keys`, or too few are online. If so,
 * do not sell. */
bool replicas_missing(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* Asks the node's server whether to sell from it (server_ask()), and updates the node's set with
 * what the server and the sentinels say of its replicas; logs which join and leave. The check also
 * names missing replicas, and a missing right to ask about them. `min_replicas`: 0 = no sale asks
 * for replicas. False: it did not answer. */
bool replicas_ask(fs_store *store, fs_node *node, dlock_redis_conn *conn, int min_replicas,
                  dlock_time deadline, server_check *ret);

#endif
