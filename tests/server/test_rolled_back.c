/*
 * test_rolled_back.c - a Redis that has forgotten, in the middle of a sale: emptied, without the
 * pointer to the sale, evicted, restarted empty, and a second older after a power loss. What was
 * acknowledged never exceeds the stock, all instances say so, one that is restarted starts no
 * second sale, and the admin gets out of it in so many words.
 *
 * All strategies with one script that decides and writes sell at once, each an item of its own.
 * The buyers ask two of the instances; the third is the one that is restarted.
 */
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/service.h"

enum { STOCK = 100, BEFORE = 20, SHOPS_MAX = 8, BUYERS = 2, WAIT_MS = 90000 };

/* One strategy's item, and those who buy it. */
typedef struct shop {
    char item[32], strategy[32];
    char first[64]; /* the first request that was sold */
    atomic_int bought, asked;
    char last[BUYERS][64]; /* the last of each buyer; to be read when it has ended */
} shop;

typedef struct buyer {
    shop *shop;
    int number;
    pthread_t thread;
} buyer;

static shop shops[SHOPS_MAX];
static int shop_count;
static buyer buyers[SHOPS_MAX * BUYERS];
static atomic_bool stop;
static atomic_int
    enough; /* of each item, until it is raised: a fast strategy sells out otherwise */

/* ---- selling --------------------------------------------------------------------------------- */

static bool may_buy(void *arg)
{
    const shop *each = arg;
    return atomic_load(&stop) || atomic_load(&each->bought) < atomic_load(&enough);
}

static void *buy_on_and_on(void *arg)
{
    buyer *me = arg;
    for (int i = 0; fx_wait_until(may_buy, me->shop, WAIT_MS) && !atomic_load(&stop); i++) {
        char request[64];
        int number = atomic_fetch_add(&me->shop->asked, 1);
        snprintf(request, sizeof(request), "%s-%d", me->shop->item, number);
        if (fx_status(fx.server[(i + me->number) % 2], "POST /buy?item=%s&user=u%d&request=%s",
                      me->shop->item, number, request) != 201) {
            fx_let_pass(5); /* it may be closed for a while */
            continue;
        }
        if (atomic_fetch_add(&me->shop->bought, 1) == 0)
            memcpy(me->shop->first, request, sizeof(request));
        memcpy(me->shop->last[me->number], request, sizeof(request));
    }
    return NULL;
}

/* An instance that has just seen Redis restarted may still compare it and answer 503. */
static bool is_known_to_all(void *item)
{
    for (int at = 1; at < FX_INSTANCES; at++)
        if (fx_status(fx.server[at], "GET /stock?item=%s", (char *)item) != 200)
            return false;
    return true;
}

/* A sale of every strategy that is to oversell nothing. `name` is of the case. */
static void open_shops(const char *name)
{
    shop_count = 0;
    atomic_store(&stop, false);
    atomic_store(&enough, 0);
    memset(shops, 0, sizeof(shops));
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        if (!s->guarded)
            continue;
        assert_true(shop_count < SHOPS_MAX);
        shop *each = &shops[shop_count++];
        snprintf(each->item, sizeof(each->item), "%s-%s", name, s->name);
        snprintf(each->strategy, sizeof(each->strategy), "%s", s->name);
        fx_start_sale(fx.server[0], each->item, "'stock':%d,'strategy':'%s'", STOCK, s->name);
        assert_true(fx_wait_until(is_known_to_all, each->item, WAIT_MS));
    }
    assert_true(shop_count >= 5);
    for (int i = 0; i < shop_count * BUYERS; i++) {
        buyers[i] = (buyer){.shop = &shops[i / BUYERS], .number = i % BUYERS};
        assert_int_equal(pthread_create(&buyers[i].thread, NULL, buy_on_and_on, &buyers[i]), 0);
    }
}

static void end_buyers(void)
{
    atomic_store(&stop, true);
    for (int i = 0; i < shop_count * BUYERS; i++)
        pthread_join(buyers[i].thread, NULL);
}

static bool have_sold(void *count)
{
    for (int i = 0; i < shop_count; i++)
        if (atomic_load(&shops[i].bought) < *(int *)count)
            return false;
    return true;
}

/* Of each item so many are sold, and hardly more until `enough` is raised. */
static void wait_until_sold(int count)
{
    atomic_store(&enough, count);
    if (fx_wait_until(have_sold, &count, WAIT_MS))
        return;
    end_buyers();
    for (int i = 0; i < shop_count; i++) {
        fx_reply reply;
        int status = fx_ask(fx.server[i % 2], &reply, "POST /buy?item=%s&user=late", shops[i].item);
        print_message("%s: %d sold, now %d %s\n", shops[i].strategy, atomic_load(&shops[i].bought),
                      status, reply.body);
        fx_reply_free(&reply);
    }
    fail_msg("not %d of each sold", count);
}

/* ---- what is answered ------------------------------------------------------------------------ */

/* Asks for one more, and counts it. */
static int buy_once(fx_server *server, shop *each, fx_reply *reply)
{
    int status = fx_ask(server, reply, "POST /buy?item=%s&user=late", each->item);
    if (status == 201)
        atomic_fetch_add(&each->bought, 1);
    return status;
}

static const char *const *codes; /* that are looked for, ending with NULL */

static bool says(const fx_reply *reply)
{
    for (const char *const *code = codes; *code; code++)
        if (strstr(reply->body, *code))
            return true;
    return false;
}

static bool all_refuse(void *arg)
{
    (void)arg;
    bool all = true;
    for (int i = 0; all && i < shop_count * FX_INSTANCES; i++) {
        fx_reply reply;
        int status = buy_once(fx.server[i % FX_INSTANCES], &shops[i / FX_INSTANCES], &reply);
        all = status == 503 && says(&reply);
        fx_reply_free(&reply);
    }
    return all;
}

#define HALTED  ((const char *const[]){"\"sale_rolled_back\"", NULL})
#define REFUSED ((const char *const[]){"\"sale_rolled_back\"", "\"sale_damaged\"", NULL})

/* Nobody sells any of the items, and all say so by one of these codes. */
static void wait_until_all_refuse(const char *const *with)
{
    codes = with;
    if (fx_wait_until(all_refuse, NULL, WAIT_MS))
        return;
    for (int i = 0; i < shop_count * FX_INSTANCES; i++) {
        fx_reply reply;
        buy_once(fx.server[i % FX_INSTANCES], &shops[i / FX_INSTANCES], &reply);
        print_message("%d %s: %s\n", i % FX_INSTANCES, shops[i / FX_INSTANCES].strategy,
                      reply.body);
        fx_reply_free(&reply);
    }
    fail_msg("not all of them refuse");
}

static void nobody_was_sold_too_much(const char *when)
{
    for (int i = 0; i < shop_count; i++)
        if (atomic_load(&shops[i].bought) > STOCK)
            fail_msg("%s: %d sold of %d, %s", shops[i].strategy, atomic_load(&shops[i].bought),
                     STOCK, when);
}

/* The third instance is started again for each of the items in turn, and asked for all there ever
 * were. */
static void a_restart_starts_no_second_sale(void)
{
    for (int i = 0; i < shop_count; i++) {
        fx_reply reply;
        int status = 201;
        fx_server_kill(fx.server[2]);
        fx.server[2] = fx_server_start(fx_redis_url(fx.redis),
                                       FX_ARGS("--allow-eviction", "yes", "--item", shops[i].item,
                                               "--stock", "100", "--strategy", shops[i].strategy));
        for (int k = 0; k < STOCK && status == 201; k++) {
            status = buy_once(fx.server[2], &shops[i], &reply);
            fx_reply_free(&reply);
        }
    }
    nobody_was_sold_too_much("after a restart");
}

/* ---- forgetting ------------------------------------------------------------------------------ */

static void empty_it(void)
{
    fx_redis_do(fx.redis, "FLUSHALL");
}

static void lose_the_pointers(void)
{
    for (int i = 0; i < shop_count; i++)
        assert_int_equal(fx_redis_number(fx.redis, "DEL fs:{%s}:sale", shops[i].item), 1);
}

/* What Redis writes as it goes; *len is its length now. */
static void find_log(char *path, size_t path_len, long *len)
{
    struct stat stat_now;
    snprintf(path, path_len, "%s/appendonlydir/appendonly.aof.1.incr.aof", fx_redis_dir(fx.redis));
    assert_int_equal(stat(path, &stat_now), 0);
    *len = (long)stat_now.st_size;
}

/* As after a power loss: what was written last had not reached the disk. */
static void restart_as_of(long len)
{
    char path[512];
    long all;
    fx_redis_kill(fx.redis);
    find_log(path, sizeof(path), &all);
    assert_true(len < all);
    assert_int_equal(truncate(path, len), 0);
    fx_redis_restart(fx.redis);
}

/* Another run of Redis is written to once everybody had the time to object. */
static bool is_admitted(void *arg)
{
    (void)arg;
    bool all = true;
    for (int at = 0; at < FX_INSTANCES; at++) {
        fx_reply reply;
        fx_ask(fx.server[at], &reply, "GET /readyz");
        all = all && !strstr(reply.body, "server_changed") &&
              !strstr(reply.body, "store_unavailable");
        fx_reply_free(&reply);
    }
    return all;
}

static void tells(const char *body, const char *part)
{
    if (!strstr(body, part))
        fail_msg("expected %s in %s", part, body);
}

/* How many orders are lost, as a buyer is told; and the sale. */
static int read_halt(const shop *each, char sale[64])
{
    const char *body =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=%s&user=x", each->item);
    fx_copy_member(body, "sale", sale, 64);
    cJSON *json = cJSON_Parse(body);
    int lost = (int)fx_json_number(json, "lost_orders");
    assert_int_equal(lost, (int)fx_json_number(json, "known") - (int)fx_json_number(json, "found"));
    cJSON_Delete(json);
    return lost;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void forget(const char *name, void (*how)(void))
{
    open_shops(name);
    wait_until_sold(BEFORE);
    atomic_store(&enough, INT_MAX);
    how();
    wait_until_all_refuse(HALTED);
    a_restart_starts_no_second_sale();
    end_buyers();
    wait_until_all_refuse(HALTED);
    nobody_was_sold_too_much("in the end");
}

/* Of a sale that is gone altogether everything says so, and it can only be replaced; after that no
 * question is final unless it names a sale. */
static void what_is_gone_is_replaced(const shop *each)
{
    char sale[64];
    int lost = read_halt(each, sale);
    fx_refused(fx.server[0], 503, "sale_rolled_back", "GET /stock?item=%s", each->item);
    fx_refused(fx.server[0], 503, "sale_rolled_back", "GET /orders?item=%s", each->item);
    fx_refused(fx.server[0], 409, "sale_gone",
               "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}", each->item, sale,
               lost);
    fx_expect(fx.server[0], 201, "POST /sales {'item':'%s','stock':50,'replaces':'%s'}", each->item,
              sale);
    tells(fx_expect(fx.server[0], 404, "GET /orders/%s?item=%s", each->first, each->item),
          "only with sale= this becomes final");
}

static void an_emptied_redis_sells_nothing(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    forget("emptied", empty_it);
    assert_true(fx_wait_until(is_admitted, NULL, WAIT_MS));
    for (int i = 0; i < shop_count; i++)
        what_is_gone_is_replaced(&shops[i]);
}

/* Not even in the moment before the keeper looks. */
static void what_is_lost_is_not_called_damaged(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    char sale[64], replaces[96] = "";
    for (int i = 0; i < 6; i++) {
        fx_start_sale(fx.server[0], "moment", "'stock':9,'strategy':'combined'%s", replaces);
        fx_expect(fx.server[0], 201, "POST /buy?item=moment&user=u");
        empty_it();
        fx_copy_member(fx_refused(fx.server[0], 503, "sale_rolled_back", "GET /%s?item=moment",
                                  i % 2 == 0 ? "stock" : "orders"),
                       "sale", sale, sizeof(sale));
        snprintf(replaces, sizeof(replaces), ",'replaces':'%s'", sale);
    }
}

static void without_its_pointer_a_sale_is_not_started_afresh(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    forget("pointer", lose_the_pointers);
}

static bool is_evicted(void *arg)
{
    (void)arg;
    return fx_redis_number(fx.redis, "DBSIZE") == 0;
}

static void an_evicting_redis_sells_no_more_than_there_was(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    open_shops("evicted");
    wait_until_sold(BEFORE);
    atomic_store(&enough, INT_MAX);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy allkeys-lru");
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 1");
    assert_true(fx_wait_until(is_evicted, NULL, WAIT_MS));
    fx_redis_do(fx.redis, "CONFIG SET maxmemory 0");
    wait_until_all_refuse(REFUSED);
    a_restart_starts_no_second_sale();
    end_buyers();
    nobody_was_sold_too_much("in the end");
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy noeviction");
}

/* ---- rolled back, and the ways out ----------------------------------------------------------- */

/* No "no" that is final, of a request that was answered with an order. */
static void what_was_acknowledged_is_not_denied(const shop *each)
{
    for (int k = 0; k < BUYERS; k++) {
        fx_reply reply;
        int status =
            fx_ask(fx.server[k], &reply, "GET /orders/%s?item=%s", each->last[k], each->item);
        if (status != 200)
            fx_assert_problem("GET /orders", &reply, 503, "sale_rolled_back");
        if (status != 200)
            tells(reply.body, "has no order now, but may have lost one");
        fx_reply_free(&reply);
    }
    fx_expect(fx.server[1], 201, "POST /buy?item=%s&user=u%s&request=%s", each->item,
              strrchr(each->first, '-') + 1, each->first);
    assert_non_null(strstr(fx_expect(fx.server[1], 200, "GET /stock?item=%s", each->item),
                           "\"halted\":{\"why\":\"rolled_back\""));
}

typedef struct first_sale {
    const shop *shop;
    bool sold[FX_INSTANCES];
} first_sale;

/* One unit of each instance, however often it is asked: there are not many left. */
static bool all_sell(void *arg)
{
    first_sale *first = arg;
    bool all = true;
    for (int at = 0; at < FX_INSTANCES; at++) {
        first->sold[at] = first->sold[at] || fx_status(fx.server[at], "POST /buy?item=%s&user=x",
                                                       first->shop->item) == 201;
        all = all && first->sold[at];
    }
    return all;
}

static void resume(shop *each)
{
    char sale[64];
    int lost = read_halt(each, sale);
    assert_true(lost > 0);
    tells(fx_refused(fx.server[2], 409, "sale_halted",
                     "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}", each->item,
                     sale, lost + 1),
          "'lost_orders' must be");
    tells(fx_refused(fx.server[2], 409, "sale_halted",
                     "POST /sales/resume {'item':'%s','sale':'other','lost_orders':%d}", each->item,
                     lost),
          "'sale' must name");
    fx_expect(fx.server[2], 200, "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}",
              each->item, sale, lost);
    assert_true(fx_wait_until(all_sell, &(first_sale){.shop = each}, WAIT_MS));
    fx_refused(fx.server[2], 409, "sale_not_halted",
               "POST /sales/resume {'item':'%s','sale':'%s','lost_orders':%d}", each->item, sale,
               lost);
}

static void start_another(shop *each)
{
    char sale[64];
    read_halt(each, sale);
    fx_refused(fx.server[2], 409, "sale_halted", "POST /sales {'item':'%s','stock':50}",
               each->item);
    tells(fx_refused(fx.server[2], 409, "sale_halted",
                     "POST /sales {'item':'%s','stock':50,'replaces':'other'}", each->item),
          "'replaces' must name");
    fx_expect(fx.server[2], 201, "POST /sales {'item':'%s','stock':50,'replaces':'%s'}", each->item,
              sale);
    assert_true(fx_wait_until(all_sell, &(first_sale){.shop = each}, WAIT_MS));
    fx_refused(fx.server[2], 409, "sale_not_halted",
               "POST /sales {'item':'%s','stock':50,'replaces':'%s'}", each->item, sale);
}

static void a_redis_that_is_older_sells_nothing_until_the_admin_says_so(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    char path[512];
    long len;
    open_shops("older");
    wait_until_sold(BEFORE);
    find_log(path, sizeof(path), &len);
    wait_until_sold(BEFORE + 20);
    atomic_store(&enough, INT_MAX);
    restart_as_of(len);
    wait_until_all_refuse(HALTED);
    end_buyers();
    nobody_was_sold_too_much("after a power loss");
    assert_true(fx_wait_until(is_admitted, NULL, WAIT_MS));
    for (int i = 0; i < shop_count; i++)
        what_was_acknowledged_is_not_denied(&shops[i]);
    a_restart_starts_no_second_sale();
    for (int i = 0; i < shop_count; i++) {
        if (i % 2 == 0)
            resume(&shops[i]);
        else
            start_another(&shops[i]);
    }
}

/* Nobody remembers more than there is, so selling goes on. */
static void a_redis_that_has_kept_all_sells_on(void **state)
{
    (void)state;
    fx_only_single("it cuts the append-only file");
    open_shops("kept");
    wait_until_sold(BEFORE);
    atomic_store(&enough, INT_MAX);
    fx_redis_restart(fx.redis);
    wait_until_sold(2 * BEFORE);
    end_buyers();
    nobody_was_sold_too_much("after a restart of Redis");
    for (int i = 0; i < shop_count; i++) {
        assert_true(fx_wait_until(is_known_to_all, shops[i].item, WAIT_MS));
        assert_non_null(strstr(fx_expect(fx.server[2], 200, "GET /stock?item=%s", shops[i].item),
                               "\"oversold\":0,"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_emptied_redis_sells_nothing),
        cmocka_unit_test(what_is_lost_is_not_called_damaged),
        cmocka_unit_test(without_its_pointer_a_sale_is_not_started_afresh),
        cmocka_unit_test(a_redis_that_is_older_sells_nothing_until_the_admin_says_so),
        cmocka_unit_test(a_redis_that_has_kept_all_sells_on),
        cmocka_unit_test(an_evicting_redis_sells_no_more_than_there_was),
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS("--allow-eviction", "yes"),
                  .redis_args = FX_ARGS("--appendonly", "yes"));
}
