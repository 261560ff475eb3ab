/* A latch on a real cluster: its slot moves during waits, while it is set and counted down. */
#include "tests/lock/cluster.h"

#include <pthread.h>

enum { SOON_MS = 60000 };

typedef struct wish {
    dlock_latch *latch;
    dlock_status status;
    pthread_t thread;
} wish;

static dlock_latch *latch_of(cluster_rig *r, const char *name)
{
    char err[256] = "";
    dlock_latch *latch = NULL;
    if (dlock_latch_new(r->client, name, &latch, err, sizeof(err)) != DLOCK_OK)
        fail_msg("%s", err);
    return latch;
}

static void *come_true(void *arg)
{
    wish *w = arg;
    w->status = dlock_latch_wait(w->latch, &(dlock_wait){.wait_ms = DLOCK_FOREVER});
    return NULL;
}

typedef struct listener {
    cluster_rig *r;
    int member;
    const char *channel;
} listener;

static bool is_there(void *arg)
{
    const listener *wanted = arg;
    char command[128];
    snprintf(command, sizeof(command), "PUBSUB NUMSUB %s", wanted->channel);
    redisReply *reply = fx_topology_ask(wanted->r->topology, wanted->member, command);
    bool there = reply && reply->elements == 2 && reply->element[1]->integer == 1;
    freeReplyObject(reply);
    return there;
}

static void until_listened_for(cluster_rig *r, int member, const char *channel)
{
    listener wanted = {r, member, channel};
    assert_true(fx_wait_until(is_there, &wanted, SOON_MS));
}

static void down(dlock_latch *latch, int64_t left)
{
    int64_t now = -1;
    assert_int_equal(dlock_latch_count_down(latch, NULL, &now), DLOCK_OK);
    assert_int_equal(now, left);
}

/* A node of a busy machine may not answer at once: then nothing was done. */
static bool is_set(void *latch)
{
    dlock_status status = dlock_latch_set(latch, 4, 0);
    assert_true(status == DLOCK_OK || status == DLOCK_UNAVAILABLE);
    return status == DLOCK_OK;
}

/* It can be used at every step of the move; the waiter listens at the new server then. */
static void it_moves_with_its_slot(void **state)
{
    cluster_rig *r = *state;
    dlock_latch *latch = latch_of(r, "moved"), *other = latch_of(r, "moved");
    wish w = {.latch = latch};
    int from = fx_topology_primary(r->topology, "moved");
    assert_true(fx_wait_until(is_set, latch, SOON_MS));
    pthread_create(&w.thread, NULL, come_true, &w);
    until_listened_for(r, from, "dlock:{moved}:open");
    cluster_move m = cluster_begin_move(r, "moved");
    down(other, 3);
    cluster_move_key(r, m, "moved");
    down(other, 2);
    assert_int_equal(dlock_latch_set(other, 1, 0), DLOCK_BUSY);
    cluster_end_move(r, m);
    down(other, 1);
    until_listened_for(r, m.to, "dlock:{moved}:open");
    down(other, 0);
    pthread_join(w.thread, NULL);
    assert_int_equal(w.status, DLOCK_OK);
    dlock_latch_free(other);
    dlock_latch_free(latch);
}

/* One that is not there yet is set on its way. */
static void it_is_set_while_its_slot_moves(void **state)
{
    cluster_rig *r = *state;
    dlock_latch *latch = latch_of(r, "early");
    cluster_move m = cluster_begin_move(r, "early");
    assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
    down(latch, 1);
    cluster_end_move(r, m);
    down(latch, 0);
    assert_int_equal(dlock_latch_wait(latch, NULL), DLOCK_OK);
    dlock_latch_free(latch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_moves_with_its_slot),
        cmocka_unit_test(it_is_set_while_its_slot_moves),
    };
    return cmocka_run_group_tests_name("latch in a cluster", tests, cluster_setup,
                                       cluster_teardown);
}
