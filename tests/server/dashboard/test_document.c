/*
 * test_document.c - what GET /dashboard says of an item: every member, against what the other
 * endpoints and the buyers were told.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/server/dashboard/look.h"

/* ---- its shape ------------------------------------------------------------------------------- */

typedef enum { NUMBER, TEXT, FLAG, ARRAY, OBJECT, NOTHING } kind;

static void check_members(const cJSON *object, const char *of, const char *const *names,
                          const kind *kinds, int count)
{
    if (cJSON_GetArraySize(object) != count)
        fail_msg("%s has %d members, not %d", of, cJSON_GetArraySize(object), count);
    for (int i = 0; i < count; i++) {
        const cJSON *each = member(object, names[i]);
        bool good = kinds[i] == NUMBER    ? cJSON_IsNumber(each)
                    : kinds[i] == TEXT    ? cJSON_IsString(each)
                    : kinds[i] == FLAG    ? cJSON_IsBool(each)
                    : kinds[i] == ARRAY   ? cJSON_IsArray(each)
                    : kinds[i] == NOTHING ? cJSON_IsNull(each)
                                          : cJSON_IsObject(each);
        if (!good)
            fail_msg("%s of %s is of another type", names[i], of);
    }
}

/* MEMBERS(object, "name", KIND, ...) would need more of the preprocessor than this is worth. */
#define CHECK(object, of, names, ...)                                                              \
    do {                                                                                           \
        static const char *const names_[] = names;                                                 \
        static const kind kinds_[] = {__VA_ARGS__};                                                \
        _Static_assert(sizeof(kinds_) / sizeof(kinds_[0]) == sizeof(names_) / sizeof(names_[0]),   \
                       "a kind for each");                                                         \
        check_members(object, of, names_, kinds_, sizeof(kinds_) / sizeof(kinds_[0]));             \
    } while (0)
#define NAMES(...)                                                                                 \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void check_outcomes(const cJSON *outcomes)
{
    assert_true(cJSON_GetArraySize(outcomes) >= 10);
    const cJSON *each;
    cJSON_ArrayForEach(each, outcomes)
        assert_true(cJSON_IsNumber(each));
}

static void check_instance(const cJSON *one)
{
    CHECK(one, "an instance",
          NAMES("name", "state", "seen_ms", "holds", "in_flight", "waiting", "batches", "batched",
                "largest_batch", "outcomes"),
          TEXT, TEXT, NUMBER, FLAG, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, OBJECT);
    check_outcomes(member(one, "outcomes"));
}

static void check_minute(const cJSON *all)
{
    static const char *const rows[] = {"sold_per_s", "refused_per_s", "unknown_per_s", "p50_ms",
                                       "p99_ms"};
    assert_int_equal((int)fx_json_number(all, "step_ms"), 1000);
    assert_int_equal(cJSON_GetArraySize(all), 6);
    for (int r = 0; r < 5; r++) {
        const cJSON *step, *row = member(all, rows[r]);
        assert_int_equal(cJSON_GetArraySize(row), 60);
        cJSON_ArrayForEach(step, row)
            if (!cJSON_IsNumber(step) && !(r >= 3 && cJSON_IsNull(step)))
                fail_msg("%s: no number", rows[r]);
    }
}

static void check_shape(const cJSON *document)
{
    const cJSON *each;
    CHECK(document, "the document",
          NAMES("instance", "version", "admin", "demo", "age_ms", "sale_age_ms", "item", "redis",
                "now_ms", "sale", "feed", "locks", "instances", "outcomes", "minute", "latest"),
          TEXT, TEXT, TEXT, FLAG, NUMBER, NUMBER, TEXT, TEXT, NUMBER, OBJECT, NOTHING, ARRAY, ARRAY,
          OBJECT, OBJECT, ARRAY);
    CHECK(member(document, "sale"), "the sale",
          NAMES("sale", "strategy", "state", "initial", "remaining", "orders", "units", "reserved",
                "sold", "reserve_max_s", "oversold", "lost_updates", "hold_ms", "lease_ms"),
          TEXT, TEXT, TEXT, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER,
          NUMBER, NUMBER);
    cJSON_ArrayForEach(each, member(document, "locks"))
        CHECK(each, "a lock", NAMES("segment", "held", "instance", "fence", "ttl_ms", "waiting"),
              NUMBER, FLAG, TEXT, NUMBER, NUMBER, NUMBER);
    cJSON_ArrayForEach(each, member(document, "instances"))
        check_instance(each);
    check_outcomes(member(document, "outcomes"));
    check_minute(member(document, "minute"));
    cJSON_ArrayForEach(each, member(document, "latest"))
        CHECK(each, "an order",
              NAMES("order", "quantity", "remaining", "fence", "instance", "state"), TEXT, NUMBER,
              NUMBER, NUMBER, TEXT, TEXT);
}

/* ---- what it says ---------------------------------------------------------------------------- */

static double outcome(const cJSON *of, const char *name)
{
    return fx_json_number(member(of, "outcomes"), name);
}

/* The sum of a row of the last minute. */
static double sum_of(const cJSON *document, const char *row)
{
    double sum = 0;
    const cJSON *step;
    cJSON_ArrayForEach(step, member(member(document, "minute"), row))
        sum += cJSON_IsNumber(step) ? cJSON_GetNumberValue(step) : 0;
    return sum;
}

/* Rows are rounded to tenths. */
static bool minute_has_sold(const cJSON *document, const void *arg)
{
    return fabs(sum_of(document, "sold_per_s") - *(const double *)arg) < 0.5 &&
           sum_of(document, "p50_ms") > 0 && sum_of(document, "p99_ms") > 0;
}

/* The latest are the last that were bought, with what their buyers were told. */
static void check_latest(const cJSON *document, char told[][1024], int bought)
{
    static const char *const numbers[] = {"quantity", "remaining", "fence"};
    const cJSON *latest = member(document, "latest");
    int shown = bought < 10 ? bought : 10;
    assert_int_equal(cJSON_GetArraySize(latest), shown);
    for (int i = 0; i < shown; i++) {
        const cJSON *order = cJSON_GetArrayItem(latest, i);
        cJSON *buyer = cJSON_Parse(told[bought - 1 - i]);
        assert_string_equal(fx_json_text(order, "order"), fx_json_text(buyer, "order"));
        assert_string_equal(fx_json_text(order, "instance"), fx_json_text(buyer, "instance"));
        for (int n = 0; n < 3; n++)
            assert_true(fx_json_number(order, numbers[n]) == fx_json_number(buyer, numbers[n]));
        cJSON_Delete(buyer);
    }
}

static void a_sale_is_told_as_it_is(void **state)
{
    (void)state;
    enum { BOUGHT = 12 };
    static char told[BOUGHT][1024];
    double sold = BOUGHT;
    int orders = BOUGHT;
    char sale[65];
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':100,'strategy':'fair','lease_ms':4000"));
    await_orders(fx.server[0], "P0001", 0); /* their counters, before */
    cJSON *before = look(fx.server[0], "P0001");
    double sold_before = outcome(before, "sold"), out_before = outcome(before, "sold_out");
    cJSON_Delete(before);
    for (int i = 0; i < BOUGHT; i++)
        snprintf(told[i], sizeof(told[i]), "%s",
                 fx_expect(fx.server[i % 3], 201, "POST /buy?item=P0001&user=u%d&quantity=2", i));
    fx_refused(fx.server[1], 409, "sold_out", "POST /buy?item=P0001&user=u&quantity=99");
    for (int at = 0; at < FX_INSTANCES; at++)
        await_document(fx.server[at], "P0001", minute_has_sold, &sold, "sold in the last minute");
    await_orders(fx.server[2], "P0001", orders);

    cJSON *document = look(fx.server[2], "P0001");
    check_shape(document);
    const cJSON *shown = member(document, "sale");
    assert_string_equal(fx_json_text(shown, "sale"), sale);
    assert_string_equal(fx_json_text(shown, "strategy"), "fair");
    assert_string_equal(fx_json_text(shown, "state"), "open");
    assert_int_equal((int)fx_json_number(shown, "initial"), 100);
    assert_int_equal((int)fx_json_number(shown, "remaining"), 100 - 2 * BOUGHT);
    assert_int_equal((int)fx_json_number(shown, "units"), 2 * BOUGHT);
    assert_int_equal((int)fx_json_number(shown, "oversold"), 0);
    assert_int_equal((int)fx_json_number(shown, "lost_updates"), 0);
    assert_int_equal((int)fx_json_number(shown, "lease_ms"), 4000);
    assert_string_equal(fx_json_text(document, "redis"), "up");
    assert_string_equal(fx_json_text(document, "admin"), "open");
    assert_string_equal(fx_json_text(document, "item"), "P0001");
    assert_true(outcome(document, "sold") - sold_before == BOUGHT);
    assert_true(outcome(document, "sold_out") - out_before == 1);
    check_latest(document, told, BOUGHT);
    cJSON_Delete(document);
}

typedef struct kept {
    int reserved, sold, remaining;
    double confirmed, cancelled; /* of all instances */
} kept;

static bool is_kept(const cJSON *document, const void *arg)
{
    const kept *is = arg;
    const cJSON *sale = member(document, "sale");
    return (int)fx_json_number(sale, "reserved") == is->reserved &&
           (int)fx_json_number(sale, "sold") == is->sold &&
           (int)fx_json_number(sale, "remaining") == is->remaining &&
           outcome(document, "confirmed") == is->confirmed &&
           outcome(document, "cancelled") == is->cancelled;
}

static void what_is_reserved_is_told(void **state)
{
    (void)state;
    fx_sell("'stock':10,'per_user_limit':9,'reserve_max_s':600");
    await_orders(fx.server[0], "P0001", 0); /* their counters, before */
    cJSON *document = look(fx.server[0], "P0001");
    kept is = {.reserved = 3, .remaining = 7};
    is.confirmed = outcome(document, "confirmed");
    is.cancelled = outcome(document, "cancelled");
    assert_int_equal((int)fx_json_number(member(document, "sale"), "reserve_max_s"), 600);
    cJSON_Delete(document);
    for (int i = 0; i < 3; i++)
        fx_expect(fx.server[i], 201, "POST /buy?item=P0001&user=u&request=r%d&reserve_s=60", i);
    await_document(fx.server[0], "P0001", is_kept, &is, "three are reserved");
    fx_expect(fx.server[1], 200, "POST /orders/r0/confirm?item=P0001");
    fx_expect(fx.server[2], 200, "POST /orders/r1/cancel?item=P0001");
    is = (kept){1, 1, 8, is.confirmed + 1, is.cancelled + 1};
    await_document(fx.server[0], "P0001", is_kept, &is, "one of each");
}

static void an_answer_is_small_and_ends_its_connection(void **state)
{
    (void)state;
    fx_reply reply;
    char header[128];
    fx_sell("'stock':10,'strategy':'combined'");
    assert_int_equal(fx_ask(fx.server[0], &reply, "GET /dashboard"), 200); /* P0001 by itself */
    assert_true(strlen(reply.body) < 16000);
    assert_string_equal(fx_reply_header(&reply, "Connection", header, sizeof(header)), "close");
    assert_string_equal(fx_reply_header(&reply, "Cache-Control", header, sizeof(header)),
                        "no-store");
    assert_string_equal(fx_reply_header(&reply, "Content-Type", header, sizeof(header)),
                        "application/json");
    fx_reply_free(&reply);
    assert_int_equal(fx_status(fx.server[0], "HEAD /dashboard?item=P0001"), 200);
}

static void nobody_is_named(void **state)
{
    (void)state;
    int orders = 1;
    fx_sell("'stock':10,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=secret.user&request=secret-request");
    await_orders(fx.server[1], "P0001", orders);
    const char *document = fx_expect(fx.server[1], 200, "GET /dashboard?item=P0001");
    assert_null(strstr(document, "secret"));
}

/* ---- what can go wrong ----------------------------------------------------------------------- */

static void what_was_sold_too_much_is_told(void **state)
{
    (void)state;
    char sale[65];
    int orders = 3;
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':2,'strategy':'none'"));
    for (int i = 0; i < 2; i++)
        fx_expect(fx.server[i], 201, "POST /buy?item=P0001&user=u%d", i);
    /* As a buyer does who has read the stock before the others wrote it. */
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:stock 1", sale);
    fx_expect(fx.server[2], 201, "POST /buy?item=P0001&user=late");
    await_orders(fx.server[0], "P0001", orders);
    cJSON *document = look(fx.server[0], "P0001");
    assert_int_equal((int)fx_json_number(member(document, "sale"), "oversold"), 1);
    assert_int_equal((int)fx_json_number(member(document, "sale"), "lost_updates"), 1);
    assert_int_equal(cJSON_GetArraySize(member(document, "locks")), 0);
    cJSON_Delete(document);
}

static bool is_state(const cJSON *document, const void *state)
{
    const cJSON *sale = member(document, "sale");
    return cJSON_IsObject(sale) && strcmp(fx_json_text(sale, "state"), state) == 0;
}

/* Its numbers are no longer read; the document is made anew all the same. */
static bool sale_is_old(const cJSON *document, const void *state)
{
    return is_state(document, state) && fx_json_number(document, "sale_age_ms") > 1500 &&
           fx_json_number(document, "sale_age_ms") > fx_json_number(document, "age_ms");
}

static bool sale_is_fresh(const cJSON *document, const void *state)
{
    return is_state(document, state) && fx_json_number(document, "sale_age_ms") < 1500;
}

static void a_damaged_sale_and_a_halted_one_are_told(void **state)
{
    (void)state;
    char sale[65];
    int orders = 1;
    snprintf(sale, sizeof(sale), "%s", fx_sell("'stock':5,'strategy':'combined'"));
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u");
    await_orders(fx.server[0], "P0001", orders);
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:stock many", sale);
    await_document(fx.server[0], "P0001", sale_is_old, "damaged", "damaged");
    fx_redis_do(fx.redis, "SET fs:{P0001}:%s:stock 4", sale);
    await_document(fx.server[0], "P0001", sale_is_fresh, "open", "mended");
    fx_redis_do(fx.redis, "DEL fs:{P0001}:sale");
    await_document(fx.server[0], "P0001", is_state, "halted", "halted");
    fx_expect(fx.server[0], 201, "POST /sales {'item':'P0001','stock':1,'replaces':'%s'}", sale);
    await_document(fx.server[0], "P0001", is_state, "open", "replaced");
}

static void an_item_must_have_a_sale_and_a_name(void **state)
{
    (void)state;
    fx_refused(fx.server[0], 404, "no_such_item", "GET /dashboard?item=nothing");
    fx_refused(fx.server[0], 400, "bad_item", "GET /dashboard?item=a%%20b");
    fx_refused(fx.server[0], 400, "bad_item", "GET /dashboard?item=");
    fx_refused(fx.server[0], 400, "unknown_parameter", "GET /dashboard?what=P0001");
    fx_refused(fx.server[0], 405, "method_not_allowed", "POST /dashboard?item=P0001");
}

static void the_item_of_the_start_needs_no_name(void **state)
{
    (void)state;
    fx_server *own = fx_server_start(fx_redis_url(fx.redis),
                                     FX_ARGS("--item", "mine", "--stock", "7", "--name", "own"));
    cJSON *document = cJSON_Parse(fx_expect(own, 200, "GET /dashboard"));
    assert_string_equal(fx_json_text(document, "item"), "mine");
    assert_string_equal(fx_json_text(document, "instance"), "own");
    assert_int_equal((int)fx_json_number(member(document, "sale"), "initial"), 7);
    cJSON_Delete(document);
    fx_server_kill(own);
}

/* ---- locks ----------------------------------------------------------------------------------- */

enum { HOLD_MS = 8000 };

/* A buyer at each instance; the lock makes them wait for each other. */
typedef struct holder {
    pthread_t thread;
    int at;
    int status;
    char order[1024];
} holder;

static void *buy_slowly(void *arg)
{
    holder *me = arg;
    fx_reply reply;
    me->status = fx_ask(fx.server[me->at], &reply, "POST /buy?item=P0001&user=u%d", me->at);
    snprintf(me->order, sizeof(me->order), "%s", reply.body);
    fx_reply_free(&reply);
    return NULL;
}

typedef struct held {
    int waiting; /* that are to be seen */
    char instance[65];
    double fence;
} held;

static bool one_holds(const cJSON *document, const void *arg)
{
    held *seen = *(held *const *)arg;
    const cJSON *lock = cJSON_GetArrayItem(member(document, "locks"), 0);
    if (!lock || !cJSON_IsTrue(member(lock, "held")) ||
        fx_json_number(lock, "waiting") != seen->waiting)
        return false;
    snprintf(seen->instance, sizeof(seen->instance), "%s", fx_json_text(lock, "instance"));
    seen->fence = fx_json_number(lock, "fence");
    assert_true(fx_json_number(lock, "ttl_ms") > 0);
    const cJSON *one;
    cJSON_ArrayForEach(one, member(document, "instances"))
        assert_int_equal(cJSON_IsTrue(member(one, "holds")),
                         strcmp(fx_json_text(one, "name"), seen->instance) == 0);
    return true;
}

static void await_hold(held *seen, int waiting)
{
    seen->waiting = waiting;
    await_document(fx.server[0], "P0001", one_holds, &seen, "held, and waited for");
}

/* The first to buy is at the instance whose name is the last; then the others queue up. */
static void who_holds_the_lock_is_told(void **state)
{
    (void)state;
    held seen;
    holder holders[FX_INSTANCES];
    char names[FX_INSTANCES][65];
    int last = 0;
    fx_sell("'stock':10,'strategy':'fair','hold_ms':%d,'wait_ms':%d,'lease_ms':60000", HOLD_MS,
            HOLD_MS / 2);
    for (int i = 0; i < FX_INSTANCES; i++)
        if (strcmp(name_of(fx.server[i], names[i]), names[last]) > 0)
            last = i;
    for (int i = 0; i < FX_INSTANCES; i++) {
        holders[i] = (holder){.at = (last + i) % FX_INSTANCES};
        pthread_create(&holders[i].thread, NULL, buy_slowly, &holders[i]);
        if (i == 0)
            await_hold(&seen, 0);
    }
    assert_string_equal(seen.instance, names[last]);
    await_hold(&seen, 2);
    assert_string_equal(seen.instance, names[last]);
    for (int i = 0; i < FX_INSTANCES; i++)
        pthread_join(holders[i].thread, NULL); /* the others may have given up */
    assert_int_equal(holders[0].status, 201);
    cJSON *order = cJSON_Parse(holders[0].order);
    assert_true(fx_json_number(order, "fence") == seen.fence);
    cJSON_Delete(order);
}

static void each_segment_has_its_lock_and_the_latest_are_of_all(void **state)
{
    (void)state;
    enum { BOUGHT = 23, SEGMENTS = 3 }; /* more than are shown */
    int orders = BOUGHT;
    static char told[BOUGHT][1024];
    fx_sell("'stock':300,'strategy':'sharded','segments':%d", SEGMENTS);
    for (int i = 0; i < BOUGHT; i++)
        snprintf(told[i], sizeof(told[i]), "%s",
                 fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u&request=r%d", i));
    await_orders(fx.server[0], "P0001", orders);
    cJSON *document = look(fx.server[0], "P0001");
    const cJSON *locks = member(document, "locks");
    assert_int_equal(cJSON_GetArraySize(locks), SEGMENTS);
    for (int k = 0; k < SEGMENTS; k++)
        assert_int_equal((int)fx_json_number(cJSON_GetArrayItem(locks, k), "segment"), k);
    if (fx_is_single()) /* in a cluster each segment may have another clock */
        check_latest(document, told, BOUGHT);
    cJSON_Delete(document);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sale_is_told_as_it_is),
        cmocka_unit_test(what_is_reserved_is_told),
        cmocka_unit_test(an_answer_is_small_and_ends_its_connection),
        cmocka_unit_test(nobody_is_named),
        cmocka_unit_test(what_was_sold_too_much_is_told),
        cmocka_unit_test(a_damaged_sale_and_a_halted_one_are_told),
        cmocka_unit_test(an_item_must_have_a_sale_and_a_name),
        cmocka_unit_test(the_item_of_the_start_needs_no_name),
        cmocka_unit_test(who_holds_the_lock_is_told),
        cmocka_unit_test(each_segment_has_its_lock_and_the_latest_are_of_all),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001));
}
