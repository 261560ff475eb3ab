/* test_record.c - an instance's record: what is written is read, and nothing else is. */
#include <stdio.h>
#include <string.h>

#include "server/dashboard/record.h"
#include "tests/support/fixture.h"

static instance_record full(void)
{
    instance_record record = {.client = "host/17/0123456789abcdef0123456789abcdef",
                              .draining = true,
                              .in_flight = 3,
                              .waiting = 4,
                              .batches = 5,
                              .batched = 60,
                              .largest_batch = 25};
    for (int o = 0; o < BUY_OUTCOMES; o++)
        record.counts.outcomes[o] = 1000 + o;
    for (int b = 0; b < LATENCY_BUCKETS; b++)
        record.counts.latency[b] = 999999999999 + b;
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
    assert_true(read.draining && !read.watched);
    assert_int_equal(read.in_flight, 3);
    assert_int_equal(read.waiting, 4);
    assert_int_equal(read.batches, 5);
    assert_int_equal(read.batched, 60);
    assert_int_equal(read.largest_batch, 25);
    assert_memory_equal(&read.counts, &record.counts, sizeof(record.counts));
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
    record.in_flight = 10000000000001; /* further than anybody counts */
    text_clear(&text);
    record_write(&text, &record);
    assert_false(record_read(text_bytes(&text), &read));
    memset(changed, 'x', sizeof(changed) - 1);
    changed[sizeof(changed) - 1] = '\0';
    assert_false(record_read(changed, &read));
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_no_record_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
