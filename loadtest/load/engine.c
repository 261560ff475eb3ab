#include "loadtest/load/engine.h"

#include "loadtest/load/event_loop.h"
#include "loadtest/load/threads.h"

#include <stdlib.h>
#include <sys/resource.h>

#define FDS_OF_PROGRAM 64 /* files, the watch, the service's own requests */
#define FDS_OF_THREAD  5  /* libcurl's wake-up pair; of a worker also epoll, timer, wake-up */

struct lt_engine {
    lt_threads *threads; /* one of the two, the other is NULL */
    lt_events *events;
};

static bool is_threaded(const lt_plan *plan)
{
    return plan->model != MODEL_OPEN && plan->users <= PLAN_THREADED_MAX;
}

int engine_threads(const lt_plan *plan)
{
    if (is_threaded(plan))
        return plan->users;
    return plan->workers < plan->users ? plan->workers : plan->users;
}

bool fleet_init(lt_fleet *fleet, int threads)
{
    *fleet = (lt_fleet){.threads = threads};
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

void fleet_release(lt_fleet *fleet)
{
    for (int i = 0; fleet->tallies && i < fleet->threads; i++)
        tally_free(fleet->tallies[i]);
    for (int i = 0; fleet->receipts && i < fleet->threads; i++)
        receipts_release(&fleet->receipts[i]);
    free(fleet->tallies);
    free(fleet->receipts);
    *fleet = (lt_fleet){0};
}

lt_tally *fleet_sum(const lt_fleet *fleet)
{
    lt_tally *sum = tally_new();
    for (int i = 0; sum && i < fleet->threads; i++)
        tally_merge(sum, fleet->tallies[i]);
    return sum;
}

/*
 * Users who find no descriptor would look like a service that does not answer. An open model opens
 * only the connections that it needs.
 */
static bool enough_descriptors(const lt_plan *plan, char *err, size_t err_len)
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

lt_engine *engine_start(lt_run_state *state, lt_fleet *fleet, char *err, size_t err_len)
{
    if (!enough_descriptors(state->plan, err, err_len))
        return NULL;
    lt_engine *engine = calloc(1, sizeof(*engine));
    if (!engine) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    if (is_threaded(state->plan))
        engine->threads = threads_start(state, fleet, err, err_len);
    else
        engine->events = events_start(state, fleet, err, err_len);
    if (engine->threads || engine->events)
        return engine;
    free(engine);
    return NULL;
}

void engine_cut(lt_engine *engine)
{
    if (engine->threads)
        threads_cut(engine->threads);
    else
        events_cut(engine->events);
}

void engine_join(lt_engine *engine)
{
    if (engine->threads)
        threads_join(engine->threads);
    else
        events_join(engine->events);
    free(engine);
}
