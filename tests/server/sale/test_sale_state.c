/* test_sale_state.c - the states of an item's sale: each event leads somewhere from each of them.
 */
#include "tests/support/fixture.h"

#include <string.h>

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

/* An item of which no sale is remembered can not have one that is over; and only a halt is lifted.
 */
static void what_is_not_remembered_is_not_over(void **state)
{
    (void)state;
    for (sale_state before = STATE_NONE; before < SALE_STATES; before++) {
        assert_int_equal(sale_state_after(before, EVENT_SUPERSEDED),
                         before == STATE_NONE ? STATE_NONE : STATE_OVER);
        assert_int_equal(sale_state_after(before, EVENT_LIFTED),
                         before == STATE_HALTED ? STATE_NONE : before);
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
        cmocka_unit_test(what_is_not_remembered_is_not_over),
        cmocka_unit_test(only_an_open_sale_is_sold_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
