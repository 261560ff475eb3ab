/*
 * batch.c - the queue of rounds, and the election of a leader.
 *
 * Buyers gather in rounds (batch_round.h). The last round in the queue is open to new buyers until
 * it is full or the leader takes it. The buyers of a round are answered together.
 *
 *     first --> round --> round <-- last            the leader has:  round (taken)
 *               full      open, buyers join
 *
 * The first round is never empty: abandoned rounds are dropped when their last buyer leaves, or
 * when the round before them is taken.
 *
 * A buyer that finds no leader sells to itself, and then calls a leader if other buyers have
 * arrived; or it calls one at once if others are likely to arrive. A leader ends when no round is
 * left. All of this is decided under the lock, so every round has a leader, or one is being
 * started.
 */
#include "server/selling/batch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "server/base/log.h"
#include "server/selling/leaders.h"

/* Even with wait_ms 0 a buyer waits this long: for its batch, which is not the lock. */
#define QUEUE_MS 100

struct fs_batch {
    const open_sale *sale; /* (borrowed) */
    batch_serve_one *serve_one;
    batch_serve *serve;
    void *arg;
    pthread_mutex_t lock;
    pthread_cond_t left; /* the leader has gone */
    batch_round *first, *last;
    _Atomic(batch_round *) spare; /* one that was given back, for the next */
    bool led;                     /* there is a leader, or one on its way */
    bool busy; /* the last to be served were several, or had to wait for the lock */
    leader_task leading;
};

/* ---- what is counted ------------------------------------------------------------------------- */

static _Atomic int64_t batches, buyers, largest, waiting; /* as in batch_counts */

/* Once a batch, not once a buyer. */
static void count_done(int count)
{
    int64_t most = atomic_load_explicit(&largest, memory_order_relaxed);
    atomic_fetch_add_explicit(&batches, 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&buyers, count, memory_order_relaxed);
    while (count > most && !atomic_compare_exchange_weak(&largest, &most, count)) {
    }
}

void batch_count(batch_counts *ret)
{
    *ret = (batch_counts){batches, buyers, largest, waiting};
}

/* ---- rounds ---------------------------------------------------------------------------------- */

/* A new round at the end of the queue; under the lock. NULL: out of memory. */
static batch_round *open_round(fs_batch *batch)
{
    batch_round *round = atomic_exchange(&batch->spare, NULL);
    if (!round)
        round = malloc(sizeof(*round));
    if (!round)
        return NULL;
    round_init(round);
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
    if (round_let_go(round) && !atomic_compare_exchange_strong(&batch->spare, &none, round))
        free(round);
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
        round_end(round);
        let_go(batch, round);
    }
}

/* A place in the open round; under the lock. NULL: out of memory. */
static batch_place *join(fs_batch *batch, const purchase *request, bool direct, batch_round **ret)
{
    batch_round *round = batch->last;
    if (!round || round->count == SELL_MAX)
        round = open_round(batch);
    if (!round)
        return NULL;
    *ret = round;
    waiting++;
    return round_add(round, request, direct);
}

/* ---- the buyer's side ------------------------------------------------------------------------ */

typedef enum { ANSWERED, LEFT, IN_DOUBT } batch_end;

/* Under the lock. */
static void leave(batch_round *round, batch_place *place)
{
    place->left = true;
    round->gone++;
    waiting--;
}

/* Leaves the round unless it has come as far as `stage`. Who could not leave before it was taken
 * has left when it is put back. */
static bool leave_before(batch_stage stage, fs_batch *batch, batch_round *round, batch_place *place)
{
    pthread_mutex_lock(&batch->lock);
    bool leaves = round->stage < stage;
    if (leaves) {
        leave(round, place);
        drop_abandoned(batch);
    }
    place->in_doubt = !leaves && stage == TAKEN;
    pthread_mutex_unlock(&batch->lock);
    return leaves;
}

/* Waits in the queue until `until`, and once called until `deadline`. */
static batch_end wait_turn(fs_batch *batch, batch_round *round, batch_place *place,
                           dlock_time until, dlock_time deadline)
{
    if (round_wait_answer(round, place, until))
        return ANSWERED;
    if (leave_before(CALLED, batch, round, place))
        return LEFT;
    if (round_wait_answer(round, place, deadline))
        return ANSWERED;
    if (leave_before(TAKEN, batch, round, place))
        return LEFT;
    if (round_give_up(place))
        return IN_DOUBT;
    while (!round_wait_answer(round, place, dlock_in_ms(QUEUE_MS))) {
    }
    return ANSWERED;
}

/* Sends for a leader if there is none; under the lock, so it can not find the queue empty before
 * the buyer is in it. False: there is no thread for one. */
static bool has_leader(fs_batch *batch)
{
    if (!batch->led && !(batch->led = leaders_run(&batch->leading)))
        LOG_SOME(LOG_ERROR, "no_thread", "detail", "no thread to sell to a batch of buyers", NULL);
    return batch->led;
}

/* Ends the buyer's turn as a leader: buyers that have arrived meanwhile get another leader. */
static void hand_over(fs_batch *batch, bool busy)
{
    pthread_mutex_lock(&batch->lock);
    batch->busy = busy;
    batch->led = false;
    bool left_alone = batch->first && !has_leader(batch);
    pthread_cond_signal(&batch->left);
    pthread_mutex_unlock(&batch->lock);
    if (left_alone)
        batch_refuse(batch, BUY_UNAVAILABLE);
}

/* Sells to a lone buyer, if no others are likely to arrive. False: it must join a round. */
static bool buy_alone(fs_batch *batch, const purchase *request, purchase_result *result)
{
    pthread_mutex_lock(&batch->lock);
    bool alone = !batch->led && !batch->busy;
    batch->led = batch->led || alone;
    pthread_mutex_unlock(&batch->lock);
    if (!alone)
        return false;
    bool served = batch->serve_one(batch->arg, request, result);
    if (served)
        count_done(1);
    hand_over(batch, !served);
    return served;
}

void batch_buy(fs_batch *batch, int64_t wait_ms, const purchase *request, purchase_result *result)
{
    batch_round *round = NULL;
    if (buy_alone(batch, request, result))
        return;
    bool direct = request->direct && request->direct->ready(request->direct);
    pthread_mutex_lock(&batch->lock);
    batch_place *place = has_leader(batch) ? join(batch, request, direct, &round) : NULL;
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
    bool dropped = round_wait(round, until);
    let_go(batch, round);
    return !dropped;
}

static batch_round *take_first(fs_batch *batch)
{
    pthread_mutex_lock(&batch->lock);
    batch_round *round = batch->first ? shift(batch) : NULL;
    if (round) {
        round->stage = TAKEN;
        waiting -= round->count - round->gone;
        batch->busy = round->count > 1;
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

void batch_put_back(fs_batch *batch, batch_taken *taken)
{
    batch_round *round = taken->round;
    if (!round)
        return;
    pthread_mutex_lock(&batch->lock);
    round->stage = QUEUED;
    waiting += round->count - round->gone;
    for (int i = 0; i < round->count; i++)
        if (round->places[i].in_doubt && !round->places[i].left)
            leave(round, &round->places[i]);
    round->next = batch->first;
    batch->first = round;
    if (!batch->last)
        batch->last = round;
    drop_abandoned(batch);
    pthread_mutex_unlock(&batch->lock);
}

static void answer(fs_batch *batch, batch_round *round)
{
    if (!round)
        return;
    round_answer(round, batch->sale);
    let_go(batch, round);
}

void batch_answer(fs_batch *batch, batch_taken *taken)
{
    if (taken->count > 0)
        count_done(taken->count);
    answer(batch, taken->round);
}

void batch_refuse(fs_batch *batch, purchase_outcome outcome)
{
    batch_taken taken;
    do {
        batch_take(batch, &taken);
        for (int i = 0; i < taken.count; i++)
            purchase_answer(taken.buyers[i].result, outcome);
        answer(batch, taken.round);
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

fs_batch *batch_open(const open_sale *sale, batch_serve_one *serve_one, batch_serve *serve,
                     void *arg)
{
    fs_batch *batch = calloc(1, sizeof(*batch));
    if (!batch)
        return NULL;
    batch->sale = sale;
    batch->serve_one = serve_one;
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
