/*
 * Which guarantees do not apply to a history, as there is nothing in it to hold them to. All others
 * hold: the histories are right ones.
 */
#include "tests/support/fixture.h"

#include "loadtest/judge/judging.h"

#include <stdlib.h>
#include <string.h>

/* "fences locks": the guarantees in this state. */
static void list_in_state(const lt_judgement *judgement, lt_state wanted, char *ret, size_t len)
{
    ret[0] = '\0';
    for (int i = 0; i < guarantee_count; i++) {
        size_t used = strlen(ret);
        if (judgement->findings[i].state == wanted)
            snprintf(ret + used, len - used, "%s%s", used ? " " : "", guarantees[i].name);
    }
}

static void what_does_not_apply_is_told(void **unused)
{
    (void)unused;
    static const struct {
        const char *history, *nothing;
    } cases[] = {
        {"good-one", "held limit conserved one-fate audits at-rest sale location returned lasts "
                     "times heals limit-refusals"},
        {"good-plain", "held limit one-fate audits at-rest sale location returned lasts times "
                       "heals limit-refusals"},
        {"good-sharded", "held limit conserved one-fate audits at-rest sale location returned "
                         "lasts locks times heals limit-refusals"},
        {"good-counts", "held limit one-order conserved acknowledged as-told one-fate refused "
                        "numbers audits asked sale location returned lasts fences fenced locks "
                        "order times heals left limit-refusals"},
        {"good-fault",
         "held one-fate audits at-rest sale location returned lasts fences locks times"},
        {"good-limit", "audits sale location locks left"},
        {"good-read", "held limit one-fate audits at-rest location returned lasts locks times "
                      "heals left limit-refusals"},
        {"good-reserved", "audits sale location locks heals left"},
        {"good-service", "held one-fate returned lasts locks heals left"},
        {"good-calm", "audits sale location locks left"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char path[160], err[512], nothing[1024], violated[1024];
        snprintf(path, sizeof(path), "tests/loadtest/judge/histories/%s.buys", cases[i].history);
        lt_judgement *judgement = judge_file(path, NULL, err, sizeof(err));
        if (!judgement)
            fail_msg("%s", err);
        list_in_state(judgement, STATE_NOTHING, nothing, sizeof(nothing));
        list_in_state(judgement, STATE_VIOLATED, violated, sizeof(violated));
        if (strcmp(nothing, cases[i].nothing) != 0)
            fail_msg("%s: %s", cases[i].history, nothing);
        assert_string_equal(violated, "");
        judgement_free(judgement);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_apply_is_told),
    };
    return cmocka_run_group_tests_name("applies", tests, NULL, NULL);
}
