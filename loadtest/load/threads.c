#include "loadtest/load/threads.h"

#include "loadtest/load/buyer.h"

#include <stdlib.h>
#include <string.h>

#define STACK_BYTES    (512 * 1024)
#define THINK_SLICE_NS (50 * NS_PER_MS) /* a thinking user notices a stopped run this fast */

typedef struct lt_user_thread {
    pthread_t thread;
    lt_run_state *state;
    lt_buyer *buyer;
} lt_user_thread;

struct lt_threads {
    lt_run_state *state;
    int count; /* threads that run */
    lt_user_thread users[];
};

/* Sleeps until the next request is due; false when the run ended meanwhile. */
static bool think(lt_run_state *state, mono_ns due)
{
    for (;;) {
        mono_ns now = clock_now();
        if (now >= due)
            return true;
        if (run_state_stopped(state))
            return false;
        mono_ns slice = now + THINK_SLICE_NS;
        clock_sleep_until(slice < due ? slice : due);
    }
}

static void *user_main(void *arg)
{
    lt_user_thread *self = arg;
    lt_run_state *state = self->state;
    int64_t ticket;

    buyer_greet(self->buyer);
    buyer_greeted(self->buyer, curl_easy_perform(buyer_easy(self->buyer)));
    run_state_wait_for_start(state);
    mono_ns due = state->started_at;
    while (think(state, due) && run_state_ticket(state, &ticket)) {
        buyer_take(self->buyer, ticket, due);
        while (buyer_settle(self->buyer, curl_easy_perform(buyer_easy(self->buyer))))
            ;
        due = clock_now() + state->plan->think;
    }
    run_state_finish(state);
    return NULL;
}

static bool start_user(lt_threads *threads, lt_fleet *fleet, const pthread_attr_t *attributes)
{
    lt_user_thread *user = &threads->users[threads->count];
    user->state = threads->state;
    user->buyer = buyer_new(threads->state, fleet->tallies[threads->count],
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

/* Lets the threads that did start run through a run without tickets. */
static void give_up_start(lt_threads *threads)
{
    run_state_stop(threads->state, STOP_INTERRUPTED);
    run_state_start(threads->state, threads->count);
    threads_join(threads);
}

lt_threads *threads_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len)
{
    int wanted = state->plan->users;
    lt_threads *threads = calloc(1, sizeof(*threads) + (size_t)wanted * sizeof(threads->users[0]));
    if (!threads) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    threads->state = state;
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

void threads_cut(lt_threads *threads)
{
    atomic_store(&threads->state->cut, true);
    for (int i = 0; i < threads->count; i++)
        buyer_break(threads->users[i].buyer);
}

void threads_join(lt_threads *threads)
{
    for (int i = 0; i < threads->count; i++)
        pthread_join(threads->users[i].thread, NULL);
    for (int i = 0; i < threads->count; i++)
        buyer_free(threads->users[i].buyer);
    free(threads);
}
