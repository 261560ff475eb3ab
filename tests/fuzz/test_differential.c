/*
 * test_differential.c - random sales held to a model: under every strategy, on a real Redis and two
 * real instances, one request after the other, each answer must be the model's (sale_model.h).
 *
 * Buys with and without a key, repeated with the same and with another payload, in the current sale
 * and in earlier ones, in time and too late; questions about orders; new sales with limits,
 * segments and durabilities; the stock and the ledger in between.
 *
 *   FUZZ_SEED=N    the same sequences again; otherwise a new seed at every run, which is printed
 *   FUZZ_STEPS=N   requests under each strategy, default 120
 *
 * In the end every script of the service must have been called, as a MONITOR has seen them.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/sale_model.h"
#include "tests/server/ledger.h"
#include "tests/support/redis/scripts_seen.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

enum {
    INSTANCES = 2,
    LOCK_SERVERS = 3, /* of strategy redlock */
    SALES_MAX = 6,    /* of an item; questions without a sale go through eight */
    STEPS = 120,
    TAIL = 24, /* requests that are shown when something differs */
    WAIT_MS = 60000,
    FINAL_MS = 10000 /* no question is final before */
};

static fx_redis *lock_servers[LOCK_SERVERS];
static fx_scripts *scripts; /* NULL: not watched */
static uint64_t seed;
static mutator dice;

/* One strategy's item, and its sales from the first to the current one. */
static struct {
    const fx_strategy *strategy;
    char item[40];
    model_sale sales[SALES_MAX];
    int count;
    char tail[TAIL][256];
    int steps, last_key;
    int64_t asked_ms[SALES_MAX][MODEL_KEYS]; /* when a question was asked first */
} now;

static int below(int n)
{
    return (int)mutate_below(&dice, (size_t)n);
}

static bool chance(int percent)
{
    return below(100) < percent;
}

static model_sale *current(void)
{
    return &now.sales[now.count - 1];
}

/* ---- telling --------------------------------------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void note_step(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(now.tail[now.steps++ % TAIL], sizeof(now.tail[0]), format, args);
    va_end(args);
}

static void differ(const char *wanted, const fx_reply *reply)
{
    int from = now.steps > TAIL ? now.steps - TAIL : 0;
    for (int i = from; i < now.steps; i++)
        print_message("%d: %s\n", i + 1, now.tail[i % TAIL]);
    fail_msg("%s, seed %" PRIu64 ", step %d: the model says %s; the service %d %s%s",
             now.strategy->name, seed, now.steps, wanted, reply->status, reply->body, reply->error);
}

static void differ_from(const model_answer *wanted, const fx_reply *reply)
{
    char words[256];
    const model_order *order = wanted->order;
    snprintf(words, sizeof(words), "%d %s", wanted->status, order ? "" : wanted->code);
    if (order)
        snprintf(words, sizeof(words), "201%s: order %d of segment %d, %d units, %d remaining",
                 wanted->replayed ? " again" : "", order->number, order->segment, order->quantity,
                 order->remaining);
    differ(words, reply);
}

/* ---- asking ---------------------------------------------------------------------------------- */

typedef struct attempt {
    fx_server *server;
    const char *method, *path, *header; /* header NULL = none */
    fx_reply reply;
    bool tried, doubt; /* some try before this one was not answered for certain */
} attempt;

/* A machine that stands still may cost an answer: then the same is sent again. */
static bool is_answered(void *arg)
{
    attempt *a = arg;
    char url[1024];
    const char *headers[] = {a->header, NULL};
    if (a->tried)
        fx_reply_free(&a->reply);
    a->tried = true;
    snprintf(url, sizeof(url), "%s%s", fx_server_url(a->server), a->path);
    fx_http(a->method, url, a->header ? headers : NULL, NULL, WAIT_MS, &a->reply);
    a->doubt = a->doubt || a->reply.status == 504 || a->reply.status == 0;
    return a->reply.status != 0 && a->reply.status != 503 && a->reply.status != 504;
}

/* Free the reply. */
static void ask(attempt *a)
{
    if (!fx_wait_until(is_answered, a, WAIT_MS))
        differ("something", &a->reply);
}

static const char *text_of(const cJSON *json, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsString(member) ? member->valuestring : "";
}

static bool is_number(const cJSON *json, const char *name, int wanted)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(json, name);
    return cJSON_IsNumber(member) && member->valuedouble == wanted;
}

static bool is_text(const cJSON *json, const char *name, const char *wanted)
{
    return strcmp(text_of(json, name), wanted) == 0;
}

/* Whether the JSON is the order. */
static bool is_order(const cJSON *json, const model_sale *sale, const model_order *order)
{
    return model_is_id(sale, order, text_of(json, "order")) &&
           is_text(json, "request", order->request) && is_text(json, "user", order->user) &&
           is_text(json, "sale", sale->id) && is_text(json, "item", now.item) &&
           is_number(json, "quantity", order->quantity) &&
           is_number(json, "remaining", order->remaining);
}

/* ---- a buy ----------------------------------------------------------------------------------- */

typedef enum dated { NO_TIME, TO_COME, OVER } dated; /* what not_after says */

typedef struct buy {
    int key;   /* -1 = none */
    int sale;  /* -1 = not said */
    int owner; /* of the item's sales: in which it is made */
    int quantity;
    dated time;
    char user[16], path[512], header[64];
} buy;

static const char *const times[] = {"", "&not_after=9007199254740991",
                                    "&not_after=1000000000000000"};

static buy think_of_buy(void)
{
    buy b = {.key = chance(75) ? below(MODEL_KEYS) : -1, .sale = -1, .owner = now.count - 1};
    if (chance(35)) /* the one before once more, perhaps for less */
        b.key = now.last_key;
    now.last_key = b.key;
    b.quantity = chance(85) ? 1 + below(3) : 1 + below(9);
    snprintf(b.user, sizeof(b.user), "u%d", below(4));
    if (chance(50))
        b.sale = b.owner = chance(70) ? now.count - 1 : below(now.count);
    b.time = chance(80) ? NO_TIME : chance(70) ? TO_COME : OVER;
    const char *sale = b.sale >= 0 ? now.sales[b.sale].id : "";
    int len = snprintf(b.path, sizeof(b.path), "/buy?item=%s&user=%s&quantity=%d%s%s%s", now.item,
                       b.user, b.quantity, times[b.time], sale[0] != '\0' ? "&sale=" : "", sale);
    if (b.key >= 0 && chance(50))
        snprintf(b.header, sizeof(b.header), "Idempotency-Key: k%d", b.key);
    else if (b.key >= 0)
        snprintf(b.path + len, sizeof(b.path) - (size_t)len, "&request=k%d", b.key);
    return b;
}

/* "Sold out" may be said without a look at the limit, to who has no key. */
static bool is_shortcut(const buy *b, const model_sale *sale, const cJSON *json)
{
    return b->key < 0 && model_left(sale) == 0 && is_text(json, "code", "sold_out");
}

static void hold_buy(const buy *b, const attempt *a)
{
    cJSON *json = cJSON_Parse(a->reply.body);
    char request[MODEL_ID], replayed[16];
    model_sale *sale = &now.sales[b->owner];
    snprintf(request, sizeof(request), "%s", text_of(json, "request"));
    if (b->key >= 0)
        snprintf(request, sizeof(request), "k%d", b->key);
    model_note *note = b->key >= 0 ? &sale->notes[b->key] : NULL;
    model_answer wanted = model_buy(sale, note, request, b->user, b->quantity, b->time == OVER);
    fx_reply_header(&a->reply, "Idempotency-Replayed", replayed, sizeof(replayed));
    bool good = a->reply.status == wanted.status;
    if (wanted.order)
        good = good && is_order(json, sale, wanted.order) &&
               (a->doubt || (strcmp(replayed, "true") == 0) == wanted.replayed);
    else
        good = good && (is_text(json, "code", wanted.code) || is_shortcut(b, sale, json)) &&
               (sale->closed || is_text(json, "sale", sale->id));
    if (!good)
        differ_from(&wanted, &a->reply);
    cJSON_Delete(json);
}

static void step_buy(void)
{
    buy b = think_of_buy();
    if (now.sales[b.owner].orders_len == MODEL_ORDERS)
        return;
    attempt a = {.server = fx.server[below(INSTANCES)],
                 .method = "POST",
                 .path = b.path,
                 .header = b.header[0] != '\0' ? b.header : NULL};
    note_step("POST %s %s", b.path, b.header);
    ask(&a);
    hold_buy(&b, &a);
    fx_reply_free(&a.reply);
}

/* What can not be asked, is refused and leaves nothing behind. */
static void step_nonsense(void)
{
    static const struct {
        const char *more, *code;
        int status;
    } asked[] = {
        {"quantity=0", "bad_quantity", 400},          {"quantity=1001", "bad_quantity", 400},
        {"quantity=1.5", "bad_quantity", 400},        {"request=a%20b", "bad_request_id", 400},
        {"user=u2", "repeated_parameter", 400},       {"price=1", "unknown_parameter", 400},
        {"sale=ffffffffffffff", "no_such_sale", 404}, {"sale=00000000000000", "sale_closed", 409},
    };
    int i = below((int)(COUNT(asked)));
    char path[256];
    snprintf(path, sizeof(path), "/buy?item=%s&user=u1&%s", now.item, asked[i].more);
    attempt a = {.server = fx.server[below(INSTANCES)], .method = "POST", .path = path};
    note_step("POST %s", path);
    ask(&a);
    cJSON *json = cJSON_Parse(a.reply.body);
    if (a.reply.status != asked[i].status || !is_text(json, "code", asked[i].code))
        differ(asked[i].code, &a.reply);
    cJSON_Delete(json);
    fx_reply_free(&a.reply);
}

/* ---- a question ------------------------------------------------------------------------------ */

/* The sale that has the order, from the latest on; -1 = none. */
static int sale_with(const char *request, int from, int to)
{
    for (int i = from; i >= to; i--)
        if (model_find(&now.sales[i], request))
            return i;
    return -1;
}

/* There is no order. That is final in a sale that is over, when it was said before or the time is
 * over; else it may become so, but not soon; and never where some sales were not asked. */
static void hold_missing(int at, bool all, int key, dated time, const attempt *a, int64_t begun_ms)
{
    model_sale *sale = &now.sales[at];
    model_note *note = all && key >= 0 ? &sale->notes[key] : NULL;
    cJSON *json = cJSON_Parse(a->reply.body);
    bool final = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "final"));
    bool sure = all && (sale->closed || (note && note->never) || time == OVER);
    bool may = note && note->asked && time == NO_TIME &&
               dlock_now().us / 1000 - now.asked_ms[at][key] >= FINAL_MS;
    if (a->reply.status != 404 || !is_text(json, "code", "no_such_order") ||
        !is_text(json, "sale", sale->id) || (sure && !final) || (final && !sure && !may))
        differ(sure ? "404, final" : "404, not final", &a->reply);
    if (note && !sure && time == NO_TIME) {
        if (!note->asked)
            now.asked_ms[at][key] = begun_ms;
        note->asked = true;
        note->never = final;
    }
    cJSON_Delete(json);
}

static void hold_found(int at, const char *request, const attempt *a)
{
    cJSON *json = cJSON_Parse(a->reply.body);
    if (a->reply.status != 200 ||
        !is_order(json, &now.sales[at], model_find(&now.sales[at], request)))
        differ("200 and the order", &a->reply);
    cJSON_Delete(json);
}

static void step_question(void)
{
    char request[MODEL_ID], path[512];
    int at = below(now.count);
    const model_sale *any = &now.sales[at];
    if (chance(70) || any->orders_len == 0)
        snprintf(request, sizeof(request), "k%d", below(MODEL_KEYS));
    else
        snprintf(request, sizeof(request), "%s", any->orders[below(any->orders_len)].request);
    int key = request[0] == 'k' ? (int)strtol(request + 1, NULL, 10) : -1;
    bool said = chance(60);
    dated time = chance(60) ? NO_TIME : chance(50) ? TO_COME : OVER;
    snprintf(path, sizeof(path), "/orders/%s?item=%s%s%s%s", request, now.item, times[time],
             said ? "&sale=" : "", said ? any->id : "");
    attempt a = {.server = fx.server[0], .method = "GET", .path = path};
    int64_t begun_ms = dlock_now().us / 1000;
    note_step("GET %s", path);
    ask(&a);
    int last = now.count - 1, before = last > 0 ? last - 1 : 0;
    int found = said ? sale_with(request, at, at) : sale_with(request, last, before);
    if (found >= 0)
        hold_found(found, request, &a);
    else
        hold_missing(said ? at : last, said || before == 0, key, time, &a, begun_ms);
    fx_reply_free(&a.reply);
}

/* ---- the stock and the ledger ---------------------------------------------------------------- */

static void step_stock(void)
{
    char path[128];
    const model_sale *sale = current();
    snprintf(path, sizeof(path), "/stock?item=%s", now.item);
    attempt a = {.server = fx.server[below(INSTANCES)], .method = "GET", .path = path};
    note_step("GET %s", path);
    ask(&a);
    cJSON *json = cJSON_Parse(a.reply.body);
    int left = model_left(sale);
    bool good = is_text(json, "sale", sale->id) && is_text(json, "strategy", now.strategy->name) &&
                is_number(json, "initial", sale->initial) && is_number(json, "remaining", left) &&
                is_number(json, "orders", sale->orders_len) &&
                is_number(json, "units", sale->initial - left) && is_number(json, "oversold", 0) &&
                is_number(json, "lost_updates", 0) && is_number(json, "unordered", 0);
    if (a.reply.status != 200 || !good) {
        char wanted[128];
        snprintf(wanted, sizeof(wanted), "%d remaining of %d, %d orders", left, sale->initial,
                 sale->orders_len);
        differ(wanted, &a.reply);
    }
    cJSON_Delete(json);
    fx_reply_free(&a.reply);
}

/* The orders of one page are those of the model, each at its place. The next cursor in ret. */
static void hold_page(const attempt *a, int seen[MODEL_SEGMENTS], char *ret, size_t len)
{
    const model_sale *sale = current();
    cJSON *json = cJSON_Parse(a->reply.body);
    const cJSON *each;
    if (a->reply.status != 200)
        differ("200", &a->reply);
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(json, "orders")) {
        const model_order *order = model_find(sale, text_of(each, "request"));
        if (!order || !is_order(each, sale, order) || ++seen[order->segment] != order->number)
            differ("another order at its place", &a->reply);
    }
    snprintf(ret, len, "%s", text_of(json, "cursor"));
    cJSON_Delete(json);
}

static void step_ledger(void)
{
    char path[256], cursor[64] = "";
    int seen[MODEL_SEGMENTS] = {0};
    do {
        snprintf(path, sizeof(path), "/orders?item=%s%s%s", now.item, cursor[0] ? "&cursor=" : "",
                 cursor);
        attempt a = {.server = fx.server[0], .method = "GET", .path = path};
        note_step("GET %s", path);
        ask(&a);
        hold_page(&a, seen, cursor, sizeof(cursor));
        if (cursor[0] == '\0' && memcmp(seen, current()->numbers, sizeof(seen)) != 0)
            differ("more orders", &a.reply);
        fx_reply_free(&a.reply);
    } while (cursor[0] != '\0');
}

/* ---- a new sale ------------------------------------------------------------------------------ */

static bool is_in_force(void *arg)
{
    fx_reply reply;
    bool all = true;
    for (int i = 0; all && i < INSTANCES; i++) {
        fx_ask(fx.server[i], &reply, "GET /stock?item=%s", now.item);
        all = strstr(reply.body, arg) != NULL;
        fx_reply_free(&reply);
    }
    return all;
}

/* Starts it at once, or as soon as its replicas are there. */
static bool is_started(void *arg)
{
    model_sale *sale = arg;
    fx_reply reply;
    char more[64] = "";
    if (sale->sharded)
        snprintf(more, sizeof(more), ",'segments':%d", sale->segments);
    else if (sale->limit > 0)
        snprintf(more, sizeof(more), ",'per_user_limit':%d%s", sale->limit,
                 now.strategy->reserves ? ",'reserve_max_s':60" : "");
    fx_ask(fx.server[0], &reply,
           "POST /sales {'item':'%s','strategy':'%s','stock':%d,'durability':'%s'%s}", now.item,
           now.strategy->name, sale->initial, sale->replicated ? "replicated" : "memory", more);
    bool started = reply.status == 201;
    if (started)
        fx_copy_member(reply.body, "sale", sale->id, sizeof(sale->id));
    else if (reply.status != 503 && !strstr(reply.body, "durability_unavailable"))
        differ("201", &reply);
    fx_reply_free(&reply);
    return started;
}

static void step_sale(void)
{
    if (now.count == SALES_MAX)
        return;
    model_sale *sale = &now.sales[now.count];
    *sale = (model_sale){
        .sharded = now.strategy->sharded,
        .replayable = now.strategy->replayable,
        .replicated = strcmp(fx_redis_kind(), "replicas") == 0 && chance(30),
        .initial = below(chance(50) ? 8 : 30),
        .segments = now.strategy->sharded ? 1 + below(MODEL_SEGMENTS) : 1,
        .limit = !now.strategy->sharded && chance(50) ? 1 + below(6) : 0,
    };
    note_step("POST /sales: stock %d, limit %d, segments %d%s", sale->initial, sale->limit,
              sale->segments, sale->replicated ? ", replicated" : "");
    if (!fx_wait_until(is_started, sale, WAIT_MS) || !fx_wait_until(is_in_force, sale->id, WAIT_MS))
        fail_msg("%s, seed %" PRIu64 ": no sale was started", now.strategy->name, seed);
    model_open(sale);
    if (now.count > 0)
        current()->closed = true;
    now.count++;
}

/* ---- a whole sequence ------------------------------------------------------------------------ */

static void step(void)
{
    int which = below(100);
    if (which < 70)
        step_buy();
    else if (which < 82)
        step_question();
    else if (which < 88)
        step_stock();
    else if (which < 92)
        step_ledger();
    else if (which < 95)
        step_nonsense();
    else
        step_sale();
}

/* Each strategy's sequence is its own, so that it is the same without those before it. */
static void begin_strategy(const fx_strategy *strategy, int number, int round)
{
    memset(&now, 0, sizeof(now));
    now.strategy = strategy;
    snprintf(now.item, sizeof(now.item), "%s-%d", strategy->name, round);
    dice = mutate_begin(seed + (uint64_t)number * 1000003u + (uint64_t)round * 7919u);
    step_sale();
}

static void every_answer_is_the_models(void **state)
{
    (void)state;
    const char *steps = getenv("FUZZ_STEPS");
    int usual = steps ? (int)strtol(steps, NULL, 10) : STEPS;
    const fx_strategy *all = fx_strategies();
    for (int n = 0; all[n].name[0] != '\0'; n++) {
        int wanted = all[n].sharded ? 3 * usual : usual; /* it has more to remember */
        for (int done = 0, round = 0; done < wanted; round++) {
            begin_strategy(&all[n], n, round);
            for (; done < wanted && now.steps < STEPS; done++)
                step();
            step_stock();
            step_ledger();
        }
        if (scripts)
            fx_scripts_look(scripts);
    }
}

/* ---- what a sequence without faults does not reach ------------------------------------------- */

/* The latest order is taken back, as a Redis that was restored takes it back: the instance that has
 * sold it halts the sale, and lets it go on when it is told to. */
static void a_lost_order_halts_the_sale(void **state)
{
    (void)state;
    char id[64];
    snprintf(id, sizeof(id), "%s",
             fx_start_sale(fx.server[0], "lost", "'stock':9,'strategy':'atomic'"));
    fx_expect(fx.server[0], 201, "POST /buy?item=lost&user=u1&request=k1");
    fx_expect(fx.server[0], 201, "POST /buy?item=lost&user=u1&request=k2&quantity=2");
    fx_redis_do(fx.redis, "INCRBY fs:{lost}:%s:stock 2", id);
    fx_redis_do(fx.redis, "DECRBY fs:{lost}:%s:sold 2", id);
    fx_redis_do(fx.redis, "HDEL fs:{lost}:%s:orders k2", id);
    fx_redis_do(fx.redis, "RPOP fs:{lost}:%s:ledger", id);
    const char *said =
        fx_refused(fx.server[0], 503, "sale_rolled_back", "POST /buy?item=lost&user=u1&request=k3");
    fx_has(said, "\"lost_orders\":1");
    fx_expect(fx.server[0], 200, "POST /sales/resume {'item':'lost','sale':'%s','lost_orders':1}",
              id);
    said = fx_expect(fx.server[0], 201, "POST /buy?item=lost&user=u1&request=k2&quantity=2");
    fx_has(said, "\"remaining\":6");
}

/* Sections that outlast their lease, in the hope of a renewal; and the feed. */
static bool all_are_called(void *arg)
{
    (void)arg;
    fx_status(fx.server[0], "POST /buy?item=long-watchdog&user=u1");
    fx_status(fx.server[0], "POST /buy?item=long-getset&user=u1");
    fx_status(fx.server[0], "GET /orders?item=long-getset&after=0");
    fx_scripts_look(scripts);
    return !fx_scripts_missing(scripts);
}

static void every_script_was_called(void **state)
{
    (void)state;
    if (!scripts)
        fx_skip("not on %s: one server must see all scripts", fx_redis_kind());
    static const char *const renewing[] = {"watchdog", "getset"};
    for (int i = 0; i < 2; i++) {
        char item[32];
        snprintf(item, sizeof(item), "long-%s", renewing[i]);
        fx_start_sale(fx.server[0], item,
                      "'stock':1000,'strategy':'%s','lease_ms':300,'hold_ms':500", renewing[i]);
        ledger_make_older(item);
    }
    if (!fx_wait_until(all_are_called, NULL, WAIT_MS))
        fail_msg("%s was never called", fx_scripts_missing(scripts));
}

/* ---- the stage ------------------------------------------------------------------------------- */

static int start(void **state)
{
    static char urls[LOCK_SERVERS * 64];
    static const char *args[] = {"--redlock",    urls,      "--rate-user", "1000000",
                                 "--rate-burst", "1000000", NULL};
    for (int i = 0; i < LOCK_SERVERS; i++) {
        size_t len = strlen(urls);
        lock_servers[i] = fx_redis_start_single(NULL);
        snprintf(urls + len, sizeof(urls) - len, "%s%s", i > 0 ? "," : "",
                 fx_redis_tcp_url(lock_servers[i]));
    }
    fx_service_start(state); /* of no instances */
    if (strcmp(fx_redis_kind(), "replicas") == 0)
        scripts = fx_scripts_watch(fx_topology_port(fx_redis_topology(fx.redis), 0), "server");
    for (int i = 0; i < INSTANCES; i++)
        fx.server[i] = fx_server_start(fx_redis_url(fx.redis), args);
    return 0;
}

static int stop(void **state)
{
    fx_service_stop(state);
    fx_scripts_free(scripts);
    for (int i = 0; i < LOCK_SERVERS; i++)
        fx_redis_stop(lock_servers[i]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_answer_is_the_models),
        cmocka_unit_test(a_lost_order_halts_the_sale),
        cmocka_unit_test(every_script_was_called),
    };
    const char *text = getenv("FUZZ_SEED");
    seed = text ? strtoull(text, NULL, 10) : (uint64_t)dlock_now().us;
    print_message("FUZZ_SEED=%" PRIu64 "\n", seed);
    if (fx_is_single()) /* one server, and replicas that durability `replicated` needs */
        setenv("FX_REDIS", "replicas", 1);
    return cmocka_run_group_tests(tests, start, stop);
}
