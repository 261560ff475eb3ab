/*
 * test_standby.c - an instance that has joined a sale and sold nothing, and is the only one left
 * when Redis comes back empty. It is a witness all the same: it knows that there was a sale, and
 * how many orders it had at its last look. What was sold is not sold a second time unless the admin
 * says so.
 */
#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

enum { SOLD = 3, WAIT_MS = 30000 };

/* ---- waiting --------------------------------------------------------------------------------- */

typedef struct wanted {
    fx_server *server;
    const char *request, *part;
    int status;
    char body[1024]; /* the last */
} wanted;

static bool is_answered(void *arg)
{
    wanted *w = arg;
    fx_reply reply;
    bool good =
        fx_ask(w->server, &reply, "%s", w->request) == w->status && strstr(reply.body, w->part);
    snprintf(w->body, sizeof(w->body), "%d %s", reply.status, reply.body);
    bool sold = reply.status == 201; /* what was not to be: no later answer mends that */
    fx_reply_free(&reply);
    w->status = sold && !good ? 0 : w->status;
    return good || sold;
}

static void await(fx_server *server, int status, const char *part, const char *request)
{
    wanted w = {.server = server, .request = request, .part = part, .status = status};
    if (!fx_wait_until(is_answered, &w, WAIT_MS) || w.status != status)
        fail_msg("%s: expected %d %s, got %s", request, status, part, w.body);
}

/* ---- the standby ----------------------------------------------------------------------------- */

static fx_server *start(const char *strategy)
{
    return fx_server_start(fx_redis_url(fx.redis),
                           FX_ARGS("--item", "P0001", "--stock", "5", "--strategy", strategy));
}

/* Nobody has asked the standby for the item; but it tells what it saw when it looked at it. */
static void has_seen(fx_server *standby, int units)
{
    char part[80];
    snprintf(part, sizeof(part), "flashsale_sale_ordered_units{item=\"P0001\"} %d\n", units);
    await(standby, 200, part, "GET /metrics");
}

/* The seller dies, and Redis comes back with nothing. */
static void lose_all_but_the_standby(fx_server *seller)
{
    fx_server_kill(seller);
    fx_redis_kill(fx.redis);
    fx_redis_restart(fx.redis);
    assert_int_equal(fx_redis_number(fx.redis, "DBSIZE"), 0);
}

static void says_what_happened(fx_server *standby, const char *sale, int known)
{
    char lost[80];
    snprintf(lost, sizeof(lost), "\"known\":%d,\"found\":0,\"lost_orders\":%d", known, known);
    await(standby, 503, "\"sale_rolled_back\"", "GET /stock?item=P0001");
    const char *body = fx_refused(standby, 503, "sale_rolled_back", "GET /stock?item=P0001");
    if (!strstr(body, sale) || !strstr(body, lost))
        fail_msg("expected %s and %s in %s", sale, lost, body);
    fx_refused(standby, 503, "sale_rolled_back", "POST /buy?item=P0001&user=u9");
    fx_refused(standby, 503, "sale_rolled_back", "GET /orders/r0?item=P0001");
    await(standby, 200, "flashsale_sale_halted{item=\"P0001\"} 1\n", "GET /metrics");
}

/* Only in so many words: it names the sale that is lost. */
static void sells_again_when_the_admin_says_so(fx_server *standby, const char *sale)
{
    char request[200];
    await(standby, 409, "\"sale_halted\"", "POST /sales {'item':'P0001','stock':5}");
    await(standby, 409, "'replaces' must name",
          "POST /sales {'item':'P0001','stock':5,'replaces':'0000000000000f'}");
    snprintf(request, sizeof(request), "POST /sales {'item':'P0001','stock':5,'replaces':'%s'}",
             sale);
    await(standby, 201, "\"sale\"", request);
    await(standby, 201, "\"order\"", "POST /buy?item=P0001&user=u9");
}

static void try_standby(const char *strategy, int orders)
{
    char sale[64];
    print_message("%s, %d orders\n", strategy, orders);
    fx_redis_do(fx.redis, "FLUSHALL");
    fx_server *seller = start(strategy), *standby = start(strategy);
    snprintf(sale, sizeof(sale), "%s", fx_current_sale("P0001"));
    for (int i = 0; i < orders; i++)
        fx_expect(seller, 201, "POST /buy?item=P0001&user=u%d&request=r%d", i, i);
    has_seen(standby, orders);
    lose_all_but_the_standby(seller);
    says_what_happened(standby, sale, orders);
    sells_again_when_the_admin_says_so(standby, sale);
    fx_server_kill(standby);
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void who_has_only_joined_is_a_witness(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++)
        if (s->sharded || strcmp(s->name, "combined") == 0 || strcmp(s->name, "none") == 0)
            try_standby(s->name, SOLD);
}

static void who_has_joined_before_anything_was_sold_is_one_too(void **state)
{
    (void)state;
    fx_only_single("it restarts Redis");
    try_standby("atomic", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_has_only_joined_is_a_witness),
        cmocka_unit_test(who_has_joined_before_anything_was_sold_is_one_too),
    };
    return fx_run(tests, .instances = 1);
}
