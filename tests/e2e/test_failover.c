/*
 * test_failover.c - the primary is killed under a paced load, and sentinels promote a replica:
 * which of the orders that buyers were told of are there afterwards, and when they can buy again.
 *
 *     replicated   SIGKILL, nothing else                      no acknowledged order is lost
 *     replicated   its replicas were cut off just before      nor then: those buyers heard 504
 *     memory       likewise: the control without WAIT         acknowledged orders are lost, and the
 *                                                             service says so and sells nothing
 *
 * Cut off: both replicas are stopped, and the primary closes their links (CLIENT KILL TYPE
 * replica). What it sells from then on is nowhere else. They go on once it is dead.
 *
 * FAILOVER_RUNS=5 in the environment repeats each case, on new servers. The figures of each run are
 * printed. No time decides but a generous deadline.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tests/support/service.h"
#include "tests/support/topology.h"

enum {
    CLIENTS = 12,
    EVERY_MS = 40, /* for each of them: 300 buys a second */
    BUYS_MAX = 40000,
    STOCK = 1000000,
    BEFORE = 300, /* acknowledged before the kill */
    AFTER = 30,   /* ... and after it, by each instance */
    PRIMARY = 0,
    REPLICAS = 2, /* members 1 and 2 */
    LIMIT_MS = 60000,
};

/* One buy: k-0, k-1, ... */
typedef struct told {
    int status;      /* 0 = no answer */
    char code[32];   /* of a refusal */
    char order[64];  /* of a 201; of a 504 or no answer, once it is resolved to an order */
    int64_t sent_ms; /* before it was asked */
    int64_t told_ms;
    bool resolved; /* a 504, no answer: GET /orders/{request} has the last word */
    bool in_ledger;
} told;

static told buys[BUYS_MAX];
static atomic_int asked;
static atomic_int acknowledged;
static atomic_int since_kill[FX_INSTANCES]; /* 201 to buys that were sent after it */
static atomic_int halted[FX_INSTANCES];     /* 503 sale_rolled_back */
static _Atomic int64_t killed_ms;           /* the primary was gone by then; 0 = it is there */
static atomic_bool over;
static char sale[64];

static pthread_t threads[CLIENTS];
static bool running; /* the threads */

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int quantity(int buy)
{
    return 1 + buy % 3;
}

/* ---- the buyers ------------------------------------------------------------------------------ */

/* A string in the JSON of a body; "" = there is none. For any thread. */
static void copy_text(const char *body, const char *name, char *ret, size_t ret_len)
{
    char start[48];
    snprintf(start, sizeof(start), "\"%s\":\"", name);
    const char *at = strstr(body, start);
    at = at ? at + strlen(start) : "";
    snprintf(ret, ret_len, "%.*s", (int)strcspn(at, "\""), at);
}

static void count(const told *t, int at)
{
    int64_t killed = atomic_load(&killed_ms);
    atomic_fetch_add(&acknowledged, t->status == 201);
    atomic_fetch_add(&since_kill[at], t->status == 201 && killed > 0 && t->sent_ms >= killed);
    atomic_fetch_add(&halted[at], strcmp(t->code, "sale_rolled_back") == 0);
}

static void buy(int number)
{
    char url[256], key[48];
    fx_reply reply;
    const char *const headers[] = {key, NULL};
    told *t = &buys[number];
    int at = number % FX_INSTANCES;
    snprintf(key, sizeof(key), "Idempotency-Key: k-%d", number);
    snprintf(url, sizeof(url), "%s/buy?item=P0001&sale=%s&user=u%d&quantity=%d",
             fx_server_url(fx.server[at]), sale, number, quantity(number));
    t->sent_ms = now_ms();
    t->status = fx_http("POST", url, headers, NULL, 30000, &reply);
    t->told_ms = now_ms();
    copy_text(reply.body, "code", t->code, sizeof(t->code));
    copy_text(reply.body, "order", t->order, sizeof(t->order));
    fx_reply_free(&reply);
    count(t, at);
}

/* A buy every EVERY_MS; one that comes late puts off those after it, and they are not made up for.
 */
static void *buy_on_and_on(void *arg)
{
    int64_t next = now_ms() + (int64_t)(intptr_t)arg * EVERY_MS / CLIENTS;
    while (!atomic_load(&over)) {
        int number = atomic_fetch_add(&asked, 1);
        if (number >= BUYS_MAX)
            break;
        if (next > now_ms())
            fx_let_pass((int)(next - now_ms()));
        next = (next > now_ms() ? next : now_ms()) + EVERY_MS;
        buy(number);
    }
    return NULL;
}

static void start_threads(void *(*work)(void *arg))
{
    running = true;
    for (intptr_t i = 0; i < CLIENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
}

static void join_threads(void)
{
    atomic_store(&over, true);
    for (int i = 0; running && i < CLIENTS; i++)
        pthread_join(threads[i], NULL);
    running = false;
}

static void let_buyers_in(const char *durability)
{
    memset(buys, 0, sizeof(buys));
    atomic_store(&asked, 0);
    atomic_store(&acknowledged, 0);
    atomic_store(&killed_ms, 0);
    atomic_store(&over, false);
    for (int i = 0; i < FX_INSTANCES; i++) {
        atomic_store(&since_kill[i], 0);
        atomic_store(&halted[i], 0);
    }
    snprintf(sale, sizeof(sale), "%s",
             fx_sell("'stock':%d,'strategy':'combined','durability':'%s'", STOCK, durability));
    start_threads(buy_on_and_on);
}

static int buys_made(void)
{
    int made = atomic_load(&asked);
    return made < BUYS_MAX ? made : BUYS_MAX;
}

/* ---- the failover ---------------------------------------------------------------------------- */

static bool has_sold_before(void *arg)
{
    (void)arg;
    return atomic_load(&acknowledged) >= BEFORE;
}

/* Orders in the primary's ledger. */
static int ledger_length(fx_topology *t)
{
    redisReply *reply = fx_topology_ask(t, PRIMARY, "LLEN fs:{P0001}:%s:ledger", sale);
    int length = reply && reply->type == REDIS_REPLY_INTEGER ? (int)reply->integer : -1;
    freeReplyObject(reply);
    return length;
}

static bool has_grown_to(void *length)
{
    return ledger_length(fx_redis_topology(fx.redis)) >= *(int *)length;
}

/* From now on no replica hears of what is sold; `more` orders are. */
static void cut_replicas_off(fx_topology *t, int more)
{
    for (int i = 1; i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGSTOP);
    redisReply *reply = fx_topology_ask(t, PRIMARY, "CLIENT KILL TYPE replica");
    assert_true(reply && reply->type == REDIS_REPLY_INTEGER);
    assert_int_equal(reply->integer, REPLICAS);
    freeReplyObject(reply);
    int length = ledger_length(t) + more;
    assert_true(fx_wait_until(has_grown_to, &length, LIMIT_MS));
}

/* The moment before the kill. `behind`: so many orders the replicas do not have; 0 = they are not
 * cut off. */
static int64_t kill_primary(int behind)
{
    fx_topology *t = fx_redis_topology(fx.redis);
    if (behind > 0)
        cut_replicas_off(t, behind);
    int64_t at_ms = now_ms();
    fx_topology_kill(t, PRIMARY);
    atomic_store(&killed_ms, now_ms());
    for (int i = 1; behind > 0 && i <= REPLICAS; i++)
        fx_topology_signal(t, i, SIGCONT);
    return at_ms;
}

static bool all_sell_again(void *arg)
{
    bool all = true;
    (void)arg;
    for (int i = 0; i < FX_INSTANCES; i++)
        all = all && atomic_load(&since_kill[i]) >= AFTER;
    return all;
}

static bool all_are_halted(void *arg)
{
    bool all = true;
    (void)arg;
    for (int i = 0; i < FX_INSTANCES; i++)
        all = all && atomic_load(&halted[i]) > 0;
    return all;
}

/* ---- what became of them --------------------------------------------------------------------- */

static bool is_doubtful(const told *t)
{
    return t->status == 504 || t->status == 0;
}

/* Asks for one order. 200: *order is its id. "final" of a 404: *final. */
static int look_up(int number, char *order, size_t order_len, bool *final)
{
    fx_reply reply;
    int status = fx_ask(fx.server[(number + 1) % FX_INSTANCES], &reply,
                        "GET /orders/k-%d?item=P0001&sale=%s", number, sale);
    if (status == 200)
        copy_text(reply.body, "order", order, order_len);
    *final = status == 404 && strstr(reply.body, "\"final\":true");
    fx_reply_free(&reply);
    return status;
}

static atomic_int next_question, wrong_answers;

/* Asks about every buy: 201 has its order, a refusal has none; who is in doubt asks the first time.
 */
static void *ask_about_all(void *arg)
{
    (void)arg;
    for (int i; (i = atomic_fetch_add(&next_question, 1)) < buys_made();) {
        char order[64] = "";
        bool final;
        int status = look_up(i, order, sizeof(order), &final);
        bool good = buys[i].status == 201 ? status == 200 && strcmp(order, buys[i].order) == 0
                                          : is_doubtful(&buys[i]) || status == 404;
        if (!good && atomic_fetch_add(&wrong_answers, 1) < 5)
            print_message("k-%d was told %d %s%s, and then %d %s\n", i, buys[i].status,
                          buys[i].code, buys[i].order, status, order);
    }
    return NULL;
}

static void every_answer_stands(void)
{
    atomic_store(&next_question, 0);
    atomic_store(&wrong_answers, 0);
    start_threads(ask_about_all);
    join_threads();
    assert_int_equal(atomic_load(&wrong_answers), 0);
}

/* Whether all doubt has ended, one way or the other. */
static bool all_are_resolved(void *arg)
{
    bool all = true;
    (void)arg;
    for (int i = 0; i < buys_made(); i++) {
        bool final;
        told *t = &buys[i];
        if (!is_doubtful(t) || t->resolved)
            continue;
        t->resolved = look_up(i, t->order, sizeof(t->order), &final) == 200 || final;
        all = all && t->resolved;
    }
    return all;
}

typedef struct ledger {
    int orders;
    int units;
    int highest; /* number of an order */
} ledger;

static int number_of(const char *order)
{
    const char *dash = strrchr(order, '-');
    return dash ? (int)strtol(dash + 1, NULL, 10) : 0;
}

/* One order of the ledger: nobody's twice, and as it was asked for and told. */
static void check_order(const cJSON *order, ledger *sum)
{
    char user[32];
    int number = (int)strtol(fx_json_text(order, "request") + 2, NULL, 10);
    const char *id = fx_json_text(order, "order");
    assert_in_range(number, 0, buys_made() - 1);
    told *t = &buys[number];
    snprintf(user, sizeof(user), "u%d", number);
    assert_string_equal(fx_json_text(order, "user"), user);
    assert_int_equal((int)fx_json_number(order, "quantity"), quantity(number));
    if (t->in_ledger)
        fail_msg("k-%d is in the ledger twice", number);
    if (t->status == 201 && strcmp(t->order, id) != 0)
        fail_msg("k-%d was told %s and has %s", number, t->order, id);
    if (number_of(id) != sum->highest + 1)
        fail_msg("behind order %d comes %s", sum->highest, id);
    t->in_ledger = true;
    sum->highest++;
    sum->orders++;
    sum->units += quantity(number);
}

/* The whole ledger, page by page; notes in each buy whether it is there. */
static ledger read_ledger(void)
{
    ledger sum = {0};
    char cursor[32] = "0.0";
    for (int i = 0; i < buys_made(); i++)
        buys[i].in_ledger = false;
    while (cursor[0] != '\0') {
        const cJSON *each;
        cJSON *page =
            cJSON_Parse(fx_expect(fx.server[0], 200, "GET /orders?item=P0001&cursor=%s", cursor));
        assert_string_equal(fx_json_text(page, "sale"), sale);
        cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(page, "orders"))
        {
            check_order(each, &sum);
        }
        const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "cursor");
        snprintf(cursor, sizeof(cursor), "%s", cJSON_IsString(next) ? next->valuestring : "");
        cJSON_Delete(page);
    }
    assert_int_equal(fx_stock("orders"), sum.orders);
    assert_int_equal(fx_stock("units"), sum.units);
    assert_int_equal(fx_stock("remaining"), STOCK - sum.units);
    return sum;
}

/* ---- the figures ----------------------------------------------------------------------------- */

typedef struct figures {
    int acknowledged, lost, refused, unknown, bought_after_all;
    int64_t first_ms, all_ms; /* from the kill to the next 201; until all instances had one */
} figures;

/* For each instance the first 201 to a buy that was sent after the kill. */
static void see_times(int64_t at_ms, figures *ret)
{
    int64_t first[FX_INSTANCES] = {0};
    for (int i = 0; i < buys_made(); i++) {
        int64_t *mine = &first[i % FX_INSTANCES];
        if (buys[i].status == 201 && buys[i].sent_ms >= atomic_load(&killed_ms) &&
            (*mine == 0 || buys[i].told_ms - at_ms < *mine))
            *mine = buys[i].told_ms - at_ms;
    }
    ret->first_ms = ret->all_ms = first[0];
    for (int i = 1; i < FX_INSTANCES; i++) {
        ret->first_ms = first[i] < ret->first_ms ? first[i] : ret->first_ms;
        ret->all_ms = first[i] > ret->all_ms ? first[i] : ret->all_ms;
    }
}

/* After read_ledger(). Fails on an answer that nobody should see. */
static figures sum_up(const char *const *allowed)
{
    figures sum = {0};
    for (int i = 0; i < buys_made(); i++) {
        const told *t = &buys[i];
        bool known = t->status == 201 || (t->status == 504 && strcmp(t->code, "unknown") == 0);
        for (const char *const *code = allowed; *code && !known; code++)
            known = t->status == 503 && strcmp(t->code, *code) == 0;
        if (!known)
            fail_msg("k-%d was told %d %s", i, t->status, t->code);
        sum.acknowledged += t->status == 201;
        sum.lost += t->status == 201 && !t->in_ledger;
        sum.refused += t->status == 503;
        sum.unknown += is_doubtful(t);
        sum.bought_after_all += is_doubtful(t) && t->in_ledger;
        if (t->status == 503 && t->in_ledger)
            fail_msg("k-%d was refused (%s), and has an order", i, t->code);
        if (is_doubtful(t) && t->resolved && t->in_ledger != (t->order[0] != '\0'))
            fail_msg("k-%d: GET /orders/ and the ledger do not agree", i);
    }
    return sum;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static int runs(void)
{
    const char *text = getenv("FAILOVER_RUNS");
    return text ? (int)strtol(text, NULL, 10) : 1;
}

static int setup(void **state)
{
    return fx_service_start(state);
}

static int teardown(void **state)
{
    join_threads();
    fx_service_stop(state);
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    return 0;
}

/* Each run but the first one on servers of its own. */
static void begin_run(int run, void **state)
{
    if (run > 0) {
        teardown(state);
        setup(state);
    }
}

/* `end_sale`: doubt ends with the sale, instead of after some time. */
static void replicated_run(int run, int behind, bool end_sale)
{
    static const char *const refusals[] = {"store_unavailable", "durability_lost", "busy", NULL};
    let_buyers_in("replicated");
    assert_true(fx_wait_until(has_sold_before, NULL, LIMIT_MS));
    int64_t at_ms = kill_primary(behind);
    if (!fx_wait_until(all_sell_again, NULL, LIMIT_MS)) {
        int last = buys_made() - 2 * CLIENTS;
        fail_msg("not sold again: %d %s", buys[last].status, buys[last].code);
    }
    join_threads();
    every_answer_stands();
    if (!end_sale)
        assert_true(fx_wait_until(all_are_resolved, NULL, LIMIT_MS));
    ledger sum = read_ledger();
    assert_int_equal(fx_stock("unordered"), 0);
    assert_string_equal(fx_current_sale("P0001"), sale);
    if (end_sale) {
        fx_sell("'stock':1");
        assert_true(fx_wait_until(all_are_resolved, NULL, LIMIT_MS));
    }
    figures f = sum_up(refusals);
    see_times(at_ms, &f);
    print_message("replicated%s, run %d: %d acknowledged, %d lost; %d refused; %d unknown, of them "
                  "%d bought; next sale %lld ms after the kill, on all instances %lld ms\n",
                  behind ? ", replicas cut off" : "", run + 1, f.acknowledged, f.lost, f.refused,
                  f.unknown, f.bought_after_all, (long long)f.first_ms, (long long)f.all_ms);
    assert_int_equal(f.lost, 0);
    assert_int_equal(sum.orders, f.acknowledged + f.bought_after_all);
}

static void no_acknowledged_order_is_lost_with_the_primary(void **state)
{
    for (int run = 0; run < runs(); run++) {
        begin_run(run, state);
        replicated_run(run, 0, false);
    }
}

static void nor_when_its_replicas_were_cut_off_before(void **state)
{
    for (int run = 0; run < runs(); run++) {
        begin_run(run, state);
        replicated_run(run, 3, true);
    }
}

/* What GET /stock says of the halt. */
static int halt_number(const char *name)
{
    cJSON *stock = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /stock?item=P0001"));
    const cJSON *halt = cJSON_GetObjectItemCaseSensitive(stock, "halted");
    int number = halt ? (int)fx_json_number(halt, name) : -1;
    cJSON_Delete(stock);
    return number;
}

static bool knows_as_many(void *highest)
{
    return halt_number("known") >= *(int *)highest;
}

/* Of a halted sale nothing is lost in silence: 200 for the orders that are left, 503 for the rest.
 * The highest number of an acknowledged order. */
static int ask_about_lost(int found)
{
    int highest = 0;
    for (int i = 0; i < buys_made(); i++) {
        char order[64] = "";
        bool final;
        const told *t = &buys[i];
        if (t->status != 201)
            continue;
        int number = number_of(t->order);
        highest = number > highest ? number : highest;
        if (t->in_ledger != (number <= found))
            fail_msg("%d orders are left, and %s is %s", found, t->order,
                     t->in_ledger ? "there" : "not");
        int status = t->in_ledger ? 200 : look_up(i, order, sizeof(order), &final);
        if (status != (t->in_ledger ? 200 : 503))
            fail_msg("GET /orders/k-%d, which has been lost: %d", i, status);
    }
    return highest;
}

static void lost_orders_are_told_without_wait(void **state)
{
    static const char *const refusals[] = {"store_unavailable", "busy", "sale_rolled_back", NULL};
    for (int run = 0; run < runs(); run++) {
        begin_run(run, state);
        let_buyers_in("memory");
        assert_true(fx_wait_until(has_sold_before, NULL, LIMIT_MS));
        kill_primary(30);
        assert_true(fx_wait_until(all_are_halted, NULL, LIMIT_MS));
        join_threads();
        ledger sum = read_ledger();
        figures f = sum_up(refusals);
        int highest = ask_about_lost(sum.orders);
        assert_true(fx_wait_until(knows_as_many, &highest, LIMIT_MS));
        int known = halt_number("known"), found = halt_number("found");
        print_message("memory, replicas cut off, run %d: %d acknowledged, %d lost (known %d, found "
                      "%d); %d refused; %d unknown\n",
                      run + 1, f.acknowledged, f.lost, known, found, f.refused, f.unknown);
        assert_true(f.lost > 0);
        assert_int_equal(found, sum.orders);
        assert_int_equal(halt_number("lost_orders"), known - found);
        for (int i = 0; i < FX_INSTANCES; i++) /* none of the units was sold again */
            assert_int_equal(atomic_load(&since_kill[i]), 0);
        fx_expect(fx.server[0], 200,
                  "POST /sales/resume {'item':'P0001','sale':'%s','lost_orders':%d}", sale,
                  known - found);
        fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=late&sale=%s", sale);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_acknowledged_order_is_lost_with_the_primary, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(nor_when_its_replicas_were_cut_off_before, setup, teardown),
        cmocka_unit_test_setup_teardown(lost_orders_are_told_without_wait, setup, teardown),
    };
    setenv("FX_REDIS", "sentinel", 1);
    setenv("FX_FAILOVER", "yes", 1);
    fx.plan = (fx_plan){.instances = FX_INSTANCES};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
