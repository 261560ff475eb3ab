/* Waiting for a lock: who must be woken, by what, and what a wait must not do to Redis. */
#include "lock/core/ask.h"
#include "lock/core/client.h"
#include "lock/core/waiting.h"
#include "tests/lock/wish.h"
#include "tests/support/proxy.h"

/* A holder that never comes back must not keep its cohort from the lock that it has lost. */
static void a_lost_grant_does_not_hold_up_its_cohort(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "cohort",
                                (dlock_options){.kind = DLOCK_FAIR,
                                                .lease_ms = fx_lease_ms(200),
                                                .renew_ms = DLOCK_NEVER,
                                                .cohort_max = 8});
    dlock_hold *lost, *second;
    assert_int_equal(dlock_acquire(lock, NULL, &lost), DLOCK_OK);
    for (uint64_t context = 1; context <= 2; context++) {
        assert_int_equal(
            dlock_acquire(lock, &(dlock_wait){.wait_ms = fx_patient_ms(3000), .context = context},
                          &second),
            DLOCK_OK);
        assert_int_equal(dlock_release(second), DLOCK_OK);
    }
    assert_int_not_equal(dlock_release(lost), DLOCK_OK);
    dlock_lock_free(lock);
}

/* dlock_with() makes a lock of the same name in every thread. Their wake-ups come by one list, and
 * whoever reads it must not take another's for a dead waiter's. */
static void two_locks_of_one_name_wake_each_their_own(void **state)
{
    rig *r = *state;
    dlock_lock *lock[2]; /* two, because their options differ */
    for (int i = 0; i < 2; i++)
        lock[i] =
            rig_lock(r->client, "twin", (dlock_options){.kind = DLOCK_FAIR, .lease_ms = 10000 + i});
    assert_ptr_not_equal(lock[0], lock[1]);
    for (int round = 0; round < 20; round++) {
        wish w[2] = {{.lock = lock[0], .wait = {.wait_ms = 5000}},
                     {.lock = lock[1], .wait = {.wait_ms = 5000}}};
        pthread_t threads[2];
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock[0], NULL, &hold), DLOCK_OK);
        for (int i = 0; i < 2; i++) {
            pthread_create(&threads[i], NULL, come_true, &w[i]);
            until_queued(r, "dlock:{twin}:queue", i + 1);
        }
        fx_let_pass(round * 7);
        dlock_release(hold);
        for (int i = 0; i < 2; i++) {
            pthread_join(threads[i], NULL);
            assert_int_equal(w[i].status, DLOCK_OK);
        }
        assert_true(w[0].fence < w[1].fence);
    }
    dlock_lock_free(lock[0]);
    dlock_lock_free(lock[1]);
}

/* Who polls more slowly than the claim window would find each of its grants lapsed. */
static void a_slow_poller_is_not_starved(void **state)
{
    rig *r = *state;
    int poll_ms = fx_patient_ms(1500);
    dlock_options slow = {.kind = DLOCK_FAIR, .poll_ms = poll_ms};
    wish w = {.lock = rig_lock(r->client, "slow", slow), .wait = {.wait_ms = poll_ms / 5 * 4}};
    pthread_t thread;
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(w.lock, NULL, &hold), DLOCK_OK);
    pthread_create(&thread, NULL, come_true, &w);
    until_queued(r, "dlock:{slow}:queue", 1);
    dlock_time start = dlock_now();
    dlock_release(hold);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, DLOCK_OK);
    assert_true(dlock_now().us - start.us < poll_ms * 600LL);
    dlock_lock_free(w.lock);
}

/* Nobody who left, by whatever way, may leave something that lives on without an end. */
static void what_is_left_has_an_end(void **state)
{
    rig *r = *state;
    dlock_options fair = {.kind = DLOCK_FAIR};
    dlock_lock *lock = rig_lock(r->client, "left", fair);
    wish w = {.lock = lock, .wait = {.wait_ms = 400}};
    pthread_t thread;
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    pthread_create(&thread, NULL, come_true, &w);
    until_queued(r, "dlock:{left}:queue", 1);
    rig_ask(r, "DEL %s", "dlock:{left}:beats"); /* the waiter's next sign of life makes it anew */
    pthread_join(thread, NULL);
    assert_int_equal(w.status, DLOCK_BUSY);
    assert_int_equal(rig_ask(r, "EXISTS %s", "dlock:{left}:queue"), 0);
    assert_true(rig_ask(r, "PTTL %s", "dlock:{left}:beats") != -1);
    assert_true(rig_ask(r, "PTTL %s", "dlock:{left}:fence") > 0);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_int_equal(rig_ask(r, "EXISTS %s", "left"), 0);
    dlock_lock_free(lock);
}

/* A server, or its ACL, that refuses the waiting itself must not be asked in a busy loop. */
static void a_refused_wait_is_no_busy_loop(void **state)
{
    (void)state;
    const char *args[] = {"--rename-command", "SUBSCRIBE", "", NULL};
    rig r = {.server = fx_redis_start_single(args)}; /* sentinels need SUBSCRIBE */
    r.redis = rig_redis(fx_redis_url(r.server));
    r.client = rig_client(&(dlock_client_options){.redis = r.redis});
    dlock_kind kinds[] = {DLOCK_FAIR, DLOCK_HASH};
    for (int i = 0; i < 2; i++) {
        dlock_lock *lock = rig_lock(r.client, "refused", (dlock_options){.kind = kinds[i]});
        dlock_hold *hold, *none;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        rig_ask(&r, "CONFIG %s", "RESETSTAT");
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 500, .context = 1}, &none),
                         DLOCK_BUSY);
        redisReply *reply = fx_redis_reply(r.server, "INFO stats");
        const char *errors = strstr(reply->str, "total_error_replies:");
        assert_non_null(errors);
        assert_in_range(strtol(strchr(errors, ':') + 1, NULL, 10), 1, 30);
        assert_in_range(calls(r.server, "evalsha"), 1, 30);
        freeReplyObject(reply);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
    }
    dlock_client_free(r.client);
    dlock_redis_close(r.redis);
    fx_redis_stop(r.server);
}

static bool is_listened_for(void *server)
{
    redisReply *reply = fx_redis_reply(server, "PUBSUB CHANNELS dlock:{refused}:wake:*");
    bool some = reply->elements == 1;
    freeReplyObject(reply);
    return some;
}

/* Likewise where it is refused from some time on. */
static void a_wait_that_is_refused_later_is_no_busy_loop(void **state)
{
    (void)state;
    rig r = {.server = fx_redis_start_single(NULL)};
    r.redis = rig_redis(fx_redis_url(r.server));
    r.client = rig_client(&(dlock_client_options){.redis = r.redis});
    dlock_lock *lock = rig_lock(r.client, "refused", (dlock_options){.kind = DLOCK_FAIR});
    dlock_cancel *cancel = dlock_cancel_new();
    wish w = {.lock = lock, .wait = {.wait_ms = 60000, .cancel = cancel}};
    pthread_t thread;
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    pthread_create(&thread, NULL, come_true, &w);
    assert_true(fx_wait_until(is_listened_for, r.server, 20000));
    fx_redis_do(r.server, "ACL SETUSER default -subscribe");
    fx_redis_do(r.server, "CONFIG RESETSTAT");
    fx_redis_do(r.server, "CLIENT KILL TYPE pubsub");
    fx_let_pass(500); /* a loop would be in its thousands */
    dlock_cancel_now(cancel);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, DLOCK_CANCELLED);
    redisReply *reply = fx_redis_reply(r.server, "INFO stats");
    const char *errors = strstr(reply->str, "total_error_replies:");
    assert_non_null(errors);
    assert_in_range(strtol(strchr(errors, ':') + 1, NULL, 10), 1, 30);
    freeReplyObject(reply);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_cancel_free(cancel);
    dlock_lock_free(lock);
    dlock_client_free(r.client);
    dlock_redis_close(r.redis);
    fx_redis_stop(r.server);
}

/* A hand-off counts only after the replicas have it, where that was asked for: more than there
 * are. */
static void a_hand_off_waits_for_replicas_too(void **state)
{
    rig *r = *state;
    dlock_lock *plain = rig_lock(r->client, "replicas", (dlock_options){.kind = DLOCK_FAIR});
    dlock_lock *careful =
        rig_lock(r->client, "replicas", (dlock_options){.kind = DLOCK_FAIR, .wait_replicas = 9});
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(plain, NULL, &hold), DLOCK_OK);
    wish w = {.lock = careful, .wait = {.wait_ms = 1500}};
    pthread_t thread;
    pthread_create(&thread, NULL, come_true, &w);
    until_queued(r, "dlock:{replicas}:queue", 1);
    fx_let_pass(1000); /* the first question, with its own WAIT, is over */
    dlock_release(hold);
    pthread_join(thread, NULL);
    assert_int_equal(w.status, DLOCK_UNKNOWN);
    dlock_lock_free(plain);
    dlock_lock_free(careful);
}

/* A lease that ran out on the way back is none. */
static void a_grant_that_comes_too_late_is_none(void **state)
{
    fx_only_single("a proxy is before Redis");
    rig *r = *state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    dlock_lock *lock =
        rig_lock(client, "late", (dlock_options){.lease_ms = 100, .renew_ms = DLOCK_NEVER});
    dlock_hold *none;
    fx_proxy_say(proxy, "delay reply 300ms");
    assert_int_equal(dlock_acquire(lock, NULL, &none), DLOCK_UNKNOWN);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

/* Scripts do not roll back: one that fails, here at the fence, must not have taken the lock before.
 */
static void a_failed_question_takes_nothing(void **state)
{
    rig *r = *state;
    rig_ask(r, "ACL SETUSER default %s", "-set");
    dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (int i = 0; i < 3; i++) {
        dlock_lock *lock = rig_lock(r->client, "failed", (dlock_options){.kind = kinds[i]});
        dlock_hold *none;
        assert_int_equal(dlock_acquire(lock, NULL, &none), DLOCK_FAILED);
        assert_int_equal(rig_ask(r, "EXISTS %s", "failed"), 0);
        dlock_lock_free(lock);
    }
    rig_ask(r, "ACL SETUSER default %s", "+set");
}

/* What the network delivers when nobody waits for the reply any more must not take the lock. */
static void a_question_that_comes_too_late_takes_nothing(void **state)
{
    fx_only_single("a proxy is before Redis");
    rig *r = *state;
    dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    for (int i = 0; i < 3; i++) {
        dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
        dlock_client *client = rig_client(&(dlock_client_options){.redis = redis, .io_ms = 200});
        dlock_lock *lock = rig_lock(client, "slow way", (dlock_options){.kind = kinds[i]});
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        long before = calls(r->server, "evalsha");
        fx_proxy_say(proxy, "delay request 1200ms 1 match EVALSHA");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_UNKNOWN);
        dlock_time give_up = dlock_in_ms(10000); /* it comes, and what takes it back */
        while (calls(r->server, "evalsha") < before + 2 && !dlock_passed(give_up))
            fx_let_pass(10);
        assert_in_range(calls(r->server, "evalsha"), before + 2, before + 100);
        assert_int_equal(rig_ask(r, "EXISTS %s", "slow way"), 0);
        assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 5000}, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        fx_proxy_say(proxy, "heal");
        dlock_lock_free(lock);
        dlock_client_free(client);
        dlock_redis_close(redis);
    }
    fx_proxy_stop(proxy);
}

/* A Redis whose clock was set, or another one after a failover, is believed. */
static void a_clock_that_was_set_is_learned(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "clock", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold;
    for (int64_t step_s = -3600; step_s <= 3600; step_s += 3600) {
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        server_clock *clock = &r->client->clocks[dlock_redis_server_of(r->redis, "clock")];
        atomic_fetch_add(&clock->offset_us, step_s * 1000000); /* as if it had been so before */
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    dlock_lock_free(lock);
}

/* What takes long on its way, or leaves late, tells less of Redis's clock than was known before. */
static void a_slow_question_does_not_move_the_clock(void **state)
{
    fx_only_single("a proxy is before Redis");
    rig *r = *state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    dlock_lock *lock = rig_lock(client, "slow clock", (dlock_options){.kind = DLOCK_STRING});
    int64_t known = 0;
    for (int i = 0; i < 2; i++) {
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        if (i == 0)
            known = atomic_load(&client->clocks[0].offset_us);
        fx_proxy_say(proxy, "delay request 300ms 1 match slow");
    }
    assert_int_equal(fx_proxy_count(proxy, "delayed"), 1);
    assert_true(atomic_load(&client->clocks[0].offset_us) <= known);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
}

/* A question may be executed twice, the second time late: it must not make its own grant stale. */
static void a_question_asked_twice_is_one_grant(void **state)
{
    rig *r = *state;
    dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (int i = 0; i < 3; i++) {
        answer first, again, next;
        asker one = {"x:1", 10000, ENTRY_NEW}, two = {"x:2", 10000, ENTRY_NEW};
        dlock_lock *lock = rig_lock(r->client, "twice", (dlock_options){.kind = kinds[i]});
        assert_int_equal(dlock_ask_acquire(lock, &one, &first), DLOCK_OK);
        one.entry = ENTRY_AGAIN;
        assert_int_equal(dlock_ask_acquire(lock, &one, &again), DLOCK_OK);
        assert_true(first.granted && again.granted);
        assert_true(first.fence == again.fence);
        assert_int_equal(dlock_ask_release(lock, "x:1"), DLOCK_OK);
        assert_int_equal(dlock_ask_acquire(lock, &two, &next), DLOCK_OK);
        assert_true(next.granted && next.fence > again.fence);
        assert_int_equal(dlock_ask_release(lock, "x:2"), DLOCK_OK);
        dlock_lock_free(lock);
    }
}

/* A broadcast is for one of those who wait. The others would get nothing; but it must not die with
 * the one that was chosen. */
typedef struct sleeper {
    dlock_lock *lock;
    waiter w;
    atomic_bool up;
    pthread_t thread;
} sleeper;

static void *sleep_in_set(void *arg)
{
    sleeper *s = arg;
    dlock_wait_set_wait(s->lock, &s->w, &(dlock_wait){0}, dlock_in_ms(10000));
    atomic_store(&s->up, true);
    return NULL;
}

static int up_of(sleeper *s, int n)
{
    int up = 0;
    for (int i = 0; i < n; i++)
        up += atomic_load(&s[i].up);
    return up;
}

static void until_up(sleeper *s, int n, int wanted)
{
    dlock_time give_up = dlock_in_ms(5000);
    while (up_of(s, n) < wanted && !dlock_passed(give_up))
        fx_let_pass(1);
    fx_let_pass(20); /* one more would come now */
    assert_int_equal(up_of(s, n), wanted);
}

static void until_asleep(sleeper *s)
{
    for (bool asleep = false; !asleep; fx_let_pass(1)) {
        pthread_mutex_lock(&s->lock->wait_set.lock);
        asleep = s->w.asleep;
        pthread_mutex_unlock(&s->lock->wait_set.lock);
    }
}

static void a_broadcast_wakes_one_and_is_passed_on(void **state)
{
    rig *r = *state;
    dlock_options polls = {.poll_ms = 10000}; /* no watch: only what the test says wakes */
    sleeper s[3] = {0};
    dlock_lock *lock = rig_lock(r->client, "one", polls);
    for (int i = 0; i < 3; i++) {
        s[i].lock = lock;
        dlock_wait_set_enter(&lock->wait_set, &s[i].w);
        pthread_create(&s[i].thread, NULL, sleep_in_set, &s[i]);
        until_asleep(&s[i]);
    }
    dlock_wait_set_wake_one(&lock->wait_set);
    until_up(s, 3, 1);
    assert_true(atomic_load(&s[0].up));             /* has waited longest; has no answer yet, */
    dlock_wait_set_leave(&lock->wait_set, &s[0].w); /* and goes without */
    until_up(s, 3, 2);
    assert_true(atomic_load(&s[1].up));
    s[1].w.chosen = false; /* had its answer */
    dlock_wait_set_leave(&lock->wait_set, &s[1].w);
    until_up(s, 3, 2);
    dlock_wait_set_wake_one(&lock->wait_set);
    until_up(s, 3, 3);
    dlock_wait_set_leave(&lock->wait_set, &s[2].w);
    dlock_wait_set_wake_one(&lock->wait_set); /* for nobody */
    for (int i = 0; i < 3; i++)
        pthread_join(s[i].thread, NULL);
    dlock_lock_free(lock);
}

typedef struct heir {
    dlock_lock *lock;
    pthread_t thread;
    atomic_bool has, may_go;
} heir;

static void *inherit(void *arg)
{
    heir *h = arg;
    dlock_hold *hold;
    if (dlock_acquire(h->lock, &(dlock_wait){.wait_ms = DLOCK_FOREVER}, &hold) != DLOCK_OK)
        return NULL;
    atomic_store(&h->has, true);
    while (!atomic_load(&h->may_go))
        fx_let_pass(1);
    dlock_release(hold);
    return NULL;
}

static heir *the_one_that_has(heir *heirs, int n)
{
    dlock_time give_up = dlock_in_ms(5000);
    while (!dlock_passed(give_up)) {
        for (int i = 0; i < n; i++)
            if (atomic_load(&heirs[i].has) && !atomic_load(&heirs[i].may_go))
                return &heirs[i];
        fx_let_pass(1);
    }
    return NULL;
}

/* Whoever goes with its answer, the lock for one, leaves the others asleep: they would get nothing.
 * Here they ask when they are woken, or after ten minutes. */
static void who_has_an_answer_wakes_nobody_in_its_place(void **state)
{
    fx_only_single("its commands are counted");
    rig *r = *state;
    enum { HEIRS = 3, LONG_MS = 600000 };
    heir heirs[HEIRS] = {0};
    dlock_hold *hold;
    dlock_lock *lock =
        rig_lock(r->client, "heirs", (dlock_options){.poll_ms = LONG_MS, .lease_ms = LONG_MS});
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    long asked = calls(r->server, "evalsha") + HEIRS;
    for (int i = 0; i < HEIRS; i++) {
        heirs[i].lock = lock;
        pthread_create(&heirs[i].thread, NULL, inherit, &heirs[i]);
    }
    dlock_time give_up = dlock_in_ms(5000);
    while (calls(r->server, "evalsha") < asked && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    for (int left = HEIRS; left > 0; left--) {
        dlock_wait_set_wake_one(&lock->wait_set);
        heir *next = the_one_that_has(heirs, HEIRS);
        assert_non_null(next);
        fx_let_pass(20); /* one more would ask now */
        asked += 2;      /* a release, and one question */
        assert_int_equal(calls(r->server, "evalsha"), asked);
        atomic_store(&next->may_go, true);
        pthread_join(next->thread, NULL);
    }
    dlock_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lost_grant_does_not_hold_up_its_cohort),
        cmocka_unit_test(two_locks_of_one_name_wake_each_their_own),
        cmocka_unit_test(a_slow_poller_is_not_starved),
        cmocka_unit_test(what_is_left_has_an_end),
        cmocka_unit_test(a_refused_wait_is_no_busy_loop),
        cmocka_unit_test(a_wait_that_is_refused_later_is_no_busy_loop),
        cmocka_unit_test(a_hand_off_waits_for_replicas_too),
        cmocka_unit_test(a_grant_that_comes_too_late_is_none),
        cmocka_unit_test(a_failed_question_takes_nothing),
        cmocka_unit_test(a_question_that_comes_too_late_takes_nothing),
        cmocka_unit_test(a_clock_that_was_set_is_learned),
        cmocka_unit_test(a_slow_question_does_not_move_the_clock),
        cmocka_unit_test(a_question_asked_twice_is_one_grant),
        cmocka_unit_test(a_broadcast_wakes_one_and_is_passed_on),
        cmocka_unit_test(who_has_an_answer_wakes_nobody_in_its_place),
    };
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
