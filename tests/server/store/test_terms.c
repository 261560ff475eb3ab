/* test_terms.c - the terms of a sale as they are written, read and compared, and what follows from
 * them; and of which sales many items are. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/terms.h"
#include "tests/support/fixture.h"

#define DAY_US INT64_C(86400000000)
#define NOW_US INT64_C(1700000000000000)

static const sale_terms usual = {.item = "P1",
                                 .id = "0123456789abcd",
                                 .strategy = "combined",
                                 .initial = 10,
                                 .per_user_limit = 2,
                                 .lease_ms = 3000,
                                 .wait_ms = 5000,
                                 .hold_ms = 7,
                                 .durability = DURABILITY_REPLICATED,
                                 .min_replicas = 2,
                                 .segments = 4,
                                 .previous = "0123456789abcc",
                                 .previous_segments = 3,
                                 .segments_started = true,
                                 .accepted = 1700000000000001};

static void change(redisReply *hash, const char *field, const char *value)
{
    bool found = false;
    for (size_t i = 0; i < hash->elements; i += 2) {
        if (strcmp(hash->element[i]->str, field) != 0)
            continue;
        redisReply *place = hash->element[i + (value ? 1 : 0)];
        free(place->str);
        place->str = strdup(value ? value : "another");
        found = true;
    }
    assert_true(found);
}

/* The terms as Redis would answer them, with `field` changed to `value`; a NULL value: without it.
 * Without the digest, too, unless `digested`. Free the reply. */
static redisReply *answer(const sale_terms *terms, const char *field, const char *value,
                          bool digested)
{
    dlock_args args;
    dlock_args_init(&args);
    terms_put(&args, terms);
    assert_false(args.failed);
    redisReader *reader = redisReaderCreate();
    char head[32];
    void *reply = NULL;
    redisReaderFeed(reader, head, (size_t)snprintf(head, sizeof(head), "*%d\r\n", args.count));
    redisReaderFeed(reader, args.buf, args.len);
    assert_int_equal(redisReaderGetReply(reader, &reply), REDIS_OK);
    redisReaderFree(reader);
    dlock_args_free(&args);
    assert_non_null(reply);

    redisReply *hash = reply;
    if (!digested)
        change(hash, "digest", NULL);
    if (field)
        change(hash, field, value);
    return hash;
}

static sale_status read_so(const sale_terms *terms, const char *field, const char *value,
                           bool digested, sale_terms *ret)
{
    char err[256] = "";
    redisReply *hash = answer(terms, field, value, digested);
    sale_status status = terms_from(hash, terms->item, terms->id, NOW_US, ret, err, sizeof(err));
    freeReplyObject(hash);
    assert_true((status == SALE_OK) == (err[0] == '\0'));
    return status;
}

static sale_status read_back(const sale_terms *terms, const char *field, const char *value,
                             sale_terms *ret)
{
    return read_so(terms, field, value, !field, ret);
}

static void what_is_written_is_read(void **state)
{
    (void)state;
    sale_terms sales[4] = {usual, usual, usual, usual}, read;
    sales[1].durability = DURABILITY_DISK;
    sales[1].min_replicas = 0;
    sales[2].segments = sales[2].previous_segments = SEGMENTS_MAX;
    sales[2].min_replicas = REPLICAS_MAX;
    sales[3] = (sale_terms){.item = "P2", .id = "1", .strategy = "none"};
    for (int i = 0; i < 4; i++) {
        assert_int_equal(read_back(&sales[i], NULL, NULL, &read), SALE_OK);
        assert_true(terms_same(&sales[i], &read));
        assert_int_equal(read.accepted, sales[i].accepted);
        assert_int_equal(read.segments_started, sales[i].segments_started);
    }
}

static void what_is_damaged_is_no_terms(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value;
        sale_status status;
    } cases[] = {
        {"schema", "1", SALE_UNREADABLE},
        {"schema", NULL, SALE_DAMAGED},
        {"schema", "", SALE_DAMAGED},
        {"strategy", NULL, SALE_DAMAGED},
        {"strategy", "a-strategy-of-31-letters-xxxxxx", SALE_OK},
        {"strategy", "a-strategy-of-32-letters-xxxxxxx", SALE_UNREADABLE},
        {"durability", "paper", SALE_UNREADABLE},
        {"durability", NULL, SALE_UNREADABLE},
        {"min_replicas", "0", SALE_DAMAGED},
        {"min_replicas", "1", SALE_OK},
        {"min_replicas", "16", SALE_OK},
        {"min_replicas", "17", SALE_DAMAGED},
        {"min_replicas", NULL, SALE_DAMAGED},
        {"initial", "-1", SALE_DAMAGED},
        {"initial", "0", SALE_OK},
        {"initial", "9223372036854775807", SALE_OK},
        {"initial", "9223372036854775808", SALE_DAMAGED},
        {"initial", "1.0", SALE_DAMAGED},
        {"initial", " 1", SALE_DAMAGED},
        {"initial", "01", SALE_DAMAGED},
        {"initial", NULL, SALE_DAMAGED},
        {"per_user_limit", "-1", SALE_DAMAGED},
        {"lease_ms", "-1", SALE_DAMAGED},
        {"wait_ms", "-1", SALE_DAMAGED},
        {"hold_ms", "-1", SALE_DAMAGED},
        {"accepted", "-1", SALE_DAMAGED},
        {"accepted", "1", SALE_DAMAGED},
        {"accepted", "999999999999", SALE_DAMAGED},
        {"accepted", "9999999999999999", SALE_DAMAGED},
        {"accepted", "9223372036854775807", SALE_DAMAGED},
        {"accepted", "0", SALE_OK},
        {"segments", "16", SALE_OK},
        {"segments", "17", SALE_DAMAGED},
        {"previous_segments", "17", SALE_DAMAGED},
        {"segments_started", "1", SALE_OK},
        {"segments_started", "2", SALE_DAMAGED},
        {"previous", "", SALE_OK},
        {"previous", "not an id", SALE_DAMAGED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sale_terms read;
        sale_status status = read_back(&usual, cases[i].field, cases[i].value, &read);
        if (status != cases[i].status)
            fail_msg("%s '%s': %d", cases[i].field, cases[i].value ? cases[i].value : "(none)",
                     (int)status);
    }
}

/* Each of them is another number or word that would do, if it were not for the digest. What changes
 * in a sale has none. */
static void no_term_is_taken_for_another(void **state)
{
    (void)state;
    static const struct {
        const char *field, *value;
        sale_status status;
    } cases[] = {
        {"strategy", "none", SALE_DAMAGED},
        {"durability", "memory", SALE_DAMAGED},
        {"previous", "", SALE_DAMAGED},
        {"previous", "0123456789abcb", SALE_DAMAGED},
        {"min_replicas", "1", SALE_DAMAGED},
        {"initial", "11", SALE_DAMAGED},
        {"per_user_limit", "0", SALE_DAMAGED},
        {"lease_ms", "1", SALE_DAMAGED},
        {"wait_ms", "0", SALE_DAMAGED},
        {"hold_ms", "0", SALE_DAMAGED},
        {"segments", "3", SALE_DAMAGED},
        {"previous_segments", "0", SALE_DAMAGED},
        {"digest", "0123456789abcdef", SALE_DAMAGED},
        {"digest", "", SALE_OK},
        {"segments_started", "0", SALE_OK},
        {"accepted", "0", SALE_OK},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sale_terms read;
        if (read_so(&usual, cases[i].field, cases[i].value, true, &read) != cases[i].status)
            fail_msg("%s '%s'", cases[i].field, cases[i].value);
    }
}

/* Up to a day before the sale's start, and a day after now: clocks are set. */
static void what_is_accepted_is_of_the_sales_time(void **state)
{
    (void)state;
    int64_t started_us = strtoll(usual.id, NULL, 16);
    const struct {
        int64_t accepted;
        sale_status status;
    } cases[] = {
        {started_us - DAY_US - 1, SALE_DAMAGED},
        {started_us - DAY_US, SALE_OK},
        {NOW_US + DAY_US, SALE_OK},
        {NOW_US + DAY_US + 1, SALE_DAMAGED},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char value[24];
        sale_terms read;
        snprintf(value, sizeof(value), "%lld", (long long)cases[i].accepted);
        if (read_back(&usual, "accepted", value, &read) != cases[i].status)
            fail_msg("accepted at %s", value);
    }
}

/* What an admin has accepted is no term of the sale; everything else is. */
static void another_term_makes_other_terms(void **state)
{
    (void)state;
    sale_terms other[14];
    for (int i = 0; i < 14; i++)
        other[i] = usual;
    other[0].accepted++;
    other[1].item[0] = 'Q';
    other[2].id[0] = '1';
    other[3].strategy[0] = 'C';
    other[4].previous[0] = '1';
    other[5].initial++;
    other[6].per_user_limit++;
    other[7].lease_ms++;
    other[8].wait_ms++;
    other[9].hold_ms++;
    other[10].durability = DURABILITY_DISK;
    other[11].min_replicas++;
    other[12].segments++;
    other[13].previous_segments++;
    for (int i = 0; i < 14; i++)
        if (terms_same(&usual, &other[i]) != (i == 0))
            fail_msg("case %d", i);
}

/* Every unit lies in one segment, and no two segments differ by more than one. */
static void segments_share_the_stock(void **state)
{
    (void)state;
    for (int segments = 1; segments <= SEGMENTS_MAX; segments++) {
        for (int64_t units = 0; units < 40; units++) {
            sale_terms terms = {.initial = units, .segments = segments};
            int64_t sum = 0, before = terms_units(&terms, 0);
            for (int k = 0; k < segments; k++) {
                int64_t here = terms_units(&terms, k);
                assert_true(here == before || here == before - 1);
                sum += before = here;
            }
            assert_int_equal(sum, units);
            assert_int_equal(terms_key_sets(&terms), segments);
        }
    }
    sale_terms whole = {.initial = 7};
    assert_int_equal(terms_units(&whole, 0), 7);
    assert_int_equal(terms_key_sets(&whole), 1);
}

/* A request has 10 s, or a second more than its buyer may wait. */
static void a_long_wait_makes_a_long_request(void **state)
{
    (void)state;
    static const int64_t cases[][2] = {{0, 10000}, {10000, 10000}, {10001, 11001}, {60000, 61000}};
    for (int i = 0; i < 4; i++) {
        sale_terms terms = {.wait_ms = cases[i][0]};
        assert_int_equal(terms_request_ms(&terms), cases[i][1]);
        assert_int_equal(terms_hold_most_ms(&terms), cases[i][1] - 500);
    }
}

static void a_durability_has_one_name(void **state)
{
    (void)state;
    durability found;
    for (int i = 0; i < DURABILITY_LEVELS; i++) {
        assert_true(durability_find(durability_name((durability)i), &found));
        assert_int_equal(found, i);
    }
    assert_false(durability_find("", &found));
    assert_false(durability_find("Disk", &found));
}

/* More items than are asked for in one go, each with another pointer than the next; and what was
 * refused before does not answer for them. */
static void the_pointers_of_many_items_are_read(void **state)
{
    (void)state;
    enum { ITEMS = 603, KINDS = 4 };
    static sale_pointer pointers[ITEMS];
    static const sale_status expected[KINDS] = {SALE_NONE, SALE_OK, SALE_HALTED, SALE_DAMAGED};
    fs_store store;
    char err[256], halted[] = "00000000000002 rolled_back 5 3 i-1 1700000000000000", id[32];
    dlock_redis_conn *conn = NULL;
    sale_halt halt;
    assert_true(halt_read(halted, &halt));
    fx_redis *redis = fx_redis_start_single(NULL);
    assert_int_equal(store_open(&store, fx_redis_url(redis), NULL, "i", err, sizeof(err)), 0);
    for (int i = 0; i < ITEMS; i++) {
        snprintf(pointers[i].item, sizeof(pointers[i].item), "M%d", i);
        if (i % KINDS == 1)
            fx_redis_do(redis, "SET fs:{M%d}:sale %014d", i, i);
        else if (i % KINDS == 2)
            fx_redis_do(redis, "SET fs:{M%d}:sale %s", i, halted);
        else if (i % KINDS == 3)
            fx_redis_do(redis, "RPUSH fs:{M%d}:sale x", i);
    }
    assert_true(node_connect(store_node_at(&store, 0), store.redis, &conn, dlock_in_ms(30000)));
    fx_redis_do(redis, "ACL SETUSER default -get");
    assert_false(terms_in_force_all(conn, pointers, ITEMS, dlock_in_ms(30000)));
    fx_redis_do(redis, "ACL SETUSER default +get");
    assert_true(terms_in_force_all(conn, pointers, ITEMS, dlock_in_ms(30000)));
    for (int i = 0; i < ITEMS; i++) {
        snprintf(id, sizeof(id), "%014d", i);
        assert_int_equal(pointers[i].status, expected[i % KINDS]);
        assert_string_equal(pointers[i].id, i % KINDS == 1 ? id : i % KINDS == 2 ? halt.sale : "");
    }
    dlock_redis_hang_up(conn);
    store_close(&store);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(what_is_damaged_is_no_terms),
        cmocka_unit_test(no_term_is_taken_for_another),
        cmocka_unit_test(what_is_accepted_is_of_the_sales_time),
        cmocka_unit_test(another_term_makes_other_terms),
        cmocka_unit_test(segments_share_the_stock),
        cmocka_unit_test(a_long_wait_makes_a_long_request),
        cmocka_unit_test(a_durability_has_one_name),
        cmocka_unit_test(the_pointers_of_many_items_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
