/*
 * A thread with many users, or with many connections of an open model: an event loop. Each turn
 * starts what is due, waits for the network, and settles what has ended. See driver.h for what a
 * seat is.
 */
#include "loadtest/load/arrivals.h"
#include "loadtest/load/buyer.h"
#include "loadtest/load/driver.h"
#include "loadtest/load/transfers.h"

#include <stdlib.h>

#define LOOK_NS      (50 * NS_PER_MS) /* how long a stopped run may stay unnoticed */
#define WARM_UPS_MAX 128              /* connections that are opened at the same time */
#define WARM_UPS_NS  (30 * NS_PER_S)  /* after which no more are opened before the start */
#define ARRIVALS_MAX 64               /* that are started before the network is looked at again */

typedef struct lt_seat {
    lt_buyer *buyer;
    bool busy;
    mono_ns due;          /* of its next request, while it waits in the queue */
    struct lt_seat *next; /* in the queue, or on the stack */
} lt_seat;

typedef struct lt_worker {
    lt_run_state *state;
    lt_tally *tally;
    lt_transfers *transfers;
    lt_seat *seats;
    int seat_count, busy;
    lt_seat *first, *last;           /* the queue of a closed model */
    lt_seat *idle[PLAN_TARGETS_MAX]; /* open model: a stack for each target */
    int next_target;                 /* whose turn it is */
    lt_arrivals arrivals;
    lt_backlog backlog;
} lt_worker;

/* ---- life ------------------------------------------------------------------------------------ */

static void worker_free(void *work)
{
    lt_worker *worker = work;
    for (int i = 0; i < worker->seat_count; i++)
        buyer_free(worker->seats[i].buyer);
    transfers_free(worker->transfers);
    backlog_release(&worker->backlog);
    free(worker->seats);
    free(worker);
}

static void *worker_make(lt_run_state *state, int number, int count)
{
    int users = state->plan->users;
    lt_worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    worker->state = state;
    worker->tally = &state->tallies.items[number];
    int seats = (users - number + count - 1) / count;
    worker->seats = calloc((size_t)seats, sizeof(worker->seats[0]));
    worker->transfers = transfers_new(seats);
    if (state->plan->model == MODEL_OPEN)
        worker->arrivals = arrivals_of(state->plan, number, count);
    bool complete = worker->seats && worker->transfers;
    while (complete && worker->seat_count < seats) {
        lt_seat *seat = &worker->seats[worker->seat_count];
        seat->buyer =
            buyer_new(state, worker->tally, worker->transfers, number + worker->seat_count * count);
        complete = seat->buyer;
        if (!complete)
            break;
        curl_easy_setopt(buyer_easy(seat->buyer), CURLOPT_PRIVATE, seat);
        worker->seat_count++;
    }
    if (complete)
        return worker;
    worker_free(worker);
    return NULL;
}

static void worker_wake(void *work)
{
    lt_worker *worker = work;
    transfers_wake(worker->transfers);
}

static bool is_open(const lt_worker *worker)
{
    return worker->state->plan->model == MODEL_OPEN;
}

/* ---- seats ----------------------------------------------------------------------------------- */

static void start_transfer(lt_worker *worker, lt_seat *seat)
{
    seat->busy = true;
    worker->busy++;
    transfers_start(worker->transfers, buyer_easy(seat->buyer));
}

static lt_seat *next_done(lt_worker *worker, CURLcode *ret_code)
{
    CURL *easy = transfers_done(worker->transfers, ret_code);
    lt_seat *seat = NULL;
    if (!easy)
        return NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&seat);
    seat->busy = false;
    worker->busy--;
    return seat;
}

/* The think time is the same for all, so a queue in the order of arrival is in the order due. */
static void queue_up(lt_worker *worker, lt_seat *seat, mono_ns due)
{
    seat->due = due;
    seat->next = NULL;
    if (!worker->first)
        worker->first = seat;
    else
        worker->last->next = seat;
    worker->last = seat;
}

static void lay_aside(lt_worker *worker, lt_seat *seat)
{
    lt_seat **stack = &worker->idle[buyer_target(seat->buyer)];
    seat->next = *stack;
    *stack = seat;
}

/* A free connection to the target whose turn it is, or to the next one that has any. */
static lt_seat *take_idle(lt_worker *worker)
{
    int targets = worker->state->plan->target_count;
    for (int i = 0; i < targets; i++) {
        lt_seat **stack = &worker->idle[worker->next_target];
        lt_seat *seat = *stack;
        worker->next_target = (worker->next_target + 1) % targets;
        if (seat) {
            *stack = seat->next;
            return seat;
        }
    }
    return NULL;
}

static lt_seat *take_first(lt_worker *worker)
{
    lt_seat *seat = worker->first;
    if (seat)
        worker->first = seat->next;
    return seat;
}

/* ---- before the start ------------------------------------------------------------------------ */

/* Opens the connections of all users. Those of an open model are opened when they are needed. */
static void warm_up_all(lt_worker *worker)
{
    mono_ns deadline = clock_now() + WARM_UPS_NS;
    CURLcode code;
    lt_seat *seat;
    int next = 0;
    while (next < worker->seat_count || worker->busy > 0) {
        while (next < worker->seat_count && worker->busy < WARM_UPS_MAX) {
            seat = &worker->seats[next++];
            if (clock_now() > deadline) {
                buyer_miss_warm_up(seat->buyer);
                continue;
            }
            buyer_warm_up(seat->buyer);
            start_transfer(worker, seat);
        }
        transfers_wait(worker->transfers, clock_now() + LOOK_NS);
        while ((seat = next_done(worker, &code)))
            buyer_warmed_up(seat->buyer, code);
    }
}

static void seat_all(lt_worker *worker)
{
    for (int i = worker->seat_count - 1; i >= 0; i--) {
        lt_seat *seat = &worker->seats[i];
        if (is_open(worker)) {
            buyer_skip_warm_up(seat->buyer);
            lay_aside(worker, seat);
        } else {
            queue_up(worker, seat, worker->state->started_at);
        }
    }
}

/* ---- during ---------------------------------------------------------------------------------- */

static void buy(lt_worker *worker, lt_seat *seat, int64_t ticket, mono_ns due)
{
    buyer_take(seat->buyer, ticket, due);
    start_transfer(worker, seat);
}

/* Closed and flash models: sends whoever has thought enough. */
static void send_due_users(lt_worker *worker)
{
    mono_ns now = clock_now();
    int64_t ticket;
    for (int i = 0; i < ARRIVALS_MAX && worker->first && worker->first->due <= now; i++) {
        lt_seat *seat = take_first(worker);
        if (run_state_ticket(worker->state, &ticket))
            buy(worker, seat, ticket, seat->due);
    }
}

/* Open model: starts what is due, or puts it off when all connections are busy. */
static void send_arrivals(lt_worker *worker)
{
    lt_run_state *state = worker->state;
    mono_ns now = clock_now();
    for (int i = 0; i < ARRIVALS_MAX; i++) {
        lt_due_request request = {.due = state->started_at + arrivals_next(&worker->arrivals)};
        if (request.due > now || !run_state_ticket(state, &request.ticket))
            return;
        arrivals_advance(&worker->arrivals);
        lt_seat *seat = take_idle(worker);
        if (seat) {
            buy(worker, seat, request.ticket, request.due);
            continue;
        }
        counter_add(&worker->tally->waited, 1);
        if (!backlog_push(&worker->backlog, request))
            counter_add(&worker->tally->unsent, 1);
    }
}

static void send_due(lt_worker *worker)
{
    if (is_open(worker))
        send_arrivals(worker);
    else
        send_due_users(worker);
}

static void make_free(lt_worker *worker, lt_seat *seat)
{
    lt_due_request request;
    if (!is_open(worker))
        queue_up(worker, seat, clock_now() + worker->state->plan->think);
    else if (backlog_pop(&worker->backlog, &request))
        buy(worker, seat, request.ticket, request.due);
    else
        lay_aside(worker, seat);
}

static void settle_done(lt_worker *worker)
{
    CURLcode code;
    lt_seat *seat;
    while ((seat = next_done(worker, &code))) {
        if (buyer_settle(seat->buyer, code))
            start_transfer(worker, seat);
        else
            make_free(worker, seat);
    }
}

/* When something is to be sent next; LOOK_NS from now at the latest. */
static mono_ns next_due(const lt_worker *worker)
{
    mono_ns next = clock_now() + LOOK_NS, due = next;
    if (run_state_stopped(worker->state))
        return next;
    if (is_open(worker))
        due = worker->state->started_at + arrivals_next(&worker->arrivals);
    else if (worker->first)
        due = worker->first->due;
    return due < next ? due : next;
}

/* The requests that were due before the end, but never found a free connection. */
static void drop_backlog(lt_worker *worker)
{
    counter_add(&worker->tally->unsent, (int64_t)worker->backlog.count);
    worker->backlog.count = 0;
}

static void abandon_busy(lt_worker *worker)
{
    for (int i = 0; i < worker->seat_count; i++) {
        lt_seat *seat = &worker->seats[i];
        if (!seat->busy)
            continue;
        transfers_abort(worker->transfers, buyer_easy(seat->buyer));
        buyer_abandon(seat->buyer);
        seat->busy = false;
        worker->busy--;
    }
}

static bool is_done(lt_worker *worker)
{
    if (!run_state_stopped(worker->state))
        return false;
    /* Every ticket of a run of N requests is used, however late. */
    if (worker->state->stop_reason != STOP_REQUESTS || run_state_is_cut(worker->state))
        drop_backlog(worker);
    if (run_state_is_cut(worker->state))
        abandon_busy(worker);
    return worker->busy == 0 && worker->backlog.count == 0;
}

static void *worker_main(void *work)
{
    lt_worker *worker = work;
    if (!is_open(worker))
        warm_up_all(worker);
    run_state_wait_for_start(worker->state);
    seat_all(worker);
    while (!is_done(worker)) {
        send_due(worker);
        transfers_wait(worker->transfers, next_due(worker));
        settle_done(worker);
    }
    run_state_finish(worker->state);
    return NULL;
}

const lt_driver driver_worker = {worker_make, worker_free, worker_main, worker_wake};
