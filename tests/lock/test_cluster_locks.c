/* Locks on a real cluster: names and slots, waiters and renewals through moving slots and a
 * failover. What holds everywhere is tested by the other programs (make test REDIS=cluster). */
#include "tests/lock/cluster.h"

#include <pthread.h>
#include <signal.h>

enum { DEADLINE_MS = 20000 };

static const dlock_options kinds[] = {
    {.kind = DLOCK_STRING}, {.kind = DLOCK_HASH},  {.kind = DLOCK_FAIR},
    {.kind = DLOCK_READ},   {.kind = DLOCK_WRITE}, {.kind = DLOCK_SEMAPHORE, .permits = 1}};
enum { KINDS = COUNT(kinds) };

/* ---- names ----------------------------------------------------------------------------------- */

static void a_name_needs_no_hash_tag(void **state)
{
    static const char *const names[] = {"plain",           "stock:42", "a b\xc3\xbc", "{a}{b}",
                                        "order:{42}:ship", "}{a}",     "{{a}}",       "{a}{}"};
    cluster_rig *r = *state;
    for (size_t i = 0; i < KINDS * COUNT(names); i++) {
        const char *name = names[i / KINDS];
        dlock_options options = kinds[i % KINDS];
        options.lease_ms = 60000;
        dlock_lock *lock = rig_lock(r->client, name, options);
        dlock_hold *hold;
        dlock_info info;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
        assert_true(info.held);
        assert_string_equal(info.owner, dlock_owner(hold));
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_force_release(lock), DLOCK_OK);
        assert_int_equal(dlock_release(hold), DLOCK_EXPIRED);
        dlock_lock_free(lock);
    }
}

static void names_without_a_slot_of_their_own_are_refused(void **state)
{
    static const char *const names[] = {"a}b", "{}", "x{}y", "{}{a}", "a{", "}"};
    cluster_rig *r = *state;
    char err[256];
    dlock_lock *lock;
    for (size_t i = 0; i < COUNT(names); i++)
        assert_int_equal(dlock_lock_new(r->client, names[i], NULL, &lock, err, sizeof(err)),
                         DLOCK_INVALID);
}

static void keys_of_two_slots_are_refused(void **state)
{
    static const char *const together[] = {"{order:42}:a", "{order:42}:b", "order:42"};
    static const char *const apart[] = {"order:42", "order:43"};
    cluster_rig *r = *state;
    char err[256] = "";
    dlock_lock *lock;
    dlock_hold *hold;
    assert_int_equal(dlock_multi_new(r->client, together, 3, NULL, &lock, err, sizeof(err)),
                     DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    assert_int_equal(dlock_multi_new(r->client, apart, 2, NULL, &lock, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_non_null(strstr(err, "hash tag"));
}

/* ---- waiters --------------------------------------------------------------------------------- */

/* Another process's: with connections of its own. */
typedef struct other {
    dlock_redis *redis;
    dlock_client *client;
    dlock_lock *lock;
    dlock_hold *hold;
    dlock_status status;
    int64_t waited_us;
    pthread_t thread;
} other;

static void *come_true(void *arg)
{
    other *o = arg;
    dlock_time start = dlock_now();
    o->status = dlock_acquire(o->lock, &(dlock_wait){.wait_ms = 60000}, &o->hold);
    o->waited_us = dlock_now().us - start.us;
    return NULL;
}

static void other_begin(other *o, cluster_rig *r, const char *name, dlock_options options)
{
    *o = (other){.redis = rig_redis(fx_topology_url(r->topology))};
    o->client = rig_client(&(dlock_client_options){.redis = o->redis});
    o->lock = rig_lock(o->client, name, options);
}

static void other_wait(other *o)
{
    pthread_create(&o->thread, NULL, come_true, o);
}

static void other_end(other *o)
{
    dlock_lock_free(o->lock);
    dlock_client_free(o->client);
    dlock_redis_close(o->redis);
}

/* A question to a member whose answer, or its last element, is to become this number. */
typedef struct number_wait {
    cluster_rig *r;
    int member;
    const char *command;
    long long is;
} number_wait;

static bool has_number(void *arg)
{
    number_wait *w = arg;
    redisReply *reply = fx_topology_ask(w->r->topology, w->member, w->command);
    const redisReply *last = reply;
    if (last && last->type == REDIS_REPLY_ARRAY && last->elements > 0)
        last = last->element[last->elements - 1];
    bool is = last && last->type == REDIS_REPLY_INTEGER && last->integer == w->is;
    freeReplyObject(reply);
    return is;
}

static void until_number(cluster_rig *r, int member, const char *command, long long is)
{
    number_wait w = {.r = r, .member = member, .command = command, .is = is};
    if (!fx_wait_until(has_number, &w, DEADLINE_MS))
        fail_msg("%s does not become %lld on member %d", command, is, member);
}

/* A process of waiters is subscribed at this member. */
static void until_subscribed(cluster_rig *r, int member)
{
    dlock_time give_up = dlock_in_ms(DEADLINE_MS);
    for (bool subscribed = false; !subscribed; fx_let_pass(1)) {
        redisReply *channels = fx_topology_ask(r->topology, member, "PUBSUB CHANNELS *:wake:*");
        assert_non_null(channels);
        subscribed = channels->type == REDIS_REPLY_ARRAY && channels->elements > 0;
        freeReplyObject(channels);
        assert_false(dlock_passed(give_up));
    }
}

/* The waiter sleeps at the old server while the slot moves, and is woken at the new one. */
static void waiters_move_with_their_slot(void **state)
{
    static const char *const names[] = {"string", "hash", "fair", "read", "write", "semaphore"};
    cluster_rig *r = *state;
    for (int i = 0; i < KINDS; i++) {
        if (kinds[i].kind == DLOCK_READ) /* readers do not wait for each other */
            continue;
        dlock_options options = kinds[i];
        options.lease_ms = 60000;
        bool queues = options.kind >= DLOCK_WRITE || options.kind == DLOCK_FAIR;
        dlock_lock *lock = rig_lock(r->client, names[i], options);
        dlock_hold *hold;
        other o;
        int from = fx_topology_primary(r->topology, names[i]);
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        other_begin(&o, r, names[i], options);
        other_wait(&o);
        if (queues)
            until_subscribed(r, from);
        cluster_move m = cluster_begin_move(r, names[i]);
        cluster_end_move(r, m);
        if (queues)
            until_subscribed(r, m.to);
        assert_true(dlock_held(hold));
        dlock_time released = dlock_now();
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        pthread_join(o.thread, NULL);
        assert_int_equal(o.status, DLOCK_OK);
        print_message("%s: had %lld ms after the release\n", names[i],
                      (long long)(dlock_now().us - released.us) / 1000);
        assert_int_equal(dlock_release(o.hold), DLOCK_OK);
        other_end(&o);
        dlock_lock_free(lock);
    }
}

/* Redisson publishes to the slot's channel only. */
static void releases_by_redisson_are_heard(void **state)
{
    cluster_rig *r = *state;
    dlock_options options = {.kind = DLOCK_HASH};
    other o;
    int from = fx_topology_primary(r->topology, "java");
    cluster_tell(r, from, "HSET java uuid:1 1");
    cluster_tell(r, from, "PEXPIRE java 60000");
    other_begin(&o, r, "java", options);
    other_wait(&o);
    until_number(r, from, "PUBSUB SHARDNUMSUB redisson_lock__channel:{java}", 1);
    cluster_move m = cluster_begin_move(r, "java");
    cluster_end_move(r, m);
    until_number(r, m.to, "PUBSUB SHARDNUMSUB redisson_lock__channel:{java}", 1);
    cluster_tell(r, m.to, "DEL java");
    assert_int_equal(cluster_tell(r, m.to, "SPUBLISH redisson_lock__channel:{java} 0"), 1);
    pthread_join(o.thread, NULL);
    assert_int_equal(o.status, DLOCK_OK);
    assert_int_equal(dlock_release(o.hold), DLOCK_OK);
    other_end(&o);
}

/* ---- holds ----------------------------------------------------------------------------------- */

enum { MANY = 100 };

typedef struct many {
    dlock_lock *lock[MANY];
    dlock_hold *hold[MANY];
} many;

static void acquire_many(cluster_rig *r, many *m, const char *prefix, int64_t lease_ms)
{
    for (int i = 0; i < MANY; i++) {
        char name[64];
        snprintf(name, sizeof(name), "%s%d", prefix, i);
        dlock_options options = kinds[i % KINDS];
        options.lease_ms = lease_ms;
        options.renew_ms = 200;
        m->lock[i] = rig_lock(r->client, name, options);
        assert_int_equal(dlock_acquire(m->lock[i], NULL, &m->hold[i]), DLOCK_OK);
    }
}

static void release_many(const many *m)
{
    for (int i = 0; i < MANY; i++) {
        if (!dlock_held(m->hold[i]))
            fail_msg("%s was lost", dlock_owner(m->hold[i]));
        assert_int_equal(dlock_release(m->hold[i]), DLOCK_OK);
        dlock_lock_free(m->lock[i]);
    }
}

typedef struct renewal_wait {
    dlock_client *client;
    uint64_t beyond;
} renewal_wait;

static bool has_renewed(void *arg)
{
    renewal_wait *w = arg;
    dlock_stats stats;
    dlock_client_stats(w->client, &stats);
    return stats.renewals > w->beyond;
}

static void until_renewed(cluster_rig *r, uint64_t more)
{
    renewal_wait w = {.client = r->client};
    dlock_stats stats;
    dlock_client_stats(r->client, &stats);
    w.beyond = stats.renewals + more;
    if (!fx_wait_until(has_renewed, &w, DEADLINE_MS))
        fail_msg("no %llu renewals", (unsigned long long)more);
}

/* On all servers, while the slot of one of them moves. */
static void many_locks_are_renewed(void **state)
{
    cluster_rig *r = *state;
    static many m;
    acquire_many(r, &m, "renewed", 6000);
    until_renewed(r, 3 * MANY);
    for (int i = 0; i < 9; i++) {
        char name[64];
        snprintf(name, sizeof(name), "renewed%d", i);
        cluster_end_move(r, cluster_begin_move(r, name));
        until_renewed(r, MANY);
    }
    until_renewed(r, 30 * MANY);
    release_many(&m);
}

/* Those on the others are renewed all along, its own as soon as it has a successor. */
static void locks_outlast_a_failover(void **state)
{
    cluster_rig *r = *state;
    static many m;
    int old = 0;
    while (!cluster_is_primary(r, old))
        old++;
    char tag[32];
    cluster_tag_on(r, old, tag, sizeof(tag));
    cluster_require_coverage(r, "no");
    acquire_many(r, &m, "kept", 60000);
    until_renewed(r, MANY);
    for (int i = 0; i < 6; i++) /* the replicas have them */
        if (cluster_is_primary(r, i))
            cluster_tell(r, i, "WAIT 1 5000");
    fx_topology_kill(r->topology, old);
    until_renewed(r, MANY / 3);
    fx_topology_next_primary(r->topology, tag, old, 30000);
    until_renewed(r, 5 * MANY);
    release_many(&m);
    fx_topology_restart(r->topology, old);
    fx_topology_settle(r->topology, 30000);
    cluster_require_coverage(r, "yes");
}

/* Who releases may not have heard of the successor yet, and asks the old server: a dead one can not
 * be asked, a stopped one does not answer. Then it is released in the background. */
static void release_after_failover(dlock_hold *hold)
{
    dlock_status released = dlock_release(hold);
    if (released != DLOCK_OK && released != DLOCK_UNAVAILABLE && released != DLOCK_UNKNOWN)
        fail_msg("released: %s", dlock_status_text(released));
}

/* A waiter whose server dies listens at its successor. */
static void waiters_follow_a_failover(void **state)
{
    cluster_rig *r = *state;
    dlock_options options = {.kind = DLOCK_FAIR, .lease_ms = 60000};
    other o;
    dlock_hold *hold;
    dlock_lock *lock = rig_lock(r->client, "followed", options);
    int old = fx_topology_primary(r->topology, "followed");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    other_begin(&o, r, "followed", options);
    other_wait(&o);
    until_subscribed(r, old);
    fx_topology_kill(r->topology, old);
    int next = fx_topology_next_primary(r->topology, "followed", old, 30000);
    until_subscribed(r, next);
    assert_true(dlock_held(hold));
    release_after_failover(hold);
    pthread_join(o.thread, NULL);
    assert_int_equal(o.status, DLOCK_OK);
    assert_int_equal(dlock_release(o.hold), DLOCK_OK);
    other_end(&o);
    dlock_lock_free(lock);
    fx_topology_restart(r->topology, old);
    fx_topology_settle(r->topology, 30000);
}

/* One that is subscribed at a server that falls silent, without closing anything. */
static void subscribers_leave_a_silent_server(void **state)
{
    cluster_rig *r = *state;
    const char *subscribers = "PUBSUB NUMSUB redisson_lock__channel:{silent}";
    dlock_options options = {.kind = DLOCK_HASH, .lease_ms = 60000};
    other o;
    dlock_hold *hold;
    dlock_lock *lock = rig_lock(r->client, "silent", options);
    int old = fx_topology_primary(r->topology, "silent");
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    other_begin(&o, r, "silent", options);
    other_wait(&o);
    until_number(r, old, subscribers, 1);
    fx_topology_signal(r->topology, old, SIGSTOP);
    int next = fx_topology_next_primary(r->topology, "silent", old, 30000);
    until_number(r, next, subscribers, 1);
    release_after_failover(hold);
    pthread_join(o.thread, NULL);
    assert_int_equal(o.status, DLOCK_OK);
    assert_int_equal(dlock_release(o.hold), DLOCK_OK);
    other_end(&o);
    dlock_lock_free(lock);
    fx_topology_signal(r->topology, old, SIGCONT);
    fx_topology_settle(r->topology, 30000);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* At whatever moment they are closed. */
static void nothing_is_left_of_closed_ones(void **state)
{
    cluster_rig *r = *state;
    int threads = fx_threads_alive(), descriptors = fx_descriptors_open();
    for (int i = 0; i < 20; i++) {
        other o;
        other_begin(&o, r, "short", kinds[i % KINDS]);
        if (i % 2) {
            o.status = dlock_acquire(o.lock, &(dlock_wait){.wait_ms = DEADLINE_MS}, &o.hold);
            assert_int_equal(o.status, DLOCK_OK);
            assert_int_equal(dlock_release(o.hold), DLOCK_OK);
        }
        other_end(&o);
    }
    assert_int_equal(fx_threads_alive(), threads);
    assert_int_equal(fx_descriptors_open(), descriptors);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_name_needs_no_hash_tag),
        cmocka_unit_test(names_without_a_slot_of_their_own_are_refused),
        cmocka_unit_test(keys_of_two_slots_are_refused),
        cmocka_unit_test(nothing_is_left_of_closed_ones),
        cmocka_unit_test(waiters_move_with_their_slot),
        cmocka_unit_test(releases_by_redisson_are_heard),
        cmocka_unit_test(many_locks_are_renewed),
        cmocka_unit_test(locks_outlast_a_failover),
        cmocka_unit_test(waiters_follow_a_failover),
        cmocka_unit_test(subscribers_leave_a_silent_server),
    };
    return cmocka_run_group_tests_name("cluster_locks", tests, cluster_setup, cluster_teardown);
}
