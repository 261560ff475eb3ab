/*
 * `loadtest chart`: the page of a bench file, in a real browser, held to the file by
 * chart_checks.js; and files that are none, which are named and cost nobody what was there before.
 */
#include "tests/loadtest/report/browser.h"
#include "tests/support/fixture.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECKS     "tests/loadtest/report/chart_checks.js"
#define CHART_MS   30000
#define SCRIPT_MAX (256 * 1024)

static char dir[256], json[300], page[300];

/* ---- a bench file ---------------------------------------------------------------------------- */

static cJSON *add_row(cJSON *rows, const char *name, const char *strategy, double users, double rps)
{
    cJSON *row = cJSON_CreateObject(), *cpu;
    double range[] = {rps - 20, rps + 30};
    cJSON_AddStringToObject(row, "case", name);
    cJSON_AddStringToObject(row, "strategy", strategy);
    cJSON_AddNumberToObject(row, "users", users);
    cJSON_AddNumberToObject(row, "items", 1);
    cJSON_AddNumberToObject(row, "hold_ms", 0);
    cJSON_AddNumberToObject(row, "think_ms", 0);
    cJSON_AddNumberToObject(row, "rtt_ms", 0);
    cJSON_AddStringToObject(row, "durability", "memory");
    cJSON_AddNullToObject(row, "offered_rps");
    cJSON_AddNumberToObject(row, "throughput_rps", rps);
    cJSON_AddItemToObject(row, "range_rps", cJSON_CreateDoubleArray(range, 2));
    cJSON_AddNumberToObject(row, "p50_ms", 1.25);
    cJSON_AddNumberToObject(row, "p99_ms", 17.5);
    cJSON_AddNullToObject(row, "p999_ms");
    cJSON_AddNumberToObject(row, "redis_cmds_per_order", 3.25);
    cpu = cJSON_AddObjectToObject(row, "cpu_us");
    cJSON_AddNumberToObject(cpu, "service", 38.5);
    cJSON_AddNumberToObject(cpu, "redis", 14.5);
    cJSON_AddItemToArray(rows, row);
    return row;
}

/* The closed loops: 14 strategies, three peers, one that would like to be an element, the ceiling.
 */
static void add_users(cJSON *rows)
{
    static const char *const strategies[] = {
        "none",       "combined",   "batched",
        "atomic",     "fair",       "fenced",
        "pubsub",     "reentrant",  "setnx",
        "getset",     "string",     "redlock",
        "sharded",    "optimistic", "go:fairlua",
        "go:redsync", "go:none",    "</script><img src=x onerror='hacked=1'>"};
    static const int users[] = {1, 3, 10, 100, 1000};
    for (size_t s = 0; s < COUNT(strategies); s++) {
        for (size_t u = 0; u < COUNT(users); u++)
            add_row(rows, "users", strategies[s], users[u],
                    (double)(1000 + s * 997) * (double)(u + 1));
    }
    add_row(rows, "users", "livez", 100, 160000);
}

static void add_cases(cJSON *rows)
{
    static const char *const strategies[] = {"none", "combined"};
    static const struct {
        const char *name, *member;
        double value;
    } table[] = {{"think", "think_ms", 0}, {"think", "think_ms", 2}, {"think", "think_ms", 10},
                 {"hold", "hold_ms", 0},   {"hold", "hold_ms", 5},   {"away", "rtt_ms", 0.5},
                 {"away", "rtt_ms", 5},    {"items", "items", 1},    {"items", "items", 100},
                 {"odd", "items", 2}};
    for (size_t s = 0; s < COUNT(strategies); s++) {
        for (size_t i = 0; i < COUNT(table); i++) {
            const char *name = strcmp(table[i].name, "odd") == 0 ? "an odd one" : table[i].name;
            cJSON *row = add_row(rows, name, strategies[s], 100, (double)(5000 + 700 * s + 13 * i));
            cJSON_SetNumberValue(cJSON_GetObjectItem(row, table[i].member), table[i].value);
        }
        cJSON *disk = add_row(rows, "disk", strategies[s], 100, (double)(3000 + 100 * s));
        cJSON_SetValuestring(cJSON_GetObjectItem(disk, "durability"), "disk");
        add_row(rows, "disk", strategies[s], 100, (double)(6000 + 100 * s));
    }
}

/* The open model: rates that are kept, and two that are not. */
static void add_rates(cJSON *rows)
{
    static const char *const strategies[] = {"atomic", "combined"};
    static const double rates[][4] = {/* offered, answered, p50, p99 */
                                      {1000, 1000, 0.75, 2.25},
                                      {5000, 5000, 0.875, 3.5},
                                      {9000, 8900, 2.5, 22.5},
                                      {12000, 10000, 650, 1250},
                                      {15000, 9900, 2500, 3500}};
    for (size_t s = 0; s < COUNT(strategies); s++) {
        for (size_t i = 0; i < COUNT(rates); i++) {
            cJSON *row = add_row(rows, "open", strategies[s], 1000, rates[i][1]);
            cJSON_ReplaceItemInObject(row, "offered_rps", cJSON_CreateNumber(rates[i][0]));
            cJSON_SetNumberValue(cJSON_GetObjectItem(row, "p50_ms"), rates[i][2]);
            cJSON_SetNumberValue(cJSON_GetObjectItem(row, "p99_ms"), rates[i][3]);
        }
    }
}

static const char further[] =
    "{\"schema\":1,\"quick\":true,"
    "\"machine\":{\"cpus\":2,\"cpu\":\"\\\"'><script>hacked=1</script><b onclick=x>\"},"
    "\"ratios\":[{\"name\":\"<b onclick='hacked=1'>combined / none</b>\",\"value\":2.75,"
    "\"low\":2.5,\"high\":3.25,\"rounds\":4,\"bar\":2.5,\"state\":\"reached\"},"
    "{\"name\":\"combined / go:fairlua\",\"value\":1.25,\"low\":1.25,\"high\":1.25,"
    "\"rounds\":3,\"bar\":1.5,\"state\":\"missed\"},"
    "{\"name\":\"fair / go:redsync\",\"value\":2,\"low\":null,\"high\":null,"
    "\"rounds\":2,\"bar\":1,\"state\":\"inconclusive\"}],"
    "\"locks\":[{\"kind\":\"fair\",\"processes\":3,\"threads\":16,\"think_ms\":\"1-3\","
    "\"ops_per_s\":13500,\"handoff_us\":{\"p50\":80.5,\"p99\":300,\"p999\":null}},"
    "{\"kind\":\"string\",\"ops_per_s\":880,\"handoff_us\":{\"p50\":85.5,\"p99\":310}}],"
    "\"memory\":{\"rss_mb_0\":15.5,\"rss_mb_1000\":41.5},"
    "\"growth\":[{\"orders\":100000,\"throughput_rps\":26000,\"bytes_per_order\":204},"
    "{\"orders\":200000,\"throughput_rps\":25900,\"bytes_per_order\":205}]}";

static void write_text(const char *path, const char *text)
{
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

/* ---- running --------------------------------------------------------------------------------- */

/* The exit code of `loadtest chart`, and in `said` both streams. */
static int chart(const char *from, const char *to, char *said, size_t said_len)
{
    char program[512];
    fx_process *process = fx_spawn(
        FX_ARGS(fx_build_path("loadtest", program, sizeof(program)), "chart", from, "--html", to),
        true);
    int code = fx_process_wait(process, CHART_MS);
    snprintf(said, said_len, "%s%s", fx_process_stdout(process), fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static int make_page(void **unused)
{
    (void)unused;
    char said[1024];
    fx_dir_make(dir, sizeof(dir));
    snprintf(json, sizeof(json), "%s/bench.json", dir);
    snprintf(page, sizeof(page), "%s/bench.html", dir);
    cJSON *bench = cJSON_Parse(further), *rows = cJSON_AddArrayToObject(bench, "rows");
    add_users(rows);
    add_cases(rows);
    add_rates(rows);
    char *text = cJSON_Print(bench);
    write_text(json, text);
    free(text);
    cJSON_Delete(bench);
    if (chart(json, page, said, sizeof(said)) != 0)
        fail_msg("%s", said);
    return 0;
}

static void need_browser(void)
{
    if (!browser_is_there())
        fx_skip("there is no chromium to look at the page with");
}

/* `const bench = ...;` and the checks. */
static const char *checks(void)
{
    static char script[SCRIPT_MAX];
    size_t at = (size_t)snprintf(script, sizeof(script), "const bench = ");
    const char *const parts[] = {json, CHECKS};
    for (size_t i = 0; i < COUNT(parts); i++) {
        FILE *in = fopen(parts[i], "r");
        assert_non_null(in);
        for (int c; (c = fgetc(in)) != EOF;) {
            assert_true(at + 16 < sizeof(script));
            if (i == 0 && c == '<') /* the texts in it must not end the script */
                at += (size_t)snprintf(script + at, sizeof(script) - at, "\\u003c");
            else
                script[at++] = (char)c;
        }
        fclose(in);
        at += (size_t)snprintf(script + at, sizeof(script) - at, ";\n");
    }
    return script;
}

/* ---- the page -------------------------------------------------------------------------------- */

static void the_page_agrees_with_the_file(void **unused)
{
    (void)unused;
    static const struct {
        int width;
        const char *colours;
    } table[] = {{1200, "1"}, {375, "0"}};
    char file[300];
    need_browser();
    for (size_t i = 0; i < COUNT(table); i++) {
        snprintf(file, sizeof(file), "%s/look-%d.html", dir, table[i].width);
        browser_frame(file, "bench.html", table[i].width, checks());
        struct look look = look_at(dir, file, table[i].colours);
        const char *wrong = strstr(look.dom, "data-wrong=");
        if (!look_is_clean(&look) || !wrong || strncmp(wrong, "data-wrong=\"nothing\"", 20) != 0)
            fail_msg("at %d: %.600s\n%s", table[i].width, wrong ? wrong : "", look.console);
        look_away(&look);
    }
}

/* The checks can fail: pages that leave out a line, round a figure, take texts for elements. */
static void a_wrong_page_would_be_noticed(void **unused)
{
    (void)unused;
    static const char *const table[][2] = {
        {"s|const order = ranked();|const order = ranked().slice(2);|", "has no line"},
        {"s|? Charts.figure(value) :|? Charts.figure(value * 1.01) :|", "is not"},
        {"s|made.textContent = text;|made.innerHTML = text;|", "a text became an element"},
        {"s|Math.max(end.at, at + NAME_HEIGHT)|end.y|", "names overlap"},
    };
    char file[300], edit[512];
    need_browser();
    snprintf(file, sizeof(file), "%s/look-wrong.html", dir);
    browser_frame(file, "wrong.html", 1200, checks());
    for (size_t i = 0; i < COUNT(table); i++) {
        snprintf(edit, sizeof(edit), "sed '%s' \"$1/bench.html\" >\"$1/wrong.html\"", table[i][0]);
        assert_int_equal(fx_shell(edit, dir, 10000), 0);
        struct look look = look_at(dir, file, "1");
        const char *wrong = strstr(look.dom, "data-wrong=");
        if (!wrong || !strstr(wrong, table[i][1]))
            fail_msg("%s: %.600s\n%s", table[i][1], wrong ? wrong : "", look.console);
        look_away(&look);
    }
}

/* Whatever is missing, null or odd, the rest is shown, and no script stumbles. */
static void what_is_missing_is_left_out(void **unused)
{
    (void)unused;
    static const char *const files[] = {
        "{\"schema\":1,\"rows\":[]}",
        "{\"schema\":1,\"rows\":[],\"ratios\":null,\"locks\":null,\"memory\":null,"
        "\"growth\":null,\"machine\":\"a box\",\"quick\":null}",
        "{\"schema\":1,\"rows\":[{\"case\":\"users\",\"strategy\":\"none\"}]}",
        "{\"schema\":1,\"rows\":[{\"case\":\"users\",\"strategy\":\"none\",\"users\":1,"
        "\"throughput_rps\":5,\"range_rps\":null,\"cpu_us\":null},"
        "{\"case\":\"open\",\"strategy\":\"none\",\"offered_rps\":5,\"p99_ms\":0,"
        "\"range_p99_ms\":[null,3]}]}",
        "{\"schema\":1,\"rows\":[{\"case\":\"__proto__\",\"strategy\":\"constructor\","
        "\"users\":-1,\"throughput_rps\":1e300},{\"case\":\"users\",\"strategy\":\"toString\","
        "\"users\":1e-300,\"throughput_rps\":1e300},{\"case\":\"users\",\"strategy\":\"\","
        "\"users\":0,\"throughput_rps\":-1}],\"environment\":[1,{\"a\":null}],"
        "\"locks\":[{}],\"growth\":[{}],\"ratios\":[{},{\"value\":1},{\"bar\":1}]}",
        "{\"schema\":1,\"rows\":[],\"rows\":[{\"case\":\"disk\",\"strategy\":\"none\","
        "\"durability\":null}],\"schema\":1,\"locks\":[],\"locks\":null}",
    };
    char from[300], file[300], all[300], said[1024], seen[64];
    need_browser();
    snprintf(from, sizeof(from), "%s/sparse.json", dir);
    snprintf(all, sizeof(all), "%s/all.html", dir);
    FILE *out = fopen(all, "w");
    assert_non_null(out);
    fputs("<!DOCTYPE html><script>let seen = 0; function look(report) { if (report."
          "documentElement.getAttribute('data-view') && report.querySelector('.raw')) seen++;\n"
          "document.documentElement.setAttribute('data-seen', seen); }</script>\n",
          out);
    for (size_t i = 0; i < COUNT(files); i++) {
        write_text(from, files[i]);
        snprintf(file, sizeof(file), "%s/sparse-%zu.html", dir, i);
        if (chart(from, file, said, sizeof(said)) != 0)
            fail_msg("row %zu: %s", i, said);
        fprintf(out,
                "<iframe src=\"sparse-%zu.html\" onload=\"look(this.contentDocument)\">"
                "</iframe>\n",
                i);
    }
    fclose(out);
    struct look look = look_at(dir, all, "1");
    snprintf(seen, sizeof(seen), "data-seen=\"%zu\"", COUNT(files));
    if (!look_is_clean(&look) || !strstr(look.dom, seen))
        fail_msg("%.200s\n%s", look.dom, look.console);
    look_away(&look);
}

/* Needs no browser: nothing in the page points anywhere else, and its data end nothing. */
static void the_page_stands_alone(void **unused)
{
    (void)unused;
    assert_int_equal(fx_shell("sed '/id=\"data\"/,/<.script>/d' \"$1/bench.html\" | { ! grep -niE "
                              "'(src|href) *=|@import|url\\(.?(https?:|//)|fetch\\(|"
                              "XMLHttpRequest|WebSocket|@(TITLE|STYLE|DATA|SCRIPT)@' >&2; }",
                              dir, 10000),
                     0);
    assert_int_equal(fx_shell("sed -n '/id=\"data\"/,/<.script>/p' \"$1/bench.html\" | "
                              "sed '1s/<[^>]*>//' | grep -c '<' | grep -qx 1",
                              dir, 10000),
                     0);
}

/* ---- files that are none --------------------------------------------------------------------- */

#define ROW "{\"case\":\"users\",\"strategy\":\"none\""

static void what_is_no_bench_file_is_named(void **unused)
{
    (void)unused;
    static const struct {
        const char *text, *why; /* NULL: there is no such file */
    } table[] = {
        {NULL, "can not be read"},
        {"", "no JSON from byte 1 on"},
        {"{\"schema\":1,\"rows\":[", "no JSON from byte"},
        {"{\"schema\":1,\"rows\":[]} []", "no JSON from byte 24 on"},
        {"[]", "its \"schema\" is not 1"},
        {"{\"rows\":[]}", "its \"schema\" is not 1"},
        {"{\"schema\":2,\"rows\":[]}", "its \"schema\" is not 1"},
        {"{\"schema\":1,\"rows\":[],\"schema\":2}", "its \"schema\" is not 1"},
        {"{\"schema\":1,\"runs\":[]}", "rows is missing"},
        {"{\"schema\":1,\"rows\":null}", "rows is missing"},
        {"{\"schema\":1,\"rows\":[],\"rows\":{}}", "rows is not a list of objects"},
        {"{\"schema\":1,\"rows\":[" ROW "},7]}", "rows[1] is not an object"},
        {"{\"schema\":1,\"rows\":[{\"kind\":\"fair\"}]}", "rows[0].case is missing"},
        {"{\"schema\":1,\"rows\":[{\"case\":\"users\",\"strategy\":null}]}",
         "rows[0].strategy is not a text"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"users\":\"5\"}]}", "rows[0].users is not a number"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"p99_ms\":1e999}]}", "rows[0].p99_ms is not a number"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"users\":5,\"users\":{}}]}", "rows[0].users is not"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"durability\":1}]}", "rows[0].durability is not a text"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"range_rps\":[1,2,3]}]}", "is not a pair of numbers"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"range_rps\":[1,\"2\"]}]}", "is not a pair of numbers"},
        {"{\"schema\":1,\"rows\":[" ROW ",\"cpu_us\":{\"redis\":[]}}]}", "is not an object of num"},
        {"{\"schema\":1,\"rows\":[],\"ratios\":{}}", "ratios is not a list of objects"},
        {"{\"schema\":1,\"rows\":[],\"ratios\":[{\"bar\":\"1\"}]}",
         "ratios[0].bar is not a number"},
        {"{\"schema\":1,\"rows\":[],\"ratios\":[{\"low\":\"1\"}]}",
         "ratios[0].low is not a number"},
        {"{\"schema\":1,\"rows\":[],\"ratios\":[{\"state\":1}]}", "ratios[0].state is not a text"},
        {"{\"schema\":1,\"rows\":[],\"locks\":[{\"think_ms\":[]}]}", "is not a text or a number"},
        {"{\"schema\":1,\"rows\":[],\"quick\":\"no\"}", "quick is not true or false"},
        {"{\"schema\":1,\"rows\":[],\"memory\":[1]}", "memory is not an object of numbers"},
        {"{\"schema\":1,\"rows\":[],\"growth\":[[]]}", "growth[0] is not an object"},
    };
    char bad[300], kept[300], said[1024];
    snprintf(bad, sizeof(bad), "%s/bad.json", dir);
    snprintf(kept, sizeof(kept), "%s/kept.html", dir);
    write_text(kept, "kept\n");
    for (size_t i = 0; i < COUNT(table); i++) {
        if (table[i].text)
            write_text(bad, table[i].text);
        int code = chart(bad, kept, said, sizeof(said));
        if (code != 64 || !strstr(said, bad) || !strstr(said, table[i].why) ||
            strchr(said, '\n') != said + strlen(said) - 1)
            fail_msg("row %zu: %d %s", i, code, said);
    }
    assert_int_equal(fx_shell("printf '{\"schema\":1,\"rows\":[]}\\0' >\"$1/bad.json\"", dir, 5000),
                     0);
    assert_int_equal(chart(bad, kept, said, sizeof(said)), 64);
    assert_non_null(strstr(said, "no JSON from byte 23 on"));
    assert_int_equal(fx_shell("grep -qx kept \"$1/kept.html\"", dir, 5000), 0);
}

static void the_bench_file_is_not_written_over(void **unused)
{
    (void)unused;
    char good[300], path[300], said[1024];
    snprintf(good, sizeof(good), "%s/good.json", dir);
    write_text(good, "{\"schema\":1,\"rows\":[]}\n");
    assert_int_equal(fx_shell("ln -s good.json \"$1/link\"", dir, 5000), 0);
    snprintf(path, sizeof(path), "%s/link", dir);
    assert_int_equal(chart(good, path, said, sizeof(said)), 64);
    assert_non_null(strstr(said, "would write over the bench file"));
    assert_int_equal(fx_shell("grep -q schema \"$1/good.json\"", dir, 5000), 0);
    snprintf(path, sizeof(path), "%s/missing/out.html", dir);
    assert_int_equal(chart(good, path, said, sizeof(said)), 64);
    assert_int_equal(chart(good, "/dev/full", said, sizeof(said)), 3);
    assert_non_null(strstr(said, "/dev/full could not be written"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_page_agrees_with_the_file),
        cmocka_unit_test(a_wrong_page_would_be_noticed),
        cmocka_unit_test(the_page_stands_alone),
        cmocka_unit_test(what_is_missing_is_left_out),
        cmocka_unit_test(what_is_no_bench_file_is_named),
        cmocka_unit_test(the_bench_file_is_not_written_over),
    };
    return cmocka_run_group_tests(tests, make_page, NULL);
}
