/*
 * traffic.c - what buyers themselves bring about: plain load, the same request twice, all at once
 * after a stall; and instances that are ended in the ordinary way while they buy.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>

#include "tests/chaos/faults/fault.h"

/* A lease that does not end while a busy machine lets a holder wait: it is not about leases here.
 */
enum { LEASE_MS = 5000 };

/* ---- load: nothing goes wrong ---------------------------------------------------------------- */

static void load(cell *c)
{
    cell_begin_fault(c);
    crew_pace(0);
    int before = atomic_load(&crew.bought);
    crew_more(&crew.bought, CELL_BEFORE, CELL_PATIENCE_MS);
    cell_landed(c, atomic_load(&crew.bought) - before);
    cell_healed(c);
}

const fault fault_load = {
    .name = "load",
    .says = "nothing but buyers at full speed",
    .counts = "units bought",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = load,
};

/* ---- retries: a request comes several times, at once and later, to all instances --------------
 */

enum { REQUESTS = 40, COPIES = 3, COPIES_PACE_MS = 2000 };

typedef struct copy {
    char request[32];
    int at, status;
    pthread_t thread;
} copy;

static void *send_copy(void *arg)
{
    copy *mine = arg;
    mine->status = crew_ask(mine->request, 7, 1, mine->at);
    return NULL;
}

static int send_copies(int number)
{
    copy copies[COPIES];
    int bought = 0;
    for (int i = 0; i < COPIES; i++) {
        snprintf(copies[i].request, sizeof(copies[i].request), "twice-%d", number);
        copies[i].at = i % FX_INSTANCES;
        assert_int_equal(pthread_create(&copies[i].thread, NULL, send_copy, &copies[i]), 0);
    }
    for (int i = 0; i < COPIES; i++) {
        pthread_join(copies[i].thread, NULL);
        bought += copies[i].status == 201;
    }
    return bought;
}

static void retries(cell *c)
{
    int at_once = 0, later = 0;
    crew_pace(COPIES_PACE_MS); /* or all is sold before the last has come again */
    cell_begin_fault(c);
    for (int i = 0; i < REQUESTS; i++) {
        int bought = send_copies(i);
        at_once += bought > 1 ? bought - 1 : 0;
    }
    for (int i = 0; i < REQUESTS; i++)
        later += send_copies(i) == COPIES;
    cell_healed(c);
    cell_met(c, at_once > 0);
    cell_met(c, later > 0);
    cell_landed(c, at_once + later - 2);
}

const fault fault_retries = {
    .name = "retries",
    .says = "each request comes to all instances at once, and again later, under one id",
    .counts = "answers to copies",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = retries,
};

/* ---- herd: everybody waits for a stopped server, and goes on at once --------------------------
 */

enum { HERD = 36, STALL_MS = 300, TRIES = 5, AGAIN_MS = 25 };

typedef struct member {
    int number;
    char request[40];
    atomic_bool answered;
    pthread_t thread;
} member;

static void *buy_in_herd(void *arg)
{
    member *mine = arg;
    int status = 0;
    for (int i = 0; i < TRIES && status != 201; i++) {
        if (i > 0)
            fx_let_pass(AGAIN_MS);
        status = crew_ask(mine->request, mine->number, 1, (mine->number + i) % FX_INSTANCES);
    }
    atomic_store(&mine->answered, true);
    return NULL;
}

static void signal_redis(const cell *c, int signo)
{
    fx_redis_signal(fx.redis, signo);
    for (int k = 0; k < CELL_LOCK_SERVERS && c->lock_servers[k]; k++)
        fx_redis_signal(c->lock_servers[k], signo);
}

static void signal_instances(const cell *c, int signo)
{
    (void)c;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_signal(fx.server[i], signo);
}

/* Nobody is in a section when the stall begins, so what follows is the herd's doing alone. How many
 * were waiting at its end: on a busy machine the stall is longer, and some have been refused. */
static int stampede(cell *c, void (*signal_to)(const cell *, int), int first)
{
    static member herd[HERD];
    int waiting = 0;
    crew_pause();
    cell_begin_fault(c);
    signal_to(c, SIGSTOP);
    for (int i = 0; i < HERD; i++) {
        herd[i] = (member){.number = first + i};
        cell_name_request(c, "herd", first + i, herd[i].request, sizeof(herd[i].request));
        assert_int_equal(pthread_create(&herd[i].thread, NULL, buy_in_herd, &herd[i]), 0);
    }
    fx_let_pass(STALL_MS);
    for (int i = 0; i < HERD; i++)
        waiting += !atomic_load(&herd[i].answered);
    signal_to(c, SIGCONT);
    cell_healed(c);
    for (int i = 0; i < HERD; i++)
        pthread_join(herd[i].thread, NULL);
    crew_go_on();
    return waiting;
}

static void herd(cell *c)
{
    cell_met(c, stampede(c, signal_redis, 0) > HERD / 2);
    cell_met(c, stampede(c, signal_instances, HERD) > HERD / 2);
}

const fault fault_herd = {
    .name = "herd",
    .says =
        "buyers pile up before a stopped Redis, then before stopped instances, and all go at once",
    .counts = "herds most of whom were waiting when it went on",
    .buyers = HERD,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = herd,
};

/* ---- sigterm: instances are ended in turn -----------------------------------------------------
 */

enum { STOPPED_BUYS = 3, ENDING_PACE_MS = 500 };

static bool met_it(void *refusals)
{
    return atomic_load(&crew.busy) + atomic_load(&crew.unknown) > *(int *)refusals;
}

/* Nobody is told to go elsewhere: buyers find out. */
static bool ends_orderly(cell *c, int i)
{
    int refusals = atomic_load(&crew.busy) + atomic_load(&crew.unknown);
    fx_process *process = fx_server_process(fx.server[i]);
    fx_server_signal(fx.server[i], SIGTERM);
    int code = fx_process_wait(process, CELL_PATIENCE_MS);
    if (code != 0)
        fail_msg("an instance ended with %d: %s", code, fx_process_stderr(process));
    bool met = fx_wait_until(met_it, &refusals, CELL_PATIENCE_MS);
    cell_start_instance(c, i);
    return crew_more(&crew.bought, STOPPED_BUYS, CELL_PATIENCE_MS) && met;
}

static void sigterm(cell *c)
{
    int first = (int)cell_random(c, FX_INSTANCES);
    crew_pace(ENDING_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < FX_INSTANCES; i++)
        cell_met(c, ends_orderly(c, (first + i) % FX_INSTANCES));
    cell_healed(c);
}

const fault fault_sigterm = {
    .name = "sigterm",
    .says = "SIGTERM of one instance after another under load, and their return",
    .counts = "instances that ended with exit code 0, and whose buyers went elsewhere",
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = sigterm,
};
