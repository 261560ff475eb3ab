/* test_sale_state.c - the states of an item's sale: each event leads somewhere from each of them.
 */
#include "tests/support/fixture.h"

#include "server/sale/sale_state.h"

/* Whatever was before, a look tells how it stands now. */
static void a_look_decides(void **state)
{
    (void)state;
    for (sale_state before = STATE_NONE; before < SALE_STATES; before++) {
        assert_int_equal(sale_state_after(before, EVENT_SOUND), STATE_OPEN);
        assert_int_equal(sale_state_after(before, EVENT_DAMAGED), STATE_DAMAGED);
        assert_int_equal(sale_state_after(before, EVENT_HALTED), STATE_HALTED);
    }
}

/* ... also that the item's sale is another program's; and what is open does not go by itself. */
static void only_what_is_not_open_goes(void **state)
{
    (void)state;
    for (sale_state before = STATE_NONE; before < SALE_STATES; before++) {
        assert_int_equal(sale_state_after(before, EVENT_SUPERSEDED), STATE_OVER);
        assert_int_equal(sale_state_after(before, EVENT_LIFTED),
                         before == STATE_OPEN ? STATE_OPEN : STATE_NONE);
    }
}

static void only_an_open_sale_is_sold_from(void **state)
{
    (void)state;
    for (sale_state each = STATE_OPEN; each < SALE_STATES; each++) {
        assert_non_null(sale_state_name(each));
        assert_int_equal(sale_state_outcome(each) == BUY_SOLD, each == STATE_OPEN);
    }
    assert_string_equal(sale_state_name(STATE_HALTED), "halted");
    assert_int_equal(sale_state_outcome(STATE_HALTED), BUY_ROLLED_BACK);
    assert_int_equal(sale_state_outcome(STATE_DAMAGED), BUY_DAMAGED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_look_decides),
        cmocka_unit_test(only_what_is_not_open_goes),
        cmocka_unit_test(only_an_open_sale_is_sold_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
