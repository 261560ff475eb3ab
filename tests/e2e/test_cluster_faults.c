/*
 * test_cluster_faults.c - sales on a Redis Cluster while a slot moves, a primary dies, an instance
 * dies: what buyers are told meanwhile, and that every answer is true afterwards.
 *
 *     CLUSTER_RUNS=3          each case so many times
 *     CLUSTER_ONLY='a_slot*'  only the cases of that name
 */
#include <pthread.h>
#include <signal.h>

#include "tests/lock/cluster.h"
#include "tests/support/sale/recorded.h"

enum { CUT_OFF_MS = 300, DEADLINE_MS = 60000, SEGMENTS = 6 };

static cluster_rig cluster; /* only its topology */

static int setup(void **state)
{
    setenv("FX_REDIS", "cluster", 1); /* whatever the others run on */
    setenv("FX_FAILOVER", "yes", 1);
    fx_service_start(state);
    cluster.topology = fx_redis_topology(fx.redis);
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

/* ---- a slot moves ---------------------------------------------------------------------------- */

enum { ROUND = 300, MOVES = 4, KEYS_MAX = 64 };

/* Answers and redirections: whether buyers have come by since. */
static long traffic(cluster_move m)
{
    long sum = atomic_load(&recorded.done);
    for (int i = 0; i < 2; i++)
        sum += cluster_errors(&cluster, i ? m.to : m.from, "TRYAGAIN") +
               cluster_errors(&cluster, i ? m.to : m.from, "ASK") +
               cluster_errors(&cluster, i ? m.to : m.from, "MOVED");
    return sum;
}

typedef struct traffic_wait {
    cluster_move move;
    long until;
} traffic_wait;

static bool has_traffic(void *arg)
{
    traffic_wait *w = arg;
    return traffic(w->move) >= w->until ||
           atomic_load(&recorded.done) >= atomic_load(&recorded.allowed); /* all are answered */
}

static void until_traffic(cluster_move m)
{
    traffic_wait w = {m, traffic(m) + 5};
    assert_true(fx_wait_until(has_traffic, &w, DEADLINE_MS));
}

/* Key by key, and buyers come by between any two. */
static void move_slot(const char *key, int to)
{
    char keys[KEYS_MAX][128];
    cluster_move m = cluster_begin_move_to(&cluster, key, to);
    until_traffic(m);
    redisReply *all =
        fx_topology_ask(cluster.topology, m.from, "CLUSTER GETKEYSINSLOT %d %d", m.slot, KEYS_MAX);
    assert_true(all && all->type == REDIS_REPLY_ARRAY && all->elements > 4);
    size_t count = all->elements;
    for (size_t i = 0; i < count; i++)
        snprintf(keys[i], sizeof(keys[i]), "%s", all->element[i]->str);
    freeReplyObject(all);
    for (size_t i = 0; i < count; i++) {
        cluster_move_key(&cluster, m, keys[i]);
        until_traffic(m);
    }
    cluster_end_move(&cluster, m);
}

static void sell_through_moves(const char *strategy)
{
    char terms[128];
    snprintf(terms, sizeof(terms), "'strategy':'%s'", strategy);
    recorded_open(new_item(strategy), ROUND * MOVES, 0, terms);
    int here = fx_topology_primary(cluster.topology, recorded_key(0));
    int there = cluster_other_primary(&cluster, recorded_key(0));
    for (int i = 0; i < MOVES; i++) { /* there and back again */
        recorded_let_in(ROUND);
        move_slot(recorded_key(0), i % 2 == 0 ? there : here);
        recorded_until(&recorded.done, ROUND * (i + 1));
    }
    recorded_sell_out(20);
    recorded_tell("through a moving slot");
    assert_int_equal(atomic_load(&recorded.unknown), 0);
    assert_int_equal(atomic_load(&recorded.bought), recorded.stock);
    recorded_check_sold_out();
}

static void a_slot_that_moves_is_no_buyers_trouble(void **state)
{
    static const char *const strategies[] = {"combined", "atomic", "fenced", "fair"};
    (void)state;
    for (int i = 0; i < 4 * runs(); i++)
        sell_through_moves(strategies[i % 4]);
}

/* ---- who waits while it moves ---------------------------------------------------------------- */

static bool one_is_blocked(void *member)
{
    redisReply *info = fx_topology_ask(cluster.topology, *(int *)member, "INFO clients");
    const char *at = info ? strstr(info->str, "blocked_clients:") : NULL;
    bool blocked = at && strtol(at + strlen("blocked_clients:"), NULL, 10) > 0;
    freeReplyObject(info);
    return blocked;
}

static void who_waits_for_a_lock_moves_with_its_slot(void **state)
{
    static const char *const strategies[] = {"combined", "fair"};
    (void)state;
    for (int i = 0; i < 2 * runs(); i++) {
        char terms[128];
        snprintf(terms, sizeof(terms), "'strategy':'%s','hold_ms':2000,'wait_ms':30000",
                 strategies[i % 2]);
        recorded_open(new_item("waiting"), 3, 0, terms);
        int from = fx_topology_primary(cluster.topology, recorded_key(0));
        recorded_let_in(3); /* one holds the lock, two wait for it */
        assert_true(fx_wait_until(one_is_blocked, &from, DEADLINE_MS));
        cluster_end_move(&cluster, cluster_begin_move(&cluster, recorded_key(0)));
        recorded_until(&recorded.bought, 3);
        recorded_let_in(1); /* not all buyers: each instance's would hold the lock as long */
        recorded_until(&recorded.refused, 1);
        recorded_end();
        recorded_tell("with buyers that wait");
        recorded_check_sold_out();
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
 * what it has sold in that moment. How many buys had begun when it died. */
static int kill_cut_off(int primary)
{
    bool replicas[FX_MEMBERS_MAX] = {false};
    cut_off(primary, replicas);
    fx_let_pass(CUT_OFF_MS);
    fx_topology_kill(cluster.topology, primary);
    int begun = atomic_load(&recorded.next);
    signal_replicas(replicas, SIGCONT);
    return begun;
}

static void lose_a_primary(void)
{
    static int orders[RECORDED_MOST];
    recorded_open(new_item("killed"), RECORDED_MOST, 0,
                  "'strategy':'combined','durability':'replicated'");
    int primary = fx_topology_primary(cluster.topology, recorded_key(0));
    int lender = cluster_other_primary(&cluster, recorded_key(0));
    give_replica(lender, primary); /* with two, whichever is promoted has a replica at once */
    recorded_let_in(RECORDED_MOST);
    recorded_until(&recorded.bought, 300);
    atomic_store(&recorded.watched, kill_cut_off(primary));
    int64_t killed = now_ms();
    int next = fx_topology_next_primary(cluster.topology, recorded_key(0), primary, DEADLINE_MS);
    int64_t promoted = now_ms();
    recorded_until(&recorded.bought, atomic_load(&recorded.bought) + 300);
    recorded_pause();
    recorded_end();
    recorded_tell("with its primary killed");
    print_message("promoted after %lld ms, sold again after %lld ms\n",
                  (long long)(promoted - killed), atomic_load(&recorded.first_ms) - killed);
    mend(primary);
    give_replica(next, lender);
    recorded_check_service();
    fx_start_sale(fx.server[0], recorded.item, "'stock':1"); /* so answers about ours are final */
    recorded_resolve(false);
    recorded_check_units(orders);
    recorded_check_answers(orders);
}

static void a_primary_that_dies_takes_no_acknowledged_order(void **state)
{
    (void)state;
    for (int i = 0; i < runs(); i++)
        lose_a_primary();
}

/* ---- segments on all primaries --------------------------------------------------------------- */

/* A sharded sale whose segments lie on all three primaries. */
static void open_sharded(const char *name, int stock, const char *more)
{
    char terms[128];
    recorded.segments = SEGMENTS;
    for (unsigned met = 0; __builtin_popcount(met) < 3;) {
        met = 0;
        snprintf(recorded.item, sizeof(recorded.item), "%s", new_item(name));
        for (int k = 0; k < SEGMENTS; k++)
            met |= 1u << fx_topology_primary(cluster.topology, recorded_key(k));
    }
    char item[32];
    snprintf(item, sizeof(item), "%s", recorded.item);
    snprintf(terms, sizeof(terms), "'strategy':'sharded','segments':%d%s", SEGMENTS, more);
    recorded_open(item, stock, SEGMENTS, terms);
}

static void lose_an_instance(void)
{
    static int orders[RECORDED_MOST];
    const int last = FX_INSTANCES - 1;
    open_sharded("instance", 1500, "");
    recorded_let_in(RECORDED_MOST);
    recorded_until(&recorded.bought, 400);
    fx_server_signal(fx.server[last], SIGKILL);
    atomic_store(&recorded.dead, last);
    recorded_until(&recorded.bought, atomic_load(&recorded.bought) + 200);
    recorded_pause();
    print_message("%d left when it is dead\n", recorded_check_units(orders));
    recorded_sell_out(20);
    recorded_tell("with an instance killed");
    fx_server_kill(fx.server[last]);
    fx.server[last] = fx_server_start(fx_redis_url(fx.redis), NULL);
    recorded_resolve(true);
    recorded_check_sold_out();
}

static void an_instance_that_dies_takes_no_unit_of_any_segment(void **state)
{
    (void)state;
    for (int i = 0; i < runs(); i++)
        lose_an_instance();
}

static void lose_a_segments_primary(void)
{
    open_sharded("segments", 2500, ",'durability':'replicated'");
    recorded_let_in(RECORDED_MOST);
    recorded_until(&recorded.bought, 300);
    int primary = fx_topology_primary(cluster.topology, recorded_key(0));
    int on_it = 0;
    for (int k = 0; k < SEGMENTS; k++)
        on_it += fx_topology_primary(cluster.topology, recorded_key(k)) == primary;
    recorded_pause(); /* so that who is answered from now on has come after its death */
    fx_topology_kill(cluster.topology, primary);
    int sold = atomic_load(&recorded.bought), refused = atomic_load(&recorded.unavailable);
    int begun = atomic_load(&recorded.next);
    int64_t killed = now_ms();
    recorded_let_in_again(600);
    recorded_until(&recorded.done, begun + 600);
    int64_t answered = now_ms();
    fx_topology_next_primary(cluster.topology, recorded_key(0), primary, DEADLINE_MS);
    sold = atomic_load(&recorded.bought) - sold;
    refused = atomic_load(&recorded.unavailable) - refused;
    print_message("%d of %d segments away for %lld ms: %d sold and %d x 503 in the first %lld ms\n",
                  on_it, SEGMENTS, (long long)(now_ms() - killed), sold, refused,
                  (long long)(answered - killed));
    assert_true(sold > 0);
    assert_true(refused > 0);
    mend(primary); /* before, the new primary has no replica, so nothing is sold there */
    recorded_sell_out(20);
    recorded_tell("with a segment's primary killed");
    recorded_resolve(true);
    recorded_check_sold_out();
}

static void segments_of_healthy_primaries_are_sold_while_one_is_dead(void **state)
{
    (void)state;
    for (int i = 0; i < runs(); i++)
        lose_a_segments_primary();
}

/* ---- a segment that is sold out only on a primary that dies ---------------------------------- */

/* The number of a buy, another one each time, that asks this segment first. */
static int buy_of(int segment)
{
    static int number;
    for (;;) {
        char request[16];
        uint32_t hash = 2166136261u; /* FNV-1a, as the strategy has it */
        snprintf(request, sizeof(request), "r-%d", number++);
        for (const char *c = request; *c != '\0'; c++)
            hash = (hash ^ (unsigned char)*c) * 16777619u;
        if (hash % SEGMENTS == (uint32_t)segment)
            return number - 1;
    }
}

typedef struct one_buy {
    int number, status;
} one_buy;

static void *buy(void *arg)
{
    one_buy *b = arg;
    b->status =
        fx_status(fx.server[0], "POST /buy?item=%s&user=u&request=r-%d", recorded.item, b->number);
    return NULL;
}

static bool is_sold_to(void *arg)
{
    buy(arg);
    return ((one_buy *)arg)->status == 201;
}

/* `primary` alone sells the segment's only unit, and meanwhile the second buyer comes. False: an
 * instance has noticed first that it is alone, and nothing was sold. */
static bool sell_alone(int primary, int segment, one_buy *first, one_buy *second)
{
    pthread_t thread;
    bool replicas[FX_MEMBERS_MAX] = {false};
    cut_off(primary, replicas);
    assert_int_equal(pthread_create(&thread, NULL, buy, first), 0);
    for (int64_t until = now_ms() + CUT_OFF_MS; now_ms() < until;)
        if (fx_redis_number(fx.redis, "GET fs:{%s#%d}:%s:stock", recorded.item, segment,
                            recorded.id) == 0)
            break;
    buy(second);
    pthread_join(thread, NULL);
    bool sold = first->status == 504;
    if (sold)
        fx_topology_kill(cluster.topology, primary);
    signal_replicas(replicas, SIGCONT);
    return sold;
}

static void sell_out_and_die(void)
{
    static int orders[RECORDED_MOST];
    int k = 0;
    open_sharded("leads-on", SEGMENTS, ",'durability':'replicated'");
    int primary = fx_topology_primary(cluster.topology, recorded_key(0));
    while (fx_topology_primary(cluster.topology, recorded_key(k + 1)) == primary)
        k++; /* the next segment is on another one */
    one_buy first = {.number = buy_of(k)}, second = {.number = buy_of(k)};
    while (!sell_alone(primary, k, &first, &second))
        fx_topology_settle(cluster.topology, DEADLINE_MS);
    int told = second.status;
    fx_topology_next_primary(cluster.topology, recorded_key(k), primary, DEADLINE_MS);
    mend(primary);
    assert_true(fx_wait_until(is_sold_to, &second, DEADLINE_MS));
    int left = recorded_check_units(orders);
    assert_int_equal(orders[second.number], 1);
    assert_int_equal(left, SEGMENTS - 1);
    assert_int_equal(told, 503);
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
        cmocka_unit_test_teardown(a_slot_that_moves_is_no_buyers_trouble, recorded_close),
        cmocka_unit_test_teardown(who_waits_for_a_lock_moves_with_its_slot, recorded_close),
        cmocka_unit_test_teardown(a_primary_that_dies_takes_no_acknowledged_order, recorded_close),
        cmocka_unit_test_teardown(an_instance_that_dies_takes_no_unit_of_any_segment,
                                  recorded_close),
        cmocka_unit_test_teardown(segments_of_healthy_primaries_are_sold_while_one_is_dead,
                                  recorded_close),
        cmocka_unit_test_teardown(a_segment_leads_on_only_when_its_replica_knows_it_sold_out,
                                  recorded_close),
    };
    if (getenv("CLUSTER_ONLY"))
        cmocka_set_test_filter(getenv("CLUSTER_ONLY"));
    fx.plan = (fx_plan){.instances = FX_INSTANCES};
    return cmocka_run_group_tests(tests, setup, fx_service_stop);
}
