#include "loadtest/load/event_loop.h"

#include "loadtest/load/worker.h"

#include <stdlib.h>

struct lt_events {
    lt_run_state *state;
    int count; /* threads that run */
    struct {
        pthread_t thread;
        lt_worker *worker;
    } workers[];
};

static bool start_worker(lt_events *events, lt_fleet *fleet)
{
    int number = events->count;
    lt_worker *worker = worker_new(events->state, fleet->tallies[number], &fleet->receipts[number],
                                   number, fleet->threads);
    if (!worker)
        return false;
    if (pthread_create(&events->workers[number].thread, NULL, worker_main, worker) != 0) {
        worker_free(worker);
        return false;
    }
    events->workers[number].worker = worker;
    events->count++;
    return true;
}

lt_events *events_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len)
{
    lt_events *events =
        calloc(1, sizeof(*events) + (size_t)fleet->threads * sizeof(events->workers[0]));
    while (events && events->count < fleet->threads) {
        events->state = state;
        if (start_worker(events, fleet))
            continue;
        /* Those that did start run through a run without tickets. */
        run_state_stop(state, STOP_INTERRUPTED);
        run_state_start(state, events->count);
        events_join(events);
        events = NULL;
    }
    if (!events)
        snprintf(err, err_len, "%d users need more memory than there is", state->plan->users);
    return events;
}

void events_cut(lt_events *events)
{
    atomic_store(&events->state->cut, true);
    for (int i = 0; i < events->count; i++)
        worker_wake(events->workers[i].worker);
}

void events_join(lt_events *events)
{
    for (int i = 0; i < events->count; i++)
        pthread_join(events->workers[i].thread, NULL);
    for (int i = 0; i < events->count; i++)
        worker_free(events->workers[i].worker);
    free(events);
}
