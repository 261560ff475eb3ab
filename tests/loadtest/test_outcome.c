/*
 * What a status and a problem code mean to a buyer.
 */
#include <stdio.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"
#include "tests/support/service.h"

#include "loadtest/base/outcome.h"

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
        {503, "writes_paused", OUT_UNAVAILABLE},
        {503, "sale_damaged", OUT_ERROR},
        {503, "sale_rolled_back", OUT_ERROR},
        {503, "draining", OUT_ERROR},
        {503, "starting", OUT_ERROR},
        {503, "durability_lost", OUT_ERROR},
        {503, "store_may_evict", OUT_ERROR},
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

/* Of the description of the API: what a buyer is to do about a code. */
static const char *again(const cJSON *codes, const char *code)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, codes) {
        if (strcmp(fx_json_text(one, "const"), code) == 0)
            return fx_json_text(one, "x-again");
    }
    return "";
}

static bool is_definite_503(const char *code)
{
    size_t i = 0;
    const char *is;
    while ((is = outcome_code_of_503(i)) && strcmp(is, code) != 0)
        i++;
    return is;
}

/* "yes" and "admin": not bought by this try; "ask": nobody knows; "no" is no 503's. */
static void codes_are_those_of_the_api(void **unused)
{
    (void)unused;
    static const char *const of_others[] = {"rate_limited", "head_too_slow", "body_too_slow",
                                            "body_too_short"};
    static char text[1 << 18];
    FILE *file = fopen("server/api/openapi.json", "r");
    assert_non_null(file);
    assert_in_range(fread(text, 1, sizeof(text) - 1, file), 1, sizeof(text) - 2);
    fclose(file);
    cJSON *api = cJSON_Parse(text);
    const cJSON *schemas = cJSON_GetObjectItem(cJSON_GetObjectItem(api, "components"), "schemas");
    const cJSON *codes = cJSON_GetObjectItem(cJSON_GetObjectItem(schemas, "Code"), "oneOf"), *one;
    assert_in_range(cJSON_GetArraySize(codes), 20, 100);
    cJSON_ArrayForEach(one, codes) {
        const char *code = fx_json_text(one, "const"), *what = fx_json_text(one, "x-again");
        bool not_bought = strcmp(what, "yes") == 0 || strcmp(what, "admin") == 0;
        for (size_t i = 0; i < COUNT(of_others); i++)
            not_bought = not_bought && strcmp(code, of_others[i]) != 0;
        if (is_definite_503(code) != not_bought)
            fail_msg("503 %s: again: %s", code, what);
    }
    for (size_t i = 0; outcome_code_of_503(i); i++) {
        if (again(codes, outcome_code_of_503(i))[0] == '\0')
            fail_msg("the API knows no %s", outcome_code_of_503(i));
    }
    cJSON_Delete(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outcomes_need_status_and_code),
        cmocka_unit_test(codes_are_those_of_the_api),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
