/*
 * test_direct_answers.c - orders that the leader of a batch sends to the client: each comes once,
 * on the connection that asked for it, in its turn.
 */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

#include "tests/server/direct/wire.h"

enum { GUESTS = 4, MEALS = 60, PIPELINED = 50, SLOW_BUYS = 200000 };

static int port(void)
{
    return fx_server_port(fx.server[0]);
}

static long told_directly(fx_server *server)
{
    static const char name[] = "\nflashsale_buys_told_directly_total ";
    const char *line = strstr(fx_expect(server, 200, "GET /metrics"), name);
    assert_non_null(line);
    return strtol(line + strlen(name), NULL, 10);
}

/* It is counted behind the answer. */
static bool many_were_told(void *wanted)
{
    return told_directly(fx.server[0]) == *(long *)wanted;
}

/* ---- that it happens at all ------------------------------------------------------------------ */

static void from_the_second_request_on_the_leader_answers(void **state)
{
    (void)state;
    static const struct {
        const char *strategy;
        int direct; /* of ten buys on one connection */
    } rows[] = {{"combined", 9}, {"batched", 9}, {"sharded", 9}, {"atomic", 0}, {"fenced", 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        wire w;
        fx_sell("'stock':1000,'strategy':'%s','hold_ms':1", rows[i].strategy);
        long wanted = told_directly(fx.server[0]) + rows[i].direct;
        assert_true(wire_open(&w, port()));
        for (int k = 0; k < 10; k++) {
            char request[32];
            snprintf(request, sizeof(request), "%s-%d", rows[i].strategy, k);
            assert_true(wire_gets(&w, request));
        }
        if (!fx_wait_until(many_were_told, &wanted, 10000))
            fail_msg("%s: %ld instead of %ld", rows[i].strategy, told_directly(fx.server[0]),
                     wanted);
        close(w.fd);
    }
}

/* By the leader, by the leader again, and by the own thread of a new connection's first request. */
static void a_retry_gets_the_same_bytes_whoever_answers(void **state)
{
    (void)state;
    static const char *const strategies[] = {"combined", "batched", "sharded"};
    for (int i = 0; i < 3; i++) {
        wire w, other;
        wire_answer first, retries[2];
        fx_sell("'stock':1000,'strategy':'%s','hold_ms':1", strategies[i]);
        assert_true(wire_open(&w, port()) && wire_open(&other, port()));
        assert_true(wire_gets(&w, "before"));
        assert_true(wire_ask(&w, "again"));
        assert_int_equal(wire_next(&w, &first, false), 201);
        assert_null(strstr(first.head, "Idempotency-Replayed"));
        assert_true(wire_ask(&w, "again") && wire_ask(&other, "again"));
        wire_next(&w, &retries[0], false);
        wire_next(&other, &retries[1], false);
        for (int k = 0; k < 2; k++) {
            assert_int_equal(retries[k].status, 201);
            assert_string_equal(first.body, retries[k].body);
            assert_non_null(strstr(retries[k].head, "\r\nIdempotency-Replayed: true\r\n"));
        }
        assert_string_equal(retries[0].head, retries[1].head);
        assert_int_equal(fx_stock("orders"), 2);
        close(w.fd);
        close(other.fd);
    }
}

/* ---- more than one request under way --------------------------------------------------------- */

static void requests_sent_at_once_are_answered_in_their_order(void **state)
{
    (void)state;
    static const int counts[] = {3, 10, PIPELINED};
    fx_sell("'stock':1000,'strategy':'combined','hold_ms':1");
    long wanted = told_directly(fx.server[0]);
    for (size_t i = 0; i < COUNT(counts); i++) {
        char bytes[PIPELINED * 160], request[32];
        size_t len = 0;
        wire w;
        assert_true(wire_open(&w, port()));
        for (int k = 0; k < counts[i]; k++) {
            snprintf(request, sizeof(request), "at-once-%d-%d", counts[i], k);
            len += wire_buy(bytes + len, sizeof(bytes) - len, request, "");
        }
        assert_true(len < sizeof(bytes) && fx_raw_send(w.fd, bytes, len));
        for (int k = 0; k < counts[i]; k++) {
            snprintf(request, sizeof(request), "at-once-%d-%d", counts[i], k);
            assert_true(wire_brings(&w, request));
        }
        snprintf(request, sizeof(request), "then-%d", counts[i]);
        assert_true(wire_gets(&w, request));
        close(w.fd);
        wanted += 2; /* the last, and the one then: no other was the latest that had come */
    }
    assert_true(fx_wait_until(many_were_told, &wanted, 10000));
    assert_int_equal(fx_stock("orders"), 3 + 10 + PIPELINED + 3);
}

/* So a part of the second request may be in civetweb's buffer, in the socket's, or not here yet. */
static void a_request_may_be_cut_anywhere(void **state)
{
    (void)state;
    wire w;
    size_t second_len = 1;
    fx_sell("'stock':1000,'strategy':'combined','hold_ms':1");
    assert_true(wire_open(&w, port()));
    assert_true(wire_gets(&w, "cut"));
    for (size_t cut = 0; cut <= second_len; cut++) {
        char bytes[512], first[32], second[32];
        snprintf(first, sizeof(first), "cut-%zu-a", cut);
        snprintf(second, sizeof(second), "cut-%zu-b", cut);
        size_t len = wire_buy(bytes, sizeof(bytes), first, "");
        second_len = wire_buy(bytes + len, sizeof(bytes) - len, second, "X-More: 1\r\n");
        assert_true(fx_raw_send(w.fd, bytes, len + cut));
        if (cut % 2 == 0)
            assert_true(wire_brings(&w, first));
        assert_true(fx_raw_send(w.fd, bytes + len + cut, second_len - cut));
        if (cut % 2 == 1)
            assert_true(wire_brings(&w, first));
        assert_true(wire_brings(&w, second));
    }
    close(w.fd);
}

/* Requests of every shape on one connection, and what the answer to each begins with and has. */
static const struct {
    const char *sent, *line, *has;
    bool head_only;
} shapes[] = {
    {"POST /buy?item=P0001&user=u1&request=s1 HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 201 ",
     "\"request\":\"s1\"", false},
    {"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 ", "alive\n", false},
    {"POST /buy HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n"
     "Content-Length: 31\r\n\r\nitem=P0001&user=u1&request=form",
     "HTTP/1.1 201 ", "\"request\":\"form\"", false},
    {"HEAD /stock?item=P0001 HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 200 ",
     "Connection: keep-alive", true},
    {"POST /buy HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: "
     "47\r\n\r\n"
     "{\"item\":\"P0001\",\"user\":\"u1\",\"request\":\"json\"  }",
     "HTTP/1.1 201 ", "\"request\":\"json\"", false},
    {"\r\nPOST /buy?item=P0001&user=u1&request=s2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "HTTP/1.1 201 ", "\"request\":\"s2\"", false},
    {"GET /buy HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 ", "Allow: POST", false},
    {"POST /buy?item=P0001&user=u1&request=s1&quantity=2 HTTP/1.1\r\nHost: localhost\r\n\r\n",
     "HTTP/1.1 422 ", "request_reused", false},
    {"POST /buy?item=P0001&user=u1&quantity=0 HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 400 ",
     "bad_quantity", false},
    {"POST /buy?item=P0001&user=u1&request=s3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
     "HTTP/1.1 201 ", "\"request\":\"s3\"", false},
    {"POST /buy?item=P0001&user=u1&request=s4 HTTP/1.1\r\nHost: localhost\r\nConnection: "
     "close\r\n\r\n",
     "HTTP/1.1 201 ", "Connection: close", false},
};

enum { SHAPES = COUNT(shapes) };

static void assert_answered(wire *w, int i)
{
    wire_answer answer;
    wire_next(w, &answer, shapes[i].head_only);
    if (strncmp(answer.head, shapes[i].line, strlen(shapes[i].line)) != 0 ||
        (!strstr(answer.head, shapes[i].has) && !strstr(answer.body, shapes[i].has)))
        fail_msg("%s got %s%s", shapes[i].sent, answer.head, answer.body);
}

/* With none, one, two, ... more of them sent before an answer is read. */
static void requests_of_every_shape_keep_their_order(void **state)
{
    (void)state;
    for (int ahead = 0; ahead < SHAPES; ahead++) {
        wire w;
        wire_answer none;
        fx_sell("'stock':1000,'strategy':'combined','hold_ms':1");
        long wanted = told_directly(fx.server[0]) + 4; /* of six: not the first, nor the last */
        assert_true(wire_open(&w, port()));
        for (int i = 0; i < SHAPES + ahead; i++) {
            if (i < SHAPES)
                assert_true(fx_raw_send(w.fd, shapes[i].sent, strlen(shapes[i].sent)));
            if (i >= ahead)
                assert_answered(&w, i - ahead);
        }
        assert_int_equal(wire_next(&w, &none, false), 0); /* closed, and nothing more came */
        assert_int_equal(w.have, 0);
        assert_true(ahead > 0 || fx_wait_until(many_were_told, &wanted, 10000));
        assert_int_equal(fx_stock("orders"), 6);
        close(w.fd);
    }
}

/* ---- what is no order ------------------------------------------------------------------------ */

static void expect_refusal(wire *w, const char *query, const char *line, const char *code)
{
    char bytes[256];
    wire_answer answer;
    int len = snprintf(bytes, sizeof(bytes),
                       "POST /buy?item=P0001&%s HTTP/1.1\r\nHost: localhost\r\n\r\n", query);
    assert_true(fx_raw_send(w->fd, bytes, (size_t)len));
    wire_next(w, &answer, false);
    if (strncmp(answer.head, line, strlen(line)) != 0 || !strstr(answer.body, code) ||
        !strstr(answer.head, "Connection: keep-alive"))
        fail_msg("%s got %s%s", query, answer.head, answer.body);
}

static void refusals_come_from_the_buyers_own_thread(void **state)
{
    (void)state;
    wire w;
    fx_sell("'stock':3,'strategy':'combined','per_user_limit':2,'hold_ms':1");
    long wanted = told_directly(fx.server[0]) + 2;
    assert_true(wire_open(&w, port()));
    assert_true(wire_gets(&w, "one"));
    expect_refusal(&w, "user=u2&request=one", "HTTP/1.1 422 ", "request_reused");
    assert_true(wire_gets(&w, "two"));
    expect_refusal(&w, "user=u1&request=three", "HTTP/1.1 409 ", "limit_reached");
    expect_refusal(&w, "user=u2&request=four&quantity=2", "HTTP/1.1 409 ", "sold_out");
    assert_true(wire_gets(&w, "two"));
    assert_true(fx_wait_until(many_were_told, &wanted, 10000));
    assert_int_equal(fx_stock("orders"), 2);
    close(w.fd);
}

/* ---- connections that come and go ------------------------------------------------------------ */

typedef struct guest {
    int number;
    pthread_t thread;
} guest;

static atomic_int served, left_unserved, wrong;

/* Hangs up by a FIN, or by a reset. */
static void hang_up(const wire *w, bool reset)
{
    struct linger at_once = {.l_onoff = 1};
    if (reset)
        setsockopt(w->fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(w->fd);
}

/* One to four buys on a connection of its own; with some, one more that it does not wait for. So
 * descriptors are given to others while an order is on its way to one. */
static void *come_and_go(void *arg)
{
    const guest *mine = arg;
    for (int meal = 0; meal < MEALS; meal++) {
        wire w;
        char request[48];
        if (!wire_open(&w, port())) {
            atomic_fetch_add(&wrong, 1);
            continue;
        }
        for (int k = 0; k <= meal % 4; k++) {
            snprintf(request, sizeof(request), "guest-%d-%d-%d", mine->number, meal, k);
            atomic_fetch_add(wire_gets(&w, request) ? &served : &wrong, 1);
        }
        snprintf(request, sizeof(request), "guest-%d-%d-gone", mine->number, meal);
        if (meal % 3 != 0)
            atomic_fetch_add(wire_ask(&w, request) ? &left_unserved : &wrong, 1);
        hang_up(&w, meal % 3 == 2);
    }
    return NULL;
}

static void answers_do_not_go_to_who_has_the_descriptor_next(void **state)
{
    (void)state;
    guest guests[GUESTS];
    fx_sell("'stock':5000,'strategy':'combined','hold_ms':1");
    for (int i = 0; i < GUESTS; i++) {
        guests[i].number = i;
        assert_int_equal(pthread_create(&guests[i].thread, NULL, come_and_go, &guests[i]), 0);
    }
    for (int i = 0; i < GUESTS; i++)
        pthread_join(guests[i].thread, NULL);
    assert_int_equal(atomic_load(&wrong), 0);
    assert_int_equal(atomic_load(&served), GUESTS * MEALS * 10 / 4);
    /* Who reset the connection may not have been heard. */
    assert_in_range(fx_stock("orders"), atomic_load(&served),
                    atomic_load(&served) + atomic_load(&left_unserved));
    assert_int_equal(fx_stock("oversold"), 0);
}

enum { VISITORS = 300 };

static bool few_descriptors_are_open(void *server)
{
    char path[64];
    pid_t pid = fx_process_pid(fx_server_process(server));
    snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
    int open = fx_entries(path);
    return open > 0 && open < VISITORS / 2;
}

/* Each has asked often enough to be told directly. */
static void nothing_is_left_of_connections_that_have_ended(void **state)
{
    (void)state;
    fx_sell("'stock':1000,'strategy':'combined','hold_ms':1");
    for (int i = 0; i < VISITORS; i++) {
        wire w;
        char request[32];
        assert_true(wire_open(&w, port()));
        for (int k = 0; k < 2; k++) {
            snprintf(request, sizeof(request), "visitor-%d-%d", i, k);
            assert_true(wire_gets(&w, request));
        }
        close(w.fd);
    }
    assert_true(fx_wait_until(few_descriptors_are_open, fx.server[0], WIRE_MS));
}

/* ---- two addresses --------------------------------------------------------------------------- */

/* Connects from this port of ours, 0 = any, to the instance's at 127.0.0.`host`. */
static void open_from(wire *w, in_port_t from, int host, int to)
{
    int on = 1;
    struct sockaddr_in own = {
        .sin_family = AF_INET, .sin_port = from, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)to),
                                .sin_addr.s_addr = htonl(0x7f000000u + (uint32_t)host)};
    w->have = 0;
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(w->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(w->fd, (struct sockaddr *)&own, sizeof(own)), 0);
    assert_int_equal(connect(w->fd, (struct sockaddr *)&there, sizeof(there)), 0);
}

/* The same client's port, the same port of ours: only our address, which nobody knows here, tells
 * the two apart. So both are answered by their own threads. */
static void connections_to_two_addresses_are_not_confused(void **state)
{
    (void)state;
    fx_server *server =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", "0.0.0.0:0", FX_P0001));
    wire w[2];
    struct sockaddr_in own;
    socklen_t len = sizeof(own);
    open_from(&w[0], 0, 1, fx_server_port(server));
    assert_int_equal(getsockname(w[0].fd, (struct sockaddr *)&own, &len), 0);
    open_from(&w[1], own.sin_port, 2, fx_server_port(server));
    for (int k = 0; k < 4; k++) {
        for (int i = 0; i < 2; i++) {
            char request[32];
            snprintf(request, sizeof(request), "address-%d-%d", i, k); /* of one length */
            assert_true(wire_gets(&w[i], request));
        }
    }
    assert_int_equal(told_directly(server), 0);
    close(w[0].fd);
    close(w[1].fd);
    fx_server_kill(server);
}

/* ---- a client that does not read ------------------------------------------------------------- */

typedef struct reluctant {
    wire slow, other;
    char request[32]; /* the latest of the slow one's */
} reluctant;

static bool is_cut_off(const wire *w)
{
    struct pollfd ended = {.fd = w->fd, .events = POLLRDHUP};
    return poll(&ended, 1, 0) == 1;
}

/* Meanwhile the other goes on buying the same item. */
static bool is_sold_or_cut_off(void *arg)
{
    static int count;
    reluctant *both = arg;
    char own[32];
    snprintf(own, sizeof(own), "other-%d", count++);
    if (!wire_gets(&both->other, own))
        return true; /* asserted behind the loop */
    return is_cut_off(&both->slow) ||
           fx_status(fx.server[0], "GET /orders/%s?item=P0001", both->request) == 200;
}

static void open_narrow(wire *w)
{
    int bytes = 1024;
    struct sockaddr_in there = {.sin_family = AF_INET,
                                .sin_port = htons((uint16_t)port()),
                                .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    w->have = 0;
    w->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    setsockopt(w->fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    assert_int_equal(connect(w->fd, (struct sockaddr *)&there, sizeof(there)), 0);
}

/* Each of its requests comes only when the order before is there, so none is pipelined. */
static void who_does_not_read_is_cut_off_and_keeps_nobody_waiting(void **state)
{
    (void)state;
    static reluctant both;
    int asked = 0, ordered = 0;
    fx_sell("'stock':%d,'strategy':'combined','hold_ms':1", 2 * SLOW_BUYS);
    open_narrow(&both.slow);
    assert_true(wire_open(&both.other, port()));
    while (!is_cut_off(&both.slow) && asked < SLOW_BUYS) {
        snprintf(both.request, sizeof(both.request), "slow-%d", asked);
        if (!wire_ask(&both.slow, both.request))
            break;
        asked++;
        assert_true(fx_wait_until(is_sold_or_cut_off, &both, WIRE_MS));
    }
    print_message("cut off after %d buys\n", asked);
    assert_in_range(asked, 2, SLOW_BUYS - 1);
    assert_true(wire_gets(&both.other, "last"));
    for (int k = 0; k < asked; k++) {
        int status = fx_status(fx.server[0], "GET /orders/slow-%d?item=P0001", k);
        ordered += status == 200;
        assert_true(status == 200 || k == asked - 1); /* the last may not have been heard */
    }
    assert_in_range(ordered, asked - 1, asked);
    assert_int_equal(fx_stock("lost_updates"), 0);
    close(both.slow.fd);
    close(both.other.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(from_the_second_request_on_the_leader_answers),
        cmocka_unit_test(a_retry_gets_the_same_bytes_whoever_answers),
        cmocka_unit_test(requests_sent_at_once_are_answered_in_their_order),
        cmocka_unit_test(a_request_may_be_cut_anywhere),
        cmocka_unit_test(requests_of_every_shape_keep_their_order),
        cmocka_unit_test(refusals_come_from_the_buyers_own_thread),
        cmocka_unit_test(answers_do_not_go_to_who_has_the_descriptor_next),
        cmocka_unit_test(nothing_is_left_of_connections_that_have_ended),
        cmocka_unit_test(connections_to_two_addresses_are_not_confused),
        cmocka_unit_test(who_does_not_read_is_cut_off_and_keeps_nobody_waiting),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS("--rate-question", "0"));
}
