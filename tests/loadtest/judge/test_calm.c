/*
 * What a moved clock, or a failover, keeps from being checked is not called ok; and a fault that
 * does neither keeps nothing from it.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/fixture.h"

#include "loadtest/judge/judging.h"

static char text[65536];

/* The history of a buy that reserves beside a fault, with `old` replaced. */
static void read_changed(const char *old, const char *new)
{
    char was[sizeof(text) / 2];
    FILE *file = fopen("tests/loadtest/judge/histories/good-calm.buys", "r");
    assert_non_null(file);
    size_t len = fread(was, 1, sizeof(was) - 1, file);
    was[len] = '\0';
    fclose(file);
    const char *at = strstr(was, old);
    assert_non_null(at);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - was), was, new, at + strlen(old));
}

static const char *state_of(const lt_judgement *judgement, const char *name)
{
    int i = 0;
    while (i < guarantee_count && strcmp(guarantees[i].name, name) != 0)
        i++;
    assert_true(i < guarantee_count);
    return state_name(judgement->findings[i].state);
}

static void what_can_not_be_seen_is_not_ok(void **state)
{
    (void)state;
    static const struct {
        const char *old, *new, *reservations, *times;
    } cases[] = {
        {"clocks=0", "clocks=0", "ok", "ok"},
        {" clocks=0", "", "ok", "ok"},
        {"clocks=0", "clocks=1", "nothing", "ok"}, /* for they are of the day */
        {" failovers=0", " failovers=1", "nothing", "ok"},
        {" failovers=0", "", "nothing", "ok"},
        {" failovers=0 wall_us=1700000000000000 at=0", " failovers=0", "ok", "ok"},
        {" failovers=0 wall_us=1700000000000000 at=0", " failovers=1", "nothing", "nothing"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256];
        lt_history history;
        read_changed(cases[i].old, cases[i].new);
        FILE *file = fmemopen(text, strlen(text), "r");
        assert_non_null(file);
        if (!history_parse(&history, "calm", file, err, sizeof(err)))
            fail_msg("%s", err);
        lt_judgement *judgement = judge_history(&history, NULL);
        assert_int_equal(judgement->verdict, VERDICT_SAFE);
        assert_string_equal(state_of(judgement, "lasts"), cases[i].reservations);
        assert_string_equal(state_of(judgement, "returned"), cases[i].reservations);
        assert_string_equal(state_of(judgement, "times"), cases[i].times);
        assert_string_equal(state_of(judgement, "held"), "ok");
        judgement_free(judgement);
        history_release(&history);
        fclose(file);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_can_not_be_seen_is_not_ok)};
    return cmocka_run_group_tests_name("calm", tests, NULL, NULL);
}
