#include "loadtest/load/threads.h"

#include "loadtest/load/buyer.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES    (512 * 1024)
#define THINK_SLICE_NS (50 * NS_PER_MS) /* a thinking user notices a stopped run this fast */

struct user_thread {
    pthread_t thread;
    struct course *course;
    struct buyer *buyer;
};

struct threads {
    struct course *course;
    int count; /* threads that run */
    struct user_thread users[];
};

/* Sleeps until the next request is due; false when the run ended meanwhile. */
static bool think(struct course *course, mono_ns due)
{
    for (;;) {
        mono_ns now = clock_now();
        if (now >= due)
            return true;
        if (course_stopped(course))
            return false;
        mono_ns slice = now + THINK_SLICE_NS;
        clock_sleep_until(slice < due ? slice : due);
    }
}

static void *user_main(void *arg)
{
    struct user_thread *self = arg;
    struct course *course = self->course;
    int64_t ticket;

    buyer_greet(self->buyer);
    buyer_greeted(self->buyer, curl_easy_perform(buyer_easy(self->buyer)));
    course_wait_for_start(course);
    mono_ns due = course->started_at;
    while (think(course, due) && course_ticket(course, &ticket)) {
        buyer_take(self->buyer, ticket, due);
        while (buyer_settle(self->buyer, curl_easy_perform(buyer_easy(self->buyer))))
            ;
        due = clock_now() + course->plan->think;
    }
    course_finish(course);
    return NULL;
}

static bool start_user(struct threads *threads, struct fleet *fleet,
                       const pthread_attr_t *attributes)
{
    struct user_thread *user = &threads->users[threads->count];
    user->course = threads->course;
    user->buyer = buyer_new(threads->course, fleet->tallies[threads->count],
                            &fleet->receipts[threads->count], NULL, threads->count);
    if (!user->buyer)
        return false;
    if (pthread_create(&user->thread, attributes, user_main, user) != 0) {
        buyer_free(user->buyer);
        return false;
    }
    threads->count++;
    return true;
}

/* Lets the threads that did start run through an empty course. */
static void give_up_start(struct threads *threads)
{
    course_stop(threads->course, STOP_INTERRUPTED);
    course_start(threads->course, threads->count);
    threads_join(threads);
}

struct threads *threads_start(struct course *course, struct fleet *fleet, char *err, size_t err_len)
{
    int wanted = course->plan->users;
    struct threads *threads =
        calloc(1, sizeof(*threads) + (size_t)wanted * sizeof(threads->users[0]));
    if (!threads) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    threads->course = course;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (threads->count < wanted && start_user(threads, fleet, &attributes))
        ;
    pthread_attr_destroy(&attributes);
    if (threads->count == wanted)
        return threads;
    snprintf(err, err_len, "only %d of %d user threads could be started", threads->count, wanted);
    give_up_start(threads);
    return NULL;
}

void threads_cut(struct threads *threads)
{
    atomic_store(&threads->course->cut, true);
    for (int i = 0; i < threads->count; i++)
        buyer_break(threads->users[i].buyer);
}

void threads_join(struct threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        pthread_join(threads->users[i].thread, NULL);
    for (int i = 0; i < threads->count; i++)
        buyer_free(threads->users[i].buyer);
    free(threads);
}
