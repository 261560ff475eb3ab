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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_no_record_is_not_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
