/*
 * Whose the next ticket is, when there is none any more, and what is noted of a settled request.
 */
#include "tests/support/fixture.h"

#include "loadtest/load/run_state.h"

#include <stdlib.h>

enum { USERS = 3, HOUR_S = 3600 };

static lt_plan plan;
static lt_run_state state;

static int set_up(void **unused)
{
    (void)unused;
    plan = (lt_plan){.users = USERS};
    state = (lt_run_state){.plan = &plan, .key_prefix = "key", .sale = "s1"};
    if (!run_state_init(&state, 1))
        return 1;
    state.started_at = clock_now();
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    run_state_release(&state);
    return 0;
}

/* The next ticket of a user; -1: there is none. */
static int64_t take(int user)
{
    int64_t ticket;
    return run_state_ticket(&state, user, &ticket) ? ticket : -1;
}

static void every_user_has_its_own_tickets(void **unused)
{
    (void)unused;
    plan.requests = 8;
    assert_int_equal(take(2), 2);
    assert_int_equal(take(2), 5);
    assert_int_equal(state.first_through, 0);
    assert_int_equal(take(2), -1);
    mono_ns through = state.first_through;
    assert_true(through > 0 && !run_state_stopped(&state));
    for (int64_t ticket = 0; ticket < 8; ticket += USERS)
        assert_int_equal(take(0), ticket);
    assert_int_equal(take(0), -1);
    assert_int_equal(take(1), 1);
    assert_int_equal(take(1), 4);
    assert_false(run_state_stopped(&state));
    assert_int_equal(take(1), 7);
    assert_int_equal(state.stop_reason, STOP_REQUESTS);
    assert_true(state.stopped_at > 0);
    assert_true(state.first_through == through);
    assert_int_equal(run_state_taken(&state, 0), 3);
    assert_int_equal(run_state_taken(&state, 2), 2);
}

static void the_only_request_is_the_first_users(void **unused)
{
    (void)unused;
    plan.requests = 1;
    assert_int_equal(take(1), -1);
    assert_int_equal(take(0), 0);
    assert_int_equal(state.stop_reason, STOP_REQUESTS);
}

/* Without shares there is always one more. */
static void without_a_number_of_requests_there_is_no_last(void **unused)
{
    (void)unused;
    static const lt_model models[] = {MODEL_CLOSED, MODEL_OPEN};
    state.started_at -= HOUR_S * NS_PER_S;
    for (int i = 0; i < 2; i++) {
        plan.model = models[i];
        for (int n = 0; n < 100; n++)
            assert_true(take(0) >= 0);
    }
    assert_false(run_state_stopped(&state));
}

static void an_open_models_tickets_are_nobodys(void **unused)
{
    (void)unused;
    plan.model = MODEL_OPEN;
    plan.requests = 2;
    assert_int_equal(take(0), 0);
    assert_int_equal(take(0), 1);
    assert_false(run_state_stopped(&state));
    assert_int_equal(take(0), -1);
    assert_int_equal(state.stop_reason, STOP_REQUESTS);
    assert_int_equal(run_state_taken(&state, 0), 2);
}

static void no_ticket_is_given_when_the_time_is_over(void **unused)
{
    (void)unused;
    plan.duration = HOUR_S * NS_PER_S;
    assert_int_equal(take(0), 0);
    assert_false(run_state_stopped(&state));
    state.started_at -= plan.duration;
    assert_int_equal(take(0), -1);
    assert_int_equal(state.stop_reason, STOP_DURATION);
    assert_int_equal(run_state_taken(&state, 0), 1);
    /* The first reason counts. */
    mono_ns stopped = state.stopped_at;
    run_state_stop(&state, STOP_INTERRUPTED);
    assert_int_equal(state.stop_reason, STOP_DURATION);
    assert_true(state.stopped_at == stopped);
}

static void note(lt_outcome outcome, lt_ending ending, mono_ns after)
{
    lt_settled settled = {.outcome = outcome,
                          .ending = ending,
                          .target = 4,
                          .due = state.started_at,
                          .sent = state.started_at,
                          .done = state.started_at + after};
    run_state_note(&state, 1, 7, &settled);
}

static void is_noted(int answered, int served, int sold, int sold_early)
{
    const lt_user_record *user = &state.users[1];
    assert_int_equal(counter_get(&user->answered), answered);
    assert_int_equal(counter_get(&user->served), served);
    assert_int_equal(counter_get(&user->sold), sold);
    assert_int_equal(counter_get(&user->sold_early), sold_early);
}

/* An answer that comes earlier than another, but is noted later, is the first one's no more. */
static void a_user_is_what_it_was_answered(void **unused)
{
    (void)unused;
    plan.requests = 5;
    state.tickets = 3; /* of five, that is still the first half */
    note(OUT_SOLD, END_FAILED, 10);
    note(OUT_UNKNOWN, END_UNFINISHED, 20);
    is_noted(0, 0, 0, 0);
    assert_true(state.last_done == 0 && state.last_sold == 0 && state.users[1].first_answer == 0);
    note(OUT_BUSY, END_COMPLETED, 30);
    is_noted(1, 0, 0, 0);
    note(OUT_SOLD, END_COMPLETED, 50);
    note(OUT_SOLD, END_COMPLETED, 40);
    is_noted(3, 2, 2, 2);
    state.tickets = 4;
    note(OUT_SOLD, END_COMPLETED, 60);
    note(OUT_LIMIT, END_COMPLETED, 70);
    note(OUT_SOLD_OUT, END_COMPLETED, 80);
    is_noted(6, 5, 3, 2);
    assert_int_equal(state.users[1].first_answer, state.started_at + 30);
    assert_int_equal(state.last_sold, state.started_at + 60);
    assert_int_equal(state.last_done, state.started_at + 80);
    assert_false(run_state_stopped(&state));
    plan.requests = 0; /* then all is early */
    note(OUT_SOLD, END_COMPLETED, 90);
    is_noted(7, 6, 4, 3);
}

/* In bins of 20 ms, by when it ended; its latency to a quarter of a doubling. */
static void a_request_is_on_the_timeline(void **unused)
{
    (void)unused;
    int count;
    double width_s;
    note(OUT_SOLD, END_COMPLETED, 50 * NS_PER_MS);
    note(OUT_UNKNOWN, END_COMPLETED, 50 * NS_PER_MS);
    note(OUT_UNKNOWN, END_FAILED, 90 * NS_PER_MS);
    note(OUT_UNKNOWN, END_UNFINISHED, 90 * NS_PER_MS);
    assert_int_equal(state.last_done, state.started_at + 50 * NS_PER_MS);
    mono_ns length = state.last_ended - state.started_at;
    lt_timeline_bin *bins = timeline_bins(state.timeline, length, &count, &width_s);
    assert_int_equal(count, 5);
    assert_int_equal(bins[2].outcomes[OUT_SOLD], 1);
    assert_int_equal(bins[2].outcomes[OUT_UNKNOWN], 1);
    assert_int_equal(bins[2].outcomes[SERIES_UNANSWERED], 0);
    assert_true(bins[2].p50_ms > 40 && bins[2].p50_ms < 60);
    assert_int_equal(bins[4].outcomes[SERIES_UNANSWERED], 2);
    assert_int_equal(bins[4].outcomes[OUT_UNKNOWN], 0);
    assert_true(bins[4].p50_ms > 80 && bins[4].p50_ms < 110);
    free(bins);
}

static void silence_is(int64_t from_s, int64_t length_s)
{
    assert_int_equal((state.silence_from - state.started_at) / NS_PER_S, from_s);
    assert_int_equal((state.silence + NS_PER_MS) / NS_PER_S, length_s);
}

/* What is said of the future is put into the past: the run began a minute ago. */
static void the_longest_silence_is_kept(void **unused)
{
    (void)unused;
    state.started_at = clock_now() - 60 * NS_PER_S;
    state.open_since = state.started_at;
    state.underway = 3; /* open from the start */
    note(OUT_SOLD, END_COMPLETED, NS_PER_S);
    silence_is(0, 1);
    note(OUT_UNKNOWN, END_FAILED, 3 * NS_PER_S);
    silence_is(1, 2);
    note(OUT_BUSY, END_COMPLETED, 6 * NS_PER_S); /* the failure before was no answer */
    silence_is(1, 5);
    assert_int_equal(take(0), 0); /* nobody asked for 54 s */
    note(OUT_SOLD, END_COMPLETED, 61 * NS_PER_S);
    silence_is(1, 5);
    state.last_ended = clock_now(); /* without an answer, a moment ago: the silence goes on */
    state.last_done = state.open_since = state.started_at + 50 * NS_PER_S;
    assert_int_equal(take(1), 1);
    note(OUT_UNKNOWN, END_UNFINISHED, 62 * NS_PER_S);
    silence_is(50, 12);
}

static void sold_out_ends_the_run_if_that_was_asked_for(void **unused)
{
    (void)unused;
    plan.until_sold_out = true;
    note(OUT_BUSY, END_COMPLETED, 1);
    assert_false(run_state_stopped(&state));
    note(OUT_SOLD_OUT, END_COMPLETED, 2);
    assert_int_equal(state.stop_reason, STOP_SOLD_OUT);
}

static void each_settled_request_is_a_line_of_the_log(void **unused)
{
    (void)unused;
    char *text = NULL;
    size_t len;
    state.started_at = 1000;
    state.log = open_memstream(&text, &len);
    note(OUT_SOLD, END_COMPLETED, 1);
    note(OUT_UNKNOWN, END_FAILED, 2);
    note(OUT_UNKNOWN, END_UNFINISHED, 3);
    fclose(state.log);
    assert_string_equal(text, "key-7,1,4,1000,1000,1001,completed,sold\n"
                              "key-7,1,4,1000,1000,1002,failed,unknown\n"
                              "key-7,1,4,1000,1000,1003,unfinished,unknown\n");
    free(text);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(every_user_has_its_own_tickets),
        CASE(the_only_request_is_the_first_users),
        CASE(a_request_is_on_the_timeline),
        CASE(the_longest_silence_is_kept),
        CASE(without_a_number_of_requests_there_is_no_last),
        CASE(an_open_models_tickets_are_nobodys),
        CASE(no_ticket_is_given_when_the_time_is_over),
        CASE(a_user_is_what_it_was_answered),
        CASE(sold_out_ends_the_run_if_that_was_asked_for),
        CASE(each_settled_request_is_a_line_of_the_log),
    };
    return cmocka_run_group_tests_name("run_state", tests, NULL, NULL);
}
