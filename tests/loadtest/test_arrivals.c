/*
 * The schedule of an open model, and its backlog.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/arrivals.h"

#include <math.h>

static void constant_arrivals_keep_their_distance(void **unused)
{
    (void)unused;
    lt_plan plan = {.rate = 3000};
    lt_arrivals workers[3];
    for (int k = 0; k < 3; k++)
        workers[k] = arrivals_of(&plan, k, 3);
    for (int i = 0; i < 30000; i++) {
        lt_arrivals *worker = &workers[i % 3];
        double expected = i * 1e9 / 3000;
        assert_true(fabs((double)arrivals_next(worker) - expected) <= 1.0);
        arrivals_advance(worker);
    }
}

static void poisson_arrivals_have_rate_spread_and_seed(void **unused)
{
    (void)unused;
    lt_plan plan = {.rate = 1000, .poisson = true, .seed = 7}, other = plan;
    lt_arrivals a = arrivals_of(&plan, 0, 1), b = arrivals_of(&plan, 0, 1), c;
    other.seed = 8;
    c = arrivals_of(&other, 0, 1);
    const int n = 100000;
    double last = 0, squares = 0;
    int differing = 0;
    for (int i = 0; i < n; i++) {
        assert_int_equal(arrivals_next(&a), arrivals_next(&b));
        differing += arrivals_next(&a) != arrivals_next(&c);
        double gap = a.next_ns - last;
        assert_true(gap >= 0);
        squares += gap * gap;
        last = a.next_ns;
        arrivals_advance(&a);
        arrivals_advance(&b);
        arrivals_advance(&c);
    }
    /* The mean gap is 1 ms, within five standard deviations; E[gap^2] is 2 for exponential gaps. */
    assert_true(fabs(last / n / 1e6 - 1.0) < 5.0 / sqrt(n));
    assert_true(fabs(squares / n / 1e12 - 2.0) < 0.15);
    assert_int_equal(differing, n);
}

static void backlog_is_first_in_first_out(void **unused)
{
    (void)unused;
    lt_backlog backlog = {0};
    lt_due_request request;
    int64_t in = 0, out = 0;
    for (int round = 0; round < 400; round++) {
        for (int i = 0; i < 7; i++, in++)
            assert_true(backlog_push(&backlog, (lt_due_request){.ticket = in}));
        for (int i = 0; i < 5; i++, out++) {
            assert_true(backlog_pop(&backlog, &request));
            assert_int_equal(request.ticket, out);
        }
    }
    while (backlog_pop(&backlog, &request))
        assert_int_equal(request.ticket, out++);
    assert_int_equal(out, in);
    backlog_release(&backlog);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrivals_keep_their_distance),
        cmocka_unit_test(poisson_arrivals_have_rate_spread_and_seed),
        cmocka_unit_test(backlog_is_first_in_first_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
