/*
 * The gate starts all engine threads at the same instant, after the slowest has opened its
 * connections. A ticket is computed from its user's previous one. The marks that reports need are
 * kept while answers come in, so nothing has to be searched for afterwards.
 */
#include "loadtest/load/run_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#define PAUSE_NS (100 * NS_PER_MS) /* without an open request ends a silence */

const char *stop_reason_name(lt_stop_reason reason)
{
    static const char *const names[] = {
        [STOP_NOT_YET] = "running",         [STOP_REQUESTS] = "requests used up",
        [STOP_DURATION] = "time over",      [STOP_SOLD_OUT] = "sold out",
        [STOP_INTERRUPTED] = "interrupted",
    };
    return names[reason];
}

bool run_state_init(lt_run_state *state, int threads)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&state->opened, &monotonic);
    pthread_cond_init(&state->reported, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&state->mutex, NULL);
    state->timeline = timeline_new();
    pthread_mutex_init(&state->errors.mutex, NULL);
    state->users = calloc((size_t)state->plan->users, sizeof(state->users[0]));
    state->followups = followups_new(state->plan);
    return tallies_init(&state->tallies, threads) && state->timeline && state->users &&
           state->followups;
}

void run_state_release(lt_run_state *state)
{
    pthread_cond_destroy(&state->opened);
    pthread_cond_destroy(&state->reported);
    pthread_mutex_destroy(&state->mutex);
    tallies_release(&state->tallies);
    followups_free(state->followups);
    timeline_free(state->timeline);
    pthread_mutex_destroy(&state->errors.mutex);
    free(state->users);
}

void run_state_wait_for_start(lt_run_state *state)
{
    pthread_mutex_lock(&state->mutex);
    state->ready++;
    pthread_cond_signal(&state->reported);
    while (!state->open)
        pthread_cond_wait(&state->opened, &state->mutex);
    pthread_mutex_unlock(&state->mutex);
}

void run_state_start(lt_run_state *state, int threads)
{
    pthread_mutex_lock(&state->mutex);
    while (state->ready < threads)
        pthread_cond_wait(&state->reported, &state->mutex);
    state->started_at = clock_now();
    state->open = true;
    pthread_cond_broadcast(&state->opened);
    pthread_mutex_unlock(&state->mutex);
}

void run_state_finish(lt_run_state *state)
{
    pthread_mutex_lock(&state->mutex);
    state->finished++;
    pthread_cond_signal(&state->reported);
    pthread_mutex_unlock(&state->mutex);
}

bool run_state_wait_finished(lt_run_state *state, mono_ns until)
{
    struct timespec deadline = clock_timespec(until);
    pthread_mutex_lock(&state->mutex);
    int rc = 0, threads = state->tallies.count;
    while (state->finished < threads && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&state->reported, &state->mutex, &deadline);
    bool finished = state->finished >= threads;
    pthread_mutex_unlock(&state->mutex);
    return finished;
}

int64_t run_state_taken(const lt_run_state *state, int user)
{
    if (state->plan->model == MODEL_OPEN)
        return atomic_load(&state->tickets);
    return counter_get(&state->users[user].issued);
}

void run_state_request_id(const lt_run_state *state, int64_t ticket, char ret[REQUEST_ID_MAX])
{
    snprintf(ret, REQUEST_ID_MAX, "%s-%" PRId64, state->key_prefix, ticket);
}

static void keep_first(_Atomic mono_ns *mark)
{
    mono_ns none = 0;
    atomic_compare_exchange_strong(mark, &none, clock_now());
}

static void keep_latest(_Atomic mono_ns *mark, mono_ns when)
{
    mono_ns seen = atomic_load_explicit(mark, memory_order_relaxed);
    while (when > seen && !atomic_compare_exchange_weak(mark, &seen, when))
        ;
}

/* Takes the user's next ticket, which nobody else can take. False: the share is used up. */
static bool own_ticket(lt_run_state *state, int user, int64_t *ret)
{
    const lt_plan *plan = state->plan;
    *ret = user + run_state_taken(state, user) * plan->users;
    if (plan->requests > 0 && *ret >= plan->requests) {
        keep_first(&state->first_through);
        return false;
    }
    counter_add(&state->users[user].issued, 1);
    if (atomic_fetch_add_explicit(&state->tickets, 1, memory_order_relaxed) + 1 == plan->requests)
        run_state_stop(state, STOP_REQUESTS);
    return true;
}

static bool next_ticket(lt_run_state *state, int64_t *ret)
{
    *ret = atomic_fetch_add_explicit(&state->tickets, 1, memory_order_relaxed);
    if (state->plan->requests == 0 || *ret < state->plan->requests)
        return true;
    atomic_fetch_sub_explicit(&state->tickets, 1, memory_order_relaxed);
    run_state_stop(state, STOP_REQUESTS);
    return false;
}

/* Requests are open again. A new span begins if the last one was answered, or a while ago;
 * otherwise the current silence goes on. */
static void note_reopened(lt_run_state *state, mono_ns now)
{
    if (state->last_done >= state->last_ended || now - state->last_ended > PAUSE_NS)
        keep_latest(&state->open_since, now);
}

bool run_state_ticket(lt_run_state *state, int user, int64_t *ret)
{
    const lt_plan *plan = state->plan;
    if (plan->duration > 0 && clock_now() - state->started_at >= plan->duration)
        run_state_stop(state, STOP_DURATION);
    if (run_state_stopped(state))
        return false;
    if (!(plan->model == MODEL_OPEN ? next_ticket(state, ret) : own_ticket(state, user, ret)))
        return false;
    if (atomic_fetch_add(&state->underway, 1) == 0)
        note_reopened(state, clock_now());
    return true;
}

void run_state_stop(lt_run_state *state, lt_stop_reason reason)
{
    int running = STOP_NOT_YET;
    if (atomic_compare_exchange_strong(&state->stop_reason, &running, (int)reason))
        atomic_store(&state->stopped_at, clock_now());
}

static void note_user(lt_run_state *state, lt_user_record *user, const lt_settled *settled)
{
    int64_t requests = state->plan->requests;
    bool first_half =
        requests == 0 ||
        atomic_load_explicit(&state->tickets, memory_order_relaxed) <= (requests + 1) / 2;
    if (settled->ending != END_COMPLETED)
        return;
    counter_add(&user->answered, 1);
    counter_add(&user->served, outcome_is_served(settled->outcome));
    counter_add(&user->sold, settled->outcome == OUT_SOLD);
    counter_add(&user->sold_early, first_half && settled->outcome == OUT_SOLD);
    if (user->first_answer == 0)
        user->first_answer = settled->done;
}

static void write_log(lt_run_state *state, int user, int64_t ticket, const lt_settled *s)
{
    static const char *const endings[] = {"completed", "failed", "unfinished"};
    char request[REQUEST_ID_MAX];
    run_state_request_id(state, ticket, request);
    fprintf(state->log, "%s,%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s\n", request, user,
            s->target, s->due, s->sent, s->done, endings[s->ending], outcome_name(s->outcome));
}

/* The service was silent from its last answer, or from the next request after it, until a
 * request ended. */
static void note_silence(lt_run_state *state, mono_ns until)
{
    mono_ns from = state->last_done;
    if (state->open_since > from)
        from = state->open_since;
    if (from > 0 && until - from > state->silence) {
        pthread_mutex_lock(&state->mutex);
        if (until - from > state->silence) {
            state->silence = until - from;
            state->silence_from = from;
        }
        pthread_mutex_unlock(&state->mutex);
    }
}

void run_state_note(lt_run_state *state, int user, int64_t ticket, const lt_settled *settled)
{
    note_user(state, &state->users[user], settled);
    followups_note(state->followups, ticket, settled->outcome, settled->target, settled->done);
    if (state->log)
        write_log(state, user, ticket, settled);
    timeline_record(state->timeline, settled_series(settled), settled->done - state->started_at,
                    settled->done - settled->due);
    note_silence(state, settled->done);
    keep_latest(&state->last_ended, settled->done);
    if (settled->ending == END_COMPLETED)
        keep_latest(&state->last_done, settled->done);
    atomic_fetch_sub(&state->underway, 1);
    if (settled->ending != END_COMPLETED)
        return;
    if (settled->outcome == OUT_SOLD)
        keep_latest(&state->last_sold, settled->done);
    if (settled->outcome == OUT_SOLD_OUT && state->plan->until_sold_out)
        run_state_stop(state, STOP_SOLD_OUT);
}
