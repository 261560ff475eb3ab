/*
 * test_reservation_races.c - many reservations whose ends are raced for, at three instances, on a
 * single Redis, behind sentinels with replicas, and on a cluster:
 *
 *     late   confirmed three times at once, within 5 ms of the end: all are told yes, or all that
 *            it is over
 *     both   confirmed and cancelled at once: one is told yes, the other why not
 *     same   confirmed three times at once: the same bytes for all
 *     cut    confirmed or cancelled over connections that break, also the instance's to Redis, and
 *            again until the answer is known
 *
 * All strategies that reserve sell at once. Each answer of GET /stock meanwhile must add up, and in
 * the end the ledger must say of each order what its racers were told.
 *
 * RACES=10000 in the environment is so many on each Redis (default 100); RACE_REDIS=cluster on that
 * one alone. The figures are printed. When a request arrives decides which outcome is right, never
 * whether the test passes.
 */
#include <curl/curl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/e2e/due_jobs.h"
#include "tests/support/proxy.h"
#include "tests/support/raw.h"
#include "tests/support/service.h"

enum {
    WORKERS = 24,
    RUNNERS = 3,     /* in a race, at an instance each */
    ITEMS_MAX = 8,   /* strategies that reserve */
    EVERY_US = 8000, /* a race begins */
    AIM_US = 5000,   /* about the end of a reservation */
    LONG_S = 3000,
    KNOWN_MS = 60000, /* by then every answer is known */
    BREAK_MS = 100,
    BODY = 1024
};

typedef enum kind { LATE, BOTH, SAME, CUT, KINDS } kind;
static const char *const kind_names[] = {"late", "both", "same", "cut"};

typedef struct told {
    int status;
    char body[BODY];
} told;

typedef struct race {
    kind kind;
    int number, item;
    char request[24];
    int64_t expires_us;
    told answers[RUNNERS]; /* what is known in the end */
} race;

static struct {
    char name[ITEMS_MAX][32], sale[ITEMS_MAX][64];
    int count, stock;
} items;

static struct {
    race *all;
    int count;
    atomic_int reserved, confirmed[KINDS], cancelled[KINDS], expired[KINDS];
    atomic_int asked, again, aimed, in_time; /* requests; repeated; of `late`; sent within AIM_US */
    atomic_int samples, odd_samples;
} races;

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t append(char *data, size_t size, size_t count, void *into)
{
    told *t = into;
    size_t have = strlen(t->body), room = sizeof(t->body) - 1 - have;
    size_t more = size * count < room ? size * count : room;
    memcpy(t->body + have, data, more);
    t->body[have + more] = '\0';
    return size * count;
}

/* On a connection that stays open: one a thread and instance. */
static int ask(CURL *curl, const char *method, int at, const char *path, told *ret)
{
    char url[512];
    long status = 0;
    ret->body[0] = '\0';
    snprintf(url, sizeof(url), "%s%s", fx_server_url(fx.server[at]), path);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, 20000L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    atomic_fetch_add(&races.asked, 1);
    return ret->status = (int)status;
}

static bool is_known(int status)
{
    return status != 0 && status < 500 && status != 429;
}

/* Asks until the answer is known, each time another instance. */
static void settle(CURL *curl, int at, const char *path, told *ret)
{
    int64_t end_us = unix_us() + KNOWN_MS * INT64_C(1000);
    for (int i = 0; !is_known(ask(curl, "POST", (at + i) % FX_INSTANCES, path, ret)); i++) {
        if (unix_us() > end_us)
            return;
        atomic_fetch_add(&races.again, 1);
        fx_let_pass(10);
    }
}

/* ---- the races ------------------------------------------------------------------------------- */

static const char *end_of(const race *r, int runner)
{
    bool cancels = (r->kind == BOTH && runner == 1) || (r->kind == CUT && r->number % 2);
    return cancels ? "cancel" : "confirm";
}

static int runners_of(const race *r)
{
    return r->kind == BOTH ? 2 : r->kind == CUT ? 1 : RUNNERS;
}

static void reserve(CURL *curl, race *r)
{
    told t;
    char path[256];
    snprintf(path, sizeof(path), "/buy?item=%s&user=%s&request=%s&reserve_s=%d",
             items.name[r->item], r->request, r->request, r->kind == LATE ? 1 : LONG_S);
    settle(curl, r->number % FX_INSTANCES, path, &t);
    const char *expires = strstr(t.body, "\"expires_us\":");
    if (t.status != 201 || !expires)
        return;
    r->expires_us = strtoll(expires + strlen("\"expires_us\":"), NULL, 10);
    atomic_fetch_add(&races.reserved, 1);
    pthread_mutex_lock(&jobs.lock);
    int64_t together_us = unix_us() + 2000;
    for (int i = 0; i < runners_of(r); i++)
        put(r->kind == LATE ? r->expires_us - AIM_US + drawn(2 * AIM_US) : together_us, r, i);
    pthread_mutex_unlock(&jobs.lock);
}

/* Sends it, and is gone before the answer may have come. */
static void ask_and_hang_up(int at, const char *path)
{
    char request[512];
    int fd = fx_raw_connect(fx_server_port(fx.server[at]), NULL);
    snprintf(request, sizeof(request), "POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n",
             path);
    if (fd >= 0) {
        fx_raw_send(fd, request, strlen(request));
        close(fd);
    }
}

static void run(CURL *curl, race *r, int runner)
{
    char path[256];
    int at = (r->number + runner) % FX_INSTANCES;
    snprintf(path, sizeof(path), "/orders/%s/%s?item=%s&user=%s&sale=%s", r->request,
             end_of(r, runner), items.name[r->item], r->request, items.sale[r->item]);
    int64_t off_us = unix_us() - r->expires_us;
    if (r->kind == LATE) {
        atomic_fetch_add(&races.aimed, 1);
        atomic_fetch_add(&races.in_time, llabs(off_us) <= AIM_US);
    }
    if (r->kind == CUT && r->number / 2 % 2)
        ask_and_hang_up(at, path);
    settle(curl, at, path, &r->answers[runner]);
}

static void *work(void *arg)
{
    job j;
    CURL *curl = curl_easy_init();
    while (next_job(&j)) {
        if (j.runner < 0)
            reserve(curl, j.race);
        else
            run(curl, j.race, j.runner);
        end_job();
    }
    curl_easy_cleanup(curl);
    return arg;
}

/* ---- what must hold meanwhile ---------------------------------------------------------------- */

static atomic_bool watching;

static long long number_in(const char *body, const char *name)
{
    char word[32];
    snprintf(word, sizeof(word), "\"%s\":", name);
    const char *at = strstr(body, word);
    return at ? strtoll(at + strlen(word), NULL, 10) : -1;
}

static void sample(CURL *curl, int item, int at)
{
    told t;
    char path[64];
    snprintf(path, sizeof(path), "/stock?item=%s", items.name[item]);
    if (ask(curl, "GET", at, path, &t) != 200)
        return;
    long long left = number_in(t.body, "remaining"), reserved = number_in(t.body, "reserved"),
              sold = number_in(t.body, "sold");
    atomic_fetch_add(&races.samples, 1);
    if (left < 0 || reserved < 0 || sold < 0 || left + reserved + sold != items.stock ||
        number_in(t.body, "units") != reserved + sold || number_in(t.body, "unordered") != 0 ||
        number_in(t.body, "oversold") != 0) {
        atomic_fetch_add(&races.odd_samples, 1);
        print_message("odd: %s\n", t.body);
    }
}

static void *watch(void *arg)
{
    CURL *curl = curl_easy_init();
    for (int i = 0; atomic_load(&watching); i++) {
        sample(curl, i % items.count, i % FX_INSTANCES);
        fx_let_pass(5);
    }
    curl_easy_cleanup(curl);
    return arg;
}

/* ---- what must hold in the end --------------------------------------------------------------- */

static int violations, broken; /* ...; connections */

static void violated(const race *r, const char *what, const told *a, const told *b)
{
    if (violations++ < 20)
        print_message("%s %s of %s: %s\n  %d %s\n  %d %s\n", kind_names[r->kind], r->request,
                      items.name[r->item], what, a->status, a->body, b ? b->status : 0,
                      b ? b->body : "");
}

static bool has_code(const told *t, const char *code)
{
    return t->status == 409 && strstr(t->body, code);
}

/* What became of the order, by what its racers were told: "sold", "cancelled", "expired". */
static const char *judge(const race *r)
{
    const told *a = r->answers, *b = &a[1], *c = &a[2];
    bool all = r->kind == LATE || r->kind == SAME;
    if (all && (a->status != b->status || a->status != c->status || strcmp(a->body, b->body) != 0 ||
                strcmp(a->body, c->body) != 0))
        violated(r, "told apart", a, a->status != b->status ? b : c);
    if (r->kind == BOTH && a->status == 200 && !has_code(b, "\"order_sold\""))
        violated(r, "confirmed, and cancelled", a, b);
    if (r->kind == BOTH && a->status != 200 &&
        (b->status != 200 || !has_code(a, "\"order_cancelled\"")))
        violated(r, "neither confirmed nor cancelled", a, b);
    bool cancels = strcmp(end_of(r, 0), "cancel") == 0;
    if (a->status == 200)
        return cancels ? "cancelled" : "sold";
    if (r->kind == BOTH)
        return "cancelled";
    if (r->kind != LATE || !has_code(a, "\"reservation_expired\""))
        violated(r, "not known, or another answer", a, NULL);
    return "expired";
}

static void hold_to_ledger(const race *r, const char *state, const char *said)
{
    if (strcmp(state, said) != 0) {
        told t = {0};
        snprintf(t.body, sizeof(t.body), "%s in the ledger, told %s", said, state);
        violated(r, "the ledger has another state", &t, NULL);
    }
}

/* Goes through the ledger of an item: each order as its racers were told, each once. */
static void judge_item(int item, char *seen)
{
    char cursor[64] = "";
    long long states[3] = {0}, orders = 0;
    static const char *const names[] = {"sold", "cancelled", "expired"};
    do {
        cJSON *page = cJSON_Parse(fx_expect(fx.server[0], 200, "GET /orders?item=%s%s%s",
                                            items.name[item], *cursor ? "&cursor=" : "", cursor));
        const cJSON *order;
        cJSON_ArrayForEach(order, cJSON_GetObjectItemCaseSensitive(page, "orders")) {
            const char *request = fx_json_text(order, "request");
            const char *state = fx_json_text(order, "state");
            int n = (int)strtol(request + 1, NULL, 10);
            assert_in_range(n, 0, races.count - 1);
            if (seen[n]++ > 0)
                violated(&races.all[n], "twice in the ledger", races.all[n].answers, NULL);
            hold_to_ledger(&races.all[n], judge(&races.all[n]), state);
            for (int i = 0; i < 3; i++)
                states[i] += strcmp(state, names[i]) == 0;
            orders++;
        }
        const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "cursor");
        snprintf(cursor, sizeof(cursor), "%s", cJSON_IsString(next) ? next->valuestring : "");
        cJSON_Delete(page);
    } while (*cursor);
    const char *stock = fx_expect(fx.server[1], 200, "GET /stock?item=%s", items.name[item]);
    if (number_in(stock, "sold") != states[0] || number_in(stock, "reserved") != 0 ||
        number_in(stock, "remaining") != items.stock - states[0] ||
        number_in(stock, "orders") != orders) {
        violations++;
        print_message("%s: %lld orders, %lld sold; %s\n", items.name[item], orders, states[0],
                      stock);
    }
}

static bool nothing_is_reserved(void *item)
{
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "GET /stock?item=%s", (const char *)item);
    bool none = status == 200 && number_in(reply.body, "reserved") == 0;
    fx_reply_free(&reply);
    return none;
}

static void count(const race *r)
{
    const char *state = judge(r);
    atomic_fetch_add(strcmp(state, "sold") == 0        ? &races.confirmed[r->kind]
                     : strcmp(state, "cancelled") == 0 ? &races.cancelled[r->kind]
                                                       : &races.expired[r->kind],
                     1);
}

/* ---- on one Redis ---------------------------------------------------------------------------- */

static fx_proxy *proxy; /* before a single Redis */

static void start(const char *redis)
{
    bool single = strcmp(redis, "single") == 0;
    setenv("FX_REDIS", redis, 1);
    fx.redis = fx_redis_start(NULL);
    proxy = single ? fx_proxy_start(fx_redis_url(fx.redis)) : NULL;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx.server[i] = fx_server_start(single ? fx_proxy_url(proxy) : fx_redis_url(fx.redis), NULL);
}

static int stop(void **state)
{
    fx_service_stop(state);
    fx_proxy_stop(proxy);
    proxy = NULL;
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    free(races.all);
    free(jobs.heap);
    races.all = NULL;
    jobs.heap = NULL;
    return 0;
}

static bool is_started(void *arg)
{
    fx_reply reply;
    int status = fx_ask(fx.server[0], &reply, "%s", (const char *)arg);
    if (status == 201)
        fx_copy_member(reply.body, "sale", items.sale[items.count], sizeof(items.sale[0]));
    fx_reply_free(&reply);
    return status == 201;
}

/* A sale for each strategy that reserves; behind sentinels its orders are to be on the replicas. */
static void start_sales(const char *redis)
{
    const char *durability = strcmp(redis, "sentinel") == 0 ? "replicated" : "memory";
    items.count = 0;
    items.stock = races.count + 100;
    for (const fx_strategy *s = fx_strategies(); s->name[0] != '\0'; s++) {
        char request[256];
        if (!s->reserves || items.count == ITEMS_MAX)
            continue;
        snprintf(items.name[items.count], sizeof(items.name[0]), "%s", s->name);
        snprintf(request, sizeof(request),
                 "POST /sales {'item':'%s','stock':%d,'strategy':'%s','per_user_limit':1,"
                 "'reserve_max_s':%d,'durability':'%s'}",
                 s->name, items.stock, s->name, LONG_S, durability);
        if (!fx_wait_until(is_started, request, KNOWN_MS)) /* the replicas are seen */
            fail_msg("%s was not started", request);
        items.count++;
    }
    assert_true(items.count > 0);
    for (int i = 0; i < items.count; i++)
        fx_wait_in_force(items.name[i], items.sale[i]);
}

/* Breaks the instances' connections to Redis, now and then behind what has been written. */
static void break_connections(void)
{
    if (proxy)
        fx_proxy_say(proxy, "reset after 50%% match script note_move");
    while (!fx_wait_until(are_over, NULL, BREAK_MS)) {
        if (!proxy)
            broken += (int)fx_redis_number(fx.redis, "CLIENT KILL TYPE normal");
    }
    if (proxy) {
        fx_proxy_say(proxy, "heal");
        broken += (int)fx_proxy_count(proxy, "resets");
    }
}

/* The races from one to another, at their pace. */
static void hold(int from, int to, bool breaking)
{
    pthread_t workers[WORKERS], watcher;
    pthread_mutex_lock(&jobs.lock);
    for (int i = from; i < to; i++)
        put(unix_us() + (int64_t)(i - from) * EVERY_US, &races.all[i], -1);
    pthread_mutex_unlock(&jobs.lock);
    atomic_store(&watching, true);
    assert_int_equal(pthread_create(&watcher, NULL, watch, NULL), 0);
    for (int i = 0; i < WORKERS; i++)
        assert_int_equal(pthread_create(&workers[i], NULL, work, NULL), 0);
    if (breaking)
        break_connections();
    for (int i = 0; i < WORKERS; i++)
        pthread_join(workers[i], NULL);
    atomic_store(&watching, false);
    pthread_join(watcher, NULL);
}

static void make_races(int number)
{
    memset(&races, 0, sizeof(races));
    races.count = number;
    races.all = calloc((size_t)number, sizeof(*races.all));
    jobs.heap = calloc((size_t)number * (RUNNERS + 1), sizeof(*jobs.heap));
    jobs.count = jobs.running = 0;
    violations = broken = 0;
}

static void judge_all(void)
{
    char *seen = calloc((size_t)races.count, 1);
    for (int i = 0; i < items.count; i++) {
        assert_true(fx_wait_until(nothing_is_reserved, items.name[i], KNOWN_MS));
        judge_item(i, seen);
    }
    for (int i = 0; i < races.count; i++) {
        if (seen[i] != 1)
            violated(&races.all[i], "not in the ledger", races.all[i].answers, NULL);
        count(&races.all[i]);
    }
    free(seen);
}

static void print_figures(const char *redis, int64_t took_us)
{
    print_message("%s: %d races in %.1f s, %d requests, %d of them again; %d of %d sent within %d "
                  "ms of the end; %d connections broken; %d looks at the stock, %d odd; %d "
                  "violations\n",
                  redis, races.count, (double)took_us / 1e6, races.asked, races.again,
                  races.in_time, races.aimed, AIM_US / 1000, broken, races.samples,
                  races.odd_samples, violations);
    for (int k = 0; k < KINDS; k++)
        print_message("  %s: %d sold, %d cancelled, %d expired\n", kind_names[k],
                      races.confirmed[k], races.cancelled[k], races.expired[k]);
}

static void race_on(const char *redis)
{
    const char *said = getenv("RACES"), *only = getenv("RACE_REDIS");
    if (only && strcmp(only, redis) != 0)
        fx_skip("only on %s", only);
    start(redis);
    make_races(said ? (int)strtol(said, NULL, 10) : 100);
    start_sales(redis);
    int sound = races.count - races.count / KINDS;
    for (int i = 0; i < races.count; i++) {
        race *r = &races.all[i];
        r->kind = i < sound ? (kind)(i % CUT) : CUT;
        r->number = i;
        r->item = i / KINDS % items.count;
        snprintf(r->request, sizeof(r->request), "r%d", i);
    }
    int64_t began_us = unix_us();
    hold(0, sound, false);
    hold(sound, races.count, true);
    int64_t took_us = unix_us() - began_us;
    judge_all();
    print_figures(redis, took_us);
    assert_int_equal(races.reserved, races.count);
    assert_int_equal(violations, 0);
    assert_int_equal(races.odd_samples, 0);
    assert_true(races.samples > 0);
}

static void each_is_won_once_on_one_server(void **state)
{
    (void)state;
    race_on("single");
}

static void each_is_won_once_behind_sentinels(void **state)
{
    (void)state;
    race_on("sentinel");
}

static void each_is_won_once_on_a_cluster(void **state)
{
    (void)state;
    race_on("cluster");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(each_is_won_once_on_one_server, stop),
        cmocka_unit_test_teardown(each_is_won_once_behind_sentinels, stop),
        cmocka_unit_test_teardown(each_is_won_once_on_a_cluster, stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
