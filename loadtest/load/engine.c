#include "loadtest/load/engine.h"

#include "loadtest/load/event_loop.h"
#include "loadtest/load/threads.h"

#include <stdlib.h>
#include <sys/resource.h>

#define FDS_OF_PROGRAM 64 /* files, the watch, the service's own requests */
#define FDS_OF_THREAD  5  /* libcurl's wake-up pair; of a worker also epoll, timer, wake-up */

struct engine {
    struct threads *threads; /* one of the two, the other is NULL */
    struct events *events;
};

static bool is_threaded(const struct load_plan *plan)
{
    return plan->model != MODEL_OPEN && plan->users <= PLAN_THREADED_MAX;
}

int engine_threads(const struct load_plan *plan)
{
    if (is_threaded(plan))
        return plan->users;
    return plan->workers < plan->users ? plan->workers : plan->users;
}

bool fleet_init(struct fleet *fleet, int threads)
{
    *fleet = (struct fleet){.threads = threads};
    fleet->tallies = calloc((size_t)threads, sizeof(fleet->tallies[0]));
    fleet->receipts = calloc((size_t)threads, sizeof(fleet->receipts[0]));
    bool complete = fleet->tallies && fleet->receipts;
    for (int i = 0; complete && i < threads; i++) {
        fleet->tallies[i] = tally_new();
        complete = fleet->tallies[i];
    }
    if (!complete)
        fleet_release(fleet);
    return complete;
}

void fleet_release(struct fleet *fleet)
{
    for (int i = 0; fleet->tallies && i < fleet->threads; i++)
        tally_free(fleet->tallies[i]);
    for (int i = 0; fleet->receipts && i < fleet->threads; i++)
        receipts_release(&fleet->receipts[i]);
    free(fleet->tallies);
    free(fleet->receipts);
    *fleet = (struct fleet){0};
}

struct tally *fleet_sum(const struct fleet *fleet)
{
    struct tally *sum = tally_new();
    for (int i = 0; sum && i < fleet->threads; i++)
        tally_merge(sum, fleet->tallies[i]);
    return sum;
}

/*
 * Users who find no descriptor would look like a service that does not answer. An open model opens
 * only the connections that it needs.
 */
static bool enough_descriptors(const struct load_plan *plan, char *err, size_t err_len)
{
    struct rlimit limit;
    rlim_t connections = (rlim_t)plan->users * (plan->rotate ? (rlim_t)plan->target_count : 1);
    rlim_t needed = connections + (rlim_t)engine_threads(plan) * FDS_OF_THREAD + FDS_OF_PROGRAM;
    if (plan->model == MODEL_OPEN || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur >= needed)
        return true;
    snprintf(err, err_len,
             "%d users need %llu descriptors, and this process may have %llu: raise the limit "
             "(ulimit -n)",
             plan->users, (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    return false;
}

struct engine *engine_start(struct course *course, struct fleet *fleet, char *err, size_t err_len)
{
    if (!enough_descriptors(course->plan, err, err_len))
        return NULL;
    struct engine *engine = calloc(1, sizeof(*engine));
    if (!engine) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    if (is_threaded(course->plan))
        engine->threads = threads_start(course, fleet, err, err_len);
    else
        engine->events = events_start(course, fleet, err, err_len);
    if (engine->threads || engine->events)
        return engine;
    free(engine);
    return NULL;
}

void engine_cut(struct engine *engine)
{
    if (engine->threads)
        threads_cut(engine->threads);
    else
        events_cut(engine->events);
}

void engine_join(struct engine *engine)
{
    if (engine->threads)
        threads_join(engine->threads);
    else
        events_join(engine->events);
    free(engine);
}
