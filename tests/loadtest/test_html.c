/*
 * The HTML report in a real browser: Debian's chromium, headless. It must draw all its charts
 * without a script error and cut off no table, at the width of a desk and of a phone, by day and by
 * night, and ask nobody for anything. Skipped, and counted as skipped, where there is no chromium.
 */
#include "tests/loadtest/report/browser.h"
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include <string.h>

static char dir[256], page[300], phone[300];
static bool has_browser;

/* A report of three strategies, on a shop that oversells and breaks connections. */
static int make_report(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    snprintf(page, sizeof(page), "%s/report.html", dir);
    snprintf(phone, sizeof(phone), "%s/phone.html", dir);
    /* The report says in data-view how it fits. */
    browser_frame(phone, "report.html", 375,
                  "own.setAttribute('data-view', "
                  "report.documentElement.getAttribute('data-view'));");
    has_browser = browser_is_there();
    fx_stub *stub = fx_stub_start(FX_ARGS("--ports", "2", "--defect", "oversell", "--reset-every",
                                          "400", "--delay-us", "500"));
    fx_load *load =
        fx_load_run(stub, "compare",
                    FX_ARGS("--strategies", "none,setnx:wait_ms=0,combined", "--runs", "2",
                            "--preset", "reference", "--think-ms", "0", "--requests", "1500",
                            "--stock", "500", "--users", "20", "--html", page));
    assert_int_equal(load->exit_code, 1);
    fx_load_free(load);
    fx_stub_stop(stub);
    return 0;
}

static void need_browser(void)
{
    if (!has_browser)
        fx_skip("there is no chromium to look at the report with");
}

static void all_is_drawn_at_every_width(void **unused)
{
    (void)unused;
    static const struct {
        const char *page, *colours, *view; /* width + what does not fit in, more than 9 charts */
    } table[] = {{page, "1", "data-view=\"1200+0 1"},
                 {phone, "1", "data-view=\"375+0 1"},
                 {page, "0", "data-view=\"1200+0 1"}};
    need_browser();
    for (size_t i = 0; i < COUNT(table); i++) {
        struct look look = look_at(dir, table[i].page, table[i].colours);
        if (!look_is_clean(&look))
            fail_msg("script trouble: %s", look.console);
        if (strstr(look.dom, table[i].view) == NULL)
            fail_msg("expected %s in %.200s", table[i].view, look.dom);
        look_away(&look);
    }
}

static void the_page_says_what_matters(void **unused)
{
    (void)unused;
    static const char *const words[] = {
        "OVERSOLD",
        "class=\"oversold\"",
        "oversold by ",
        "units sold",
        "p99",
        "sales per user", /* the chart's title element, for those who can not see it */
        "redis-cli GET 'fs:{P0001}:",
        "setnx:wait_ms=0",
        "the server closed the connection hard",
        "measured elsewhere, on another machine",
        "aria-label=\"Strategy shown in full\"",
        "The price of safety",
        "class=\"price unsafe\"",
        "not shown to be safe: ",
    };
    need_browser();
    struct look look = look_at(dir, page, "1");
    for (size_t i = 0; i < COUNT(words); i++) {
        if (strcasestr(look.dom, words[i]) == NULL)
            fail_msg("the page does not say \"%s\"", words[i]);
    }
    look_away(&look);
}

/* A line for what is reserved, and what became of it; on other pages neither. */
static void reservations_are_drawn(void **unused)
{
    (void)unused;
    static const char *const drawn[] = {"class=\"reserved\"", ">Reservations<", "units reserved",
                                        "Buys reserve for 1 s"};
    char reserved[300];
    need_browser();
    snprintf(reserved, sizeof(reserved), "%s/reserved.html", dir);
    fx_stub *stub = fx_stub_start(NULL);
    fx_load *load = fx_load_run(stub, "run",
                                FX_ARGS("--reserve-s", "1", "--users", "10", "--requests", "300",
                                        "--stock", "100", "--html", reserved));
    assert_int_equal(fx_load_number(load, "reserved"), fx_load_number(load, "confirmed") +
                                                           fx_load_number(load, "cancelled") +
                                                           fx_load_number(load, "expired"));
    struct look with = look_at(dir, reserved, "1"), without = look_at(dir, page, "1");
    if (!look_is_clean(&with))
        fail_msg("script trouble: %s", with.console);
    for (size_t i = 0; i < COUNT(drawn); i++) {
        if (strstr(with.dom, drawn[i]) == NULL)
            fail_msg("the page does not say \"%s\"", drawn[i]);
    }
    assert_null(strstr(without.dom, drawn[0]));
    assert_null(strstr(without.dom, drawn[1]));
    look_away(&with);
    look_away(&without);
    fx_load_free(load);
    fx_stub_stop(stub);
}

static void a_broken_script_would_be_noticed(void **unused)
{
    (void)unused;
    char broken[400];
    need_browser();
    snprintf(broken, sizeof(broken), "%s/broken.html", dir);
    assert_int_equal(
        fx_shell("sed 's|runs = data.runs,|runs = data.nosuch.runs,|' \"$1/report.html\" "
                 ">\"$1/broken.html\"",
                 dir, 10000),
        0);
    struct look look = look_at(dir, broken, "1");
    assert_non_null(strstr(look.console, "Uncaught TypeError"));
    assert_null(strstr(look.dom, "data-view="));
    look_away(&look);
}

/* A page that is too wide for a phone is seen to be: the 0 above is no constant. */
static void a_page_too_wide_would_be_noticed(void **unused)
{
    (void)unused;
    char wide[400];
    need_browser();
    snprintf(wide, sizeof(wide), "%s/wide.html", dir);
    assert_int_equal(fx_shell("sed 's|^main {|main { min-width: 1300px;|' \"$1/report.html\" "
                              ">\"$1/wide.html\"",
                              dir, 10000),
                     0);
    struct look look = look_at(dir, wide, "1");
    assert_non_null(strstr(look.dom, "data-view=\"1200+100 1"));
    look_away(&look);
}

/* Clicks on a heading: once for the last name first, twice for the first. */
static void the_comparison_can_be_sorted(void **unused)
{
    (void)unused;
    char clicks[300];
    need_browser();
    snprintf(clicks, sizeof(clicks), "%s/clicks.html", dir);
    browser_frame(clicks, "report.html", 375,
                  "const table = report.querySelector('table');\n"
                  "const column = name => Array.from(table.querySelectorAll('th')).find("
                  "cell => cell.textContent === name);\n"
                  "const first = () => Array.from(table.tBodies[0].rows).map("
                  "row => row.cells[0].textContent).join(' ');\n"
                  "const head = column('strategy');\n"
                  "head.firstChild.click();\n"
                  "own.setAttribute('data-down', head.getAttribute('aria-sort') + ' ' + first());\n"
                  "head.firstChild.click();\n"
                  "own.setAttribute('data-up', head.getAttribute('aria-sort') + ' ' + first());");
    struct look look = look_at(dir, clicks, "1");
    assert_null(strstr(look.console, "Uncaught"));
    assert_non_null(strstr(look.dom, "data-down=\"descending setnx:wait_ms=0 none combined\""));
    assert_non_null(strstr(look.dom, "data-up=\"ascending combined none setnx:wait_ms=0\""));
    look_away(&look);
}

/* What is left of a table at the right edge needs scrolling, and is missed. */
static void every_table_fits(void **unused)
{
    (void)unused;
    static const int widths[] = {1200, 1024, 768, 375};
    static const char script[] =
        "const tables = Array.from(report.querySelectorAll('table'));\n"
        "const edge = report.documentElement.clientWidth;\n"
        "report.querySelectorAll('details').forEach(block => { block.open = true; });\n"
        "const cut = cell => { const at = cell.getBoundingClientRect();\n"
        "    return at.right > edge || at.left < 0 || (cell.textContent !== '' && !at.width) ||\n"
        "        at.right > cell.closest('.scroll').getBoundingClientRect().right; };\n"
        "const cells = tables.flatMap(table => Array.from(table.querySelectorAll('td')));\n"
        "const named = name => cells.some(cell => cell.dataset.heading === name);\n"
        "own.setAttribute('data-cut', cells.filter(cut).length + ' of ' +\n"
        "    (cells.length > 60 ? 'many' : 'few'));\n"
        "own.setAttribute('data-named', ['p50 ms', 'p99 ms', 'fairness'].every(named));";
    char file[300];
    need_browser();
    for (size_t i = 0; i < COUNT(widths); i++) {
        snprintf(file, sizeof(file), "%s/table-%d.html", dir, widths[i]);
        browser_frame(file, "report.html", widths[i], script);
        struct look look = look_at(dir, file, "1");
        assert_null(strstr(look.console, "Uncaught"));
        if (!strstr(look.dom, "data-cut=\"0 of many\"") || !strstr(look.dom, "data-named=\"true\""))
            fail_msg("at %d: %.200s", widths[i], look.dom);
        look_away(&look);
    }
}

/* Needs no browser: nothing in the page points anywhere else. */
static void the_page_stands_alone(void **unused)
{
    (void)unused;
    assert_int_equal(fx_shell("! grep -niE '(src|href) *=|@import|url\\(.?(https?:|//)|fetch\\(|"
                              "XMLHttpRequest|WebSocket' \"$1\" >&2",
                              page, 10000),
                     0);
    /* Data can not break out of its element: it has no "<" at all. */
    assert_int_equal(fx_shell("sed -n '/id=\"data\"/,/<.script>/p' \"$1\" | sed '1s/<[^>]*>//' | "
                              "grep -c '<' | grep -qx 1",
                              page, 10000),
                     0);
}

static void a_screenshot_has_content(void **unused)
{
    (void)unused;
    need_browser();
    assert_int_equal(
        fx_shell("cd \"$1\" && chromium --headless --no-sandbox --disable-gpu "
                 "--disable-dev-shm-usage --user-data-dir=\"$1/profile\" --hide-scrollbars "
                 "--window-size=800,2400 --screenshot=\"$1/shot.png\" \"file://$1/report.html\" "
                 ">/dev/null 2>&1; [ \"$(stat -c %s shot.png)\" -gt 50000 ]",
                 dir, BROWSER_MS),
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_is_drawn_at_every_width),
        cmocka_unit_test(the_page_says_what_matters),
        cmocka_unit_test(reservations_are_drawn),
        cmocka_unit_test(a_broken_script_would_be_noticed),
        cmocka_unit_test(a_page_too_wide_would_be_noticed),
        cmocka_unit_test(the_comparison_can_be_sorted),
        cmocka_unit_test(every_table_fits),
        cmocka_unit_test(the_page_stands_alone),
        cmocka_unit_test(a_screenshot_has_content),
    };
    return cmocka_run_group_tests(tests, make_report, NULL);
}
