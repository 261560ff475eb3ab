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
        {201, "unknown", OUT_UNKNOWN},
        {409, "sold_out", OUT_SOLD_OUT},
        {409, "limit_reached", OUT_LIMIT},
        {409, "", OUT_ERROR},
        {409, "sale_closed", OUT_ERROR},
        {422, "request_reused", OUT_ERROR},
        {429, "rate_limited", OUT_ERROR},
        {404, "sold_out", OUT_ERROR},
        {400, "", OUT_ERROR},
        {400, "unknown", OUT_UNKNOWN},
        {408, "body_too_slow", OUT_ERROR},
        {408, "", OUT_UNKNOWN}, /* a proxy's word, which may have passed the request on */
        {499, "", OUT_UNKNOWN},
        {503, "busy", OUT_BUSY},
        {503, "store_unavailable", OUT_UNAVAILABLE},
        {503, "sale_damaged", OUT_ERROR},
        {503, "sale_rolled_back", OUT_ERROR},
        {503, "draining", OUT_ERROR},
        {503, "starting", OUT_ERROR},
        {503, "too_many_connections", OUT_ERROR},
        {503, "out_of_memory",
         OUT_UNKNOWN}, /* the reply did not fit; the sale may have been made */
        {503, "unknown", OUT_UNKNOWN},
        {503, "", OUT_UNKNOWN},
        {504, "unknown", OUT_UNKNOWN},
        {504, "", OUT_UNKNOWN},
        {502, "unknown", OUT_UNKNOWN},
        {502, "busy", OUT_UNKNOWN},
        {502, "", OUT_UNKNOWN},
        {500, "busy", OUT_UNKNOWN},
        {500, "", OUT_UNKNOWN},
        {520, "", OUT_UNKNOWN},
        {200, "", OUT_UNKNOWN},
        {302, "", OUT_UNKNOWN},
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
