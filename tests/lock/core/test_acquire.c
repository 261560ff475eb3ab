/*
 * When a waiter asks again: soon after a question without an answer, ever less often then, and not
 * later than the holder's lease may end. The answers are the test's own; what is counted is
 * questions.
 */
#include "lock/core/ask.h"
#include "lock/core/client.h"
#include "tests/lock/rig.h"

enum { SOON_MS = 20000, LONG_MS = 600000, MANY = 6 };

static struct {
    dlock_status status;
    int64_t retry_ms;
    int asked;
    const kind *kind;     /* the lock's own */
    dlock_cancel *cancel; /* fired by the question number MANY; NULL = none */
} told;

static dlock_status tell(dlock_lock *lock, const asker *who, answer *ret)
{
    (void)lock, (void)who;
    *ret = (answer){.asked = dlock_now(), .retry_ms = told.retry_ms};
    told.asked++;
    if (told.cancel && told.asked == MANY)
        dlock_cancel_now(told.cancel);
    return told.status;
}

/* What a sign of life has queued is Redis's to take back. */
static dlock_status leave(dlock_lock *lock, const char *token)
{
    const kind *asked = lock->kind;
    lock->kind = told.kind;
    dlock_status status = dlock_ask_leave(lock, token);
    lock->kind = asked;
    return status;
}

/* Far beyond what the options allow, so that nothing is asked again because of it. */
static dlock_client *client_that_seldom_rechecks(rig *r)
{
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    client->options.recheck_ms = LONG_MS;
    return client;
}

static dlock_status wait_for(dlock_client *client, dlock_options options, int64_t wait_ms)
{
    dlock_hold *none;
    dlock_lock *lock = rig_lock(client, "asked", options);
    static const kind_everywhere answers = {.acquire = tell, .leave = leave};
    static kind all_asked[DLOCK_SEMAPHORE + 1]; /* a watch outlasts the wait */
    static const kind *own[DLOCK_SEMAPHORE + 1];
    kind *asked = &all_asked[lock->options.kind];
    if (lock->kind != asked) { /* else it is the lock of the wait before */
        own[lock->options.kind] = lock->kind;
        *asked = *lock->kind;
        asked->everywhere = &answers;
        lock->kind = asked;
    }
    told.kind = own[lock->options.kind];
    told.asked = 0;
    dlock_status status =
        dlock_acquire(lock, &(dlock_wait){.wait_ms = wait_ms, .cancel = told.cancel}, &none);
    dlock_lock_free(lock);
    return status;
}

/* Questions come after 5, 10, 20, 40 and 80 ms, then only after recheck_ms; the last one at the
 * end. A machine so slow that it did not come to them gets another try. */
static void without_an_answer_it_is_asked_again_after_5_10_20_ms(void **state)
{
    rig *r = *state;
    enum { QUESTIONS = 7, TRIES = 40 };
    static const int64_t waits_ms[] = {300, 450}; /* all of them by 155 ms; not yet one at 315 */
    dlock_client *client = client_that_seldom_rechecks(r);
    told.status = DLOCK_UNAVAILABLE;
    told.cancel = NULL;
    for (size_t i = 0; i < COUNT(waits_ms); i++) {
        int most = 0;
        for (int n = 0; n < TRIES && most < QUESTIONS; n++) {
            assert_int_equal(wait_for(client, (dlock_options){0}, waits_ms[i]), DLOCK_UNAVAILABLE);
            most = told.asked > most ? told.asked : most;
        }
        assert_int_equal(most, QUESTIONS);
    }
    dlock_client_free(client);
}

/* A hash lock is listened for, and looked at again when the holder's lease may be over; a queue's
 * heartbeat sees to that for all; whoever chose how often to poll is taken at his word. */
static void a_lease_that_ends_is_not_slept_over(void **state)
{
    rig *r = *state;
    static const struct {
        dlock_options options;
        int64_t retry_ms;
        bool again; /* MANY times, soon; otherwise once, or when it begins to listen and at the end
                     */
    } cases[] = {
        {{.kind = DLOCK_STRING}, -1, true}, /* polls */
        {{.kind = DLOCK_STRING}, 0, true},
        {{.kind = DLOCK_STRING}, LONG_MS, true},
        {{.kind = DLOCK_STRING, .poll_ms = 1}, -1, true},
        {{.kind = DLOCK_STRING, .poll_ms = LONG_MS}, -1, false},
        {{.kind = DLOCK_STRING, .poll_ms = LONG_MS}, 0, false},
        {{.kind = DLOCK_STRING, .poll_ms = LONG_MS}, 2, false},
        {{.kind = DLOCK_HASH}, -1, false}, /* listens */
        {{.kind = DLOCK_HASH}, 0, true},
        {{.kind = DLOCK_HASH}, 2, true},
        {{.kind = DLOCK_HASH}, LONG_MS - 1, false},
        {{.kind = DLOCK_HASH, .poll_ms = LONG_MS}, 2, false},
        {{.kind = DLOCK_FAIR}, -1, false},
        {{.kind = DLOCK_FAIR}, 2, false},
        {{.kind = DLOCK_FAIR, .poll_ms = LONG_MS}, -1, true}, /* before a grant would lapse */
    };
    dlock_client *client = client_that_seldom_rechecks(r);
    fx_redis_do(r->server, "SET asked stranger");
    told.status = DLOCK_OK;
    for (size_t i = 0; i < COUNT(cases); i++) {
        told.retry_ms = cases[i].retry_ms;
        told.cancel = cases[i].again ? dlock_cancel_new() : NULL;
        dlock_status status = wait_for(client, cases[i].options, cases[i].again ? SOON_MS : 200);
        if (status != (cases[i].again ? DLOCK_CANCELLED : DLOCK_BUSY) ||
            told.asked < (cases[i].again ? MANY : 1) || told.asked > (cases[i].again ? MANY : 3))
            fail_msg("case %zu: %s after %d questions", i, dlock_status_text(status), told.asked);
        dlock_cancel_free(told.cancel);
    }
    fx_redis_do(r->server, "DEL asked");
    dlock_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_an_answer_it_is_asked_again_after_5_10_20_ms),
        cmocka_unit_test(a_lease_that_ends_is_not_slept_over),
    };
    return cmocka_run_group_tests_name("acquire", tests, rig_setup, rig_teardown);
}
