/*
 * test_redlock.c - strategy redlock over independent servers that are killed or stand still: a
 * majority sells, a minority sells nothing and says so in time.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/support/crowd.h"
#include "tests/support/service.h"

enum {
    SERVERS = 5,
    INSTANCES = 2,
    BUYERS = 4,
    LEASE_MS = 2000,
    WAIT_MS = 1000,
    SOME = 20, /* buys that show that it sells */
    PATIENCE_MS = 60000,
};

static fx_redis *votes[SERVERS];
static fx_server *sellers[INSTANCES];

static void list_servers(int len, char *ret, size_t ret_len)
{
    ret[0] = '\0';
    for (int i = 0; i < len; i++)
        snprintf(ret + strlen(ret), ret_len - strlen(ret), "%s%s", i ? "," : "",
                 fx_redis_tcp_url(votes[i]));
}

static void start(int servers)
{
    char list[1024];
    for (int i = 0; i < servers; i++)
        votes[i] = fx_redis_start_single(NULL);
    list_servers(servers, list, sizeof(list));
    for (int i = 0; i < INSTANCES; i++)
        sellers[i] = fx_server_start(fx_redis_url(fx.redis),
                                     FX_ARGS("--redlock", list, "--drain-delay", "0"));
    fx_start_sale(sellers[0], "P0001",
                  "'stock':1000000,'strategy':'redlock','lease_ms':%d,'wait_ms':%d", LEASE_MS,
                  WAIT_MS);
}

static void stop(int servers)
{
    for (int i = 0; i < INSTANCES; i++) {
        assert_int_equal(fx_server_stop(sellers[i]), 0);
        sellers[i] = NULL;
    }
    for (int i = 0; i < servers; i++) {
        fx_redis_stop(votes[i]);
        votes[i] = NULL;
    }
}

static int teardown(void **state)
{
    for (int i = 0; i < INSTANCES; i++)
        fx_server_kill(sellers[i]);
    for (int i = 0; i < SERVERS; i++)
        fx_redis_stop(votes[i]);
    return fx_service_stop(state);
}

/* What a number in GET /stock is. */
static double stock(const char *field)
{
    fx_reply reply;
    fx_ask(sellers[0], &reply, "GET /stock?item=P0001");
    cJSON *json = fx_reply_json(&reply);
    double number = fx_json_number(json, field);
    cJSON_Delete(json);
    fx_reply_free(&reply);
    return number;
}

static bool metric_is(fx_server *server, const char *line)
{
    fx_reply reply;
    fx_ask(server, &reply, "GET /metrics");
    bool found = strstr(reply.body, line) != NULL;
    fx_reply_free(&reply);
    return found;
}

typedef struct sight {
    int up, ready;
} sight;

/* The first instance says that so many servers are up, and is ready or not. */
static bool is_seen(void *arg)
{
    const sight *s = arg;
    char line[64];
    snprintf(line, sizeof(line), "\nflashsale_redlock_servers_up %d\n", s->up);
    return metric_is(sellers[0], line) && fx_status(sellers[0], "GET /readyz") == s->ready;
}

static bool sells(void *arg)
{
    (void)arg;
    return fx_status(sellers[0], "POST /buy?item=P0001&user=u1") == 201;
}

static void take_away(fx_redis *server, bool kill)
{
    if (kill)
        fx_redis_kill(server);
    else
        fx_redis_signal(server, SIGSTOP);
}

static void give_back(fx_redis *server, bool killed)
{
    if (killed)
        fx_redis_restart(server);
    else
        fx_redis_signal(server, SIGCONT);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* One buyer is refused, for good, because of the lock. How long that took. */
static int64_t is_refused_after_ms(int seller)
{
    static const char what[] = "POST /buy?item=P0001&user=u1";
    fx_reply reply;
    int64_t start_ms = now_ms();
    fx_ask(sellers[seller], &reply, what);
    int64_t took_ms = now_ms() - start_ms;
    fx_assert_problem(what, &reply, 503,
                      strstr(reply.body, "\"busy\"") ? "busy" : "store_unavailable");
    fx_reply_free(&reply);
    return took_ms;
}

/* Every buyer is told so, in time; at least one, since the machine may be busy elsewhere. */
static void nothing_is_sold(void)
{
    int64_t least_ms = INT64_MAX, most_ms = 0;
    for (int i = 0; i < INSTANCES; i++) {
        int64_t took_ms = is_refused_after_ms(i % INSTANCES);
        least_ms = took_ms < least_ms ? took_ms : least_ms;
        most_ms = took_ms > most_ms ? took_ms : most_ms;
    }
    print_message("refused after %d to %d ms\n", (int)least_ms, (int)most_ms);
    assert_true(least_ms <= WAIT_MS + 1000);
}

/* A minority goes: it sells on. One more goes: nothing is sold. They come back: it sells again. */
static void servers_go_and_come_back(int servers, bool kill)
{
    int minority = (servers - 1) / 2;
    fx_crowd *crowds[INSTANCES];
    start(servers);
    for (int i = 0; i < INSTANCES; i++)
        crowds[i] = fx_crowd_start(fx_server_url(sellers[i]), BUYERS);
    for (int i = 0; i < INSTANCES; i++)
        assert_true(fx_crowd_sells(crowds[i], SOME, PATIENCE_MS));
    for (int i = 0; i < minority; i++)
        take_away(votes[i], kill);
    for (int i = 0; i < INSTANCES; i++)
        assert_true(fx_crowd_sells(crowds[i], SOME, PATIENCE_MS));
    for (int i = 0; i < INSTANCES; i++) {
        fx_crowd_sum sum = fx_crowd_look(crowds[i]);
        print_message("%d bought, longest gap %d ms\n", sum.bought, sum.longest_gap_ms);
    }
    assert_true(fx_wait_until(is_seen, &(sight){servers - minority, 200}, PATIENCE_MS));

    take_away(votes[minority], kill);
    assert_true(fx_wait_until(is_seen, &(sight){servers - minority - 1, 503}, PATIENCE_MS));
    nothing_is_sold();

    for (int i = 0; i <= minority; i++)
        give_back(votes[i], kill);
    int64_t back_ms = now_ms();
    assert_true(fx_wait_until(sells, NULL, PATIENCE_MS));
    print_message("sells again after %d ms\n", (int)(now_ms() - back_ms));
    assert_true(fx_wait_until(is_seen, &(sight){servers, 200}, PATIENCE_MS));
    int bought = 1;                       /* by sells() */
    for (int i = 0; i < INSTANCES; i++) { /* nobody was left in doubt, or refused what he got */
        fx_crowd_sum sum = fx_crowd_stop(crowds[i]);
        print_message("%d bought, %d refused\n", sum.bought, sum.refused);
        assert_int_equal(sum.unknown + sum.other, 0);
        bought += sum.bought;
    }
    assert_true(stock("orders") == bought);
    const char *log = fx_process_stderr(fx_server_process(sellers[0]));
    assert_non_null(strstr(log, "\"redlock_lost\""));
    assert_non_null(strstr(log, "\"redlock_back\""));
    assert_true(stock("oversold") == 0);
    assert_true(stock("lost_updates") == 0);
    stop(servers);
}

static void one_of_three_is_killed(void **state)
{
    (void)state;
    servers_go_and_come_back(3, true);
}

static void one_of_three_stands_still(void **state)
{
    (void)state;
    servers_go_and_come_back(3, false);
}

static void two_of_five_are_killed(void **state)
{
    (void)state;
    servers_go_and_come_back(5, true);
}

static void two_of_five_stand_still(void **state)
{
    (void)state;
    servers_go_and_come_back(5, false);
}

/* Its keys are on the servers of the quorum, not where the sale is. */
static void a_lock_is_shown_from_where_it_is(void **state)
{
    (void)state;
    start(3);
    assert_null(strstr(fx_expect(sellers[0], 200, "GET /locks"), "\"held\":true"));
    fx_redis_do(votes[0], "SET fs:{P0001}:%s:lock stranger PX 600000", fx_current_sale("P0001"));
    const char *locks = fx_expect(sellers[0], 200, "GET /locks");
    assert_non_null(strstr(locks, "\"owner\":\"stranger\""));
    assert_non_null(strstr(locks, "\"held\":true"));
    /* It is no trouble of the server that has the sale. */
    fx_redis_kill(votes[0]);
    assert_null(strstr(fx_expect(sellers[0], 200, "GET /locks"), "stranger"));
    const char *document = fx_expect(sellers[0], 200, "GET /dashboard?item=P0001");
    assert_non_null(strstr(document, "\"redis\":\"up\""));
    stop(3);
}

/* ---- the list of servers --------------------------------------------------------------------- */

/* What an instance with this list says, of its end (exit code 64) or of its start. */
static void assert_says(const char *redlock, int code, const char *words)
{
    char program[256], line[256];
    fx_build_path("flashsale", program, sizeof(program));
    const char *argv[] = {program,     "--listen", "127.0.0.1:0", "--redis", fx_redis_url(fx.redis),
                          "--redlock", redlock,    NULL};
    fx_process *process = fx_spawn(argv, true);
    if (code == 0)
        assert_true(fx_process_first_line(process, line, sizeof(line), PATIENCE_MS));
    else
        assert_int_equal(fx_process_wait(process, PATIENCE_MS), code);
    const char *said = fx_process_stderr(process);
    if (!strstr(said, words) || strstr(said, "s3cret"))
        fail_msg("--redlock %s: %s", redlock, said);
    fx_process_free(process);
}

static void a_list_that_can_not_be_meant_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *redlock, *words;
    } cases[] = {
        {"redis://:s3cret@h:1,redis://h:2,redis://h:1/2",
         "servers 1 and 3 of --redlock are the same"},
        {"redis://h,redis://h:6379", "are the same"},
        {"unix:///a.sock,unix://x:s3cret@/a.sock?db=2", "are the same"},
        {"redis://h:1,,redis://h:2", "server 2 of --redlock: "},
        {"redis://u:s3cret@h:x", "server 1 of --redlock: "},
        {"redis+cluster://u:s3cret@h:1", "independent"},
        {"redis://h:1,redis://h:2,redis://h:3,redis://h:4,redis://h:5,redis://h:6,redis://h:7,"
         "redis://h:8,redis://h:9,redis://h:10,redis://h:11,redis://h:12,redis://h:13,redis://h:14,"
         "redis://h:15,redis://h:16,redis://h:17",
         "16 servers at most"},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_says(cases[i].redlock, 64, cases[i].words);
}

static void a_list_that_is_weak_is_warned_of(void **state)
{
    fx_only_single("the sale's own server is one of the list");
    (void)state;
    char list[256];
    for (int i = 0; i < 2; i++)
        votes[i] = fx_redis_start_single(NULL);
    list_servers(2, list, sizeof(list));
    assert_says(list, 0, "2 of --redlock bear the loss of 0");
    assert_says(fx_redis_url(fx.redis), 0, "redlock_not_independent");
    snprintf(list, sizeof(list), "%s,%s,%s", fx_redis_tcp_url(votes[0]), fx_redis_url(votes[0]),
             fx_redis_tcp_url(votes[1]));
    fx_server *seller =
        fx_server_start(fx_redis_url(fx.redis), FX_ARGS("--redlock", list, "--drain-delay", "0"));
    sellers[0] = seller;
    assert_true(fx_wait_until(is_seen, &(sight){2, 200}, PATIENCE_MS)); /* of three addresses */
    assert_non_null(strstr(fx_process_stderr(fx_server_process(seller)), "redlock_same_server"));
    fx_server_stop(seller);
    sellers[0] = NULL;
    for (int i = 0; i < 2; i++) {
        fx_redis_stop(votes[i]);
        votes[i] = NULL;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_of_three_is_killed),
        cmocka_unit_test(one_of_three_stands_still),
        cmocka_unit_test(two_of_five_are_killed),
        cmocka_unit_test(two_of_five_stand_still),
        cmocka_unit_test(a_lock_is_shown_from_where_it_is),
        cmocka_unit_test(a_list_that_can_not_be_meant_is_refused),
        cmocka_unit_test(a_list_that_is_weak_is_warned_of),
    };
    fx.plan = (fx_plan){.instances = 0};
    return cmocka_run_group_tests(tests, fx_service_start, teardown);
}
