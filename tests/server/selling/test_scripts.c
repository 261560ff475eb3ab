/*
 * test_scripts.c - what the selling scripts do with keys that are not what they should be, and with
 * commands that they may not call.
 *
 * Every strategy buys while one key has another type or is no number, for each key and each such
 * fault; and while one command is forbidden, for each command that the service is granted. Then the
 * key is mended, or the command allowed again. In between no order may come to be without its stock
 * and its entry in the ledger, no answer may say what the books do not, and afterwards the sale
 * must go on.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/selling/sell.h"
#include "server/selling/strategy.h"
#include "server/strategies/registry.h"
#include "tests/server/ledger.h"
#include "tests/server/nodes.h"
#include "tests/server/selling/odd_keys.h"
#include "tests/support/service.h"

enum { UNITS = 1000000, REQUESTS_MAX = 65536, SEGMENTS = 2, HEAL_MS = 10000 };

static fs_store store; /* as the service's user */

/* ---- one sale -------------------------------------------------------------------------------- */

static struct {
    open_sale sale;
    void *state; /* of the strategy */
    const fs_strategy *strategy;
    purchase_outcome outcomes[REQUESTS_MAX]; /* of request r0, r1, ... */
    int requests;
} shop;

static void open_shop(const fs_strategy *strategy)
{
    char err[256];
    static int count;
    memset(&shop, 0, sizeof(shop));
    shop.strategy = strategy;
    sale_terms terms = {.initial = UNITS,
                        .per_user_limit = strategy->sharded ? 0 : 1, /* the least that is one */
                        .lease_ms = 300,
                        .wait_ms = 60,
                        .segments = strategy->sharded ? SEGMENTS : 0};
    snprintf(terms.item, sizeof(terms.item), "S%d", ++count);
    snprintf(terms.id, sizeof(terms.id), "0000000000000%d", count % 10);
    snprintf(terms.strategy, sizeof(terms.strategy), "%s", strategy->name);
    assert_true(sale_open(&shop.sale, &terms, strategy, &store));
    for (int k = 0; k < shop.sale.key_sets; k++) {
        fx_redis_do(fx.redis, "SET %s %s", shop.sale.keys[k].current, terms.id);
        fx_redis_do(fx.redis, "SET %s %lld", shop.sale.keys[k].stock, terms_units(&terms, k));
        fx_redis_do(fx.redis, "SET %s 0", shop.sale.keys[k].sold);
        ledger_make(&shop.sale.keys[k], &shop.sale.known[k]);
    }
    if (strategy->open && strategy->open(&shop.sale, &shop.state, err, sizeof(err)) != 0)
        fail_msg("%s: %s", strategy->name, err);
}

static void close_shop(void)
{
    if (shop.strategy->close)
        shop.strategy->close(shop.state);
    sale_close(&shop.sale);
}

/* One unit for user u<i>, request r<i>. */
static purchase_outcome buy_as(int i)
{
    purchase_result result;
    purchase request = {.quantity = 1, .keyed = true, .deadline = dlock_in_ms(3000)};
    snprintf(request.request, sizeof(request.request), "r%d", i);
    snprintf(request.user, sizeof(request.user), "u%d", i);
    request.not_after_us = node_redis_us(sale_node(&shop.sale, 0), request.deadline);
    shop.strategy->buy(&shop.sale, shop.state, &request, &result);
    return result.outcome;
}

/* Likewise for a user of its own. */
static purchase_outcome buy(void)
{
    assert_in_range(shop.requests, 0, REQUESTS_MAX - 1);
    int i = shop.requests++;
    return shop.outcomes[i] = buy_as(i);
}

static bool sells(void *arg)
{
    (void)arg;
    return buy() == BUY_SOLD;
}

/* ---- the books ------------------------------------------------------------------------------- */

static char context[256]; /* what was done to the sale */

static redisReply *look(const char *command, const char *key)
{
    redisReply *reply = fx_redis_reply(fx.redis, command, key);
    assert_non_null(reply);
    return reply;
}

/* The place of the request in the ledger and its record agree. The units of the order. */
static long long check_order(const sale_keys *keys, long long place, const char *request)
{
    char record[256] = "";
    fs_order order;
    if (!fx_redis_text(fx.redis, record, sizeof(record), "HGET %s %s", keys->orders, request) ||
        !order_read(record, strlen(record), &order) || order.number != place)
        fail_msg("%s: %s is number %lld of the ledger, its record is '%s'", context, request, place,
                 record);
    return order.quantity;
}

static long long sum_of_users(const sale_keys *keys)
{
    long long sum = 0;
    redisReply *users = look("HVALS %s", keys->users);
    for (size_t i = 0; i < users->elements; i++)
        sum += strtoll(users->element[i]->str, NULL, 10);
    freeReplyObject(users);
    return sum;
}

/* How many orders there are under these keys; all numbers agree. */
static long long check_books(const sale_keys *keys)
{
    long long units = terms_units(&shop.sale.terms, keys->segment), ordered = 0;
    redisReply *ledger = look("LRANGE %s 0 -1", keys->ledger);
    long long orders = (long long)ledger->elements;
    for (long long i = 0; i < orders; i++)
        ordered += check_order(keys, i + 1, ledger->element[i]->str);
    freeReplyObject(ledger);
    long long stock = fx_redis_number(fx.redis, "GET %s", keys->stock);
    long long sold = fx_redis_number(fx.redis, "GET %s", keys->sold);
    long long records = fx_redis_number(fx.redis, "HLEN %s", keys->orders);
    if (sold != ordered || records != orders)
        fail_msg("%s: %lld units in the ledger, sold %lld; %lld orders, %lld records", context,
                 ordered, sold, orders, records);
    if (stock + sold > units || (shop.strategy->guarded && stock + sold != units))
        fail_msg("%s: stock %lld and sold %lld of %lld", context, stock, sold, units);
    if (shop.sale.terms.per_user_limit > 0 && sum_of_users(keys) != sold)
        fail_msg("%s: the users have %lld of %lld", context, sum_of_users(keys), sold);
    return orders;
}

/* Whoever was told "sold" has an order, and whoever was refused has none. */
static void check_answers(int from)
{
    for (int i = from; i < shop.requests; i++) {
        long long has = 0;
        purchase_outcome outcome = shop.outcomes[i];
        for (int k = 0; k < shop.sale.key_sets; k++)
            has += fx_redis_number(fx.redis, "HEXISTS %s r%d", shop.sale.keys[k].orders, i);
        if (has > 1 || (outcome != BUY_UNKNOWN && has != (outcome == BUY_SOLD)))
            fail_msg("%s: r%d was told %s and has %lld orders", context, i,
                     outcome_table[outcome].name, has);
    }
}

static void check_all(int from)
{
    for (int k = 0; k < shop.sale.key_sets; k++)
        check_books(&shop.sale.keys[k]);
    check_answers(from);
}

static void check_healed(void)
{
    int from = shop.requests;
    if (!fx_wait_until(sells, NULL, HEAL_MS))
        fail_msg("%s: the sale does not go on: %s", context,
                 outcome_table[shop.outcomes[shop.requests - 1]].name);
    check_all(from);
}

/* Units that were taken from the stock and that no order has. */
static long long unordered(void)
{
    long long units = 0;
    for (int k = 0; k < shop.sale.key_sets; k++)
        units += terms_units(&shop.sale.terms, k) -
                 fx_redis_number(fx.redis, "GET %s", shop.sale.keys[k].stock) -
                 fx_redis_number(fx.redis, "GET %s", shop.sale.keys[k].sold);
    return units;
}

/* Whoever was refused has taken nothing. */
static void check_stock(int from)
{
    for (int i = from; i < shop.requests; i++)
        if (shop.outcomes[i] == BUY_UNKNOWN)
            return;
    if (unordered() != 0)
        fail_msg("%s: r%d was told %s, and the stock has %lld units too few", context, from,
                 outcome_table[shop.outcomes[from]].name, unordered());
}

/* ---- keys that are not what they should be --------------------------------------------------- */

/* The key is put aside. All segments are met: requests start in different ones. */
static void buy_meanwhile(const char *key, const char *what, purchase_outcome expected)
{
    int from = shop.requests, met = 0;
    snprintf(context, sizeof(context), "%s, %s %s", shop.strategy->name, key, what);
    for (int i = 0; i < (shop.strategy->sharded ? 8 : 1); i++)
        met += buy() == expected;
    put_back(key);
    check_all(from);
    check_stock(from);
    if (expected != BUY_OUTCOMES && met == 0)
        fail_msg("%s: told %s", context, outcome_table[shop.outcomes[from]].name);
    check_healed();
}

static void try_types(const char *key, const char *type, purchase_outcome expected)
{
    for (size_t i = 0; i < COUNT(types); i++) {
        if (strcmp(types[i].type, type) == 0)
            continue;
        put_aside(key);
        if (types[i].make)
            freeReplyObject(look(types[i].make, key));
        buy_meanwhile(key, types[i].type, expected);
    }
}

static void try_values(const char *key, purchase_outcome expected)
{
    for (size_t i = 0; i < COUNT(values); i++) {
        char what[64];
        snprintf(what, sizeof(what), "'%s'", values[i]);
        put_aside(key);
        freeReplyObject(fx_redis_reply(fx.redis, "SET %s %s", key, values[i]));
        buy_meanwhile(key, what, expected);
    }
}

/* Opens a sale in which every segment has an order. */
static const sale_keys *open_sold_shop(const fs_strategy *strategy)
{
    open_shop(strategy);
    snprintf(context, sizeof(context), "%s", strategy->name);
    for (int i = 0; i < 8 * shop.sale.key_sets; i++)
        check_healed();
    return &shop.sale.keys[shop.sale.key_sets - 1];
}

static void no_key_of_a_sale_misleads_a_strategy(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        const sale_keys *keys = open_sold_shop(*s);
        try_types(keys->current, "string", BUY_DAMAGED);
        try_values(keys->current, BUY_DAMAGED);
        try_types(keys->stock, "string", BUY_DAMAGED);
        try_values(keys->stock, BUY_DAMAGED);
        try_types(keys->sold, "string", BUY_DAMAGED);
        try_values(keys->sold, BUY_DAMAGED);
        put_aside(keys->sold);
        fx_redis_do(fx.redis, "SET %s 999999999999999", keys->sold); /* INCRBY would make it none */
        buy_meanwhile(keys->sold, "is as large as it may be", BUY_DAMAGED);
        try_types(keys->epochs, "string", BUY_DAMAGED);
        try_values(keys->epochs, BUY_DAMAGED);
        put_aside(keys->epochs);
        freeReplyObject(
            fx_redis_reply(fx.redis, "SET %s %s", keys->epochs, "ba9876543210 9 " LEDGER_EPOCHS));
        buy_meanwhile(keys->epochs, "begins with another epoch", BUY_CLOSED);
        try_types(keys->orders, "hash", BUY_DAMAGED);
        try_types(keys->ledger, "list", BUY_DAMAGED);
        if (!(*s)->sharded)
            try_types(keys->users, "hash", BUY_DAMAGED);
        close_shop();
    }
}

/* The units of the next user are no number; nor is the order of an earlier request one. */
static void no_field_of_a_sale_misleads_a_strategy(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        const sale_keys *keys = open_sold_shop(*s);
        for (size_t i = 0; i < COUNT(values); i++) {
            char record[256];
            int from = shop.requests;
            snprintf(context, sizeof(context), "%s, '%s'", (*s)->name, values[i]);
            if (!(*s)->sharded) {
                freeReplyObject(
                    fx_redis_reply(fx.redis, "HSET %s u%d %s", keys->users, from, values[i]));
                assert_int_equal(buy(), BUY_DAMAGED);
                fx_redis_do(fx.redis, "HDEL %s u%d", keys->users, from);
            }
            int had = 0;
            while (
                !fx_redis_text(fx.redis, record, sizeof(record), "HGET %s r%d", keys->orders, had))
                had++;
            freeReplyObject(
                fx_redis_reply(fx.redis, "HSET %s r%d %s", keys->orders, had, values[i]));
            assert_int_equal(buy_as(had), BUY_DAMAGED);
            fx_redis_do(fx.redis, "HSET %s r%d %s", keys->orders, had, record);
            assert_int_equal(buy_as(had), BUY_SOLD);
            check_all(from);
            check_healed();
        }
        close_shop();
    }
}

/* Somebody has seen an order that the ledger does not have any more: then nothing is sold, and all
 * that was sold stays. */
static void a_ledger_that_is_too_short_sells_nothing(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        open_sold_shop(*s);
        snprintf(context, sizeof(context), "%s, too short a ledger", (*s)->name);
        int from = shop.requests;
        for (int k = 0; k < shop.sale.key_sets; k++)
            ledger_know(&shop.sale.known[k], UNITS);
        assert_int_equal(buy(), BUY_ROLLED_BACK);
        check_all(from);
        check_stock(from);
        for (int k = 0; k < shop.sale.key_sets; k++)
            ledger_know(&shop.sale.known[k], 0);
        check_healed();
        close_shop();
    }
}

/* What stands at a lock's keys can cost buyers time, but no sale its books. */
static void no_key_of_a_lock_misleads_a_strategy(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        if (!(*s)->locked)
            continue;
        const sale_keys *keys = open_sold_shop(*s);
        static const char *const parts[] = {"lock", "fence", "queue", "beats"};
        for (size_t i = 0; i < COUNT(parts); i++) {
            char key[KEY_MAX + 8];
            snprintf(key, sizeof(key), "%s:%s", keys->base, parts[i]);
            try_types(key, "", BUY_OUTCOMES);
            if (strcmp(parts[i], "fence") == 0)
                try_values(key, BUY_OUTCOMES);
        }
        close_shop();
    }
}

/* ---- commands that are forbidden ------------------------------------------------------------- */

static char granted[2048]; /* the line of the service in docker/users.acl */

static void read_granted(void)
{
    FILE *file = fopen("docker/users.acl", "r");
    assert_non_null(file);
    while (fgets(granted, sizeof(granted), file) && !strstr(granted, "user flashsale "))
        ;
    fclose(file);
    assert_non_null(strstr(granted, "+evalsha"));
}

static void no_right_that_is_missing_misleads_a_strategy(void **state)
{
    (void)state;
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        open_sold_shop(*s);
        char words[sizeof(granted)], *rest = NULL;
        memcpy(words, granted, sizeof(words));
        for (char *word = strtok_r(words, " \n", &rest); word;
             word = strtok_r(NULL, " \n", &rest)) {
            if (*word != '+')
                continue;
            int from = shop.requests;
            snprintf(context, sizeof(context), "%s without %s", (*s)->name, word + 1);
            fx_redis_do(fx.redis, "ACL SETUSER service -%s", word + 1);
            for (int i = 0; i < shop.sale.key_sets; i++)
                buy();
            fx_redis_do(fx.redis, "ACL SETUSER service +%s", word + 1);
            check_all(from);
            check_stock(from);
            check_healed();
        }
        close_shop();
    }
}

/* Nothing is written any more, but what was sold can be read. */
static void who_has_an_order_is_told_whatever_is_forbidden(void **state)
{
    (void)state;
    static const char *const writing[] = {"hset", "incrby", "decrby", "rpush", "mget",
                                          "llen", "hlen",   "time",   "set"};
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        if ((*s)->locked || (*s)->sharded)
            continue;
        open_sold_shop(*s);
        for (size_t i = 0; i < COUNT(writing); i++) {
            fx_redis_do(fx.redis, "ACL SETUSER service -%s", writing[i]);
            purchase_outcome again = buy_as(0);
            fx_redis_do(fx.redis, "ACL SETUSER service +%s", writing[i]);
            if (again != BUY_SOLD)
                fail_msg("%s without %s: %s", (*s)->name, writing[i], outcome_table[again].name);
        }
        close_shop();
    }
}

/* ---- many buyers in one call ----------------------------------------------------------------- */

static void ask_for(int i, purchase *ret)
{
    memset(ret, 0, sizeof(*ret));
    ret->quantity = 1;
    ret->keyed = true;
    ret->deadline = dlock_in_ms(3000);
    ret->not_after_us = node_redis_us(sale_node(&shop.sale, 0), ret->deadline);
    snprintf(ret->request, sizeof(ret->request), "r%d", i);
    snprintf(ret->user, sizeof(ret->user), "u%d", i);
}

/* Sells to a user who has an order, to one with damaged units, and to another. */
static void sell_to_three(purchase_result results[3])
{
    purchase asked[3];
    sell_buyer buyers[3];
    int who[3] = {0, shop.requests, shop.requests + 1};
    shop.requests += 2;
    for (int i = 0; i < 3; i++) {
        ask_for(who[i], &asked[i]);
        buyers[i] = (sell_buyer){&asked[i], &results[i]};
    }
    sell(&shop.sale, shop.sale.keys, (sell_lock){.hold = NULL}, buyers, 3, asked[0].deadline);
    shop.outcomes[who[1]] = results[1].outcome;
    shop.outcomes[who[2]] = results[2].outcome;
}

static void what_one_buyer_has_stops_no_other(void **state)
{
    (void)state;
    purchase_result results[3];
    const sale_keys *keys = open_sold_shop(strategy_find("atomic"));
    int from = shop.requests;
    fx_redis_do(fx.redis, "HSET %s u%d 9e1", keys->users, from);
    sell_to_three(results);
    assert_int_equal(results[0].outcome, BUY_SOLD);
    assert_true(results[0].replayed);
    assert_int_equal(results[1].outcome, BUY_DAMAGED);
    assert_int_equal(results[2].outcome, BUY_SOLD);
    char units[16];
    assert_true(fx_redis_text(fx.redis, units, sizeof(units), "HGET %s u%d", keys->users, from));
    assert_string_equal(units, "9e1");
    fx_redis_do(fx.redis, "HDEL %s u%d", keys->users, from);
    check_all(from);

    from = shop.requests;
    fx_redis_do(fx.redis, "ACL SETUSER service -decrby");
    sell_to_three(results);
    fx_redis_do(fx.redis, "ACL SETUSER service +decrby");
    assert_int_equal(results[0].outcome, BUY_SOLD);
    assert_true(results[0].replayed);
    assert_int_equal(results[1].outcome, BUY_UNAVAILABLE);
    assert_string_equal(results[1].redis, "NOPERM");
    assert_int_equal(results[2].outcome, BUY_UNAVAILABLE);
    check_all(from);
    check_stock(from);
    close_shop();
}

/* ---- a server that refuses to write ---------------------------------------------------------- */

static bool save_has_failed(void *arg)
{
    (void)arg;
    redisReply *info = look("INFO %s", "persistence");
    bool failed = strstr(info->str, "rdb_last_bgsave_status:err");
    freeReplyObject(info);
    return failed;
}

/* One save fails: its directory is gone. That is put up with at first. */
static void fail_to_save(void)
{
    char dir[] = "/tmp/flashsale.XXXXXX";
    assert_non_null(mkdtemp(dir));
    fx_redis_do(fx.redis, "CONFIG SET stop-writes-on-bgsave-error no");
    fx_redis_do(fx.redis, "CONFIG SET dir %s", dir);
    assert_int_equal(rmdir(dir), 0);
    freeReplyObject(look("CONFIG SET save %s", "3600 1000000"));
    freeReplyObject(look("BGSAVE%s", ""));
    assert_true(fx_wait_until(save_has_failed, NULL, HEAL_MS));
}

static const struct {
    const char *begins, *ends;
} refusing[] = {
    {"CONFIG SET stop-writes-on-bgsave-error yes", "CONFIG SET stop-writes-on-bgsave-error no"},
    {"CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
    {"REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
    {"CONFIG SET min-replicas-to-write 9", "CONFIG SET min-replicas-to-write 0"},
    {"ACL SETUSER service resetkeys %%R~*", "ACL SETUSER service resetkeys ~*"},
};

static void redis_do(const char *command)
{
    redisReply *reply = fx_redis_reply(fx.redis, command);
    assert_non_null(reply);
    assert_int_not_equal(reply->type, REDIS_REPLY_ERROR);
    freeReplyObject(reply);
}

static void nothing_is_written_half_where_writes_are_refused(void **state)
{
    (void)state;
    fail_to_save();
    for (const fs_strategy *const *s = strategy_list(); *s; s++) {
        open_sold_shop(*s);
        for (size_t i = 0; i < COUNT(refusing); i++) {
            if (strstr(refusing[i].begins, "REPLICAOF") && !fx_is_single())
                continue; /* who is the primary is the topology's affair */
            int from = shop.requests;
            snprintf(context, sizeof(context), "%s after %s", (*s)->name, refusing[i].begins);
            redis_do(refusing[i].begins);
            purchase_outcome outcome = buy();
            redis_do(refusing[i].ends);
            nodes_admit_again(&store);
            if (outcome == BUY_SOLD || outcome == BUY_UNKNOWN || outcome == BUY_SOLD_OUT)
                fail_msg("%s: %s", context, outcome_table[outcome].name);
            check_all(from);
            check_stock(from);
            check_healed();
        }
        close_shop();
    }
}

static int setup(void **state)
{
    char url[512], err[256];
    fx.plan.redis_args = FX_ARGS("--enable-protected-configs", "yes"); /* the directory's */
    fx_service_start(state);
    read_granted();
    fx_redis_do(fx.redis, "ACL SETUSER service on >secret ~* &* +@all");
    fx_redis_url_as(fx.redis, "service:secret", url, sizeof(url));
    assert_int_equal(store_open(&store, url, NULL, "i", err, sizeof(err)), 0);
    nodes_make_well(&store);
    return 0;
}

static int teardown(void **state)
{
    store_close(&store);
    return fx_service_stop(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_key_of_a_sale_misleads_a_strategy),
        cmocka_unit_test(no_field_of_a_sale_misleads_a_strategy),
        cmocka_unit_test(a_ledger_that_is_too_short_sells_nothing),
        cmocka_unit_test(no_key_of_a_lock_misleads_a_strategy),
        cmocka_unit_test(no_right_that_is_missing_misleads_a_strategy),
        cmocka_unit_test(who_has_an_order_is_told_whatever_is_forbidden),
        cmocka_unit_test(what_one_buyer_has_stops_no_other),
        cmocka_unit_test(nothing_is_written_half_where_writes_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
