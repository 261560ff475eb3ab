/* Pending calls on a real cluster: while the lock's slot moves, when its server dies, and what is
 * left of listening afterwards. */
#include "tests/lock/cluster.h"
#include "tests/lock/pending/pending.h"

enum { LEASE_MS = 6000, SOON_MS = 60000 };

static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH,  DLOCK_FAIR,
                                   DLOCK_READ,   DLOCK_WRITE, DLOCK_SEMAPHORE};
enum { KINDS = COUNT(kinds) };

static dlock_lock *lock_of(dlock_client *client, const char *name, dlock_kind kind)
{
    return rig_lock(client, name,
                    (dlock_options){.kind = kind,
                                    .lease_ms = LEASE_MS,
                                    .permits = kind == DLOCK_SEMAPHORE ? 1 : 0});
}

/* One of each kind waits for what another client has, all in the slot of one tag. */
typedef struct waits {
    dlock_client *other;
    dlock_lock *blockers[KINDS], *locks[KINDS];
    dlock_hold *holds[KINDS];
    dlock_pending *pending[KINDS];
} waits;

static waits begin(cluster_rig *r, const char *tag)
{
    waits w = {.other = rig_client(&(dlock_client_options){.redis = r->redis})};
    for (int k = 0; k < KINDS; k++) {
        char name[64];
        snprintf(name, sizeof(name), "{%s}:%d", tag, k);
        w.blockers[k] = lock_of(w.other, name, kinds[k] == DLOCK_READ ? DLOCK_WRITE : kinds[k]);
        w.locks[k] = lock_of(r->client, name, kinds[k]);
        w.holds[k] = pd_get(pd_start(w.blockers[k], SOON_MS));
        w.pending[k] = pd_start(w.locks[k], DLOCK_FOREVER);
    }
    for (int k = 0; k < KINDS; k++)
        pd_assert_undecided(w.pending[k]);
    return w;
}

static void end(waits *w)
{
    for (int k = 0; k < KINDS; k++) {
        dlock_lock_free(w->blockers[k]);
        dlock_lock_free(w->locks[k]);
    }
    dlock_client_free(w->other);
}

static void get(dlock_pending *p)
{
    dlock_hold *hold = NULL;
    assert_true(pd_readable(p, SOON_MS));
    assert_int_equal(dlock_acquire_finish(p, &hold), DLOCK_OK);
    assert_true(dlock_held(hold));
    assert_int_equal(pd_release(hold), DLOCK_OK);
}

static void they_move_with_their_slot(void **state)
{
    cluster_rig *r = *state;
    for (int halfway = 0; halfway < 2; halfway++) {
        waits w = begin(r, "moved");
        cluster_move m = cluster_begin_move(r, "{moved}");
        if (!halfway)
            cluster_end_move(r, m);
        for (int k = 0; k < KINDS; k++)
            dlock_release(w.holds[k]); /* may be impossible for now, and is tried again */
        if (halfway)
            cluster_end_move(r, m);
        for (int k = 0; k < KINDS; k++)
            get(w.pending[k]);
        end(&w);
    }
}

/* Who gives up is not listened for any more, although the connection stays for others. */
static void who_gives_up_is_not_listened_for(void **state)
{
    cluster_rig *r = *state;
    waits w = begin(r, "left");
    int member = fx_topology_primary(r->topology, "{left}");
    dlock_lock *blocker = lock_of(w.other, "{left}:more", DLOCK_HASH);
    dlock_lock *lock = lock_of(r->client, "{left}:more", DLOCK_HASH);
    dlock_hold *hold = pd_get(pd_start(blocker, SOON_MS));
    dlock_pending *p = pd_start(lock, DLOCK_FOREVER);
    const char *const all[] = {"PUBSUB NUMSUB", "PUBSUB SHARDNUMSUB"};
    for (int step = 1; step >= 0; step--) {
        for (int i = 0; i < 2; i++) {
            char command[128];
            long long n = -1;
            dlock_time until = dlock_in_ms(SOON_MS);
            snprintf(command, sizeof(command), "%s redisson_lock__channel:{left}:more", all[i]);
            while (n != step && !dlock_passed(until)) {
                redisReply *reply = fx_topology_ask(r->topology, member, command);
                assert_true(reply && reply->elements == 2);
                n = reply->element[1]->integer;
                freeReplyObject(reply);
                dlock_sleep(dlock_in_ms(20));
            }
            assert_int_equal(n, step);
        }
        if (step) {
            dlock_pending_cancel(p);
            assert_int_equal(pd_finish(p, NULL), DLOCK_CANCELLED);
        }
    }
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(blocker);
    dlock_lock_free(lock);
    for (int k = 0; k < KINDS; k++)
        dlock_release(w.holds[k]);
    for (int k = 0; k < KINDS; k++)
        get(w.pending[k]);
    end(&w);
}

/* Whether the locks were kept or not, those who wait get them in the end. */
static void they_go_on_after_a_failover(void **state)
{
    cluster_rig *r = *state;
    waits w = begin(r, "killed");
    int member = fx_topology_primary(r->topology, "{killed}");
    fx_topology_kill(r->topology, member);
    assert_true(fx_topology_next_primary(r->topology, "{killed}", member, SOON_MS) >= 0);
    for (int k = 0; k < KINDS; k++)
        dlock_release(w.holds[k]);
    for (int k = 0; k < KINDS; k++)
        get(w.pending[k]);
    end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(they_move_with_their_slot),
        cmocka_unit_test(who_gives_up_is_not_listened_for),
        cmocka_unit_test(they_go_on_after_a_failover),
    };
    return cmocka_run_group_tests_name("pending_in_a_cluster", tests, cluster_setup,
                                       cluster_teardown);
}
