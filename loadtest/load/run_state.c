/*
 * The gate lets all engine threads start at the same instant, after the slowest has opened its
 * connections. Tickets are one atomic counter; the marks that reports are made from are kept while
 * answers come in, so that nothing has to be searched for afterwards.
 */
#include "loadtest/load/run_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

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
    return tallies_init(&state->tallies, threads) && state->timeline && state->users;
}

void run_state_release(lt_run_state *state)
{
    pthread_cond_destroy(&state->opened);
    pthread_cond_destroy(&state->reported);
    pthread_mutex_destroy(&state->mutex);
    tallies_release(&state->tallies);
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

bool run_state_ticket(lt_run_state *state, int64_t *ret)
{
    const lt_plan *plan = state->plan;
    if (plan->duration > 0 && clock_now() - state->started_at >= plan->duration)
        run_state_stop(state, STOP_DURATION);
    if (run_state_stopped(state))
        return false;
    int64_t ticket = atomic_fetch_add_explicit(&state->tickets, 1, memory_order_relaxed);
    if (plan->requests > 0 && ticket >= plan->requests) {
        run_state_stop(state, STOP_REQUESTS);
        return false;
    }
    *ret = ticket;
    return true;
}

void run_state_stop(lt_run_state *state, lt_stop_reason reason)
{
    int running = STOP_NOT_YET;
    if (atomic_compare_exchange_strong(&state->stop_reason, &running, (int)reason))
        atomic_store(&state->stopped_at, clock_now());
}

static void keep_latest(_Atomic mono_ns *mark, mono_ns when)
{
    mono_ns seen = atomic_load_explicit(mark, memory_order_relaxed);
    while (when > seen && !atomic_compare_exchange_weak(mark, &seen, when))
        ;
}

static void note_user(lt_user_record *user, const lt_settled *settled)
{
    if (settled->ending != END_COMPLETED)
        return;
    counter_add(&user->answered, 1);
    counter_add(&user->served, outcome_is_served(settled->outcome));
    counter_add(&user->sold, settled->outcome == OUT_SOLD);
    if (user->first_answer == 0)
        user->first_answer = settled->done;
}

static void write_log(lt_run_state *state, int user, int64_t ticket, const lt_settled *s)
{
    static const char *const endings[] = {"completed", "failed", "unfinished"};
    fprintf(state->log, "%s-%" PRId64 ",%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s\n",
            state->key_prefix, ticket, user, s->target, s->due, s->sent, s->done,
            endings[s->ending], outcome_name(s->outcome));
}

void run_state_note(lt_run_state *state, int user, int64_t ticket, const lt_settled *settled)
{
    note_user(&state->users[user], settled);
    if (state->log)
        write_log(state, user, ticket, settled);
    if (settled->ending != END_COMPLETED)
        return;
    timeline_record(state->timeline, settled->outcome, settled->done - state->started_at,
                    settled->done - settled->due);
    keep_latest(&state->last_done, settled->done);
    if (settled->outcome == OUT_SOLD)
        keep_latest(&state->last_sold, settled->done);
    if (settled->outcome == OUT_SOLD_OUT && state->plan->until_sold_out)
        run_state_stop(state, STOP_SOLD_OUT);
}
