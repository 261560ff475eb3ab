/* test_record.c - an instance's record: what is written is read, and nothing else is. */
#include <stdio.h>
#include <string.h>

#include "server/dashboard/instances.h"
#include "tests/support/fixture.h"

/* No two numbers are the same. */
static instance_record full(void)
{
    instance_record record = {.client = "host/17/0123456789abcdef0123456789abcdef"};
    for (int i = 0; i < TOLD_NUMBERS; i++)
        record.numbers[i] = i < TOLD_COUNTS ? i : 999999999999 + i;
    return record;
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    fs_text text;
    instance_record record = full(), read;
    memset(&read, 0xff, sizeof(read));
    text_init(&text);
    record_write(&text, &record);
    assert_true(record_read(text_bytes(&text), &read));
    assert_string_equal(read.client, record.client);
    assert_memory_equal(read.numbers, record.numbers, sizeof(record.numbers));
    char begin[200]; /* as instances of another build know it */
    snprintf(begin, sizeof(begin), "1.%d.%d %s 0 1 2 ", BUY_OUTCOMES, LATENCY_BUCKETS,
             record.client);
    assert_int_equal(strncmp(text_bytes(&text), begin, strlen(begin)), 0);
    text_free(&text);
}

static feed_told feed_of(int i, int64_t behind)
{
    feed_told feed = {.sale = "0660d303da7756",
                      .orders = 1000 + i,
                      .behind = behind,
                      .asked_us = 1763773000123456};
    snprintf(feed.item, sizeof(feed.item), "P%04d", i);
    return feed;
}

/* Of more than there is room for those that are the least behind are left out. */
static void feeds_are_read_as_they_were_written(void **state)
{
    (void)state;
    fs_text text;
    instance_record record = full(), read;
    text_init(&text);
    for (int i = 0; i < FEEDS_TOLD + 2; i++) {
        feed_told feed = feed_of(i, i == 3 ? 0 : 10 + i);
        record_add_feed(&record, &feed);
    }
    assert_int_equal(record.feed_count, FEEDS_TOLD);
    record_write(&text, &record);
    assert_true(record_read(text_bytes(&text), &read));
    assert_int_equal(read.feed_count, FEEDS_TOLD);
    for (int i = 0; i < FEEDS_TOLD; i++) {
        const feed_told *is = &read.feeds[i], *was = &record.feeds[i];
        assert_string_equal(is->item, was->item);
        assert_string_equal(is->sale, was->sale);
        assert_true(is->orders == was->orders && is->behind == was->behind &&
                    is->asked_us == was->asked_us && is->behind > 0);
    }
    text_free(&text);
}

/* Whichever of them is the least behind. */
static void the_one_least_behind_makes_room(void **state)
{
    (void)state;
    for (int least = 0; least < FEEDS_TOLD; least++) {
        instance_record record = full();
        for (int i = 0; i < FEEDS_TOLD + 1; i++) {
            feed_told feed = feed_of(i, i == least ? 1 : 10);
            if (i == FEEDS_TOLD)
                feed.behind = 2;
            record_add_feed(&record, &feed);
        }
        assert_int_equal(record.feed_count, FEEDS_TOLD);
        for (int i = 0; i < FEEDS_TOLD; i++)
            assert_int_equal(record.feeds[i].behind, i == least ? 2 : 10);
    }
}

static void the_largest_numbers_are_read(void **state)
{
    (void)state;
    fs_text text;
    instance_record record = full(), read;
    char changed[4096];
    text_init(&text);
    memset(record.client, 'c', sizeof(record.client) - 1);
    for (int i = 0; i < TOLD_NUMBERS; i++)
        record.numbers[i] = INT64_C(10000000000000);
    record_write(&text, &record);
    snprintf(changed, sizeof(changed), "%s P1 s 9007199254740991 9007199254740991 9007199254740991",
             text_bytes(&text));
    assert_true(record_read(changed, &read));
    assert_string_equal(read.client, record.client);
    assert_memory_equal(read.numbers, record.numbers, sizeof(record.numbers));
    assert_true(read.feeds[0].orders == INT64_C(9007199254740991));
    static const char *const beyond[] = {" P1 s 9007199254740992 1 1", " P1 s 1 9007199254740992 1",
                                         " P1 s 1 1 9007199254740992"};
    for (size_t i = 0; i < COUNT(beyond); i++) {
        snprintf(changed, sizeof(changed), "%s%s", text_bytes(&text), beyond[i]);
        assert_false(record_read(changed, &read));
    }
    for (int i = 0; i < TOLD_NUMBERS; i++) {
        record.numbers[i]++;
        text_clear(&text);
        record_write(&text, &record);
        assert_false(record_read(text_bytes(&text), &read));
        record.numbers[i]--;
    }
    text_clear(&text);
    record_write(&text, &record);
    char *behind_client = strchr(text_bytes(&text) + strlen("1."), 'c');
    assert_non_null(behind_client);
    snprintf(changed, sizeof(changed), "%.*sc%s", (int)(behind_client - text_bytes(&text)),
             text_bytes(&text), behind_client); /* longer than any client's name */
    assert_false(record_read(changed, &read));
    text_free(&text);
}

static void what_is_no_feed_is_not_read(void **state)
{
    (void)state;
    static const char *const behind[] = {" ",
                                         " P1",
                                         " P1 s",
                                         " P1 s 1",
                                         " P1 s 1 2",
                                         "  P1 s 1 2 3",
                                         " P1  s 1 2 3",
                                         " P\x01 s 1 2 3",
                                         " P1 s -1 2 3",
                                         " P1 s 1 2 9007199254740992",
                                         " P1 s 1 2 3 P2"};
    fs_text text;
    instance_record record = full(), read;
    char changed[4096];
    text_init(&text);
    record_write(&text, &record);
    snprintf(changed, sizeof(changed), "%s P1 s 1 2 3", text_bytes(&text));
    assert_true(record_read(changed, &read));
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        snprintf(changed, sizeof(changed), "%s%s", text_bytes(&text), behind[i]);
        if (record_read(changed, &read))
            fail_msg("taken for a record: %s", changed);
    }
    text_free(&text);
}

static void what_is_no_record_is_not_read(void **state)
{
    (void)state;
    fs_text text;
    instance_record record = full(), read;
    char changed[4096];
    text_init(&text);
    record_write(&text, &record);
    const char *whole = text_bytes(&text);
    for (size_t len = 0; len < text.len - 12; len++) { /* the last number may be shorter */
        snprintf(changed, sizeof(changed), "%.*s", (int)len, whole);
        if (record_read(changed, &read))
            fail_msg("taken for a record: %s", changed);
    }
    static const char *const behind[] = {" 1", "x", "-"};
    for (size_t i = 0; i < sizeof(behind) / sizeof(behind[0]); i++) {
        snprintf(changed, sizeof(changed), "%s%s", whole, behind[i]);
        if (record_read(changed, &read))
            fail_msg("taken for a record: %s", changed);
    }
    snprintf(changed, sizeof(changed), "2%s", whole + 1); /* of another form */
    assert_false(record_read(changed, &read));
    record.numbers[TOLD_IN_FLIGHT] = 10000000000001; /* further than anybody counts */
    text_clear(&text);
    record_write(&text, &record);
    assert_false(record_read(text_bytes(&text), &read));
    memset(changed, 'x', sizeof(changed) - 1);
    changed[sizeof(changed) - 1] = '\0';
    assert_false(record_read(changed, &read));
    text_free(&text);
}

/* An instance that Redis does not answer knows of itself alone, and only by Redis's clock. */
static void who_hears_nothing_knows_itself(void **state)
{
    (void)state;
    static instances known;
    const int64_t us = INT64_C(1700000000000000);
    char err[256];
    fs_store store;
    instance_record mine = full();
    assert_int_equal(store_open(&store, "redis://127.0.0.1:1", NULL, "me", err, sizeof(err)), 0);
    instances_init(&known, &store);
    assert_int_equal(instances_call(&known, &mine), false);
    assert_int_equal(known.count, 0);
    dlock_time now = dlock_now();
    clock_take(&store_node(&store, "any")->clock, now, now, us);
    mine.numbers[TOLD_DRAINING] = 1;
    mine.numbers[TOLD_WATCHED] = 1;
    assert_true(instances_call(&known, &mine));
    assert_int_equal(known.count, 1);
    assert_string_equal(known.all[0].name, "me");
    assert_true(known.all[0].told_ms >= us / 1000);
    assert_int_equal(known.all[0].state, INSTANCE_DRAINING);
    assert_false(known.heard);
    store_close(&store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(feeds_are_read_as_they_were_written),
        cmocka_unit_test(the_one_least_behind_makes_room),
        cmocka_unit_test(the_largest_numbers_are_read),
        cmocka_unit_test(what_is_no_feed_is_not_read),
        cmocka_unit_test(what_is_no_record_is_not_read),
        cmocka_unit_test(who_hears_nothing_knows_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
