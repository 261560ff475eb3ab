/* test_documents.c - what SECURITY.md and API.md say of tests, routes and codes is so, and is all.
 */
#include "tests/support/fixture.h"

/* Runs a script that says on stderr what is wrong. */
static void check(const char *script)
{
    assert_int_equal(fx_shell(script, NULL, 20000), 0);
}

static void every_test_that_security_md_names_exists(void **state)
{
    (void)state;
    check("names=$(awk -F'|' '/^.* API/ { print $4 }' server/SECURITY.md | grep -o '[a-z_0-9]*');"
          "[ $(echo \"$names\" | wc -l) -ge 25 ] || exit 1;"
          "for name in $names; do"
          "  grep -rqE \"cmocka_unit_test[a-z_]*\\($name[,)]\" tests || {"
          "    echo \"there is no test $name\" >&2; exit 1; };"
          "done");
}

/* The routes in router.c, and the headings in API.md: "POST /buy". */
static void api_md_has_every_route_and_no_other(void **state)
{
    (void)state;
    check("routes=$(sed -nE 's/^    \\{\"([A-Z]+)\", (\"([^\"]+)\"|ORDERS_PATH),.*/\\1 \\3/p'"
          "  server/api/router.c | sed 's/ $/ \\/orders\\/{request}/' | sort);"
          "pages=$(sed -n 's/^### //p' server/API.md | sort);"
          "[ $(echo \"$routes\" | wc -l) -ge 11 ] || exit 1;"
          "[ \"$routes\" = \"$pages\" ] || {"
          "  printf 'router.c:\\n%s\\nAPI.md:\\n%s\\n' \"$routes\" \"$pages\" >&2; exit 1; }");
}

/* A route's parameters: in router.c a list, in API.md in backquotes in its section. */
static void api_md_has_every_parameter(void **state)
{
    (void)state;
    check("for name in $(sed -nE '/_params\\[\\] =/,/;/p' server/api/router.c |"
          "    grep -oE '\"[a-z]+\"' | tr -d '\"' | sort -u); do"
          "  grep -qE \"^\\| (.[a-z]+., )*.$name.(, .[a-z]+.)* \\|\" server/API.md || {"
          "    echo \"API.md has no parameter $name\" >&2; exit 1; };"
          "done");
}

/*
 * The codes in the sources: what follows a status, or stands alone behind problem_later() and the
 * like; and in the folder of the endpoints any word with an underscore that nothing else explains.
 */
#define CODES_IN_SOURCES                                                                           \
    "set +e; flat() { tr '\\n' ' ' | sed -E 's/ +/ /g'; };"                                        \
    "words() { grep -oE '\"[a-z]+(_[a-z]+)*\"' | tr -d '\"'; };"                                   \
    "codes=$( {"                                                                                   \
    "  for file in server/http.c server/api/*.c; do"                                               \
    "    flat <$file | grep -oE '[ {][1-5][0-9][0-9], \"[a-z_]+\"' | words;"                       \
    "    flat <$file | grep -oE '(problem_later|refuse)\\([a-z]+, \"[a-z_]+\"' | words;"           \
    "  done;"                                                                                      \
    "  for file in server/api/*.c; do"                                                             \
    "    flat <$file | sed -E 's/(log_event|LOG_SOME)\\([A-Z_]+, \"[a-z_]+\"//g' |"                \
    "      words | grep _ | grep -v '^flashsale_' | grep -vxE 'no_answer|lost_orders';"            \
    "  done;"                                                                                      \
    "  grep -oE '\"code\":\"[a-z_]+\"' docker/haproxy.cfg | cut -d: -f2 | words;"                  \
    "} | sort -u);"

static void api_md_has_every_code_and_no_other(void **state)
{
    (void)state;
    check(CODES_IN_SOURCES
          "pages=$(sed -nE 's/^\\| `([a-z_]+)` \\| [1-5][0-9][0-9].*/\\1/p' server/API.md | sort);"
          "[ $(echo \"$codes\" | wc -l) -ge 40 ] || exit 1;"
          "for code in $codes; do"
          "  echo \"$pages\" | grep -qx $code || {"
          "    echo \"API.md does not explain $code\" >&2; bad=1; };"
          "done;"
          "for code in $pages; do"
          "  echo \"$codes\" | grep -qx $code || {"
          "    echo \"nothing says $code, which API.md explains\" >&2; bad=1; };"
          "done;"
          "[ -z \"$bad\" ]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_test_that_security_md_names_exists),
        cmocka_unit_test(api_md_has_every_route_and_no_other),
        cmocka_unit_test(api_md_has_every_parameter),
        cmocka_unit_test(api_md_has_every_code_and_no_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
