/* reservations.c - what is answered to who reserves, confirms and cancels. */
#include "tests/server/openapi/provoke.h"

#include <stdio.h>

#include "tests/support/proxy.h"

#define RESERVES "'per_user_limit':100,'reserve_max_s':600"

/* Both end a reservation, and refuse in the same words. */
static const char *const settles[] = {"confirm", "cancel"};
enum { SETTLES = 2 };

typedef struct refused {
    int status;
    const char *code, *request, *query; /* of POST /orders/{request}/... */
} refused;

static void settle_all(fx_server *server, const refused *all, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (int s = 0; s < SETTLES; s++)
            fx_refused(server, all[i].status, all[i].code, "POST /orders/%s/%s%s", all[i].request,
                       settles[s], all[i].query);
}
#define SETTLE_ALL(server, all) settle_all(server, all, COUNT(all))

void provoke_settling(fx_server *server, int status, const char *code, const char *item)
{
    for (int s = 0; s < SETTLES; s++)
        fx_refused(server, status, code, "POST /orders/k1/%s?item=%s", settles[s], item);
}

/* ---- of a service that is well --------------------------------------------------------------- */

static void reserve(fx_server *server, const char *item, const char *request, int seconds)
{
    fx_expect(server, 201, "POST /buy?item=%s&user=u1&request=%s&reserve_s=%d", item, request,
              seconds);
}

/* The state of each, one after the other: as it is answered, and as it is looked up. */
static void hear_what_becomes_of_orders(fx_server *server)
{
    reserve(server, "Kept", "sold", 600);
    reserve(server, "Kept", "cancelled", 600);
    reserve(server, "Kept", "reserved", 600);
    reserve(server, "Kept", "expired", 1);
    fx_expect(server, 200, "POST /orders/sold/confirm?item=Kept");
    fx_expect(server, 200, "POST /orders/cancelled/cancel?item=Kept");
    provoke_await_text(server, "\"state\":\"expired\"", "GET /orders/expired?item=Kept");
    fx_expect(server, 200, "GET /orders?item=Kept");
    provoke_await_text(server, "{\"event\":\"expired\",", "GET /orders?item=Kept&after=0");
    fx_expect(server, 200, "GET /stock?item=Kept");
    provoke_await_text(server, "\"state\":\"expired\"", "GET /dashboard?item=Kept");
    fx_refused(server, 409, "order_cancelled", "POST /orders/cancelled/confirm?item=Kept");
    fx_refused(server, 409, "order_sold", "POST /orders/sold/cancel?item=Kept");
}

void who_reserves_hears(void **state)
{
    (void)state;
    static const refused all[] = {
        {400, "bad_item", "k1", ""},
        {400, "bad_item", "k1", "?item=%20"},
        {400, "bad_user", "k1", "?item=Kept&user=%20"},
        {400, "bad_sale", "k1", "?item=Kept&sale=%20"},
        {400, "bad_not_after", "k1", "?item=Kept&not_after=1"},
        {400, "bad_request_id", "a.b", "?item=Kept"},
        {400, "repeated_parameter", "k1", "?item=Kept&item=Kept"},
        {404, "no_such_item", "k1", "?item=none"},
        {404, "no_such_sale", "k1", "?item=Kept&sale=zzz"},
        {404, "no_such_order", "none", "?item=Kept"},
        {404, "no_such_order", "none", "?item=Plain"},
        {404, "no_such_order", "reserved", "?item=Kept&user=u2"},
        {409, "reservation_expired", "expired", "?item=Kept"},
        {409, "too_late", "reserved", "?item=Kept&not_after=1000000000000000"},
        {404, "no_such_order", "void", "?item=Kept"},
        {409, "sale_closed", "k1", "?item=Kept&sale=0"},
        {503, "busy", "k1", "?item=Locked"},
    };
    fx_server *server = fx.server[0];
    fx_start_sale(server, "Plain", "'stock':9");
    fx_start_sale(server, "Locked", "'stock':9,'strategy':'fenced','wait_ms':0," RESERVES);
    fx_redis_do(fx.redis, "SET fs:{Locked}:%s:lock stranger PX 600000", fx_current_sale("Locked"));
    fx_start_sale(server, "Kept", "'stock':9," RESERVES);
    fx_redis_do(fx.redis, "HSET fs:{Kept}:%s:orders void -", fx_current_sale("Kept"));
    hear_what_becomes_of_orders(server);
    SETTLE_ALL(server, all);
    fx_refused(server, 409, "sold_out", "POST /buy?item=Kept&user=u2&quantity=9");
    fx_refused(server, 400, "bad_reserve_s", "POST /buy?item=Kept&user=u1&reserve_s=0");
    fx_refused(server, 400, "bad_reserve_s", "POST /buy?item=Kept&user=u1&reserve_s=43201");
    fx_refused(server, 400, "reservation_not_offered", "POST /buy?item=Kept&user=u1&reserve_s=601");
    fx_refused(server, 400, "reservation_not_offered",
               "POST /buy {'item':'Plain','user':'u1','reserve_s':1}");
    fx_expect(server, 201, "POST /buy?item=Plain&user=u1&request=k1");
    fx_expect(server, 200, "POST /orders/k1/confirm?item=Plain");
    fx_refused(server, 400, "reservation_not_offered", "POST /orders/k1/cancel?item=Plain");
    fx_refused(server, 400, "reservations_not_supported",
               "POST /sales {'item':'Plain','stock':9,'strategy':'fair'," RESERVES "}");
    fx_refused(server, 400, "bad_sale", "POST /sales {'item':'Plain','stock':9,'reserve_max_s':1}");
}

/* ---- of Redis away, forgetful, or set as it must not be -------------------------------------- */

/* The second order is lost, and the first still exists; who asks finds nothing behind it. */
static void lose_an_order_unseen(void)
{
    char sale[64];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(redis));
    fx_server *server = fx_server_start(fx_proxy_url(proxy), NULL);
    snprintf(sale, sizeof(sale), "%s",
             fx_start_sale(server, "Blind", "'stock':9,'strategy':'atomic'," RESERVES));
    reserve(server, "Blind", "k1", 600);
    fx_expect(server, 201, "POST /buy?item=Blind&user=u1&request=k2");
    fx_proxy_say(proxy, "reset before match script local cfg = redis.call('TYPE', KEYS[2])");
    fx_proxy_say(proxy, "reset before match script pointer, damaged or ''");
    fx_redis_do(redis, "HDEL fs:{Blind}:%s:orders k2", sale);
    fx_redis_do(redis, "RPOP fs:{Blind}:%s:ledger", sale);
    fx_redis_do(redis, "MSET fs:{Blind}:%s:stock 8 fs:{Blind}:%s:sold 0", sale, sale);
    provoke_settling(server, 503, "sale_rolled_back", "Blind");
    fx_server_kill(server);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
}

static void damage(fx_redis *redis, fx_server *server)
{
    char sale[64];
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(server, "Hurt", "'stock':9," RESERVES));
    reserve(server, "Hurt", "k1", 600);
    fx_redis_do(redis, "HDEL fs:{Hurt}:%s:reserved units", sale);
    provoke_settling(server, 503, "sale_damaged", "Hurt");
    fx_redis_do(redis, "SET fs:{Strange}:sale of.nobody");
    provoke_settling(server, 503, "sale_damaged", "Strange");
}

void a_redis_that_is_away_settles_nothing(void **state)
{
    (void)state;
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    damage(redis, server);
    fx_start_sale(server, "Away", "'stock':9," RESERVES);
    reserve(server, "Away", "k1", 600);
    fx_redis_kill(redis);
    provoke_settling(server, 503, "store_unavailable", "Away");
    provoke_settling(server, 503, "store_unavailable", "other");
    fx_redis_restart(redis);
    provoke_await(server, "sale_rolled_back", "POST /buy?item=Away&user=u2");
    provoke_settling(server, 503, "sale_rolled_back", "Away");
    fx_server *other = fx_server_start(fx_redis_url(redis), NULL); /* it never knew the sale */
    provoke_settling(other, 503, "sale_rolled_back", "Away");
    fx_server_kill(other);
    fx_server_kill(server);
    fx_redis_stop(redis);
    lose_an_order_unseen();
}

void what_is_settled_unanswered_is_unknown(void **state)
{
    (void)state;
    fx_proxy *proxy = fx_proxy_start(fx_redis_tcp_url(fx.redis));
    fx_server *server = fx_server_start(fx_proxy_url(proxy), NULL);
    fx_start_sale(server, "Mute", "'stock':9,'strategy':'atomic'," RESERVES);
    reserve(server, "Mute", "confirm", 600); /* now the script is known */
    reserve(server, "Mute", "cancel", 600);
    fx_proxy_say(proxy, "reset after match script will('RPUSH', KEYS[10]");
    for (int s = 0; s < SETTLES; s++)
        fx_refused(server, 504, "unknown", "POST /orders/%s/%s?item=Mute", settles[s], settles[s]);
    fx_proxy_say(proxy, "heal");
    for (int s = 0; s < SETTLES; s++) /* it was done */
        fx_expect(server, 200, "POST /orders/%s/%s?item=Mute", settles[s], settles[s]);
    fx_server_kill(server);
    fx_proxy_stop(proxy);
}
