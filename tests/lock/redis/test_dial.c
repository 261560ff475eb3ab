/*
 * Connects that fail, for whatever reason: nothing of them is left, they say why, and nobody knocks
 * again at once.
 */
#include "tests/lock/rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lock/redis/conn.h"

enum { SOON_MS = 20000, CONNECT_MS = 150, DIALS = 5 };

static fx_redis *server;
static int deaf = -1; /* a listening socket that answers nothing */
static char deaf_url[64];

static int setup(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    server = fx_redis_start_single(NULL);
    deaf = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(deaf, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(deaf, 64), 0);
    assert_int_equal(getsockname(deaf, (struct sockaddr *)&at, &len), 0);
    snprintf(deaf_url, sizeof(deaf_url), "redis://127.0.0.1:%d/1", ntohs(at.sin_port));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    close(deaf);
    fx_redis_stop(server);
    return 0;
}

static bool admit_none(void *arg, int number, const char *run_id)
{
    (void)arg, (void)number, (void)run_id;
    return false;
}

static dlock_redis *open_at(const char *url, bool admitted)
{
    char err[256];
    dlock_redis *redis;
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url,
                                                             .connect_ms = CONNECT_MS,
                                                             .admit = admitted ? NULL : admit_none},
                                      &redis, err, sizeof(err)),
                     0);
    return redis;
}

/* Not held back by the last failure. */
static dlock_redis_outcome knock(dlock_redis *redis, dlock_redis_conn **ret)
{
    redis->links[0].retry_at = (dlock_time){0};
    return dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), ret);
}

/* ---- what is left, and said ------------------------------------------------------------------ */

typedef struct refusal {
    char url[128];
    bool admitted;
    const char *said, *error; /* the word of the answer, and words of the sentence */
} refusal;

static bool has_only_our_connection(void *unused)
{
    char clients[4096];
    (void)unused;
    assert_true(fx_redis_text(server, clients, sizeof(clients), "INFO clients"));
    return strstr(clients, "connected_clients:1\r") != NULL;
}

static void a_failed_connect_leaves_nothing_open(void **state)
{
    (void)state;
    refusal cases[] = {
        {.admitted = true, .said = "WRONGPASS", .error = "WRONGPASS"},
        {.admitted = true, .said = "ERR", .error = "out of range"},
        {.admitted = false, .said = DLOCK_NOT_ADMITTED, .error = "another run of the server"},
        {.admitted = true, .said = "", .error = "refused"},
        {.admitted = true, .said = "", .error = "no reply in time"},
        {.url = "unix:///nowhere/redis.sock",
         .admitted = true,
         .said = "",
         .error = "No such file"},
    };
    int port = fx_redis_port(server);
    fx_redis_do(server, "PING"); /* opens the fixture's own connection */
    snprintf(cases[0].url, sizeof(cases[0].url), "redis://no:body@127.0.0.1:%d", port);
    snprintf(cases[1].url, sizeof(cases[1].url), "redis://127.0.0.1:%d/99", port);
    snprintf(cases[2].url, sizeof(cases[2].url), "redis://127.0.0.1:%d", port);
    snprintf(cases[3].url, sizeof(cases[3].url), "redis://127.0.0.1:%d", fx_free_port());
    snprintf(cases[4].url, sizeof(cases[4].url), "%s", deaf_url);
    for (size_t i = 0; i < COUNT(cases); i++) {
        char error[ERROR_LEN];
        dlock_redis_conn *conn;
        dlock_redis *redis = open_at(cases[i].url, cases[i].admitted);
        int before = fx_descriptors_open();
        for (int n = 0; n < DIALS; n++) {
            assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
            assert_null(conn);
            dlock_redis_last_error(redis, error, sizeof(error));
            if (!strstr(error, cases[i].error))
                fail_msg("%s: %s", cases[i].url, error);
            assert_string_equal(dlock_redis_said(), cases[i].said);
        }
        assert_int_equal(fx_descriptors_open(), before);
        assert_true(fx_wait_until(has_only_our_connection, NULL, SOON_MS));
        dlock_redis_close(redis);
        assert_int_equal(fx_descriptors_open(), before);
    }
}

/* ---- the pause ------------------------------------------------------------------------------- */

static void fails_with_pause(dlock_redis *redis, int pause_ms)
{
    dlock_redis_conn *conn;
    dlock_time before = dlock_now();
    assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
    int64_t latest = dlock_now().us + (int64_t)pause_ms * 1000;
    assert_in_range(redis->links[0].retry_at.us, before.us + (int64_t)pause_ms * 500, latest);
}

/* 10, 20, ... 500 ms, of which half is random; from the start again after a connect that went well,
 * and always short when the server is well, but another run. */
static void pauses_double_up_to_a_limit(void **state)
{
    (void)state;
    static const int pauses_ms[] = {10, 20, 40, 80, 160, 320, 500, 500};
    char url[64];
    dlock_redis_conn *conn;
    snprintf(url, sizeof(url), "redis://sometimes:open@127.0.0.1:%d", fx_redis_port(server));
    dlock_redis *redis = open_at(url, true);
    for (size_t i = 0; i < COUNT(pauses_ms); i++)
        fails_with_pause(redis, pauses_ms[i]);
    fx_redis_do(server, "ACL SETUSER sometimes on >open +@all");
    assert_int_equal(knock(redis, &conn), DLOCK_REDIS_OK);
    dlock_redis_hang_up(conn);
    assert_int_equal(redis->links[0].retry_at.us, 0);
    fx_redis_do(server, "ACL DELUSER sometimes");
    fails_with_pause(redis, pauses_ms[0]);
    dlock_redis_close(redis);

    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", fx_redis_port(server));
    redis = open_at(url, false);
    for (int i = 0; i < DIALS; i++)
        fails_with_pause(redis, 50);
    dlock_redis_close(redis);
}

static int knocks_heard(void)
{
    int n = 0, fd;
    while ((fd = accept4(deaf, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
        close(fd);
        n++;
    }
    return n;
}

static void nobody_knocks_during_a_pause(void **state)
{
    (void)state;
    dlock_redis *redis = open_at(deaf_url, true);
    dlock_redis_conn *conn;
    knocks_heard();
    assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
    assert_int_equal(knocks_heard(), 1);
    redis->links[0].retry_at = dlock_in_ms(SOON_MS);
    for (int i = 0; i < DIALS; i++)
        assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                         DLOCK_REDIS_NOT_SENT);
    assert_int_equal(knocks_heard(), 0);
    redis->links[0].retry_at = dlock_now();
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(0), &conn), DLOCK_REDIS_NOT_SENT);
    assert_int_equal(knocks_heard(), 0); /* its deadline has passed */
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                     DLOCK_REDIS_NOT_SENT);
    assert_int_equal(knocks_heard(), 1);
    dlock_redis_close(redis);
}

static void *talk_nonsense(void *arg)
{
    struct pollfd p = {.fd = deaf, .events = POLLIN};
    if (poll(&p, 1, SOON_MS) != 1)
        return NULL;
    int *fd = arg;
    *fd = accept4(deaf, NULL, NULL, SOCK_CLOEXEC);
    if (write(*fd, "220 mail\r\n", 10) != 10)
        return NULL;
    return arg;
}

/* Who answers, but not as Redis does, is not waited for. */
static void what_is_no_redis_is_told_from_silence(void **state)
{
    (void)state;
    char error[ERROR_LEN];
    pthread_t thread;
    dlock_redis_conn *conn;
    int fd = -1;
    void *talked;
    dlock_redis *redis = open_at(deaf_url, true);
    knocks_heard(); /* of those before */
    assert_int_equal(pthread_create(&thread, NULL, talk_nonsense, &fd), 0);
    redis->connect_ms = SOON_MS;
    dlock_time silent_until = dlock_in_ms(SOON_MS);
    assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
    assert_false(dlock_passed(silent_until));
    pthread_join(thread, &talked);
    assert_non_null(talked);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (!strstr(error, "Protocol error"))
        fail_msg("%s", error);
    close(fd);
    dlock_redis_close(redis);
}

/* Whoever is held back hears what the last one heard. */
static void a_pause_keeps_its_reason(void **state)
{
    (void)state;
    char url[64];
    dlock_redis_conn *conn;
    for (int admitted = 0; admitted < 2; admitted++) {
        snprintf(url, sizeof(url), "redis://%s127.0.0.1:%d", admitted ? "no:body@" : "",
                 fx_redis_port(server));
        dlock_redis *redis = open_at(url, admitted);
        assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
        redis->links[0].retry_at = dlock_in_ms(SOON_MS);
        dlock_redis_hear("OTHER");
        assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn),
                         DLOCK_REDIS_NOT_SENT);
        assert_string_equal(dlock_redis_said(), admitted ? "WRONGPASS" : DLOCK_NOT_ADMITTED);
        dlock_redis_close(redis);
    }
}

/* ---- what is said first ---------------------------------------------------------------------- */

static void a_connection_is_introduced(void **state)
{
    (void)state;
    char url[96], err[256], text[1024];
    dlock_redis *redis;
    dlock_redis_conn *conn;
    redisReply *reply;
    dlock_args args;
    fx_redis_do(server, "ACL SETUSER someone on >word +@all");
    snprintf(url, sizeof(url), "redis://someone:word@127.0.0.1:%d/3", fx_redis_port(server));
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url, .name = "my-name"}, &redis,
                                      err, sizeof(err)),
                     0);
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    dlock_args_init(&args);
    dlock_args_text(&args, "CLIENT");
    dlock_args_text(&args, "INFO");
    assert_int_equal(dlock_redis_call(conn, &args, dlock_in_ms(SOON_MS), &reply), DLOCK_REDIS_OK);
    snprintf(text, sizeof(text), "%s", reply->str);
    freeReplyObject(reply);
    dlock_args_free(&args);
    if (!strstr(text, " name=my-name ") || !strstr(text, " db=3 ") ||
        !strstr(text, " user=someone "))
        fail_msg("%s", text);
    assert_int_equal(dlock_redis_conn_server(conn), 0);
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
}

/* Anything that is no list, or of which the first is no word, is not the answer to ROLE. */
static void a_role_is_the_first_word_of_a_list(void **state)
{
    (void)state;
    char master[] = "master";
    redisReply word = {.type = REDIS_REPLY_STRING, .str = master};
    redisReply number = {.type = REDIS_REPLY_INTEGER};
    redisReply *words[] = {&word, &number}, *numbers[] = {&number, &word};
    const struct {
        redisReply reply;
        bool good;
    } cases[] = {
        {{.type = REDIS_REPLY_ARRAY, .elements = 1, .element = words}, true},
        {{.type = REDIS_REPLY_ARRAY, .elements = 2, .element = words}, true},
        {{.type = REDIS_REPLY_ARRAY, .elements = 2, .element = numbers}, false},
        {{.type = REDIS_REPLY_ARRAY, .elements = 0, .element = words}, false},
        {{.type = REDIS_REPLY_STRING, .elements = 1, .element = words}, false},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(dlock_redis_is_role(&cases[i].reply), cases[i].good);
}

static bool admit_all(void *arg, int number, const char *run_id)
{
    (void)arg, (void)number, (void)run_id;
    return true;
}

/* Its INFO has no run id; whoever cares which run of a server it is must not use it. */
static void a_server_that_hides_its_run_is_not_used(void **state)
{
    (void)state;
    const char *words[] = {"--rename-command", "INFO", "", "--rename-command", "LCS", "INFO", NULL};
    fx_redis *silent = fx_redis_start_single(words);
    char url[64], error[ERROR_LEN];
    dlock_redis *redis;
    dlock_redis_conn *conn;
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", fx_redis_port(silent));
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url, .admit = admit_all},
                                      &redis, error, sizeof(error)),
                     0);
    assert_int_equal(knock(redis, &conn), DLOCK_REDIS_NOT_SENT);
    assert_null(conn);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (!strstr(error, "which run it is"))
        fail_msg("%s", error);
    dlock_redis_close(redis);
    fx_redis_stop(silent);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_connect_leaves_nothing_open),
        cmocka_unit_test(pauses_double_up_to_a_limit),
        cmocka_unit_test(nobody_knocks_during_a_pause),
        cmocka_unit_test(what_is_no_redis_is_told_from_silence),
        cmocka_unit_test(a_pause_keeps_its_reason),
        cmocka_unit_test(a_connection_is_introduced),
        cmocka_unit_test(a_role_is_the_first_word_of_a_list),
        cmocka_unit_test(a_server_that_hides_its_run_is_not_used),
    };
    return cmocka_run_group_tests_name("dial", tests, setup, teardown);
}
