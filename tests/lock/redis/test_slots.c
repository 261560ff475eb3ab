/* The slot of a key: the vectors of the cluster specification, and what counts as a hash tag. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lock/redis/slots.h"

static int slot_of(const char *key)
{
    return dlock_slot_of(key, strlen(key));
}

/* 0x31C3 is what the specification gives for this text; the others are answers of CLUSTER KEYSLOT,
 * two of them from its documentation. */
static void slots_are_those_of_redis(void **state)
{
    (void)state;
    static const struct {
        const char *key;
        int slot;
    } cases[] = {
        {"123456789", 0x31C3},   {"somekey", 11058}, {"foo{hash_tag}", 2515},
        {"bar{hash_tag}", 2515}, {"foo", 12182},     {"", 0},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        assert_int_equal(slot_of(cases[i].key), cases[i].slot);
}

static void a_hash_tag_is_what_stands_in_the_first_braces(void **state)
{
    (void)state;
    static const struct {
        const char *key, *as;
    } same[] = {
        {"{user1000}.following", "user1000"},
        {"foo{{bar}}zap", "{bar"},
        {"foo{bar}{zap}", "bar"},
        {"}{a}", "a"},
        {"{a}{b}", "a"},
    };
    static const char *const without[] = {"foo{}{bar}", "{}", "x{}y", "a}b", "{a", "a{", "}a{"};
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
        assert_int_equal(slot_of(same[i].key), slot_of(same[i].as));
    /* Then the whole key counts: a letter more gives another slot, in front or at the end. */
    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++) {
        char longer[32] = "_";
        strncat(longer, without[i], sizeof(longer) - 2);
        assert_int_not_equal(slot_of(without[i]), slot_of(longer));
    }
}

static void every_byte_of_a_key_counts(void **state)
{
    (void)state;
    static const char with_nul[] = {'a', '\0', 'b'}, high[] = {'\xff', '\x80'};
    assert_int_not_equal(dlock_slot_of(with_nul, 3), dlock_slot_of(with_nul, 1));
    assert_int_equal(dlock_slot_of(high, 2), 4727);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slots_are_those_of_redis),
        cmocka_unit_test(a_hash_tag_is_what_stands_in_the_first_braces),
        cmocka_unit_test(every_byte_of_a_key_counts),
    };
    return cmocka_run_group_tests_name("slots", tests, NULL, NULL);
}
