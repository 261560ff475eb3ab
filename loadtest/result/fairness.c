/*
 * Computed from the users' records after the run. With few sales or answers each, the numbers are
 * luck; then no figure is given.
 */
#include "loadtest/result/fairness.h"

#include <math.h>
#include <stdlib.h>

#define SALES_EACH   5 /* fewer on average, and the ratio is only luck */
#define ANSWERS_EACH 5

static int rising(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t sum(const int64_t *sales, int count)
{
    int64_t all = 0;
    for (int i = 0; i < count; i++)
        all += sales[i];
    return all;
}

static double jain_index(const int64_t *sales, int count)
{
    double all = (double)sum(sales, count), squares = 0.0;
    for (int i = 0; i < count; i++)
        squares += (double)sales[i] * (double)sales[i];
    return all * all / (count * squares);
}

/* When the first user was done: its share was used up, or the run was stopped. */
static mono_ns race_end(const lt_run_state *state)
{
    return state->first_through > 0 ? state->first_through : state->stopped_at;
}

static bool is_starved(const lt_user_record *user, mono_ns end)
{
    return user->first_answer == 0 || (end > 0 && user->first_answer > end);
}

/* The ratio and Jain's index of what users were sold early. */
static void compare_early_sales(lt_fairness *fairness, int64_t *sales)
{
    int users = fairness->users;
    if (sum(sales, users) < (int64_t)users * SALES_EACH)
        return;
    qsort(sales, (size_t)users, sizeof(sales[0]), rising);
    fairness->ratio = (double)sales[0] / (double)sales[users - 1];
    fairness->jain = jain_index(sales, users);
}

static void count_users(lt_result *result, lt_run_state *state, int64_t *early)
{
    lt_fairness *fairness = &result->fairness;
    int64_t answers = 0;
    int starved = 0;
    for (int i = 0; i < state->plan->users; i++) {
        const lt_user_record *user = &state->users[i];
        if (counter_get(&user->issued) == 0) {
            fairness->never_asked++;
            continue;
        }
        answers += counter_get(&user->answered);
        fairness->never_served += counter_get(&user->served) == 0;
        starved += is_starved(user, race_end(state));
        fairness->unanswered += counter_get(&user->answered) == 0;
        early[fairness->users] = counter_get(&user->sold_early);
        result->user_sales[fairness->users++] = counter_get(&user->sold);
    }
    /* With only a few answers each, being last means nothing. */
    if (answers >= (int64_t)fairness->users * ANSWERS_EACH)
        fairness->starved = starved;
}

void fairness_measure(lt_result *result, lt_run_state *state)
{
    lt_fairness *fairness = &result->fairness;
    *fairness = (lt_fairness){.ratio = NAN, .jain = NAN};
    if (state->plan->model == MODEL_OPEN)
        return; /* an open model's connections belong to no user */
    size_t size = sizeof(result->user_sales[0]);
    int64_t *early = calloc((size_t)state->plan->users, size);
    result->user_sales = calloc((size_t)state->plan->users, size);
    if (early && result->user_sales)
        count_users(result, state, early);
    if (fairness->users > 0) {
        qsort(result->user_sales, (size_t)fairness->users, size, rising);
        fairness->least = result->user_sales[0];
        fairness->most = result->user_sales[fairness->users - 1];
        compare_early_sales(fairness, early);
    }
    free(early);
}
