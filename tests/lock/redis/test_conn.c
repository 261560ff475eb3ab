/* What the answers on a connection say: the word that is kept, whether it was executed, and that no
 * memory stays with a connection that is gone. */
#include "tests/lock/rig.h"

#include "lock/redis/conn.h"
#include "lock/redis/pool.h"

enum { SOON_MS = 20000 };

/* The first word, if it is one in capitals; of a script's refusal what it stands for. */
static void the_first_word_of_an_error_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *said;
    } table[] = {
        {"OOM command not allowed", "OOM"},
        {"WRONGTYPE", "WRONGTYPE"},
        {"NO way", "NO"},
        {"A word of one letter", ""},
        {"lower case", ""},
        {"", ""},
        {NULL, ""},
        {"ERR The user executing the script can't run this command", "NOPERM"},
        {"ERR ACL failure in script: no", "NOPERM"},
        {"MOVED 1 127.0.0.1:7000", "MOVED"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        dlock_redis_hear("BEFORE this");
        dlock_redis_hear(table[i].answer);
        assert_string_equal(dlock_redis_said(), table[i].said);
    }
}

static void an_error_was_executed_or_refused_before(void **state)
{
    (void)state;
    static const char *const refused[] = {
        "ASK 1 h:1",
        "BUSY a script runs",
        "CLUSTERDOWN x",
        "LOADING x",
        "MASTERDOWN x",
        "MISCONF x",
        "MOVED 1 h:1",
        "NOAUTH x",
        "NOPERM x",
        "NOREPLICAS x",
        "NOSCRIPT No matching script. Please use EVAL.",
        "OOM x",
        "READONLY x",
        "TRYAGAIN x",
        "UNBLOCKED x",
        "WRONGPASS x",
        "OOM",
        "ERR max number of clients reached",
        "ERR unknown command 'X', with args",
    };
    static const char *const executed[] = {
        "ERR something else",
        "WRONGTYPE x",
        "OOMPH x",
        "OO x",
        "ASKING x",
        "",
        "OOM x script: f, on @user_script:1.",
        "READONLY x user_script:3: y",
        "EXECABORT x",
        "NOSCRIPT x", /* of a script */
    };
    for (size_t i = 0; i < COUNT(refused); i++)
        if (dlock_redis_classify(refused[i]) != DLOCK_REDIS_REFUSED)
            fail_msg("%s", refused[i]);
    for (size_t i = 0; i < COUNT(executed); i++)
        if (dlock_redis_classify(executed[i]) != DLOCK_REDIS_ERROR)
            fail_msg("%s", executed[i]);
}

static void outcomes_have_names(void **state)
{
    (void)state;
    static const char *const names[] = {"ok",    "not sent", "refused",
                                        "error", "unknown",  "no such outcome"};
    for (int i = 0; i < (int)COUNT(names); i++)
        assert_string_equal(dlock_redis_outcome_text((dlock_redis_outcome)i), names[i]);
    assert_string_equal(dlock_redis_outcome_text((dlock_redis_outcome)-1), "no such outcome");
}

static dlock_redis_outcome say(dlock_redis_conn *conn, const char *word, const char *more)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, word);
    if (more)
        dlock_args_text(&args, more);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, dlock_in_ms(SOON_MS), NULL);
    dlock_args_free(&args);
    return outcome;
}

/* Introduced by every word there is, used well and badly, and hung up: again and again. */
static void a_connection_that_is_gone_leaves_no_memory(void **state)
{
    (void)state;
    enum { WARM_UPS = 10, TIMES = 200, SPARE_BYTES = 16 * 1024 };
    char url[96], err[256];
    dlock_redis *redis;
    size_t before = 0;
    fx_redis *server = fx_redis_start_single(NULL);
    fx_redis_do(server, "ACL SETUSER someone on >word ~* +@all");
    snprintf(url, sizeof(url), "redis://someone:word@127.0.0.1:%d/3", fx_redis_port(server));
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url, .name = "my-name"}, &redis,
                                      err, sizeof(err)),
                     0);
    for (int i = 0; i < WARM_UPS + TIMES; i++) {
        dlock_redis_conn *conn;
        if (i == WARM_UPS)
            before = fx_bytes_allocated();
        assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                         DLOCK_REDIS_OK);
        assert_int_equal(say(conn, "PING", NULL), DLOCK_REDIS_OK);
        assert_int_equal(say(conn, "GET", NULL), DLOCK_REDIS_ERROR);
        assert_false(dlock_redis_broken(conn));
        assert_int_equal(say(conn, "ECHO", "word"), DLOCK_REDIS_OK);
        dlock_redis_hang_up(conn);
    }
    assert_true(fx_bytes_allocated() <= before + SPARE_BYTES);
    dlock_redis_close(redis);
    fx_redis_stop(server);
}

/* ---- what an error says of the server -------------------------------------------------------- */

static atomic_int looks;

static void *start_counting(topology *t)
{
    (void)t;
    return &looks;
}

static int64_t count_look(topology *t, void *state)
{
    (void)t;
    atomic_fetch_add((atomic_int *)state, 1);
    return 10 * (int64_t)SOON_MS;
}

static int no_news(const topology *t, void *state)
{
    (void)t, (void)state;
    return -1;
}

static void end_counting(void *state)
{
    (void)state;
}

static bool are_more(void *before)
{
    return atomic_load(&looks) > *(int *)before;
}

static dlock_redis_outcome be_told(dlock_redis_conn *conn, const char *error)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "EVAL");
    dlock_args_text(&args, "return redis.error_reply(ARGV[1])");
    dlock_args_text(&args, "0");
    dlock_args_text(&args, error);
    dlock_redis_outcome outcome = dlock_redis_call(conn, &args, dlock_in_ms(SOON_MS), NULL);
    dlock_args_free(&args);
    return outcome;
}

/* Otherwise a demoted master, say, would be asked until the next look that comes by itself. */
static void a_server_that_is_no_primary_has_the_finder_look_again(void **state)
{
    (void)state;
    static const finder counting = {
        .start = start_counting, .look = count_look, .news_fd = no_news, .stop = end_counting};
    static const struct {
        const char *error;
        bool broken; /* not to be used again */
    } table[] = {
        {"READONLY You can't write against a read only replica.", true},
        {"MOVED 1 127.0.0.1:7000", true},
        {"UNBLOCKED the instance changed its role", true},
        {"CLUSTERDOWN Hash slot not served", false},
        {"LOADING Redis is loading the dataset in memory", false},
        {"MASTERDOWN Link with MASTER is down", false},
    };
    fx_redis *server = fx_redis_start_single(NULL);
    topology *t = dlock_topology_new(&(address){.kind = ADDRESS_SENTINEL}, NULL, &counting);
    assert_non_null(t);
    dlock_topology_moved_to(t, "127.0.0.1", fx_redis_port(server));
    dlock_redis *redis = dlock_pool_new(t, &(dlock_redis_options){.connect_ms = SOON_MS});
    assert_non_null(redis);
    int used = 0;
    for (size_t i = 0; i < COUNT(table); i++) {
        dlock_redis_conn *conn;
        int before = 0;
        assert_true(fx_wait_until(are_more, &before, SOON_MS));
        assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                         DLOCK_REDIS_OK);
        before = atomic_load(&looks);
        assert_int_equal(be_told(conn, table[i].error), DLOCK_REDIS_REFUSED);
        if (!fx_wait_until(are_more, &before, SOON_MS))
            fail_msg("no look after %s", table[i].error);
        assert_int_equal(dlock_redis_broken(conn), table[i].broken);
        assert_int_equal(say(conn, "INCR", "used"),
                         table[i].broken ? DLOCK_REDIS_NOT_SENT : DLOCK_REDIS_OK);
        assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)),
                         table[i].broken ? DLOCK_REDIS_NOT_SENT : DLOCK_REDIS_OK);
        used += !table[i].broken;
        assert_int_equal(fx_redis_number(server, "INCRBY used 0"), used);
        dlock_redis_hang_up(conn);
    }
    dlock_pool_free(redis);
    fx_redis_stop(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_word_of_an_error_is_kept),
        cmocka_unit_test(an_error_was_executed_or_refused_before),
        cmocka_unit_test(outcomes_have_names),
        cmocka_unit_test(a_connection_that_is_gone_leaves_no_memory),
        cmocka_unit_test(a_server_that_is_no_primary_has_the_finder_look_again),
    };
    return cmocka_run_group_tests_name("conn", tests, NULL, NULL);
}
