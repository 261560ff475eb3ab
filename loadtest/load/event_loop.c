#include "loadtest/load/event_loop.h"

#include "loadtest/load/worker.h"

#include <stdlib.h>

struct events {
    struct course *course;
    int count; /* threads that run */
    struct {
        pthread_t thread;
        struct worker *worker;
    } workers[];
};

static bool start_worker(struct events *events, struct fleet *fleet)
{
    int number = events->count;
    struct worker *worker = worker_new(events->course, fleet->tallies[number],
                                       &fleet->receipts[number], number, fleet->threads);
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

struct events *events_start(struct course *course, struct fleet *fleet, char *err, size_t err_len)
{
    struct events *events =
        calloc(1, sizeof(*events) + (size_t)fleet->threads * sizeof(events->workers[0]));
    while (events && events->count < fleet->threads) {
        events->course = course;
        if (start_worker(events, fleet))
            continue;
        /* Those that did start run through an empty course. */
        course_stop(course, STOP_INTERRUPTED);
        course_start(course, events->count);
        events_join(events);
        events = NULL;
    }
    if (!events)
        snprintf(err, err_len, "%d users need more memory than there is", course->plan->users);
    return events;
}

void events_cut(struct events *events)
{
    atomic_store(&events->course->cut, true);
    for (int i = 0; i < events->count; i++)
        worker_wake(events->workers[i].worker);
}

void events_join(struct events *events)
{
    for (int i = 0; i < events->count; i++)
        pthread_join(events->workers[i].thread, NULL);
    for (int i = 0; i < events->count; i++)
        worker_free(events->workers[i].worker);
    free(events);
}
