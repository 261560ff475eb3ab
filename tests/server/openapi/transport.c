/* transport.c - what an instance says before it looks at a path: of requests that it can not read,
 * of bodies that do not come, and when it has no room or no time. */
#include "tests/server/openapi/provoke.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/proxy.h"
#include "tests/support/raw.h"

enum { OPERATIONS_MAX = 64, THREADS = 4, HEADS = 32 };

static const char *const few_threads[] = {"--threads", "4", NULL};

typedef struct wanted {
    fx_server *server;
    const char *text, *request;
    char last[1024];
} wanted;

static bool is_answered(void *arg)
{
    wanted *w = arg;
    fx_reply reply;
    fx_ask(w->server, &reply, "%s", w->request);
    snprintf(w->last, sizeof(w->last), "%d %s", reply.status, reply.body);
    bool is = strstr(reply.body, w->text) != NULL;
    fx_reply_free(&reply);
    return is;
}

void provoke_await_text(fx_server *server, const char *text, const char *request)
{
    wanted w = {.server = server, .text = text, .request = request};
    if (!fx_wait_until(is_answered, &w, PROVOKE_MS))
        fail_msg("%s: expected %s, got %s", request, text, w.last);
}

void provoke_await(fx_server *server, const char *code, const char *request)
{
    char member[96];
    snprintf(member, sizeof(member), "\"code\":\"%s\"", code);
    provoke_await_text(server, member, request);
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static int send_raw(int port, const char *method, const char *target, const char *rest)
{
    char *bytes;
    int fd = fx_raw_connect(port, NULL);
    assert_true(fd >= 0);
    if (asprintf(&bytes, "%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n%s", method,
                 target, rest) < 0)
        abort();
    fx_raw_send(fd, bytes, strlen(bytes)); /* it may be refused before it is sent */
    free(bytes);
    return fd;
}

static void read_refusal(int fd, const char *method, const char *target, const char *code)
{
    char got[4096];
    fx_raw_read(fd, got, sizeof(got), PROVOKE_MS, NULL);
    close(fd);
    walk_saw_refusal(method, target, got, code);
}

void provoke_raw(int port, const char *method, const char *target, const char *rest,
                 const char *code)
{
    read_refusal(send_raw(port, method, target, rest), method, target, code);
}

void provoke_each(int port, const char *rest, const char *code)
{
    int count = 0;
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++) {
        if (!document_has(o, code))
            continue;
        provoke_raw(port, o->method, o->target, rest, code);
        count++;
    }
    if (count == 0)
        fail_msg("no operation documents %s", code);
}

/* ---- requests that are none ------------------------------------------------------------------ */

static void ask_another_server(int port)
{
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++) {
        char url[256];
        snprintf(url, sizeof(url), "http://elsewhere.example:1%s", o->target);
        int fd = send_raw(port, o->method, url, "\r\n");
        read_refusal(fd, o->method, o->target, "other_server");
    }
    provoke_raw(port, "OPTIONS", "*", "\r\n", "other_server");
}

void what_can_not_be_read_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *rest, *code;
    } heads[] = {
        {"Content-Length: 5x\r\n\r\n", "bad_framing"},
        {"Content-Length: five\r\n\r\n", "malformed"},
        {"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "length_required"},
        {"Content-Length: 4097\r\n\r\n", "body_too_long"},
        {"Expect: tea\r\n\r\n", "expectation_failed"},
    };
    char many[64 * 8 + 3] = "";
    int port = fx_server_port(fx.server[0]);
    for (int i = 0; i < 64; i++)
        memcpy(many + i * 6L, "A: b\r\n", 7);
    memcpy(many + strlen(many), "\r\n", 3);
    provoke_each(port, many, "too_many_headers");
    provoke_raw(port, "GET", "/nothing", many, "too_many_headers");
    for (size_t i = 0; i < COUNT(heads); i++) {
        provoke_each(port, heads[i].rest, heads[i].code);
        provoke_raw(port, "GET", "/nothing", heads[i].rest, heads[i].code);
    }
    ask_another_server(port);
}

/* ---- bodies that do not come ------------------------------------------------------------------
 */

typedef struct drip {
    int count, fd[OPERATIONS_MAX];
    char got[OPERATIONS_MAX][2048];
} drip;

/* Sends each a byte more; whether all were answered. */
static bool all_are_answered(void *arg)
{
    drip *all = arg;
    int open = 0;
    fx_let_pass(200);
    for (int i = 0; i < all->count; i++) {
        bool closed = false;
        if (all->fd[i] < 0)
            continue;
        fx_raw_send(all->fd[i], "0", 1);
        if (fx_raw_read(all->fd[i], all->got[i], sizeof(all->got[i]), 0, &closed) > 0)
            closed = true;
        open += !closed;
        if (closed)
            close(all->fd[i]);
        all->fd[i] = closed ? -1 : all->fd[i];
    }
    return open == 0;
}

static int send_to_all(drip *all, const char *rest)
{
    int port = fx_server_port(fx.server[0]);
    all->count = 0;
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++)
        all->fd[all->count++] = send_raw(port, o->method, o->target, rest);
    all->fd[all->count++] = send_raw(port, "GET", "/nothing", rest);
    return all->count - 1;
}

void bodies_that_do_not_come_are_refused(void **state)
{
    (void)state;
    static drip slow, cut;
    int operations = send_to_all(&cut, "Content-Length: 4000\r\n\r\n{");
    for (int i = 0; i < cut.count; i++)
        shutdown(cut.fd[i], SHUT_WR);
    send_to_all(&slow, "Content-Length: 4000\r\n\r\n{");
    if (!fx_wait_until(all_are_answered, &slow, PROVOKE_MS))
        fail_msg("slow bodies are not refused");
    const document_operation *o = document_operations();
    for (int i = 0; i < operations; i++) {
        read_refusal(cut.fd[i], o[i].method, o[i].target, "body_too_short");
        walk_saw_refusal(o[i].method, o[i].target, slow.got[i], "body_too_slow");
    }
    read_refusal(cut.fd[operations], "GET", "/nothing", "body_too_short");
    walk_saw_refusal("GET", "/nothing", slow.got[operations], "body_too_slow");
}

/* ---- no room, no time ------------------------------------------------------------------------ */

/* Heads that have begun, more than there can be threads: those that came first go. */
static void provoke_slow_head(int port, const char *method, const char *target)
{
    int fd[HEADS];
    for (int i = 0; i < HEADS; i++)
        fd[i] = send_raw(port, method, target, "X-Slow: ");
    read_refusal(fd[0], method, target, "head_too_slow");
    for (int i = 1; i < HEADS; i++)
        close(fd[i]);
}

void heads_that_come_slowly_are_refused(void **state)
{
    (void)state;
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), few_threads);
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++)
        provoke_slow_head(fx_server_port(server), o->method, o->target);
    provoke_slow_head(fx_server_port(server), "GET", "/nothing");
    fx_server_kill(server);
}

/* All threads are with buyers who wait for each other. */
void who_finds_no_thread_hears(void **state)
{
    (void)state;
    int fd[THREADS];
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), few_threads);
    fx_start_sale(server, "Held", "'stock':9,'strategy':'setnx','hold_ms':9000,'wait_ms':60000");
    for (int i = 0; i < THREADS; i++)
        fd[i] = send_raw(fx_server_port(server), "POST", "/buy?item=Held&user=u", "\r\n");
    provoke_await(server, "too_many_connections", "GET /livez");
    provoke_each(fx_server_port(server), "\r\n", "too_many_connections");
    provoke_raw(fx_server_port(server), "GET", "/nothing", "\r\n", "too_many_connections");
    for (int i = 0; i < THREADS; i++)
        close(fd[i]);
    fx_server_kill(server);
}

static bool is_starting(void *port)
{
    char got[4096] = "";
    int fd = fx_raw_connect(*(int *)port, NULL);
    if (fd < 0)
        return false;
    fx_raw_send(fd, "GET /readyz HTTP/1.0\r\n\r\n", 24);
    fx_raw_read(fd, got, sizeof(got), PROVOKE_MS, NULL);
    close(fd);
    return strstr(got, "\"starting\"") != NULL;
}

/* Its first sale can not be started: what is said of its item meets a reset. */
void a_starting_instance_says_so(void **state)
{
    (void)state;
    char program[512], listen[64];
    int port = fx_free_port();
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(fx.redis));
    fx_proxy_say(proxy, "reset before match {Starting}");
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", port);
    fx_process *process =
        fx_spawn(FX_ARGS(fx_build_path("flashsale", program, sizeof(program)), "--listen", listen,
                         "--redis", fx_proxy_url(proxy), "--item", "Starting", "--stock", "1"),
                 true);
    assert_true(fx_wait_until(is_starting, &port, PROVOKE_MS));
    provoke_each(port, "\r\n", "starting");
    provoke_raw(port, "GET", "/nothing", "\r\n", "starting");
    fx_process_free(process);
    fx_proxy_stop(proxy);
}

static void *buy(void *server)
{
    char url[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/buy?item=Drain&user=u", fx_server_url(server));
    fx_http("POST", url, NULL, NULL, PROVOKE_MS, &reply);
    fx_reply_free(&reply);
    return NULL;
}

static bool a_lock_is_held(void *server)
{
    return strstr(fx_expect(server, 200, "GET /locks"), "\"held\":true") != NULL;
}

/* It refuses buyers while one that came before has its answer to come. */
void a_draining_instance_says_so(void **state)
{
    (void)state;
    pthread_t buyer;
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "0"));
    fx_start_sale(server, "Drain", "'stock':9,'strategy':'setnx','hold_ms':9000");
    pthread_create(&buyer, NULL, buy, server);
    assert_true(fx_wait_until(a_lock_is_held, server, PROVOKE_MS));
    fx_server_signal(server, SIGTERM);
    provoke_await(server, "draining", "GET /readyz");
    provoke_await(server, "draining", "POST /buy?item=Drain&user=late");
    provoke_settling(server, 503, "draining", "Drain");
    provoke_await_text(fx.server[0], "\"state\":\"draining\"", "GET /dashboard?item=Drain");
    fx_server_kill(server); /* it would end when the buyer has its answer */
    pthread_join(buyer, NULL);
}
