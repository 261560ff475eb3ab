/*
 * test_cluster_faults.c - sales on a Redis Cluster while a slot moves and while a primary dies:
 * what buyers are told meanwhile, and that every answer is true afterwards. (Slots that move under
 * load, and an instance that dies, are columns of the matrix: tests/chaos.)
 *
 *     CLUSTER_RUNS=3   each case so many times
 */
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/lock/cluster.h"
#include "tests/support/hash.h"
#include "tests/support/sale/rest.h"

enum { CUT_OFF_MS = 300, DEADLINE_MS = 60000, SEGMENTS = 6, PACE_MS = 5 };

static cluster_rig cluster; /* only its topology */
static char dir[256], history[300];

static int setup(void **state)
{
    setenv("FX_REDIS", "cluster", 1); /* whatever the others run on */
    setenv("FX_FAILOVER", "yes", 1);
    fx_service_start(state);
    cluster.topology = fx_redis_topology(fx.redis);
    fx_dir_make(dir, sizeof(dir));
    snprintf(history, sizeof(history), "%s/sale.history", dir);
    return 0;
}

static int teardown(void **state)
{
    fx_dir_remove(dir);
    return fx_service_stop(state);
}

/* Behind a case that has failed, too. */
static int end_crew(void **state)
{
    (void)state;
    crew_close();
    return 0;
}

static int64_t now_ms(void)
{
    return dlock_now().us / 1000;
}

/* The replica of what was killed is a primary by now, and what was killed comes back as one's
 * replica. */
static void mend(int killed)
{
    fx_topology_restart(cluster.topology, killed);
    fx_topology_settle(cluster.topology, DEADLINE_MS);
}

static int runs(void)
{
    const char *said = getenv("CLUSTER_RUNS");
    return said ? (int)strtol(said, NULL, 10) : 1;
}

/* An item that no case before has sold. */
static const char *new_item(const char *name)
{
    static char item[32];
    static int items;
    snprintf(item, sizeof(item), "%s-%d", name, items++);
    return item;
}

/* ---- a sale, and what it is held to ---------------------------------------------------------- */

static fx_terms terms_of(const char *item, const char *strategy, int stock)
{
    return (fx_terms){.item = item, .strategy = strategy, .stock = stock};
}

/* Its buyers are there, and wait to be let in. */
static void open_sale(const fx_terms *terms, int buyers)
{
    rest_before(terms);
    crew_begin(&(crew_habits){.looks = true, .repeats = true});
    crew_let_in(0);
    crew_pace(PACE_MS);
    crew_come(fx_sale_start(terms, history), buyers);
}

/* Until a count has come so far. */
static void until(atomic_int *count, int so_far)
{
    if (!crew_until(count, so_far, DEADLINE_MS))
        fail_msg("%s: %d instead of %d", crew_sale(0)->item, atomic_load(count), so_far);
}

static void tell(const char *what)
{
    print_message("%s %s: %d x 201, %d x 409, %d x 503, %d unknown\n", crew_sale(0)->item, what,
                  atomic_load(&crew.bought),
                  atomic_load(&crew.sold_out) + atomic_load(&crew.refused), atomic_load(&crew.busy),
                  atomic_load(&crew.unknown));
}

/* Every answer is true, and nothing is left. */
static void check(const char *what)
{
    crew_end();
    tell(what);
    rest_expect_undisturbed(history);
}

/* Sold to its last unit, and then checked. */
static void sell_out_and_check(const char *what)
{
    crew_let_in(INT_MAX);
    crew_go_on();
    if (!crew_sell_out(0, DEADLINE_MS))
        fail_msg("%s: not all is sold", crew_sale(0)->item);
    check(what);
}

/* A key of the sale that stays where it is. */
static const char *pointer_of(const char *item, int segment)
{
    static char key[96];
    if (segment < 0)
        snprintf(key, sizeof(key), "fs:{%s}:sale", item);
    else
        snprintf(key, sizeof(key), "fs:{%s#%d}:sale", item, segment);
    return key;
}

static const char *sale_key(void)
{
    return pointer_of(crew_sale(0)->item, -1);
}

/* ---- who waits while it moves ---------------------------------------------------------------- */

/* An instance that waits is subscribed there. */
static bool some_listen(void *member)
{
    redisReply *channels =
        fx_topology_ask(cluster.topology, *(int *)member, "PUBSUB CHANNELS *:wake:*");
    bool some = channels && channels->type == REDIS_REPLY_ARRAY && channels->elements > 0;
    freeReplyObject(channels);
    return some;
}

static void who_waits_for_a_lock_moves_with_its_slot(void **state)
{
    static const char *const strategies[] = {"combined", "fair"};
    (void)state;
    for (int i = 0; i < 2 * runs(); i++) {
        fx_terms terms = terms_of(new_item("waiting"), strategies[i % 2], 3);
        terms.hold_ms = 2000;
        terms.wait_ms = 30000;
        open_sale(&terms, CREW_BUYERS);
        int from = fx_topology_primary(cluster.topology, sale_key());
        crew_let_in(3); /* one holds the lock, two wait for it */
        assert_true(fx_wait_until(some_listen, &from, DEADLINE_MS));
        cluster_end_move(&cluster, cluster_begin_move(&cluster, sale_key()));
        until(&crew.bought, 3);
        crew_let_in(4); /* not all buyers: each instance's would hold the lock as long */
        until(&crew.sold_out, 1);
        check("with buyers that wait");
    }
}

/* ---- a primary dies -------------------------------------------------------------------------- */

/* The member that this replica follows. */
static int primary_of(int replica)
{
    redisReply *role = fx_topology_ask(cluster.topology, replica, "ROLE");
    int primary = 0;
    assert_true(role && role->elements > 2);
    while (fx_topology_port(cluster.topology, primary) != (int)role->element[2]->integer)
        assert_true(++primary < fx_topology_size(cluster.topology));
    freeReplyObject(role);
    return primary;
}

/* Makes a replica of the one primary one of the other. */
static void give_replica(int from, int to)
{
    char id[64];
    int replica = 0;
    while (cluster_is_primary(&cluster, replica) || primary_of(replica) != from)
        assert_true(++replica < fx_topology_size(cluster.topology));
    cluster_id(&cluster, to, id, sizeof(id));
    cluster_tell(&cluster, replica, "CLUSTER REPLICATE %s", id);
    fx_topology_settle(cluster.topology, DEADLINE_MS);
}

/* Stops the replicas of a primary, or lets them go on. */
static void signal_replicas(const bool replicas[FX_MEMBERS_MAX], int signo)
{
    for (int i = 0; i < FX_MEMBERS_MAX; i++)
        if (replicas[i])
            fx_topology_signal(cluster.topology, i, signo);
}

/* From now on they hear nothing of it, and what it sells dies with it. Notes which they are. */
static void cut_off(int primary, bool replicas[FX_MEMBERS_MAX])
{
    for (int i = 0; i < fx_topology_size(cluster.topology); i++)
        replicas[i] = !cluster_is_primary(&cluster, i) && primary_of(i) == primary;
    signal_replicas(replicas, SIGSTOP); /* so that they can not come back */
    cluster_tell(&cluster, primary, "CLIENT KILL TYPE replica");
}

/* Kills the primary when its replicas have been cut off for a moment: nobody may have been told of
 * what it has sold in that moment. */
static void kill_cut_off(int primary)
{
    bool replicas[FX_MEMBERS_MAX] = {false};
    cut_off(primary, replicas);
    fx_let_pass(CUT_OFF_MS);
    fx_topology_kill(cluster.topology, primary);
    crew_mark();
    signal_replicas(replicas, SIGCONT);
}

static bool is_sold_again(void *arg)
{
    int sum = 0;
    (void)arg;
    for (int i = 0; i < FX_INSTANCES; i++)
        sum += atomic_load(&crew.since[i]);
    return sum > 0;
}

static void lose_a_primary(void)
{
    fx_terms terms = terms_of(new_item("killed"), "combined", 2000);
    terms.durability = "replicated";
    open_sale(&terms, CREW_BUYERS);
    int primary = fx_topology_primary(cluster.topology, sale_key());
    int lender = cluster_other_primary(&cluster, sale_key());
    give_replica(lender, primary); /* with two, whichever is promoted has a replica at once */
    crew_let_in(INT_MAX);
    until(&crew.bought, 300);
    kill_cut_off(primary);
    int64_t killed = now_ms();
    int next = fx_topology_next_primary(cluster.topology, sale_key(), primary, DEADLINE_MS);
    int64_t promoted = now_ms();
    assert_true(fx_wait_until(is_sold_again, NULL, DEADLINE_MS));
    print_message("promoted after %lld ms, sold again after %lld ms\n",
                  (long long)(promoted - killed), (long long)(now_ms() - killed));
    assert_true(crew_more(&crew.bought, 300, DEADLINE_MS));
    crew_pause();
    mend(primary);
    give_replica(next, lender);
    sell_out_and_check("with its primary killed");
}

static void a_primary_that_dies_takes_no_acknowledged_order(void **state)
{
    (void)state;
    for (int i = 0; i < runs(); i++)
        lose_a_primary();
}

/* ---- segments on all primaries --------------------------------------------------------------- */

/* A sharded sale whose segments lie on all three primaries. */
static void open_sharded(const char *name, int stock, const char *durability, int buyers)
{
    const char *item = NULL;
    for (unsigned met = 0; __builtin_popcount(met) < 3;) {
        met = 0;
        item = new_item(name);
        for (int k = 0; k < SEGMENTS; k++)
            met |= 1u << fx_topology_primary(cluster.topology, pointer_of(item, k));
    }
    fx_terms terms = terms_of(item, "sharded", stock);
    terms.segments = SEGMENTS;
    terms.durability = durability;
    open_sale(&terms, buyers);
}

static int primary_of_segment(int k)
{
    return fx_topology_primary(cluster.topology, pointer_of(crew_sale(0)->item, k));
}

static void lose_a_segments_primary(void)
{
    open_sharded("segments", 2500, "replicated", CREW_BUYERS);
    crew_let_in(INT_MAX);
    until(&crew.bought, 300);
    int primary = primary_of_segment(0), on_it = 0;
    for (int k = 0; k < SEGMENTS; k++)
        on_it += primary_of_segment(k) == primary;
    crew_pause(); /* so that who is answered from now on has come after its death */
    fx_topology_kill(cluster.topology, primary);
    int sold = atomic_load(&crew.bought), refused = atomic_load(&crew.busy);
    int ended = atomic_load(&crew.ended);
    int64_t killed = now_ms();
    crew_let_in(atomic_load(&crew.begun) + 600);
    crew_go_on();
    until(&crew.ended, ended + 600);
    int64_t answered = now_ms();
    fx_topology_next_primary(cluster.topology, pointer_of(crew_sale(0)->item, 0), primary,
                             DEADLINE_MS);
    sold = atomic_load(&crew.bought) - sold;
    refused = atomic_load(&crew.busy) - refused;
    print_message("%d of %d segments away for %lld ms: %d sold and %d x 503 in the first %lld ms\n",
                  on_it, SEGMENTS, (long long)(now_ms() - killed), sold, refused,
                  (long long)(answered - killed));
    assert_true(sold > 0);
    assert_true(refused > 0);
    mend(primary); /* before, the new primary has no replica, so nothing is sold there */
    sell_out_and_check("with a segment's primary killed");
}

/* By Redis's default no slot is served meanwhile. */
static void segments_of_healthy_primaries_are_sold_while_one_is_dead(void **state)
{
    (void)state;
    cluster_require_coverage(&cluster, "no");
    for (int i = 0; i < runs(); i++)
        lose_a_segments_primary();
    cluster_require_coverage(&cluster, "yes");
}

/* ---- a segment that is sold out only on a primary that dies ---------------------------------- */

/* The name of a request, another one each time, that asks this segment first. */
static const char *buy_of(int segment, char request[32])
{
    static int number;
    for (;;) {
        snprintf(request, 32, "r-%d", number++);
        if (fx_hash(request) % SEGMENTS == (uint32_t)segment)
            return request;
    }
}

static long long units_left(int segment)
{
    char key[128];
    return fx_redis_number(fx.redis, "GET %s",
                           fx_sale_key(crew_sale(0), segment, "stock", key, sizeof(key)));
}

/* `primary` alone sells the segment's only unit, and meanwhile the second buyer comes, whose status
 * goes to *told. False: an instance has noticed first that it is alone, and nothing was sold. */
static bool sell_alone(int primary, int segment, const char *first, const char *second, int *told)
{
    crew_buyer buyer;
    bool replicas[FX_MEMBERS_MAX] = {false};
    cut_off(primary, replicas);
    crew_send(&buyer, first, 1, 0);
    for (int64_t until_ms = now_ms() + CUT_OFF_MS; now_ms() < until_ms;)
        if (units_left(segment) == 0)
            break;
    *told = crew_ask(second, 2, 1, 0);
    bool sold = crew_answer(&buyer) == 504;
    if (sold)
        fx_topology_kill(cluster.topology, primary);
    signal_replicas(replicas, SIGCONT);
    return sold;
}

static void sell_out_and_die(void)
{
    char first[32], second[32];
    int k = 0, told = 0;
    open_sharded("leads-on", SEGMENTS, "replicated", 0);
    int primary = primary_of_segment(0);
    while (primary_of_segment(k + 1) == primary)
        k++; /* the next segment is on another one */
    buy_of(k, first);
    buy_of(k, second);
    while (!sell_alone(primary, k, first, second, &told))
        fx_topology_settle(cluster.topology, DEADLINE_MS);
    fx_topology_next_primary(cluster.topology, pointer_of(crew_sale(0)->item, k), primary,
                             DEADLINE_MS);
    mend(primary);
    crew_buyer buyer = {.user = 2};
    snprintf(buyer.request, sizeof(buyer.request), "%s", second);
    assert_true(crew_settle(&buyer, 0, DEADLINE_MS));
    assert_int_equal(crew_look(second, 0), 200);
    int left = 0;
    for (int segment = 0; segment < SEGMENTS; segment++)
        left += (int)units_left(segment);
    assert_int_equal(left, SEGMENTS - 1);
    assert_int_equal(told, 503);
    for (int i = 0; i < left; i++) {
        snprintf(buyer.request, sizeof(buyer.request), "last-%d", i);
        assert_true(crew_settle(&buyer, 0, DEADLINE_MS));
    }
    check("sold out on a primary that dies");
}

static void a_segment_leads_on_only_when_its_replica_knows_it_sold_out(void **state)
{
    (void)state;
    for (int i = 0; i < runs(); i++)
        sell_out_and_die();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(who_waits_for_a_lock_moves_with_its_slot, end_crew),
        cmocka_unit_test_teardown(a_primary_that_dies_takes_no_acknowledged_order, end_crew),
        cmocka_unit_test_teardown(segments_of_healthy_primaries_are_sold_while_one_is_dead,
                                  end_crew),
        cmocka_unit_test_teardown(a_segment_leads_on_only_when_its_replica_knows_it_sold_out,
                                  end_crew),
    };
    fx.plan = (fx_plan){.instances = FX_INSTANCES};
    return cmocka_run_group_tests(tests, setup, teardown);
}
