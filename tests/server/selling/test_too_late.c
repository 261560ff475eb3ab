/*
 * test_too_late.c - a try whose own not_after has passed buys nothing, under every strategy; but
 * who has an order gets it, however late, and in whichever segment it is.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

#define PAST   "1000000000000000" /* 2001 */
#define FUTURE "9007199254740991" /* 2255 */

static void has_orders(const char *item, int wanted)
{
    char part[32];
    snprintf(part, sizeof(part), "\"orders\":%d,", wanted);
    fx_has(fx_expect(fx.server[0], 200, "GET /stock?item=%s", item), part);
}

static void is_replayed(const char *item, const char *request, const char *more)
{
    fx_reply reply;
    char value[16];
    int status =
        fx_ask(fx.server[0], &reply, "POST /buy?item=%s&user=u1&request=%s%s", item, request, more);
    if (status != 201 ||
        strcmp(fx_reply_header(&reply, "Idempotency-Replayed", value, sizeof(value)), "true") != 0)
        fail_msg("%s: expected a replay, got %d %s", item, status, reply.body);
    fx_reply_free(&reply);
}

static void nothing_is_bought_too_late_and_what_was_is_told(void **state)
{
    (void)state;
    int number = 0;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++, number++) {
        char item[16], sale[64], said[64];
        snprintf(item, sizeof(item), "L%d", number);
        snprintf(sale, sizeof(sale), "%s",
                 fx_start_sale(fx.server[0], item, "'stock':9,'strategy':'%s'%s", s->name,
                               s->sharded ? ",'segments':3" : ""));
        fx_refused(fx.server[0], 409, "too_late", "POST /buy?item=%s&user=u1&not_after=" PAST,
                   item);
        const char *body = fx_refused(fx.server[0], 409, "too_late",
                                      "POST /buy?item=%s&user=u1&request=k1&not_after=" PAST, item);
        fx_copy_member(body, "request", said, sizeof(said));
        assert_string_equal(said, "k1");
        fx_copy_member(body, "sale", said, sizeof(said));
        assert_string_equal(said, sale);
        has_orders(item, 0);

        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=k1&not_after=" FUTURE,
                  item);
        is_replayed(item, "k1", "&not_after=" PAST);
        is_replayed(item, "k1", "&not_after=" FUTURE);
        is_replayed(item, "k1", "");
        fx_refused(fx.server[0], 422, "request_reused",
                   "POST /buy?item=%s&user=u1&quantity=2&request=k1&not_after=" PAST, item);
        has_orders(item, 1);
    }
}

/* Where nobody was ever refused, there is no mark that says "further on". */
static void an_order_further_on_is_found_however_late(void **state)
{
    (void)state;
    char item[] = "F1";
    fx_start_sale(fx.server[0], item, "'stock':4,'strategy':'sharded','segments':4");
    for (int i = 0; i < 4; i++)
        fx_expect(fx.server[0], 201, "POST /buy?item=%s&user=u1&request=r%d", item, i);
    for (int i = 0; i < 4; i++) {
        char request[8];
        snprintf(request, sizeof(request), "r%d", i);
        is_replayed(item, request, "&not_after=" PAST);
    }
    has_orders(item, 4);
    fx_refused(fx.server[0], 409, "too_late",
               "POST /buy?item=%s&user=u1&request=r9&not_after=" PAST, item);
}

static void what_is_void_or_over_is_so_however_late(void **state)
{
    (void)state;
    char sale[64];
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(fx.server[0], "V1", "'stock':9"));
    fx_redis_do(fx.redis, "HSET fs:{V1}:%s:orders void -", sale);
    fx_refused(fx.server[0], 409, "request_void",
               "POST /buy?item=V1&user=u1&request=void&not_after=" PAST);
    fx_start_sale(fx.server[0], "V1", "'stock':9");
    fx_refused(fx.server[0], 409, "sale_closed",
               "POST /buy?item=V1&user=u1&request=k&sale=%s&not_after=" PAST, sale);
}

static void a_body_may_have_it(void **state)
{
    (void)state;
    static const struct {
        const char *type, *body;
        int status;
        const char *says;
    } asked[] = {
        {"application/x-www-form-urlencoded", "user=u1&not_after=" PAST, 409, "too_late"},
        {"application/x-www-form-urlencoded", "user=u1&not_after=" FUTURE, 201, "\"order\""},
        {"application/x-www-form-urlencoded", "user=u1&not_after=1", 400, "bad_not_after"},
        {"application/json", "{\"user\":\"u1\",\"not_after\":" PAST "}", 409, "too_late"},
        {"application/json", "{\"user\":\"u1\",\"not_after\":" FUTURE "}", 201, "\"order\""},
        {"application/json", "{\"user\":\"u1\",\"not_after\":\"" PAST "\"}", 400, "bad_not_after"},
        {"application/json", "{\"user\":\"u1\",\"not_after\":1e15}", 400, "bad_not_after"},
        {"application/json", "{\"user\":\"u1\",\"not_after\":9007199254740992}", 400,
         "bad_not_after"},
        {"application/json", "{\"user\":\"u1\",\"not_after\":null}", 400, "bad_not_after"},
    };
    fx_start_sale(fx.server[0], "B1", "'stock':9");
    for (size_t i = 0; i < COUNT(asked); i++) {
        char url[128], type[80];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=B1", fx_server_url(fx.server[0]));
        snprintf(type, sizeof(type), "Content-Type: %s", asked[i].type);
        fx_http("POST", url, FX_ARGS(type), asked[i].body, 20000, &reply);
        if (reply.status != asked[i].status || !strstr(reply.body, asked[i].says))
            fail_msg("%s: %d %s", asked[i].body, reply.status, reply.body);
        fx_reply_free(&reply);
    }
    fx_refused(fx.server[0], 400, "repeated_parameter",
               "POST /buy?not_after=" PAST " {'item':'B1','user':'u1','not_after':" PAST "}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_bought_too_late_and_what_was_is_told),
        cmocka_unit_test(an_order_further_on_is_found_however_late),
        cmocka_unit_test(what_is_void_or_over_is_so_however_late),
        cmocka_unit_test(a_body_may_have_it),
    };
    return fx_run(tests, .instances = 1);
}
