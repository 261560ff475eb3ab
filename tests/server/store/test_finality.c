/*
 * test_finality.c - when "no such order" is final, whoever else asks: with a time at the first
 * question after it, and nothing is written for it; without one also after a flood of questions
 * about invented ids. Where the server that answers is not in charge it is not final.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/raw.h"
#include "tests/support/service.h"

#define LONG_AGO 1000000000000000LL /* 2001 */

enum {
    FLOODERS = 4,
    WAVE = 10000, /* invented ids, each of them asked for twice */
    WAVES = 5,
    AT_ONCE = 50,  /* questions on their way on a connection */
    MARKS = 60000, /* that questions leave in a segment */
    SOON_US = 300000,
    MARGIN_US = 1000000,
    PATIENCE_MS = 60000
};

static char item[16]; /* of the case */

static void start_sale(fx_server *server, const char *name, const char *terms)
{
    snprintf(item, sizeof(item), "%s", name);
    fx_start_sale(server, item, "%s", terms);
}

/* ---- questions ------------------------------------------------------------------------------- */

/* `more` is "", or begins with '&'. */
static bool is_final(fx_server *server, const char *request, const char *more)
{
    return strstr(fx_expect(server, 404, "GET /orders/%s?item=%s%s", request, item, more),
                  "\"final\":true") != NULL;
}

static long long redis_us(fx_server *server)
{
    const char *body = fx_expect(server, 200, "GET /stock?item=%s", item);
    const char *at = strstr(body, "\"time_us\":");
    assert_non_null(at);
    return strtoll(at + strlen("\"time_us\":"), NULL, 10);
}

static bool has_passed(void *us)
{
    return redis_us(fx.server[0]) > *(long long *)us;
}

static const char *not_after(long long us)
{
    static char text[48];
    snprintf(text, sizeof(text), "&not_after=%lld", us);
    return text;
}

/* Lets all first questions of the sale lie a minute back, so that nobody has to wait here. */
static void age_notes(const char *sale)
{
    static const char script[] =
        "local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') for i = 1, #all, 2 do "
        "redis.call('ZADD', KEYS[1], all[i + 1] - 60000000, all[i]) end";
    redisReply *reply = fx_redis_reply(fx.redis, "EVAL %s 1 fs:{%s}:%s:asked", script, item, sale);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

/* ---- a flood of them ------------------------------------------------------------------------- */

typedef struct flooder {
    pthread_t thread;
    int wave, number;
    bool answered; /* all of them */
} flooder;

static bool read_answers(int fd, int count)
{
    static _Thread_local char text[AT_ONCE * 2048];
    size_t len = 0;
    int seen = 0;
    for (const char *at = text; seen < count && len < sizeof(text) - 1;) {
        ssize_t got = recv(fd, text + len, sizeof(text) - 1 - len, 0);
        if (got <= 0)
            return false;
        len += (size_t)got;
        text[len] = '\0';
        for (const char *next; (next = strstr(at, "\"final\":")); at = next + 1)
            seen++;
    }
    return seen == count;
}

static void *flood(void *arg)
{
    flooder *f = arg;
    char bytes[AT_ONCE * 160];
    int fd = fx_raw_connect(fx_server_port(fx.server[0]), NULL);
    struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    f->answered = fd >= 0;
    for (int i = f->number; f->answered && i < WAVE; i += FLOODERS * AT_ONCE) {
        size_t len = 0;
        int count = 0;
        for (int k = i; k < WAVE && count < AT_ONCE; k += FLOODERS, count++)
            len += (size_t)snprintf(
                bytes + len, sizeof(bytes) - len,
                "GET /orders/invented-%d-%d?item=%s HTTP/1.1\r\nHost: localhost\r\n\r\n", f->wave,
                k, item);
        f->answered = fx_raw_send(fd, bytes, len) && read_answers(fd, count);
    }
    close(fd);
    return NULL;
}

static void ask_all(int wave)
{
    static flooder flooders[FLOODERS];
    for (int i = 0; i < FLOODERS; i++) {
        flooders[i] = (flooder){.wave = wave, .number = i};
        assert_int_equal(pthread_create(&flooders[i].thread, NULL, flood, &flooders[i]), 0);
    }
    for (int i = 0; i < FLOODERS; i++) {
        pthread_join(flooders[i].thread, NULL);
        assert_true(flooders[i].answered);
    }
}

/* In waves that the notes had room for when there were fewer of them. */
static void a_flood_of_invented_ids_keeps_nobody_from_an_answer(void **state)
{
    (void)state;
    char sale[64], orders[128];
    start_sale(fx.server[0], "N0", "'stock':10,'strategy':'combined'");
    snprintf(sale, sizeof(sale), "%s", fx_current_sale(item));
    snprintf(orders, sizeof(orders), "fs:{%s}:%s:orders", item, sale);
    for (int wave = 0; wave < WAVES; wave++) {
        ask_all(wave);
        age_notes(sale);
        ask_all(wave);
    }
    print_message("%lld of %d invented ids are void: %lld bytes, and %lld for notes\n",
                  fx_redis_number(fx.redis, "HGET %s #void", orders), WAVE * WAVES,
                  fx_redis_number(fx.redis, "MEMORY USAGE %s SAMPLES 0", orders),
                  fx_redis_number(fx.redis, "MEMORY USAGE fs:{%s}:%s:asked SAMPLES 0", item, sale));
    assert_true(fx_redis_number(fx.redis, "HGET %s #void", orders) > WAVE * WAVES / 10 * 9);
    assert_false(is_final(fx.server[0], "honest", ""));
    age_notes(sale);
    assert_true(is_final(fx.server[0], "honest", ""));
    fx_refused(fx.server[0], 409, "request_void", "POST /buy?item=%s&user=u1&request=honest", item);
}

/* ---- with a time ----------------------------------------------------------------------------- */

/* Fields in all hashes of orders, notes, and keys that the sale has. */
static long long things_kept(int segments)
{
    const char *sale = fx_current_sale(item);
    long long sum = fx_redis_number(fx.redis, "EXISTS fs:{%s}:%s:asked", item, sale);
    for (int k = 0; k < (segments > 0 ? segments : 1); k++) {
        char tag[32];
        snprintf(tag, sizeof(tag), segments > 0 ? "%s#%d" : "%s", item, k);
        sum += fx_redis_number(fx.redis, "HLEN fs:{%s}:%s:orders", tag, sale);
    }
    return sum;
}

static void exhaust_marks(int segments)
{
    for (int k = 0; k < (segments > 0 ? segments : 1); k++) {
        char tag[32];
        snprintf(tag, sizeof(tag), segments > 0 ? "%s#%d" : "%s", item, k);
        fx_redis_do(fx.redis, "HSET fs:{%s}:%s:orders #void %d", tag, fx_current_sale(item), MARKS);
    }
}

/* Also when others have used up all marks. */
static void with_a_time_the_first_question_after_it_is_final(void **state)
{
    (void)state;
    static const struct {
        const char *item, *terms;
        int segments;
    } sales[] = {{"T0", "'stock':10,'strategy':'combined'", 0},
                 {"T1", "'stock':10,'strategy':'sharded','segments':4", 4}};
    for (size_t i = 0; i < COUNT(sales); i++) {
        char more[96];
        start_sale(fx.server[0], sales[i].item, sales[i].terms);
        exhaust_marks(sales[i].segments);
        long long kept = things_kept(sales[i].segments), until = redis_us(fx.server[0]) + SOON_US;
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=mine%s", item,
                  not_after(until + PATIENCE_MS * 1000LL));
        assert_false(is_final(fx.server[0], "early", not_after(until)));
        until += MARGIN_US;
        assert_true(fx_wait_until(has_passed, &until, PATIENCE_MS));
        assert_true(is_final(fx.server[0], "never", not_after(until - MARGIN_US)));
        snprintf(more, sizeof(more), "&sale=%s%s", fx_current_sale(item),
                 not_after(until - MARGIN_US));
        assert_true(is_final(fx.server[0], "other", more));
        fx_expect(fx.server[0], 200, "GET /orders/mine?item=%s%s", item, not_after(LONG_AGO));
        assert_int_equal(things_kept(sales[i].segments), kept + 1); /* and one order */

        assert_false(is_final(fx.server[0], "honest", "")); /* for there are no marks left */
        age_notes(fx_current_sale(item));
        assert_false(is_final(fx.server[0], "honest", ""));
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=never", item);
        fx_expect(fx.server[0], 200, "GET /orders/never?item=%s%s", item, not_after(LONG_AGO));
    }
}

static void a_time_says_nothing_of_sales_that_were_not_asked(void **state)
{
    (void)state;
    char first[96];
    start_sale(fx.server[0], "T2", "'stock':10");
    snprintf(first, sizeof(first), "&sale=%s", fx_current_sale(item));
    assert_true(is_final(fx.server[0], "ghost", not_after(LONG_AGO)));
    start_sale(fx.server[0], "T2", "'stock':10");
    assert_true(is_final(fx.server[0], "ghost", not_after(LONG_AGO)));
    start_sale(fx.server[0], "T2", "'stock':10");
    assert_false(is_final(fx.server[0], "ghost", not_after(LONG_AGO)));
    assert_true(is_final(fx.server[0], "ghost", first));
}

static void a_time_is_microseconds(void **state)
{
    (void)state;
    static const char *const wrong[] = {"",
                                        "0",
                                        "1",
                                        "-1000000000000000",
                                        "1e15",
                                        "a",
                                        "%20",
                                        "999999999999999",
                                        "1763773000",
                                        "1763773000123",
                                        "9007199254740992",
                                        "1763773000123456789",
                                        "99999999999999999999999"};
    start_sale(fx.server[0], "T3", "'stock':10");
    for (size_t i = 0; i < COUNT(wrong); i++) {
        fx_refused(fx.server[0], 400, "bad_not_after", "GET /orders/k?item=T3&not_after=%s",
                   wrong[i]);
        fx_refused(fx.server[0], 400, "bad_not_after", "POST /buy?item=T3&user=u&not_after=%s",
                   wrong[i]);
    }
    assert_false(is_final(fx.server[0], "k", not_after(9007199254740991)));
}

/* ---- a server that does not write ------------------------------------------------------------ */

/* While the instance compares what was promoted, it answers 503. */
static bool ghost_is(fx_server *server, bool final)
{
    fx_reply reply;
    int status = fx_ask(server, &reply, "GET /orders/ghost?item=R0%s", not_after(LONG_AGO));
    return status == 404 && (strstr(reply.body, "\"final\":true") != NULL) == final;
}

static bool ghost_is_final(void *server)
{
    return ghost_is(server, true);
}

static bool ghost_is_open(void *server)
{
    return ghost_is(server, false);
}

/* A full one is in charge of its sale. A replica may lack what its primary has. One that is
 * promoted is compared first, if anybody saw it as a replica. */
static void it_is_final_where_redis_is_in_charge(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    start_sale(server, "R0", "'stock':10,'strategy':'atomic'");
    fx_expect(server, 201, "POST /buy?item=R0&user=u1&request=mine");
    fx_redis_do(redis, "CONFIG SET maxmemory 1");
    assert_true(is_final(server, "ghost", not_after(LONG_AGO)));
    assert_false(is_final(server, "ghost", ""));
    fx_expect(server, 200, "GET /orders/mine?item=R0%s", not_after(LONG_AGO));
    fx_redis_do(redis, "CONFIG SET maxmemory 0");

    fx_redis_do(redis, "CONFIG SET min-replicas-to-write 1"); /* it may be cut off */
    assert_true(fx_wait_until(ghost_is_open, server, PATIENCE_MS));
    fx_redis_do(redis, "CONFIG SET min-replicas-to-write 0");
    assert_true(fx_wait_until(ghost_is_final, server, PATIENCE_MS));

    /* At the end: a primary again it would be another run, to which nothing is written at first. */
    fx_redis_do(redis, "REPLICAOF 127.0.0.1 1"); /* where nobody listens */
    assert_false(is_final(server, "ghost", not_after(LONG_AGO)));
    fx_expect(server, 200, "GET /orders/mine?item=R0%s", not_after(LONG_AGO));
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* It has what it had at the snapshot, without a restart that would be noticed: what was told is
 * gone. The first to be asked is the one who knows. */
static void nothing_is_final_in_what_redis_has_lost(void **state)
{
    (void)state;
    static const char *const strategies[] = {"setnx", "combined", "sharded"};
    fx_redis *redis = fx_redis_start_single(FX_ARGS("--enable-debug-command", "yes"));
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    for (size_t i = 0; i < COUNT(strategies); i++) {
        char terms[64], name[16];
        snprintf(terms, sizeof(terms), "'stock':10,'strategy':'%s'", strategies[i]);
        snprintf(name, sizeof(name), "L%zu", i);
        start_sale(server, name, terms);
        fx_redis_do(redis, "SAVE");
        fx_expect(server, 201, "POST /buy?item=%s&user=u1&request=mine", item);
        fx_redis_do(redis, "DEBUG RELOAD NOSAVE");
        char path[128];
        fx_reply reply;
        snprintf(path, sizeof(path), "GET /orders/mine?item=%s%s", item, not_after(LONG_AGO));
        if (fx_ask(server, &reply, path) != 503 && !strstr(reply.body, "\"final\":false"))
            fail_msg("%s: %d %s", strategies[i], reply.status, reply.body);
        fx_reply_free(&reply);
    }
    fx_server_kill(server);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_of_invented_ids_keeps_nobody_from_an_answer),
        cmocka_unit_test(with_a_time_the_first_question_after_it_is_final),
        cmocka_unit_test(a_time_says_nothing_of_sales_that_were_not_asked),
        cmocka_unit_test(a_time_is_microseconds),
        cmocka_unit_test(it_is_final_where_redis_is_in_charge),
        cmocka_unit_test(nothing_is_final_in_what_redis_has_lost),
    };
    return fx_run(tests, .instances = 1, .args = FX_ARGS("--rate-question", "0"));
}
