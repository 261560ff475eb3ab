/*
 * The master's replicas, as all sentinels have them.
 *
 * A replica counts as listed if any sentinel lists it, whichever master that sentinel names. A
 * sentinel that has not heard of a failover yet lists the replicas of the previous master, and that
 * master itself is a replica now. The same holds for a replica's state: a sentinel that is cut off
 * may promote what it lists as soon as it is told to, or as soon as others hear it.
 *
 * A majority is made of those that agree on the master in force, see it up, and have an id of their
 * own: so that one sentinel with two addresses has one vote.
 */
#include "redis/sentinel_replicas.h"

#include <stdio.h>
#include <string.h>

#define FRESH_MS 3000 /* an older answer says nothing of the present */

static dlock_replica *find(dlock_replicas *all, const address_host *at)
{
    for (int i = 0; i < all->count; i++)
        if (all->replicas[i].port == at->port && strcmp(all->replicas[i].host, at->host) == 0)
            return &all->replicas[i];
    if (all->count == DLOCK_REPLICAS_MAX) {
        all->more = true;
        return NULL;
    }
    dlock_replica *one = &all->replicas[all->count++];
    snprintf(one->host, sizeof(one->host), "%s", at->host);
    one->port = at->port;
    return one;
}

static void count_one(dlock_replicas *all, const address_host *master, const told_replica *told)
{
    dlock_replica *one = dlock_address_same(&told->at, master) ? NULL : find(all, &told->at);
    if (!one)
        return;
    one->listed++;
    one->barred += told->barred;
    one->fit += !told->barred && !told->lost && !told->down;
    one->fading += !told->barred && !told->lost && told->down;
}

/* The answer, if it says something of the present. */
static const sentinel_answer *fresh_answer(const watch *w)
{
    const sentinel_answer *answer = dlock_watch_latest(w);
    bool fresh = answer && answer->kind == NAMES_A_MASTER &&
                 dlock_now().us - answer->asked.us < FRESH_MS * 1000;
    return fresh ? answer : NULL;
}

/* Whether the answer of watch number i counts in a majority. */
static bool agrees(watch *const *watches, int i, const sentinel_answer *said,
                   const address_host *master)
{
    if (!said->lists_replicas || !said->sees_master || said->sentinels <= 0 ||
        said->down_after_ms <= 0 || said->id[0] == '\0' ||
        !dlock_address_same(&said->master, master))
        return false;
    for (int k = 0; k < i; k++) {
        const sentinel_answer *other = fresh_answer(watches[k]);
        if (other && strcmp(other->id, said->id) == 0)
            return false;
    }
    return true;
}

static void count_answer(dlock_replicas *all, const address_host *master,
                         const sentinel_answer *said, bool agreeing)
{
    told_replica before = {.at = said->master, .lost = true}; /* it is not promoted as a master */
    all->telling += said->lists_replicas;
    all->more = all->more || said->more_replicas;
    if (said->sentinels > all->sentinels)
        all->sentinels = (int)said->sentinels;
    if (all->denied[0] == '\0')
        snprintf(all->denied, sizeof(all->denied), "%s", said->denied);
    all->agreeing += agreeing;
    if (agreeing && said->down_after_ms > all->down_after_ms)
        all->down_after_ms = said->down_after_ms;
    for (int i = 0; i < said->replicas_len; i++)
        count_one(all, master, &said->replicas[i]);
    count_one(all, master, &before);
}

void dlock_sentinel_count_replicas(watch *const *watches, int count, const address_host *master,
                                   dlock_replicas *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->at = dlock_now();
    snprintf(ret->master_host, sizeof(ret->master_host), "%s", master->host);
    ret->master_port = master->port;
    for (int i = 0; i < count; i++) {
        const sentinel_answer *said = fresh_answer(watches[i]);
        if (said)
            count_answer(ret, master, said, agrees(watches, i, said, master));
    }
    if (ret->sentinels < ret->agreeing)
        ret->sentinels = ret->agreeing;
}
