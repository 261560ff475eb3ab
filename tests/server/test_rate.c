/* test_rate.c - a user or an address in a hurry is slowed down. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/support/service.h"

/* As many as the burst are let through, and more only as time passes: a second for each. */
static void assert_limited(int asked, int limited, int burst, dlock_time first)
{
    int seconds = (int)((dlock_now().us - first.us) / 1000000) + 1;
    assert_true(asked - limited >= burst);
    assert_true(asked - limited <= burst + seconds);
}

static void a_user_in_a_hurry_is_slowed_down(void **state)
{
    (void)state;
    enum { ASKED = 20, BURST = 3 };
    fx_server *server =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--rate-user", "1", "--rate-burst", "3"));
    fx_start_sale(server, "T1", "'stock':1000,'strategy':'atomic'");
    int sold = 0, limited = 0;
    dlock_time first = dlock_now();
    for (int i = 0; i < ASKED; i++) {
        char wait[16];
        fx_reply reply;
        int status = fx_ask(server, &reply, "POST /buy?item=T1&user=quick");
        sold += status == 201;
        limited += status == 429;
        if (status == 429) {
            fx_reply_header(&reply, "Retry-After", wait, sizeof(wait));
            assert_in_range((int)strtol(wait, NULL, 10), 1, 3);
        }
        fx_reply_free(&reply);
    }
    assert_int_equal(sold + limited, ASKED);
    assert_limited(ASKED, limited, BURST, first);
    fx_expect(server, 201, "POST /buy?item=T1&user=slow");
    fx_server_kill(server);
}

/* Whoever asks says another user and another address each time: neither helps. */
static void an_address_in_a_hurry_is_slowed_down(void **state)
{
    (void)state;
    enum { ASKED = 40, BURST = 5 };
    int limited = 0;
    fx_server *server = fx_server_start(
        fx_redis_url(fx.redis), FX_ARGS(FX_P0001, "--rate-address", "1", "--rate-burst", "5"));
    dlock_time first = dlock_now();
    for (int i = 0; i < ASKED; i++) {
        char url[128], header[64], wait[16];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=quick%d", fx_server_url(server), i);
        snprintf(header, sizeof(header), "X-Forwarded-For: 10.0.0.%d", i);
        if (fx_http("POST", url, FX_ARGS(header), NULL, 15000, &reply) == 429) {
            limited++;
            assert_true(fx_reply_header(&reply, "Retry-After", wait, sizeof(wait))[0] != '\0');
            assert_non_null(strstr(reply.body, "rate_limited"));
        }
        fx_reply_free(&reply);
    }
    fx_server_kill(server);
    assert_limited(ASKED, limited, BURST, first);
}

/* All questions of an address count together, a second's worth at once. Buys do not. */
static void public_questions_are_limited_by_address(void **state)
{
    (void)state;
    enum { ASKED = 40, RATE = 5 };
    static const char *const asked[] = {"GET /orders/r1?item=P0001", "GET /stock?item=P0001",
                                        "GET /dashboard?item=P0001"};
    int limited = 0;
    fx_server *server =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001, "--rate-question", "5"));
    dlock_time first = dlock_now();
    for (int i = 0; i < ASKED; i++)
        limited += fx_status(server, asked[i % 3]) == 429;
    int seconds = (int)((dlock_now().us - first.us) / 1000000) + 1;
    assert_in_range(ASKED - limited, RATE, RATE + RATE * seconds);
    fx_expect(server, 201, "POST /buy?item=P0001&user=u1");
    fx_server_kill(server);
}

/* Who can not be counted is not told to slow down: neither by a bucket that is none, nor by a Redis
 * that is away. */
static void what_can_not_be_counted_is_let_through(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server =
        fx_server_start(fx_redis_url(redis), FX_ARGS(FX_P0001, "--rate-user", "1", "--rate-address",
                                                     "1", "--rate-burst", "100"));
    fx_redis_do(redis, "RPUSH fs:rate:user:{u1} x");
    for (int i = 0; i < 5; i++)
        fx_expect(server, 201, "POST /buy?item=P0001&user=u1");
    fx_redis_kill(redis);
    for (int i = 0; i < 5; i++) {
        fx_refused(server, 503, "store_unavailable", "POST /buy?item=P0001&user=u2");
        fx_refused(server, 503, "store_unavailable", "GET /orders/r1?item=P0001");
    }
    fx_server_kill(server);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_user_in_a_hurry_is_slowed_down),
        cmocka_unit_test(an_address_in_a_hurry_is_slowed_down),
        cmocka_unit_test(public_questions_are_limited_by_address),
        cmocka_unit_test(what_can_not_be_counted_is_let_through),
    };
    return fx_run(tests, .instances = 0);
}
