/*
 * batch.c - gathering buyers, and waking them all at once.
 *
 * Buyers gather in rounds. The round at the end of the queue is open to everybody who comes, until
 * it is full or the leader takes it; its members then wait for one word, "answered", and one system
 * call wakes them all. To wake each by itself would cost a call a buyer, and let the first ones
 * push the leader off its processor before it has told the others.
 *
 *     first --> round --> round <-- last            the leader has:  round (taken)
 *               full      open, buyers join
 *
 * A round is shared by its buyers and by the queue, then the leader; who is the last to let go
 * of it gives it back. So a buyer may go at its deadline while the leader still writes its answer.
 *
 * In the first round there always is somebody: whoever leaves a round as the last one, or takes
 * the one before it, drops what is abandoned.
 *
 * The buyer that finds nobody leading sends for a leader, who goes when there is no round left.
 * Both decide it under the lock, so whoever is in a round has a leader, or one on its way.
 */
#include "server/selling/batch.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/selling/leaders.h"

/* Even with wait_ms 0 a buyer waits this long: for its batch, which is not the lock. */
#define QUEUE_MS 100

typedef enum { QUEUED, CALLED, TAKEN } batch_stage;

typedef struct batch_place {
    bool left;        /* under the lock: gone before the round was taken */
    purchase request; /* a copy: the buyer's own may be gone before the leader is done */
    purchase_result result;
} batch_place;

typedef struct batch_round {
    struct batch_round *next; /* in the queue */
    atomic_uint answered;     /* 0, then 1 when answered or dropped: what everybody waits for */
    atomic_int users;         /* buyers, and the queue or the leader; the last frees it */
    int count;                /* under the lock: places given out; fixed once taken */
    int gone;                 /* under the lock: how many of them have left */
    batch_stage stage;        /* under the lock */
    batch_place places[SELL_MAX];
} batch_round;

struct fs_batch {
    batch_serve *serve;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t left; /* the leader has gone */
    batch_round *first, *last;
    _Atomic(batch_round *) spare; /* one that was given back, for the next */
    bool led;                     /* there is a leader, or one on its way */
    leader_task leading;
};

/* ---- rounds ---------------------------------------------------------------------------------- */

/* A new round at the end of the queue; under the lock. NULL: out of memory. */
static batch_round *open_round(fs_batch *batch)
{
    batch_round *round = atomic_exchange(&batch->spare, NULL);
    if (!round)
        round = malloc(sizeof(*round));
    if (!round)
        return NULL;
    round->next = NULL;
    atomic_init(&round->answered, 0);
    atomic_init(&round->users, 1);
    round->count = round->gone = 0;
    round->stage = QUEUED;
    if (batch->last)
        batch->last->next = round;
    else
        batch->first = round;
    batch->last = round;
    return round;
}

static void let_go(fs_batch *batch, batch_round *round)
{
    batch_round *none = NULL;
    if (atomic_fetch_sub(&round->users, 1) > 1)
        return;
    if (!atomic_compare_exchange_strong(&batch->spare, &none, round))
        free(round);
}

static void announce(batch_round *round)
{
    atomic_store(&round->answered, 1);
    syscall(SYS_futex, &round->answered, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Takes the first round out of the queue; under the lock. */
static batch_round *shift(fs_batch *batch)
{
    batch_round *round = batch->first;
    batch->first = round->next;
    if (!batch->first)
        batch->last = NULL;
    return round;
}

/* Under the lock. */
static void drop_abandoned(fs_batch *batch)
{
    while (batch->first && batch->first->gone == batch->first->count) {
        batch_round *round = shift(batch);
        announce(round);
        let_go(batch, round);
    }
}

/* A place in the open round; under the lock. NULL: out of memory. */
static batch_place *join(fs_batch *batch, const purchase *request, batch_round **ret)
{
    batch_round *round = batch->last;
    if (!round || round->count == SELL_MAX)
        round = open_round(batch);
    if (!round)
        return NULL;
    batch_place *place = &round->places[round->count++];
    place->left = false;
    place->request = *request;
    atomic_fetch_add(&round->users, 1);
    *ret = round;
    return place;
}

/* ---- the buyer's side ------------------------------------------------------------------------ */

/* True when it was answered, or dropped, by then. */
static bool wait_answer(batch_round *round, dlock_time until)
{
    while (atomic_load(&round->answered) == 0) {
        int64_t left_us = until.us - dlock_now().us;
        if (left_us <= 0)
            return false;
        struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
        syscall(SYS_futex, &round->answered, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    return true;
}

typedef enum { ANSWERED, LEFT, IN_DOUBT } batch_end;

/* Leaves the round unless it has come as far as `stage`. */
static bool leave_before(batch_stage stage, fs_batch *batch, batch_round *round, batch_place *place)
{
    pthread_mutex_lock(&batch->lock);
    bool leaves = round->stage < stage;
    if (leaves) {
        place->left = true;
        round->gone++;
        drop_abandoned(batch);
    }
    pthread_mutex_unlock(&batch->lock);
    return leaves;
}

/* Waits in the queue until `until`, and once called until `deadline`. */
static batch_end wait_turn(fs_batch *batch, batch_round *round, batch_place *place,
                           dlock_time until, dlock_time deadline)
{
    if (wait_answer(round, until))
        return ANSWERED;
    if (leave_before(CALLED, batch, round, place))
        return LEFT;
    if (wait_answer(round, deadline))
        return ANSWERED;
    return leave_before(TAKEN, batch, round, place) ? LEFT : IN_DOUBT;
}

/* Sends for a leader if there is none; under the lock, so it can not find the queue empty before
 * the buyer is in it. False: there is no thread for one. */
static bool has_leader(fs_batch *batch)
{
    if (!batch->led && !(batch->led = leaders_run(&batch->leading)))
        LOG_SOME(LOG_ERROR, "no_thread", "detail", "no thread to sell to a batch of buyers", NULL);
    return batch->led;
}

void batch_buy(fs_batch *batch, int64_t wait_ms, const purchase *request, purchase_result *result)
{
    batch_round *round = NULL;
    pthread_mutex_lock(&batch->lock);
    batch_place *place = has_leader(batch) ? join(batch, request, &round) : NULL;
    pthread_mutex_unlock(&batch->lock);
    if (!place) {
        purchase_answer(result, BUY_UNAVAILABLE);
        return;
    }
    dlock_time until = dlock_in_ms(wait_ms > QUEUE_MS ? wait_ms : QUEUE_MS);
    until = dlock_sooner(until, request->deadline);
    batch_end end = wait_turn(batch, round, place, until, request->deadline);
    if (end == ANSWERED)
        *result = place->result;
    else
        purchase_answer(result, end == LEFT ? BUY_BUSY : BUY_UNKNOWN);
    let_go(batch, round);
}

/* ---- the leader's side ----------------------------------------------------------------------- */

bool batch_call(fs_batch *batch, int64_t hold_ms)
{
    dlock_time until = dlock_in_ms(hold_ms);
    pthread_mutex_lock(&batch->lock);
    batch_round *round = batch->first;
    if (round) {
        round->stage = CALLED;
        atomic_fetch_add(&round->users, 1);
    }
    pthread_mutex_unlock(&batch->lock);
    if (!round)
        return false;
    bool dropped = wait_answer(round, until);
    let_go(batch, round);
    return !dropped;
}

static batch_round *take_first(fs_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    batch_round *round = batch->first ? shift(batch) : NULL;
    if (round) {
        round->stage = TAKEN;
        drop_abandoned(batch);
    }
    pthread_mutex_unlock(&batch->lock);
    return round;
}

void batch_take(fs_batch *batch, batch_taken *taken)
{
    batch_round *round = take_first(batch);
    taken->round = round;
    taken->count = 0;
    taken->deadline = dlock_now();
    for (int i = 0; round && i < round->count; i++) {
        batch_place *place = &round->places[i];
        if (place->left)
            continue;
        taken->buyers[taken->count++] = (sell_buyer){&place->request, &place->result};
        if (place->request.deadline.us > taken->deadline.us)
            taken->deadline = place->request.deadline;
    }
}

void batch_answer(fs_batch *batch, batch_taken *taken)
{
    batch_round *round = taken->round;
    if (!round)
        return;
    announce(round);
    let_go(batch, round);
}

void batch_refuse(fs_batch *batch, purchase_outcome outcome)
{
    batch_taken taken;
    do {
        batch_take(batch, &taken);
        for (int i = 0; i < taken.count; i++)
            purchase_answer(taken.buyers[i].result, outcome);
        batch_answer(batch, &taken);
    } while (taken.count == SELL_MAX); /* the next round may already have better luck */
}

/* Serves round after round until there is none left. */
static void lead(void *arg)
{
    fs_batch *batch = arg;
    pthread_mutex_lock(&batch->lock);
    while (batch->first) {
        pthread_mutex_unlock(&batch->lock);
        batch->serve(batch->arg, batch);
        pthread_mutex_lock(&batch->lock);
    }
    batch->led = false;
    pthread_cond_signal(&batch->left);
    pthread_mutex_unlock(&batch->lock);
}

/* ---- life ------------------------------------------------------------------------------------ */

fs_batch *batch_open(batch_serve *serve, void *arg)
{
    fs_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return NULL;
    batch->serve = serve;
    batch->arg = arg;
    batch->leading = (leader_task){.run = lead, .arg = batch};
    pthread_mutex_init(&batch->lock, NULL);
    pthread_cond_init(&batch->left, NULL);
    return batch;
}

void batch_close(fs_batch *batch)
{
    if (!batch)
        return;
    pthread_mutex_lock(&batch->lock);
    while (batch->led)
        pthread_cond_wait(&batch->left, &batch->lock);
    pthread_mutex_unlock(&batch->lock);
    free(atomic_load(&batch->spare));
    pthread_cond_destroy(&batch->left);
    pthread_mutex_destroy(&batch->lock);
    free(batch);
}
