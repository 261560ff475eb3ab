/*
 * test_orders_crashes.c - buyers reserve, confirm and cancel at three instances, flashsale-orders
 * copies their orders, and whatever takes part is killed under it: the follower, PostgreSQL, the
 * instances, the primary of a replicated Redis. In the end the tables have each order exactly once,
 * as its buyer was told and as Redis has it, in the order in which they were made.
 *
 * The truth is read past the product: from the histories of the buyers and from the keys in Redis.
 * Meanwhile a sampler looks that no order is in the database without those before it.
 *
 * KILLS, PG_KILLS and FAILOVERS in the environment say how often (default 10, 2, 1). The figures
 * are printed.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "server/orders/database.h"
#include "tests/support/postgres.h"
#include "tests/support/sale/crew.h"
#include "tests/support/topology.h"

enum {
    SALES = 2,
    STOCK = 1000000, /* never gone */
    LIMIT = 5,       /* units of a user, that some reach */
    RESERVE_S = 2,
    SEGMENTS = 3,
    PACE_MS = 25,    /* of each buyer */
    SOON_MS = 150,   /* at the most, until a follower is killed */
    AWAY_MS = 400,   /* likewise, until PostgreSQL is started again */
    SAMPLE_MS = 60,  /* between two looks at the database */
    SOME = 30,       /* orders */
    WAIT_MS = 60000, /* a condition that must come */
    TEXT = 96
};

static const char *const items[SALES] = {"P0001", "P0002"};

static char dir[256], url[300];
static fx_postgres *postgres;
static fx_process *follower;
static database *db; /* the main thread's connection */
static uint64_t seed;

static int figure(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text ? (int)strtol(text, NULL, 10) : otherwise;
}

/* SplitMix64. */
static int drawn(int below)
{
    uint64_t z = seed += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

/* ---- the service and its buyers -------------------------------------------------------------- */

static fx_server *again[FX_INSTANCES]; /* started instead of fx.server[i], at its address */

static fx_server *start_instance(int port)
{
    char listen[32];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", port);
    return fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--listen", listen));
}

static void kill_instance(int at)
{
    fx_server_signal(again[at] ? again[at] : fx.server[at], SIGKILL);
    fx_server_kill(again[at]);
    again[at] = NULL;
}

static void start_service(const char *redis)
{
    setenv("FX_REDIS", redis, 1);
    fx.redis = fx_redis_start(NULL);
    for (int i = 0; i < FX_INSTANCES; i++)
        fx.server[i] = start_instance(fx_free_port());
}

static const char *history_of(int sale, char buf[400])
{
    snprintf(buf, 400, "%s/%s.history", dir, items[sale]);
    return buf;
}

/* One sale with reservations, and one in segments. */
static void let_buyers_in(const char *durability)
{
    const fx_terms terms[SALES] = {
        {.strategy = "combined", .limit = LIMIT, .reserve_s = RESERVE_S},
        {.strategy = "sharded", .segments = SEGMENTS},
    };
    crew_begin(&(crew_habits){.seed = seed, .several = true, .repeats = true});
    crew_pace(PACE_MS);
    for (int i = 0; i < SALES; i++) {
        char path[400];
        fx_terms of = terms[i];
        of.item = items[i];
        of.durability = durability;
        of.stock = STOCK;
        crew_come(fx_sale_start(&of, history_of(i, path)), CREW_BUYERS / (i + 1));
    }
    assert_true(crew_more(&crew.bought, SOME, WAIT_MS));
}

/* ---- flashsale-orders ------------------------------------------------------------------------ */

static fx_process *start_orders(const char *command, const char *more)
{
    char program[512], from[256];
    snprintf(from, sizeof(from), "%s,%s,%s", fx_server_url(fx.server[0]),
             fx_server_url(fx.server[1]), fx_server_url(fx.server[2]));
    fx_build_path("flashsale-orders", program, sizeof(program));
    return fx_spawn(
        (const char *const[]){program, command, "--from", from, "--to", url, more, NULL}, true);
}

/* To its end, which is to be a good one. */
static void run_orders(const char *command, const char *more, const char *says)
{
    fx_process *orders = start_orders(command, more);
    int code = fx_process_wait(orders, WAIT_MS);
    if (code != 0 || !strstr(fx_process_stdout(orders), says))
        fail_msg("%s ended with %d:\n%s%s", command, code, fx_process_stdout(orders),
                 fx_process_stderr(orders));
    fx_process_free(orders);
}

static void kill_follower(void)
{
    int code = fx_process_wait(follower, 0);
    if (code >= 0)
        fail_msg("the follower has ended with %d: %s", code, fx_process_stderr(follower));
    fx_process_free(follower);
    follower = start_orders("follow", NULL);
}

/* ---- the database ---------------------------------------------------------------------------- */

static void take_number(void *arg, int count, const char *const *values)
{
    *(long long *)arg = count > 0 && values[0] ? strtoll(values[0], NULL, 10) : 0;
}

/* The number that the database answers; -1 = it does not. */
static long long ask_number(database *of, const char *sql)
{
    long long number = -1;
    if (database_run(of, sql, NULL, take_number, &number, NULL))
        return number;
    database_disconnect(of);
    return -1;
}

static long long orders_copied(void)
{
    return ask_number(db, "SELECT count(*) FROM flashsale_orders WHERE lost_us IS NULL");
}

static bool has_copied(void *more_than)
{
    return orders_copied() > *(long long *)more_than;
}

/* Waits until orders have been copied that are not in the database now. */
static void wait_for_more(void)
{
    long long now = orders_copied();
    if (!fx_wait_until(has_copied, &now, WAIT_MS))
        fail_msg("nothing is copied any more: %s", fx_process_stderr(follower));
}

static struct {
    atomic_bool goes_on;
    atomic_int looks, gaps;
    pthread_t thread;
} sampler;

/* Segments whose numbers do not go from 1 to as many as there are. */
#define GAPS(table, number)                                                                        \
    "SELECT count(*) FROM (SELECT 1 FROM " table " WHERE lost_us IS NULL GROUP BY item, sale,"     \
    " segment HAVING count(*) <> max(" number ") OR min(" number ") <> 1) AS x"

static void *look_for_gaps(void *arg)
{
    char err[256];
    database *own = database_new(url, true, err, sizeof(err));
    while (own && atomic_load(&sampler.goes_on)) {
        long long orders = ask_number(own, GAPS("flashsale_orders", "number"));
        long long moves = ask_number(own, GAPS("flashsale_moves", "place"));
        atomic_fetch_add(&sampler.looks, orders >= 0 && moves >= 0);
        atomic_fetch_add(&sampler.gaps, orders > 0 || moves > 0);
        fx_let_pass(SAMPLE_MS);
    }
    database_free(own);
    return arg;
}

static void start_sampler(void)
{
    atomic_store(&sampler.looks, 0);
    atomic_store(&sampler.gaps, 0);
    atomic_store(&sampler.goes_on, true);
    assert_int_equal(pthread_create(&sampler.thread, NULL, look_for_gaps, NULL), 0);
}

static void stop_sampler(void)
{
    if (atomic_exchange(&sampler.goes_on, false))
        pthread_join(sampler.thread, NULL);
}

/* ---- orders, as they are told, kept and copied ----------------------------------------------- */

typedef struct order {
    char request[TEXT], user[TEXT], id[TEXT], state[16];
    long long number, quantity;
    int segment;
} order;

typedef struct orders {
    order *all;
    size_t count, room;
} orders;

static order *add(orders *to)
{
    if (to->count == to->room) {
        to->room = 2 * to->room + 1024;
        to->all = realloc(to->all, to->room * sizeof(*to->all));
        assert_non_null(to->all);
    }
    to->all[to->count] = (order){.segment = 0};
    return &to->all[to->count++];
}

static int by_request(const void *a, const void *b)
{
    return strcmp(((const order *)a)->request, ((const order *)b)->request);
}

static void sort(orders *of)
{
    qsort(of->all, of->count, sizeof(*of->all), by_request);
    for (size_t i = 1; i < of->count; i++)
        if (strcmp(of->all[i].request, of->all[i - 1].request) == 0)
            fail_msg("request %s has two orders: %lld and %lld", of->all[i].request,
                     of->all[i - 1].number, of->all[i].number);
}

static void take_row(void *arg, int count, const char *const *v)
{
    order *row = add(arg);
    assert_int_equal(count, 7);
    snprintf(row->request, sizeof(row->request), "%s", v[0]);
    snprintf(row->user, sizeof(row->user), "%s", v[1]);
    snprintf(row->id, sizeof(row->id), "%s", v[2]);
    snprintf(row->state, sizeof(row->state), "%s", v[3]);
    row->number = strtoll(v[4], NULL, 10);
    row->quantity = strtoll(v[5], NULL, 10);
    row->segment = (int)strtol(v[6], NULL, 10);
}

static void read_table(const fx_sale *s, orders *ret)
{
    static const char sql[] =
        "SELECT request, username, order_id, state, number, quantity, segment"
        " FROM flashsale_order_states WHERE item = $1 AND sale = $2 AND state <> 'lost'";
    if (!database_run(db, sql, PARAMS(s->item, s->id), take_row, ret, NULL))
        fail_msg("%s", database_error(db));
    sort(ret);
}

/* server/store/purchase.h has the form of a record. At rest no reservation is left. */
static void take_record(orders *to, int segment, const char *request, const char *record)
{
    char state[16] = "";
    order *kept = add(to);
    kept->segment = segment;
    snprintf(kept->request, sizeof(kept->request), "%s", request);
    if (sscanf(record, "%lld %95s %lld %*d %*d %*s %*d %*s %15s", &kept->number, kept->user,
               &kept->quantity, state) < 3)
        fail_msg("the record of %s is none: %s", request, record);
    snprintf(kept->state, sizeof(kept->state), "%s",
             state[0] == '\0' || strcmp(state, "confirmed") == 0 ? "sold"
             : strcmp(state, "reserved") == 0                    ? "expired"
                                                                 : state);
}

static void read_ledger(const fx_sale *s, orders *ret)
{
    char key[192];
    for (int k = 0; k < fx_sale_key_sets(s); k++) {
        redisReply *records =
            fx_redis_reply(fx.redis, "HGETALL %s", fx_sale_key(s, k, "orders", key, sizeof(key)));
        long long entries =
            fx_redis_number(fx.redis, "LLEN %s", fx_sale_key(s, k, "ledger", key, sizeof(key)));
        assert_int_equal(records->type, REDIS_REPLY_ARRAY);
        size_t before = ret->count;
        for (size_t i = 0; i + 1 < records->elements; i += 2)
            if (strchr(records->element[i + 1]->str, ' ')) /* or it is no order's */
                take_record(ret, k, records->element[i]->str, records->element[i + 1]->str);
        assert_int_equal(ret->count - before, entries);
        freeReplyObject(records);
    }
    sort(ret);
}

/* The value of a member of a history's line, "" = none. */
static const char *member(const char *line, const char *name, char buf[TEXT])
{
    char word[32];
    snprintf(word, sizeof(word), " %s=", name);
    const char *at = strstr(line, word);
    buf[0] = '\0';
    if (at)
        snprintf(buf, TEXT, "%.*s", (int)strcspn(at + strlen(word), " \n"), at + strlen(word));
    return strcmp(buf, "-") == 0 ? "" : buf;
}

/* Holds what a buyer was told to the table. True: it was told something definite of an order. */
static bool hold_to_table(const char *line, const orders *table)
{
    char buf[TEXT];
    order told = {.segment = 0};
    bool buys = strncmp(line, "ask ", 4) == 0, confirms = strncmp(line, "confirm ", 8) == 0;
    bool cancels = strncmp(line, "cancel ", 7) == 0;
    long status = strtol(member(line, "status", buf), NULL, 10);
    if (!(buys && status == 201) && !((confirms || cancels) && status == 200))
        return false;
    snprintf(told.request, sizeof(told.request), "%s", member(line, "request", buf));
    const order *row = bsearch(&told, table->all, table->count, sizeof(*table->all), by_request);
    if (!row)
        fail_msg("not in the table: %s", line);
    bool same = strcmp(member(line, "order", buf), row->id) == 0;
    if (buys)
        same = same && strcmp(member(line, "user", buf), row->user) == 0 &&
               strtoll(member(line, "quantity", buf), NULL, 10) == row->quantity;
    else
        same = same && strcmp(row->state, confirms ? "sold" : "cancelled") == 0;
    if (!same)
        fail_msg("the table has %s, user %s, quantity %lld, %s; told was: %s", row->id, row->user,
                 row->quantity, row->state, line);
    return true;
}

static int hold_history_to_table(const char *path, const orders *table)
{
    char line[1024];
    int held = 0;
    FILE *history = fopen(path, "r");
    assert_non_null(history);
    while (fgets(line, sizeof(line), history))
        held += hold_to_table(line, table);
    fclose(history);
    return held;
}

static void hold_ledger_to_table(const orders *ledger, const orders *table)
{
    for (size_t i = 0; i < ledger->count && i < table->count; i++) {
        const order *a = &ledger->all[i], *b = &table->all[i];
        if (strcmp(a->request, b->request) != 0 || strcmp(a->user, b->user) != 0 ||
            strcmp(a->state, b->state) != 0 || a->number != b->number ||
            a->quantity != b->quantity || a->segment != b->segment)
            fail_msg("Redis has %s: %d/%lld of %s, %lld, %s; the table %s: %d/%lld of %s, %lld, %s",
                     a->request, a->segment, a->number, a->user, a->quantity, a->state, b->request,
                     b->segment, b->number, b->user, b->quantity, b->state);
    }
    assert_int_equal(table->count, ledger->count);
}

/* ---- at the end ------------------------------------------------------------------------------ */

static bool nothing_is_reserved(void *sale)
{
    return fx_sale_look_at_stock(sale, 0) == 0;
}

/* Rows that were not written right behind the one with the number before. */
#define OUT_OF_ORDER(table, number, written)                                                       \
    "SELECT count(*) FROM (SELECT " number " AS n, lag(" number ") OVER (PARTITION BY item, sale," \
    " segment ORDER BY " written ") AS before FROM " table ") AS x"                                \
    " WHERE n <> COALESCE(before, 0) + 1"

/* SQLite numbers rows as they come; in PostgreSQL it is the transaction that tells. */
static void expect_written_in_order(void)
{
    const bool in_file = strncmp(url, "sqlite:", 7) == 0;
    const char *orders_sql = in_file ? OUT_OF_ORDER("flashsale_orders", "number", "rowid")
                                     : OUT_OF_ORDER("flashsale_orders", "number",
                                                    "CAST(CAST(xmin AS text) AS bigint), number");
    const char *moves_sql = in_file ? OUT_OF_ORDER("flashsale_moves", "place", "rowid")
                                    : OUT_OF_ORDER("flashsale_moves", "place",
                                                   "CAST(CAST(xmin AS text) AS bigint), place");
    assert_int_equal(ask_number(db, orders_sql), 0);
    assert_int_equal(ask_number(db, moves_sql), 0);
}

static void expect_all_copied_once(void)
{
    size_t copied = 0;
    int told = 0;
    crew_end();
    assert_true(fx_wait_until(nothing_is_reserved, crew_sale(0), WAIT_MS));
    fx_process_free(follower);
    follower = NULL;
    stop_sampler();
    run_orders("follow", "--once", "");
    run_orders("check", NULL, " 0 differences");
    for (int i = 0; i < SALES; i++) {
        char path[400];
        orders table = {.count = 0}, ledger = {.count = 0};
        read_table(crew_sale(i), &table);
        read_ledger(crew_sale(i), &ledger);
        hold_ledger_to_table(&ledger, &table);
        told += hold_history_to_table(history_of(i, path), &table);
        copied += table.count;
        free(table.all);
        free(ledger.all);
    }
    expect_written_in_order();
    print_message("%zu orders and %lld moves copied, %d answers held to them; %d looks, %d with a "
                  "gap; %lld marked as lost\n",
                  copied, ask_number(db, "SELECT count(*) FROM flashsale_moves"), told,
                  sampler.looks, sampler.gaps,
                  ask_number(db, "SELECT count(*) FROM flashsale_orders WHERE lost_us > 0"));
    assert_int_equal(orders_copied(), copied);
    assert_true(sampler.looks > 0);
    assert_int_equal(sampler.gaps, 0);
    assert_int_equal(atomic_load(&crew.other), 0);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void begin(const char *redis, const char *durability, bool in_file)
{
    char err[256];
    seed = (uint64_t)figure("SEED", 2026);
    if (in_file && !database_sqlite)
        fx_skip("this build has no SQLite");
    if (!in_file && !database_postgres)
        fx_skip("this build has no PostgreSQL");
    fx_dir_make(dir, sizeof(dir));
    if (!in_file)
        postgres = fx_postgres_start(NULL);
    snprintf(url, sizeof(url), "%s", in_file ? "" : fx_postgres_url(postgres));
    if (in_file)
        snprintf(url, sizeof(url), "sqlite:%s/orders.db", dir);
    db = database_new(url, true, err, sizeof(err));
    assert_non_null(db);
    start_service(redis);
    let_buyers_in(durability);
    follower = start_orders("follow", NULL);
    start_sampler();
}

static int end(void **state)
{
    stop_sampler();
    fx_process_free(follower);
    follower = NULL;
    crew_close();
    database_free(db);
    db = NULL;
    for (int i = 0; i < FX_INSTANCES; i++) {
        fx_server_kill(again[i]);
        again[i] = NULL;
    }
    fx_service_stop(state);
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    fx_postgres_stop(postgres);
    postgres = NULL;
    if (dir[0] != '\0')
        fx_dir_remove(dir);
    dir[0] = '\0';
    return 0;
}

/* At a random moment behind its start, or, each other time, behind a page that it has written. */
static void kill_followers(int kills)
{
    for (int i = 0; i < kills; i++) {
        if (i % 2)
            wait_for_more();
        fx_let_pass(drawn(SOON_MS));
        kill_follower();
    }
    wait_for_more();
}

static void the_follower_is_killed_over_sqlite(void **state)
{
    (void)state;
    begin("single", "memory", true);
    kill_followers(figure("KILLS", 10));
    expect_all_copied_once();
}

static void the_follower_and_postgres_are_killed(void **state)
{
    (void)state;
    int kills = figure("PG_KILLS", 2);
    begin("single", "memory", false);
    kill_followers(figure("KILLS", 10));
    for (int i = 0; i < kills; i++) {
        fx_let_pass(drawn(SOON_MS));
        fx_postgres_kill(postgres);
        fx_let_pass(drawn(AWAY_MS));
        fx_postgres_restart(postgres);
        wait_for_more();
    }
    expect_all_copied_once();
}

static void sell_on(void)
{
    assert_true(crew_more(&crew.bought, SOME, WAIT_MS));
    wait_for_more();
}

static void fail_over(void)
{
    fx_topology *topology = fx_redis_topology(fx.redis);
    int primary = fx_topology_primary(topology, NULL);
    fx_topology_kill(topology, primary);
    fx_topology_next_primary(topology, NULL, primary, WAIT_MS);
    sell_on();
    fx_topology_restart(topology, primary);
    fx_topology_settle(topology, WAIT_MS);
}

static void instances_and_primaries_are_killed(void **state)
{
    (void)state;
    int failovers = figure("FAILOVERS", 1);
    begin("sentinel", "replicated", !fx_postgres_installed() || !database_postgres);
    for (int i = 0; i < failovers; i++) {
        fail_over();
        for (int at = 0; at < FX_INSTANCES; at++) {
            kill_instance(at);
            sell_on();
            again[at] = start_instance(fx_server_port(fx.server[at]));
            sell_on();
        }
        kill_follower();
    }
    sell_on();
    expect_all_copied_once();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_follower_is_killed_over_sqlite, end),
        cmocka_unit_test_teardown(the_follower_and_postgres_are_killed, end),
        cmocka_unit_test_teardown(instances_and_primaries_are_killed, end),
    };
    setenv("FX_FAILOVER", "yes", 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
