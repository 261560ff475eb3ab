/*
 * Starts, wakes and joins the workers of a run. First it makes sure that there are descriptors for
 * all users: users without one would look like a service that does not answer.
 */
#include "loadtest/load/engine.h"

#include "loadtest/load/worker.h"

#include <stdlib.h>
#include <sys/resource.h>

#define STACK_BYTES    (512 * 1024)
#define FDS_OF_PROGRAM 64 /* files, the stock sampler, requests around the run */
#define FDS_OF_WORKER  5  /* epoll, timer, wake-up; libcurl's own wake-up pair */

struct lt_engine {
    lt_run_state *state;
    int count; /* workers that run */
    struct {
        pthread_t thread;
        lt_worker *worker;
    } threads[];
};

int engine_workers(const lt_plan *plan)
{
    return plan->workers < plan->users ? plan->workers : plan->users;
}

/* An open model opens only the connections that it needs. */
static bool enough_descriptors(const lt_plan *plan, char *err, size_t err_len)
{
    struct rlimit limit;
    rlim_t connections = (rlim_t)plan->users * (plan->rotate ? (rlim_t)plan->target_count : 1);
    rlim_t needed = connections + (rlim_t)engine_workers(plan) * FDS_OF_WORKER + FDS_OF_PROGRAM;
    if (plan->model == MODEL_OPEN || getrlimit(RLIMIT_NOFILE, &limit) != 0 ||
        limit.rlim_cur >= needed)
        return true;
    snprintf(err, err_len,
             "%d users need %llu descriptors, and this process may have %llu: raise the limit "
             "(ulimit -n)",
             plan->users, (unsigned long long)needed, (unsigned long long)limit.rlim_cur);
    return false;
}

static bool start_thread(lt_engine *engine, const pthread_attr_t *attributes)
{
    int number = engine->count;
    lt_worker *worker = worker_new(engine->state, number, engine->state->tallies.count);
    if (!worker)
        return false;
    engine->threads[number].worker = worker;
    if (pthread_create(&engine->threads[number].thread, attributes, worker_main, worker) != 0) {
        worker_free(worker);
        return false;
    }
    engine->count++;
    return true;
}

lt_engine *engine_start(lt_run_state *state, char *err, size_t err_len)
{
    const lt_plan *plan = state->plan;
    int wanted = state->tallies.count;
    if (!enough_descriptors(plan, err, err_len))
        return NULL;
    lt_engine *engine = calloc(1, sizeof(*engine) + (size_t)wanted * sizeof(engine->threads[0]));
    if (!engine) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    engine->state = state;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (engine->count < wanted && start_thread(engine, &attributes))
        ;
    pthread_attr_destroy(&attributes);
    if (engine->count == wanted)
        return engine;
    snprintf(err, err_len, "%d users need more memory, or threads, than there are", plan->users);
    /* The threads that did start go through a run without tickets. */
    run_state_stop(state, STOP_INTERRUPTED);
    run_state_start(state, engine->count);
    engine_join(engine);
    return NULL;
}

void engine_cut(lt_engine *engine)
{
    atomic_store(&engine->state->cut, true);
    for (int i = 0; i < engine->count; i++)
        worker_wake(engine->threads[i].worker);
}

void engine_join(lt_engine *engine)
{
    for (int i = 0; i < engine->count; i++)
        pthread_join(engine->threads[i].thread, NULL);
    for (int i = 0; i < engine->count; i++)
        worker_free(engine->threads[i].worker);
    free(engine);
}
