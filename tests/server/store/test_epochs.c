/* test_epochs.c - the text of a ledger's epochs, and the text of a halt: what is one, and what just
 * is none. */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

#include "server/store/epochs.h"
#include "server/store/halt.h"

#define NEW "0123456789ab"
#define OLD "ba9876543210"

static void rows_are_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t first; /* 0: no row */
    } cases[] = {
        {NEW " 1 run", 1},
        {NEW " 10 run", 10},
        {NEW " 999999999999999 run", 999999999999999},
        {NEW " 1000000000000000 run", 0},
        {NEW " 0 run", 0},
        {NEW " 01 run", 0},
        {NEW "  run", 0},
        {NEW " 1", 0},
        {NEW " 1x run", 0},
        {NEW " -1 run", 0},
        {NEW "1 run", 0},
        {"0123456789a 1 run", 0},
        {"0123456789abc 1 run", 0},
        {"0123456789aB 1 run", 0},
        {"", 0},
        {EPOCHS_NONE, 0},
        {EPOCHS_DAMAGED, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        epoch_row row;
        const char *next = epochs_next(cases[i].text, &row);
        if ((next != NULL) != (cases[i].first != 0))
            fail_msg("%s: %s", cases[i].text, next ? next : "no row");
        if (!next)
            continue;
        assert_int_equal(row.first, cases[i].first);
        assert_string_equal(row.name, NEW);
        assert_string_equal(next, "run");
    }
}

/* A newer epoch begins behind the older ones, and at the next order at the latest. */
static void a_text_fits_its_ledger(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int64_t orders;
        bool good;
    } cases[] = {
        {NEW " 1 run", 0, true},
        {NEW " 2 run", 1, true},
        {NEW " 2 run", 0, false},
        {NEW " 3 " OLD " 1 run", 2, true},
        {NEW " 3 " OLD " 1 run", 1, false},
        {NEW " 3 " OLD " 2 run", 9, true},
        {NEW " 3 " OLD " 3 run", 9, false},
        {NEW " 3 " OLD " 4 run", 9, false},
        {NEW " 1 ", 9, false},
        {NEW " 1 run more", 9, false},
        {"run", 9, false},
        {EPOCHS_NONE, 0, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        if (epochs_ok(cases[i].text, cases[i].orders) != cases[i].good)
            fail_msg("%s, %d orders", cases[i].text, (int)cases[i].orders);
}

static void an_epoch_ends_before_the_next(void **state)
{
    (void)state;
    static const char text[] = NEW " 3 " OLD " 1 run";
    assert_int_equal(epochs_last(text, 7, NEW), 7);
    assert_int_equal(epochs_last(text, 7, OLD), 2);
    assert_int_equal(epochs_last(text, 7, "000000000000"), -1);
    assert_true(epochs_are_of(text, "run"));
    assert_false(epochs_are_of(text, "ru2"));
    assert_false(epochs_are_of(text, ""));
    assert_false(epochs_are_of("run", "run"));
}

static void names_are_random_and_whole(void **state)
{
    (void)state;
    char before[EPOCH_LEN + 1] = "";
    bool high = false; /* one begins with another letter than 0 */
    for (int i = 0; i < 64; i++) {
        char name[EPOCH_LEN + 1], text[64];
        assert_true(epoch_make(name));
        assert_int_equal(strlen(name), EPOCH_LEN);
        assert_string_not_equal(name, before);
        snprintf(text, sizeof(text), "%s 1 run", name);
        assert_true(epochs_ok(text, 0));
        high = high || name[0] >= '8';
        snprintf(before, sizeof(before), "%s", name);
    }
    assert_true(high);
}

static void a_halt_is_read_strictly(void **state)
{
    (void)state;
    static const struct {
        const char *words; /* behind the sale */
        bool good;
        int64_t known, found, lost;
    } cases[] = {
        {HALT_ROLLED_BACK " 9 8 i-1 1700000000000000", true, 9, 8, 1},
        {HALT_ROLLED_BACK " 1 0 i-1 1700000000000000", true, 1, 0, 1},
        {HALT_LOST " 0 0 i-1 1700000000000000", true, 0, 0, 0},
        {HALT_LOST " 8 9 i-1 1700000000000000", true, 8, 9, 0},
        {HALT_LOST " -1 0 i-1 1700000000000000", false, 0, 0, 0},
        {HALT_LOST " 0 -1 i-1 1700000000000000", false, 0, 0, 0},
        {HALT_LOST " 0 0 i-1", false, 0, 0, 0},
        {HALT_LOST " 0 0 i-1 1700000000000000 more", false, 0, 0, 0},
        {"else 9 8 i-1 1700000000000000", false, 0, 0, 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char pointer[POINTER_MAX + 1];
        sale_halt halt;
        snprintf(pointer, sizeof(pointer), "06600000000001 %s", cases[i].words);
        if (halt_read(pointer, &halt) != cases[i].good)
            fail_msg("%s", pointer);
        if (!cases[i].good)
            continue;
        assert_string_equal(halt.sale, "06600000000001");
        assert_int_equal(halt.known, cases[i].known);
        assert_int_equal(halt.found, cases[i].found);
        assert_int_equal(halt_lost_orders(&halt), cases[i].lost);
    }
    sale_halt none;
    assert_false(halt_read("0660000000000 " HALT_LOST " 0 0 i-1 1", &none));
    assert_false(halt_read("", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_strictly),
        cmocka_unit_test(a_text_fits_its_ledger),
        cmocka_unit_test(an_epoch_ends_before_the_next),
        cmocka_unit_test(names_are_random_and_whole),
        cmocka_unit_test(a_halt_is_read_strictly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
