/*
 * test_keeper.c - a Redis that changes under the service: what the instance says of it, in Redis's
 * own words, that it sells nothing it can not stand by, and that it goes on when all is well again.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "server/sale/keeper.h"
#include "tests/support/proxy.h"
#include "tests/support/service.h"

enum {
    NOTICED_MS = 10000, /* a second is promised; a busy machine may take its time */
    RESTARTS = 5
};

/* ---- waiting for an answer ------------------------------------------------------------------- */

static void await(fx_server *server, const char *request, int status, const char *part)
{
    fx_await(server, request, status, part, NOTICED_MS);
}

static void await_ready(fx_server *server)
{
    await(server, "GET /readyz", 200, "ready\n");
}

/* Lines of the instance's log with this event. */
static int logged(fx_server *server, const char *event)
{
    char text[64];
    int count = 0;
    snprintf(text, sizeof(text), "\"event\":\"%s\"", event);
    for (const char *at = fx_process_stderr(fx_server_process(server)); (at = strstr(at, text));
         at += strlen(text))
        count++;
    return count;
}

/* The servers of this form of Redis; what is wrong with each is logged once. */
static int servers(void)
{
    return strcmp(fx_redis_kind(), "cluster") == 0 ? 3 : 1;
}

/* ---- eviction -------------------------------------------------------------------------------- */

static const char *const evicting[] = {"allkeys-lru", "volatile-lru", "volatile-ttl"};

static void nothing_is_started_or_sold_where_keys_may_be_evicted(void **state)
{
    (void)state;
    fx_server *server = fx.server[0];
    fx_start_sale(server, "E1", "'stock':100000,'strategy':'atomic'");
    fx_expect(server, 201, "POST /buy?item=E1&user=u1&request=e1");
    for (size_t i = 0; i < COUNT(evicting); i++) {
        fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy %s", evicting[i]);
        fx_refused(server, 409, "store_may_evict", "POST /sales {'item':'E2','stock':5}");
        await(server, "POST /buy?item=E1&user=u1", 503, "\"code\":\"store_may_evict\"");
        await(server, "GET /readyz", 503, "\"code\":\"store_may_evict\"");
        fx_has(fx_expect(server, 503, "GET /readyz"), evicting[i]);
        fx_expect(server, 201, "POST /buy?item=E1&user=u1&request=e1"); /* it has its order */
        fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy noeviction");
        await(server, "POST /buy?item=E1&user=u1", 201, "");
        await_ready(server);
    }
    assert_in_range(logged(server, "store_may_evict"), 3,
                    3 * servers()); /* one may be looked at late */
}

static void a_sale_is_not_joined_where_keys_may_be_evicted(void **state)
{
    (void)state;
    char program[512];
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy allkeys-random");
    fx_process *process = fx_spawn(FX_ARGS(fx_build_path("flashsale", program, sizeof(program)),
                                           "--listen", "127.0.0.1:0", "--redis",
                                           fx_redis_url(fx.redis), "--item", "E1", "--stock", "50"),
                                   true);
    int code = fx_process_wait(process, 20000);
    fx_has(fx_process_stderr(process), "maxmemory-policy is 'allkeys-random'");
    fx_process_free(process);
    assert_int_equal(code, 1);

    fx_server *told =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--allow-eviction", "yes", "--item", "E1",
                                                        "--stock", "50", "--drain-delay", "0"));
    fx_expect(told, 201, "POST /buy?item=E1&user=u1");
    fx_expect(told, 200, "GET /readyz");
    assert_in_range(logged(told, "eviction_allowed"), 1, servers());
    fx_server_stop(told);
    fx_redis_do(fx.redis, "CONFIG SET maxmemory-policy noeviction");
    await_ready(fx.server[0]);
}

/* ---- durability ------------------------------------------------------------------------------ */

static void disk_is_kept_or_not_sold_from(void **state)
{
    (void)state;
    static const char *const settings[][3] = {{"appendfsync", "everysec", "always"},
                                              {"no-appendfsync-on-rewrite", "yes", "no"},
                                              {"appendonly", "no", "yes"}};
    static const char buy[] = "POST /buy?item=D1&user=u1";
    fx_redis *durable = fx_redis_start(FX_ARGS("--appendonly", "yes", "--appendfsync", "always"));
    fx_server *server = fx_server_start(fx_redis_url(durable), NULL);
    for (size_t i = 0; i < COUNT(settings); i++) {
        const char *const *s = settings[i];
        fx_redis_do(durable, "CONFIG SET %s %s", s[0], s[1]);
        fx_refused(server, 409, "durability_unavailable",
                   "POST /sales {'item':'D1','stock':5,'durability':'disk'}");
        fx_redis_do(durable, "CONFIG SET %s %s", s[0], s[2]);
        await(server, "POST /sales {'item':'D1','stock':100000,'durability':'disk'}", 201, "");
        await(server, "POST /buy?item=D1&user=u1&request=d1", 201, "");
        size_t before = (size_t)logged(server, "durability_lost"); /* it may have been seen above */

        fx_redis_do(durable, "CONFIG SET %s %s", s[0], s[1]);
        await(server, buy, 503, "\"code\":\"durability_lost\"");
        await(server, "GET /readyz", 503, "\"code\":\"durability_lost\"");
        fx_expect(server, 201, "POST /buy?item=D1&user=u1&request=d1");
        assert_in_range(logged(server, "durability_lost"), before + 1, before + (size_t)servers());

        /* What needs no disk is sold, and the instance is ready, and names what it does not sell.
         */
        fx_start_sale(server, "D2", "'stock':5");
        fx_expect(server, 201, "POST /buy?item=D2&user=u1");
        fx_has(fx_expect(server, 200, "GET /readyz"), "not sold: D1 durability_lost");
        fx_redis_do(durable, "CONFIG SET %s %s", s[0], s[2]);
        await(server, buy, 201, "");
        fx_start_sale(server, "D2", "'stock':5,'durability':'disk'"); /* nothing is sold again */
        await_ready(server);
    }
    fx_server_kill(server);
    fx_redis_stop(durable);
}

/* ---- refusals -------------------------------------------------------------------------------- */

/* Each makes Redis refuse the writes that sell, and takes it back. */
static const struct refusal {
    const char *word; /* in Redis's answer */
    const char *begin, *end;
} refusals[] = {
    {"OOM", "CONFIG SET maxmemory 1", "CONFIG SET maxmemory 0"},
    {"READONLY", "REPLICAOF 127.0.0.1 1", "REPLICAOF NO ONE"},
    {"NOREPLICAS", "CONFIG SET min-replicas-to-write 9", "CONFIG SET min-replicas-to-write 0"},
    {"NOPERM", "ACL SETUSER default -rpush", "ACL SETUSER default +rpush"},
    {"NOPERM", "ACL SETUSER default -eval -evalsha", "ACL SETUSER default +eval +evalsha"},
};

static void what_redis_refuses_is_said_in_its_words(void **state)
{
    (void)state;
    char word[64];
    int told = 0;
    fx_start_sale(fx.server[0], "R1", "'stock':100000,'strategy':'atomic'");
    fx_start_sale(fx.server[0], "R2", "'stock':100000,'strategy':'combined'");
    for (size_t i = 0; i < COUNT(refusals); i++) {
        const struct refusal *r = &refusals[i];
        if (strstr(r->begin, "REPLICAOF") && !fx_is_single())
            continue; /* who is the primary is the topology's affair */
        told++;
        snprintf(word, sizeof(word), "\"redis\":\"%s\"", r->word);
        fx_redis_do(fx.redis, r->begin);
        await(fx.server[0], "GET /readyz", 503, word);
        fx_has(fx_expect(fx.server[0], 503, "GET /readyz"), "\"code\":\"store_unavailable\"");
        fx_has(fx_refused(fx.server[0], 503, "store_unavailable", "POST /buy?item=R1&user=u1"),
               word);
        fx_has(fx_refused(fx.server[0], 503, "store_unavailable", "POST /buy?item=R2&user=u1"),
               word);
        fx_redis_do(fx.redis, r->end);
        await_ready(fx.server[0]);
        await(fx.server[0], "POST /buy?item=R1&user=u1", 201, "");
    }
    assert_in_range(logged(fx.server[0], "redis_refuses"), told, told * servers());
}

/* It answers nothing then, which says nothing of its settings. */
static void a_busy_redis_is_not_taken_for_one_that_evicts(void **state)
{
    (void)state;
    int sent = 0, before = logged(fx.server[0], "store_may_evict");
    fx_only_single("its other servers are not busy");
    fx_start_sale(fx.server[0], "B1", "'stock':100000,'strategy':'combined'");
    fx_redis_do(fx.redis, "CONFIG SET busy-reply-threshold 1");
    redisContext *busy = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    redisAppendCommand(busy, "EVAL %s 0", "while true do end");
    while (!sent)
        assert_int_equal(redisBufferWrite(busy, &sent), REDIS_OK);
    await(fx.server[0], "GET /readyz", 503, "\"redis\":\"BUSY\"");
    fx_has(fx_refused(fx.server[0], 503, "store_unavailable", "POST /buy?item=B1&user=u1"), "BUSY");
    fx_redis_do(fx.redis, "SCRIPT KILL");
    await_ready(fx.server[0]);
    redisFree(busy);
    await(fx.server[0], "POST /buy?item=B1&user=u1", 201, "");
    assert_int_equal(logged(fx.server[0], "store_may_evict"), before);
}

/* Rights that strategies without a lock do not need, or that go without saying until one is lost.
 */
static void a_right_that_only_some_need_is_missed(void **state)
{
    (void)state;
    static const char *const rights[] = {"pexpire", "evalsha"};
    for (int i = 0; i < 2; i++) {
        fx_redis_do(fx.redis, "ACL SETUSER default -%s", rights[i]);
        await(fx.server[0], "GET /readyz", 503, "\"redis\":\"NOPERM\"");
        fx_redis_do(fx.redis, "ACL SETUSER default +%s", rights[i]);
        await_ready(fx.server[0]);
    }
}

/* What only starts, halts and reads orders, is a hint that may be lost, or concerns locks of
 * several holders, which nothing is sold under. */
static const char *const excused[] = {
    "EXPIRE", "HGETALL",     "HKEYS",  "PUBLISH", "SPUBLISH",         "TYPE",   "ZADD",
    "ZCARD",  "ZRANDMEMBER", "ZCOUNT", "ZRANGE",  "ZREMRANGEBYSCORE", "ZSCORE", "ZREM"};

static void the_probe_knows_what_the_scripts_use(void **state)
{
    (void)state;
    char names[4096] = "", probe[4096] = "", command[64], word[80];
    FILE *file = popen("grep -oh \"'[A-Z][A-Z]*'\" server/store/probe.lua", "r");
    assert_non_null(file);
    assert_true(fread(probe, 1, sizeof(probe) - 1, file) > 0);
    pclose(file);
    file = popen("cat server/*/*.lua lock/kinds/*.lua lock/extras/*.lua | "
                 "grep -o \"call('[A-Z]*'\\|ask('[a-z]*', '[A-Z]*'\\|may('[A-Z]*'\" | grep -o "
                 "\"[A-Z][A-Z]*\" | sort -u",
                 "r");
    assert_non_null(file);
    int count = 0;
    for (; fgets(command, sizeof(command), file); count++) {
        bool is_excused = false;
        command[strcspn(command, "\n")] = '\0';
        for (size_t i = 0; i < COUNT(excused); i++)
            is_excused = is_excused || strcmp(excused[i], command) == 0;
        snprintf(word, sizeof(word), "'%s'", command);
        if (!is_excused && strstr(probe, word) == NULL)
            snprintf(names + strlen(names), sizeof(names) - strlen(names), " %s", command);
    }
    pclose(file);
    assert_true(count > 20);
    if (names[0] != '\0')
        fail_msg("server/store/probe.lua does not ask for%s", names);
}

/* ---- damage ---------------------------------------------------------------------------------- */

static void some_damaged_are_named_and_all_damaged_are_not_ready(void **state)
{
    (void)state;
    char sales[2][64];
    fx_redis *redis = fx_redis_start(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    snprintf(sales[0], 64, "%s", fx_start_sale(server, "X1", "'stock':100000"));
    snprintf(sales[1], 64, "%s", fx_start_sale(server, "X2", "'stock':100000,'strategy':'none'"));
    await_ready(server);
    fx_redis_do(redis, "RENAME fs:{X1}:%s:sold {X1}", sales[0]); /* nobody has to buy to find it */
    await(server, "GET /readyz", 200, "not sold: X1 sale_damaged");
    fx_redis_do(redis, "RENAME fs:{X2}:%s:stock {X2}", sales[1]);
    fx_redis_do(redis, "RPUSH fs:{X2}:%s:stock 1", sales[1]); /* a wrong type */
    await(server, "GET /readyz", 503, "\"code\":\"sale_damaged\"");
    fx_redis_do(redis, "RENAME {X2} fs:{X2}:%s:stock", sales[1]);
    await(server, "GET /readyz", 200, "not sold: X1 sale_damaged");
    fx_redis_do(redis, "RENAME {X1} fs:{X1}:%s:sold", sales[0]);
    await(server, "POST /buy?item=X1&user=u1", 201, "");
    await(server, "GET /readyz", 200, "ready\n");
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* No order of the items is promised. */
static void each_item_that_is_not_sold_has_its_own_reason(void **state)
{
    (void)state;
    static const char damaged[] = "{\"item\":\"Y1\",\"code\":\"sale_damaged\"}";
    static const char strange[] = "{\"item\":\"Y2\",\"code\":\"sale_unreadable\"}";
    char sale[64], code[64];
    fx_redis *redis = fx_redis_start(NULL);
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(server, "Y1", "'stock':100000"));
    fx_redis_do(redis, "HSET fs:{Y2}:06ffffffffffff:cfg schema 99");
    fx_redis_do(redis, "SET fs:{Y2}:sale 06ffffffffffff");
    fx_refused(server, 503, "sale_unreadable", "GET /stock?item=Y2"); /* it knows of it */
    await(server, "GET /readyz", 200, "ready\nnot sold: Y2 sale_unreadable\n");
    fx_redis_do(redis, "RENAME fs:{Y1}:%s:sold {Y1}", sale);
    await(server, "GET /readyz", 503, damaged);
    const char *said = fx_expect(server, 503, "GET /readyz");
    fx_has(said, strange);
    const char *first = strstr(strstr(said, "\"items\":["), "\"code\":");
    snprintf(code, sizeof(code), "%.*s", (int)strcspn(first, "}"), first);
    assert_ptr_equal(strstr(said, code), strstr(said, "\"code\":")); /* the first one's */
    fx_server_kill(server);
    fx_redis_stop(redis);
}

/* ---- a sale that Redis has forgotten --------------------------------------------------------- */

/* Instances that have never sold in it can not open it, and yet know that it is not to be sold. */
static void a_forgotten_sale_is_not_ready_where_nobody_has_sold_it(void **state)
{
    (void)state;
    static const char buy[] = "POST /buy?item=F1&user=u1";
    char sale[64];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_server *witness = fx_server_start(fx_redis_url(redis), NULL);
    snprintf(sale, sizeof(sale), "%s", fx_start_sale(witness, "F1", "'stock':50"));
    fx_expect(witness, 201, buy);
    fx_redis_do(redis, "FLUSHALL");
    await(witness, buy, 503, "\"code\":\"sale_rolled_back\"");

    fx_server *asked = fx_server_start(fx_redis_url(redis), FX_ARGS("--drain-delay", "0"));
    fx_server *told = fx_server_start(
        fx_redis_url(redis), FX_ARGS("--item", "F1", "--stock", "50", "--drain-delay", "0"));
    await(told, "GET /readyz", 503, "\"code\":\"sale_rolled_back\"");
    fx_refused(asked, 503, "sale_rolled_back", "%s", buy);
    await(asked, "GET /readyz", 503, "\"code\":\"sale_rolled_back\"");

    fx_redis_signal(redis, SIGSTOP); /* nobody has to ask Redis for that */
    fx_refused(told, 503, "sale_rolled_back", "%s", buy);
    fx_refused(asked, 503, "sale_rolled_back", "%s", buy);
    fx_redis_signal(redis, SIGCONT);

    fx_start_sale(witness, "F2", "'stock':50");
    fx_server *all[] = {witness, asked, told};
    for (size_t i = 0; i < COUNT(all); i++) {
        await(all[i], "POST /buy?item=F2&user=u1", 201, "");
        await(all[i], "GET /readyz", 200, "not sold: F1 sale_rolled_back");
        assert_int_equal(logged(all[i], "sale_halted"), 1);
        assert_int_equal(logged(all[i], "sale_not_opened"), 0);
    }
    fx_expect(asked, 201, "POST /sales {'item':'F1','stock':50,'replaces':'%s'}", sale);
    for (size_t i = 0; i < COUNT(all); i++) {
        await(all[i], buy, 201, "");
        await(all[i], "GET /readyz", 200, "ready\n");
        assert_null(strstr(fx_expect(all[i], 200, "GET /readyz"), "not sold"));
        fx_server_kill(all[i]);
    }
    fx_redis_stop(redis);
}

/* ---- another run ----------------------------------------------------------------------------- */

/* Buys until that is possible again. How often it was told that the server is not admitted. */
static int buy_until_sold(fx_server *server)
{
    int declined = 0, status = 0;
    dlock_time deadline = dlock_in_ms(NOTICED_MS);
    while (status != 201 && !dlock_passed(deadline)) {
        fx_reply reply;
        status = fx_ask(server, &reply, "POST /buy?item=N1&user=u1");
        bool says = strstr(reply.body, "\"redis\":\"NOTADMITTED\"") != NULL;
        if (says) {
            fx_assert_problem("POST /buy", &reply, 503, "store_unavailable");
            assert_null(strstr(reply.body, "did not answer"));
            fx_has(reply.body, "nothing was bought");
            declined++;
        }
        fx_reply_free(&reply);
    }
    assert_int_equal(status, 201);
    return declined;
}

static void a_server_that_is_compared_first_is_not_called_silent(void **state)
{
    (void)state;
    fx_redis *redis =
        fx_redis_start_single(FX_ARGS("--appendonly", "yes", "--appendfsync", "always"));
    fx_server *server = fx_server_start(fx_redis_url(redis), NULL);
    fx_start_sale(server, "N1", "'stock':100000,'strategy':'atomic'");
    int declined = 0;
    for (int i = 0; i < RESTARTS && declined == 0; i++) { /* that lasts a second each time */
        fx_redis_restart(redis);
        declined = buy_until_sold(server);
    }
    assert_true(declined > 0);
    fx_server_kill(server);
    fx_redis_stop(redis);
}

static bool password_is_logged(void *process)
{
    return strstr(fx_process_stderr(process), "\"event\":\"redis_lost\",\"redis\":\"WRONGPASS\"");
}

static void a_wrong_password_is_said(void **state)
{
    (void)state;
    char url[512], program[512], listen[64];
    snprintf(listen, sizeof(listen), "127.0.0.1:%d", fx_free_port());
    fx_redis_url_as(fx.redis, "somebody:wrong", url, sizeof(url));
    fx_process *process =
        fx_spawn(FX_ARGS(fx_build_path("flashsale", program, sizeof(program)), "--listen", listen,
                         "--redis", url, "--item", "W1", "--stock", "1"),
                 true);
    snprintf(url, sizeof(url), "http://%s/readyz", listen);
    fx_reply reply = {.status = 0};
    dlock_time deadline = dlock_in_ms(NOTICED_MS);
    while (fx_http("GET", url, NULL, NULL, 5000, &reply) != 503 && !dlock_passed(deadline))
        fx_reply_free(&reply);
    fx_assert_problem("GET /readyz", &reply, 503, "store_unavailable");
    fx_has(reply.body, "\"redis\":\"WRONGPASS\"");
    fx_has(reply.body, "WRONGPASS invalid username-password pair");
    assert_true(fx_wait_until(password_is_logged, process, NOTICED_MS)); /* a moment later */
    fx_reply_free(&reply);
    fx_process_free(process);
}

static void silence_is_said_soon(void **state)
{
    (void)state;
    fx_redis_signal(fx.redis, SIGSTOP);
    await(fx.server[0], "GET /readyz", 503, "\"redis\":\"no_answer\"");
    fx_has(fx_refused(fx.server[0], 503, "store_unavailable", "POST /buy?item=silent&user=u1"),
           "\"redis\":\"no_answer\"");
    fx_redis_signal(fx.redis, SIGCONT);
    await_ready(fx.server[0]);
}

/* ---- the first look -------------------------------------------------------------------------- */

enum { LOOKS = 6, LONG_MS = 60000 };

typedef struct waiter {
    keeper *k;
    atomic_bool done;
} waiter;

static void *wait_for_look(void *arg)
{
    waiter *w = arg;
    keeper_wait(w->k, dlock_in_ms(LONG_MS));
    atomic_store(&w->done, true);
    return NULL;
}

static bool is_done(void *w)
{
    return atomic_load(&((waiter *)w)->done);
}

static bool was_often_cut(void *proxy)
{
    return fx_proxy_count(proxy, "resets") >= LOOKS;
}

/* Looks whose question `what` is cut off are none, however many, although Redis is there. */
static void expect_no_look_without(const char *what)
{
    char err[256];
    fs_store store;
    pthread_t thread;
    sale_halt halt = {.sale = "00000000000001", .why = "gone"};
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
    assert_int_equal(store_open(&store, fx_proxy_url(proxy), NULL, "i", err, sizeof(err)), 0);
    sale_table *sales = sale_table_open(&store);
    /* so that there is an item to be looked at */
    sale_table_change(sales, "K1", &(sale_news){.event = EVENT_HALTED, .halt = &halt});
    fx_proxy_say(proxy, "reset before match %s", what);
    waiter w = {.k = keeper_start(&store, sales)};
    assert_int_equal(pthread_create(&thread, NULL, wait_for_look, &w), 0);
    bool cut = fx_wait_until(was_often_cut, proxy, LONG_MS / 2), early = is_done(&w);
    fx_proxy_say(proxy, "heal");
    bool looked = fx_wait_until(is_done, &w, LONG_MS / 2);
    pthread_join(thread, NULL);
    keeper_stop(w.k);
    sale_table_close(sales);
    store_close(&store);
    fx_proxy_stop(proxy);
    fx_redis_stop(redis);
    if (!cut || early || !looked)
        fail_msg("%s: %s", what, !cut ? "not asked" : early ? "taken for a look" : "no look");
}

static void who_waits_for_a_look_waits_until_all_was_answered(void **state)
{
    (void)state;
    expect_no_look_without("persistence");
    expect_no_look_without("fs:{K1}:sale");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_started_or_sold_where_keys_may_be_evicted),
        cmocka_unit_test(a_sale_is_not_joined_where_keys_may_be_evicted),
        cmocka_unit_test(disk_is_kept_or_not_sold_from),
        cmocka_unit_test(what_redis_refuses_is_said_in_its_words),
        cmocka_unit_test(a_busy_redis_is_not_taken_for_one_that_evicts),
        cmocka_unit_test(a_right_that_only_some_need_is_missed),
        cmocka_unit_test(the_probe_knows_what_the_scripts_use),
        cmocka_unit_test(some_damaged_are_named_and_all_damaged_are_not_ready),
        cmocka_unit_test(each_item_that_is_not_sold_has_its_own_reason),
        cmocka_unit_test(a_forgotten_sale_is_not_ready_where_nobody_has_sold_it),
        cmocka_unit_test(a_server_that_is_compared_first_is_not_called_silent),
        cmocka_unit_test(a_wrong_password_is_said),
        cmocka_unit_test(silence_is_said_soon),
        cmocka_unit_test(who_waits_for_a_look_waits_until_all_was_answered),
    };
    return fx_run(tests, .instances = 1);
}
