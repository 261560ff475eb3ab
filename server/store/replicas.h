/*
 * replicas.h - durability `replicated`: an order is acknowledged when every replica that could be
 * promoted has it.
 *
 * The promise: what a buyer was told survives any failover that Sentinel or the cluster makes by
 * itself or is told to make (SENTINEL FAILOVER, CLUSTER FAILOVER): after a crash, as planned, and
 * while any part of the servers and sentinels is cut off from the others. A failover may promote
 * any replica that has followed the primary lately, also one that is cut off from the primary and
 * from us by now, also one that is behind. So each has to have the order:
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
 * A replica leaves the set once nobody promotes it:
 *
 *     behind Sentinel   most of all sentinels are heard, name the primary and see it up, and all of
 *                       them that list the replica agree: its priority is 0; or it was out of step
 *                       for longer than 10 x down-after-milliseconds, and they see it down, or
 *                       without a link, for as long; or none lists it any more (SENTINEL RESET)
 *     in a cluster      it was out of step for longer than its data may be old for an election
 *                       (replication.h), or has the flag nofailover, or is not a replica of the
 *                       primary any more
 *     otherwise         at once: behind a plain URL nobody promotes by itself
 *
 * It joins again when it is in step, or before that when one sentinel, in the majority or not,
 * lists it as fit. While the majority of the sentinels can not be heard, or this user lacks the
 * right to hear them, nobody leaves; and at the start nothing is sold. Without the right to CONFIG
 * GET nobody leaves in a cluster but by the flag. A replica may notice a dead link only after
 * repl-timeout, and sentinels hear of its link from the replica: then the wait is repl-timeout + 10
 * x down-after.
 *
 * What it does not cover:
 *
 *   - the loss of the primary and of all replicas of the set;
 *   - a replica that has left the set and is promoted while it is behind, by a sentinel that was
 *     cut off with it: we do not hear that one, and SENTINEL FAILOVER asks no other sentinel;
 *   - a replica that is promoted past them (REPLICAOF NO ONE, CLUSTER FAILOVER FORCE or TAKEOVER)
 *     or hidden from them (replica-announced no) while it is not in step;
 *   - a priority that is raised while the replica is not in step: it can be promoted before the
 *     sentinels have told us, up to 10 s later;
 *   - a newcomer whose priority is not 0: sentinels would promote one that has no data yet, and we
 *     hear of it a moment after them;
 *   - a refusal, which needs no copies.
 *
 * So give all replicas the same replica-priority, start a newcomer with 0, and raise a priority
 * only in step. A replica that was started again and never syncs stays required: Sentinel would
 * promote it.
 *
 * A write waits for the replicas no longer than a read waits for Redis (STORE_READ_MS).
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

/* The deadline of a write for which the replicas are waited for, made for a request with
 * `deadline`; the same one when `needed` is 0. */
dlock_time replicas_deadline(int needed, dlock_time deadline);

/* Asks the node's server whether it is one to sell from (server_ask()), and takes what it and the
 * sentinels say of its replicas into the node's set; logs who joins and leaves. The check tells of
 * replicas that are missing, too, and of the right that is missing to hear of them. `min_replicas`:
 * 0 = no sale asks for any. False: it did not answer. */
bool replicas_ask(fs_store *store, fs_node *node, dlock_redis_conn *conn, int min_replicas,
                  dlock_time deadline, server_check *ret);

#endif
