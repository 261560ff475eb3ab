/*
 * test_documents.c - what README.md, SECURITY.md, API.md, OPERATIONS.md and openapi.json say of
 * tests, routes, codes and log lines is so, and is all; what ARCHITECTURE.md names is there. (What
 * an instance answers is held to openapi.json in openapi/.)
 */
#include "tests/support/fixture.h"

/* Runs a script that says on stderr what is wrong. */
static void check(const char *script)
{
    assert_int_equal(fx_shell(script, NULL, 20000), 0);
}

/* In the last column of its tables; of README.md of the promises alone. */
static void every_test_that_is_named_exists(void **state)
{
    (void)state;
    check(
        "named() { awk -F'|' '/^[|].*`/ { print $(NF - 1) }' | grep -o '[a-z_0-9]*_[a-z_0-9]*'; };"
        "promised=$(sed '1,/^## What it promises/d; /^## /,$d' server/README.md | named);"
        "names=$(named <server/SECURITY.md; echo \"$promised\");"
        "[ $(echo \"$promised\" | wc -l) -ge 40 ] && [ $(echo \"$names\" | wc -l) -ge 100 ] ||"
        "  exit 1;"
        "for name in $names; do"
        "  grep -rqE \"(cmocka_unit_test[a-z_]*|TEST|STAGE)\\($name[,)]\" tests || {"
        "    echo \"there is no test $name\" >&2; exit 1; };"
        "done");
}

/* A path has a slash. What is "name()" or "name[]" is defined in the file before it. */
static void what_architecture_md_names_is_there(void **state)
{
    (void)state;
    check("set -f; count=0;"
          "for name in $(grep -oE '`[^` ]+`' ARCHITECTURE.md | tr -d '`'); do"
          "  case $name in"
          "  */*) path=$name; count=$((count + 1)); [ -e $path ] || {"
          "    echo \"there is no $path\" >&2; exit 1; } ;;"
          "  *'()' | *'[]') grep -qE \"^[a-z}].*\\b${name%??}[[(]\" $path || {"
          "    echo \"$path has no $name\" >&2; exit 1; } ;;"
          "  esac;"
          "done;"
          "[ $count -ge 60 ]");
}

/* The routes in router.c, the headings in API.md, "POST /buy", and what openapi.json has. */
static void every_route_is_documented_and_no_other(void **state)
{
    (void)state;
    check(
        "routes=$(sed -nE -e 's/ORDERS_PATH \"[*]/\"\\/orders\\/{request}/'"
        "  -e 's/PAGE_PATH \"[*]/\"\\/page\\/{name}/'"
        "  -e 's/^    \\{\"([A-Z]+)\", \"([^\"]+)\",.*/\\1 \\2/p' server/api/router.c | sort);"
        "pages=$(sed -n 's/^### //p' server/API.md | sort);"
        "tools=$(jq -r '.paths | to_entries[] | .key as $path | .value | keys[] |"
        "  select(. == \"get\" or . == \"post\") | \"\\(ascii_upcase) \\($path)\"'"
        "  server/api/openapi.json | sort);"
        "[ $(echo \"$routes\" | wc -l) -ge 11 ] || exit 1;"
        "[ \"$routes\" = \"$pages\" ] && [ \"$routes\" = \"$tools\" ] || {"
        "  printf '%s:\\n%s\\n' router.c \"$routes\" API.md \"$pages\" openapi.json \"$tools\" >&2;"
        "  exit 1; }");
}

/* A route's parameters: in router.c a list, in API.md in backquotes in its section. */
static void api_md_has_every_parameter(void **state)
{
    (void)state;
    check("for name in $(sed -nE '/_params\\[\\] =/,/;/p' server/api/router.c |"
          "    grep -oE '\"[a-z_]+\"' | tr -d '\"' | sort -u); do"
          "  grep -qE \"^\\| (.[a-z_]+., )*.$name.(, .[a-z_]+.)* \\|\" server/API.md || {"
          "    echo \"API.md has no parameter $name\" >&2; exit 1; };"
          "done");
}

/*
 * The codes in the sources: what follows a status, or stands alone behind refuse(); and in the
 * folder of the endpoints any word with an underscore that nothing else explains.
 */
#define CODES_IN_SOURCES                                                                           \
    "set +e; flat() { tr '\\n' ' ' | sed -E 's/ +/ /g'; };"                                        \
    "words() { grep -oE '\"[a-z]+(_[a-z]+)*\"' | tr -d '\"'; };"                                   \
    "params=$(sed -nE '/_params\\[\\] =/,/;/p' server/api/router.c | words);"                      \
    "codes=$( {"                                                                                   \
    "  for file in server/http.c server/api/*.c server/store/outcome.c; do"                        \
    "    flat <$file | grep -oE '[ {][1-5][0-9][0-9], \"[a-z_]+\"' | words;"                       \
    "    flat <$file | grep -oE 'refuse\\([a-z]+, \"[a-z_]+\"' | words;"                           \
    "  done;"                                                                                      \
    "  for file in server/api/*.c; do"                                                             \
    "    flat <$file | sed -E -e 's/(log_event|LOG_SOME)\\([A-Z_]+, \"[a-z_]+\"//g'"               \
    "      -e 's/(STRING|NUMBER|FLAG|AS_IS)\\(\"[a-z_]+\"//g' |"                                   \
    "      words | grep _ | grep -vxF \"$params\" |"                                               \
    "      grep -vE '^flashsale_|^(no_answer|lost_orders)$';"                                      \
    "  done;"                                                                                      \
    "  grep -oE '\"code\":\"[a-z_]+\"' docker/haproxy.cfg | cut -d: -f2 | words;"                  \
    "} | sort -u);"

static void api_md_has_every_code_and_no_other(void **state)
{
    (void)state;
    check(CODES_IN_SOURCES
          "pages=$(sed -nE 's/^\\| `([a-z_]+)` \\| [1-5]..[ ,].*/\\1/p' server/API.md | sort);"
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

/* Which code comes with which status: of instances in openapi.json, of the proxy in haproxy.cfg. */
static void api_md_has_every_status_of_a_code(void **state)
{
    (void)state;
    check(
        "documented=$({"
        "  jq -r '. as $d | def at: if has(\"$ref\") then"
        "    (.[\"$ref\"] | ltrimstr(\"#/\") | split(\"/\")) as $p | $d | getpath($p) else . end;"
        "    (.paths[][] | objects | .responses), .[\"x-any-request\"].responses | to_entries[] |"
        "    .key as $status | .value | at | .. | objects | .code? | objects |"
        "    (.const // empty), (.enum // [])[] | \"\\(.) \\($status)\"' server/api/openapi.json;"
        "  sed -nE 's/.*\"status\":([0-9]+),\"code\":\"([a-z_]+)\".*/\\2 \\1/p' docker/haproxy.cfg;"
        "} | sort -u);"
        "pages=$(sed -nE 's/^\\| `([a-z_]+)` \\| ([0-9, ]+) \\| .*/\\1 \\2/p' server/API.md |"
        "  awk -F '[ ,]+' '{ for (i = 2; i <= NF; i++) print $1, $i }' | sort -u);"
        "[ $(echo \"$pages\" | wc -l) -ge 50 ] || exit 1;"
        "[ \"$documented\" = \"$pages\" ] || {"
        "  printf '%s:\\n%s\\n' openapi.json \"$documented\" API.md \"$pages\" >&2; exit 1; }");
}

/* What a code means stands in both, in the same words. */
static void api_md_explains_codes_as_openapi_does(void **state)
{
    (void)state;
    check(
        "tools=$(jq -r '.components.schemas.Code.oneOf[] |"
        "  \"\\(.const) | \\(.[\"x-again\"]) | \\(.description // \"\")\"' "
        "server/api/openapi.json);"
        "pages=$(sed -nE 's/^\\| `([a-z_]+)` \\| [0-9, ]+ (\\| .*) \\|$/\\1 \\2/p' server/API.md);"
        "[ $(echo \"$tools\" | wc -l) -ge 40 ] || exit 1;"
        "[ \"$tools\" = \"$pages\" ] || {"
        "  printf '%s:\\n%s\\n' openapi.json \"$tools\" API.md \"$pages\" >&2; exit 1; }");
}

/* Codes stand behind their status. Each 503 has a place: it may be why somebody is paged. */
static void operations_md_names_codes_that_there_are(void **state)
{
    (void)state;
    check(
        "page=server/OPERATIONS.md;"
        "codes=$(jq -r '.components.schemas.Code.oneOf[].const' server/api/openapi.json);"
        "named=$(grep -oE '[1-5][0-9][0-9]( `[a-z_]+`)+' $page | grep -oE '[a-z_]+');"
        "[ $(echo \"$named\" | wc -l) -ge 30 ] || exit 1;"
        "for code in $named; do"
        "  echo \"$codes\" | grep -qx $code || {"
        "    echo \"OPERATIONS.md names $code, and openapi.json has no such code\" >&2; exit 1; };"
        "done;"
        "for code in $(sed -nE 's/^\\| `([a-z_]+)` \\| 503.*/\\1/p' server/API.md); do"
        "  grep -q \"[\\`]$code[\\`]\" $page || {"
        "    echo \"OPERATIONS.md does not explain $code\" >&2; exit 1; };"
        "done");
}

/* Words with an underscore, which are events, codes and members; and texts in double quotes. */
static void operations_md_quotes_what_the_sources_say(void **state)
{
    (void)state;
    check(
        "page=server/OPERATIONS.md;"
        "sources=$(find server lock -name '*.[ch]'; echo scripts/failover);"
        "words=$(grep -oE '`[a-z]+(_[a-z]+)+`' $page | tr '`' '\"' | sort -u);"
        "texts=$(grep -v '^    ' $page | sed 's/`[^`]*`//g' | grep -oE '\"[^\"]+\"' | tr -d '\"');"
        "[ $(echo \"$words\" | wc -l) -ge 60 ] && [ $(echo \"$texts\" | wc -l) -ge 10 ] || exit 1;"
        "printf '%s\\n' \"$words\" \"$texts\" | while read -r said; do"
        "  grep -qF -- \"$said\" $sources || {"
        "    echo \"OPERATIONS.md quotes $said, which nothing says\" >&2; exit 1; };"
        "done");
}

/* Warnings and errors: of a call, and of the tables of what is wrong with Redis and with locks. */
static void operations_md_has_every_warning(void **state)
{
    (void)state;
    check("said() { find server -name '*.c' | xargs cat | tr '\\n' ' ' | sed -E 's/ +/ /g' |"
          "  grep -oE \"$1\" | grep -v REPORT_RELEASE | grep -oE '\"[a-z_]+\"$' | tr -d '\"'; };"
          "events=$(said 'LOG_(WARN|ERROR), \"[a-z_]+\"'; said 'warn[(][^;\"]*\"[a-z_]+\"';"
          "  said '(TROUBLE|DLOCK_REPORT)_[A-Z_]+] = ([{]\"[a-z_]+\", )?\"[a-z_]+\"');"
          "[ $(echo \"$events\" | sort -u | wc -l) -ge 35 ] || exit 1;"
          "for event in $events; do"
          "  grep -q \"[\\`]$event[\\`]\" server/OPERATIONS.md || {"
          "    echo \"OPERATIONS.md does not explain $event\" >&2; exit 1; };"
          "done");
}

/* The paths that openapi.json calls public, and those that the proxy lets pass; of those with a
 * part that varies, how many there are, and what is behind it. */
static void what_is_public_passes_the_proxy_and_nothing_else(void **state)
{
    (void)state;
    check(
        "passed=$({ sed -n 's/^ *acl public path //p' docker/haproxy.cfg | tr ' ' '\\n';"
        "  sed -nE -e 's/^ *acl public path_reg .*[^?][$]$/{}/p'"
        "    -e 's/^ *acl public path_reg .*[(](.*)[)][?][$]$/{}|\\1/p' docker/haproxy.cfg |"
        "    tr '|' '\\n' | sed 's/^\\//{}\\//'; } | sort);"
        "public=$(jq -r '.paths | to_entries[] | select([.value[] | objects | .tags // [] | .[]] |"
        "  index(\"public\")) | .key' server/api/openapi.json | sed 's/.*{.*}/{}/' | sort);"
        "[ $(echo \"$passed\" | wc -l) -ge 8 ] || exit 1;"
        "[ \"$passed\" = \"$public\" ] || {"
        "  printf '%s:\\n%s\\n' haproxy.cfg \"$passed\" openapi.json \"$public\" >&2; exit 1; }");
}

/* The page is mostly seen through the proxy. */
static void the_page_links_to_what_passes_the_proxy(void **state)
{
    (void)state;
    check("public=$(sed -n 's/^ *acl public path //p' docker/haproxy.cfg | tr ' ' '\\n');"
          "links=$(grep -o '<a href=\"/[^\"]*' server/page/index.html | cut -d '\"' -f 2);"
          "[ -n \"$links\" ] && ! echo \"$links\" | grep -vxF \"$public\" >&2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_test_that_is_named_exists),
        cmocka_unit_test(what_architecture_md_names_is_there),
        cmocka_unit_test(every_route_is_documented_and_no_other),
        cmocka_unit_test(api_md_has_every_parameter),
        cmocka_unit_test(api_md_has_every_code_and_no_other),
        cmocka_unit_test(api_md_has_every_status_of_a_code),
        cmocka_unit_test(api_md_explains_codes_as_openapi_does),
        cmocka_unit_test(operations_md_names_codes_that_there_are),
        cmocka_unit_test(operations_md_quotes_what_the_sources_say),
        cmocka_unit_test(operations_md_has_every_warning),
        cmocka_unit_test(what_is_public_passes_the_proxy_and_nothing_else),
        cmocka_unit_test(the_page_links_to_what_passes_the_proxy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
