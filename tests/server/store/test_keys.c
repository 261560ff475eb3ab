/* test_keys.c - the names of a sale's keys, what a sale's id looks like, and the words of a halt.
 */

#include "server/store/halt.h"
#include "server/store/keys.h"
#include "tests/support/fixture.h"

#define ID "0123456789abcd"

static void an_id_is_14_hexadecimal_digits(void **state)
{
    (void)state;
    assert_true(sale_id_ok(ID, 14));
    assert_false(sale_id_ok(ID, 13));
    assert_false(sale_id_ok(ID "0", 15));
    assert_false(sale_id_ok("0123456789ABCD", 14));
    assert_false(sale_id_ok("0123456789abcg", 14));
    assert_false(sale_id_ok("", 0));
}

/* One script's keys share a slot, so they share a tag; two sales, items or segments share none. */
static void every_key_has_its_tag_and_its_sale(void **state)
{
    (void)state;
    sale_keys keys;
    keys_name(&keys, "P1", SEGMENT_NONE, ID);
    assert_int_equal(keys.segment, 0);
    assert_string_equal(keys.current, "fs:{P1}:sale");
    assert_string_equal(keys.latest, "fs:{P1}:latest");
    assert_string_equal(keys.stock, "fs:{P1}:" ID ":stock");
    assert_string_equal(keys.lock, "fs:{P1}:" ID ":lock");
    keys_name(&keys, "P1", 0, ID);
    assert_string_equal(keys.current, "fs:{P1#0}:sale");
    keys_name(&keys, "P1", 3, ID);
    assert_int_equal(keys.segment, 3);
    assert_string_equal(keys.orders, "fs:{P1#3}:" ID ":orders");
}

static void a_halt_is_read_whole_or_not_at_all(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        bool good;
    } cases[] = {
        {ID " rolled_back 7 5 i-1 1700000000000001", true},
        {ID " lost 7 0 i-1 1700000000000001", true},
        {ID " gone 7 5 i-1 1700000000000001", false},
        {ID " rolled_back 7 5 i-1 1700000000000001 ", false},
        {ID " rolled_back 7 5 i-1", false},
        {ID " rolled_back 7 -5 i-1 1700000000000001", false},
        {ID " rolled_back -7 5 i-1 1700000000000001", false},
        {ID "0 rolled_back 7 5 i-1 1700000000000001", false},
        {ID, false},
        {"", false},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        sale_halt halt = {.known = -1};
        if (halt_read(cases[i].words, &halt) != cases[i].good)
            fail_msg("'%s'", cases[i].words);
        assert_int_equal(halt.known, cases[i].good ? 7 : -1); /* written on success only */
    }
}

static void what_is_lost_is_what_was_known_and_is_not_found(void **state)
{
    (void)state;
    assert_int_equal(halt_lost_orders(&(sale_halt){.known = 7, .found = 5}), 2);
    assert_int_equal(halt_lost_orders(&(sale_halt){.known = 7, .found = 7}), 0);
    assert_int_equal(halt_lost_orders(&(sale_halt){.known = 5, .found = 7}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_id_is_14_hexadecimal_digits),
        cmocka_unit_test(every_key_has_its_tag_and_its_sale),
        cmocka_unit_test(a_halt_is_read_whole_or_not_at_all),
        cmocka_unit_test(what_is_lost_is_what_was_known_and_is_not_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
