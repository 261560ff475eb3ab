/*
 * replica_set.h - the replicas of one server that could be promoted in its place, as of the last
 * look, and whether they have what was written.
 *
 * A member is known by its name, "host:port", as the server itself lists it. It is
 *
 *     in step    the server calls it online, and it acknowledged something in the last
 *                REPLICA_LAG_S seconds; and what it acknowledges has not stood still for so long
 *                while the server wrote on, as it does when the replica is paused
 *     required   it could be promoted, so no write may be acknowledged without it
 *
 *                   listed before the set is known, in step, or fit
 *         (none) ------------------------------------------> required
 *                   priority 0, forgotten, or lost
 *         required ----------------------------------------> excused ----> (none)
 *                   in step again, fit, or no priority 0             not listed,
 *         excused  ----------------------------------------> required   not connected
 *
 * Lost: it was out of step for longer than whoever promotes would promote it after, and they say
 * so (replica_claims). Fit: one of them would promote it now. Forgotten: they do not know of it for
 * some seconds, whether it is connected or not; such a one does not join either. The set is known
 * once a list was told that is sure: until then each that is listed is required, and something is
 * missing, as it is while there are more replicas than fit: no write is acknowledged then. Where
 * nobody promotes (PROMOTER_NONE) exactly those in step are required.
 *
 * All functions may be called from any thread.
 */
#ifndef FLASHSALE_REPLICA_SET_H
#define FLASHSALE_REPLICA_SET_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "lock/dlock_redis.h"

#define REPLICA_LAG_S 3

enum { REPLICA_NAME_LEN = 128, REPLICA_SET_MAX = 32 };

typedef enum promoter {
    PROMOTER_NONE, /* a plain redis:// URL: nobody promotes by itself */
    PROMOTER_SENTINEL,
    PROMOTER_CLUSTER
} promoter;

/* The name of a replica; an IPv6 address gets brackets. False: it does not fit. */
bool replica_name(const char *host, int port, char ret[REPLICA_NAME_LEN]);

/* ---- what a look finds ----------------------------------------------------------------------- */

typedef struct replica_seen {
    char name[REPLICA_NAME_LEN];
    bool in_step;
    int lag_s;      /* since its last acknowledgement, in whole seconds */
    int64_t offset; /* that it acknowledged; -1: it is not told */
} replica_seen;

/* By the server: INFO replication. */
typedef struct replicas_seen {
    bool more;      /* some do not fit, or have too long a name */
    int64_t offset; /* the server's own */
    int count, in_step;
    replica_seen of[REPLICA_SET_MAX];
} replicas_seen;

typedef struct replica_claim {
    char name[REPLICA_NAME_LEN];
    bool barred; /* it is never promoted: its priority is 0 */
    bool lost;   /* it is not promoted once it was out of step for rule_ms */
    bool fit;    /* it might be promoted now, so it is required also if it had left */
} replica_claim;

/* By whoever promotes. */
typedef struct replica_claims {
    promoter by;
    bool told;       /* the list below was told now; otherwise the one before holds */
    bool untold;     /* it is kept from us: then nobody leaves the set, and it does not get known */
    bool sure;       /* a replica that is not listed is not promoted either */
    bool more;       /* as above */
    int64_t rule_ms; /* 0: a replica is promoted however long it was away */
    char primary[REPLICA_NAME_LEN]; /* the server itself; "" = not told */
    int count;
    replica_claim of[REPLICA_SET_MAX];
} replica_claims;

/* ---- the set --------------------------------------------------------------------------------- */

typedef struct replica_member {
    char name[REPLICA_NAME_LEN];
    dlock_time since;     /* acknowledged last while online, or, if it never did, listed first */
    dlock_time listed_at; /* last; or when no list was sure */
    dlock_time stands_at; /* what it acknowledges is less than the server's, and has not moved since
                             then; 0 = it has all */
    int64_t offset;       /* as acknowledged at the last look */
    bool in_step, connected, listed, barred, required;
    bool stands; /* it acknowledges, and has applied nothing for too long: its link is young,
                    so it may be promoted */
    /* By the last list: as replica_claim; `freed`: its priority was 0 until then. */
    bool fit, freed, lost;
} replica_member;

typedef struct replica_set {
    pthread_mutex_t lock; /* guards what is not atomic */
    bool known;           /* whoever promotes has told its list, and that was sure */
    promoter by;
    bool more;
    int64_t rule_ms;
    char primary[REPLICA_NAME_LEN];
    int count;
    replica_member members[REPLICA_SET_MAX];
    atomic_int in_step;  /* how many are */
    atomic_bool missing; /* a required one is not in step, or who is required is not known */
} replica_set;

typedef struct replica_change {
    char name[REPLICA_NAME_LEN];
    bool joined;     /* otherwise it has left, ... */
    const char *why; /* ... for this reason */
} replica_change;

typedef struct replica_changes {
    int count;
    replica_change of[REPLICA_SET_MAX];
} replica_changes;

/* Of a server that nobody has looked at: something is missing. */
void replica_set_init(replica_set *set);
void replica_set_free(replica_set *set);

/* As after replica_set_init(): the server was left. */
void replica_set_forget(replica_set *set);

void replica_set_note(replica_set *set, const replicas_seen *seen, const replica_claims *claims,
                      dlock_time now, replica_changes *ret);

/* Names the required ones that are not in step, for people; "..." ends a text that is cut. "" =
 * none is missing. Where no fewer are missing than are in step and not listed, they may be the same
 * under other names: it says what to set, and nobody who is listed leaves. */
void replica_set_name_missing(replica_set *set, dlock_time now, char *buf, size_t buf_len);

/* Whether all that could be promoted have what `acknowledged` replicas have, by a ROLE that the
 * server answered behind that WAIT: it is the master; every required one is in its list; and each
 * in its list that is not excused is among the `acknowledged` with the highest offsets. Those have
 * the write: WAIT found so many at the offset of the write, and offsets only grow. */
bool replica_set_followed(replica_set *set, int acknowledged, const redisReply *role);

#endif
