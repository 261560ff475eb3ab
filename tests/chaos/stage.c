/* stage.c - starts and stops the servers of a cell. */
#include "tests/chaos/stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/support/sale/fail_point.h"

enum { ARGS_MAX = 24 };

static bool needs(const cell *c, fault_needs what)
{
    return (c->fault->needs & what) != 0;
}

/* ---- Redis ----------------------------------------------------------------------------------- */

static const char *form_of_redis(const cell *c)
{
    if (needs(c, NEEDS_SENTINEL))
        return "sentinel";
    if (needs(c, NEEDS_CLUSTER))
        return "cluster";
    return c->row.durability == ON_REPLICAS ? "replicas" : "single";
}

static fx_redis *start_redis(const cell *c)
{
    static const char *const disk[] = {"--appendonly", "yes", "--appendfsync", "always", NULL};
    /* Redis's default: one that was cut off takes writes, and the service alone must see to it. */
    const char *args[ARGS_MAX] = {"--min-replicas-to-write", "0"};
    int n = 2;
    for (int i = 0; c->fault->redis_args && c->fault->redis_args[i]; i++)
        args[n++] = c->fault->redis_args[i];
    for (int i = 0; c->row.durability == ON_DISK && disk[i]; i++)
        args[n++] = disk[i];
    setenv("FX_REDIS", form_of_redis(c), 1);
    if (needs(c, NEEDS_SENTINEL | NEEDS_CLUSTER) && !needs(c, NEEDS_STEADY))
        setenv("FX_FAILOVER", "1", 1);
    return fx_redis_start(args);
}

static void start_lock_servers(cell *c)
{
    bool quorum = row_has_quorum(&c->row);
    for (int i = 0; quorum && i < CELL_LOCK_SERVERS; i++)
        c->lock_servers[i] = fx_redis_start_single(NULL);
}

/* ---- instances ------------------------------------------------------------------------------- */

static const char *redis_url_for(const cell *c, int i)
{
    if (c->fault->redis_url)
        return c->fault->redis_url(c, i);
    return c->proxy ? fx_proxy_url(c->proxy) : fx_redis_url(fx.redis);
}

/* The last line of what it said. */
static const char *last_words(fx_process *process)
{
    const char *last = fx_process_stderr(process);
    for (const char *at = last; *at; at++)
        last = at[0] == '\n' && at[1] != '\0' ? at + 1 : last;
    return last;
}

void cell_look_for_death(cell *c, int i, bool told_to_end)
{
    fx_process *process = fx.server[i] ? fx_server_process(fx.server[i]) : NULL;
    int code = process ? fx_process_wait(process, 0) : -1;
    if (code < 0 || code == 128 + SIGKILL || (code == 0 && told_to_end) || c->died++ > 0)
        return;
    const char *words = last_words(process);
    snprintf(c->first_dead, sizeof(c->first_dead),
             "an instance died: number %d, exit code %d: %.*s", i + 1, code,
             (int)strcspn(words, "\n"), words);
}

void cell_start_instance(cell *c, int i)
{
    char quorum[1024] = "";
    const char *args[ARGS_MAX] = {"--threads", "64", "--drain-delay", "0", NULL};
    int n = 4;
    for (int k = 0; c->lock_servers[0] && k < CELL_LOCK_SERVERS; k++)
        snprintf(quorum + strlen(quorum), sizeof(quorum) - strlen(quorum), "%s%s", k ? "," : "",
                 fx_redis_url(c->lock_servers[k]));
    if (quorum[0] != '\0') {
        args[n++] = "--redlock";
        args[n++] = quorum;
    }
    if (c->fault->listen) {
        args[n++] = "--listen";
        args[n++] = c->fault->listen(c, i);
    }
    args[n] = NULL;
    cell_look_for_death(c, i, true);
    const char *url = redis_url_for(c, i);
    fx.server[i] = needs(c, NEEDS_FAIL_POINTS) ? fx_point_server(url, c->fail_dir[i], args)
                                               : fx_server_start(url, args);
    crew_release(i);
    crew_avoid(-1);
}

void cell_kill_instance(cell *c, int i)
{
    (void)c;
    crew_avoid(i);
    fx_server_signal(fx.server[i], SIGKILL);
    fx_process_wait(fx_server_process(fx.server[i]), CELL_PATIENCE_MS);
}

/* ---- fail points ----------------------------------------------------------------------------- */

void cell_arm(cell *c, int i, const char *point)
{
    fx_point_forget(c->fail_dir[i], point);
    crew_reserve(i);
    fx_point_arm(c->fail_dir[i], point);
}

bool cell_reached(cell *c, int i, const char *point, int deadline_ms)
{
    return fx_point_reached(c->fail_dir[i], point, deadline_ms);
}

void cell_let_go(cell *c, int i, const char *point)
{
    fx_point_go_on(c->fail_dir[i], point);
    crew_release(i);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void stage_up(cell *c)
{
    if (c->fault->prepare)
        c->fault->prepare(c);
    fx.redis = start_redis(c);
    start_lock_servers(c);
    if (!c->instances_preload)
        unsetenv("LD_PRELOAD"); /* a shim of the fault's is for Redis */
    if (needs(c, NEEDS_PROXY))
        c->proxy = fx_proxy_start(fx_redis_url(fx.redis));
    for (int i = 0; i < FX_INSTANCES; i++) {
        if (needs(c, NEEDS_FAIL_POINTS))
            fx_dir_make(c->fail_dir[i], sizeof(c->fail_dir[i]));
        cell_start_instance(c, i);
    }
}

void stage_down(cell *c)
{
    for (int i = 0; i < FX_INSTANCES; i++) {
        fx_server_kill(fx.server[i]);
        fx.server[i] = NULL;
        if (c->fail_dir[i][0] != '\0')
            fx_dir_remove(c->fail_dir[i]);
    }
    fx_proxy_stop(c->proxy);
    for (int i = 0; i < CELL_LOCK_SERVERS; i++)
        fx_redis_stop(c->lock_servers[i]);
    fx_redis_stop(fx.redis);
}
