/* Histories that make no sense by themselves, calls that do not end, and lines of the killed. */
#include <errno.h>
#include <signal.h>

#include "tests/support/campaign.h"
#include "tests/tools/history_cases.h"

static const struct history_case cases[] = {
    {"acquire fails after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 0 0 killed * 0 0 0\n"
     "2" MS "1 1 1 fail L 0 0 0\n",
     "protocol: L: ",
     {"was killed before"}},
    {"acquire ends in doubt after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 0 0 killed * 0 0 0\n"
     "2" MS "1 1 1 unknown L 0 0 0\n",
     "protocol: L: ",
     {"was killed before"}},
    {"granted after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 0 0 killed * 0 0 0\n"
     "2" MS "1 1 1 ok L 5 1 1\n",
     "protocol: L: ",
     {"was killed before"}},
    {"released after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 0 0 killed * 0 0 0\n"
     "3" MS "1 1 1 release-invoke L 0 0 1\n"
     "4" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"was killed before"}},
    {"killed in a release that ends",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 release-invoke L 0 0 1\n"
     "3" MS "1 0 0 killed * 0 0 0\n"
     "4" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"was killed before"}},
    {"held after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 0 0 killed * 0 0 0\n"
     "3" MS "1 1 1 held L 0 0 1\n",
     "protocol: L: ",
     {"was killed before"}},
    {"it wrote guarded after it was killed",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 0 0 killed * 0 0 0\n"
     "4" MS "1 1 1 guard-ok L 5 0 1\n",
     "protocol: L: ",
     {"was killed before"}},
    {"asks after it was killed",
     {0},
     "0" MS "1 0 0 killed * 0 0 0\n"
     "1" MS "1 1 1 invoke L 0 0 0\n"
     "2" MS "1 1 1 fail L 0 0 0\n",
     "protocol: L: ",
     {"was killed before"}},
    {"killed twice: the first time counts",
     {"--idle-ms", "50", "--lease-ms", "30"},
     "0" MS "1 1 1 invoke L 0 0 0\n1" MS "1 1 1 ok L 5 1 1\n10" MS "1 0 0 killed * 0 0 0\n80" MS
     "1 0 0 killed * 0 0 0\n" GRANT("2", "1", "6", "2", "120", "130"),
     "idle: L: ",
     {"2/1 (op 1, fence 6)"}},
    {"killed in a guarded write of what it had released",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 1 1 release-invoke L 0 0 1\n"
     "4" MS "1 1 1 release-ok L 0 0 1\n"
     "5" MS "1 0 0 killed * 0 0 0\n",
     NULL,
     {0}},
    {"a guarded write under an older fence",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 6 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 1 1 guard-ok L 5 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"another fence"}},
    {"a guarded write that ends under none",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 1 1 guard-ok L 0 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"another fence"}},
    {"a guarded write that was not begun",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "3" MS "1 1 1 guard-ok L 5 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"not begun"}},
    {"a guarded write that ends twice",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 1 1 guard-ok L 5 0 1\n"
     "4" MS "1 1 1 guard-ok L 5 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"not begun"}},
    {"a guarded write inside another",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "3" MS "1 1 1 guard-invoke L 5 0 1\n"
     "4" MS "1 1 1 guard-ok L 5 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"inside another"}},
    {"a guarded write without an end",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 1 guard-invoke L 5 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 0 1\n"
     "9" MS "1 1 1 release-ok L 0 0 1\n",
     "unended: L: ",
     {"guarded write"}},
    {"an inner release without an end",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 2 invoke L 0 0 0\n"
     "3" MS "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n"
     "7" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"inside another"}},
    {"an inner release without an end, and no other",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 2 invoke L 0 0 0\n"
     "3" MS "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n",
     "unended: L: ",
     {"release never returned"}},
    {"an inner release that ends twice",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 2 invoke L 0 0 0\n"
     "3" MS "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 1 release-invoke L 0 1 1\n"
     "5" MS "1 1 1 release-ok L 0 1 1\n"
     "5" MS "1 1 1 release-ok L 0 1 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n"
     "7" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"not begun"}},
    {"a release of what is released",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n"
     "7" MS "1 1 1 release-ok L 0 0 1\n"
     "8" MS "1 1 1 release-invoke L 0 -1 1\n"
     "9" MS "1 1 1 release-ok L 0 -1 1\n",
     "protocol: L: ",
     {"of nothing"}},
    {"re-entry into what is released",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n"
     "7" MS "1 1 1 release-ok L 0 0 1\n"
     "8" MS "1 1 2 invoke L 0 0 0\n"
     "9" MS "1 1 2 ok L 5 1 1\n",
     "protocol: L: ",
     {"no hold"}},
    {"re-entry into a re-entry",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 1 1 ok L 5 1 1\n"
     "2" MS "1 1 2 invoke L 0 0 0\n"
     "3" MS "1 1 2 ok L 5 2 1\n"
     "4" MS "1 1 3 invoke L 0 0 0\n"
     "4" MS "1 1 3 ok L 5 1 2\n"
     "5" MS "1 1 1 release-invoke L 0 1 1\n"
     "5" MS "1 1 1 release-ok L 0 1 1\n"
     "6" MS "1 1 1 release-invoke L 0 0 1\n"
     "7" MS "1 1 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"no hold"}},
    {"granted in another context",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 2 1 ok L 5 1 1\n"
     "8" MS "1 2 1 release-invoke L 0 0 1\n"
     "9" MS "1 2 1 release-ok L 0 0 1\n",
     "protocol: L: ",
     {"another context"}},
    {"refused in another context",
     {0},
     "0" MS "1 1 1 invoke L 0 0 0\n"
     "1" MS "1 2 1 fail L 0 0 0\n",
     "protocol: L: ",
     {"another context"}},
    {"more permits in all than before",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "1", "2") PERMITS("2", "1", "6", "2/9", "3", "4", "5"),
     "protocol: L: ",
     {"number of permits"}},
    {"a reader of a semaphore",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "1", "2") READER("2", "1", "5", "3", "4", "5"),
     "protocol: L: ",
     {"number of permits"}},
    {"permits without a limit",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "1", "2") PERMITS("2", "1", "6", "2/0", "3", "4", "5"),
     "protocol: L: ",
     {"number of permits"}},
    {"a holder of all of a semaphore",
     {0},
     PERMITS("1", "1", "5", "2/3", "0", "1", "2") GRANT("2", "1", "6", "3", "4", "5"),
     "protocol: L: ",
     {"number of permits"}},
};

static void nonsense_is_found_and_nothing_else(void **state)
{
    (void)state;
    hc_check_cases(cases, COUNT(cases));
}

/* ---- a campaign's victims -------------------------------------------------------------------- */

enum { VICTIMS = 8 };

static void killed_is_noted_of_the_dead(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    campaign c;
    campaign_begin(&c);
    campaign_load(&c, NULL,
                  (const char *const[]){"--redis", fx_redis_url(redis), "--duration-ms", "60000",
                                        "--processes", "8", "--threads", "4", NULL});
    assert_int_equal(c.pids_len, VICTIMS);
    for (int i = 0; i < VICTIMS; i++) {
        campaign_kill(&c, i);
        assert_int_equal(kill(c.pids[i], 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    if (campaign_judge(&c, (const char *const[]){NULL}) != 0)
        fail_msg("%s", c.answer);
    campaign_end(&c);
    fx_redis_stop(redis);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nonsense_is_found_and_nothing_else),
        cmocka_unit_test(killed_is_noted_of_the_dead),
    };
    return cmocka_run_group_tests_name("histcheck of calls", tests, NULL, NULL);
}
