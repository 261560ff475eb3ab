/* Which lock a name is: servers, name and family of kinds; and its companion keys. */
#include "tests/lock/rig.h"

#include <poll.h>
#include <pthread.h>

enum { SERVERS = 3 };

static void try_it(dlock_lock *lock, dlock_status expected)
{
    dlock_hold *hold;
    dlock_status status = dlock_acquire(lock, NULL, &hold);
    if (status != expected)
        fail_msg("%s, not %s", dlock_status_text(status), dlock_status_text(expected));
    if (status == DLOCK_OK)
        assert_int_equal(dlock_release(hold), DLOCK_OK);
}

static dlock_hold *take(dlock_lock *lock)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    return hold;
}

/* ---- servers --------------------------------------------------------------------------------- */

typedef struct many {
    fx_redis *server[SERVERS];
    dlock_redis *redis[SERVERS];
} many;

static many start_many(void)
{
    many m;
    for (int i = 0; i < SERVERS; i++) {
        m.server[i] = fx_redis_start_single(NULL);
        m.redis[i] = rig_redis(fx_redis_url(m.server[i]));
    }
    return m;
}

static void stop_many(many *m)
{
    for (int i = 0; i < SERVERS; i++) {
        dlock_redis_close(m->redis[i]);
        fx_redis_stop(m->server[i]);
    }
}

static dlock_client *client_of(const many *m, dlock_redis *redis)
{
    return rig_client(&(dlock_client_options){
        .redis = redis, .quorum = m->redis, .quorum_len = SERVERS, .io_ms = 5000});
}

/* B has the name on another server, and asks the quorum, where A has it. */
static void a_quorum_is_not_entered_by_a_hold_elsewhere(void **state)
{
    const rig *r = *state;
    many m = start_many();
    dlock_client *a = client_of(&m, NULL), *b = client_of(&m, r->redis);
    dlock_lock *theirs = rig_lock(a, "x", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_lock *quorum = rig_lock(b, "x", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_lock *single = rig_lock(b, "x", (dlock_options){.kind = DLOCK_STRING});
    dlock_hold *held = take(theirs), *mine = take(single);
    try_it(quorum, DLOCK_BUSY);
    assert_int_equal(dlock_release(held), DLOCK_OK);
    held = take(quorum);
    assert_ptr_not_equal(held, mine);
    try_it(theirs, DLOCK_BUSY);
    assert_int_equal(dlock_release(held), DLOCK_OK);
    assert_int_equal(dlock_release(mine), DLOCK_OK);
    dlock_lock_free(theirs);
    dlock_lock_free(quorum);
    dlock_lock_free(single);
    dlock_client_free(a);
    dlock_client_free(b);
    stop_many(&m);
}

/* On a server that both ask they exclude each other, in one context too. */
static void a_quorum_and_one_of_its_servers_exclude_each_other(void **state)
{
    (void)state;
    many m = start_many();
    dlock_client *client = client_of(&m, m.redis[0]);
    dlock_lock *quorum = rig_lock(client, "x", (dlock_options){.kind = DLOCK_QUORUM});
    dlock_lock *fair = rig_lock(client, "x", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *held = take(quorum);
    try_it(fair, DLOCK_BUSY);
    assert_int_equal(dlock_release(held), DLOCK_OK);
    held = take(fair);
    dlock_redis *const votes[] = {m.redis[0]};
    dlock_client *alone =
        rig_client(&(dlock_client_options){.quorum = votes, .quorum_len = 1, .io_ms = 5000});
    dlock_lock *vote = rig_lock(alone, "x", (dlock_options){.kind = DLOCK_QUORUM});
    try_it(vote, DLOCK_BUSY);
    assert_int_equal(dlock_release(held), DLOCK_OK);
    try_it(vote, DLOCK_OK);
    dlock_lock_free(vote);
    dlock_client_free(alone);
    dlock_lock_free(quorum);
    dlock_lock_free(fair);
    dlock_client_free(client);
    stop_many(&m);
}

/* ---- what a re-entry may not weaken ---------------------------------------------------------- */

static void a_hold_that_is_not_reentrant_is_not_entered(void **state)
{
    rig *r = *state;
    dlock_options once = {.not_reentrant = true};
    dlock_lock *first = rig_lock(r->client, "once", once);
    dlock_lock *second = rig_lock(r->client, "once", (dlock_options){0});
    dlock_hold *hold = take(first);
    try_it(second, DLOCK_BUSY);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    hold = take(second);
    try_it(first, DLOCK_BUSY);
    try_it(second, DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(first);
    dlock_lock_free(second);
}

static void a_hold_that_replicas_need_not_have_is_not_entered(void **state)
{
    rig *r = *state;
    dlock_lock *weak = rig_lock(r->client, "weak", (dlock_options){0});
    dlock_lock *strong = rig_lock(r->client, "weak", (dlock_options){.wait_replicas = 1});
    dlock_hold *hold = take(weak);
    try_it(strong, DLOCK_INVALID);
    try_it(weak, DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(weak);
    dlock_lock_free(strong);
}

/* Nor does a lock enter that is not reentrant; but it does not wait for itself either. */
static void who_reads_and_wants_to_write_is_told_so_at_once(void **state)
{
    rig *r = *state;
    dlock_options writes = {.kind = DLOCK_WRITE, .not_reentrant = true};
    dlock_lock *read = rig_lock(r->client, "both", (dlock_options){.kind = DLOCK_READ});
    dlock_lock *write = rig_lock(r->client, "both", writes);
    dlock_hold *hold = take(read);
    try_it(write, DLOCK_INVALID);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(read);
    dlock_lock_free(write);
}

static void a_quorum_waits_for_no_replicas(void **state)
{
    char err[256] = "";
    many m = start_many();
    dlock_client *client = client_of(&m, m.redis[0]);
    dlock_options options = {.kind = DLOCK_QUORUM, .wait_replicas = 1};
    dlock_lock *lock;
    (void)state;
    assert_int_equal(dlock_lock_new(client, "no", &options, &lock, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_non_null(strstr(err, "wait_replicas"));
    dlock_client_free(client);
    stop_many(&m);
}

/* ---- companion keys -------------------------------------------------------------------------- */

/* Whatever a lock is called, another one's companions leave it alone. */
static void no_companion_has_the_name_of_a_lock(void **state)
{
    rig *r = *state;
    static const char *const names[] = {"{job}:queue", "{job}:beats", "{job}:fence", "{job}"};
    enum { NAMES = COUNT(names) };
    dlock_lock *fair = rig_lock(r->client, "job", (dlock_options){.kind = DLOCK_FAIR});
    dlock_lock *locks[NAMES];
    dlock_hold *holds[NAMES];
    try_it(fair, DLOCK_OK); /* its companions are there */
    for (int i = 0; i < NAMES; i++) {
        locks[i] = rig_lock(r->client, names[i], (dlock_options){.kind = DLOCK_FAIR});
        holds[i] = take(locks[i]);
    }
    dlock_hold *hold = take(fair);
    for (int i = 0; i < NAMES; i++) {
        dlock_hold *again = take(locks[i]);
        assert_ptr_equal(again, holds[i]);
        assert_int_equal(dlock_release(again), DLOCK_OK);
        assert_int_equal(dlock_release(holds[i]), DLOCK_OK); /* it was in Redis all the time */
        dlock_lock_free(locks[i]);
    }
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(fair);
}

static bool has_subscribers(void *server)
{
    redisReply *channels = fx_redis_reply(server, "PUBSUB CHANNELS dlock:{t*");
    bool any = channels->elements == 1 && strlen(channels->element[0]->str) > 900;
    freeReplyObject(channels);
    return any;
}

static void *take_in_time(void *lock)
{
    dlock_hold *hold;
    if (dlock_acquire(lock, &(dlock_wait){.wait_ms = 20000}, &hold) == DLOCK_OK)
        dlock_release(hold);
    return NULL;
}

/* The channel's name contains the lock's and its tag. */
static void a_long_name_is_heard_of(void **state)
{
    fx_only_single("its channels are counted");
    rig *r = *state;
    char name[448];
    memset(name, 't', sizeof(name));
    name[0] = '{';
    name[sizeof(name) - 2] = '}';
    name[sizeof(name) - 1] = '\0';
    pthread_t thread;
    dlock_lock *lock = rig_lock(r->client, name, (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold = take(lock);
    pthread_create(&thread, NULL, take_in_time, lock);
    assert_true(fx_wait_until(has_subscribers, r->server, 20000));
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    pthread_join(thread, NULL);
    dlock_lock_free(lock);
}

static void a_name_among_the_companions_is_refused(void **state)
{
    rig *r = *state;
    char err[128] = "";
    dlock_lock *lock;
    dlock_latch *latch;
    assert_int_equal(dlock_lock_new(r->client, "dlock:x", NULL, &lock, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_non_null(strstr(err, "companion keys"));
    assert_int_equal(dlock_latch_new(r->client, "dlock:{x}:queue", &latch, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_int_equal(dlock_lock_new(r->client, "dlockx", NULL, &lock, err, sizeof(err)), DLOCK_OK);
    dlock_lock_free(lock);
}

/* ---- who waits ------------------------------------------------------------------------------- */

/* The holder is another library's, and gone; who waits for the lock keeps those of other kinds out.
 */
static void who_waits_is_not_overtaken_by_another_kind(void **state)
{
    rig *r = *state;
    static const dlock_kind waiters[] = {DLOCK_FAIR, DLOCK_READ, DLOCK_SEMAPHORE};
    static const dlock_kind others[] = {DLOCK_HASH, DLOCK_STRING, DLOCK_HASH};
    for (int i = 0; i < 3; i++) {
        dlock_options waits = {.kind = waiters[i], .permits = waiters[i] == DLOCK_SEMAPHORE};
        dlock_client *client =
            rig_client(&(dlock_client_options){.redis = r->redis, .recheck_ms = 1000});
        dlock_lock *lock = rig_lock(client, "meant", waits);
        dlock_lock *other = rig_lock(r->client, "meant", (dlock_options){.kind = others[i]});
        dlock_pending *pending;
        dlock_hold *hold;
        rig_ask(r, "SET %s stranger", "meant");
        assert_int_equal(
            dlock_acquire_start(lock, &(dlock_wait){.wait_ms = 30000, .context = 9}, &pending),
            DLOCK_OK);
        dlock_time give_up = dlock_in_ms(20000);
        while (rig_ask(r, "LLEN %s", "dlock:{meant}:queue") == 0 && !dlock_passed(give_up))
            dlock_sleep(dlock_in_ms(2));
        rig_ask(r, "DEL %s", "meant");
        dlock_status status = dlock_acquire(other, NULL, &hold);
        if (status == DLOCK_OK)
            fail_msg("kind %d came between", (int)others[i]);
        struct pollfd fd = {.fd = dlock_pending_fd(pending), .events = POLLIN};
        assert_int_equal(poll(&fd, 1, 20000), 1);
        assert_int_equal(dlock_acquire_finish(pending, &hold), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(lock);
        dlock_lock_free(other);
        dlock_client_free(client);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quorum_is_not_entered_by_a_hold_elsewhere),
        cmocka_unit_test(a_quorum_and_one_of_its_servers_exclude_each_other),
        cmocka_unit_test(a_hold_that_is_not_reentrant_is_not_entered),
        cmocka_unit_test(a_hold_that_replicas_need_not_have_is_not_entered),
        cmocka_unit_test(who_reads_and_wants_to_write_is_told_so_at_once),
        cmocka_unit_test(a_quorum_waits_for_no_replicas),
        cmocka_unit_test(no_companion_has_the_name_of_a_lock),
        cmocka_unit_test(a_long_name_is_heard_of),
        cmocka_unit_test(a_name_among_the_companions_is_refused),
        cmocka_unit_test(who_waits_is_not_overtaken_by_another_kind),
    };
    return cmocka_run_group_tests_name("identity", tests, rig_setup, rig_teardown);
}
