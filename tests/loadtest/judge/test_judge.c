/*
 * Recorded histories, right ones and one for each way to be wrong, and what the judge makes of
 * them: exactly what is violated in it, and the figures. Small changes to a right history say what
 * each member is worth. Each guarantee is shown to fail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"
#include "tests/support/service.h"

#include "loadtest/judge/judging.h"

#define HISTORIES "tests/loadtest/judge/histories/"

enum { SAFE = 0, BROKEN = 1, INVALID = 3, USAGE = 64 };

static bool has_failed[GUARANTEES_MAX];
static char unreadable[512]; /* why the last history was not read */

/* ---- asking it ------------------------------------------------------------------------------- */

/* What it says of a history, as JSON; NULL: it can not read it. */
static cJSON *judge(const char *path)
{
    char err[512] = "", *text = NULL;
    size_t len = 0;
    lt_judgement *judgement = judge_file(path, NULL, err, sizeof(err));
    if (!judgement) {
        if (strncmp(err, path, strlen(path)) != 0)
            fail_msg("%s: '%s'", path, err);
        snprintf(unreadable, sizeof(unreadable), "%s", err + strlen(path));
        return NULL;
    }
    for (int i = 0; i < guarantee_count; i++) {
        const lt_finding *finding = &judgement->findings[i];
        bool failed =
            finding->state == STATE_VIOLATED ||
            (guarantees[i].verdict == VERDICT_INVALID && finding->state == STATE_UNCHECKED);
        has_failed[i] = has_failed[i] || failed;
    }
    FILE *out = open_memstream(&text, &len);
    judgement_print_json(path, judgement, out);
    fclose(out);
    judgement_free(judgement);
    cJSON *said = cJSON_Parse(text);
    free(text);
    return said;
}

/* "units falling": the guarantees in this state. */
static void list_guarantees(const cJSON *said, const char *state, char *ret, size_t len)
{
    const cJSON *guarantee;
    ret[0] = '\0';
    cJSON_ArrayForEach(guarantee, cJSON_GetObjectItem(said, "guarantees")) {
        size_t used = strlen(ret);
        if (strcmp(fx_json_text(guarantee, "state"), state) == 0)
            snprintf(ret + used, len - used, "%s%s", used ? " " : "",
                     fx_json_text(guarantee, "name"));
    }
}

/* ---- what is expected ------------------------------------------------------------------------ */

/* "VERDICT VIOLATED ... ? UNCHECKED ... # FIGURE=N ...", cut into its parts. */
typedef struct expectation {
    char text[1024];
    const char *verdict, *violated, *unchecked, *figures;
} expectation;

static const char *cut(char *text, const char *mark)
{
    char *at = strstr(text, mark);
    if (!at)
        return "";
    *at = '\0';
    return at + strlen(mark);
}

static void read_expectation(const char *text, expectation *ret)
{
    snprintf(ret->text, sizeof(ret->text), "%.1000s", text);
    ret->figures = cut(ret->text, " #");
    ret->unchecked = cut(ret->text, " ? ");
    ret->violated = cut(ret->text, " ");
    ret->verdict = ret->text;
}

/* Those named are so, and all others that are to be 0 are 0, or not known. */
static void check_figures(const char *name, const cJSON *said, const char *expected)
{
    static const char counts[] = "requests attempts sold landed";
    const cJSON *figure;
    cJSON_ArrayForEach(figure, cJSON_GetObjectItem(said, "figures")) {
        char word[64];
        snprintf(word, sizeof(word), " %s=", figure->string);
        const char *found = strstr(expected, word);
        double wanted = found ? strtod(found + strlen(word), NULL) : 0;
        bool counted = !found && strstr(counts, figure->string);
        if (!counted && cJSON_IsNumber(figure) && figure->valuedouble != wanted)
            fail_msg("%s: %s is %.0f, not %.0f", name, figure->string, figure->valuedouble, wanted);
    }
}

static void check_said(const char *name, const cJSON *said, const char *expected)
{
    expectation e;
    char violated[1024], unchecked[1024];
    read_expectation(expected, &e);
    list_guarantees(said, "violated", violated, sizeof(violated));
    list_guarantees(said, "unchecked", unchecked, sizeof(unchecked));
    bool all = strcmp(e.unchecked, "*") == 0 && strstr(unchecked, "oversold ") == unchecked;
    if (strcmp(fx_json_text(said, "verdict"), e.verdict) != 0 ||
        strcmp(violated, e.violated) != 0 || (!all && strcmp(unchecked, e.unchecked) != 0)) {
        char *text = cJSON_Print(said);
        fail_msg("%s: %s %s ? %s, not '%s': %s", name, fx_json_text(said, "verdict"), violated,
                 unchecked, expected, text);
    }
    check_figures(name, said, e.figures);
}

/* ---- recorded histories, and changes to them ------------------------------------------------- */

static char dir[128], path[160]; /* of the history that is changed */

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/changed.buys", dir);
    return 0;
}

/* A file's text; to be freed. */
static char *read_text(const char *from)
{
    char *text = calloc(1, 65536);
    FILE *file = fopen(from, "r");
    if (!file)
        fail_msg("there is no %s", from);
    assert_non_null(text);
    assert_in_range(fread(text, 1, 65535, file), 1, 65534);
    fclose(file);
    return text;
}

static char *read_history(const char *name)
{
    char from[160];
    snprintf(from, sizeof(from), HISTORIES "%s.buys", name);
    return read_text(from);
}

static void write_text(const char *text, size_t len)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, len, file), len);
    fclose(file);
}

/* Writes `text` with `old`, which it has, replaced where it stands first. */
static void write_changed(const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    if (!at)
        fail_msg("'%s' does not stand there", old);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    fclose(file);
}

/* One block of the file of changes. */
typedef struct change {
    char name[64], old[4096], new[4096], expected[1024], sentences[4096];
} change;

/* "! NAME COUNT: SENTENCE" for each that is violated, in their order; "~ REASON" for each doubt. */
static void check_sentences(const char *what, const cJSON *said, const char *expected)
{
    const cJSON *guarantee, *reason;
    char all[4096] = "";
    cJSON_ArrayForEach(guarantee, cJSON_GetObjectItem(said, "guarantees")) {
        size_t used = strlen(all);
        if (strcmp(fx_json_text(guarantee, "state"), "violated") == 0)
            snprintf(all + used, sizeof(all) - used, "! %s %.0f: %s\n",
                     fx_json_text(guarantee, "name"),
                     cJSON_GetObjectItem(guarantee, "count")->valuedouble,
                     fx_json_text(guarantee, "first"));
    }
    cJSON_ArrayForEach(reason, cJSON_GetObjectItem(said, "reasons")) {
        size_t used = strlen(all);
        snprintf(all + used, sizeof(all) - used, "~ %s\n", reason->valuestring);
    }
    if (strcmp(all, expected) != 0)
        fail_msg("%s: it says\n%snot\n%s", what, all, expected);
}

static void add_line(char *text, size_t size, const char *line, bool first)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s", first ? "" : "\n", line[1] ? line + 2 : "");
}

/* The places of a history's lines but those of its head and end. Returns how many. */
static int find_lines(const char *text, const char *lines[1024], const char **end)
{
    int count = 0;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
        bool head = strncmp(at, "flashsale", 9) == 0 || strncmp(at, "sale ", 5) == 0;
        if (!head && *at != '#')
            lines[count++] = at;
        assert_in_range(count, 0, 1023);
    }
    bool ends = count > 0 && strncmp(lines[count - 1], "end", 3) == 0;
    *end = ends ? lines[count - 1] : NULL;
    return count - ends;
}

static void add_whole_line(char *to, size_t *len, const char *line)
{
    size_t add = strcspn(line, "\n") + 1;
    memcpy(to + *len, line, add);
    *len += add;
}

/* What is made of the history with its lines turned round, so that it begins with the one at
 * `first`; NULL: it can not be read. */
static lt_judgement *judge_turned(const char *text, const char *const *lines, int count,
                                  const char *end, int first)
{
    static char turned[65536];
    char err[512];
    size_t len = 0;
    lt_history history;
    for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1)
        if (strncmp(at, "flashsale", 9) == 0 || strncmp(at, "sale ", 5) == 0)
            add_whole_line(turned, &len, at);
    for (int i = 0; i < count; i++)
        add_whole_line(turned, &len, lines[(first + i) % count]);
    if (end)
        add_whole_line(turned, &len, end);
    FILE *file = fmemopen(turned, len, "r");
    assert_non_null(file);
    bool good = history_parse(&history, "turned", file, err, sizeof(err));
    lt_judgement *judgement = good ? judge_history(&history, NULL) : NULL;
    history_release(&history);
    fclose(file);
    return judgement;
}

/* The times count, not the order of the lines: each of them may be the first, and the last. But for
 * what is "falling": of an order that was told twice the first line counts. */
static void check_turned(const char *what, const char *text)
{
    const char *lines[1024], *end;
    int count = find_lines(text, lines, &end);
    lt_judgement *one = judge_turned(text, lines, count, end, 0);
    for (int first = 1; first < count; first++) {
        lt_judgement *other = judge_turned(text, lines, count, end, first);
        bool same = one && other && one->verdict == other->verdict &&
                    memcmp(&one->figures, &other->figures, sizeof(one->figures)) == 0;
        for (int i = 0; same && i < guarantee_count; i++)
            same = (one->findings[i].state == other->findings[i].state &&
                    one->findings[i].count == other->findings[i].count) ||
                   strcmp(guarantees[i].name, "falling") == 0;
        if (!same)
            fail_msg("%s: with line %d first it is another", what, first);
        judgement_free(other);
    }
    judgement_free(one);
}

static void hold_change(const change *c)
{
    if (c->expected[0] == '\0')
        return;
    char *text = read_history(c->name), what[256];
    write_changed(text, c->old, c->new);
    free(text);
    text = read_text(path);
    snprintf(what, sizeof(what), "%s with '%.150s'", c->name, c->new);
    cJSON *said = judge(path);
    if (!said)
        fail_msg("%s: unreadable", what);
    check_said(what, said, c->expected);
    check_sentences(what, said, c->sentences);
    check_turned(what, text);
    cJSON_Delete(said);
    free(text);
}

/* GUARANTEES.md has the table as it stands in the program: line by line, below each verdict. */
static void the_table_is_written_down(void **state)
{
    (void)state;
    char line[512], *page = NULL;
    size_t len = 0;
    FILE *file = fopen("loadtest/GUARANTEES.md", "r");
    assert_non_null(file);
    assert_true(getdelim(&page, &len, '\0', file) > 0);
    fclose(file);
    const char *at = page;
    for (int i = 0; i < guarantee_count; i++) {
        const lt_guarantee *g = &guarantees[i];
        const char *verdict = verdict_name(g->verdict);
        if (i == 0 || g->verdict != guarantees[i - 1].verdict) {
            snprintf(line, sizeof(line), "\n**%s**\n\n", verdict);
            if (!(at = strstr(page, line)))
                fail_msg("loadtest/GUARANTEES.md has no list below %s", verdict);
            at += strlen(line);
        }
        bool always = strcmp(g->applies, "always") == 0;
        snprintf(line, sizeof(line), "- %s%s`%s`: %s (%s%s%s)\n", g->id, *g->id ? " " : "", g->name,
                 g->sentence, g->evidence, always ? "" : "; ", always ? "" : g->applies);
        if (strncmp(at, line, strlen(line)) != 0)
            fail_msg("loadtest/GUARANTEES.md lacks this line below %s: %s", verdict, line);
        at += strlen(line);
    }
    free(page);
}

static void changes_are_seen_and_nothing_else(void **state)
{
    (void)state;
    change c = {.name = ""};
    char line[4096];
    int olds = 0, news = 0;
    FILE *file = fopen(HISTORIES "changes", "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file)) {
        if (line[0] == '!' || line[0] == '~') {
            size_t used = strlen(c.sentences);
            snprintf(c.sentences + used, sizeof(c.sentences) - used, "%s", line);
            continue;
        }
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '-') {
            add_line(c.old, sizeof(c.old), line, olds++ == 0);
        } else if (line[0] == '+') {
            add_line(c.new, sizeof(c.new), line, news++ == 0);
        } else if (line[0] == '=') {
            snprintf(c.expected, sizeof(c.expected), "%.1000s", line + 2);
        } else if (line[0] != '\0' && line[0] != '#') {
            hold_change(&c);
            c = (change){.name = ""};
            olds = news = 0;
            snprintf(c.name, sizeof(c.name), "%.60s", line);
        }
    }
    hold_change(&c);
    fclose(file);
    for (int i = 0; i < guarantee_count; i++) {
        if (!has_failed[i])
            fail_msg("no history breaks '%s'", guarantees[i].name);
    }
}

/* ---- what can not be read -------------------------------------------------------------------- */

static const struct {
    const char *old, *new, *says;
} slips[] = {
    {"end\n", "end\nend\n", ":21: a line behind the end"},
    {"end\n", "end now\n", ":20: 'now' is no NAME=VALUE"},
    {"flashsale-history 2\n", "", ":1: it does not begin with 'flashsale-history 2'"},
    {"flashsale-history 2", "flashsale-history 1",
     ":1: it does not begin with 'flashsale-history 2'"},
    {"sale id=5f03a1 ", "sale id=5f03a1  ", ":3: '' is no NAME=VALUE"},
    {"sale id=5f03a1", "sale", ":3: id is missing"},
    {"sale id=5f03a1", "sale id=", ": the sale has no id"},
    {"sale id=5f03a1", "sale id=-", ":3: id='-' is not to be left open"},
    {"sale id=5f03a1", "# id=5f03a1", ": it has no sale"},
    {"end\n",
     "sale id=1 item=P strategy=s durability=memory stock=1 limit=0 segments=0 lease_us=0\nend\n",
     ": it has more than one sale"},
    {"segments=0", "segments=1025", ": too many segments"},
    {"stock=3", "stock=1000000001", ":3: stock='1000000001' is none, or out of range"},
    {"stock=3", "stock=-3", ":3: stock='-3' is none, or out of range"},
    {"stock=3", "stock=3x", ":3: stock='3x' is none, or out of range"},
    {"stock=3", "stock=", ":3: stock='' is none, or out of range"},
    {"stock=3", "stock=99999999999999999999999",
     ":3: stock='99999999999999999999999' is none, or out of range"},
    {"fences=1", "fences=2", ":3: fences='2' is none, or out of range"},
    {"fences=1", "stock=3", ":3: stock='3' is there twice"},
    {"fences=1", "colour=red", ":3: colour='red' is not known here"},
    {"fences=1", "fences", ":3: 'fences' is no NAME=VALUE"},
    {"ask from=2000", "dance from=2000", ":5: 'dance' is no word of a history"},
    {"ask from=2000", "ask from=3001", ":5: it ends before it begins"},
    {"ask from=2000", "ask from=-", ":5: from='-' is not to be left open"},
    {"ask from=2000", "ask from=4000000000000000001",
     ":5: from='4000000000000000001' is none, or out of range"},
    {"ask from=2000 to=3000", "ask from=2000", ":5: to is missing"},
    {"status=201", "status=42", ":5: the status is none of HTTP's"},
    {"status=201", "status=1000", ":5: the status is none of HTTP's"},
    {"target=a ", "", ":10: target is missing"},
    {"target=a", "target=?", ":5: target='?' is none, or out of range"},
    {"request=r1", "request=r%2", ":5: request='r%2' is none, or out of range"},
    {"request=r1", "request=r%00", ":5: request='r%00' is none, or out of range"},
    {"request=r1", "request=r\x7f", ":5: request='r\x7f' is none, or out of range"},
    {"remaining=2 fence=70 sale", "remaining=2 fence=9000000000000001 sale",
     ":5: fence='9000000000000001' is none, or out of range"},
    {"look from=9100", "look from=9900", ":11: it ends before it begins"},
    {"status=200", "status=200 final=2", ":11: final='2' is none, or out of range"},
    {"stock at=1000", "stock from=1000", ":4: at, or from and to, is missing"},
    {"stock at=1000", "stock from=1000 to=900", ":4: it ends before it begins"},
    {"stock at=1000", "stock segment=1 at=1000", ":4: no segment of the sale"},
    {"owner=a:1 ", "", ":6: owner is missing"},
    {"order number=1", "order number=0", ":15: orders are numbered from 1 on"},
    {"order number=1", "order segment=1 number=1", ":15: no segment of the sale"},
    {"order number=1", "order order=5f03a1-1 number=1", ":15: it needs an order or a number"},
    {"order number=1", "order", ":15: it needs an order or a number"},
    {"rest remaining=0", "audit n=1 from=1 to=2 status=200\naudit n=1 from=1 to=2 status=200",
     ":19: a second audit of this number"},
    {"stock at=1000", "stock status=500 at=1000", ":4: it has numbers although it failed"},
    {"rest remaining=0", "audit n=1 from=1 to=2 status=1000", ":18: the status is none of HTTP's"},
    {"rest remaining=0", "rest remaining=0\nrest remaining=0", ":19: a second rest"},
    {"rest remaining=0", "rest segment=1 remaining=0", ":18: no segment of the sale"},
    {"left locks=0", "left locks=-1", ":19: locks='-1' is none, or out of range"},
};

static void what_makes_no_sense_is_unreadable(void **state)
{
    (void)state;
    char *text = read_history("good-plain"), nul[] = "flashsale-history 2\n#\0\nend\n";
    for (size_t i = 0; i < COUNT(slips); i++) {
        write_changed(text, slips[i].old, slips[i].new);
        if (judge(path))
            fail_msg("%s: it was read", slips[i].new);
        if (strcmp(unreadable, slips[i].says) != 0)
            fail_msg("%s: \"%s\"", slips[i].new, unreadable);
    }
    free(text);
    write_text("", 0);
    assert_null(judge(path));
    write_text(nul, sizeof(nul) - 1);
    assert_null(judge(path));
    assert_null(judge(dir));
    assert_null(judge("/nowhere"));
}

/* Wherever a history is cut off, it is not taken for a whole one; and what it proves it proves. */
static void a_part_is_never_safe(void **state)
{
    (void)state;
    static const char *const whole[] = {"good-plain", "good-service", "none-oversells"};
    for (size_t i = 0; i < COUNT(whole); i++) {
        char *text = read_history(whole[i]);
        for (size_t len = 0; len < strlen(text); len += 37) {
            write_text(text, len);
            cJSON *said = judge(path);
            const char *verdict = said ? fx_json_text(said, "verdict") : "";
            bool told = i == 2 && len > (size_t)(strstr(text, "request=n4") - text);
            if (said && strcmp(verdict, "INVALID") != 0 &&
                (i < 2 || strcmp(verdict, "OVERSOLD") != 0))
                fail_msg("%zu bytes of %s: %s", len, whole[i], verdict);
            assert_true(!told || strcmp(verdict, "INVALID") != 0);
            cJSON_Delete(said);
        }
        free(text);
    }
}

static void texts_are_escaped(void **state)
{
    (void)state;
    char *text = read_history("liar-I4");
    write_changed(text, "request=r3 user=u1 target=a status=0",
                  "request=%2D user=u1 target=%3F "
                  "status=0");
    free(text);
    cJSON *said = judge(path);
    assert_string_equal(fx_json_text(said, "verdict"), "LOST");
    cJSON_Delete(said);
}

/* ---- the command ----------------------------------------------------------------------------- */

static fx_process *verify(const char *const *arguments, int *ret_status)
{
    char program[256];
    const char *argv[8] = {fx_build_path("loadtest", program, sizeof(program)), "verify"};
    for (int i = 0; i < 5 && arguments[i]; i++)
        argv[i + 2] = arguments[i];
    fx_process *process = fx_spawn(argv, true);
    *ret_status = fx_process_wait(process, 60000);
    return process;
}

static void the_worst_of_several_histories_counts(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[4];
        int status;
    } cases[] = {
        {{HISTORIES "good-plain.buys", HISTORIES "good-fault.buys"}, SAFE},
        {{HISTORIES "good-plain.buys", HISTORIES "unchecked.buys"}, INVALID},
        {{HISTORIES "good-counts.buys"}, INVALID},
        {{HISTORIES "liar-I1.buys", HISTORIES "unchecked.buys"}, BROKEN},
        {{HISTORIES "liar-I1.buys", "/nowhere", HISTORIES "good-plain.buys"}, BROKEN},
        {{"/nowhere", HISTORIES "good-plain.buys"}, INVALID},
        {{"--i7-us=8000480", HISTORIES "liar-I7.buys"}, SAFE},
        {{"--i7-us=8000479", HISTORIES "liar-I7.buys"}, BROKEN},
        {{"--json"}, USAGE},
        {{"--i7-us", "soon", HISTORIES "good-plain.buys"}, USAGE},
        {{"--i7-us", "-1", HISTORIES "good-plain.buys"}, USAGE},
        {{"--colour", HISTORIES "good-plain.buys"}, USAGE},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        int status;
        fx_process_free(verify(cases[i].arguments, &status));
        if (status != cases[i].status)
            fail_msg("%s ...: exit %d, not %d", cases[i].arguments[0], status, cases[i].status);
    }
}

static void a_program_reads_all_of_it(void **state)
{
    (void)state;
    cJSON *said = judge(HISTORIES "good-plain.buys");
    const cJSON *rows = cJSON_GetObjectItem(said, "guarantees");
    assert_string_equal(fx_json_text(said, "file"), HISTORIES "good-plain.buys");
    assert_string_equal(fx_json_text(said, "strategy"), "combined");
    assert_string_equal(fx_json_text(said, "durability"), "memory");
    assert_true(cJSON_GetObjectItem(said, "stock")->valuedouble == 3);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(said, "figures")), 18);
    assert_int_equal(cJSON_GetArraySize(rows), guarantee_count);
    for (int i = 0; i < guarantee_count; i++) {
        const cJSON *row = cJSON_GetArrayItem(rows, i);
        assert_string_equal(fx_json_text(row, "id"), guarantees[i].id);
        assert_string_equal(fx_json_text(row, "name"), guarantees[i].name);
        assert_string_equal(fx_json_text(row, "sentence"), guarantees[i].sentence);
        assert_string_equal(fx_json_text(row, "verdict"), verdict_name(guarantees[i].verdict));
    }
    cJSON_Delete(said);
}

/* On one screen: 24 lines of 80, the verdict last. */
static void people_can_read_it(void **state)
{
    (void)state;
    static const char *const names[] = {"crowded", "doubted", "unchecked", "none-oversells"};
    for (size_t i = 0; i < COUNT(names); i++) {
        char file[160];
        int status, lines = 0;
        snprintf(file, sizeof(file), HISTORIES "%s.txt", names[i]);
        char *expected = read_text(file);
        snprintf(file, sizeof(file), HISTORIES "%s.buys", names[i]);
        fx_process *process = verify((const char *const[]){file, NULL}, &status);
        const char *text = fx_process_stdout(process);
        assert_string_equal(text, expected);
        free(expected);
        for (const char *at = text; *at != '\0'; at += strcspn(at, "\n") + 1) {
            assert_true(strcspn(at, "\n") <= 80);
            lines++;
        }
        assert_in_range(lines, 5, 24);
        fx_process_free(process);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_is_written_down),
        cmocka_unit_test(changes_are_seen_and_nothing_else),
        cmocka_unit_test(what_makes_no_sense_is_unreadable),
        cmocka_unit_test(a_part_is_never_safe),
        cmocka_unit_test(texts_are_escaped),
        cmocka_unit_test(the_worst_of_several_histories_counts),
        cmocka_unit_test(a_program_reads_all_of_it),
        cmocka_unit_test(people_can_read_it),
    };
    return cmocka_run_group_tests_name("judge", tests, setup, NULL);
}
