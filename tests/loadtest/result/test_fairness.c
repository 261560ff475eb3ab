/*
 * How evenly users were served, from their records: who counts as what, and when there are figures.
 */
#include "tests/support/fixture.h"

#include "loadtest/result/fairness.h"

#include <math.h>
#include <stdlib.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

enum { USERS_MOST = 6 };

typedef struct users_case {
    lt_model model;
    mono_ns first_through, stopped_at;
    lt_user_record users[USERS_MOST]; /* issued, answered, served, sold, sold_early, first_answer */
    int count;
    lt_fairness expected; /* ratio and jain: -1 for none */
} users_case;

static const users_case cases[] = {
    /* Ten sales in all, the early ones of 2 users: 5 on average, which is enough. */
    {MODEL_CLOSED,
     50,
     90,
     {{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 6, 20}},
     2,
     {.users = 2, .least = 4, .most = 6, .ratio = 4.0 / 6, .jain = 100.0 / (2 * 52)}},
    {MODEL_CLOSED,
     50,
     90,
     {{9, 9, 9, 6, 6, 10}, {9, 9, 9, 4, 4, 20}},
     2,
     {.users = 2, .least = 4, .most = 6, .ratio = 4.0 / 6, .jain = 100.0 / (2 * 52)}},
    {MODEL_CLOSED,
     50,
     90,
     {{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 5, 20}},
     2,
     {.users = 2, .least = 4, .most = 6, .ratio = -1, .jain = -1}},
    {MODEL_CLOSED,
     50,
     90,
     {{9, 9, 9, 0, 0, 10}, {9, 9, 9, 10, 10, 20}},
     2,
     {.users = 2, .most = 10, .ratio = 0, .jain = 0.5}},
    {MODEL_FLASH,
     50,
     90,
     {{9, 9, 9, 5, 5, 10}, {9, 9, 9, 5, 5, 20}, {9, 9, 9, 5, 5, 20}},
     3,
     {.users = 3, .least = 5, .most = 5, .ratio = 1, .jain = 1}},
    /* Of an open model's connections nobody is told. */
    {MODEL_OPEN, 50, 90, {{9, 9, 9, 4, 4, 10}, {9, 9, 9, 6, 6, 20}}, 2, {.ratio = -1, .jain = -1}},
    /* Never asked, never served, never answered. */
    {MODEL_CLOSED,
     50,
     90,
     {{0}, {9, 9, 0, 0, 0, 10}, {9, 9, 9, 1, 1, 10}, {9, 0, 0, 0, 0, 0}},
     4,
     {.users = 3,
      .never_asked = 1,
      .never_served = 2,
      .unanswered = 1,
      .starved = 1,
      .most = 1,
      .ratio = -1,
      .jain = -1}},
    {MODEL_CLOSED, 50, 90, {{0}, {0}}, 2, {.never_asked = 2, .ratio = -1, .jain = -1}},
    /* Starved: the first answer after another was through, or the run was over. Five answers each,
     * on average, or it says nothing. */
    {MODEL_CLOSED,
     50,
     90,
     {{9, 5, 5, 1, 1, 50}, {9, 5, 5, 1, 1, 51}},
     2,
     {.users = 2, .starved = 1, .least = 1, .most = 1, .ratio = -1, .jain = -1}},
    {MODEL_CLOSED,
     50,
     90,
     {{9, 5, 5, 1, 1, 50}, {9, 4, 4, 1, 1, 51}},
     2,
     {.users = 2, .least = 1, .most = 1, .ratio = -1, .jain = -1}},
    {MODEL_CLOSED,
     0,
     90,
     {{9, 5, 5, 1, 1, 90}, {9, 5, 5, 1, 1, 91}},
     2,
     {.users = 2, .starved = 1, .least = 1, .most = 1, .ratio = -1, .jain = -1}},
    {MODEL_CLOSED,
     0,
     0,
     {{9, 5, 5, 1, 1, 90}, {9, 5, 5, 1, 1, 91}},
     2,
     {.users = 2, .least = 1, .most = 1, .ratio = -1, .jain = -1}},
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
                              .first_through = c->first_through,
                              .stopped_at = c->stopped_at};
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
