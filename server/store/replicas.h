/*
 * replicas.h - durability `replicated`: an order is acknowledged when every replica that could be
 * promoted has it. server/API.md, "Orders that outlive a server", is the promise, and says what it
 * does not cover and when a replica is not required any more.
 *
 * A failover may promote any replica that has followed the primary lately, also one that is cut off
 * from the primary and from us by now, also one that is behind. So each has to have the order:
 *
 *   1. The set (replica_set.h) has the replicas that could be promoted: behind Sentinel those that
 *      any sentinel lists, in a cluster those of CLUSTER NODES, and all that are in step. While one
 *      of them is missing, or fewer than min_replicas are online, nothing is sold.
 *   2. WAIT goes out with the script that sells, on the same connection, for all that are online:
 *
 *          needed = max(min_replicas, those in step when the keeper last looked)
 *
 *   3. WAIT counts replicas, whichever they are. ROLE, behind it, names them with what each has
 *      acknowledged. The order is acknowledged only if the server is the primary still, and each
 *      replica of the set is among those that WAIT counted: a replica that was just promoted has
 *      left the list, and another can not count in its place.
 *
 * Both cost no round trip of their own. When either says no, the order is there and a failover may
 * undo it: nobody knows, so the buyer hears "unknown". Whoever tells of an order later, to a retry
 * or to a question, makes sure anew (ledger_confirm()).
 *
 * While the majority of the sentinels can not be heard, or this user lacks the right to hear who
 * could be promoted, no replica leaves the set; and at the start nothing is sold. Not covered,
 * beside what API.md says: a replica that is hidden from the sentinels (replica-announced no) while
 * it is not in step; and, for up to 10 s, one whose priority was raised while it was not in step.
 */
#ifndef FLASHSALE_REPLICAS_H
#define FLASHSALE_REPLICAS_H

#include "server/store/server_check.h"
#include "server/store/terms.h"

/* How many replicas must have what is written under `keys` before anybody is told of it; 0 unless
 * the terms ask for replicas. */
int replicas_needed(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* Whether one that could be promoted is missing under `keys`, or too few are online: then nothing
 * is to be sold. */
bool replicas_missing(fs_store *store, const sale_terms *terms, const sale_keys *keys);

/* Asks the node's server whether it is one to sell from (server_ask()), and takes what it and the
 * sentinels say of its replicas into the node's set; logs who joins and leaves. The check tells of
 * replicas that are missing, too, and of the right that is missing to hear of them. `min_replicas`:
 * 0 = no sale asks for any. False: it did not answer. */
bool replicas_ask(fs_store *store, fs_node *node, dlock_redis_conn *conn, int min_replicas,
                  dlock_time deadline, server_check *ret);

#endif
