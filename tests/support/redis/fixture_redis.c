/* fixture_redis.c - private redis-servers: on probed ports, all stopped at exit. Or a topology, as
 * FX_REDIS says. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/patience.h"
#include "tests/support/topology.h"

enum {
    START_MS = 10000,
    START_TRIES = 5, /* another program may take the probed port before Redis does */
    COMMAND_S = 5,
    ARGS_MAX = 64
};

struct fx_redis {
    fx_topology *topology; /* NULL: one server, of which all the rest is */
    fx_process *process;   /* NULL while killed */
    redisContext *ctx;     /* NULL until asked for */
    int port;
    char dir[256], socket[300], url[320], tcp_url[64];
    const char *args[ARGS_MAX]; /* the caller's, copied, NULL-terminated */
    fx_redis *next;             /* all that are not stopped yet */
};

static fx_redis *running;

/* At exit. A forked child of the test that exits must leave its parent's servers alone. */
static pid_t owner;

static void stop_all(void)
{
    while (running && getpid() == owner)
        fx_redis_stop(running);
}

static void stop_at_exit(void)
{
    if (owner == getpid())
        return;
    owner = getpid();
    atexit(stop_all);
}

const char *fx_redis_kind(void)
{
    const char *kind = getenv("FX_REDIS");
    return kind && *kind ? kind : "single";
}

bool fx_is_single(void)
{
    return strcmp(fx_redis_kind(), "single") == 0;
}

static const char *program(void)
{
    const char *server = getenv("REDIS_SERVER");
    return server && *server ? server : "redis-server";
}

/* What only one server has. */
static void need_single(const fx_redis *r, const char *function)
{
    if (r->topology)
        fail_msg("%s: this is a %s: fx_only_single(), or fx_redis_start_single(), or topology.h",
                 function, fx_redis_kind());
}

static void copy_args(fx_redis *r, const char *const *extra)
{
    for (size_t i = 0; extra && extra[i]; i++) {
        assert_true(i + 1 < ARGS_MAX);
        r->args[i] = strdup(extra[i]);
        assert_non_null(r->args[i]);
    }
}

static void launch(fx_redis *r)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", r->port);
    const char *argv[ARGS_MAX + 20] = {
        program(),      "--bind",  "127.0.0.1", "--port", port,
        "--unixsocket", r->socket, "--dir",     r->dir,   "--appendonly",
        "no",           "--save",  "",          NULL};
    size_t n = 0;
    while (argv[n])
        n++;
    for (size_t i = 0; r->args[i]; i++)
        argv[n++] = r->args[i];
    r->process = fx_spawn(argv, true);
}

/* True once it answers anything but LOADING (NOAUTH is an answer), or has ended. */
static bool answers_or_ended(void *arg)
{
    fx_redis *r = arg;
    if (fx_process_wait(r->process, 0) >= 0)
        return true;
    redisContext *c = redisConnectUnix(r->socket);
    redisReply *reply = c && c->err == 0 ? redisCommand(c, "PING") : NULL;
    bool up = reply && (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "LOADING", 7) != 0);
    freeReplyObject(reply);
    redisFree(c);
    return up;
}

static bool start(fx_redis *r)
{
    launch(r);
    return fx_wait_until(answers_or_ended, r, START_MS) && fx_process_wait(r->process, 0) < 0;
}

static void end(fx_redis *r)
{
    redisFree(r->ctx); /* takes NULL */
    r->ctx = NULL;
    fx_process_free(r->process);
    r->process = NULL;
}

static fx_redis *new_redis(void)
{
    fx_redis *r = calloc(1, sizeof(*r));
    assert_non_null(r);
    stop_at_exit();
    r->next = running;
    running = r;
    return r;
}

fx_redis *fx_redis_start(const char *const *extra_args)
{
    if (fx_is_single())
        return fx_redis_start_single(extra_args);
    fx_redis *r = new_redis();
    r->topology = getenv("FX_FAILOVER") ? fx_topology_start(fx_redis_kind(), extra_args)
                                        : fx_topology_start_steady(fx_redis_kind(), extra_args);
    return r;
}

fx_redis *fx_redis_start_single(const char *const *extra_args)
{
    fx_redis *r = new_redis();
    copy_args(r, extra_args);
    fx_dir_make(r->dir, sizeof(r->dir));
    snprintf(r->socket, sizeof(r->socket), "%s/redis.sock", r->dir);
    snprintf(r->url, sizeof(r->url), "unix://%s", r->socket);
    for (int i = 1;; i++) {
        r->port = fx_free_port();
        snprintf(r->tcp_url, sizeof(r->tcp_url), "redis://127.0.0.1:%d", r->port);
        if (start(r))
            return r;
        if (i == START_TRIES)
            fail_msg("redis-server did not start:\n%s%s", fx_process_stdout(r->process),
                     fx_process_stderr(r->process));
        end(r);
    }
}

void fx_redis_kill(fx_redis *r)
{
    need_single(r, __func__);
    end(r);
}

void fx_redis_restart(fx_redis *r)
{
    fx_redis_kill(r);
    if (!start(r))
        fail_msg("redis-server did not restart:\n%s", fx_process_stdout(r->process));
}

void fx_redis_stop(fx_redis *r)
{
    if (r == NULL)
        return;
    for (fx_redis **at = &running; *at; at = &(*at)->next) {
        if (*at != r)
            continue;
        *at = r->next;
        break;
    }
    end(r);
    fx_topology_stop(r->topology);
    if (r->dir[0] != '\0')
        fx_dir_remove(r->dir);
    for (size_t i = 0; r->args[i]; i++)
        free((char *)r->args[i]);
    free(r);
}

void fx_redis_signal(fx_redis *r, int signo)
{
    for (int i = 0; r->topology && i < fx_topology_size(r->topology); i++)
        if (!fx_topology_is_sentinel(r->topology, i))
            fx_topology_signal(r->topology, i, signo);
    if (!r->topology)
        fx_process_signal(r->process, signo);
}

const char *fx_redis_url(const fx_redis *r)
{
    return r->topology ? fx_topology_url(r->topology) : r->url;
}

const char *fx_redis_tcp_url(const fx_redis *r)
{
    need_single(r, __func__);
    return r->tcp_url;
}

char *fx_redis_url_as(const fx_redis *r, const char *credentials, char *buf, size_t len)
{
    const char *url = r->topology ? fx_topology_url(r->topology) : r->tcp_url;
    const char *hosts = strstr(url, "://") + 3;
    int need = snprintf(buf, len, "%.*s%s@%s", (int)(hosts - url), url, credentials, hosts);
    assert_true(need < (int)len);
    return buf;
}

int fx_redis_port(const fx_redis *r)
{
    need_single(r, __func__);
    return r->port;
}

const char *fx_redis_dir(const fx_redis *r)
{
    need_single(r, __func__);
    return r->dir;
}

fx_topology *fx_redis_topology(const fx_redis *r)
{
    return r->topology;
}

static redisContext *primary_ctx(fx_topology *t)
{
    if (strcmp(fx_topology_kind(t), "cluster") == 0)
        fail_msg("fx_redis_ctx: not in a cluster: fx_redis_reply(), or fx_only_single()");
    int primary = fx_topology_primary(t, NULL);
    redisContext *ctx = primary < 0 ? NULL : fx_topology_ctx(t, primary);
    if (!ctx)
        fail_msg("no primary of the %s answers", fx_topology_kind(t));
    return ctx;
}

redisContext *fx_redis_ctx(fx_redis *r)
{
    if (r->topology)
        return primary_ctx(r->topology);
    if (r->ctx && r->ctx->err) {
        redisFree(r->ctx);
        r->ctx = NULL;
    }
    if (r->ctx == NULL) {
        r->ctx = redisConnectUnix(r->socket);
        if (r->ctx == NULL || r->ctx->err)
            fail_msg("can not connect to %s", r->socket);
        redisSetTimeout(r->ctx, (struct timeval){.tv_sec = fx_patient_ms(COMMAND_S * 1000) / 1000});
    }
    return r->ctx;
}

redisReply *fx_redis_vreply(fx_redis *r, const char *command, va_list args)
{
    redisReply *reply = r->topology ? fx_topology_command(r->topology, command, args)
                                    : redisvCommand(fx_redis_ctx(r), command, args);
    if (!reply)
        fail_msg("%s: no answer", command);
    return reply;
}

redisReply *fx_redis_reply(fx_redis *r, const char *command, ...)
{
    va_list args;
    va_start(args, command);
    redisReply *reply = fx_redis_vreply(r, command, args);
    va_end(args);
    return reply;
}

static redisReply *run(fx_redis *r, const char *command, va_list args)
{
    redisReply *reply = fx_redis_vreply(r, command, args);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    return reply;
}

void fx_redis_do(fx_redis *r, const char *command, ...)
{
    va_list args;
    va_start(args, command);
    freeReplyObject(run(r, command, args));
    va_end(args);
}

long long fx_redis_number(fx_redis *r, const char *command, ...)
{
    va_list args;
    va_start(args, command);
    redisReply *reply = run(r, command, args);
    va_end(args);
    long long number =
        reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : reply->integer;
    freeReplyObject(reply);
    return number;
}

bool fx_redis_text(fx_redis *r, char *buf, size_t len, const char *command, ...)
{
    va_list args;
    va_start(args, command);
    redisReply *reply = run(r, command, args);
    va_end(args);
    bool is_text = reply->type == REDIS_REPLY_STRING;
    snprintf(buf, len, "%s", is_text ? reply->str : "");
    freeReplyObject(reply);
    return is_text;
}
