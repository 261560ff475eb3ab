/* people.c - what buyers and admins hear from an instance that is well. */
#include "tests/server/openapi/provoke.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/feed.h"
#include "tests/support/raw.h"

typedef struct asked {
    const char *request;
    int status;
    const char *code; /* NULL: it is no refusal */
} asked;

static void ask_all(fx_server *server, const asked *all, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (all[i].code)
            fx_refused(server, all[i].status, all[i].code, "%s", all[i].request);
        else
            fx_expect(server, all[i].status, "%s", all[i].request);
    }
}
#define ASK_ALL(server, all) ask_all(server, all, COUNT(all))

/* ---- buyers ---------------------------------------------------------------------------------- */

static void ask_in_an_ended_sale(fx_server *server)
{
    char before[64];
    snprintf(before, sizeof(before), "%s",
             fx_start_sale(server, "Ended", "'stock':9,'strategy':'sharded'"));
    fx_expect(server, 201, "POST /buy?item=Ended&user=u1&request=e1&sale=%s", before);
    fx_expect(server, 200, "GET /orders?item=Ended");
    fx_start_sale(server, "Ended", "'stock':9");
    fx_refused(server, 409, "sale_closed", "POST /buy?item=Ended&user=u1&sale=%s", before);
    fx_refused(server, 404, "no_such_order", "GET /orders/e2?item=Ended&sale=%s", before);
    fx_has(fx_expect(server, 200, "GET /orders?item=Ended&after=0"), "\"segments\":4,");
}

void what_buyers_hear(void **state)
{
    (void)state;
    static const asked all[] = {
        {"POST /buy?item=Well&user=u1&request=w1", 201, NULL},
        {"POST /buy?item=Well&user=u1&request=w1", 201, NULL}, /* with Idempotency-Replayed */
        {"POST /buy {'item':'Well','user':'u2'}", 201, NULL},
        {"POST /buy?item=Well&user=u2&request=w1", 422, "request_reused"},
        {"POST /buy?item=Well&user=u1&quantity=4", 409, "quantity_above_limit"},
        {"POST /buy?item=Well&user=u1&quantity=3", 409, "limit_reached"},
        {"POST /buy?item=Well&user=u3&quantity=3", 409, "sold_out"},
        {"POST /buy?item=Well&user=u3&request=void", 409, "request_void"},
        {"POST /buy?item=Well&user=u3&not_after=1000000000000000", 409, "too_late"},
        {"POST /buy {'item':'Well','user':'u3','not_after':1000000000000000}", 409, "too_late"},
        {"POST /buy?item=none&user=u1", 404, "no_such_item"},
        {"POST /buy?item=Well&user=u1&sale=zzz", 404, "no_such_sale"},
        {"POST /buy?item=Busy&user=u1", 503, "busy"},
        {"GET /stock?item=Well", 200, NULL},
        {"GET /stock?item=none", 404, "no_such_item"},
        {"GET /orders/w1?item=Well", 200, NULL},
        {"GET /orders/w2?item=Well", 404, "no_such_order"},
        {"GET /orders/w2?item=Well&not_after=1000000000000000", 404, "no_such_order"},
        {"GET /orders/w2?item=Well&sale=zzz", 404, "no_such_sale"},
        {"GET /orders/w1?item=none", 404, "no_such_item"},
        {"GET /strategies", 200, NULL},
        {"GET /livez", 200, NULL},
        {"GET /readyz", 200, NULL},
        {"GET /metrics", 200, NULL},
        {"GET /openapi.json", 200, NULL},
        {"GET /dashboard?item=Well", 200, NULL},
        {"GET /dashboard?item=none", 404, "no_such_item"},
        {"GET /", 200, NULL},
        {"GET /page/page.js", 200, NULL},
        {"GET /page/none", 404, "not_found"},
        {"GET /nothing", 404, "not_found"},
        {"GET /buy", 405, "method_not_allowed"},
        {"DELETE /stock", 405, "method_not_allowed"},
    };
    fx_server *server = fx.server[0];
    fx_start_sale(server, "Well", "'stock':4,'per_user_limit':3");
    fx_redis_do(fx.redis, "HSET fs:{Well}:%s:orders void -", fx_current_sale("Well"));
    fx_start_sale(server, "Busy", "'stock':4,'strategy':'setnx','wait_ms':0");
    fx_redis_do(fx.redis, "SET fs:{Busy}:%s:lock stranger PX 600000", fx_current_sale("Busy"));
    ASK_ALL(server, all);
    ask_in_an_ended_sale(server);
}

/* The query of each operation as it must not be, and bodies. */
void what_is_malformed_is_told_how(void **state)
{
    (void)state;
    static const asked all[] = {
        {"POST /buy?user=u1", 400, "bad_item"},
        {"POST /buy?item=a", 400, "bad_user"},
        {"POST /buy?item=a&user=u&quantity=1001", 400, "bad_quantity"},
        {"POST /buy?item=a&user=u&sale=%20", 400, "bad_sale"},
        {"POST /buy?item=a&user=u&not_after=1", 400, "bad_not_after"},
        {"POST /buy?item=a&user=u&request=%20", 400, "bad_request_id"},
        {"POST /buy?item=a&user=u&item=a", 400, "repeated_parameter"},
        {"POST /buy [1]", 400, "bad_body"},
        {"GET /stock?item=%20", 400, "bad_item"},
        {"GET /stock?item=a&item=a", 400, "repeated_parameter"},
        {"GET /orders/k1", 400, "bad_item"},
        {"GET /orders/k1?item=a&sale=%20", 400, "bad_sale"},
        {"GET /orders/k1?item=a&not_after=1e15", 400, "bad_not_after"},
        {"GET /orders/a.b?item=a", 400, "bad_request_id"},
        {"GET /orders/k1?item=a&item=a", 400, "repeated_parameter"},
        {"GET /orders", 400, "bad_item"},
        {"GET /orders?item=Page&cursor=x", 400, "bad_cursor"},
        {"GET /orders?item=Page&after=x", 400, "bad_after"},
        {"GET /orders?item=Page&after=0&sale=%20", 400, "bad_sale"},
        {"GET /orders?item=Page&after=0&segment=1", 400, "bad_segment"},
        {"GET /orders?item=Page&after=0&limit=0", 400, "bad_limit"},
        {"GET /orders?item=a&item=a", 400, "repeated_parameter"},
        {"POST /locks/stop", 400, "bad_item"},
        {"POST /locks/stop?item=a&item=a", 400, "repeated_parameter"},
        {"GET /items?after=%20", 400, "bad_after"},
        {"GET /items?after=a&after=a", 400, "repeated_parameter"},
        {"POST /sales {'item':'a'}", 400, "bad_sale"},
        {"POST /sales [1]", 400, "bad_body"},
        {"POST /sales {'item':'a','item':'a'}", 400, "repeated_parameter"},
        {"POST /sales/resume {'item':'a'}", 400, "bad_sale"},
        {"POST /sales/resume [1]", 400, "bad_body"},
        {"POST /sales/resume {'item':'a','item':'a'}", 400, "repeated_parameter"},
        {"GET /?item=a&item=a", 400, "repeated_parameter"},
        {"GET /dashboard?item=%20", 400, "bad_item"},
        {"GET /dashboard?item=a&item=a", 400, "repeated_parameter"},
    };
    fx_start_sale(fx.server[0], "Page", "'stock':4");
    ASK_ALL(fx.server[0], all);
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++)
        fx_refused(fx.server[0], 400, "unknown_parameter", "%s %s%cnonsense=1", o->method,
                   o->target, strchr(o->target, '?') ? '&' : '?');
    provoke_raw(fx_server_port(fx.server[0]), "POST", "/buy",
                "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx", "unsupported_media_type");
}

void a_head_is_answered_without_a_body(void **state)
{
    (void)state;
    int count = 0;
    fx_start_sale(fx.server[0], "P0001", "'stock':4");
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++) {
        if (strcmp(o->method, "GET") != 0)
            continue;
        int status = fx_status(fx.server[0], "HEAD %s", o->target);
        assert_int_equal(status, fx_status(fx.server[0], "GET %s", o->target));
        count++;
    }
    assert_true(count >= 10);
    fx_expect(fx.server[0], 405, "HEAD /buy");
}

/* Each name that any operation knows, asked of each: refused as unknown where it is not documented,
 * and only there. */
void each_parameter_is_taken_where_it_is_documented(void **state)
{
    (void)state;
    const cJSON *each;
    cJSON *names = document_names();
    assert_true(cJSON_GetArraySize(names) >= 16);
    for (const document_operation *o = document_operations(); o->method[0] != '\0'; o++) {
        bool in_body = strncmp(o->path, "/sales", 6) == 0; /* there a query has nothing */
        char plain[128];
        snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(o->target, "?"), o->target);
        cJSON_ArrayForEach(each, names) {
            fx_reply reply;
            fx_ask(fx.server[0], &reply, in_body ? "%s %s {'%s':%s}" : "%s %s?%s=%s", o->method,
                   plain, each->string, in_body ? "true" : "a");
            bool unknown = strstr(reply.body, "\"unknown_parameter\"") != NULL;
            if (unknown == document_takes(o, each->string))
                fail_msg("%s %s, %s: %s", o->method, o->path, each->string, reply.body);
            fx_reply_free(&reply);
        }
    }
    cJSON_Delete(names);
}

/* Who has a part of the page already. */
void what_a_browser_has_is_not_sent_again(void **state)
{
    (void)state;
    static const char *const targets[] = {"/", "/page/page.js"};
    for (size_t i = 0; i < COUNT(targets); i++) {
        char url[128], etag[64], header[96];
        fx_reply reply;
        fx_ask(fx.server[0], &reply, "GET %s", targets[i]);
        snprintf(header, sizeof(header), "If-None-Match: %s",
                 fx_reply_header(&reply, "ETag", etag, sizeof(etag)));
        fx_reply_free(&reply);
        snprintf(url, sizeof(url), "%s%s", fx_server_url(fx.server[0]), targets[i]);
        assert_int_equal(fx_http("GET", url, FX_ARGS(header), NULL, PROVOKE_MS, &reply), 304);
        walk_saw("GET", targets[i], &reply);
        fx_reply_free(&reply);
    }
}

#define WATCH                                                                                      \
    "GET /dashboard?item=P0001 HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"

typedef struct watcher {
    int fd;
    size_t len;
    char text[65536];
} watcher;

static bool has_an_event(void *arg)
{
    watcher *w = arg;
    w->len += fx_raw_read(w->fd, w->text + w->len, sizeof(w->text) - w->len, 10, NULL);
    return strstr(w->text, "}\n\n") != NULL;
}

void who_watches_hears_again_and_again(void **state)
{
    (void)state;
    static const char *const parts[] = {"index.html", "page.css", "icon.svg", "stale.json"};
    static watcher w;
    fx_start_sale(fx.server[0], "P0001", "'stock':4");
    for (size_t i = 0; i < COUNT(parts); i++)
        fx_expect(fx.server[0], 200, "GET /page/%s", parts[i]);
    w = (watcher){.fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL)};
    assert_true(w.fd >= 0 && fx_raw_send(w.fd, WATCH, strlen(WATCH)));
    if (!fx_wait_until(has_an_event, &w, PROVOKE_MS))
        fail_msg("no event: %s", w.text);
    close(w.fd);
    char *body = strstr(w.text, "\r\n\r\n") + 4;
    fx_reply reply = {
        .status = 200, .headers = strndup(w.text, (size_t)(body - w.text)), .body = strdup(body)};
    walk_saw("GET", "/dashboard?item=P0001", &reply);
    fx_reply_free(&reply);
}

/* ---- who is asking --------------------------------------------------------------------------- */

/* More items than a page has, and a sale that a database follows. */
static void fill_what_admins_see(fx_server *server)
{
    fx_redis_do(fx.redis, "EVAL %s 1 fs:items",
                "for i = 1, 1001 do redis.call('ZADD', KEYS[1], 0, 'Item' .. i) end");
    fx_start_sale(server, "Followed", "'stock':4");
    fx_feed_leave("Followed", fx_current_sale("Followed"), 3, 1, 0);
    provoke_await_text(server, "\"feed\":{", "GET /dashboard?item=Followed");
    fx_feed_remove();
}

static void *hold(void *server)
{
    char url[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/buy?item=Stop&user=u", fx_server_url(server));
    fx_http("POST", url, NULL, NULL, PROVOKE_MS, &reply);
    fx_reply_free(&reply);
    return NULL;
}

/* Where it can be done, and where not. */
static void stop_a_holder(void)
{
    pthread_t buyer;
    fx_server *holder = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--demo", "no"));
    fx_start_sale(fx.server[0], "Stop", "'stock':9,'strategy':'fair','hold_ms':9000");
    fx_refused(holder, 404, "not_found", "POST /locks/stop?item=Stop");
    pthread_create(&buyer, NULL, hold, holder);
    provoke_await_text(fx.server[0], "\"stopped_ms\":", "POST /locks/stop?item=Stop");
    fx_server_signal(holder, SIGKILL);
    pthread_join(buyer, NULL);
    fx_server_kill(holder);
}

void what_admins_hear(void **state)
{
    (void)state;
    static const asked all[] = {
        {"POST /sales {'item':'Admin','stock':9}", 201, NULL},
        {"POST /buy?item=Admin&user=u1", 201, NULL},
        {"GET /orders?item=Admin", 200, NULL},
        {"GET /orders?item=none", 404, "no_such_item"},
        {"GET /orders?item=Admin&after=0", 200, NULL},
        {"GET /orders?item=Admin&after=0&sale=zzz", 404, "no_such_sale"},
        {"GET /orders?item=Admin&after=7-ffffffffffff", 409, "feed_rewound"},
        {"GET /locks", 200, NULL},
        {"POST /locks/stop?item=Admin", 409, "not_stopped"},
        {"GET /items", 200, NULL},
        {"POST /sales {'item':'Admin','stock':9,'durability':'disk'}", 409,
         "durability_unavailable"},
        {"POST /sales/resume {'item':'Admin','sale':'x','lost_orders':0}", 409, "sale_not_halted"},
        {"POST /sales {'item':'Admin','stock':9,'replaces':'x'}", 409, "sale_not_halted"},
    };
    fill_what_admins_see(fx.server[0]);
    ASK_ALL(fx.server[0], all);
    stop_a_holder();
}

/* A cancel is the admin's by this header only, whatever it says. */
#define BASIC "Authorization: Basic bm9ib2R5\r\n\r\n"

void who_is_no_admin_hears(void **state)
{
    (void)state;
    setenv("FLASHSALE_ADMIN_TOKEN", "correct-horse", 1);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL);
    unsetenv("FLASHSALE_ADMIN_TOKEN");
    provoke_each(fx_server_port(server), BASIC, "token_missing");
    provoke_raw(fx_server_port(server), "GET", "/locks", "\r\n", "token_missing");
    provoke_each(fx_server_port(server), "Authorization: Bearer wrong\r\n\r\n", "token_wrong");
    fx_start_sale(fx.server[0], "P0001", "'stock':4");
    provoke_await_text(server, "\"admin\":\"token\"", "GET /dashboard?item=P0001");
    fx_server_kill(server);

    server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", "0.0.0.0:0"));
    provoke_each(fx_server_port(server), BASIC, "admin_disabled");
    provoke_raw(fx_server_port(server), "GET", "/locks", "\r\n", "admin_disabled");
    provoke_await_text(server, "\"admin\":\"closed\"", "GET /dashboard?item=P0001");
    fx_server_kill(server);
}

void what_another_site_asks_is_refused(void **state)
{
    (void)state;
    static const char foreign[] = "Origin: http://elsewhere.example\r\n\r\n";
    provoke_each(fx_server_port(fx.server[0]), foreign, "cross_site");
    provoke_raw(fx_server_port(fx.server[0]), "POST", "/nothing", foreign, "cross_site");
}

void who_has_no_token_of_the_user_hears(void **state)
{
    (void)state;
    static const char *const paths[] = {"/buy?item=P0001&user=u1",
                                        "/orders/k1/confirm?item=P0001&user=u1",
                                        "/orders/k1/cancel?item=P0001&user=u1"};
    char dir[256], file[300];
    fx_dir_make(dir, sizeof(dir));
    snprintf(file, sizeof(file), "%s/key", dir);
    assert_int_equal(fx_shell("echo 0123456789abcdef0123456789abcdef >\"$1\"", file, 5000), 0);
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--buyer-key-file", file));
    for (size_t i = 0; i < COUNT(paths); i++) {
        provoke_raw(fx_server_port(server), "POST", paths[i], "\r\n", "buyer_token_missing");
        provoke_raw(fx_server_port(server), "POST", paths[i], "Buyer-Token: 1.0\r\n\r\n",
                    "buyer_token_wrong");
    }
    provoke_settling(server, 400, "bad_user", "P0001"); /* whose token would it be */
    fx_server_kill(server);
    fx_dir_remove(dir);
}

void who_is_in_a_hurry_hears(void **state)
{
    (void)state;
    fx_server *server =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--rate-address", "1", "--rate-burst", "1",
                                                        "--rate-question", "1"));
    provoke_await(server, "rate_limited", "POST /buy?item=none&user=u1");
    provoke_await(server, "rate_limited", "POST /orders/k1/confirm?item=none");
    provoke_await(server, "rate_limited", "POST /orders/k1/cancel?item=none");
    provoke_await(server, "rate_limited", "GET /orders/k1?item=none");
    provoke_await(server, "rate_limited", "GET /stock?item=none");
    provoke_await(server, "rate_limited", "GET /dashboard?item=none");
    fx_server_kill(server);
}
