/*
 * When a run can not be judged: each limit just kept, and just not.
 */
#include "tests/loadtest/result/sound_run.h"

#define OPEN PLAN(model, MODEL_OPEN), PLAN(rate, 150) /* for two seconds: 300 are asked for */

static void the_generator(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{{0}}, NULL},
        {{RESULT(health.share, 0.89)}, NULL},
        {{RESULT(health.share, 0.90)}, "the generator was saturated"},
        {{RESULT(health.share, 1.0)}, "100 % of its 2 cores"},
        /* An open model: 300 are asked for, 5 % and three roots of 300 may be missing. */
        {{OPEN}, NULL},
        {{OPEN, TALLY(issued, 234), TALLY(completed, 234)}, NULL},
        {{OPEN, TALLY(issued, 233), TALLY(completed, 233)}, "keep the schedule"},
        {{OPEN, TALLY(issued, 200), TALLY(completed, 200), TALLY(unsent, 34)}, NULL},
        {{OPEN, TALLY(issued, 200), TALLY(completed, 200), TALLY(unsent, 33)},
         "150 requests a second were asked for, 116 were started"},
        {{TALLY(issued, 200), TALLY(completed, 200), PLAN(rate, 150)}, NULL},
        /* Of 400 it is 20, and three times 20, exactly. */
        {{OPEN, PLAN(rate, 200), TALLY(issued, 320), TALLY(completed, 320)}, NULL},
        {{OPEN, PLAN(rate, 200), TALLY(issued, 319), TALLY(completed, 319)}, "keep the schedule"},
        {{OPEN, TALLY(waited, 30)}, NULL},
        {{OPEN, TALLY(waited, 31)}, "waited for one of the 20 connections"},
        {{OPEN, TALLY(unsent, 10), TALLY(waited, 31)}, NULL},
        {{TALLY(waited, 31)}, NULL},
    };
    judge_all(cases, COUNT(cases));
}

/* In ms: 98 of a hundred requests, and the other two. */
static void requests_that_left_late(void **unused)
{
    (void)unused;
    enum { LATE_REQUESTS = 2000 }; /* enough for a 99th percentile */
    static const struct {
        lt_model model;
        double lag, lag_of_two, latency, latency_of_two;
        int waited;
        bool late;
    } table[] = {
        {MODEL_CLOSED, 0, 0, 20, 20, 0, false},    {MODEL_CLOSED, 9, 9, 9, 9, 0, false},
        {MODEL_CLOSED, 12, 12, 20, 20, 0, true},   {MODEL_CLOSED, 12, 12, 30, 30, 0, false},
        {MODEL_CLOSED, 0, 12, 12, 12, 0, false},   {MODEL_OPEN, 0, 12, 12, 12, 0, true},
        {MODEL_OPEN, 0, 12, 1, 30, 0, false},      {MODEL_OPEN, 0, 9, 9, 9, 0, false},
        {MODEL_FLASH, 12, 12, 12, 12, 0, false},   {MODEL_OPEN, 12, 12, 12, 12, 201, false},
        {MODEL_CLOSED, 12, 12, 12, 12, 200, true}, {MODEL_CLOSED, 12, 12, 12, 12, 201, false},
        {MODEL_CLOSED, 10, 10, 12, 12, 0, false},  {MODEL_CLOSED, 12, 12, 24, 24, 0, false},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        sound s;
        sound_make(&s);
        s.plan.model = table[i].model;
        s.plan.rate = 1;
        s.tally->waited = table[i].waited;
        for (int n = 0; n < LATE_REQUESTS; n++) {
            bool two = n % 100 < 2;
            double lag = two ? table[i].lag_of_two : table[i].lag;
            double latency = two ? table[i].latency_of_two : table[i].latency;
            sound_record(&s.tally->lag, (int64_t)(lag * 1000), 1);
            histogram_record(s.result.all_due, (int64_t)(latency * 1000));
        }
        validity_check(&s.result, &s.plan);
        bool late = false;
        for (int n = 0; n < s.result.reason_count; n++)
            late |= strstr(s.result.reasons[n], "was late") != NULL;
        if (late != table[i].late)
            fail_msg("row %zu: %s", i, late ? "late" : "not late");
        sound_free(&s);
    }
}

#define CONNECTS(n, at)                                                                            \
    RESULT(error_count, 3), RESULT(errors[0].phase, PHASE_WAIT), RESULT(errors[0].count, 99),      \
        RESULT(errors[1].phase, PHASE_WAIT), RESULT(errors[2].phase, PHASE_WAIT),                  \
        RESULT(errors[at].phase, PHASE_CONNECT), RESULT(errors[at].count, n)

/* Of 300 requests one in twenty may, wherever that is counted. */
static void connections_that_are_not_found(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{CONNECTS(15, 0)}, NULL}, {{CONNECTS(16, 0)}, "16 of 300 requests found no connection"},
        {{CONNECTS(15, 1)}, NULL}, {{CONNECTS(16, 1)}, "16 of 300 requests found no connection"},
        {{CONNECTS(15, 2)}, NULL}, {{CONNECTS(16, 2)}, "16 of 300 requests found no connection"},
    };
    judge_all(cases, COUNT(cases));
}

/* Requests without an answer are no reason: what became of them is looked up. */
static void the_way_to_the_service(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{TALLY(issued, 0), TALLY(completed, 0)}, "no request was sent"},
        {{TALLY(completed, 200), TALLY(failed, 90), TALLY(unfinished, 10)}, NULL},
        {{TALLY(outcomes[OUT_ERROR], 300)}, NULL},
        /* A target that answered nothing. */
        {{TALLY(targets[1].latency, 0)}, NULL},
        {{TALLY(targets[1].failed, 1)}, NULL},
        {{TALLY(targets[1].latency, 0), TALLY(targets[1].failed, 1)},
         "target http://b answered nothing"},
        {{TALLY(targets[0].latency, 0), TALLY(targets[0].unfinished, 1)},
         "target http://a answered nothing"},
        {{TALLY(targets[2].failed, 1)}, NULL},
    };
    judge_all(cases, COUNT(cases));
}

#define WARM_UPS(n)                                                                                \
    RESULT(error_count, 2), RESULT(errors[0].phase, PHASE_WAIT), RESULT(errors[0].count, 9),       \
        RESULT(errors[1].phase, PHASE_WARM_UP), RESULT(errors[1].count, n)

static void the_users(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{WARM_UPS(1)}, NULL},
        {{WARM_UPS(2)}, "2 users got no good answer"},
        {{RESULT(error_count, 1), RESULT(errors[0].count, 2), RESULT(errors[1].count, 2)},
         "2 users got no good answer"},
        {{RESULT(fairness.unanswered, 1)}, NULL},
        {{RESULT(fairness.unanswered, 2)}, "2 of 20 users never got any answer"},
        {{RESULT(fairness.never_asked, 1)}, "1 of 20 users never asked"},
        {{RESULT(fairness.never_asked, 1), PLAN(requests, 20)}, "never asked"},
        {{RESULT(fairness.never_asked, 1), PLAN(requests, 0)}, "never asked"},
        {{RESULT(fairness.never_asked, 1), PLAN(requests, 19)}, NULL},
        {{RESULT(fairness.never_asked, 1), RESULT(stop_reason, STOP_SOLD_OUT)}, NULL},
        {{RESULT(fairness.never_asked, 1), RESULT(stop_reason, STOP_DURATION)}, "never asked"},
        {{RESULT(fairness.never_asked, 1), OPEN}, NULL},
    };
    judge_all(cases, COUNT(cases));
}

static void the_evidence(void **unused)
{
    (void)unused;
    static const judged_case cases[] = {
        {{RESULT(evidence.why[0], 'x')}, "x"},
        {{RESULT(partial, true)}, "partial report"},
    };
    judge_all(cases, COUNT(cases));
}

/* No more reasons than there is room for; the first ones are kept. */
static void there_is_room_for_so_many_reasons(void **unused)
{
    (void)unused;
    lt_result result = {0};
    for (int i = 0; i < REASONS_MAX + 3; i++)
        result_invalid(&result, "reason %d", i);
    assert_int_equal(result.reason_count, REASONS_MAX);
    assert_string_equal(result.reasons[0], "reason 0");
    assert_string_equal(result.reasons[REASONS_MAX - 1], "reason 7");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_generator),
        cmocka_unit_test(requests_that_left_late),
        cmocka_unit_test(the_way_to_the_service),
        cmocka_unit_test(connections_that_are_not_found),
        cmocka_unit_test(the_users),
        cmocka_unit_test(the_evidence),
        cmocka_unit_test(there_is_room_for_so_many_reasons),
    };
    return cmocka_run_group_tests_name("validity", tests, NULL, NULL);
}
