/* troubles.c - what an instance says when Redis is away, has forgotten something, is not set as it
 * must be, or does not answer. Each on a Redis of its own, unless nothing is done to it. */
#include "tests/server/openapi/provoke.h"

#include <signal.h>
#include <stdio.h>

#include "tests/support/proxy.h"

/* ---- away, and back without its data ----------------------------------------------------------
 */

static void start_sale_and_buy(fx_server *server, const char *item)
{
    fx_start_sale(server, item, "'stock':9,'strategy':'fair'");
    fx_expect(server, 201, "POST /buy?item=%s&user=u1&request=k1", item);
}

void a_redis_that_is_away_is_named(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    start_sale_and_buy(server, "Away");
    fx_expect(server, 200, "GET /dashboard?item=Away");
    fx_redis_kill(redis);
    static const char *const requests[] = {
        "POST /buy?item=Away&user=u2",
        "POST /buy?item=other&user=u2",
        "GET /stock?item=Away",
        "GET /dashboard?item=other",
        "GET /orders/k1?item=Away",
        "GET /orders?item=Away",
        "GET /locks",
        "POST /locks/stop?item=Away",
        "GET /items",
        "POST /sales {'item':'Away','stock':9}",
        "POST /sales/resume {'item':'Away','sale':'x','lost_orders':0}",
    };
    for (size_t i = 0; i < COUNT(requests); i++)
        fx_refused(server, 503, "store_unavailable", "%s", requests[i]);
    provoke_await_text(server, "\"redis\":\"down\"", "GET /dashboard?item=Away");
    provoke_await(server, "store_unavailable", "GET /readyz");
    fx_redis_restart(redis);
    provoke_await(server, "server_changed", "GET /readyz");
    provoke_await(server, "sale_rolled_back", "POST /buy?item=Away&user=u2");
    fx_server_kill(server);
    fx_redis_stop(redis);
}

void a_redis_that_is_full_is_named(void **state)
{
    (void)state;
    static const char *const requests[] = {"POST /buy?item=Full&user=u2",
                                           "POST /sales {'item':'Full','stock':9}"};
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    fx_start_sale(server, "Full", "'stock':9,'strategy':'atomic'");
    fx_redis_do(redis, "CONFIG SET maxmemory 1");
    for (size_t i = 0; i < COUNT(requests); i++)
        if (!strstr(fx_refused(server, 503, "store_unavailable", "%s", requests[i]), "\"OOM\""))
            fail_msg("%s does not name what Redis said", requests[i]);
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* The only item is of strategy redlock, whose servers are another one's affair than the sale's. */
void locks_that_are_away_are_no_trouble_of_redis(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL), *locks = fx_redis_start_single(NULL);
    fx_server *server =
        fx_server_start(fx_redis_url(redis), FX_ARGS("--redlock", fx_redis_tcp_url(locks)));
    fx_start_sale(server, "Locks", "'stock':9,'strategy':'redlock'");
    fx_redis_kill(locks);
    provoke_await(server, "store_unavailable", "GET /readyz");
    fx_server_kill(server);
    fx_redis_stop(locks);
    fx_redis_stop(redis);
}

static void resume_what_is_left(fx_redis *redis, fx_server *server)
{
    char sale[64];
    int lost;
    start_sale_and_buy(server, "Left");
    fx_redis_do(redis, "DEL fs:{Left}:sale");
    provoke_await(server, "sale_rolled_back", "POST /buy?item=Left&user=u2");
    const char *body = fx_refused(server, 503, "sale_rolled_back", "POST /buy?item=Left&user=u2");
    fx_copy_member(body, "sale", sale, sizeof(sale));
    cJSON *json = cJSON_Parse(body);
    lost = (int)fx_json_number(json, "lost_orders");
    cJSON_Delete(json);
    fx_status(server, "GET /stock?item=Left"); /* with "halted" */
    provoke_await_text(server, "\"state\":\"halted\"", "GET /dashboard?item=Left");
    fx_refused(server, 409, "sale_halted",
               "POST /sales/resume {'item':'Left','sale':'%s','lost_orders':%d}", sale, lost + 1);
    fx_expect(server, 200, "POST /sales/resume {'item':'Left','sale':'%s','lost_orders':%d}", sale,
              lost);
}

/* An instance that never had the sale open has nothing to show of it, nor a request to name. */
static void ask_another_instance(fx_redis *redis)
{
    fx_server *other = fx_server_start(fx_redis_url(redis), NULL);
    fx_refused(other, 503, "sale_rolled_back", "GET /dashboard?item=Gone");
    fx_refused(other, 503, "sale_rolled_back", "POST /buy?item=Gone&user=u2");
    fx_server_kill(other);
}

void a_redis_that_forgets_halts_its_sales(void **state)
{
    (void)state;
    char sale[64];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    start_sale_and_buy(server, "Gone");
    fx_redis_do(redis, "FLUSHALL");
    provoke_await(server, "sale_rolled_back", "POST /buy?item=Gone&user=u2");
    provoke_await(server, "sale_rolled_back", "GET /readyz");
    fx_refused(server, 503, "sale_rolled_back", "GET /stock?item=Gone");
    fx_refused(server, 503, "sale_rolled_back", "GET /orders?item=Gone");
    fx_refused(server, 409, "sale_halted", "POST /sales {'item':'Gone','stock':9}");
    ask_another_instance(redis);
    const char *body = fx_refused(server, 503, "sale_rolled_back", "GET /orders/k2?item=Gone");
    fx_copy_member(body, "sale", sale, sizeof(sale));
    fx_refused(server, 409, "sale_gone",
               "POST /sales/resume {'item':'Gone','sale':'%s','lost_orders':1}", sale);
    fx_expect(server, 201, "POST /sales {'item':'Gone','stock':9,'replaces':'%s'}", sale);
    resume_what_is_left(redis, server);
    fx_server_kill(server);
    fx_redis_stop(redis);
}

#define LOOKS_AT_ITEM  "match script local cfg = redis.call('TYPE', KEYS[2])"
#define LOOKS_AT_STOCK "match script pointer, damaged or ''"

/* Redis has lost the sale's only order, and later halts it, but does not answer when it is asked
 * what there is. */
void a_halt_that_can_not_be_read_is_said(void **state)
{
    (void)state;
    char sale[64], halt[128];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(redis));
    fx_server *server = fx_server_start(fx_proxy_url(proxy), NULL);
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(server, "Blind", "'stock':9,'strategy':'atomic'"));
    fx_expect(server, 201, "POST /buy?item=Blind&user=u1");
    fx_proxy_say(proxy, "reset before " LOOKS_AT_ITEM);
    fx_proxy_say(proxy, "reset before " LOOKS_AT_STOCK);
    fx_redis_do(redis, "DEL fs:{Blind}:%s:orders fs:{Blind}:%s:ledger", sale, sale);
    fx_redis_do(redis, "MSET fs:{Blind}:%s:stock 9 fs:{Blind}:%s:sold 0", sale, sale);
    fx_refused(server, 503, "sale_rolled_back", "POST /buy?item=Blind&user=u2");
    snprintf(halt, sizeof(halt), "%s rolled_back 1 0 other 1763773000123456", sale);
    fx_redis_do(redis, "SET fs:{Blind}:sale %s", halt);
    fx_refused(server, 409, "sale_halted", "POST /sales {'item':'Blind','stock':9}");
    fx_server_kill(server);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
}

/* ---- damaged, or strange --------------------------------------------------------------------- */

void what_is_damaged_is_not_sold(void **state)
{
    (void)state;
    char sale[64];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    start_sale_and_buy(server, "Hurt");
    provoke_await_text(server, "\"state\":\"open\"", "GET /dashboard?item=Hurt");
    fx_redis_text(redis, sale, sizeof(sale), "GET fs:{Hurt}:sale");
    fx_redis_do(redis, "DEL fs:{Hurt}:%s:stock", sale);
    fx_redis_do(redis, "DEL fs:{Hurt}:%s:ledger", sale);
    fx_redis_do(redis, "SET fs:{Hurt}:%s:orders x", sale);
    fx_refused(server, 503, "sale_damaged", "POST /buy?item=Hurt&user=u2");
    fx_refused(server, 503, "sale_damaged", "GET /stock?item=Hurt");
    fx_refused(server, 503, "sale_damaged", "GET /orders/k1?item=Hurt");
    fx_refused(server, 503, "sale_damaged", "GET /orders?item=Hurt");
    provoke_await_text(server, "\"state\":\"damaged\"", "GET /dashboard?item=Hurt");
    fx_redis_do(redis, "DEL fs:{Shy}:%s:stock", fx_start_sale(server, "Shy", "'stock':9"));
    provoke_await_text(server, "\"sale\":null", "GET /dashboard?item=Shy");
    provoke_await(server, "sale_damaged", "GET /readyz");
    fx_redis_do(redis, "SET fs:{Over}:%s:stock x", fx_start_sale(server, "Over", "'stock':9"));
    fx_start_sale(server, "Over", "'stock':9");
    fx_refused(server, 503, "sale_damaged", "GET /orders?item=Over&after=0");
    fx_redis_do(redis, "SET fs:{Strange}:sale of.nobody");
    fx_refused(server, 503, "sale_damaged", "GET /dashboard?item=Strange");
    fx_refused(server, 503, "sale_damaged", "POST /buy?item=Strange&user=u2");
    fx_refused(server, 503, "sale_damaged", "POST /sales {'item':'Strange','stock':9}");
    fx_server_kill(server);
    fx_redis_stop(redis);
}

void another_version_is_not_read(void **state)
{
    (void)state;
    static const char *const requests[] = {"POST /buy?item=Later&user=u", "GET /stock?item=Later",
                                           "GET /orders/k1?item=Later", "GET /orders?item=Later",
                                           "GET /dashboard?item=Later"};
    fx_redis_do(fx.redis, "HSET fs:{Later}:06ffffffffffff:cfg schema 99");
    fx_redis_do(fx.redis, "SET fs:{Later}:sale 06ffffffffffff");
    for (size_t i = 0; i < COUNT(requests); i++)
        fx_refused(fx.server[0], 503, "sale_unreadable", "%s", requests[i]);
    provoke_settling(fx.server[0], 503, "sale_unreadable", "Later");
    fx_server *server = fx_server_start(fx_redis_url(fx.redis), NULL); /* it knows no other item */
    fx_refused(server, 503, "sale_unreadable", "%s", requests[1]);
    provoke_await(server, "sale_unreadable", "GET /readyz");
    fx_server_kill(server);
}

/* ---- what is promised ------------------------------------------------------------------------ */

void a_redis_that_may_lose_orders_is_refused(void **state)
{
    (void)state;
    fx_redis *redis =
        fx_redis_start_single(FX_ARGS("--appendonly", "yes", "--appendfsync", "always"));
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    fx_start_sale(server, "Disk",
                  "'stock':1000000,'durability':'disk','per_user_limit':1000000,"
                  "'reserve_max_s':600");
    fx_redis_do(redis, "CONFIG SET appendfsync everysec");
    provoke_await(server, "durability_lost", "POST /buy?item=Disk&user=u1");
    provoke_settling(server, 503, "durability_lost", "Disk");
    provoke_await(server, "durability_lost", "GET /readyz");
    fx_redis_do(redis, "CONFIG SET appendfsync always");
    fx_redis_do(redis, "CONFIG SET maxmemory-policy allkeys-lru");
    fx_refused(server, 409, "store_may_evict", "POST /sales {'item':'Other','stock':5}");
    provoke_await(server, "store_may_evict", "POST /buy?item=Disk&user=u1");
    provoke_settling(server, 503, "store_may_evict", "Disk");
    provoke_await(server, "store_may_evict", "GET /readyz");
    fx_redis_do(redis, "CONFIG SET maxmemory-policy noeviction");
    fx_redis_do(redis, "CLIENT PAUSE 600000 WRITE");
    provoke_await(server, "writes_paused", "GET /readyz");
    fx_refused(server, 503, "writes_paused", "POST /buy?item=Disk&user=u1");
    provoke_settling(server, 503, "writes_paused", "Disk");
    fx_refused(server, 503, "writes_paused", "POST /sales {'item':'Other','stock':5}");
    fx_server_kill(server);
    fx_redis_stop(redis);
}

static bool replica_is_online(void *redis)
{
    char info[4096];
    return fx_redis_text(redis, info, sizeof(info), "INFO replication") &&
           strstr(info, "state=online,") != NULL;
}

/* The replica stands still: what is sold then is unknown, and not told before it has it. */
void an_order_that_no_replica_has_is_not_told(void **state)
{
    (void)state;
    char port[16];
    fx_redis *redis = fx_redis_start_single(FX_ARGS("--repl-diskless-sync-delay", "0"));
    snprintf(port, sizeof(port), "%d", fx_redis_port(redis));
    fx_redis *replica = fx_redis_start_single(FX_ARGS("--replicaof", "127.0.0.1", port));
    assert_true(fx_wait_until(replica_is_online, redis, PROVOKE_MS));
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    fx_start_sale(server, "Copy", "'stock':9,'strategy':'atomic','durability':'replicated'");
    fx_expect(server, 201, "POST /buy?item=Copy&user=u1&request=k1");
    fx_redis_signal(replica, SIGSTOP);
    fx_refused(server, 504, "unknown", "POST /buy?item=Copy&user=u1&request=k2");
    fx_refused(server, 503, "durability_lost", "GET /orders/k2?item=Copy");
    fx_refused(server, 503, "durability_lost", "GET /orders?item=Copy&after=0");
    fx_redis_signal(replica, SIGCONT);
    fx_server_kill(server);
    fx_redis_stop(replica);
    fx_redis_stop(redis);
}

/* ---- no answer ------------------------------------------------------------------------------- */

#define SELL  "match script redis.call('RPUSH', KEYS[5]"
#define START "match script redis.call('HSET', KEYS[2], unpack("

void what_is_unanswered_is_unknown(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *server = fx_server_start(fx_proxy_url(proxy), NULL);
    fx_start_sale(server, "Silent", "'stock':9,'strategy':'atomic'");
    fx_expect(server, 201, "POST /buy?item=Silent&user=u1"); /* now both scripts are known */
    fx_proxy_say(proxy, "reset after " SELL);
    fx_refused(server, 504, "unknown", "POST /buy?item=Silent&user=u2&request=k1");
    fx_proxy_say(proxy, "heal");
    fx_proxy_say(proxy, "drop reply 1 " START);
    fx_refused(server, 504, "unknown", "POST /sales {'item':'Silent','stock':3}");
    fx_server_kill(server);
    fx_proxy_stop(proxy);
}
