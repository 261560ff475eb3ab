/*
 * test_replicas.c - durability `replicated`: who hears 201 has an order that the replicas have;
 * who can not be told so hears 504, and the same again until the replicas have it; and where they
 * are missing nothing is sold. Real replicas, which are stopped, cut off, killed and promoted.
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum {
    NOTICED_MS = 20000, /* seconds are promised; a busy machine may take its time */
    ROUNDS = 5,
    BUYERS = 24
};

static fx_redis *replicas[2];

/* ---- the stage ------------------------------------------------------------------------------- */

static bool replica_is_online(void *arg)
{
    char info[4096], line[64];
    int port = fx_redis_port(arg);
    snprintf(line, sizeof(line), "port=%d,state=online,", port);
    return fx_redis_text(fx.redis, info, sizeof(info), "INFO replication") &&
           strstr(info, line) != NULL;
}

static fx_redis *start_replica(void)
{
    char port[16];
    snprintf(port, sizeof(port), "%d", fx_redis_port(fx.redis));
    fx_redis *replica = fx_redis_start_single(FX_ARGS("--replicaof", "127.0.0.1", port));
    assert_true(fx_wait_until(replica_is_online, replica, NOTICED_MS));
    return replica;
}

static void start_stage(int count)
{
    fx.redis = fx_redis_start_single(FX_ARGS("--repl-diskless-sync-delay", "0"));
    for (int i = 0; i < count; i++)
        replicas[i] = start_replica();
    for (int i = 0; i < 2; i++)
        fx.server[i] = fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--drain-delay", "0"));
}

static int one_replica(void **state)
{
    (void)state;
    start_stage(1);
    return 0;
}

static int two_replicas(void **state)
{
    (void)state;
    start_stage(2);
    return 0;
}

static int end_stage(void **state)
{
    for (int i = 0; i < 2; i++) {
        fx_redis_stop(replicas[i]);
        replicas[i] = NULL;
    }
    return fx_service_stop(state);
}

/* ---- waiting for an answer ------------------------------------------------------------------- */

static void await(const char *request, int status, const char *part)
{
    fx_await(fx.server[0], request, status, part, NOTICED_MS);
}

static bool is_logged(void *event)
{
    return strstr(fx_process_stderr(fx_server_process(fx.server[0])), event) != NULL;
}

static long long orders_of(fx_redis *redis, const char *item, const char *sale)
{
    return fx_redis_number(redis, "HLEN fs:{%s}:%s:orders", item, sale);
}

/* ---- with a replica -------------------------------------------------------------------------- */

/* The replica is asked at once, and not waited for. Nor is the service, but where a busy machine's
 * replica has not answered in time: then it does not know, and says so. */
static void every_strategy_tells_what_the_replica_has(void **state)
{
    (void)state;
    char sale[80], body[256];
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (s->sharded)
            continue;
        snprintf(body, sizeof(body), "%s",
                 fx_expect(fx.server[0], 201,
                           "POST /sales {'item':'S1','stock':30,'strategy':'%s',"
                           "'durability':'replicated'}",
                           s->name));
        fx_has(body, "\"durability\":\"replicated\",\"min_replicas\":1,");
        fx_copy_member(body, "sale", sale, sizeof(sale));
        for (int i = 0; i < 10; i++) {
            char buy[80], order[80];
            snprintf(buy, sizeof(buy), "POST /buy?item=S1&user=u%d&request=s%d", i, i);
            snprintf(order, sizeof(order), "GET /orders/s%d?item=S1", i);
            await(buy, 201, "");
            if (fx_redis_number(replicas[0], "HEXISTS fs:{S1}:%s:orders s%d", sale, i) != 1)
                fail_msg("%s told of an order that the replica does not have", s->name);
            fx_await(fx.server[1], buy, 201, "", NOTICED_MS);
            await(order, 200, "");
        }
        fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=S1"), "\"remaining\":20,");
    }
}

/* Calls of WAIT since CONFIG RESETSTAT. */
static long waits(void)
{
    char stats[8192];
    assert_true(fx_redis_text(fx.redis, stats, sizeof(stats), "INFO commandstats"));
    const char *calls = strstr(stats, "cmdstat_wait:calls=");
    return calls ? strtol(calls + strlen("cmdstat_wait:calls="), NULL, 10) : 0;
}

/* Of buyers who come one by one. The first one's sale may have to be taken up; and now and then an
 * instance waits for something of its own at the same time, but not each time. */
static void an_order_is_waited_for_once(void **state)
{
    (void)state;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        fx_start_sale(fx.server[0], "W1", "'stock':30,'strategy':'%s','durability':'replicated'%s",
                      s->name, s->sharded ? ",'segments':1" : "");
        fx_expect(fx.server[0], 201, "POST /buy?item=W1&user=u1");
        long least = LONG_MAX;
        for (int i = 0; i < 5 && least != 1; i++) {
            fx_redis_do(fx.redis, "CONFIG RESETSTAT");
            fx_expect(fx.server[0], 201, "POST /buy?item=W1&user=u2");
            long now = waits();
            least = now < least ? now : least;
        }
        if (least != 1)
            fail_msg("%s: %ld waits for one order", s->name, least);
    }
}

static void *buyer(void *arg)
{
    return (void *)(intptr_t)fx_status(fx.server[0], "POST /buy?item=B1&user=u%d",
                                       (int)(intptr_t)arg);
}

static int different_fences(const char *page)
{
    char seen[BUYERS][32];
    int count = 0;
    for (const char *at = page; (at = strstr(at, "\"fence\":")); at++) {
        char fence[32];
        snprintf(fence, sizeof(fence), "%.*s", (int)strcspn(at + 8, ",}"), at + 8);
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || strcmp(seen[i], fence) == 0;
        assert_in_range(count, 0, BUYERS);
        if (!known)
            memcpy(seen[count++], fence, sizeof(fence));
    }
    return count;
}

static void a_batch_waits_once(void **state)
{
    (void)state;
    pthread_t threads[BUYERS];
    fx_start_sale(fx.server[0], "B1",
                  "'stock':100,'strategy':'combined','hold_ms':200,'durability':'replicated'");
    fx_redis_do(fx.redis, "CONFIG RESETSTAT");
    for (intptr_t i = 0; i < BUYERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, buyer, (void *)i), 0);
    for (int i = 0; i < BUYERS; i++) {
        void *status;
        pthread_join(threads[i], &status);
        assert_int_equal((intptr_t)status, 201);
    }
    int batches = different_fences(fx_expect(fx.server[0], 200, "GET /orders?item=B1"));
    print_message("%d orders in %d batches\n", BUYERS, batches);
    assert_true(batches < BUYERS);
    assert_int_equal(waits(), batches);
}

/* ---- a replica that stands still ------------------------------------------------------------- */

static const struct stalled {
    const char *item, *terms;
} stalled[] = {
    {"T0", "'strategy':'combined'"}, {"T1", "'strategy':'sharded','segments':2"},
    {"T2", "'strategy':'atomic'"},   {"T3", "'strategy':'fenced'"},
    {"T4", "'strategy':'batched'"},  {"T5", "'strategy':'reentrant'"},
    {"T6", "'strategy':'none'"},
};
enum { STALLED = COUNT(stalled) };

static void *buy_stalled(void *arg)
{
    int i = (int)(intptr_t)arg;
    return (void *)(intptr_t)fx_status(fx.server[0], "POST /buy?item=T%d&user=u&request=t%d", i, i);
}

static void what_a_stopped_replica_lacks_is_unknown_until_it_has_it(void **state)
{
    (void)state;
    pthread_t threads[STALLED];
    char request[128];
    for (int i = 0; i < STALLED; i++)
        fx_start_sale(fx.server[0], stalled[i].item, "'stock':2,'durability':'replicated',%s",
                      stalled[i].terms);
    fx_start_sale(fx.server[0], "M1", "'stock':2");
    fx_redis_signal(replicas[0], SIGSTOP);
    for (intptr_t i = 0; i < STALLED; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, buy_stalled, (void *)i), 0);
    fx_refused(fx.server[1], 504, "unknown",
               "POST /sales {'item':'T8','stock':5,'durability':'replicated'}");
    for (int i = 0; i < STALLED; i++) {
        void *status;
        pthread_join(threads[i], &status);
        if ((intptr_t)status != 504)
            fail_msg("%s: %d", stalled[i].terms, (int)(intptr_t)status);
    }
    for (int i = 0; i < STALLED; i++) { /* there is an order, and nobody is told of it */
        fx_expect(fx.server[1], 504, "POST /buy?item=T%d&user=u&request=t%d", i, i);
        fx_refused(fx.server[1], 503, "durability_lost", "GET /orders/t%d?item=T%d", i, i);
    }
    await("POST /buy?item=T0&user=u&request=new", 503, "\"code\":\"durability_lost\"");
    fx_expect(fx.server[0], 504, "POST /buy?item=T0&user=u&request=t0");
    fx_expect(fx.server[0], 201, "POST /buy?item=M1&user=u");
    fx_has(fx_expect(fx.server[0], 200, "GET /readyz"), "not sold: T0 durability_lost");
    fx_refused(fx.server[0], 409, "durability_unavailable",
               "POST /sales {'item':'T9','stock':5,'durability':'replicated'}");

    fx_redis_signal(replicas[0], SIGCONT);
    for (int i = 0; i < STALLED; i++) {
        snprintf(request, sizeof(request), "GET /orders/t%d?item=T%d", i, i);
        await(request, 200, "\"request\":\"t");
        fx_expect(fx.server[0], 201, "POST /buy?item=T%d&user=u&request=t%d", i, i);
        fx_expect(fx.server[0], 201, "POST /buy?item=T%d&user=v", i); /* 2 units, 2 orders */
        fx_refused(fx.server[0], 409, "sold_out", "POST /buy?item=T%d&user=w", i);
        fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=T%d", i), "\"orders\":2,");
    }
}

/* Whoever is asked takes up what the one before has left behind. */
static void a_sharded_sale_is_in_force_when_the_replica_has_all_of_it(void **state)
{
    (void)state;
    fx_redis_signal(replicas[0], SIGSTOP);
    fx_refused(fx.server[0], 504, "unknown",
               "POST /sales {'item':'W1','stock':4,'strategy':'sharded','segments':2,"
               "'durability':'replicated'}");
    for (int i = 0; i < 4; i++)
        fx_refused(fx.server[i % 2], 503, NULL, "GET /stock?item=W1");
    assert_int_equal(fx_redis_number(fx.redis, "EXISTS fs:{W1#0}:sale"), 1);
    fx_redis_signal(replicas[0], SIGCONT);
    await("GET /stock?item=W1", 200, "\"remaining\":4,");
    await("POST /buy?item=W1&user=u", 201, "");
}

/* The second replica has the order, but it is the first that may win the election. */
static void one_of_two_is_not_enough_while_both_are_online(void **state)
{
    (void)state;
    char sale[80];
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "O1", "'stock':5,'durability':'replicated'"));
    fx_expect(fx.server[0], 201, "POST /buy?item=O1&user=u&request=o0");
    fx_redis_signal(replicas[0], SIGSTOP);
    fx_expect(fx.server[0], 504, "POST /buy?item=O1&user=u&request=o1");
    assert_int_equal(orders_of(replicas[1], "O1", sale), 2);
    await("POST /buy?item=O1&user=u&request=o1", 201, "o1"); /* the first counts no longer */
    fx_redis_signal(replicas[0], SIGCONT);
    fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=O1"), "\"orders\":2,");
}

/* ---- too few --------------------------------------------------------------------------------- */

static void without_its_replicas_nothing_is_sold(void **state)
{
    (void)state;
    static const char start[] =
        "POST /sales {'item':'G2','stock':5,'durability':'replicated','min_replicas':2}";
    fx_start_sale(fx.server[0], "G1", "'stock':5,'durability':'replicated'");
    fx_expect(fx.server[0], 201, "POST /buy?item=G1&user=u&request=g1");
    fx_has(fx_refused(fx.server[0], 409, "durability_unavailable", start),
           "needs 2 of the server's replicas online, and it has 1 ");
    assert_true(fx_wait_until(is_logged, (void *)"replicas_not_required", NOTICED_MS));

    fx_redis_kill(replicas[0]);
    await("POST /buy?item=G1&user=u", 503, "\"code\":\"durability_lost\"");
    fx_refused(fx.server[0], 503, "durability_lost", "POST /buy?item=G1&user=u&request=g2");
    fx_expect(fx.server[0], 504, "POST /buy?item=G1&user=u&request=g1"); /* it has its order */
    await("GET /readyz", 503, "needs 1 of the server's replicas online, and it has 0 ");
    assert_true(fx_wait_until(is_logged, (void *)"replicas_lost", NOTICED_MS));
    fx_refused(fx.server[0], 503, "durability_lost", "GET /orders/g2?item=G1");

    fx_redis_restart(replicas[0]);
    await("POST /buy?item=G1&user=u&request=g1", 201, "g1");
    await("POST /buy?item=G1&user=u&request=g3", 201, "g3");
    assert_true(fx_wait_until(is_logged, (void *)"replicas_back", NOTICED_MS));
    replicas[1] = start_replica();
    await(start, 201, "\"min_replicas\":2,");
    fx_expect(fx.server[0], 201, "POST /buy?item=G2&user=u");
}

static void the_right_to_wait_is_missed_only_by_replicated_sales(void **state)
{
    (void)state;
    fx_start_sale(fx.server[0], "N1", "'stock':100000,'durability':'replicated'");
    fx_start_sale(fx.server[0], "N2", "'stock':5");
    fx_redis_do(fx.redis, "ACL SETUSER default -wait");
    await("POST /buy?item=N1&user=u", 503, "\"code\":\"durability_lost\"");
    fx_has(fx_refused(fx.server[0], 409, "durability_unavailable",
                      "POST /sales {'item':'N3','stock':5,'durability':'replicated'}"),
           "NOPERM this user may not WAIT");
    fx_expect(fx.server[0], 201, "POST /buy?item=N2&user=u");
    fx_redis_do(fx.redis, "ACL SETUSER default +wait");
    await("POST /buy?item=N1&user=u", 201, "");
}

/* ---- the primary is lost --------------------------------------------------------------------- */

typedef struct acknowledged {
    int number, count;
    char requests[4096][32];
} acknowledged;

static atomic_bool closed;

static void *buy_on(void *arg)
{
    acknowledged *mine = arg;
    fx_server *server = fx.server[mine->number % 2];
    for (int i = 0; i < 4096 && !atomic_load(&closed); i++) {
        char request[32];
        snprintf(request, sizeof(request), "r%d-%d", mine->number, i);
        if (fx_status(server, "POST /buy?item=F1&user=u&request=%s", request) == 201)
            memcpy(mine->requests[mine->count++], request, sizeof(request));
    }
    return NULL;
}

static bool has_sold(void *arg)
{
    return fx_redis_number(fx.redis, "LLEN fs:{F1}:%s:ledger", (const char *)arg) > 200;
}

/* SIGKILL of the primary in the middle of selling. How many 201 the promoted replica lacks. */
static int lost_with_the_primary(const char *durability, bool cut, int *all)
{
    enum { THREADS = 8 };
    char sale[80];
    pthread_t threads[THREADS];
    acknowledged *told = calloc(THREADS, sizeof(*told));
    int lost = 0;
    start_stage(1);
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(fx.server[0], "F1", "'stock':100000,'durability':'%s'", durability));
    atomic_store(&closed, false);
    if (cut)
        fx_redis_do(replicas[0], "REPLICAOF 127.0.0.1 1");
    for (int i = 0; i < THREADS; i++) {
        told[i].number = i;
        assert_int_equal(pthread_create(&threads[i], NULL, buy_on, &told[i]), 0);
    }
    assert_true(fx_wait_until(has_sold, sale, NOTICED_MS));
    fx_redis_kill(fx.redis);
    fx_redis_do(replicas[0], "REPLICAOF NO ONE");
    atomic_store(&closed, true);
    *all = 0;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        *all += told[i].count;
        for (int k = 0; k < told[i].count; k++)
            lost += fx_redis_number(replicas[0], "HEXISTS fs:{F1}:%s:orders %s", sale,
                                    told[i].requests[k]) != 1;
    }
    free(told);
    return lost;
}

static void the_promoted_replica_has_what_was_told(void **state)
{
    int all;
    for (int round = 0; round < ROUNDS; round++) {
        int lost = lost_with_the_primary("replicated", false, &all);
        end_stage(state);
        print_message("replicated: %d acknowledged, %d lost\n", all, lost);
        assert_true(all > 0);
        assert_int_equal(lost, 0);
    }
}

/* The control: the same, and the replica's link was down. */
static void without_waiting_it_has_not(void **state)
{
    int all;
    int lost = lost_with_the_primary("memory", true, &all);
    end_stage(state);
    print_message("memory: %d acknowledged, %d lost\n", all, lost);
    assert_true(all > 0);
    assert_int_equal(lost, all);
}

/* What a failover undoes was told to nobody, so nothing is rolled back: the sale goes on. */
/* A primary that is cut off does not know what the one in its place has sold. */
static void no_is_final_while_the_replica_follows(void **state)
{
    (void)state;
    static const struct {
        const char *item, *terms;
    } sales[] = {{"V0", "'strategy':'combined'"}, {"V1", "'strategy':'sharded','segments':3"}};
    for (int i = 0; i < 2; i++) {
        char question[80];
        snprintf(question, sizeof(question), "GET /orders/g?item=%s&not_after=1000000000000000",
                 sales[i].item);
        fx_start_sale(fx.server[0], sales[i].item, "'stock':9,'durability':'replicated',%s",
                      sales[i].terms);
        await("GET /readyz", 200, "ready");
        fx_has(fx_expect(fx.server[0], 404, "%s", question), "\"final\":true");
        fx_redis_signal(replicas[0], SIGSTOP);
        fx_has(fx_expect(fx.server[0], 404, "%s", question), "\"final\":false");
        fx_redis_signal(replicas[0], SIGCONT);
        await(question, 404, "\"final\":true");
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u&request=g", sales[i].item);
        fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=%s", sales[i].item),
               "\"remaining\":8,");
    }
}

/* Nor does it know whether the sale is over. */
static void over_is_final_while_the_replica_follows(void **state)
{
    (void)state;
    char question[160];
    snprintf(question, sizeof(question), "GET /orders/g?item=E1&sale=%s",
             fx_start_sale(fx.server[0], "E1", "'stock':9,'durability':'replicated'"));
    fx_start_sale(fx.server[0], "E1", "'stock':9,'durability':'replicated'");
    fx_has(fx_expect(fx.server[0], 404, "%s", question), "\"final\":true");
    fx_redis_signal(replicas[0], SIGSTOP);
    fx_has(fx_expect(fx.server[0], 404, "%s", question), "\"final\":false");
    fx_redis_signal(replicas[0], SIGCONT);
    await(question, 404, "\"final\":true");
}

static void an_order_that_nobody_was_told_of_is_not_missed(void **state)
{
    (void)state;
    char port[16];
    fx_start_sale(fx.server[0], "U1", "'stock':5,'durability':'replicated'");
    fx_expect(fx.server[0], 201, "POST /buy?item=U1&user=u&request=u1");
    fx_redis_do(replicas[0], "REPLICAOF 127.0.0.1 1");
    int status = fx_status(fx.server[0], "POST /buy?item=U1&user=u&request=u2");
    print_message("cut off: %d\n",
                  status); /* 503 when the keeper has looked before the buyer came */
    assert_true(status == 504 || status == 503);
    fx_server_signal(fx.server[0], SIGSTOP); /* it is not to see the server while that is empty */
    fx_server_signal(fx.server[1], SIGSTOP);
    fx_redis_restart(fx.redis);
    fx_redis_do(replicas[0], "REPLICAOF NO ONE");
    snprintf(port, sizeof(port), "%d", fx_redis_port(replicas[0]));
    fx_redis_do(fx.redis, "REPLICAOF 127.0.0.1 %s", port);
    fx_redis *promoted = replicas[0];
    fx_redis *old = fx.redis;
    fx.redis = promoted;
    assert_true(fx_wait_until(replica_is_online, old, NOTICED_MS));
    assert_true(fx_redis_number(old, "EXISTS fs:{U1}:sale") == 1);
    fx.redis = old;
    fx_redis_do(old, "REPLICAOF NO ONE"); /* the address has what the replica had */
    fx_redis_do(promoted, "REPLICAOF 127.0.0.1 %d", fx_redis_port(old));
    assert_true(fx_wait_until(replica_is_online, promoted, NOTICED_MS));
    fx_server_signal(fx.server[0], SIGCONT);
    fx_server_signal(fx.server[1], SIGCONT);
    await("POST /buy?item=U1&user=u&request=u1", 201, "u1");
    await("POST /buy?item=U1&user=u&request=u2", 201, "u2");
    fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=U1"), "\"orders\":2,");
}

int main(void)
{
#define STAGE(test, start) cmocka_unit_test_setup_teardown(test, start, end_stage)
    const struct CMUnitTest tests[] = {
        STAGE(every_strategy_tells_what_the_replica_has, one_replica),
        STAGE(an_order_is_waited_for_once, one_replica),
        STAGE(a_batch_waits_once, one_replica),
        STAGE(what_a_stopped_replica_lacks_is_unknown_until_it_has_it, one_replica),
        STAGE(a_sharded_sale_is_in_force_when_the_replica_has_all_of_it, one_replica),
        STAGE(one_of_two_is_not_enough_while_both_are_online, two_replicas),
        STAGE(without_its_replicas_nothing_is_sold, one_replica),
        STAGE(no_is_final_while_the_replica_follows, one_replica),
        STAGE(over_is_final_while_the_replica_follows, one_replica),
        STAGE(the_right_to_wait_is_missed_only_by_replicated_sales, one_replica),
        cmocka_unit_test(the_promoted_replica_has_what_was_told),
        cmocka_unit_test(without_waiting_it_has_not),
        STAGE(an_order_that_nobody_was_told_of_is_not_missed, one_replica),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
