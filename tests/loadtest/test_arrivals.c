/*
 * The schedule of an open model, and its backlog.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/load/arrivals.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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

/* All that arrives at all workers, from the first on: as one worker's Poisson arrivals would be. */
static void poisson_workers_start_at_random_moments(void **unused)
{
    (void)unused;
    enum { WORKERS = 4, SEEDS = 5000 };
    double sum[WORKERS] = {0}, squares[WORKERS] = {0};
    for (int seed = 0; seed < SEEDS; seed++) {
        lt_plan plan = {.rate = 1000, .poisson = true, .seed = (uint64_t)seed};
        for (int k = 0; k < WORKERS; k++) {
            lt_arrivals worker = arrivals_of(&plan, k, WORKERS);
            double first_ms = worker.next_ns / 1e6;
            assert_true(first_ms > 0);
            sum[k] += first_ms;
            squares[k] += first_ms * first_ms;
            arrivals_advance(&worker);
            assert_true(worker.next_ns / 1e6 > first_ms);
        }
    }
    for (int k = 0; k < WORKERS;
         k++) { /* exponential with a mean of 4 ms, within five deviations */
        assert_true(fabs(sum[k] / SEEDS / WORKERS - 1.0) < 5.0 / sqrt(SEEDS));
        assert_true(fabs(squares[k] / SEEDS / (WORKERS * WORKERS) - 2.0) <
                    5.0 * sqrt(20.0 / SEEDS));
    }
}

/* No two workers, nor two seeds, have the same moments. */
static void poisson_workers_do_not_resemble_each_other(void **unused)
{
    (void)unused;
    enum { WORKERS = 8, SEEDS = 8, ALL = WORKERS * SEEDS };
    double first[ALL];
    for (int i = 0; i < ALL; i++) {
        lt_plan plan = {.rate = 1000, .poisson = true, .seed = (uint64_t)(i / WORKERS)};
        first[i] = arrivals_of(&plan, i % WORKERS, WORKERS).next_ns;
        for (int j = 0; j < i; j++)
            assert_true(fabs(first[i] - first[j]) > 1e-3);
    }
}

/* It takes so many, says so when it is full, and gives its memory back. */
static void a_full_backlog_takes_no_more(void **unused)
{
    (void)unused;
    const int64_t most = (int64_t)BACKLOG_MAX;
    const size_t before = fx_bytes_allocated();
    lt_backlog backlog = {0};
    lt_due_request request;
    for (int64_t i = 0; i < most; i++)
        assert_true(backlog_push(&backlog, (lt_due_request){.ticket = i, .due = 2 * i}));
    assert_false(backlog_push(&backlog, (lt_due_request){.ticket = -1}));
    assert_true(backlog_pop(&backlog, &request));
    assert_true(backlog_push(&backlog, (lt_due_request){.ticket = most}));
    for (int64_t i = 1; i <= most; i++) {
        assert_true(backlog_pop(&backlog, &request));
        assert_int_equal(request.ticket, i);
        assert_int_equal(request.due, i < most ? 2 * i : 0);
    }
    assert_false(backlog_pop(&backlog, &request));
    backlog_release(&backlog);
    assert_int_equal(fx_bytes_allocated(), before);
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

/* ---- the whole generator --------------------------------------------------------------------- */

enum { RATE = 100, DURATION_S = 3, STOPPED_MS = 6000, SOON_MS = 30000, TRIES = 5 };

static bool has_begun(void *process)
{
    return strstr(fx_process_stderr(process), " req/s") != NULL;
}

/* It stands still beyond the end of its run, and what came due in that time is not made up for.
 * With nearly all requests issued, it was stopped too late for that. */
static bool keeps_schedule(const fx_stub *stub, double *ret_issued)
{
    char path[512], rate[16], duration[16];
    snprintf(rate, sizeof(rate), "%d", RATE);
    snprintf(duration, sizeof(duration), "%ds", DURATION_S);
    fx_process *process = fx_spawn(
        (const char *const[]){fx_build_path("loadtest", path, sizeof(path)), "run", "--target",
                              fx_stub_url(stub, 0), "--rate", rate, "--duration", duration,
                              "--users", "20", "--stock", "100000", "--json", "-", NULL},
        true);
    assert_true(fx_wait_until(has_begun, process, SOON_MS));
    fx_process_signal(process, SIGSTOP);
    fx_let_pass(STOPPED_MS);
    fx_process_signal(process, SIGCONT);
    fx_load *load = fx_load_finish(process);
    bool kept = !fx_load_invalid_because(load, "could not keep the schedule");
    *ret_issued = fx_load_number(load, "issued");
    fx_load_free(load);
    return kept;
}

static void who_stood_still_has_not_kept_the_schedule(void **unused)
{
    (void)unused;
    fx_stub *stub = fx_stub_start(NULL);
    double issued = RATE * DURATION_S;
    bool kept = true;
    for (int i = 0; i < TRIES && issued > 0.8 * RATE * DURATION_S; i++)
        kept = keeps_schedule(stub, &issued);
    assert_false(kept);
    fx_stub_stop(stub);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(constant_arrivals_keep_their_distance),
        cmocka_unit_test(poisson_arrivals_have_rate_spread_and_seed),
        cmocka_unit_test(poisson_workers_start_at_random_moments),
        cmocka_unit_test(poisson_workers_do_not_resemble_each_other),
        cmocka_unit_test(a_full_backlog_takes_no_more),
        cmocka_unit_test(backlog_is_first_in_first_out),
        cmocka_unit_test(who_stood_still_has_not_kept_the_schedule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
