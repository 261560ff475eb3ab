#include "loadtest/load/run_state.h"

#include <errno.h>
#include <inttypes.h>

const char *stop_reason_name(enum stop_reason reason)
{
    static const char *const names[] = {
        [STOP_NOT_YET] = "running",         [STOP_REQUESTS] = "requests used up",
        [STOP_DURATION] = "time over",      [STOP_SOLD_OUT] = "sold out",
        [STOP_INTERRUPTED] = "interrupted",
    };
    return names[reason];
}

void course_init(struct course *course, const struct load_plan *plan, const char *key_prefix)
{
    *course = (struct course){.plan = plan};
    snprintf(course->key_prefix, sizeof(course->key_prefix), "%s", key_prefix);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&course->opened, &monotonic);
    pthread_cond_init(&course->reported, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&course->mutex, NULL);
}

void course_release(struct course *course)
{
    pthread_cond_destroy(&course->opened);
    pthread_cond_destroy(&course->reported);
    pthread_mutex_destroy(&course->mutex);
}

void course_wait_for_start(struct course *course)
{
    pthread_mutex_lock(&course->mutex);
    course->ready++;
    pthread_cond_signal(&course->reported);
    while (!course->open)
        pthread_cond_wait(&course->opened, &course->mutex);
    pthread_mutex_unlock(&course->mutex);
}

void course_start(struct course *course, int threads)
{
    pthread_mutex_lock(&course->mutex);
    while (course->ready < threads)
        pthread_cond_wait(&course->reported, &course->mutex);
    course->started_at = clock_now();
    course->open = true;
    pthread_cond_broadcast(&course->opened);
    pthread_mutex_unlock(&course->mutex);
}

void course_finish(struct course *course)
{
    pthread_mutex_lock(&course->mutex);
    course->finished++;
    pthread_cond_signal(&course->reported);
    pthread_mutex_unlock(&course->mutex);
}

bool course_wait_finished(struct course *course, int threads, mono_ns until)
{
    struct timespec deadline = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    pthread_mutex_lock(&course->mutex);
    int rc = 0;
    while (course->finished < threads && rc != ETIMEDOUT)
        rc = pthread_cond_timedwait(&course->reported, &course->mutex, &deadline);
    bool finished = course->finished >= threads;
    pthread_mutex_unlock(&course->mutex);
    return finished;
}

bool course_ticket(struct course *course, int64_t *ret_ticket)
{
    const struct load_plan *plan = course->plan;
    if (plan->duration > 0 && clock_now() - course->started_at >= plan->duration)
        course_stop(course, STOP_DURATION);
    if (course_stopped(course))
        return false;
    int64_t ticket = atomic_fetch_add_explicit(&course->tickets, 1, memory_order_relaxed);
    if (plan->requests > 0 && ticket >= plan->requests) {
        course_stop(course, STOP_REQUESTS);
        return false;
    }
    *ret_ticket = ticket;
    return true;
}

void course_stop(struct course *course, enum stop_reason reason)
{
    int running = STOP_NOT_YET;
    if (atomic_compare_exchange_strong(&course->stop_reason, &running, (int)reason))
        atomic_store(&course->stopped_at, clock_now());
}

static void keep_latest(_Atomic mono_ns *mark, mono_ns when)
{
    mono_ns seen = atomic_load_explicit(mark, memory_order_relaxed);
    while (when > seen && !atomic_compare_exchange_weak(mark, &seen, when))
        ;
}

static void keep_first(_Atomic mono_ns *mark, mono_ns when)
{
    mono_ns seen = atomic_load_explicit(mark, memory_order_relaxed);
    while ((seen == 0 || when < seen) && !atomic_compare_exchange_weak(mark, &seen, when))
        ;
}

static void note_user(struct user_record *user, const struct settled *settled)
{
    if (settled->ending != END_COMPLETED)
        return;
    counter_add(&user->answered, 1);
    counter_add(&user->served, outcome_is_served(settled->outcome));
    counter_add(&user->sold, settled->outcome == OUT_SOLD);
    keep_first(&user->first_answer, settled->done);
}

static void write_log(struct course *course, int user, int64_t ticket, const struct settled *s)
{
    static const char *const endings[] = {"completed", "failed", "unfinished"};
    fprintf(course->log, "%s-%" PRId64 ",%d,%d,%" PRId64 ",%" PRId64 ",%" PRId64 ",%s,%s\n",
            course->key_prefix, ticket, user, s->target, s->due, s->sent, s->done,
            endings[s->ending], outcome_name(s->outcome));
}

void course_note(struct course *course, int user, int64_t ticket, const struct settled *settled)
{
    note_user(&course->users[user], settled);
    if (course->log)
        write_log(course, user, ticket, settled);
    if (settled->ending != END_COMPLETED)
        return;
    timeline_record(course->timeline, settled->outcome, settled->done - course->started_at,
                    settled->done - settled->due);
    keep_latest(&course->last_done, settled->done);
    if (settled->outcome == OUT_SOLD)
        keep_latest(&course->last_sold, settled->done);
    if (settled->outcome != OUT_SOLD_OUT)
        return;
    keep_first(&course->first_refuse, settled->done);
    if (course->plan->until_sold_out)
        course_stop(course, STOP_SOLD_OUT);
}
