/* test_status.c - what an instance says of itself: who holds which lock, and its strategies. */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "server/strategies/registry.h"
#include "tests/support/service.h"

/* ---- locks ----------------------------------------------------------------------------------- */

/* Buys again and again, each time with a hold that can be seen. */
static void *keep_buying(void *over)
{
    int status = 201;
    while (status == 201 && !atomic_load((atomic_bool *)over))
        status = fx_status(fx.server[0], "POST /buy?item=L1&user=u1");
    return (void *)(intptr_t)status;
}

static bool is_held(void *arg)
{
    (void)arg;
    const char *locks = fx_expect(fx.server[0], 200, "GET /locks");
    cJSON *json = cJSON_Parse(locks);
    assert_non_null(json);
    cJSON_Delete(json);
    return strstr(locks, "\"item\":\"L1\"") != NULL && strstr(locks, "\"held\":true") != NULL;
}

static void locks_are_listed(void **state)
{
    (void)state;
    pthread_t buyer;
    void *status;
    atomic_bool over = false;
    fx_start_sale(fx.server[0], "L1", "'stock':1000,'strategy':'fair','hold_ms':200");
    pthread_create(&buyer, NULL, keep_buying, &over);
    bool held = fx_wait_until(is_held, NULL, 60000);
    atomic_store(&over, true);
    pthread_join(buyer, &status);
    assert_true(held);
    assert_int_equal((int)(intptr_t)status, 201);
}

/* Of more sales than that, some are not listed. */
static void as_many_locks_are_listed_as_there_is_room_for(void **state)
{
    (void)state;
    enum { SHOWN = 64, SALES = SHOWN + 3 };
    for (int i = 0; i < SALES; i++)
        fx_expect(fx.server[0], 201, "POST /sales {'item':'l%d','stock':1,'strategy':'fair'}", i);
    cJSON *json = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /locks"));
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(json, "locks")), SHOWN);
    cJSON_Delete(json);
}

/* ---- ready ----------------------------------------------------------------------------------- */

/* How many items GET /readyz names, none of which is sold. */
static int items_named(void)
{
    cJSON *json = cJSON_Parse(fx_refused(fx.server[0], 503, "sale_unreadable", "GET /readyz"));
    const char *detail = fx_json_text(json, "detail");
    if (strcmp(detail, "no item can be sold: see the log") != 0)
        fail_msg("%s", detail);
    assert_null(cJSON_GetObjectItem(json, "redis")); /* it has complained of nothing */
    int named = cJSON_GetArraySize(cJSON_GetObjectItem(json, "items"));
    cJSON_Delete(json);
    return named;
}

/* Before there is any other sale. */
static void of_many_items_some_are_named(void **state)
{
    (void)state;
    enum { NAMED = 20, ITEMS = NAMED + 3 };
    static const char id[] = "0123456789abcd";
    for (int i = 1; i <= ITEMS; i++) {
        fx_redis_do(fx.redis, "SET fs:{n%d}:sale %s", i, id);
        fx_redis_do(fx.redis, "HSET fs:{n%d}:%s:cfg schema 99", i, id);
        fx_refused(fx.server[0], 503, "sale_unreadable", "GET /stock?item=n%d", i);
        assert_int_equal(items_named(), i < NAMED ? i : NAMED);
    }
    fx_expect(fx.server[0], 201, "POST /sales {'item':'sold','stock':1,'strategy':'atomic'}");
    const char *ready = fx_expect(fx.server[0], 200, "GET /readyz");
    int named = 0;
    for (const char *at = ready; (at = strstr(at, "\nnot sold: n")); at++)
        named++;
    assert_int_equal(named, NAMED);
    for (int i = 1; i <= ITEMS; i++)
        fx_redis_do(fx.redis, "DEL fs:{n%d}:sale", i);
}

/* ---- the strategies -------------------------------------------------------------------------- */

static bool flag(const cJSON *json, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(json, name);
    if (!cJSON_IsBool(member))
        fail_msg("'%s' is no flag of a strategy", name);
    return cJSON_IsTrue(member);
}

static void strategies_are_shown_as_they_are(void **state)
{
    (void)state;
    cJSON *json = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /strategies"));
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(json, "strategies");
    int i = 0;
    for (const fs_strategy *const *s = strategy_list(); *s; s++, i++) {
        const cJSON *shown = cJSON_GetArrayItem(list, i);
        const char *const texts[][2] = {{"name", (*s)->name},
                                        {"summary", (*s)->summary},
                                        {"source", (*s)->source},
                                        {"weakness", (*s)->weakness}};
        for (size_t k = 0; k < COUNT(texts); k++)
            assert_string_equal(
                cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(shown, texts[k][0])),
                texts[k][1]);
        assert_int_equal(flag(shown, "locked"), (*s)->locked);
        assert_int_equal(flag(shown, "renews"), (*s)->renews);
        assert_int_equal(flag(shown, "sharded"), (*s)->sharded);
        assert_int_equal(flag(shown, "replayable"), (*s)->replayable);
        assert_int_equal(flag(shown, "guarded"), (*s)->guarded);
        assert_int_equal(cJSON_GetObjectItem(shown, "lease_ms")->valueint, (*s)->lease_ms);
        assert_int_equal(cJSON_GetObjectItem(shown, "wait_ms")->valueint, (*s)->wait_ms);
    }
    assert_int_equal(cJSON_GetArraySize(list), i);
    cJSON_Delete(json);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_many_items_some_are_named),
        cmocka_unit_test(locks_are_listed),
        cmocka_unit_test(as_many_locks_are_listed_as_there_is_room_for),
        cmocka_unit_test(strategies_are_shown_as_they_are),
    };
    return fx_run(tests, .instances = 1);
}
