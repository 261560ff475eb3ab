/*
 * What a status and a problem code mean to a buyer.
 */
#include "tests/support/fixture.h"

#include "loadtest/base/outcome.h"

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static void outcomes_need_status_and_code(void **unused)
{
    (void)unused;
    static const struct {
        long status;
        const char *code;
        lt_outcome outcome;
    } table[] = {
        {201, "", OUT_SOLD},
        {409, "sold_out", OUT_SOLD_OUT},
        {409, "limit_reached", OUT_LIMIT},
        {409, "", OUT_ERROR},
        {503, "busy", OUT_BUSY},
        {503, "store_unavailable", OUT_UNAVAILABLE},
        {503, "", OUT_ERROR},
        {504, "unknown", OUT_UNKNOWN},
        {504, "", OUT_UNKNOWN},
        {200, "", OUT_ERROR},
        {500, "busy", OUT_ERROR},
        {404, "sold_out", OUT_ERROR},
    };
    for (size_t i = 0; i < COUNT(table); i++)
        assert_int_equal(outcome_of_response(table[i].status, table[i].code), table[i].outcome);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_need_status_and_code),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
