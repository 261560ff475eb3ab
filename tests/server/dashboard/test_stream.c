/*
 * test_stream.c - GET /dashboard as a stream: one document after the other on one connection, that
 * needs no thread of the instance; and how it ends.
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/server/dashboard/look.h"
#include "tests/support/raw.h"

/* An instance of few threads: none of them is kept in reserve. */
enum { THREADS = 8, VIEWERS = 40 };

static int open_stream_of(fx_server *server, const char *item, const char *more)
{
    char request[256];
    int fd = fx_raw_connect(fx_server_port(server), NULL);
    assert_true(fd >= 0);
    snprintf(
        request, sizeof(request),
        "GET /dashboard?item=%s HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n%s\r\n",
        item, more);
    assert_true(fx_raw_send(fd, request, strlen(request)));
    return fd;
}

static int open_stream(fx_server *server, const char *more)
{
    return open_stream_of(server, "P0001", more);
}

typedef struct stream {
    int fd;
    bool closed;
    size_t len;
    char text[131072];
    int wanted; /* events */
} stream;

static int events(const stream *s)
{
    int count = 0;
    for (const char *at = s->text; (at = strstr(at, "]}\n\n")); at++)
        count++;
    return count;
}

static bool has_come(void *arg)
{
    stream *s = arg;
    if (!s->closed)
        s->len += fx_raw_read(s->fd, s->text + s->len, sizeof(s->text) - s->len, 10, &s->closed);
    return events(s) >= s->wanted;
}

static bool has_ended(void *arg)
{
    has_come(arg);
    return ((stream *)arg)->closed;
}

/* Reads on until there are so many. */
static void await_events(stream *s, int count)
{
    s->wanted = count;
    if (!fx_wait_until(has_come, s, LOOK_WAIT_MS))
        fail_msg("%d events, not %d: %s", events(s), count, s->text);
}

static void documents_come_one_after_the_other(void **state)
{
    (void)state;
    static stream s;
    double last = 0;
    s = (stream){.fd = open_stream(fx.server[0], "")};
    await_events(&s, 5);
    close(s.fd);
    assert_int_equal(strncmp(s.text, "HTTP/1.1 200 ", 13), 0);
    assert_non_null(strstr(s.text, "\r\nContent-Type: text/event-stream\r\n"));
    assert_non_null(strstr(s.text, "\r\nConnection: close\r\n"));
    assert_null(strstr(s.text, "Content-Length"));
    int count = 0;
    for (const char *at = s.text; count < 5 && (at = strstr(at, "\ndata: ")); count++) {
        at += strlen("\ndata: ");
        cJSON *document = cJSON_ParseWithOpts(at, NULL, false);
        assert_non_null(document);
        assert_string_equal(fx_json_text(document, "item"), "P0001");
        assert_true(fx_json_number(document, "now_ms") >= last);
        last = fx_json_number(document, "now_ms");
        cJSON_Delete(document);
    }
    assert_int_equal(count, 5);
}

static void what_is_sold_meanwhile_comes(void **state)
{
    (void)state;
    static stream s;
    s = (stream){.fd = open_stream(fx.server[0], "")};
    await_events(&s, 1);
    fx_sell("'stock':4321,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u");
    for (int i = 2; !strstr(s.text, "\"remaining\":4320") && i < 20; i++)
        await_events(&s, i);
    assert_non_null(strstr(s.text, "\"remaining\":4320"));
    close(s.fd);
}

static void a_stream_needs_no_thread(void **state)
{
    (void)state;
    static stream s[VIEWERS];
    char threads[12];
    snprintf(threads, sizeof(threads), "%d", THREADS);
    fx_server *small = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--threads", threads));
    for (int i = 0; i < VIEWERS; i++) { /* at once they would be a crowd of newcomers */
        s[i] = (stream){.fd = open_stream(small, "")};
        await_events(&s[i], 1);
    }
    for (int i = 0; i < VIEWERS; i++)
        await_events(&s[i], events(&s[i]) + 2);
    fx_expect(small, 201, "POST /buy?item=P0001&user=u"); /* there are threads for buyers */
    for (int i = 1; i < VIEWERS; i++)
        close(s[i].fd);
    await_events(&s[0], events(&s[0]) + 3); /* those that went are no loss to who stays */
    assert_int_equal(fx_server_stop(small), 0);
    assert_true(fx_wait_until(has_ended, &s[0], LOOK_WAIT_MS));
    close(s[0].fd);
}

/* More connections than threads, that send nothing: neither who is told already is closed for them,
 * nor does who comes then have to go. */
static void streams_outlive_a_crowd(void **state)
{
    (void)state;
    enum { CROWD = 60 };
    static stream s[2];
    int crowd[CROWD];
    char threads[12];
    snprintf(threads, sizeof(threads), "%d", THREADS);
    fx_server *small = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--threads", threads));
    s[0] = (stream){.fd = open_stream(small, "")};
    await_events(&s[0], 1);
    for (int i = 0; i < CROWD; i++)
        crowd[i] = fx_raw_connect(fx_server_port(small), NULL);
    s[1] = (stream){.fd = open_stream(small, "")};
    await_events(&s[1], 3);
    await_events(&s[0], events(&s[0]) + 3);
    assert_null(
        strstr(fx_expect(small, 200, "GET /metrics"), "\nflashsale_connections_ended_total 0\n"));
    for (int i = 0; i < CROWD; i++)
        close(crowd[i]);
    for (int i = 0; i < 2; i++)
        close(s[i].fd);
    fx_server_kill(small);
}

static int descriptors(fx_server *server)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/fd", fx_process_pid(fx_server_process(server)));
    return fx_entries(path);
}

static bool has_few_descriptors(void *most)
{
    return descriptors(fx.server[1]) <= *(int *)most;
}

static void who_has_gone_is_noticed(void **state)
{
    (void)state;
    int before = descriptors(fx.server[1]), fds[VIEWERS];
    for (int i = 0; i < VIEWERS; i++) {
        fds[i] = open_stream(fx.server[1], "");
        if (i % 2 == 0)
            close(fds[i]);
    }
    int most = before + VIEWERS / 2 + 8; /* and connections to Redis */
    assert_true(fx_wait_until(has_few_descriptors, &most, LOOK_WAIT_MS));
    for (int i = 1; i < VIEWERS; i += 2)
        close(fds[i]);
    most = before + 8;
    assert_true(fx_wait_until(has_few_descriptors, &most, LOOK_WAIT_MS));
}

/* Before minutes of documents have piled up for it. */
static void who_takes_nothing_is_cut_off(void **state)
{
    (void)state;
    enum { OPENED = 8 };
    static stream s[OPENED];
    const int little = 2048;
    int before = descriptors(fx.server[1]), most = before + OPENED / 2;
    for (int i = 0; i < OPENED; i++) {
        s[i] = (stream){.fd = open_stream(fx.server[1], "")};
        setsockopt(s[i].fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
        await_events(&s[i], 1);
        assert_true(descriptors(fx.server[1]) > before); /* the first may be cut off by now */
    }
    assert_true(fx_wait_until(has_few_descriptors, &most, LOOK_WAIT_MS));
    for (int i = 0; i < OPENED; i++)
        close(s[i].fd);
}

/* More items are looked at than there is room for: most go on, instead of each ousting the next. */
static void streams_do_not_oust_each_other(void **state)
{
    (void)state;
    enum { ITEMS = 20, ROOM = 16, EVENTS = 20 };
    static stream s[ITEMS], alone;
    char item[16];
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "many%d", i);
        fx_start_sale(fx.server[0], item, "'stock':1,'strategy':'atomic'");
    }
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "many%d", i);
        s[i] = (stream){.fd = open_stream_of(fx.server[0], item, "")};
        await_events(&s[i], 1);
    }
    alone = (stream){.fd = open_stream(fx.server[1], "")};
    await_events(&alone, EVENTS);
    int going_on = 0;
    for (int i = 0; i < ITEMS; i++) {
        while (!s[i].closed && poll(&(struct pollfd){.fd = s[i].fd, .events = POLLIN}, 1, 0) > 0)
            has_come(&s[i]);
        going_on += events(&s[i]) > EVENTS / 2;
        close(s[i].fd);
    }
    close(alone.fd);
    assert_true(going_on >= ROOM);
}

/* Not "Redis is down": another question says why. */
static void a_stream_ends_with_what_it_shows(void **state)
{
    (void)state;
    static stream s;
    fx_start_sale(fx.server[0], "Ends", "'stock':1,'strategy':'atomic'");
    s = (stream){.fd = open_stream_of(fx.server[0], "Ends", "")};
    await_events(&s, 2);
    fx_redis_do(fx.redis, "SET fs:{Ends}:sale 0770000000000a");
    fx_redis_do(fx.redis, "HSET fs:{Ends}:0770000000000a:cfg schema 99");
    assert_true(fx_wait_until(has_ended, &s, LOOK_WAIT_MS));
    assert_null(strstr(s.text, "\"redis\":\"down\""));
    close(s.fd);
    fx_refused(fx.server[0], 503, "sale_unreadable", "GET /dashboard?item=Ends");
}

static void who_wants_one_gets_one(void **state)
{
    (void)state;
    static stream s;
    s = (stream){.fd = open_stream(fx.server[0], "Connection: close\r\n")};
    assert_true(fx_wait_until(has_ended, &s, LOOK_WAIT_MS));
    assert_int_equal(events(&s), 1);
    close(s.fd);
}

static void a_stream_of_nothing_is_refused(void **state)
{
    (void)state;
    static const char *const accept[] = {"Accept: text/event-stream", NULL};
    char url[128];
    fx_reply reply;
    snprintf(url, sizeof(url), "%s/dashboard?item=none", fx_server_url(fx.server[0]));
    fx_http("GET", url, accept, NULL, 10000, &reply);
    fx_assert_problem(url, &reply, 404, "no_such_item");
    fx_reply_free(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documents_come_one_after_the_other),
        cmocka_unit_test(what_is_sold_meanwhile_comes),
        cmocka_unit_test(a_stream_needs_no_thread),
        cmocka_unit_test(streams_outlive_a_crowd),
        cmocka_unit_test(who_has_gone_is_noticed),
        cmocka_unit_test(who_takes_nothing_is_cut_off),
        cmocka_unit_test(streams_do_not_oust_each_other),
        cmocka_unit_test(a_stream_ends_with_what_it_shows),
        cmocka_unit_test(who_wants_one_gets_one),
        cmocka_unit_test(a_stream_of_nothing_is_refused),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001));
}
