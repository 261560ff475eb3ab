/*
 * Recorded histories of buys, right ones and one for each way to be wrong, and what buycheck makes
 * of them: exactly what is violated in it, and the figures. Small changes to a right history say
 * what each member is worth.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"

#define HISTORIES "tests/tools/histories/"

enum { HELD = 0, VIOLATED = 1, UNREADABLE = 2, UNCHECKED = 3, USAGE = 64 };

/* ---- running it ------------------------------------------------------------------------------ */

static fx_process *run(const char *const *arguments, int *ret_status)
{
    char program[256];
    const char *argv[8] = {fx_build_path("tests/buycheck", program, sizeof(program))};
    for (int i = 0; i < 6 && arguments[i]; i++)
        argv[i + 1] = arguments[i];
    fx_process *process = fx_spawn(argv, true);
    *ret_status = fx_process_wait(process, 60000);
    return process;
}

/* What it says of a history, as JSON; NULL: it can not read it. */
static cJSON *judge(const char *path, const char *option, int *ret_status)
{
    const char *arguments[] = {"--json", path, option, NULL};
    fx_process *process = run(arguments, ret_status);
    cJSON *said = cJSON_Parse(fx_process_stdout(process));
    if (!said != (*ret_status == UNREADABLE))
        fail_msg("%s: exit %d, '%s%s'", path, *ret_status, fx_process_stdout(process),
                 fx_process_stderr(process));
    if (!said)
        assert_non_null(strstr(fx_process_stderr(process), path));
    fx_process_free(process);
    return said;
}

/* "I1 I6 ": the checks in this state. */
static void list_checks(const cJSON *said, const char *state, char *ret, size_t len)
{
    const cJSON *check;
    ret[0] = '\0';
    cJSON_ArrayForEach(check, cJSON_GetObjectItem(said, "invariants"))
    {
        size_t used = strlen(ret);
        if (strcmp(cJSON_GetObjectItem(check, "state")->valuestring, state) == 0)
            snprintf(ret + used, len - used, "%s%s", used ? " " : "",
                     cJSON_GetObjectItem(check, "name")->valuestring);
    }
}

/* Those named in `expected`, as in "oversold=1 stuck=?", are so, and all others that are to be 0
 * are 0. */
static void check_figures(const char *name, const cJSON *said, const char *expected)
{
    static const char *const nought[] = {
        "oversold",   "lost_updates", "unordered",  "undersold", "duplicates",
        "acked_lost", "refused_sold", "unresolved", "stuck",     NULL};
    const cJSON *figures = cJSON_GetObjectItem(said, "figures"), *figure;
    cJSON_ArrayForEach(figure, figures)
    {
        char word[64], is[64];
        int i = 0;
        while (nought[i] && strcmp(nought[i], figure->string) != 0)
            i++;
        snprintf(word, sizeof(word), "%s=", figure->string);
        const char *found = strstr(expected, word);
        while (found && found != expected && found[-1] != ' ')
            found = strstr(found + 1, word);
        const char *wanted = found ? found + strlen(word) : "0";
        if (!found && !nought[i])
            continue;
        snprintf(is, sizeof(is), "%.0f", figure->valuedouble);
        if (cJSON_IsNull(figure))
            snprintf(is, sizeof(is), "?");
        if (strcspn(wanted, " ") != strlen(is) || strncmp(wanted, is, strlen(is)) != 0)
            fail_msg("%s: %s is %s, not as in '%s'", name, figure->string, is, expected);
    }
}

static void check_said(const char *name, const cJSON *said, const char *violated,
                       const char *figures)
{
    char list[128];
    list_checks(said, "violated", list, sizeof(list));
    if (strcmp(list, violated) != 0) {
        char *all = cJSON_Print(said);
        fail_msg("%s: violated '%s', not '%s': %s", name, list, violated, all);
    }
    check_figures(name, said, figures);
}

/* ---- recorded histories ---------------------------------------------------------------------- */

static const struct {
    const char *file;
    int status;
    const char *violated, *figures;
} recorded[] = {
    {"good-plain", HELD, "", "requests=4 attempts=4 sold=3"},
    {"good-sharded", HELD, "", "requests=5 sold=4"},
    {"good-fault", HELD, "", "requests=8 attempts=12 sold=5 landed=1"},
    {"unchecked", UNCHECKED, "",
     "sold=1 unresolved=1 oversold=? lost_updates=? unordered=? undersold=? duplicates=? "
     "acked_lost=? refused_sold=? stuck=?"},
    {"none-oversells", VIOLATED, "I1 I2", "sold=3 oversold=1 lost_updates=1"},
    {"liar-I1", VIOLATED, "I1", "lost_updates=1"},
    {"liar-I1-unordered", VIOLATED, "I1", "sold=2 unordered=1"},
    {"liar-I2", VIOLATED, "I2", ""},
    {"liar-I3", VIOLATED, "I3", "duplicates=1"},
    {"liar-I4", VIOLATED, "I4", "acked_lost=1 lost_updates=1"},
    {"liar-I5", VIOLATED, "I5", "refused_sold=1"},
    {"liar-I6", VIOLATED, "I6", ""},
    {"liar-I6-stranger", VIOLATED, "I6", ""},
    {"liar-I7", VIOLATED, "I7", "stuck=1"},
    {"liar-I7-instance", VIOLATED, "I7", "stuck=1"},
    {"liar-I8", VIOLATED, "I8", ""},
    {"liar-order", VIOLATED, "order", ""},
    {"liar-limit", VIOLATED, "limit", ""},
    {"liar-sold_out", VIOLATED, "sold_out", "undersold=1"},
};

static void recorded_histories_are_judged(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(recorded) / sizeof(recorded[0]); i++) {
        char path[128];
        int status;
        snprintf(path, sizeof(path), HISTORIES "%s.buys", recorded[i].file);
        cJSON *said = judge(path, NULL, &status);
        assert_non_null(said);
        check_said(recorded[i].file, said, recorded[i].violated, recorded[i].figures);
        if (status != recorded[i].status)
            fail_msg("%s: exit %d, not %d", recorded[i].file, status, recorded[i].status);
        cJSON_Delete(said);
    }
}

/* ---- a change to a right one ----------------------------------------------------------------- */

/* The file's text; to be freed. */
static char *read_file(const char *path)
{
    char *text = calloc(1, 65536);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_non_null(text);
    assert_in_range(fread(text, 1, 65535, file), 1, 65534);
    fclose(file);
    return text;
}

/* Writes `text` with `old`, which it has, replaced where it stands first. */
static void write_changed(const char *path, const char *text, const char *old, const char *new)
{
    const char *at = strstr(text, old);
    if (!at)
        fail_msg("'%s' does not stand there", old);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
    fclose(file);
}

static const struct change {
    const char *file, *old, *new;
    const char *violated, *figures;
    const char *unchecked; /* all that is */
} changes[] = {
    /* I1, I2 */
    {"good-plain", "rest remaining=0", "rest remaining=-1", "I1 I2", "unordered=1", ""},
    {"good-plain", "at=4100 remaining=1", "at=4100 remaining=-1", "I2", "", ""},
    {"good-plain", "at=1000 remaining=3", "at=1000 remaining=4", "I2", "", ""},
    {"good-plain", "units=2 oversold=0", "units=4 oversold=0", "I2", "", ""},
    {"good-plain", "units=2 oversold=0", "units=2 oversold=1", "I2", "", ""},
    {"good-plain", "remaining=1 fence=71 sale", "remaining=2 fence=71 sale", "I2 I4", "", ""},
    {"good-plain", "remaining=1 fence=71 sale", "remaining=- fence=71 sale", "", "", ""},
    {"good-plain", "stock at=1000 remaining=3", "stock at=1000 remaining=0", "I2", "", ""},
    {"good-plain", "rest remaining=0\n", "", "",
     "oversold=? lost_updates=? unordered=? "
     "undersold=? duplicates=? acked_lost=? refused_sold=?",
     "I1 I2 I3 I4 I5 I6 sold_out"},
    {"good-plain", "rest remaining=0", "rest remaining=-", "",
     "oversold=0 acked_lost=0 lost_updates=? unordered=? undersold=?", "I1 sold_out"},
    {"good-sharded", "from=3300 to=3600 remaining=1", "from=3300 to=3600 remaining=3", "", "", ""},
    {"good-sharded", "from=3300 to=3600 remaining=1", "from=3401 to=3600 remaining=3", "I2", "",
     ""},
    {"good-sharded", "stock segment=1 at=5200 remaining=0",
     "stock segment=1 at=5200 remaining=1 units=1\nstock segment=1 at=5300 remaining=0", "", "",
     ""},
    {"good-sharded", "stock segment=1 at=5200 remaining=0",
     "stock segment=0 at=5200 remaining=1 units=1\nstock segment=1 at=5300 remaining=0", "I2", "",
     ""},
    {"good-sharded", "rest segment=1 remaining=0\n", "", "",
     "oversold=? lost_updates=? "
     "unordered=? undersold=? duplicates=? acked_lost=? refused_sold=?",
     "I1 I2 I3 I4 I5 I6 sold_out"},
    /* I3 */
    {"good-fault", "request=f2 user=u2 quantity=1 status=504 code=unknown",
     "request=f2 user=u2 quantity=1 status=201 order=5f03a3-7", "I3 I4 order", "", ""},
    {"good-sharded", "request=s3 user=u3 quantity=1 fence=41",
     "request=s1 user=u1 quantity=1 fence=41", "I2 I3 I4", "duplicates=1 acked_lost=1 oversold=1",
     ""},
    /* I4 */
    {"good-plain", "order=5f03a1-2", "order=5f03a1-7", "I4 order", "", ""},
    {"good-plain", "order=5f03a1-2", "order=5f03a9-2", "I4", "", ""},
    {"good-plain", "order=5f03a1-2", "order=2", "", "", ""},
    {"good-plain", "order=5f03a1-2", "order=two", "I4", "", ""},
    {"good-plain", "order=5f03a1-3 quantity=1", "order=5f03a1-3 quantity=2", "I4", "", ""},
    {"good-plain", "order=5f03a1-3 quantity=1 user=u1", "order=5f03a1-3 quantity=1 user=u4", "I4",
     "", ""},
    {"good-plain", "number=2 request=r2 user=u2", "number=2 request=r2 user=u4", "I4", "", ""},
    {"good-plain", "fence=71 sale", "fence=70 sale", "I4", "", ""},
    {"good-plain", "fence=71 sale=5f03a1 instance=b", "fence=71 sale=5f03a1 instance=c", "", "",
     ""},
    {"good-sharded", "order=5f03a2-1-2", "order=5f03a2-0-2", "I4 order", "", ""},
    {"good-sharded", "order=5f03a2-1-2", "order=5f03a2-9-2", "I4", "", ""},
    /* I5 */
    {"good-plain", "status=409 code=sold_out", "status=504 code=unknown", "", "unresolved=1", "I5"},
    {"good-plain", "status=409 code=sold_out", "status=500", "", "unresolved=1", "I5"},
    {"good-plain", "status=409 code=sold_out", "status=409 code=tomorrow", "", "", ""},
    {"good-plain", "look from=9100 to=9200 request=r3 status=200 found=1",
     "look from=9100 to=9200 request=r3 status=503 found=-", "", "unresolved=1 sold=2", "I5"},
    {"good-plain", "look from=9100 to=9200 request=r3 status=200 found=1",
     "look from=9100 to=9200 request=r3 status=404 found=0 final=1", "I5", "refused_sold=1", ""},
    {"good-plain", "ask from=9500",
     "look from=9100 to=9200 request=r3 status=404 found=0 final=1\nask from=9500", "I5", "", ""},
    {"good-plain", "ask from=9500 to=9900 request=r4", "ask from=9500 to=9900 request=r3", "I5", "",
     ""},
    {"good-plain", "order number=3 request=r3", "order number=3 request=r9", "I2 I4 I5",
     "acked_lost=1 oversold=1", ""},
    {"good-fault",
     "look from=20000200 to=20000300 request=f3 status=404 found=0 final=1\n"
     "ask from=20000400 to=20000500 request=f3 user=u3 quantity=1 status=409 code=request_void",
     "ask from=20000400 to=20000500 request=f3 user=u3 quantity=1 status=503 code=busy", "",
     "unresolved=1", "I5"},
    {"good-fault",
     "look from=20000200 to=20000300 request=f3 status=404 found=0 final=1\n"
     "ask from=20000400 to=20000500 request=f3 user=u3 quantity=1 status=409 code=request_void",
     "look from=30020200 to=30020300 request=f3 status=404 found=0 final=0\n"
     "ask from=20000400 to=20000500 request=f3 user=u3 quantity=1 status=503 code=busy",
     "I5", "unresolved=1", ""},
    /* I6 */
    {"good-plain", "number=1 request=r1 user=u1 quantity=1 fence=70",
     "number=1 request=r1 user=u1 quantity=1 fence=0", "I4 I6", "", ""},
    {"good-plain", "fences=1", "fences=0", "I6", "", ""},
    {"good-plain", "fences=1", "fences=-", "", "", ""},
    {"good-fault", "fences=0", "fences=-", "", "", ""},
    {"good-fault", "fences=0", "fences=1", "I6", "", ""},
    {"good-plain", "fence=71 remaining=0 instance=b", "fence=71 remaining=0 instance=a", "I6", "",
     ""},
    {"good-plain", "owner=- fence=71", "owner=- fence=70", "I6", "", ""},
    {"good-plain", "owner=- fence=71", "owner=a:1 fence=71", "I6", "", ""},
    {"good-plain", "key=lock owner=- fence=71", "key=other owner=a:1 fence=70", "", "", ""},
    {"good-plain", "rest", "stranger from=1 to=2 kept=1\nrest", "", "", ""},
    /* I7 */
    {"good-plain", "ask from=9500", "fault at=9410 name=pause\nask from=9500", "", "stuck=?", "I7"},
    {"good-plain", "ask from=9500", "fault at=9410 name=pause\nheal at=9420\nask from=9500", "", "",
     ""},
    {"good-plain", "ask from=9500", "fault at=9410 name=pause\nheal at=9501\nask from=9500", "",
     "stuck=?", "I7"},
    {"good-plain", "ask from=9500 to=9900 request=r4 user=u3 quantity=1 status=409 code=sold_out",
     "heal at=9420\nask from=9500 to=9900 request=r4 user=u3 quantity=1 status=503 code=busy", "I7",
     "stuck=1", ""},
    {"good-plain", "ask from=9500 to=9900 request=r4 user=u3 quantity=1 status=409 code=sold_out",
     "heal at=9420\nfault at=9990 name=pause\n"
     "ask from=9500 to=9900 request=r4 user=u3 quantity=1 status=503 code=busy",
     "", "stuck=?", "I7"},
    {"good-plain", "ask from=9500",
     "heal at=9000\nfault at=9001 name=pause\nheal at=9010\nask from=9500", "", "", ""},
    {"good-plain", "ask from=9500",
     "heal at=9000\nfault at=9000000 name=pause\nheal at=19000000\nask from=9500", "", "stuck=?",
     "I7"},
    /* I8 */
    {"good-plain", "locks=0", "locks=1", "I8", "", ""},
    {"good-plain", "threads=0", "threads=2", "I8", "", ""},
    {"good-plain", "descriptors=0", "descriptors=1", "I8", "", ""},
    {"good-plain", "threads=0", "threads=-", "", "", "I8"},
    {"good-plain", "to=9900", "to=-", "I8", "stuck=1", ""},
    /* order, limit, sold_out */
    {"good-plain", "ask from=3100 to=4000", "ask from=2900 to=4000", "", "", ""},
    {"good-plain", "order=5f03a1-2 remaining=1", "order=5f03a1-1 remaining=1", "I4 order", "", ""},
    {"good-fault", "limit=2", "limit=1", "limit", "", ""},
    {"liar-sold_out", "request=r4 user=u3 quantity=1", "request=r4 user=u3 quantity=2", "",
     "undersold=0", ""},
};

static void changes_are_seen_and_nothing_else(void **state)
{
    (void)state;
    char dir[128], path[160], from[160], name[256], list[128];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/changed.buys", dir);
    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        const struct change *change = &changes[i];
        int status;
        snprintf(from, sizeof(from), HISTORIES "%s.buys", change->file);
        char *text = read_file(from);
        write_changed(path, text, change->old, change->new);
        free(text);
        snprintf(name, sizeof(name), "%s with '%s'", change->file, change->new);
        cJSON *said = judge(path, NULL, &status);
        assert_non_null(said);
        check_said(name, said, change->violated, change->figures);
        list_checks(said, "unchecked", list, sizeof(list));
        if (strcmp(list, change->unchecked) != 0)
            fail_msg("%s: unchecked '%s', not '%s'", name, list, change->unchecked);
        int wanted = change->violated[0] ? VIOLATED : change->unchecked[0] ? UNCHECKED : HELD;
        if (status != wanted)
            fail_msg("%s: exit %d, not %d", name, status, wanted);
        cJSON_Delete(said);
    }
    fx_dir_remove(dir);
}

/* ---- what can not be read -------------------------------------------------------------------- */

static const struct {
    const char *old, *new;
} slips[] = {
    {"end\n", ""},
    {"end\n", "end"},
    {"end\n", "end\nend\n"},
    {"end\n", "end now\n"},
    {"flashsale-history 1\n", ""},
    {"flashsale-history 1", "flashsale-history 2"},
    {"sale id=5f03a1 ", "sale id=5f03a1  "},
    {"sale id=5f03a1", "sale"},
    {"sale id=5f03a1", "sale id="},
    {"sale id=5f03a1", "sale id=-"},
    {"sale id=5f03a1", "# id=5f03a1"},
    {"end\n", "sale id=1 item=P strategy=s durability=memory stock=1 limit=0 segments=0 "
              "lease_us=0\nend\n"},
    {"segments=0", "segments=65"},
    {"stock=3", "stock=1000000001"},
    {"stock=3", "stock=-3"},
    {"stock=3", "stock=3x"},
    {"stock=3", "stock="},
    {"stock=3", "stock=99999999999999999999999"},
    {"fences=1", "fences=2"},
    {"fences=1", "stock=3"},
    {"fences=1", "colour=red"},
    {"fences=1", "fences"},
    {"ask from=2000", "dance from=2000"},
    {"ask from=2000", "ask from=3001"},
    {"ask from=2000", "ask from=-"},
    {"ask from=2000", "ask from=4000000000000000001"},
    {"ask from=2000 to=3000", "ask from=2000"},
    {"status=201", "status=42"},
    {"status=201", "status=600"},
    {"order=5f03a1-1 ", ""},
    {"order=5f03a1-1 ", "order=- "},
    {"remaining=2 fence=70 sale", "remaining=2 fence=9000000000000001 sale"},
    {"look from=9100", "look from=9900"},
    {"found=1", "found=2"},
    {"stock at=1000", "stock from=1000"},
    {"stock at=1000", "stock from=1000 to=900"},
    {"stock at=1000", "stock segment=1 at=1000"},
    {"owner=a:1 ", ""},
    {"order number=1", "order number=0"},
    {"order number=1", "order segment=1 number=1"},
    {"rest remaining=0", "rest remaining=0\nrest remaining=0"},
    {"rest remaining=0", "rest segment=1 remaining=0"},
    {"left locks=0", "left locks=-1"},
};

static void expect_unreadable(const char *path, const char *what)
{
    int status;
    cJSON *said = judge(path, NULL, &status);
    if (said || status != UNREADABLE)
        fail_msg("%s: exit %d", what, status);
}

static void what_makes_no_sense_is_unreadable(void **state)
{
    (void)state;
    char dir[128], path[160];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/slip.buys", dir);
    char *text = read_file(HISTORIES "good-plain.buys");
    for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
        write_changed(path, text, slips[i].old, slips[i].new);
        expect_unreadable(path, slips[i].new);
    }
    write_changed(path, "?", "?", "");
    expect_unreadable(path, "nothing");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%c\n", text, '\0');
    fclose(file);
    expect_unreadable(path, "a NUL");
    free(text);
    expect_unreadable(dir, "a directory");
    fx_dir_remove(dir);
    expect_unreadable(path, "no file");
}

/* Wherever a history is cut off, it is not taken for a whole one. */
static void a_part_is_unreadable(void **state)
{
    (void)state;
    char dir[128], path[160];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/part.buys", dir);
    char *text = read_file(HISTORIES "good-plain.buys");
    for (size_t len = 0; len < strlen(text); len += 37) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fprintf(file, "%.*s", (int)len, text);
        fclose(file);
        expect_unreadable(path, "a part");
    }
    free(text);
    fx_dir_remove(dir);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void options_move_the_limits(void **state)
{
    (void)state;
    int status;
    cJSON_Delete(judge(HISTORIES "liar-I7.buys", "--i7-us=8000480", &status));
    assert_int_equal(status, HELD);
    cJSON_Delete(judge(HISTORIES "liar-I7.buys", "--i7-us=8000479", &status));
    assert_int_equal(status, VIOLATED);
}

static void the_worst_of_several_histories_counts(void **state)
{
    (void)state;
    static const struct {
        const char *arguments[4];
        int status;
    } cases[] = {
        {{HISTORIES "good-plain.buys", HISTORIES "good-fault.buys"}, HELD},
        {{HISTORIES "good-plain.buys", HISTORIES "unchecked.buys"}, UNCHECKED},
        {{HISTORIES "liar-I1.buys", HISTORIES "unchecked.buys"}, VIOLATED},
        {{HISTORIES "liar-I1.buys", "/nowhere", HISTORIES "good-plain.buys"}, UNREADABLE},
        {{"--json"}, USAGE},
        {{"--i7-us", "soon", HISTORIES "good-plain.buys"}, USAGE},
        {{"--i7-us", "-1", HISTORIES "good-plain.buys"}, USAGE},
        {{"--colour", HISTORIES "good-plain.buys"}, USAGE},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int status;
        fx_process_free(run(cases[i].arguments, &status));
        if (status != cases[i].status)
            fail_msg("%s ...: exit %d, not %d", cases[i].arguments[0], status, cases[i].status);
    }
}

static void people_can_read_it(void **state)
{
    (void)state;
    int status;
    const char *arguments[] = {HISTORIES "liar-I6.buys", NULL};
    fx_process *process = run(arguments, &status);
    assert_non_null(strstr(fx_process_stdout(process),
                           "\nI6: violated, 1 x: order 3 has fence 70 (line 17), after 71 of order "
                           "2 (line 16)\n"));
    assert_non_null(strstr(fx_process_stdout(process), "sold 3, oversold 0, "));
    assert_non_null(strstr(fx_process_stdout(process), "\nVIOLATED\n"));
    fx_process_free(process);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(recorded_histories_are_judged),
        cmocka_unit_test(changes_are_seen_and_nothing_else),
        cmocka_unit_test(what_makes_no_sense_is_unreadable),
        cmocka_unit_test(a_part_is_unreadable),
        cmocka_unit_test(options_move_the_limits),
        cmocka_unit_test(the_worst_of_several_histories_counts),
        cmocka_unit_test(people_can_read_it),
    };
    return cmocka_run_group_tests_name("buycheck", tests, NULL, NULL);
}
