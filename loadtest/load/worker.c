#include "loadtest/load/worker.h"

#include "loadtest/load/arrivals.h"
#include "loadtest/load/backlog.h"
#include "loadtest/load/buyer.h"
#include "loadtest/load/transfers.h"

#include <stdlib.h>

#define LOOK_NS       (50 * NS_PER_MS) /* how long a stopped course may stay unnoticed */
#define GREETINGS_MAX 128              /* connections that are opened at the same time */
#define GREETINGS_NS  (30 * NS_PER_S)  /* after which no more are opened before the start */
#define ARRIVALS_MAX  64               /* that are started before the network is looked at again */

struct seat {
    struct buyer *buyer;
    bool flying;
    mono_ns due;       /* of its next request, while it waits in the queue */
    struct seat *next; /* in the queue, or on the stack */
};

struct worker {
    struct course *course;
    struct tally *tally;
    struct flight *flight;
    struct seat *seats;
    int seat_count, flying;
    struct seat *first, *last;           /* the queue of a closed model */
    struct seat *idle[PLAN_TARGETS_MAX]; /* open model: a stack for each target */
    int next_target;                     /* whose turn it is */
    struct schedule schedule;
    struct backlog backlog;
};

/* ---- life ------------------------------------------------------------------------------------ */

struct worker *worker_new(struct course *course, struct tally *tally, struct receipts *receipts,
                          int number, int count)
{
    int users = course->plan->users;
    struct worker *worker = calloc(1, sizeof(*worker));
    if (!worker)
        return NULL;
    worker->course = course;
    worker->tally = tally;
    int seats = (users - number + count - 1) / count;
    worker->seats = calloc((size_t)seats, sizeof(worker->seats[0]));
    worker->flight = flight_new(seats);
    if (course->plan->model == MODEL_OPEN)
        worker->schedule = schedule_of(course->plan, number, count);
    bool complete = worker->seats && worker->flight;
    while (complete && worker->seat_count < seats) {
        struct seat *seat = &worker->seats[worker->seat_count];
        seat->buyer =
            buyer_new(course, tally, receipts, worker->flight, number + worker->seat_count * count);
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

void worker_free(struct worker *worker)
{
    if (!worker)
        return;
    for (int i = 0; i < worker->seat_count; i++)
        buyer_free(worker->seats[i].buyer);
    flight_free(worker->flight);
    backlog_release(&worker->backlog);
    free(worker->seats);
    free(worker);
}

void worker_wake(struct worker *worker)
{
    flight_wake(worker->flight);
}

static bool is_open(const struct worker *worker)
{
    return worker->course->plan->model == MODEL_OPEN;
}

/* ---- seats ----------------------------------------------------------------------------------- */

static void take_off(struct worker *worker, struct seat *seat)
{
    seat->flying = true;
    worker->flying++;
    flight_start(worker->flight, buyer_easy(seat->buyer));
}

static struct seat *next_landed(struct worker *worker, CURLcode *ret_code)
{
    CURL *easy = flight_landed(worker->flight, ret_code);
    struct seat *seat = NULL;
    if (!easy)
        return NULL;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, (char **)&seat);
    seat->flying = false;
    worker->flying--;
    return seat;
}

/* The think time is the same for all, so a queue in the order of arrival is in the order due. */
static void queue_up(struct worker *worker, struct seat *seat, mono_ns due)
{
    seat->due = due;
    seat->next = NULL;
    if (!worker->first)
        worker->first = seat;
    else
        worker->last->next = seat;
    worker->last = seat;
}

static void lay_aside(struct worker *worker, struct seat *seat)
{
    struct seat **stack = &worker->idle[buyer_target(seat->buyer)];
    seat->next = *stack;
    *stack = seat;
}

/* A free connection to the target whose turn it is, or to the next one that has any. */
static struct seat *take_idle(struct worker *worker)
{
    int targets = worker->course->plan->target_count;
    for (int i = 0; i < targets; i++) {
        struct seat **stack = &worker->idle[worker->next_target];
        struct seat *seat = *stack;
        worker->next_target = (worker->next_target + 1) % targets;
        if (seat) {
            *stack = seat->next;
            return seat;
        }
    }
    return NULL;
}

static struct seat *take_first(struct worker *worker)
{
    struct seat *seat = worker->first;
    if (seat)
        worker->first = seat->next;
    return seat;
}

/* ---- before the start ------------------------------------------------------------------------ */

/* Opens the connections of all users. Those of an open model are opened when they are needed. */
static void greet_all(struct worker *worker)
{
    mono_ns deadline = clock_now() + GREETINGS_NS;
    CURLcode code;
    struct seat *seat;
    int next = 0;
    while (next < worker->seat_count || worker->flying > 0) {
        while (next < worker->seat_count && worker->flying < GREETINGS_MAX) {
            seat = &worker->seats[next++];
            if (clock_now() > deadline) {
                buyer_miss_greeting(seat->buyer);
                continue;
            }
            buyer_greet(seat->buyer);
            take_off(worker, seat);
        }
        flight_wait(worker->flight, clock_now() + LOOK_NS);
        while ((seat = next_landed(worker, &code)))
            buyer_greeted(seat->buyer, code);
    }
}

static void seat_all(struct worker *worker)
{
    for (int i = worker->seat_count - 1; i >= 0; i--) {
        struct seat *seat = &worker->seats[i];
        if (is_open(worker)) {
            buyer_skip_greeting(seat->buyer);
            lay_aside(worker, seat);
        } else {
            queue_up(worker, seat, worker->course->started_at);
        }
    }
}

/* ---- during ---------------------------------------------------------------------------------- */

static void buy(struct worker *worker, struct seat *seat, int64_t ticket, mono_ns due)
{
    buyer_take(seat->buyer, ticket, due);
    take_off(worker, seat);
}

/* Closed and flash models: sends whoever has thought enough. */
static void send_due_users(struct worker *worker)
{
    mono_ns now = clock_now();
    int64_t ticket;
    for (int i = 0; i < ARRIVALS_MAX && worker->first && worker->first->due <= now; i++) {
        struct seat *seat = take_first(worker);
        if (course_ticket(worker->course, &ticket))
            buy(worker, seat, ticket, seat->due);
    }
}

/* Open model: starts what is due, or puts it off when all connections are busy. */
static void send_arrivals(struct worker *worker)
{
    struct course *course = worker->course;
    mono_ns now = clock_now();
    for (int i = 0; i < ARRIVALS_MAX; i++) {
        struct due_request request = {.due = course->started_at + schedule_next(&worker->schedule)};
        if (request.due > now || !course_ticket(course, &request.ticket))
            return;
        schedule_advance(&worker->schedule);
        struct seat *seat = take_idle(worker);
        if (seat) {
            buy(worker, seat, request.ticket, request.due);
            continue;
        }
        counter_add(&worker->tally->waited, 1);
        if (!backlog_push(&worker->backlog, request))
            counter_add(&worker->tally->unsent, 1);
    }
}

static void send_due(struct worker *worker)
{
    if (is_open(worker))
        send_arrivals(worker);
    else
        send_due_users(worker);
}

static void make_free(struct worker *worker, struct seat *seat)
{
    struct due_request request;
    if (!is_open(worker))
        queue_up(worker, seat, clock_now() + worker->course->plan->think);
    else if (backlog_pop(&worker->backlog, &request))
        buy(worker, seat, request.ticket, request.due);
    else
        lay_aside(worker, seat);
}

static void settle_landed(struct worker *worker)
{
    CURLcode code;
    struct seat *seat;
    while ((seat = next_landed(worker, &code))) {
        if (buyer_settle(seat->buyer, code))
            take_off(worker, seat);
        else
            make_free(worker, seat);
    }
}

/* When something is to be sent next; LOOK_NS from now at the latest. */
static mono_ns next_due(const struct worker *worker)
{
    mono_ns next = clock_now() + LOOK_NS, due = next;
    if (course_stopped(worker->course))
        return next;
    if (is_open(worker))
        due = worker->course->started_at + schedule_next(&worker->schedule);
    else if (worker->first)
        due = worker->first->due;
    return due < next ? due : next;
}

/* The requests that were due before the end, but never found a free connection. */
static void drop_backlog(struct worker *worker)
{
    counter_add(&worker->tally->unsent, worker->backlog.count);
    worker->backlog.count = 0;
}

static void abandon_flying(struct worker *worker)
{
    for (int i = 0; i < worker->seat_count; i++) {
        struct seat *seat = &worker->seats[i];
        if (!seat->flying)
            continue;
        flight_abort(worker->flight, buyer_easy(seat->buyer));
        buyer_abandon(seat->buyer);
        seat->flying = false;
        worker->flying--;
    }
}

static bool is_done(struct worker *worker)
{
    if (!course_stopped(worker->course))
        return false;
    /* Every ticket of a run of N requests is used, however late. */
    if (worker->course->stop_reason != STOP_REQUESTS || course_cut(worker->course))
        drop_backlog(worker);
    if (course_cut(worker->course))
        abandon_flying(worker);
    return worker->flying == 0 && worker->backlog.count == 0;
}

void *worker_main(void *arg)
{
    struct worker *worker = arg;
    if (!is_open(worker))
        greet_all(worker);
    course_wait_for_start(worker->course);
    seat_all(worker);
    while (!is_done(worker)) {
        send_due(worker);
        flight_wait(worker->flight, next_due(worker));
        settle_landed(worker);
    }
    course_finish(worker->course);
    return NULL;
}
