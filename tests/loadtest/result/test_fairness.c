/*
 * How evenly users were served, from their records: who counts as what, and when there are figures.
 */
#include "tests/support/fixture.h"

#include "loadtest/result/fairness.h"

#include <math.h>

enum { USERS_MOST = 6 };

typedef struct users_case {
    lt_user_record users[USERS_MOST]; /* issued, answered, served, sold, sold_early, first_answer */
    int count;
    /* asked, never asked, never served, starved, unanswered; least, most sales; -1: no ratio */
    lt_fairness expected;
    lt_model model;
    bool nobody_through, nobody_stopped; /* else at 50, and at 90 */
} users_case;

#define LIKE_4_TO_6                                                                                \
    {                                                                                              \
        2, 0, 0, 0, 0, 4, 6, 4.0 / 6, 100.0 / 104                                                  \
    }

static const users_case cases[] = {
    /* Ten sales in all, the early ones of 2 users: 5 on average, which is enough. */
    {{{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 6, 20}}, 2, .expected = LIKE_4_TO_6},
    {{{9, 9, 9, 6, 6, 10}, {9, 9, 9, 4, 4, 20}}, 2, .expected = LIKE_4_TO_6},
    {{{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 5, 20}}, 2, .expected = {2, 0, 0, 0, 0, 4, 6, -1, -1}},
    {{{9, 9, 9, 0, 0, 10}, {9, 9, 9, 10, 10, 20}}, 2, .expected = {2, 0, 0, 0, 0, 0, 10, 0, 0.5}},
    {{{9, 9, 9, 5, 5, 10}, {9, 9, 9, 5, 5, 20}, {9, 9, 9, 5, 5, 20}},
     3,
     .expected = {3, 0, 0, 0, 0, 5, 5, 1, 1},
     .model = MODEL_FLASH},
    /* Of an open model's connections nobody is told. */
    {{{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 6, 20}},
     2,
     .expected = {.ratio = -1, .jain = -1},
     .model = MODEL_OPEN},
    /* Never asked, never served, never answered. */
    {{{0}, {9, 9, 0, 0, 0, 10}, {9, 9, 9, 1, 1, 10}, {9, 0, 0, 0, 0, 0}},
     4,
     .expected = {3, 1, 2, 1, 1, 0, 1, -1, -1}},
    {{{0}, {0}}, 2, .expected = {.never_asked = 2, .ratio = -1, .jain = -1}},
    /* Starved: the first answer after another was through, or the run was over. Five answers each,
     * on average, or it says nothing. */
    {{{9, 5, 5, 1, 1, 50}, {9, 5, 5, 1, 1, 51}}, 2, .expected = {2, 0, 0, 1, 0, 1, 1, -1, -1}},
    {{{9, 5, 5, 1, 1, 50}, {9, 4, 4, 1, 1, 51}}, 2, .expected = {2, 0, 0, 0, 0, 1, 1, -1, -1}},
    {{{9, 5, 5, 1, 1, 90}, {9, 5, 5, 1, 1, 91}},
     2,
     .expected = {2, 0, 0, 1, 0, 1, 1, -1, -1},
     .nobody_through = true},
    {{{9, 5, 5, 1, 1, 90}, {9, 5, 5, 1, 1, 91}},
     2,
     .expected = {2, 0, 0, 0, 0, 1, 1, -1, -1},
     .nobody_through = true,
     .nobody_stopped = true},
};

static bool is_ratio(double found, double expected)
{
    return expected < 0 ? isnan(found) : fabs(found - expected) < 1e-9;
}

static void users_are_counted_by_their_records(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(cases); i++) {
        const users_case *c = &cases[i];
        lt_plan plan = {.model = c->model, .users = c->count};
        lt_result result = {0};
        lt_user_record users[USERS_MOST];
        memcpy(users, c->users, sizeof(users));
        lt_run_state state = {.plan = &plan,
                              .users = users,
                              .first_through = c->nobody_through ? 0 : 50,
                              .stopped_at = c->nobody_stopped ? 0 : 90};
        fairness_measure(&result, &state);
        const lt_fairness *found = &result.fairness, *wanted = &c->expected;
        if (found->users != wanted->users || found->never_asked != wanted->never_asked ||
            found->never_served != wanted->never_served || found->starved != wanted->starved ||
            found->unanswered != wanted->unanswered || found->least != wanted->least ||
            found->most != wanted->most || !is_ratio(found->ratio, wanted->ratio) ||
            !is_ratio(found->jain, wanted->jain))
            fail_msg("row %zu: users %d, never asked %d, never served %d, starved %d, unanswered "
                     "%d, %d to %d, ratio %g, jain %g",
                     i, found->users, found->never_asked, found->never_served, found->starved,
                     found->unanswered, (int)found->least, (int)found->most, found->ratio,
                     found->jain);
        for (int n = 1; n < found->users; n++)
            assert_true(result.user_sales[n - 1] <= result.user_sales[n]);
        result_free(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(users_are_counted_by_their_records),
    };
    return cmocka_run_group_tests_name("fairness", tests, NULL, NULL);
}
