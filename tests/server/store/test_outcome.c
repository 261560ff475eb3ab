/*
 * test_outcome.c - the one table of outcomes, and what else says what a code means: openapi.json
 * (to which test_documents.c holds API.md) and the load test, which shares no code with the
 * service.
 */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>

#include "server/store/outcome.h"

static const char *const again_words[] = {
    [AGAIN_NO] = "no", [AGAIN_YES] = "yes", [AGAIN_ADMIN] = "admin", [AGAIN_ASK] = "ask"};

/* Runs a script that says on stderr what is wrong, with a line "outcome code status again definite"
 * for each outcome that is refused in $TABLE. */
static void check(const char *script)
{
    char table[4096] = "";
    size_t len = 0;
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        const outcome_words *words = &outcome_table[o];
        if (words->code)
            len += (size_t)snprintf(table + len, sizeof(table) - len, "%s %s %d %s %s\n",
                                    words->name, words->code, words->status,
                                    again_words[words->again], words->definite ? "yes" : "no");
        assert_true(len < sizeof(table));
    }
    setenv("TABLE", table, 1);
    assert_int_equal(fx_shell(script, NULL, 20000), 0);
}

static void every_outcome_has_its_words(void **state)
{
    (void)state;
    for (int o = 0; o < BUY_OUTCOMES; o++) {
        const outcome_words *words = &outcome_table[o];
        if (!words->name)
            fail_msg("outcome.c has no row for outcome %d of outcome.h", o);
        assert_true(words->status >= 200 && words->status < 600);
        assert_int_equal(words->code == NULL, words->status < 300);
        assert_int_equal(words->code == NULL, o == BUY_SOLD || o == BUY_RESERVED ||
                                                  o == BUY_CONFIRMED || o == BUY_CANCELLED);
        assert_true((words->sentence[0] != '\0') == (words->code != NULL));
        /* what may be sent again is 503, which comes with Retry-After; nobody knows is 504 */
        assert_int_equal(words->status == 503,
                         words->again == AGAIN_YES || words->again == AGAIN_ADMIN);
        assert_int_equal(words->status == 504, words->again == AGAIN_ASK);
        if (words->definite)
            assert_int_equal(words->again, AGAIN_NO);
    }
}

/* Where an outcome can be met it is documented, and nowhere else. "No such order" is a question's
 * answer, too, and only there it is said whether that is final: so it is "ask". */
static void openapi_has_each_code_where_it_is_met(void **state)
{
    (void)state;
    check(
        "echo \"$TABLE\" | while read -r name code status again _; do"
        "  [ -n \"$name\" ] || continue;"
        "  buy=/buy confirm=/orders/{request}/confirm cancel=/orders/{request}/cancel;"
        "  case $name in"
        "  sold_out | limit_reached | conflict | void) of=$buy ;;"
        "  no_order | expired) of=\"$confirm $cancel\" ;;"
        "  was_cancelled) of=$confirm ;;"
        "  was_sold) of=$cancel ;;"
        "  not_offered) of=\"$buy $cancel\" ;;"
        "  *) of=\"$buy $confirm $cancel\" ;;"
        "  esac;"
        "  [ $name = no_order ] && again=ask;"
        "  is=$(jq -r --arg code $code '.components.schemas.Code.oneOf[] |"
        "    select(.const == $code) | .[\"x-again\"]' server/api/openapi.json);"
        "  [ \"$is\" = $again ] || {"
        "    echo \"outcome.c says again '$again' of $code, openapi.json says '$is'\" >&2; exit 1; "
        "};"
        "  has=$(jq -r --arg code $code --arg status $status '. as $d | def at:"
        "    if has(\"$ref\") then (.[\"$ref\"] | ltrimstr(\"#/\") | split(\"/\")) as $p |"
        "    $d | getpath($p) else . end;"
        "    [\"/buy\", \"/orders/{request}/confirm\", \"/orders/{request}/cancel\"] | map(select("
        "    [$d.paths[.].post.responses[$status] | objects | at | .. | objects | .code? |"
        "    objects | (.const // empty), (.enum // [])[]] | index($code))) | join(\" \")'"
        "    server/api/openapi.json);"
        "  [ \"$has\" = \"$of\" ] || {"
        "    echo \"openapi.json has $code $status at '$has', not at '$of'\" >&2; exit 1; };"
        "done");
}

/* What the load test counts as "not bought by this try", and what for good. */
static void the_load_test_takes_each_refusal_for_what_it_is(void **state)
{
    (void)state;
    check("words() { tr '\\n' ' ' | grep -oE '\"[a-z_]+\"' | tr -d '\"'; };"
          "tries=$(sed -n '/^} definite/,/^};/p' loadtest/base/outcome.c | grep '{503' | words);"
          "good=$(sed -n '/for_good\\[\\] =/,/;/p' loadtest/judge/requests.c | words);"
          "echo \"$TABLE\" | while read -r name code status again definite; do"
          "  [ -n \"$name\" ] || continue;"
          "  case $name in"
          "  expired | was_cancelled | was_sold)" /* what became of an order, no answer to a buy */
          "    grep -q \"\\\"$code\\\"\" loadtest/judge/reservations.c && continue;"
          "    echo \"loadtest/judge/reservations.c does not know $code\" >&2; exit 1 ;;"
          "  esac;"
          "  case $status-$definite in"
          "  503-*) echo \"$tries\" | grep -qx $code || {"
          "    echo \"loadtest/base/outcome.c does not have 503 $code\" >&2; exit 1; } ;;"
          "  409-yes) echo \"$good\" | grep -qx $code || {"
          "    echo \"loadtest/judge/requests.c does not take $code as for good\" >&2; exit 1; } ;;"
          "  esac;"
          "done || exit 1;"
          "for code in $good; do"
          "  [ $code = quantity_above_limit ] ||"
          "    echo \"$TABLE\" | grep -qE \"^[a-z_]+ $code 409 no\" || {"
          "    echo \"loadtest/judge/requests.c takes $code as for good, outcome.c does not\" >&2;"
          "    exit 1; };"
          "done");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_outcome_has_its_words),
        cmocka_unit_test(openapi_has_each_code_where_it_is_met),
        cmocka_unit_test(the_load_test_takes_each_refusal_for_what_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
