/*
 * leaders.c - threads that start on demand and end when idle.
 *
 * A task never waits for a busy leader, which may stay busy as long as the sale lasts: it goes to
 * an idle leader or to a new one. An idle leader counts as free until a task is reserved for it, so
 * two tasks never rely on the same leader.
 *
 * The threads are detached: the owner of a task must wait for it by its own means.
 */
#include "server/selling/leaders.h"

#include <pthread.h>
#include <stddef.h>

#include "lock/dlock_redis.h"

#define LINGER_MS 1000

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t given;     /* there is a task for an idle leader */
static leader_task *first_given; /* newest first; at least as many leaders are idle */
static int free_leaders;         /* idle leaders less given tasks */

static void make_condition(void)
{
    dlock_cond_init(&given);
}

/* Waits for a task; under the lock. NULL: none came in time. */
static leader_task *wait_for_task(void)
{
    dlock_time until = dlock_in_ms(LINGER_MS);
    free_leaders++;
    while (!first_given && !dlock_passed(until))
        dlock_cond_wait(&given, &lock, until);
    leader_task *task = first_given;
    if (task)
        first_given = task->next;
    else
        free_leaders--;
    return task;
}

static void *lead(void *first)
{
    for (leader_task *task = first; task;) {
        task->run(task->arg);
        pthread_mutex_lock(&lock);
        task = wait_for_task();
        pthread_mutex_unlock(&lock);
    }
    return NULL;
}

static bool start_leader(leader_task *task)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, lead, task) != 0)
        return false;
    pthread_detach(thread);
    return true;
}

bool leaders_run(leader_task *task)
{
    pthread_once(&once, make_condition);
    pthread_mutex_lock(&lock);
    bool given_away = free_leaders > 0;
    if (given_away) {
        free_leaders--;
        task->next = first_given;
        first_given = task;
        pthread_cond_signal(&given);
    }
    pthread_mutex_unlock(&lock);
    return given_away || start_leader(task);
}
