/*
 * test_instances.c - the instances as each of them tells: killed, gone down in order, back again;
 * and what is told when Redis is away, full, read-only, or refuses to let them tell of themselves.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "server/dashboard/instances.h"
#include "tests/server/dashboard/look.h"
#include "tests/server/nodes.h"

static char names[FX_INSTANCES][65];

static int start(void **state)
{
    int failed = fx_service_start(state);
    for (int i = 0; !failed && i < FX_INSTANCES; i++)
        name_of(fx.server[i], names[i]);
    return failed;
}

static int outcome_of(const cJSON *document, const char *name, const char *outcome)
{
    return (int)fx_json_number(member(find_instance(document, name), "outcomes"), outcome);
}

static void await_all_up(void)
{
    for (int at = 0; at < FX_INSTANCES; at++)
        for (int i = 0; i < FX_INSTANCES; i++)
            await_state(fx.server[at], names[i], "up");
}

static void all_are_known_to_each_by_name(void **state)
{
    (void)state;
    await_all_up();
    for (int at = 0; at < FX_INSTANCES; at++) {
        cJSON *document = look(fx.server[at], "P0001");
        const cJSON *one, *before = NULL;
        assert_int_equal(cJSON_GetArraySize(member(document, "instances")), FX_INSTANCES);
        cJSON_ArrayForEach(one, member(document, "instances")) {
            if (before)
                assert_true(strcmp(fx_json_text(before, "name"), fx_json_text(one, "name")) < 0);
            assert_in_range(fx_json_number(one, "seen_ms"), 0, 60000);
            before = one;
        }
        cJSON_Delete(document);
    }
}

/* Three buyers at the third instance are known to the first. */
static bool sold_three(const cJSON *document, const void *name)
{
    return find_instance(document, name) && outcome_of(document, name, "sold") == 3;
}

static bool sold_one(const cJSON *document, const void *name)
{
    return find_instance(document, name) && outcome_of(document, name, "sold") == 1;
}

/* No row of the minute is ever negative. */
static void nothing_is_negative(fx_server *server)
{
    static const char *const rows[] = {"sold_per_s", "refused_per_s", "unknown_per_s"};
    cJSON *document = look(server, "P0001");
    for (int r = 0; r < 3; r++) {
        const cJSON *step;
        cJSON_ArrayForEach(step, member(member(document, "minute"), rows[r]))
            assert_true(cJSON_GetNumberValue(step) >= 0);
    }
    cJSON_Delete(document);
}

static void one_that_is_killed_is_down_and_begins_anew(void **state)
{
    (void)state;
    fx_server *third = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--name", "third"));
    fx_sell("'stock':100,'strategy':'combined'");
    for (int i = 0; i < 3; i++)
        fx_expect(third, 201, "POST /buy?item=P0001&user=u%d", i);
    await_document(fx.server[0], "P0001", sold_three, "third", "three sold");
    fx_server_kill(third);
    await_state(fx.server[0], "third", "down");
    await_state(fx.server[1], "third", "down");
    cJSON *document = look(fx.server[1], "P0001");
    assert_int_equal(outcome_of(document, "third", "sold"), 3); /* what it had done stays told */
    cJSON_Delete(document);

    third = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--name", "third"));
    await_state(fx.server[0], "third", "up");
    fx_expect(third, 201, "POST /buy?item=P0001&user=u4");
    await_document(fx.server[0], "P0001", sold_one, "third", "counted anew");
    nothing_is_negative(fx.server[0]);
    fx_server_kill(third);
}

static void one_that_goes_down_says_so(void **state)
{
    (void)state;
    fx_server *leaving = fx_server_start(fx_redis_url(fx.redis),
                                         FX_ARGS("--name", "leaving", "--drain-delay", "60"));
    await_state(fx.server[0], "leaving", "up");
    fx_server_signal(leaving, SIGTERM);
    await_state(fx.server[0], "leaving", "draining");
    await_state(leaving, "leaving", "draining");
    fx_server_signal(leaving, SIGTERM);
    fx_server_kill(leaving);
    await_state(fx.server[0], "leaving", "down");
}

/* ---- Redis ----------------------------------------------------------------------------------- */

static bool redis_is(const cJSON *document, const void *state)
{
    for (int i = 0; i < FX_INSTANCES; i++)
        if (strcmp(fx_json_text(find_instance(document, names[i]), "state"), "up") != 0)
            fail_msg("%s is not up, though Redis alone was away", names[i]);
    return strcmp(fx_json_text(document, "redis"), state) == 0;
}

static bool is_admitted(void *server)
{
    return fx_status(server, "GET /readyz") == 200;
}

static void what_was_known_stays_while_redis_is_away(void **state)
{
    (void)state;
    fx_only_single("it kills and restarts Redis");
    int orders = 1;
    fx_sell("'stock':100,'strategy':'combined'");
    fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u");
    for (int at = 0; at < FX_INSTANCES; at++)
        await_orders(fx.server[at], "P0001", orders);
    await_all_up();
    fx_redis_signal(fx.redis, SIGSTOP);
    for (int at = 0; at < FX_INSTANCES; at++)
        await_document(fx.server[at], "P0001", redis_is, "down", "Redis away");
    fx_let_pass(3000); /* longer than an instance may be silent */
    for (int at = 0; at < FX_INSTANCES; at++) {
        cJSON *document = look(fx.server[at], "P0001");
        assert_true(redis_is(document, "down") && has_orders(document, &orders));
        assert_int_equal(cJSON_GetArraySize(member(document, "latest")), 1);
        cJSON_Delete(document);
    }
    fx_redis_signal(fx.redis, SIGCONT);
    for (int at = 0; at < FX_INSTANCES; at++)
        await_document(fx.server[at], "P0001", redis_is, "up", "Redis back");
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        count++;
    return count;
}

/* Instances that may not write their record go on selling, and showing what they may read. */
static void who_may_not_tell_of_itself_shows_the_sale(void **state)
{
    (void)state;
    fx_only_single("it makes a user of Redis");
    char url[256];
    int orders = 1;
    fx_redis_do(fx.redis,
                "ACL SETUSER mute on >secret ~fs:items ~fs:{M1}:* ~dlock:{M1}:* &* +@all");
    fx_server *mute = fx_server_start(fx_redis_url_as(fx.redis, "mute:secret", url, sizeof(url)),
                                      FX_ARGS("--name", "mute", "--item", "M1", "--stock", "5"));
    fx_expect(mute, 201, "POST /buy?item=M1&user=u");
    await_orders(mute, "M1", orders);
    fx_let_pass(2000);
    cJSON *document = look(mute, "M1");
    assert_string_equal(fx_json_text(document, "redis"), "up");
    assert_string_equal(fx_json_text(find_instance(document, "mute"), "state"), "up");
    assert_int_equal(cJSON_GetArraySize(member(document, "instances")), 1);
    cJSON_Delete(document);
    assert_int_equal(count_of(fx_process_stderr(fx_server_process(mute)), "\"instances_unknown\""),
                     1);
    fx_server_kill(mute);
}

/* But for the one that could be a record. */
static bool junk_is_gone(void *arg)
{
    (void)arg;
    return fx_redis_number(fx.redis, "HLEN fs:{flashsale}:instances") == FX_INSTANCES + 1;
}

static void a_key_of_another_type_harms_nobody(void **state)
{
    (void)state;
    await_all_up();
    fx_redis_do(fx.redis, "SET fs:{flashsale}:instances junk");
    fx_let_pass(1500);
    cJSON *document = look(fx.server[0], "P0001");
    assert_true(redis_is(document, "up")); /* and all are as they were last heard of */
    cJSON_Delete(document);
    fx_redis_do(fx.redis, "DEL fs:{flashsale}:instances");
    /* No time, times long past and far ahead, and of now, but no record. */
    fx_redis_do(fx.redis, "HSET fs:{flashsale}:instances no x long 123 far 9999999999999");
    fx_redis_do(fx.redis, "EVAL %s 1 fs:{flashsale}:instances",
                "local t = redis.call('TIME')"
                "redis.call('HSET', KEYS[1], 'odd', t[1] .. '000 1.14.70 client 0 0')");
    assert_true(fx_wait_until(junk_is_gone, NULL, LOOK_WAIT_MS));
    await_all_up();
    document = look(fx.server[0], "P0001");
    static const char *const junk[] = {"no", "long", "far", "odd"};
    for (size_t i = 0; i < sizeof(junk) / sizeof(junk[0]); i++)
        assert_null(find_instance(document, junk[i]));
    cJSON_Delete(document);
}

static void a_full_redis_still_hears_them(void **state)
{
    (void)state;
    fx_only_single("it fills Redis");
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 1");
    fx_redis_do(fx.redis, "DEL fs:{flashsale}:instances");
    fx_let_pass(3000);
    cJSON *document = look(fx.server[0], "P0001");
    assert_true(redis_is(document, "up"));
    cJSON_Delete(document);
    assert_int_equal(fx_redis_number(fx.redis, "HLEN fs:{flashsale}:instances"), FX_INSTANCES);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 0");
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_true(fx_wait_until(is_admitted, fx.server[at], LOOK_WAIT_MS));
}

static bool shows_the_lock(const cJSON *document, const void *arg)
{
    (void)arg;
    return fx_json_number(document, "sale_age_ms") < 1500 &&
           strcmp(fx_json_text(document, "redis"), "up") == 0 &&
           cJSON_GetArraySize(member(document, "locks")) == 1;
}

/* As after a failover that has not ended: all can be read, and is shown. */
static void a_redis_that_takes_no_writes_is_shown(void **state)
{
    (void)state;
    fx_only_single("it makes a replica of Redis");
    fx_sell("'stock':100,'strategy':'combined'");
    await_document(fx.server[0], "P0001", shows_the_lock, NULL, "before");
    fx_redis_do(fx.redis, "REPLICAOF 127.0.0.1 1");
    fx_let_pass(2000);
    await_document(fx.server[0], "P0001", shows_the_lock, NULL, "while it is read-only");
    fx_redis_do(fx.redis, "REPLICAOF NO ONE");
    for (int at = 0; at < FX_INSTANCES; at++)
        assert_true(fx_wait_until(is_admitted, fx.server[at], LOOK_WAIT_MS));
    await_all_up();
}

/* ---- who is down ----------------------------------------------------------------------------- */

static instances heard;

/* Another instance has told of itself so many ms ago. */
static void told(const char *name, int ms_ago)
{
    fs_text text;
    instance_record record = {.client = "host/1/0123"};
    text_init(&text);
    record_write(&text, &record);
    fx_redis_do(fx.redis, "EVAL %s 1 fs:{flashsale}:instances %s %s %d",
                "local t = redis.call('TIME')"
                "redis.call('HSET', KEYS[1], ARGV[1],"
                " string.format('%.0f %s', t[1] * 1000 + t[2] / 1000 - ARGV[3], ARGV[2]))",
                name, text_bytes(&text), ms_ago);
    text_free(&text);
}

/* After another call. */
static instance_state state_of(const char *name)
{
    const instance_record mine = {.client = "host/2/4567"};
    instances_call(&heard, &mine);
    for (int i = 0; i < heard.count; i++)
        if (strcmp(heard.all[i].name, name) == 0)
            return heard.all[i].state;
    fail_msg("%s is not known", name);
    return INSTANCE_DOWN;
}

static bool other_is_down(void *arg)
{
    (void)arg;
    return state_of("lives") == INSTANCE_DOWN;
}

/* As the keeper says of the servers of a Redis that is away. */
static void set_silent(fs_store *store, bool silent)
{
    const store_complaint why = {.redis = "no_answer"};
    for (int i = 0; i < dlock_redis_servers(store->redis); i++)
        health_note(&store_node_at(store, i)->health, TROUBLE_SILENT, silent ? &why : NULL);
}

static void listen_to(fs_store *store)
{
    char err[256];
    assert_int_equal(store_open(store, fx_redis_url(fx.redis), NULL, "me", err, sizeof(err)), 0);
    nodes_make_well(store);
    instances_init(&heard, store);
}

/* While nothing is heard nobody goes down; and nobody does at once when it is heard again. */
static void nobody_is_down_for_having_had_no_time(void **state)
{
    (void)state;
    static fs_store store;
    listen_to(&store);
    told("long-gone", 60000);
    told("lives", 0);
    assert_int_equal(state_of("long-gone"), INSTANCE_DOWN);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    assert_int_equal(state_of("me"), INSTANCE_UP);

    set_silent(&store, true);
    told("lives", 30000);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    assert_int_equal(state_of("me"), INSTANCE_UP);
    set_silent(&store, false);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    assert_int_equal(state_of("long-gone"), INSTANCE_DOWN);
    assert_true(fx_wait_until(other_is_down, NULL, LOOK_WAIT_MS));
    assert_int_equal(state_of("me"), INSTANCE_UP);
    store_close(&store);
}

/* As if Redis's clock had been so far ahead until now. */
static void set_clock_back(int ms)
{
    heard.heard_ms += ms;
}

static double sold_in_the_minute(void)
{
    double sold = 0;
    for (int i = 0; i < MINUTE_KEPT; i++)
        sold += heard.minute.steps[i].counts[BUY_SOLD];
    return sold;
}

/* Nor is anybody up whose record is of a time to come. */
static void a_clock_that_is_set_makes_nobody_live_or_die(void **state)
{
    (void)state;
    static fs_store store;
    listen_to(&store);
    told("dead", -60000);
    assert_int_equal(state_of("dead"), INSTANCE_DOWN);
    told("lives", 0);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    heard.minute.steps[0].counts[BUY_SOLD] = 7;
    heard.since_ms -= 10000;
    set_clock_back(60000);
    told("lives", -60000);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    assert_true(sold_in_the_minute() == 0);
    assert_true(fx_wait_until(other_is_down, NULL, LOOK_WAIT_MS)); /* it does not tell again */
    assert_int_equal(state_of("dead"), INSTANCE_DOWN);

    told("lives", 0);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    heard.minute.steps[0].counts[BUY_SOLD] = 7;
    set_clock_back(-60000);
    told("lives", 60000);
    assert_int_equal(state_of("lives"), INSTANCE_UP);
    assert_true(sold_in_the_minute() == 7);
    store_close(&store);
}

/* Names that come and go, as containers have them, leave no room; who lives is shown. */
static void those_that_are_down_make_room_for_one_that_lives(void **state)
{
    (void)state;
    static fs_store store;
    char name[16];
    listen_to(&store);
    for (int i = 0; i < INSTANCES_MAX + 10; i++) {
        snprintf(name, sizeof(name), "gone%d", i);
        told(name, 10000 + 1000 * i);
    }
    assert_int_equal(state_of("me"), INSTANCE_UP);
    told("a-new", 0);
    told("z-new", 0);
    assert_int_equal(state_of("a-new"), INSTANCE_UP);
    assert_int_equal(state_of("z-new"), INSTANCE_UP);
    assert_int_equal(state_of("gone0"), INSTANCE_DOWN); /* the latest of them */
    assert_int_equal(heard.count, INSTANCES_MAX);
    for (int i = 1; i < heard.count; i++)
        assert_true(strcmp(heard.all[i - 1].name, heard.all[i].name) < 0);
    fx_redis_do(fx.redis, "DEL fs:{flashsale}:instances");
    store_close(&store);
}

/* What one leaves behind ends with the last of them. */
static void what_is_left_in_redis_ends(void **state)
{
    (void)state;
    assert_in_range(fx_redis_number(fx.redis, "PTTL fs:{flashsale}:instances"), 1, 600000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_are_known_to_each_by_name),
        cmocka_unit_test(one_that_is_killed_is_down_and_begins_anew),
        cmocka_unit_test(one_that_goes_down_says_so),
        cmocka_unit_test(what_was_known_stays_while_redis_is_away),
        cmocka_unit_test(who_may_not_tell_of_itself_shows_the_sale),
        cmocka_unit_test(a_key_of_another_type_harms_nobody),
        cmocka_unit_test(a_full_redis_still_hears_them),
        cmocka_unit_test(a_redis_that_takes_no_writes_is_shown),
        cmocka_unit_test(nobody_is_down_for_having_had_no_time),
        cmocka_unit_test(what_is_left_in_redis_ends),
        cmocka_unit_test(a_clock_that_is_set_makes_nobody_live_or_die),
        cmocka_unit_test(those_that_are_down_make_room_for_one_that_lives),
    };
    fx.plan = (fx_plan){.instances = FX_INSTANCES, .args = FX_ARGS(FX_P0001)};
    return cmocka_run_group_tests(tests, start, fx_service_stop);
}
