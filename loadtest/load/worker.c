/*
 * An event loop. Each turn starts what is due, waits for the network, and settles ended transfers
 * in the order in which they ended, so no user overtakes one who has waited longer.
 */
#include "loadtest/load/worker.h"

#include "loadtest/load/arrivals.h"
#include "loadtest/load/buyer.h"
#include "loadtest/load/transfers.h"

#include <stdlib.h>

#define WARM_UPS_MAX 128             /* connections that are opened at the same time */
#define WARM_UPS_NS  (30 * NS_PER_S) /* no more are opened after this long */
#define ARRIVALS_MAX 64              /* starts before the network is looked at again */

typedef struct lt_slot {
    lt_buyer *buyer;
    bool busy;
    mono_ns due;          /* when its next request is due, while it waits in the queue */
    struct lt_slot *next; /* in the queue, or on the stack */
} lt_slot;

struct lt_worker {
    lt_run_state *state;
    lt_tally *tally;
    lt_pen *pen;
    lt_transfers *transfers;
    lt_slot *slots;
    int slot_count, busy;
    lt_slot *first, *last;           /* the queue of a closed model */
    lt_slot *idle[PLAN_TARGETS_MAX]; /* open model: a stack for each target */
    int next_target;                 /* whose turn it is */
    lt_arrivals arrivals;
    lt_backlog backlog;
};

/* ---- life ------------------------------------------------------------------------------------ */

void worker_free(lt_worker *worker)
{
    for (int i = 0; i < worker->slot_count; i++)
        buyer_free(worker->slots[i].buyer);
    transfers_free(worker->transfers);
    backlog_release(&worker->backlog);
    pen_free(worker->pen);
    free(worker->slots);
    free(worker);
}

lt_worker *worker_new(lt_run_state *state, int number, int count)
{
    int first = (int)((int64_t)state->plan->users * number / count);
    int slots = (int)((int64_t)state->plan->users * (number + 1) / count) - first;
    lt_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    worker->state = state;
    worker->tally = &state->tallies.items[number];
    worker->slots = calloc((size_t)slots, sizeof(worker->slots[0]));
    worker->transfers = transfers_new(slots);
    worker->pen = pen_new(state->recorder);
    if (state->plan->model == MODEL_OPEN)
        worker->arrivals = arrivals_of(state->plan, number, count);
    bool complete = worker->slots && worker->transfers && worker->pen;
    while (complete && worker->slot_count < slots) {
        lt_slot *slot = &worker->slots[worker->slot_count];
        slot->buyer = buyer_new(state, worker->tally, worker->pen, worker->transfers,
                                first + worker->slot_count);
        complete = slot->buyer;
        if (!complete)
            break;
        curl_easy_setopt(buyer_easy(slot->buyer), CURLOPT_PRIVATE, slot);
        worker->slot_count++;
    }
    if (complete)
        return worker;
    worker_free(worker);
    return NULL;
}

void worker_wake(lt_worker *worker)
{
    transfers_wake(worker->transfers);
}

static bool is_open(const lt_worker *worker)
{
    return worker->state->plan->model == MODEL_OPEN;
}

/* ---- slots ----------------------------------------------------------------------------------- */

static void start_transfer(lt_worker *worker, lt_slot *slot)
{
    slot->busy = true;
    worker->busy++;
    transfers_start(worker->transfers, buyer_easy(slot->buyer));
}

static lt_slot *next_done(lt_worker *worker, CURLcode *ret)
{
    CURL *easy = transfers_done(worker->transfers, ret);
    lt_slot *slot = NULL;
    if (!easy)
        return NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&slot);
    slot->busy = false;
    worker->busy--;
    return slot;
}

/* The think time is the same for all, so a queue in the order of arrival is in the order due. */
static void queue_up(lt_worker *worker, lt_slot *slot, mono_ns due)
{
    slot->due = due;
    slot->next = NULL;
    if (!worker->first)
        worker->first = slot;
    else
        worker->last->next = slot;
    worker->last = slot;
}

static void lay_aside(lt_worker *worker, lt_slot *slot)
{
    lt_slot **stack = &worker->idle[buyer_target(slot->buyer)];
    slot->next = *stack;
    *stack = slot;
}

/* A free connection to the target whose turn it is, or to the next one that has any. */
static lt_slot *take_idle(lt_worker *worker)
{
    int targets = worker->state->plan->target_count;
    for (int i = 0; i < targets; i++) {
        lt_slot **stack = &worker->idle[worker->next_target];
        lt_slot *slot = *stack;
        worker->next_target = (worker->next_target + 1) % targets;
        if (slot) {
            *stack = slot->next;
            return slot;
        }
    }
    return NULL;
}

/* ---- before the start ------------------------------------------------------------------------ */

/* Opens the connections of all users. Those of an open model are opened when they are needed. */
static void warm_up_all(lt_worker *worker)
{
    mono_ns deadline = clock_now() + WARM_UPS_NS;
    CURLcode code;
    lt_slot *slot;
    int next = 0;
    while (next < worker->slot_count || worker->busy > 0) {
        while (next < worker->slot_count && worker->busy < WARM_UPS_MAX) {
            slot = &worker->slots[next++];
            if (clock_now() > deadline) {
                buyer_miss_warm_up(slot->buyer);
                continue;
            }
            buyer_warm_up(slot->buyer);
            start_transfer(worker, slot);
        }
        transfers_wait(worker->transfers, MONO_NEVER);
        while ((slot = next_done(worker, &code)))
            buyer_warmed_up(slot->buyer, code);
    }
}

static void fill_slots(lt_worker *worker)
{
    for (int i = worker->slot_count - 1; i >= 0; i--) {
        lt_slot *slot = &worker->slots[i];
        if (is_open(worker)) {
            buyer_skip_warm_up(slot->buyer);
            lay_aside(worker, slot);
        } else {
            queue_up(worker, slot, worker->state->started_at);
        }
    }
}

/* ---- during ---------------------------------------------------------------------------------- */

static void buy(lt_worker *worker, lt_slot *slot, int64_t ticket, mono_ns due)
{
    buyer_take(slot->buyer, ticket, due);
    start_transfer(worker, slot);
}

/* Closed and flash models: sends for every user whose think time is over. */
static void send_due_users(lt_worker *worker)
{
    mono_ns now = clock_now();
    int64_t ticket;
    for (int i = 0; i < ARRIVALS_MAX && worker->first && worker->first->due <= now; i++) {
        lt_slot *slot = worker->first;
        worker->first = slot->next;
        if (run_state_ticket(worker->state, buyer_user(slot->buyer), &ticket))
            buy(worker, slot, ticket, slot->due);
        else
            buyer_leave(slot->buyer);
    }
}

/* Open model: starts what is due, or puts it into the backlog when all connections are busy. */
static void send_arrivals(lt_worker *worker)
{
    lt_run_state *state = worker->state;
    mono_ns now = clock_now();
    for (int i = 0; i < ARRIVALS_MAX; i++) {
        lt_due_request request = {.due = state->started_at + arrivals_next(&worker->arrivals)};
        if (request.due > now || !run_state_ticket(state, 0, &request.ticket))
            return;
        arrivals_advance(&worker->arrivals);
        lt_slot *slot = take_idle(worker);
        if (slot) {
            buy(worker, slot, request.ticket, request.due);
            continue;
        }
        counter_add(&worker->tally->waited, 1);
        if (!backlog_push(&worker->backlog, request))
            tally_unsent(worker->tally, request.due);
    }
}

static void make_free(lt_worker *worker, lt_slot *slot)
{
    lt_due_request request;
    if (!is_open(worker))
        queue_up(worker, slot, clock_now() + worker->state->plan->think);
    else if (backlog_pop(&worker->backlog, &request))
        buy(worker, slot, request.ticket, request.due);
    else
        lay_aside(worker, slot);
}

static void settle_done(lt_worker *worker)
{
    CURLcode code;
    lt_slot *slot;
    while ((slot = next_done(worker, &code))) {
        if (buyer_settle(slot->buyer, code))
            start_transfer(worker, slot);
        else
            make_free(worker, slot);
    }
}

/* When something is to be sent next. */
static mono_ns next_due(const lt_worker *worker)
{
    if (run_state_stopped(worker->state))
        return MONO_NEVER;
    if (is_open(worker))
        return worker->state->started_at + arrivals_next(&worker->arrivals);
    return worker->first ? worker->first->due : MONO_NEVER;
}

static void abandon_busy(lt_worker *worker)
{
    for (int i = 0; i < worker->slot_count; i++) {
        lt_slot *slot = &worker->slots[i];
        if (!slot->busy)
            continue;
        transfers_abort(worker->transfers, buyer_easy(slot->buyer));
        buyer_abandon(slot->buyer);
        slot->busy = false;
        worker->busy--;
    }
}

static bool is_done(lt_worker *worker)
{
    if (!run_state_stopped(worker->state))
        return false;
    /* A run of N requests uses every ticket, however late; another run only until its end. */
    if (worker->state->stop_reason != STOP_REQUESTS || run_state_is_cut(worker->state)) {
        lt_due_request request;
        while (backlog_pop(&worker->backlog, &request))
            tally_unsent(worker->tally, request.due);
    }
    if (run_state_is_cut(worker->state))
        abandon_busy(worker);
    return worker->busy == 0 && worker->backlog.count == 0;
}

void *worker_main(void *self)
{
    lt_worker *worker = self;
    if (!is_open(worker))
        warm_up_all(worker);
    run_state_wait_for_start(worker->state);
    fill_slots(worker);
    while (!is_done(worker)) {
        if (is_open(worker))
            send_arrivals(worker);
        else
            send_due_users(worker);
        transfers_wait(worker->transfers, next_due(worker));
        settle_done(worker);
    }
    run_state_finish(worker->state);
    return NULL;
}
