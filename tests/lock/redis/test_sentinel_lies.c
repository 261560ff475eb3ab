/*
 * Sentinels that lie, are out of date, silent or no sentinels at all (fake_sentinels.h).
 */
#include "tests/lock/redis/fake_sentinels.h"
#include "tests/support/patience.h"

/* ---- lies ------------------------------------------------------------------------------------ */

static void a_liar_is_outvoted_whatever_its_epoch(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1000});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

static void one_sentinel_has_one_vote(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1, .id = "same"});
    tell(1, (story){.port = port_of(1), .epoch = 1, .id = "same"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

/* The id of another, which is in everybody's list, takes that one's vote from nobody. */
static void a_liar_takes_no_vote_from_another(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1000, .id = "id1"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

static void of_two_equals_the_later_failover_counts(void **state)
{
    (void)state;
    tell(1, (story){.port = port_of(1), .epoch = 4});
    dlock_redis *redis = open_first(2);
    assert_leads_to(redis, 1);
    dlock_redis_close(redis);
}

/* Nobody knows one, none is there, or it has become a replica and they do not agree on the new one
 * as yet. */
static void without_a_master_the_reason_is_told(void **state)
{
    (void)state;
    const struct {
        int port;
        const char *why;
    } table[] = {
        {0, "the sentinels know no master called 'mymaster'"},
        {1, "127.0.0.1:1, which the sentinels name as master: can not connect to Redis: "},
        {port_of(2), "which the sentinels name as master, is none"},
    };
    for (size_t k = 0; k < COUNT(table); k++) {
        for (int i = 0; i < 3; i++)
            tell(i, (story){.port = table[k].port, .epoch = 4});
        dlock_redis *redis = open_first(3);
        assert_fails(redis, table[k].why);
        for (int i = k ? 0 : 2; i < 3; i++) /* SENTINEL MONITOR, so far on one of them */
            tell(i, (story){.port = port_of(0), .epoch = 5});
        assert_true(soon_leads_to(redis, 0));
        dlock_redis_close(redis);
    }
}

/* Several looks, of which the sentinel with this number is asked. */
static void doubt_often(dlock_redis *redis, int sentinel)
{
    int before = atomic_load(&fakes[sentinel].questions);
    for (int i = 0; i < 20 || atomic_load(&fakes[sentinel].questions) < before + 8; i++) {
        dlock_topology_doubt(redis->topology);
        assert_leads_to(redis, 0);
    }
}

/* The others are gone; this one was cut off before the last failover. */
static void a_minority_leads_forward_but_not_back(void **state)
{
    (void)state;
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    tell(0, (story){.gone = true});
    tell(1, (story){.gone = true});
    tell(2, (story){.port = port_of(1), .epoch = 2});
    doubt_often(redis, 2);
    tell(2, (story){.port = port_of(1), .epoch = 4});
    dlock_topology_doubt(redis->topology);
    assert_true(soon_leads_to(redis, 1));
    dlock_redis_close(redis);
}

/* ---- silence and nonsense -------------------------------------------------------------------- */

/* To wait for a silent one would cost its whole limit, 1,000 ms. */
static void a_silent_sentinel_costs_little(void **state)
{
    (void)state;
    int64_t best_ms = INT64_MAX;
    tell(0, (story){.raw = ""});
    for (int i = 0; i < 5 && best_ms > 600; i++) {
        dlock_time start = dlock_now();
        dlock_redis *redis = open_first(3);
        assert_leads_to(redis, 0);
        int64_t took_ms = (dlock_now().us - start.us) / 1000;
        best_ms = took_ms < best_ms ? took_ms : best_ms;
        dlock_redis_close(redis);
    }
    print_message("with a silent sentinel: %d ms\n", (int)best_ms);
    assert_true(best_ms <= 600);
}

/* What was asked must have been given up, also by the threads, when close returns. */
static void silent_sentinels_do_not_hold_up_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        tell(i, (story){.raw = ""});
    dlock_redis *redis = open_first(3);
    assert_fails(redis, "no sentinel answers");
    dlock_time start = dlock_now();
    dlock_redis_close(redis);
    int took_ms = (int)((dlock_now().us - start.us) / 1000);
    print_message("closed after %d ms\n", took_ms);
    assert_true(took_ms < fx_patient_ms(5000));
}

static void nonsense_is_no_answer(void **state)
{
    (void)state;
    static const char no_sentinel[] =
        "-ERR unknown command 'AUTH', with args beginning with: '" SECRET "'\r\n";
    static char long_host[400];
    memset(long_host, 'h', sizeof(long_host) - 1);
    const char *const raws[] = {
        "+OK\r\n",
        ":1\r\n",
        "*0\r\n",
        "*1\r\n$9\r\n127.0.0.1\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$3\r\nabc\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$2\r\n-1\r\n",
        "*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
        "*2\r\n*0\r\n*0\r\n",
        "*2\r\n$-1\r\n$-1\r\n",
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n2\r\n",
        no_sentinel,
        "-NOAUTH Authentication required.\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "$99999999999\r\n",
    };
    for (size_t i = 0; i < COUNT(raws); i++) {
        for (int k = 0; k < 3; k++)
            tell(k, (story){.raw = raws[i]});
        dlock_redis *redis = open_first(3);
        assert_fails(redis, "no sentinel answers: 127.0.0.1:");
        tell(1, (story){.port = port_of(0)}); /* one is well again */
        assert_true(soon_leads_to(redis, 0));
        dlock_redis_close(redis);
    }
    for (int k = 0; k < 3; k++)
        tell(k, (story){.host = long_host, .port = 1});
    dlock_redis *redis = open_first(3);
    assert_fails(redis, "no sentinel answers: 127.0.0.1:");
    dlock_redis_close(redis);
}

static void a_master_may_be_named_by_a_host_name(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        tell(i, (story){.host = "localhost", .port = port_of(0)});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

/* ---- news, and further sentinels ------------------------------------------------------------- */

static bool is_watched(void *arg)
{
    const fake *f = arg;
    bool any = false;
    for (int i = 0; i < f->clients_len; i++)
        any = any || f->subscribed[i];
    return any;
}

static void announce(int number)
{
    static const char message[] = "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$3\r\nyes\r\n";
    const fake *f = &fakes[number];
    for (int i = 0; i < f->clients_len; i++)
        if (f->subscribed[i])
            assert_true(send(f->clients[i], message, strlen(message), MSG_NOSIGNAL) > 0);
}

static void assert_news_lead_to(dlock_redis *redis, int server)
{
    assert_true(fx_wait_until(is_watched, &fakes[1], SOON_MS));
    for (int i = 0; i < SENTINELS; i++)
        if (!stories[i].gone)
            tell(i, (story){.port = port_of(server), .epoch = 9});
    dlock_time start = dlock_now();
    announce(1);
    assert_true(soon_leads_to(redis, server));
    print_message("followed after %d ms\n", (int)((dlock_now().us - start.us) / 1000));
}

/* Without the message a look would follow after 5 s; so one of three switches must be sooner. */
static void a_message_is_followed_at_once(void **state)
{
    (void)state;
    bool soon = false;
    for (int i = 0; i < 3 && !soon; i++) {
        for (int k = 0; k < SENTINELS; k++)
            tell(k, (story){.port = port_of(0), .epoch = 3});
        dlock_redis *redis = open_first(3);
        assert_leads_to(redis, 0);
        dlock_time start = dlock_now();
        assert_news_lead_to(redis, 1);
        soon = dlock_now().us - start.us < 2000000;
        dlock_redis_close(redis);
    }
    assert_true(soon);
}

/* The URL names one, which dies; the others are known from it. */
static void further_sentinels_are_learned(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .tells_of = {1, 2}, .tells_of_len = 2});
    dlock_redis *redis = open_first(1);
    assert_leads_to(redis, 0);
    assert_true(fx_wait_until(is_watched, &fakes[1], SOON_MS));
    assert_true(fx_wait_until(is_watched, &fakes[2], SOON_MS));
    tell(0, (story){.gone = true});
    assert_news_lead_to(redis, 1);
    dlock_redis_close(redis);
}

/* Nor while the others of the URL are down. */
static void what_one_of_three_tells_of_is_no_sentinel(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .epoch = 3, .tells_of = {1, 2, 3}, .tells_of_len = 3});
    for (int alone = 0; alone < 2; alone++) {
        for (int i = 1; i < 3 && alone; i++)
            tell(i, (story){.gone = true});
        dlock_redis *redis = open_first(3);
        doubt_often(redis, 0);
        assert_int_equal(atomic_load(&fakes[3].connections), 0);
        dlock_redis_close(redis);
    }
}

/* Two in the URL are one and the same, known by the name that it was found under. */
static void a_sentinel_is_watched_once(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .tells_of = {3}, .tells_of_len = 1});
    tell(1, (story){.port = port_of(0), .tells_of = {3}, .tells_of_len = 1});
    tell(2, (story){.port = port_of(0), .id = "id3"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    doubt_often(redis, 2);
    assert_int_equal(atomic_load(&fakes[3].connections), 0);
    dlock_redis_close(redis);
}

/* A look asks a sentinel five questions, and 20 ms lie between two. */
static void doubts_have_a_pace(void **state)
{
    (void)state;
    dlock_redis *redis = open_first(1);
    assert_leads_to(redis, 0);
    int before = atomic_load(&fakes[0].questions);
    dlock_time start = dlock_now();
    while (!dlock_passed((dlock_time){start.us + 1000000}))
        dlock_topology_doubt(redis->topology);
    int asked = atomic_load(&fakes[0].questions) - before;
    assert_in_range(asked, 5, 5 * ((dlock_now().us - start.us) / 20000 + 2));
    dlock_redis_close(redis);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_liar_is_outvoted_whatever_its_epoch),
        CASE(one_sentinel_has_one_vote),
        CASE(a_liar_takes_no_vote_from_another),
        CASE(of_two_equals_the_later_failover_counts),
        CASE(without_a_master_the_reason_is_told),
        CASE(a_minority_leads_forward_but_not_back),
        CASE(a_silent_sentinel_costs_little),
        CASE(silent_sentinels_do_not_hold_up_the_end),
        CASE(nonsense_is_no_answer),
        CASE(a_master_may_be_named_by_a_host_name),
        CASE(a_message_is_followed_at_once),
        CASE(further_sentinels_are_learned),
        CASE(what_one_of_three_tells_of_is_no_sentinel),
        CASE(a_sentinel_is_watched_once),
        CASE(doubts_have_a_pace),
    };
    return cmocka_run_group_tests_name("sentinel_lies", tests, setup_all, teardown_all);
}
