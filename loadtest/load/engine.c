/*
 * Starts, wakes and joins the threads of a run, whatever they do: that is the driver's. Before that
 * it sees to it that there are descriptors for all of them, because users who find none would look
 * like a service that does not answer.
 */
#include "loadtest/load/engine.h"

#include "loadtest/load/driver.h"

#include <stdlib.h>
#include <sys/resource.h>

#define STACK_BYTES    (512 * 1024)
#define FDS_OF_PROGRAM 64 /* files, the stock sampler, requests around the run */
#define FDS_OF_THREAD  5  /* libcurl's wake-up pair; of a worker also epoll, timer, wake-up */

struct lt_engine {
    lt_run_state *state;
    const lt_driver *driver;
    int count; /* threads that run */
    struct {
        pthread_t thread;
        void *work;
    } threads[];
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

/* An open model opens only the connections that it needs. */
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

static bool start_thread(lt_engine *engine, const pthread_attr_t *attributes)
{
    int number = engine->count;
    void *work = engine->driver->make(engine->state, number, engine->state->tallies.count);
    if (!work)
        return false;
    engine->threads[number].work = work;
    if (pthread_create(&engine->threads[number].thread, attributes, engine->driver->main, work) !=
        0) {
        engine->driver->free(work);
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
    engine->driver = is_threaded(plan) ? &driver_user_thread : &driver_worker;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (engine->count < wanted && start_thread(engine, &attributes))
        ;
    pthread_attr_destroy(&attributes);
    if (engine->count == wanted)
        return engine;
    if (is_threaded(plan))
        snprintf(err, err_len, "only %d of %d user threads could be started", engine->count,
                 wanted);
    else
        snprintf(err, err_len, "%d users need more memory than there is", plan->users);
    /* Those that did start go through a run without tickets. */
    run_state_stop(state, STOP_INTERRUPTED);
    run_state_start(state, engine->count);
    engine_join(engine);
    return NULL;
}

void engine_cut(lt_engine *engine)
{
    atomic_store(&engine->state->cut, true);
    for (int i = 0; i < engine->count; i++)
        engine->driver->wake(engine->threads[i].work);
}

void engine_join(lt_engine *engine)
{
    for (int i = 0; i < engine->count; i++)
        pthread_join(engine->threads[i].thread, NULL);
    for (int i = 0; i < engine->count; i++)
        engine->driver->free(engine->threads[i].work);
    free(engine);
}
