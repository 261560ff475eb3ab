/*
 * Which requests are asked about again: in what turns, how often, when; and what is kept of them
 * for after the run. Held to the rules as they are written, on instants that the test makes up.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/followups.h"

#define EVERY (5 * NS_PER_MS)
#define LATER (300 * NS_PER_MS)
#define FAR   (1000000 * NS_PER_S) /* never due */

enum { RESERVOIR = 500 };

static lt_plan plan;
static lt_followups *followups;

static int set_up(void **unused)
{
    (void)unused;
    plan = (lt_plan){.users = 10, .seed = 1};
    followups = followups_new(&plan);
    return followups ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    followups_free(followups);
    return 0;
}

static void take(lt_followup_kind kind, int64_t ticket, int target, mono_ns due)
{
    lt_followup got;
    assert_true(followups_take(followups, true, &got));
    if (got.kind != kind || got.ticket != ticket || got.target != target || got.due != due)
        fail_msg("kind %d, ticket %lld, target %d, due %lld", (int)got.kind, (long long)got.ticket,
                 got.target, (long long)got.due);
}

static void nothing_is_left(void)
{
    lt_followup got;
    assert_false(followups_take(followups, true, &got));
}

static void what_was_sold_is_asked_for_in_turns(void **unused)
{
    (void)unused;
    static const struct {
        lt_followup_kind kind;
        bool later;
    } ways[] = {{FOLLOW_LOOK, false},      {FOLLOW_RETRY, false}, {FOLLOW_OTHER, false},
                {FOLLOW_LOOK, false},      {FOLLOW_RETRY, true},  {FOLLOW_END, false},
                {FOLLOW_OTHER_END, false}, {FOLLOW_END, true}};
    for (int reserves = 0; reserves < 2; reserves++) {
        plan.reserve_s = reserves ? 60 : 0;
        size_t turns = reserves ? COUNT(ways) : 5;
        for (size_t i = 0; i < 2 * turns; i++) {
            mono_ns done = FAR * (reserves + 1) + (mono_ns)i * EVERY;
            bool later = ways[i % turns].later;
            followups_note(followups, (int64_t)i, OUT_SOLD, 3, done);
            take(ways[i % turns].kind, (int64_t)i, 3, done + (later ? LATER : 0));
            nothing_is_left();
        }
    }
}

/* They take no turn from those that bought. */
static void what_was_refused_is_looked_up(void **unused)
{
    (void)unused;
    followups_note(followups, 0, OUT_SOLD, 0, FAR);
    take(FOLLOW_LOOK, 0, 0, FAR);
    followups_note(followups, 1, OUT_SOLD_OUT, 1, FAR + EVERY);
    take(FOLLOW_LOOK, 1, 1, FAR + EVERY);
    followups_note(followups, 2, OUT_SOLD, 2, FAR + 2 * EVERY);
    take(FOLLOW_RETRY, 2, 2, FAR + 2 * EVERY);
    nothing_is_left();
}

static void no_two_by_chance_come_within_5_ms(void **unused)
{
    (void)unused;
    followups_note(followups, 0, OUT_SOLD_OUT, 0, FAR);
    followups_note(followups, 1, OUT_SOLD_OUT, 0, FAR + EVERY - 1);
    followups_note(followups, 2, OUT_SOLD_OUT, 0, FAR + EVERY);
    followups_note(followups, 3, OUT_SOLD_OUT, 0, FAR + EVERY + 1);
    followups_note(followups, 4, OUT_SOLD_OUT, 0, FAR + 2 * EVERY);
    take(FOLLOW_LOOK, 0, 0, FAR);
    take(FOLLOW_LOOK, 2, 0, FAR + EVERY);
    take(FOLLOW_LOOK, 4, 0, FAR + 2 * EVERY);
    nothing_is_left();
}

static void a_replay_is_sent_again_whenever_it_comes(void **unused)
{
    (void)unused;
    plan.replay = 1;
    followups_note(followups, 0, OUT_SOLD, 1, FAR);
    followups_note(followups, 1, OUT_SOLD, 2, FAR);
    followups_note(followups, 2, OUT_SOLD_OUT, 3, FAR);
    take(FOLLOW_LOOK, 0, 1, FAR);
    take(FOLLOW_RETRY, 0, 1, FAR);
    take(FOLLOW_RETRY, 1, 2, FAR);
    nothing_is_left();
}

static void a_confirm_that_was_put_off_is_sent_again_now_and_then(void **unused)
{
    (void)unused;
    followups_put_off(followups, 1, 4, FAR);
    followups_put_off(followups, 2, 4, FAR + 200 * NS_PER_MS - 1);
    followups_put_off(followups, 3, 4, FAR + 200 * NS_PER_MS);
    followups_put_off(followups, 4, 4, FAR + 399 * NS_PER_MS);
    followups_put_off(followups, 5, 4, FAR + 400 * NS_PER_MS);
    take(FOLLOW_END, 1, 4, FAR + LATER);
    take(FOLLOW_END, 3, 4, FAR + LATER + 200 * NS_PER_MS);
    take(FOLLOW_END, 5, 4, FAR + LATER + 400 * NS_PER_MS);
    nothing_is_left();
}

/* Until it is due it is only taken with all; what is due at once goes before what is later. */
static void what_is_not_due_is_left(void **unused)
{
    (void)unused;
    lt_followup got;
    mono_ns now = clock_now();
    followups_note(followups, 1, OUT_SOLD_OUT, 0, now - NS_PER_MS);
    followups_note(followups, 2, OUT_SOLD_OUT, 0, FAR);
    followups_put_off(followups, 3, 0, now - NS_PER_S);
    assert_true(followups_take(followups, false, &got) && got.ticket == 1);
    assert_true(followups_take(followups, false, &got) && got.ticket == 3);
    assert_false(followups_take(followups, false, &got));
    take(FOLLOW_LOOK, 2, 0, FAR);
    nothing_is_left();
}

/* More than there was room for at first, and emptied in between. */
static void queues_grow_and_are_used_again(void **unused)
{
    (void)unused;
    mono_ns at = FAR;
    for (int round = 0; round < 3; round++) {
        mono_ns first = at;
        for (int i = 0; i < 200; i++, at += EVERY)
            followups_note(followups, i, OUT_SOLD_OUT, i % 7, at);
        for (int i = 0; i < 200; i++)
            take(FOLLOW_LOOK, i, i % 7, first + i * EVERY);
        nothing_is_left();
    }
}

static void every_unknown_outcome_is_kept(void **unused)
{
    (void)unused;
    for (int64_t i = 0; i < 1000; i++)
        followups_note(followups, 3 * i, OUT_UNKNOWN, 0, FAR + i * EVERY);
    lt_tickets unknown = followups_unknown(followups);
    assert_int_equal(unknown.count, 1000);
    for (int64_t i = 0; i < 1000; i++)
        assert_int_equal(unknown.items[i], 3 * i);
    assert_int_equal(followups_sold(followups).count, 0);
    assert_int_equal(followups_refused(followups).count, 0);
    nothing_is_left(); /* they are looked up after the run */
}

/* The first ones are all kept; later ones replace each other, each with the same chance. */
static void holds_a_fair_sample(lt_outcome outcome, lt_tickets (*sample)(const lt_followups *))
{
    enum { ALL = 20 * RESERVOIR };
    int tenths[10] = {0};
    bool seen[ALL] = {false};
    for (int64_t i = 0; i < ALL; i++) {
        followups_note(followups, i, outcome, 0, FAR);
        lt_tickets kept = sample(followups);
        assert_int_equal(kept.count, i < RESERVOIR ? i + 1 : RESERVOIR);
        if (i < RESERVOIR)
            assert_int_equal(kept.items[i], i);
    }
    for (size_t i = 0; i < RESERVOIR; i++) {
        int64_t ticket = sample(followups).items[i];
        assert_in_range(ticket, 0, ALL - 1);
        assert_false(seen[ticket]);
        seen[ticket] = true;
        tenths[ticket / (ALL / 10)]++;
    }
    for (int i = 0; i < 10; i++) /* 50 in the mean, with a deviation of 7 */
        if (tenths[i] < 20 || tenths[i] > 80)
            fail_msg("of tenth %d there are %d", i, tenths[i]);
}

static void samples_are_fair(void **unused)
{
    (void)unused;
    holds_a_fair_sample(OUT_SOLD, followups_sold);
    holds_a_fair_sample(OUT_SOLD_OUT, followups_refused);
    assert_int_equal(followups_unknown(followups).count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_was_sold_is_asked_for_in_turns, set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_was_refused_is_looked_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_two_by_chance_come_within_5_ms, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_replay_is_sent_again_whenever_it_comes, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_confirm_that_was_put_off_is_sent_again_now_and_then,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(what_is_not_due_is_left, set_up, tear_down),
        cmocka_unit_test_setup_teardown(queues_grow_and_are_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_unknown_outcome_is_kept, set_up, tear_down),
        cmocka_unit_test_setup_teardown(samples_are_fair, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
