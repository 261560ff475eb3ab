/* test_tally_settle.c - which counters and which times one settled request goes into, and that the
 * sum of several threads has all of them. */
#include "tests/support/fixture.h"

#include "loadtest/stats/tally.h"

enum { TARGET = 1, LAG_MS = 3, SEND_MS = 20 }; /* due, sent 3 ms later, done 20 ms after that */

static lt_settled settled(lt_outcome outcome, lt_ending ending)
{
    return (lt_settled){.outcome = outcome,
                        .ending = ending,
                        .target = TARGET,
                        .due = 7 * NS_PER_MS,
                        .sent = (7 + LAG_MS) * NS_PER_MS,
                        .done = (7 + LAG_MS + SEND_MS) * NS_PER_MS};
}

/* So many of exactly this length: the mean is exact. */
static void has_times(const lt_histogram_slot *slot, int64_t count, int ms)
{
    const lt_histogram *h = tally_histogram(slot);
    assert_int_equal(h ? histogram_count(h) : 0, count);
    if (h && count > 0)
        assert_true(histogram_mean(h) == ms * 1000.0);
}

static void has_all_of_it(const lt_tally *tally, const lt_settled *one, int64_t times)
{
    bool unfinished = one->ending == END_UNFINISHED, failed = one->ending == END_FAILED;
    const lt_target_tally *target = &tally->targets[TARGET];
    assert_int_equal(counter_get(&tally->completed), one->ending == END_COMPLETED ? times : 0);
    assert_int_equal(counter_get(&tally->failed), failed ? times : 0);
    assert_int_equal(counter_get(&tally->unfinished), unfinished ? times : 0);
    assert_int_equal(counter_get(&target->failed), failed ? times : 0);
    assert_int_equal(counter_get(&target->unfinished), unfinished ? times : 0);
    assert_int_equal(counter_get(&target->sold),
                     !unfinished && one->outcome == OUT_SOLD ? times : 0);
    for (int i = 0; i < OUT_COUNT; i++)
        assert_int_equal(counter_get(&tally->outcomes[i]),
                         !unfinished && i == (int)one->outcome ? times : 0);
    for (int i = 0; i < SERIES_COUNT; i++)
        has_times(&tally->from_due[i], i == settled_series(one) ? times : 0, LAG_MS + SEND_MS);
    has_times(&tally->from_send, times, SEND_MS);
    has_times(&tally->lag, times, LAG_MS);
    has_times(&target->latency, times, SEND_MS);
    has_times(&tally->targets[0].latency, 0, 0);
    assert_int_equal(target_answers(target), one->ending == END_COMPLETED ? times : 0);
}

static void each_request_is_counted_where_it_belongs(void **state)
{
    (void)state;
    for (int outcome = 0; outcome < OUT_COUNT; outcome++)
        for (int ending = END_COMPLETED; ending <= END_UNFINISHED; ending++) {
            lt_settled one = settled((lt_outcome)outcome, (lt_ending)ending);
            lt_tallies threads;
            assert_true(tallies_init(&threads, 3));
            for (int i = 0; i < 3; i++)
                for (int k = 0; k <= i; k++)
                    tally_settle(&threads.items[i], &one);
            has_all_of_it(&threads.items[0], &one, 1);
            lt_tally *sum = tallies_sum(&threads);
            has_all_of_it(sum, &one, 6);
            bool is_refusal =
                outcome == OUT_SOLD_OUT || outcome == OUT_LIMIT || outcome == OUT_BUSY;
            lt_histogram *all = tally_all(sum), *headline = tally_headline(sum);
            assert_int_equal(histogram_count(all), 6);
            assert_int_equal(histogram_count(headline),
                             is_refusal && ending == END_COMPLETED ? 0 : 6);
            histogram_free(all);
            histogram_free(headline);
            tally_free(sum);
            tallies_release(&threads);
        }
}

static void what_was_never_sent_is_unanswered(void **state)
{
    (void)state;
    lt_tally *tally = tally_new();
    mono_ns due = clock_now() - 50 * NS_PER_MS;
    tally_unsent(tally, due);
    int64_t most_us = (clock_now() - due) / NS_PER_US;
    const lt_histogram *h = tally_histogram(&tally->from_due[SERIES_UNANSWERED]);
    assert_int_equal(counter_get(&tally->unsent), 1);
    assert_int_equal(histogram_count(h), 1);
    assert_true(histogram_mean(h) >= 50000 && histogram_mean(h) <= (double)most_us);
    assert_null(tally_histogram(&tally->lag));
    tally_free(tally);
}

/* Each counter has a number of its own. */
static void a_sum_has_every_counter(void **state)
{
    (void)state;
    lt_tallies threads;
    assert_true(tallies_init(&threads, 2));
    for (int i = 0; i < 2; i++) {
        lt_tally *t = &threads.items[i];
        lt_counter *const counters[] = {&t->issued,
                                        &t->completed,
                                        &t->failed,
                                        &t->unfinished,
                                        &t->retries,
                                        &t->connects,
                                        &t->waited,
                                        &t->unsent,
                                        &t->bytes_received,
                                        &t->bytes_sent,
                                        &t->outcomes[0],
                                        &t->outcomes[OUT_COUNT - 1],
                                        &t->targets[0].sold,
                                        &t->targets[PLAN_TARGETS_MAX - 1].failed,
                                        &t->targets[0].unfinished};
        for (size_t k = 0; k < COUNT(counters); k++)
            counter_add(counters[k], (int64_t)(k + 1) * (i == 0 ? 1 : 100));
    }
    lt_tally *s = tallies_sum(&threads);
    const lt_counter *const sums[] = {&s->issued,
                                      &s->completed,
                                      &s->failed,
                                      &s->unfinished,
                                      &s->retries,
                                      &s->connects,
                                      &s->waited,
                                      &s->unsent,
                                      &s->bytes_received,
                                      &s->bytes_sent,
                                      &s->outcomes[0],
                                      &s->outcomes[OUT_COUNT - 1],
                                      &s->targets[0].sold,
                                      &s->targets[PLAN_TARGETS_MAX - 1].failed,
                                      &s->targets[0].unfinished};
    for (size_t k = 0; k < COUNT(sums); k++)
        assert_int_equal(counter_get(sums[k]), (int64_t)(k + 1) * 101);
    tally_free(s);
    tallies_release(&threads);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_request_is_counted_where_it_belongs),
        cmocka_unit_test(what_was_never_sent_is_unanswered),
        cmocka_unit_test(a_sum_has_every_counter),
    };
    return cmocka_run_group_tests_name("tally_settle", tests, NULL, NULL);
}
