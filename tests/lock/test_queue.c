/* The fair kind's queue: entries and wake-ups that come in another order than usual, or from an
 * older version. */
#include "tests/lock/rig.h"

#include <pthread.h>

#include "lock/core/ask.h"
#include "lock/core/client.h"

static void until_queued(rig *r, const char *queue, long long n)
{
    dlock_time give_up = dlock_in_ms(5000);
    while (rig_ask(r, "LLEN %s", queue) < n && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_int_equal(rig_ask(r, "LLEN %s", queue), n);
}

static void beat(dlock_lock *lock, const char *token)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    int keys = lock->kind->beat.args(lock, &(asker){.token = lock->client->id}, &args);
    dlock_args_text(&args, token);
    assert_int_equal(dlock_ask_script(lock->client, lock->client->options.redis,
                                      lock->kind->beat.script, keys, &args, 0, &reply),
                     DLOCK_OK);
    freeReplyObject(reply);
}

/* A process's heartbeat, a waiter's first question and its later ones, in every order: one
 * entry, as long as the lock is another's. */
static void whoever_comes_first_queues_a_waiter_once(void **state)
{
    rig *r = *state;
    enum { BEAT = 'b', FIRST = 'f', AGAIN = 'a' };
    static const char *const orders[] = {"bfa", "baf", "fba", "fab", "abf", "afb"};
    fx_redis_do(r->server, "SET once stranger PX 60000");
    for (size_t i = 0; i < COUNT(orders); i++) {
        dlock_lock *lock = rig_lock(r->client, "once", (dlock_options){.kind = DLOCK_FAIR});
        waiter w = {0};
        snprintf(w.token, sizeof(w.token), "%s:%zu", dlock_client_id(r->client), i);
        for (const char *step = orders[i]; *step; step++) {
            answer a = {0};
            asker who = {w.token, 10000, *step == FIRST ? ENTRY_NEW : ENTRY_AGAIN};
            if (*step == BEAT)
                beat(lock, w.token);
            else
                assert_int_equal(dlock_ask_acquire(lock, &who, &a), DLOCK_OK);
            assert_false(a.granted);
            if (rig_ask(r, "LLEN %s", "dlock:{once}:queue") != 1)
                fail_msg("%s: not queued once after \"%c\"", orders[i], *step);
        }
        assert_int_equal(dlock_ask_leave(lock, w.token), DLOCK_NOT_OWNER);
        dlock_lock_free(lock);
    }
    fx_redis_do(r->server, "FLUSHALL");
}

typedef struct wish {
    dlock_lock *lock;
    dlock_hold *hold;
} wish;

static void *come_true(void *arg)
{
    wish *w = arg;
    if (dlock_acquire(w->lock, &(dlock_wait){.wait_ms = 5000}, &w->hold) != DLOCK_OK)
        w->hold = NULL;
    return NULL;
}

/* It does not say for how long the lock was given, so the waiter has to ask. */
static void a_wake_up_of_an_older_version_is_asked_about(void **state)
{
    rig *r = *state;
    wish heir = {.lock = rig_lock(r->client, "older", (dlock_options){.kind = DLOCK_FAIR})};
    char token[256], list[256];
    pthread_t thread;
    fx_redis_do(r->server, "SET older stranger PX 60000");
    pthread_create(&thread, NULL, come_true, &heir);
    until_queued(r, "dlock:{older}:queue", 1);
    assert_true(fx_redis_text(r->server, token, sizeof(token), "LPOP dlock:{older}:queue"));
    snprintf(list, sizeof(list), "dlock:{older}:wake:%s", dlock_client_id(r->client));
    fx_redis_do(r->server, "SET older %s PX 250", token);
    fx_redis_do(r->server, "PUBLISH %s %s%s", list, token, " 9999999999999999 0 0");
    pthread_join(thread, NULL);
    assert_non_null(heir.hold);
    assert_true(fx_redis_number(r->server, "PTTL older") > 1000); /* an answer: the lease runs */
    assert_int_equal(dlock_release(heir.hold), DLOCK_OK);
    dlock_lock_free(heir.lock);
    fx_redis_do(r->server, "FLUSHALL");
}

/* The subscription, and the heartbeat after it. */
static bool is_listened_for(void *server)
{
    redisReply *channels = fx_redis_reply(server, "PUBSUB CHANNELS dlock:{woken}:wake:*");
    redisReply *queued = fx_redis_reply(server, "LLEN dlock:{woken}:queue");
    bool both = channels->elements == 1 && queued->integer == 1;
    freeReplyObject(channels);
    freeReplyObject(queued);
    return both;
}

/* Nothing else would wake it: it looks again after ten minutes. A machine so slow that the waiter
 * passed for dead meanwhile gets another try. */
static void a_release_wakes_the_next_waiter(void **state)
{
    fx_only_single("its blocked clients are counted");
    rig *r = *state;
    enum { LONG_MS = 600000, TRIES = 4 };
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis});
    client->options.recheck_ms = LONG_MS;
    dlock_options fair = {.kind = DLOCK_FAIR, .lease_ms = LONG_MS};
    wish next = {.lock = rig_lock(client, "woken", fair)};
    bool woken = false;
    for (int i = 0; i < TRIES && !woken; i++) {
        dlock_time last_question = dlock_in_ms(5000); /* its wait ends with one */
        pthread_t thread;
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(next.lock, NULL, &hold), DLOCK_OK);
        pthread_create(&thread, NULL, come_true, &next);
        assert_true(fx_wait_until(is_listened_for, r->server, 4000));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        pthread_join(thread, NULL);
        woken = next.hold && !dlock_passed(last_question);
        if (next.hold)
            assert_int_equal(dlock_release(next.hold), DLOCK_OK);
    }
    assert_true(woken);
    dlock_lock_free(next.lock);
    dlock_client_free(client);
    fx_redis_do(r->server, "FLUSHALL");
}

typedef struct crowd {
    dlock_lock **locks;
    unsigned seed;
    int failed;
} crowd;

enum { CROWD_LOCKS = 100, CROWD_CLIENTS = 3, CROWD_THREADS = 96, CROWD_TURNS = 300 };

static void *take_some(void *arg)
{
    crowd *c = arg;
    for (int i = 0; i < CROWD_TURNS; i++) {
        dlock_hold *hold;
        dlock_lock *lock = c->locks[rand_r(&c->seed) % CROWD_LOCKS];
        if (dlock_acquire(lock, &(dlock_wait){.wait_ms = 20000}, &hold) == DLOCK_OK)
            dlock_release(hold);
        else if (++c->failed)
            break;
    }
    return NULL;
}

/* What a process sends is executed in that order: a heartbeat behind the release of a waiter that
 * it names would queue that once more, and its renewal keep the lock for a lease. */
static void nobody_who_has_left_holds_a_lock(void **state)
{
    rig *r = *state;
    static dlock_lock *locks[CROWD_CLIENTS][CROWD_LOCKS];
    static crowd crowds[CROWD_THREADS];
    dlock_client *clients[CROWD_CLIENTS];
    pthread_t threads[CROWD_THREADS];
    char name[32];
    for (int k = 0; k < CROWD_CLIENTS; k++) {
        char err[256];
        assert_int_equal(
            dlock_client_open(fx_redis_url(r->server), NULL, &clients[k], err, sizeof(err)),
            DLOCK_OK);
        for (int i = 0; i < CROWD_LOCKS; i++) {
            snprintf(name, sizeof(name), "crowd:%d", i);
            locks[k][i] =
                rig_lock(clients[k], name, (dlock_options){.kind = DLOCK_FAIR, .lease_ms = 60000});
        }
    }
    for (int i = 0; i < CROWD_THREADS; i++) {
        crowds[i] = (crowd){.locks = locks[i % CROWD_CLIENTS], .seed = (unsigned)i};
        pthread_create(&threads[i], NULL, take_some, &crowds[i]);
    }
    for (int i = 0; i < CROWD_THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(crowds[i].failed, 0);
    }
    for (int i = 0; i < CROWD_LOCKS; i++) {
        snprintf(name, sizeof(name), "crowd:%d", i);
        assert_true(rig_ask(r, "PTTL %s", name) < 1000); /* at most a claim window's */
        for (int k = 0; k < CROWD_CLIENTS; k++)
            dlock_lock_free(locks[k][i]);
    }
    for (int k = 0; k < CROWD_CLIENTS; k++)
        dlock_client_free(clients[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nobody_who_has_left_holds_a_lock),
        cmocka_unit_test(whoever_comes_first_queues_a_waiter_once),
        cmocka_unit_test(a_wake_up_of_an_older_version_is_asked_about),
        cmocka_unit_test(a_release_wakes_the_next_waiter),
    };
    return cmocka_run_group_tests_name("queue", tests, rig_setup, rig_teardown);
}
