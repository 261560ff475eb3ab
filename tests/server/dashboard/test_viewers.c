/*
 * test_viewers.c - many look: Redis is asked no more than for one, whatever they ask for, and a
 * sale is none the worse for them.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/server/dashboard/look.h"
#include "tests/support/proxy.h"

enum { VIEWERS = 100, LOOKS = 2000, DEADLINE_MS = 120000 };

typedef struct crowd {
    pthread_t threads[VIEWERS];
    atomic_int looks, failed;
    atomic_bool stop;
    bool paced; /* as the page does it, otherwise without a pause */
} crowd;

static crowd viewers;

static void *view(void *arg)
{
    int at = (int)(intptr_t)arg;
    while (!atomic_load(&viewers.stop)) {
        if (fx_status(fx.server[at % FX_INSTANCES], "GET /dashboard?item=P0001") != 200)
            atomic_fetch_add(&viewers.failed, 1);
        atomic_fetch_add(&viewers.looks, 1);
        if (viewers.paced)
            fx_let_pass(500);
    }
    return NULL;
}

/* At all instances and twice a second, or all at the first as often as they can. */
static void start_viewers(bool paced)
{
    viewers.paced = paced;
    atomic_store(&viewers.looks, 0);
    atomic_store(&viewers.failed, 0);
    atomic_store(&viewers.stop, false);
    for (int i = 0; i < VIEWERS; i++)
        assert_int_equal(
            pthread_create(&viewers.threads[i], NULL, view, (void *)(intptr_t)(paced ? i : 0)), 0);
}

static void stop_viewers(void)
{
    atomic_store(&viewers.stop, true);
    for (int i = 0; i < VIEWERS; i++)
        pthread_join(viewers.threads[i], NULL);
}

static bool have_looked(void *arg)
{
    return atomic_load(&viewers.looks) >= *(int *)arg;
}

/* Calls of one command that Redis has executed, those made by scripts included. */
static int64_t calls_of(const char *command)
{
    char stats[32768], line[64];
    assert_true(fx_redis_text(fx.redis, stats, sizeof(stats), "INFO commandstats"));
    snprintf(line, sizeof(line), "cmdstat_%s:calls=", command);
    const char *at = strstr(stats, line);
    return at ? strtoll(at + strlen(line), NULL, 10) : 0;
}

/* What asks Redis at all asks by a script. The keepers and the documents of three instances do so
 * some 40 times a second, however many look. */
enum { MOST_A_SECOND = 80 };

static void a_hundred_viewers_cost_redis_as_much_as_one(void **state)
{
    (void)state;
    fx_only_single("it counts the commands of one server");
    int looks = LOOKS;
    fx_sell("'stock':100,'strategy':'combined'");
    cJSON_Delete(look(fx.server[0], "P0001"));
    dlock_time from = dlock_now();
    int64_t before = calls_of("evalsha");
    start_viewers(false);
    bool looked = fx_wait_until(have_looked, &looks, DEADLINE_MS);
    int64_t after = calls_of("evalsha"), ms = (dlock_now().us - from.us) / 1000;
    stop_viewers();
    assert_true(looked);
    assert_int_equal(viewers.failed, 0);
    if (after - before > MOST_A_SECOND * (ms + 2000) / 1000)
        fail_msg("%lld scripts in %lld ms, for %d looks", (long long)(after - before),
                 (long long)ms, atomic_load(&viewers.looks));
}

/* Of commands of any kind. */
static int64_t commands(void)
{
    char stats[8192];
    assert_true(fx_redis_text(fx.redis, stats, sizeof(stats), "INFO stats"));
    return strtoll(strstr(stats, "total_commands_processed:") + 25, NULL, 10);
}

/* Whoever makes up items makes an instance ask Redis so often, and no oftener. An item that it
 * knows costs none of that. */
static void items_that_do_not_exist_are_looked_for_so_often(void **state)
{
    (void)state;
    fx_only_single("it counts the commands of one server");
    enum { ITEMS = 1000, RATE = 50, COST = 4, IDLE_COMMANDS = 1000 /* a second, of all else */ };
    static const char *const paths[] = {"dashboard?", "stock?", "orders/r1?"};
    int looked = 0;
    fx_expect(fx.server[0], 200, "GET /stock?item=P0001");
    dlock_time from = dlock_now();
    int64_t before = commands();
    for (int i = 0; i < ITEMS; i++) {
        int status = fx_status(fx.server[0], "GET /%sitem=none-%d", paths[i % 3], i);
        looked += status == 404;
        assert_true(status == 404 || status == 429);
    }
    fx_expect(fx.server[0], 200, "GET /stock?item=P0001");
    fx_expect(fx.server[0], 200, "GET /dashboard?item=P0001");
    int seconds = (int)((dlock_now().us - from.us) / 1000000) + 1;
    assert_in_range(looked, 1, RATE + RATE * seconds);
    assert_in_range(commands() - before, 1, COST * looked + IDLE_COMMANDS * seconds);
}

static void more_items_than_there_is_room_for_are_all_shown(void **state)
{
    (void)state;
    enum { ITEMS = 20 };
    char item[16];
    for (int i = 0; i < ITEMS; i++) {
        snprintf(item, sizeof(item), "many%d", i);
        fx_start_sale(fx.server[0], item, "'stock':%d,'strategy':'combined'", 100 + i);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ITEMS; i++) {
            snprintf(item, sizeof(item), "many%d", i);
            cJSON *document = look(fx.server[0], item);
            assert_string_equal(fx_json_text(document, "item"), item);
            assert_int_equal((int)fx_json_number(member(document, "sale"), "initial"), 100 + i);
            cJSON_Delete(document);
        }
    }
}

enum { WIDE_ITEMS = 6, WIDE_MS = 8000 };

static fx_server *slow;

static void *view_wide(void *arg)
{
    while (!atomic_load(&viewers.stop)) {
        fx_status(slow, "GET /dashboard?item=wide%d", (int)(intptr_t)arg);
        fx_let_pass(100);
    }
    return NULL;
}

/* How often the others are told that the slow one is not up, while its documents are looked at. */
static int count_not_up(void)
{
    int not_up = 0;
    pthread_t threads[WIDE_ITEMS];
    atomic_store(&viewers.stop, false);
    for (int i = 0; i < WIDE_ITEMS; i++)
        pthread_create(&threads[i], NULL, view_wide, (void *)(intptr_t)i);
    for (int64_t passed = 0; passed < WIDE_MS; passed += fx_let_pass(200)) {
        cJSON *document = look(fx.server[0], "P0001");
        not_up += strcmp(fx_json_text(find_instance(document, "slow"), "state"), "up") != 0;
        cJSON_Delete(document);
    }
    atomic_store(&viewers.stop, true);
    for (int i = 0; i < WIDE_ITEMS; i++)
        pthread_join(threads[i], NULL);
    return not_up;
}

/* An instance whose documents take longer to make than one may be silent. */
static void who_makes_many_documents_is_not_taken_to_be_down(void **state)
{
    (void)state;
    fx_only_single("it puts a proxy before Redis");
    for (int i = 0; i < WIDE_ITEMS; i++) {
        char item[16];
        snprintf(item, sizeof(item), "wide%d", i);
        fx_start_sale(fx.server[0], item, "'stock':160,'strategy':'sharded','segments':16");
    }
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(fx.redis));
    slow = fx_server_start(fx_proxy_url(proxy), FX_ARGS("--name", "slow"));
    await_state(fx.server[0], "slow", "up");
    fx_proxy_say(proxy, "delay 30ms");
    int not_up = count_not_up();
    fx_server_kill(slow);
    fx_proxy_stop(proxy);
    assert_int_equal(not_up, 0);
}

/* The document, at rest, says what GET /stock does. */
static bool agrees_with_stock(const cJSON *document, const void *arg)
{
    const cJSON *stock = arg, *sale = member(document, "sale");
    static const char *const numbers[] = {"initial", "remaining", "orders",
                                          "units",   "oversold",  "lost_updates"};
    bool agrees = cJSON_IsObject(sale);
    for (int i = 0; agrees && i < 6; i++)
        agrees = fx_json_number(sale, numbers[i]) == fx_json_number(stock, numbers[i]);
    return agrees;
}

static void a_sale_is_none_the_worse_for_them(void **state)
{
    (void)state;
    static const char *const strategies[] = {"combined", "fair", "atomic", "sharded"};
    start_viewers(true);
    for (int i = 0; i < 4; i++) {
        int code;
        cJSON *result =
            fx_loadtest(FX_ARGS("run", "--strategy", strategies[i], "--stock", "300", "--requests",
                                "900", "--users", "30", "--item", "P0001", "--wait-ms", "60000"),
                        DEADLINE_MS, &code);
        const cJSON *run = cJSON_GetArrayItem(member(result, "runs"), 0);
        assert_string_equal(fx_json_text(run, "verdict"), "SAFE");
        assert_int_equal((int)fx_json_number(run, "sold"), 300);
        assert_int_equal(code, 0);
        cJSON_Delete(result);
        cJSON *stock = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /stock?item=P0001"));
        await_document(fx.server[2], "P0001", agrees_with_stock, stock, "as GET /stock");
        cJSON_Delete(stock);
    }
    stop_viewers();
    assert_int_equal(viewers.failed, 0);
    assert_true(viewers.looks > VIEWERS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_viewers_cost_redis_as_much_as_one),
        cmocka_unit_test(items_that_do_not_exist_are_looked_for_so_often),
        cmocka_unit_test(more_items_than_there_is_room_for_are_all_shown),
        cmocka_unit_test(who_makes_many_documents_is_not_taken_to_be_down),
        cmocka_unit_test(a_sale_is_none_the_worse_for_them),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--rate-question", "0"));
}
