/*
 * The master, as the sentinels see it.
 *
 * Each sentinel has a watch (sentinel_watch.h), which asks it and listens to its news. A look has
 * all of them ask, and counts what they say:
 *
 * 1. It waits until all have answered, or more than half of all have the same answer, or a moment
 *    longer than for the first. What comes later, and differs from before, is another look.
 * 2. The address that most of them name is the master's; between two that are named equally often,
 *    the one with the higher configuration epoch, which is the later failover's. A sentinel that
 *    lies, or that was cut off and is out of date, is outvoted. One whose id was counted already
 *    has no second vote for the same address.
 * 3. Fewer than half of the sentinels known lead away from a server that still says it is master
 *    only with a higher epoch than the one we followed: those we still see may be the ones that
 *    were cut off.
 * 4. The server itself must say that it is master (ROLE). Soon after a failover some sentinels
 *    still name the old one; then nothing is changed, and another look follows soon.
 *
 * A sentinel that the URL does not name is watched too, if most of the answering sentinels name it,
 * and these are more than half as many as the URL names. So all those in the URL may be replaced in
 * time, and one that lies while the others are down is not enough. The new sentinel is remembered
 * as long as the topology lives.
 *
 * What it can not see: a master that was cut off from the majority of the sentinels together with
 * us. It is still used, and accepts writes that will be lost. Use WAIT, dlock_redis_eval_wait(), to
 * acknowledge none of those.
 */
#include "redis/sentinel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "redis/pool.h"
#include "redis/sentinel_replicas.h"

#define OTHERS_MS  250  /* the wait for the other answers after the first */
#define PROBE_MS   1000 /* for a server to say whether it is master */
#define SETTLED_MS 5000 /* between two looks without news */
#define AGAIN_MS   250  /* ... while the master is not known for sure */
#define PACE_MS    20   /* ... at the least, however many doubts there are */

enum { WATCHES_MAX = 32 };

typedef struct candidate {
    address_host at;
    int votes;
    int64_t epoch;
} candidate;

typedef struct sentinels {
    watch_board board;
    watch *watches[WATCHES_MAX];
    int count;
    candidate followed;      /* votes 0: none as yet */
    dlock_replicas replicas; /* under the board's lock; `at` 0: none was heard of */
    dlock_time next;         /* no look before this */
} sentinels;

/* What a look has found. */
typedef struct tally {
    candidate candidates[WATCHES_MAX]; /* the best first */
    int candidates_len;
    int answered;                    /* sentinels, ... */
    int answers;                     /* ... and those of them that make sense, each counted once */
    told_sentinel news[WATCHES_MAX]; /* sentinels that are not watched as yet ... */
    int news_votes[WATCHES_MAX];     /* ... and how many told of each */
    int news_len;
    char wrong[ERROR_LEN + 300]; /* why the first of the silent ones did not answer */
} tally;

/* ---- counting -------------------------------------------------------------------------------- */

static void count_vote(tally *found, const sentinel_answer *answer)
{
    int i = 0;
    while (i < found->candidates_len &&
           !dlock_address_same(&found->candidates[i].at, &answer->master))
        i++;
    candidate *of = &found->candidates[i];
    if (i == found->candidates_len) {
        found->candidates_len++;
        of->at = answer->master;
        of->epoch = answer->epoch;
    }
    of->votes++;
    if (answer->epoch > of->epoch)
        of->epoch = answer->epoch;
}

/* Whether the sentinel with this id, or at this address, is watched. */
static bool is_watched(const sentinels *s, const told_sentinel *told)
{
    for (int i = 0; i < s->count; i++) {
        const sentinel_answer *answer = dlock_watch_answer(s->watches[i]);
        if (dlock_address_same(dlock_watch_at(s->watches[i]), &told->at) ||
            (answer && strcmp(answer->id, told->id) == 0))
            return true;
    }
    return false;
}

static void count_told(const sentinels *s, tally *found, const told_sentinel *told)
{
    int i = 0;
    if (is_watched(s, told))
        return;
    while (i < found->news_len && strcmp(found->news[i].id, told->id) != 0)
        i++;
    if (i == WATCHES_MAX)
        return;
    if (i == found->news_len) {
        found->news_len++;
        found->news[i] = *told;
    }
    found->news_votes[i]++;
}

/* One sentinel may be watched under several of its addresses. One that names another master has
 * only taken the id, which must not cost the owner its vote. */
static bool is_counted(const sentinels *s, int until, const sentinel_answer *said)
{
    for (int i = 0; i < until && said->id[0]; i++) {
        const sentinel_answer *answer = dlock_watch_answer(s->watches[i]);
        if (answer && strcmp(answer->id, said->id) == 0 &&
            dlock_address_same(&answer->master, &said->master))
            return true;
    }
    return false;
}

static int better_first(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->votes != y->votes)
        return y->votes - x->votes;
    return (y->epoch > x->epoch) - (y->epoch < x->epoch);
}

/* Under the board's lock. */
static void count(const sentinels *s, tally *found)
{
    *found = (tally){0};
    for (int i = 0; i < s->count; i++) {
        const sentinel_answer *answer = dlock_watch_answer(s->watches[i]);
        const address_host *at = dlock_watch_at(s->watches[i]);
        found->answered += answer != NULL;
        if (!found->wrong[0] && (!answer || answer->kind == SAYS_NOTHING))
            snprintf(found->wrong, sizeof(found->wrong), "%s:%d: %s", at->host, at->port,
                     answer ? answer->wrong : "no answer in time");
        if (!answer || answer->kind == SAYS_NOTHING || is_counted(s, i, answer))
            continue;
        found->answers++;
        if (answer->kind == NAMES_A_MASTER)
            count_vote(found, answer);
        for (int k = 0; k < answer->others_len; k++)
            count_told(s, found, &answer->others[k]);
    }
    qsort(found->candidates, (size_t)found->candidates_len, sizeof(candidate), better_first);
}

/* Has all of them ask, and counts the answers that come in time. */
static void hear(sentinels *s, tally *ret)
{
    dlock_time until = dlock_in_ms(SENTINEL_ANSWER_MS);
    uint64_t rings;
    for (int i = 0; i < s->count; i++)
        dlock_watch_ask(s->watches[i]);
    pthread_mutex_lock(&s->board.lock);
    for (;;) {
        while (read(s->board.bell, &rings, sizeof(rings)) > 0)
            continue; /* for what is counted now */
        count(s, ret);
        if (ret->answered == s->count || 2 * ret->candidates[0].votes > s->count ||
            dlock_passed(until))
            break;
        if (ret->answers > 0)
            until = dlock_sooner(until, dlock_in_ms(OTHERS_MS));
        dlock_cond_wait(&s->board.answered, &s->board.lock, until);
    }
    pthread_mutex_unlock(&s->board.lock);
}

/* Watches those that most tell of; the next look asks them too. Not before all have answered: one
 * of them may be the one that is told of. */
static void meet(topology *t, sentinels *s, const tally *found)
{
    int named = dlock_topology_url(t)->hosts_len;
    int voters = found->answers > named ? found->answers : named;
    if (found->answered < s->count)
        return;
    for (int i = 0; i < found->news_len && s->count < WATCHES_MAX; i++) {
        watch *w = NULL;
        if (2 * found->news_votes[i] > voters)
            w = dlock_watch_new(t, &found->news[i].at, &s->board);
        if (w)
            s->watches[s->count++] = w;
    }
}

/* ---- the server itself ----------------------------------------------------------------------- */

typedef enum role { UNREACHED, REFUSES, REPLICA, MASTER } role;

/* What the server at this address is; unless it is master, with a sentence in why. */
static role ask_role(const topology *t, const address_host *at, char *why, size_t why_len)
{
    const address *url = dlock_topology_url(t);
    dlock_redis *redis = dlock_pool_for_server(t, at, url->user, url->password);
    dlock_time deadline = dlock_in_ms(PROBE_MS);
    dlock_redis_conn *conn = NULL;
    bool master = false;
    snprintf(why, why_len, "%s:%d, which the sentinels name as master, is none", at->host,
             at->port);
    if (!redis)
        return UNREACHED;
    bool answered = dlock_redis_dial(redis, NULL, deadline, &conn) == DLOCK_REDIS_OK &&
                    dlock_redis_ask_role(conn, deadline, &master);
    bool refused = dlock_redis_said()[0] != '\0';
    if (!answered) {
        char error[ERROR_LEN];
        dlock_redis_last_error(redis, error, sizeof(error));
        snprintf(why, why_len, "%s:%d, which the sentinels name as master: %s", at->host, at->port,
                 error);
    }
    dlock_redis_hang_up(conn);
    dlock_pool_free(redis);
    if (answered)
        return master ? MASTER : REPLICA;
    return refused ? REFUSES : UNREACHED;
}

/* Rule 3. */
static bool must_stay(const topology *t, const sentinels *s, const candidate *best)
{
    char why[ERROR_LEN + 300];
    return s->followed.votes > 0 && 2 * best->votes <= s->count &&
           best->epoch <= s->followed.epoch &&
           ask_role(t, &s->followed.at, why, sizeof(why)) == MASTER;
}

static void follow(topology *t, sentinels *s, const candidate *to)
{
    s->followed = *to;
    dlock_topology_moved_to(t, to->at.host, to->at.port);
    dlock_topology_complain(t, "");
}

/* Tries those that are named most often. False: none of them is to be followed. */
static bool choose(topology *t, sentinels *s, const tally *found)
{
    char why[ERROR_LEN + 300] = "";
    for (int i = 0; i < found->candidates_len && !dlock_topology_stopped(t); i++) {
        const candidate *c = &found->candidates[i];
        if (c->votes < found->candidates[0].votes)
            break;
        bool known = s->followed.votes > 0 && dlock_address_same(&c->at, &s->followed.at);
        if (!known && must_stay(t, s, c))
            return true;
        role is = known ? MASTER : ask_role(t, &c->at, why, sizeof(why));
        /* callers must hear of a refusal, of a password for example */
        if (is == MASTER || (is == REFUSES && s->followed.votes == 0)) {
            follow(t, s, c);
            return true;
        }
        dlock_topology_complain(t, why);
    }
    return false;
}

static void complain(topology *t, const tally *found)
{
    char why[ERROR_LEN + 400];
    if (found->answers > 0)
        snprintf(why, sizeof(why), "the sentinels know no master called '%s'",
                 dlock_topology_url(t)->service);
    else
        snprintf(why, sizeof(why), "no sentinel answers: %s", found->wrong);
    dlock_topology_complain(t, why);
}

/* ---- the finder ------------------------------------------------------------------------------ */

/* Whose replicas they are is known only if a master is followed. */
static void keep_replicas(sentinels *s)
{
    pthread_mutex_lock(&s->board.lock);
    if (s->followed.votes > 0)
        dlock_sentinel_count_replicas(s->watches, s->count, &s->followed.at, &s->replicas);
    pthread_mutex_unlock(&s->board.lock);
}

static void replicas(void *state, dlock_replicas *ret)
{
    sentinels *s = state;
    pthread_mutex_lock(&s->board.lock);
    *ret = s->replicas;
    pthread_mutex_unlock(&s->board.lock);
}

static int64_t look(topology *t, void *state)
{
    sentinels *s = state;
    tally found;
    dlock_sleep(s->next);
    s->next = dlock_in_ms(PACE_MS);
    hear(s, &found);
    meet(t, s, &found);
    bool chosen = found.candidates_len > 0 && choose(t, s, &found);
    keep_replicas(s);
    if (found.candidates_len == 0)
        complain(t, &found);
    return chosen ? SETTLED_MS : AGAIN_MS;
}

static int news_fd(const topology *t, void *state)
{
    (void)t;
    const sentinels *s = state;
    return s->board.bell;
}

static void stop(void *state)
{
    sentinels *s = state;
    for (int i = 0; i < s->count; i++)
        dlock_watch_stop(s->watches[i]);
    for (int i = 0; i < s->count; i++)
        dlock_watch_free(s->watches[i]);
    if (s->board.bell >= 0)
        close(s->board.bell);
    pthread_cond_destroy(&s->board.answered);
    pthread_mutex_destroy(&s->board.lock);
    free(s);
}

static void *start(topology *t)
{
    const address *url = dlock_topology_url(t);
    sentinels *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    pthread_mutex_init(&s->board.lock, NULL);
    dlock_cond_init(&s->board.answered);
    s->board.bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    for (int i = 0; i < url->hosts_len && s->board.bell >= 0; i++) {
        s->watches[s->count] = dlock_watch_new(t, &url->hosts[i], &s->board);
        if (!s->watches[s->count])
            break;
        s->count++;
    }
    if (s->count == url->hosts_len)
        return s;
    stop(s);
    return NULL;
}

const finder dlock_sentinel = {
    .wants_primary = true,
    .start = start,
    .look = look,
    .news_fd = news_fd,
    .stop = stop,
    .replicas = replicas,
};
