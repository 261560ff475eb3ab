/* topology.c - the programs of a topology: started by the script, killed, restarted, stopped. */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/patience.h"
#include "tests/support/redis/topology_private.h"

enum { FORM_MS = 300000, END_MS = 60000, ANSWER_S = 20, ARGS_MAX = 64 };

#define PATIENCE_MS "60000" /* longer than the busiest machine lets a program wait */

static fx_topology *running;

/* At exit. A forked child of the test that exits must leave its parent's servers alone. */
static pid_t owner;

static void stop_all(void)
{
    while (running && getpid() == owner)
        fx_topology_stop(running);
}

static void stop_at_exit(void)
{
    if (owner == getpid())
        return;
    owner = getpid();
    atexit(stop_all);
}

/* ---- starting -------------------------------------------------------------------------------- */

static bool formed_or_ended(void *arg)
{
    fx_process *script = arg;
    bool ended = fx_process_wait(script, 0) >= 0;
    return strstr(fx_process_stdout(script), "\nREADY\n") || ended;
}

/* The value of a line NAME=VALUE that the script has printed, in buf; false when there is none. */
static bool said(fx_topology *t, const char *name, char *buf, size_t len)
{
    size_t name_len = strlen(name);
    const char *line = fx_process_stdout(t->script);
    for (; line && *line; line = strchr(line, '\n'), line += line != NULL) {
        if (strncmp(line, name, name_len) != 0 || line[name_len] != '=')
            continue;
        int value_len = (int)strcspn(line + name_len + 1, "\n");
        assert_true((size_t)value_len < len);
        snprintf(buf, len, "%.*s", value_len, line + name_len + 1);
        return true;
    }
    return false;
}

/* Member number `member` of a list with commas, in buf; false behind the last. */
static bool nth(const char *list, int member, char *buf, size_t len)
{
    for (; member > 0 && list; member--) {
        list = strchr(list, ',');
        list = list ? list + 1 : NULL;
    }
    if (list)
        snprintf(buf, len, "%.*s", (int)strcspn(list, ","), list);
    return list != NULL;
}

static void read_members(fx_topology *t)
{
    char ports[256], pids[256], roles[256], one[32];
    assert_true(said(t, "REDIS_URL", t->url, sizeof(t->url)));
    assert_true(said(t, "DIR", t->dir, sizeof(t->dir)));
    said(t, "QUORUM", t->quorum, sizeof(t->quorum));
    assert_true(said(t, "PORTS", ports, sizeof(ports)));
    assert_true(said(t, "PIDS", pids, sizeof(pids)));
    assert_true(said(t, "ROLES", roles, sizeof(roles)));
    for (; nth(ports, t->size, one, sizeof(one)); t->size++) {
        assert_true(t->size < FX_MEMBERS_MAX);
        fx_member *m = &t->member[t->size];
        m->port = (int)strtol(one, NULL, 10);
        assert_true(nth(pids, t->size, one, sizeof(one)));
        m->pid = (pid_t)strtol(one, NULL, 10);
        assert_true(nth(roles, t->size, one, sizeof(one)));
        m->is_sentinel = strcmp(one, "sentinel") == 0;
    }
}

/* A sentinel makes a replica of a master that has come back after four of its publish periods, of
 * 2 s; and after 2 s without a processor it does nothing at all for 30 s (TILT). It forgets this
 * when it ends. */
static void hasten(fx_topology *t, int member)
{
    if (!t->member[member].is_sentinel)
        return;
    redisReply *reply = fx_topology_ask(t, member,
                                        "SENTINEL DEBUG PUBLISH-PERIOD 400 INFO-PERIOD 1000 "
                                        "TILT-TRIGGER 30000 TILT-PERIOD 1000");
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("SENTINEL DEBUG: %s", reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

static fx_topology *start(const char *kind, const char *patience, const char *const *server_args)
{
    const char *argv[ARGS_MAX] = {"scripts/redis-topology", kind};
    size_t n = 2;
    if (patience) {
        argv[n++] = "--down-after";
        argv[n++] = patience;
    }
    if (strcmp(kind, "cluster") == 0) {
        argv[n++] = "--replicas";
        argv[n++] = getenv("FX_REPLICAS") ? getenv("FX_REPLICAS") : "1";
    }
    if (getenv("FX_APART")) { /* tests/chaos/faults/split.c */
        argv[n++] = "--apart";
        argv[n++] = getenv("FX_APART");
    }
    argv[n++] = "--";
    for (size_t i = 0; server_args && server_args[i]; i++) {
        assert_true(n + 1 < ARGS_MAX);
        argv[n++] = server_args[i];
    }
    fx_topology *t = calloc(1, sizeof(*t));
    assert_non_null(t);
    snprintf(t->kind, sizeof(t->kind), "%s", kind);
    t->script = fx_spawn(argv, true);
    signal(SIGPIPE, SIG_IGN); /* a member whose part changes closes the connections that we have */
    stop_at_exit();
    t->next = running;
    running = t;
    if (!fx_wait_until(formed_or_ended, t->script, FORM_MS) || fx_process_wait(t->script, 0) >= 0)
        fail_msg("redis-topology %s:\n%s%s", kind, fx_process_stdout(t->script),
                 fx_process_stderr(t->script));
    read_members(t);
    for (int i = 0; i < t->size; i++)
        hasten(t, i);
    return t;
}

fx_topology *fx_topology_start(const char *kind, const char *const *server_args)
{
    return start(kind, NULL, server_args);
}

fx_topology *fx_topology_start_steady(const char *kind, const char *const *server_args)
{
    return start(kind, PATIENCE_MS, server_args);
}

void fx_topology_stop(fx_topology *t)
{
    fx_topology **at = &running;
    while (*at && *at != t)
        at = &(*at)->next;
    if (!*at) /* none, or stop_all() has been here */
        return;
    *at = t->next;
    for (int i = 0; i < t->size; i++) {
        fx_member_hang_up(&t->member[i]);
        fx_process_free(t->member[i].process);
    }
    fx_process_signal(t->script, SIGTERM);
    fx_process_wait(t->script, END_MS);
    fx_process_free(t->script);
    free(t);
}

/* ---- what it is ------------------------------------------------------------------------------ */

const char *fx_topology_kind(const fx_topology *t)
{
    return t->kind;
}

const char *fx_topology_url(const fx_topology *t)
{
    return t->url;
}

const char *fx_topology_quorum(const fx_topology *t)
{
    return t->quorum;
}

int fx_topology_size(const fx_topology *t)
{
    return t->size;
}

static fx_member *member_of(fx_topology *t, int member)
{
    assert_in_range(member, 0, t->size - 1);
    return &t->member[member];
}

int fx_topology_port(const fx_topology *t, int member)
{
    return member_of((fx_topology *)t, member)->port;
}

bool fx_topology_is_sentinel(const fx_topology *t, int member)
{
    return member_of((fx_topology *)t, member)->is_sentinel;
}

const char *fx_topology_dir(const fx_topology *t, int member, char *buf, size_t len)
{
    snprintf(buf, len, "%s/%d", t->dir, member);
    return buf;
}

/* ---- one member ------------------------------------------------------------------------------ */

bool fx_member_is_there(const fx_member *m)
{
    return (m->pid > 0 || m->process) && !m->stopped;
}

void fx_member_hang_up(fx_member *m)
{
    redisFree(m->ctx); /* takes NULL */
    m->ctx = NULL;
}

/* A server that sentinels make a primary closes all its connections. */
static bool was_closed(const redisContext *ctx)
{
    struct pollfd at = {.fd = ctx->fd, .events = POLLIN};
    return poll(&at, 1, 0) > 0;
}

redisContext *fx_topology_ctx(fx_topology *t, int member)
{
    char path[300];
    fx_member *m = member_of(t, member);
    if (m->ctx && (m->ctx->err || was_closed(m->ctx)))
        fx_member_hang_up(m);
    if (m->ctx || !fx_member_is_there(m))
        return m->ctx;
    snprintf(path, sizeof(path), "%s/%d/redis.sock", t->dir, member);
    m->ctx = redisConnectUnix(path);
    if (m->ctx && m->ctx->err)
        fx_member_hang_up(m);
    if (m->ctx)
        redisSetTimeout(m->ctx, (struct timeval){.tv_sec = fx_patient_ms(ANSWER_S * 1000) / 1000});
    return m->ctx;
}

/* Whether the script has reaped it: only then have all its threads let go of its ports. */
static bool is_gone(void *arg)
{
    return kill(*(pid_t *)arg, 0) != 0;
}

void fx_topology_kill(fx_topology *t, int member)
{
    fx_member *m = member_of(t, member);
    fx_member_hang_up(m);
    fx_process_free(m->process);
    m->process = NULL;
    m->stopped = false;
    if (m->pid == 0)
        return;
    kill(m->pid, SIGKILL);
    if (!fx_wait_until(is_gone, &m->pid, END_MS))
        fail_msg("the member %d of the %s does not end", member, t->kind);
    m->pid = 0;
}

void fx_topology_signal(fx_topology *t, int member, int signo)
{
    fx_member *m = member_of(t, member);
    if (signo == SIGSTOP || signo == SIGCONT)
        m->stopped = signo == SIGSTOP;
    fx_member_hang_up(m); /* an answer may be late */
    if (m->process)
        fx_process_signal(m->process, signo);
    else if (m->pid > 0)
        kill(m->pid, signo);
}

typedef struct asked {
    fx_topology *t;
    int member;
} asked;

/* True once it answers anything but LOADING (NOAUTH is an answer), or has ended. */
static bool answers_or_ended(void *arg)
{
    asked *a = arg;
    if (fx_process_wait(a->t->member[a->member].process, 0) >= 0)
        return true;
    redisReply *reply = fx_topology_ask(a->t, a->member, "PING");
    bool up = reply && (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "LOADING", 7) != 0);
    freeReplyObject(reply); /* takes NULL */
    return up;
}

void fx_topology_restart(fx_topology *t, int member)
{
    char conf[300];
    const char *program = getenv("REDIS_SERVER");
    fx_member *m = member_of(t, member);
    fx_topology_kill(t, member);
    snprintf(conf, sizeof(conf), "%s/%d/server.conf", t->dir, member);
    const char *argv[] = {program && *program ? program : "redis-server", conf,
                          m->is_sentinel ? "--sentinel" : NULL, NULL};
    m->process = fx_spawn(argv, true);
    if (!fx_wait_until(answers_or_ended, &(asked){t, member}, FORM_MS) ||
        fx_process_wait(m->process, 0) >= 0)
        fail_msg("the member %d of the %s did not restart:\n%s", member, t->kind,
                 fx_process_stdout(m->process));
    hasten(t, member);
}
