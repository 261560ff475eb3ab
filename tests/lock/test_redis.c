/* The connection layer: outcomes, deadlines, the pool, scripts by hash. */
#include "lock/redis/conn.h"
#include "tests/lock/rig.h"

#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

static dlock_script echo = DLOCK_SCRIPT("echo", "#!lua\nreturn ARGV[1]");

static dlock_redis_outcome run_echo(dlock_redis *redis, int ms)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "a");
    dlock_redis_outcome outcome = dlock_redis_eval(redis, &echo, 0, &args, dlock_in_ms(ms), &reply);
    if (outcome == DLOCK_REDIS_OK)
        assert_string_equal(reply->str, "a");
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome;
}

static void errors_say_whether_it_was_executed(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        dlock_redis_outcome outcome;
    } cases[] = {
        {"MOVED 3999 127.0.0.1:6381", DLOCK_REDIS_REFUSED},
        {"ASK 3999 127.0.0.1:6381", DLOCK_REDIS_REFUSED},
        {"TRYAGAIN Multiple keys request during rehashing of slot", DLOCK_REDIS_REFUSED},
        {"CLUSTERDOWN The cluster is down", DLOCK_REDIS_REFUSED},
        {"OOM command not allowed when used memory > 'maxmemory'.", DLOCK_REDIS_REFUSED},
        {"BUSY Redis is busy running a script.", DLOCK_REDIS_REFUSED},
        {"READONLY You can't write against a read only replica.", DLOCK_REDIS_REFUSED},
        {"NOREPLICAS Not enough good replicas to write.", DLOCK_REDIS_REFUSED},
        {"LOADING Redis is loading the dataset in memory", DLOCK_REDIS_REFUSED},
        {"MASTERDOWN Link with MASTER is down", DLOCK_REDIS_REFUSED},
        {"MISCONF Redis is configured to save RDB snapshots", DLOCK_REDIS_REFUSED},
        {"NOSCRIPT No matching script.", DLOCK_REDIS_REFUSED},
        {"NOAUTH Authentication required.", DLOCK_REDIS_REFUSED},
        {"WRONGPASS invalid username-password pair", DLOCK_REDIS_REFUSED},
        {"NOPERM this user has no permissions", DLOCK_REDIS_REFUSED},
        {"ERR max number of clients reached", DLOCK_REDIS_REFUSED},
        {"ERR unknown command 'X'", DLOCK_REDIS_REFUSED},
        {"WRONGTYPE Operation against a key", DLOCK_REDIS_ERROR},
        {"ERR value is not an integer or out of range", DLOCK_REDIS_ERROR},
        {"BUSYGROUP Consumer Group name already exists", DLOCK_REDIS_ERROR},
        {"OOM command not allowed script: 1f, on @user_script:2.", DLOCK_REDIS_ERROR},
        {"", DLOCK_REDIS_ERROR},
    };
    for (size_t i = 0; i < COUNT(cases); i++)
        assert_int_equal(dlock_redis_classify(cases[i].text), cases[i].outcome);
}

static void addresses_are_checked(void **state)
{
    (void)state;
    static const char *const bad[] = {"",
                                      "http://a",
                                      "redis://",
                                      "redis://h:0",
                                      "redis://h:70000",
                                      "redis://h/x",
                                      "redis://[::1",
                                      "unix://relative",
                                      "unix:///s?db=-1",
                                      "unix://user:s3cret@",
                                      "unix://user:s3cret@host/s",
                                      "unix://user:s3cret%zz@/s",
                                      "redis://user:s3cret%zz@h"};
    static const char *const good[] = {"redis://h", "redis://u:p%40ss@[::1]:7000/3",
                                       "unix:///tmp/s.sock?db=2", "unix:///tmp/a@b.sock",
                                       "unix://u:p%2f%40@/tmp/s.sock"};
    char err[256];
    dlock_redis *redis;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(
            dlock_redis_open(&(dlock_redis_options){.url = bad[i]}, &redis, err, sizeof(err)), -1);
        assert_non_null(strstr(err, "address"));
        assert_null(strstr(err, "s3cret"));
    }
    for (size_t i = 0; i < COUNT(good); i++) {
        assert_int_equal(
            dlock_redis_open(&(dlock_redis_options){.url = good[i]}, &redis, err, sizeof(err)), 0);
        dlock_redis_close(redis);
    }
}

/* Through a Unix socket as through TCP: the user must have the password, and the rights. */
static void a_unix_address_has_user_and_password(void **state)
{
    fx_only_single("it is about one address");
    static const struct {
        const char *user, *query, *who;
    } cases[] = {
        {"ann:p%40ss%2f@", "", "ann"},
        {"ann:p%40ss%2f@", "?db=1", "ann"},
        {"ann:wrong@", "", NULL},
        {"", "", "default"},
    };
    rig *r = *state;
    char err[256], url[256];
    rig_ask(r, "ACL SETUSER ann on >p@ss/ allkeys +@all%s", "");
    for (size_t i = 0; i < COUNT(cases); i++) {
        dlock_redis *redis;
        dlock_args args;
        redisReply *reply;
        snprintf(url, sizeof(url), "unix://%s%s%s", cases[i].user,
                 fx_redis_url(r->server) + strlen("unix://"), cases[i].query);
        assert_int_equal(
            dlock_redis_open(&(dlock_redis_options){.url = url}, &redis, err, sizeof(err)), 0);
        dlock_args_init(&args);
        dlock_args_text(&args, "ACL");
        dlock_args_text(&args, "WHOAMI");
        dlock_redis_outcome outcome =
            dlock_redis_command(redis, NULL, &args, dlock_in_ms(5000), &reply);
        assert_int_equal(outcome, cases[i].who ? DLOCK_REDIS_OK : DLOCK_REDIS_NOT_SENT);
        if (cases[i].who)
            assert_string_equal(reply->str, cases[i].who);
        freeReplyObject(reply);
        dlock_args_free(&args);
        dlock_redis_close(redis);
    }
}

static void a_forgotten_script_is_sent_again(void **state)
{
    rig *r = *state;
    assert_int_equal(run_echo(r->redis, 2000), DLOCK_REDIS_OK);
    rig_ask(r, "SCRIPT FLUSH%s", "");
    assert_int_equal(run_echo(r->redis, 2000), DLOCK_REDIS_OK);
}

static void an_idle_connection_that_died_is_not_used(void **state)
{
    rig *r = *state;
    assert_int_equal(run_echo(r->redis, 2000), DLOCK_REDIS_OK);
    rig_ask(r, "CLIENT KILL TYPE normal SKIPME yes%s", "");
    assert_int_equal(run_echo(r->redis, 2000), DLOCK_REDIS_OK);
}

static void a_stopped_server_is_unknown_and_in_time(void **state)
{
    rig *r = *state;
    assert_int_equal(run_echo(r->redis, 2000), DLOCK_REDIS_OK);
    fx_redis_signal(r->server, SIGSTOP);
    dlock_time start = dlock_now();
    assert_int_equal(run_echo(r->redis, 100), DLOCK_REDIS_UNKNOWN);
    assert_true(dlock_now().us - start.us >= 100000);
    fx_redis_signal(r->server, SIGCONT);
    assert_int_equal(run_echo(r->redis, 5000), DLOCK_REDIS_OK); /* not the late reply */
}

static bool answers(void *redis)
{
    return run_echo(redis, 500) == DLOCK_REDIS_OK;
}

static void a_dead_server_is_not_sent_then_back(void **state)
{
    fx_only_single("it kills Redis");
    rig *r = *state;
    fx_redis_kill(r->server);
    for (int i = 0; i < 5; i++)
        assert_int_equal(run_echo(r->redis, 300), DLOCK_REDIS_NOT_SENT);
    fx_redis_restart(r->server);
    assert_true(fx_wait_until(answers, r->redis, 5000));
}

static void *echo_often(void *redis)
{
    for (int i = 0; i < 200; i++)
        if (run_echo(redis, 10000) != DLOCK_REDIS_OK)
            return (void *)1;
    return NULL;
}

static void callers_beyond_the_pool_queue(void **state)
{
    rig *r = *state;
    char err[256];
    dlock_redis *small;
    pthread_t threads[12];
    const dlock_redis_options options = {
        .url = fx_redis_url(r->server), .pool_max = 3, .name = "small"};
    assert_int_equal(dlock_redis_open(&options, &small, err, sizeof(err)), 0);
    for (int i = 0; i < 12; i++)
        pthread_create(&threads[i], NULL, echo_often, small);
    for (int i = 0; i < 12; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    redisReply *list = fx_redis_reply(r->server, "CLIENT LIST");
    int named = 0;
    for (const char *at = list->str; (at = strstr(at, "name=small")); at++)
        named++;
    freeReplyObject(list);
    assert_true(named >= 1 && named <= 3);
    dlock_redis_close(small);
}

static void a_wrong_password_is_an_error_without_it(void **state)
{
    rig *r = *state;
    char url[512], text[256];
    fx_redis_url_as(r->server, "nobody:secret", url, sizeof(url));
    dlock_redis *redis = rig_redis(url);
    assert_int_equal(run_echo(redis, 10000), DLOCK_REDIS_NOT_SENT);
    dlock_redis_last_error(redis, text, sizeof(text));
    assert_non_null(strstr(text, "WRONGPASS"));
    assert_null(strstr(text, "secret"));
    dlock_redis_close(redis);
}

/* Redis repeats the words of a command that it does not know. */
static void a_server_without_auth_does_not_spill_the_password(void **state)
{
    (void)state;
    const char *args[] = {"--rename-command", "AUTH", "", NULL};
    fx_redis *server = fx_redis_start_single(args);
    char url[128], text[256];
    snprintf(url, sizeof(url), "redis://:secret@127.0.0.1:%d", fx_redis_port(server));
    dlock_redis *redis = rig_redis(url);
    assert_int_equal(run_echo(redis, 10000), DLOCK_REDIS_NOT_SENT);
    dlock_redis_last_error(redis, text, sizeof(text));
    assert_non_null(strstr(text, "unknown command"));
    assert_null(strstr(text, "secret"));
    dlock_redis_close(redis);
    fx_redis_stop(server);
}

/* Behind an address that moves with the master, only a new connection leads to the new one. */
static void a_demoted_master_is_left(void **state)
{
    fx_only_single("it demotes the server");
    rig *r = *state;
    dlock_redis *redis = rig_redis(fx_redis_url(r->server));
    dlock_args args;
    redisReply *reply;
    dlock_args_init(&args);
    for (const char *const *w = (const char *const[]){"SET", "k", "v", NULL}; *w; w++)
        dlock_args_text(&args, *w);
    rig_ask(r, "REPLICAOF 127.0.0.1 %s", "1");
    assert_int_equal(dlock_redis_command(redis, NULL, &args, dlock_in_ms(1000), &reply),
                     DLOCK_REDIS_REFUSED);
    rig_ask(r, "REPLICAOF NO %s", "ONE");
    assert_memory_equal(reply->str, "READONLY", 8);
    freeReplyObject(reply);
    assert_null(redis->links[0].idle);
    dlock_args_free(&args);
    dlock_redis_close(redis);
}

/* Nine days times nine are no int any more. */
static void replicas_are_waited_for_until_far_deadlines(void **state)
{
    fx_only_single("it gives the server a replica");
    rig *r = *state;
    char port[16];
    snprintf(port, sizeof(port), "%d", fx_redis_port(r->server));
    const char *const args[] = {"--replicaof", "127.0.0.1", port, NULL};
    static dlock_script set =
        DLOCK_SCRIPT("set", "#!lua\nreturn redis.call('SET', KEYS[1], ARGV[1])");
    fx_redis *replica = fx_redis_start_single(args);
    dlock_args words;
    redisReply *reply = NULL;
    dlock_args_init(&words);
    dlock_args_text(&words, "far");
    dlock_args_text(&words, "1");
    assert_int_equal(
        dlock_redis_eval_wait(r->redis, &set, 1, &words, 1, dlock_in_ms(800000000), &reply),
        DLOCK_REDIS_OK);
    freeReplyObject(reply);
    dlock_args_free(&words);
    fx_redis_stop(replica);
}

/* ---- one run of the server ------------------------------------------------------------------- */

typedef struct pin {
    pthread_mutex_t lock;
    char admitted[64]; /* "" = the first one that comes */
    char refused[64];  /* the last other one */
} pin;

static bool admit(void *arg, int server, const char *run_id)
{
    assert_int_equal(server, 0);
    pin *p = arg;
    pthread_mutex_lock(&p->lock);
    if (p->admitted[0] == '\0')
        snprintf(p->admitted, sizeof(p->admitted), "%s", run_id);
    bool good = strcmp(p->admitted, run_id) == 0;
    if (!good)
        snprintf(p->refused, sizeof(p->refused), "%s", run_id);
    pthread_mutex_unlock(&p->lock);
    return good;
}

static bool meets_another_run(void *arg)
{
    dlock_redis *redis = arg;
    dlock_redis_conn *conn;
    char text[256];
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(500), &conn), DLOCK_REDIS_NOT_SENT);
    dlock_redis_last_error(redis, text, sizeof(text));
    return strstr(text, "another run of the server") != NULL;
}

/* A server that comes back may have forgotten: nothing is sent to it before it is let in. */
static void another_run_of_the_server_is_not_used_before_it_is_admitted(void **state)
{
    fx_only_single("it kills Redis");
    rig *r = *state;
    char err[256];
    dlock_redis *redis;
    dlock_redis_conn *conn;
    pin p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const dlock_redis_options options = {
        .url = fx_redis_url(r->server), .admit = admit, .admit_arg = &p};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    assert_int_equal(run_echo(redis, 2000), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(2000), &conn), DLOCK_REDIS_OK);
    dlock_redis_hang_up(conn);
    assert_int_equal(strlen(p.admitted), 40);

    fx_redis_restart(r->server);
    assert_true(fx_wait_until(meets_another_run, redis, 5000));
    assert_int_equal(run_echo(redis, 300), DLOCK_REDIS_NOT_SENT); /* the pool's neither */
    rig_ask(r, "CONFIG RESETSTAT%s", "");
    for (int i = 0; i < 5; i++) {
        assert_int_equal(run_echo(redis, 100), DLOCK_REDIS_NOT_SENT);
        assert_string_equal(dlock_redis_said(), DLOCK_NOT_ADMITTED); /* held back or not */
    }
    redisReply *stats = fx_redis_reply(r->server, "INFO commandstats");
    assert_null(strstr(stats->str, "cmdstat_eval")); /* nor was one byte of it sent */
    freeReplyObject(stats);

    pthread_mutex_lock(&p.lock);
    assert_string_not_equal(p.admitted, p.refused);
    memcpy(p.admitted, p.refused, sizeof(p.admitted));
    pthread_mutex_unlock(&p.lock);
    assert_true(fx_wait_until(answers, redis, 5000));
    dlock_redis_close(redis);
}

static void pin_to(pin *p, const char *run_id)
{
    pthread_mutex_lock(&p->lock);
    snprintf(p->admitted, sizeof(p->admitted), "%s", run_id);
    pthread_mutex_unlock(&p->lock);
}

/* A server that was left may only have been cut off: connections to it still work. */
static void a_run_that_is_no_longer_admitted_is_sent_nothing(void **state)
{
    rig *r = *state;
    char err[256], text[256], run_id[64];
    dlock_redis *redis;
    dlock_redis_conn *idle, *asking;
    redisReply *reply;
    dlock_args words;
    pin p = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const dlock_redis_options options = {
        .url = fx_redis_url(r->server), .admit = admit, .admit_arg = &p};
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), 0);
    assert_int_equal(run_echo(redis, 2000), DLOCK_REDIS_OK); /* the pool has one */
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(2000), &idle), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(2000), &asking), DLOCK_REDIS_OK);
    memcpy(run_id, p.admitted, sizeof(run_id));

    dlock_args_init(&words);
    dlock_args_text(&words, "PING");
    dlock_redis_readmit(redis); /* as before */
    assert_int_equal(run_echo(redis, 2000), DLOCK_REDIS_OK);
    assert_int_equal(dlock_redis_call(idle, &words, dlock_in_ms(2000), NULL), DLOCK_REDIS_OK);

    dlock_redis_queue(asking, &words);
    assert_int_equal(dlock_redis_flush(asking, dlock_in_ms(2000)), DLOCK_REDIS_OK);
    pin_to(&p, "another");
    dlock_redis_readmit(redis);
    rig_ask(r, "CONFIG RESETSTAT%s", "");
    assert_true(dlock_redis_broken(idle));
    assert_int_equal(dlock_redis_call(idle, &words, dlock_in_ms(2000), NULL), DLOCK_REDIS_NOT_SENT);
    dlock_redis_last_error(redis, text, sizeof(text));
    assert_non_null(strstr(text, "no longer admitted"));
    assert_int_equal(dlock_redis_read(asking, dlock_in_ms(2000), &reply), DLOCK_REDIS_UNKNOWN);
    assert_null(reply);
    assert_int_equal(run_echo(redis, 300), DLOCK_REDIS_NOT_SENT);
    redisReply *stats = fx_redis_reply(r->server, "INFO commandstats");
    assert_null(strstr(stats->str, "cmdstat_eval"));
    assert_null(strstr(stats->str, "cmdstat_ping"));
    freeReplyObject(stats);
    dlock_redis_hang_up(idle);
    dlock_redis_hang_up(asking);

    pin_to(&p, run_id); /* it was the right one after all */
    assert_true(fx_wait_until(answers, redis, 5000));
    dlock_args_free(&words);
    dlock_redis_close(redis);
}

/* ---- a connect that takes its time ----------------------------------------------------------- */

typedef struct caller {
    dlock_redis *redis;
    dlock_redis_outcome outcome;
    atomic_bool done;
} caller;

static void *dial(void *arg)
{
    caller *c = arg;
    dlock_redis_conn *conn;
    c->outcome = dlock_redis_dial(c->redis, NULL, dlock_in_ms(9000), &conn);
    atomic_store(&c->done, true);
    dlock_redis_hang_up(conn);
    return NULL;
}

static void interrupt(int signo)
{
    (void)signo;
}

/* A listener with room for one, and that one in it: the next connect hangs until it is accepted. */
static int full_listener(int *ret_port, int *ret_filler)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 0), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    *ret_filler = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(*ret_filler, (struct sockaddr *)&at, len), 0);
    return listener;
}

/* A profiler's timer, or a child's end, is no reason to give up a server. */
static void a_signal_does_not_end_a_connect(void **state)
{
    (void)state;
    char url[64];
    int port, filler, listener = full_listener(&port, &filler);
    pthread_t thread;
    struct sigaction action = {.sa_handler = interrupt}; /* no SA_RESTART */
    sigaction(SIGUSR1, &action, NULL);
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", port);
    char err[256] = "";
    dlock_redis_options options = {.url = url, .connect_ms = 9000};
    caller c = {0};
    assert_int_equal(dlock_redis_open(&options, &c.redis, err, sizeof(err)), 0);
    pthread_create(&thread, NULL, dial, &c);
    for (int i = 0; i < 20 && !atomic_load(&c.done); i++) {
        pthread_kill(thread, SIGUSR1);
        fx_let_pass(10);
    }
    int accepted = accept(listener, NULL, NULL); /* now there is room for it */
    pthread_join(thread, NULL);
    close(accepted);
    close(filler);
    close(listener);
    dlock_redis_close(c.redis);
    assert_int_equal(c.outcome, DLOCK_REDIS_OK);
}

/* Redis says so with the word ERR. */
static void a_right_that_a_script_misses_is_said(void **state)
{
    rig *r = *state;
    static dlock_script set =
        DLOCK_SCRIPT("denied", "#!lua\nreturn redis.call('SET', KEYS[1], 'x')");
    dlock_args words;
    redisReply *reply = NULL;
    dlock_args_init(&words);
    dlock_args_text(&words, "denied");
    rig_ask(r, "ACL SETUSER default %s", "-set");
    dlock_redis_outcome outcome =
        dlock_redis_eval(r->redis, &set, 1, &words, dlock_in_ms(10000), &reply);
    char said[32];
    snprintf(said, sizeof(said), "%s", dlock_redis_said());
    rig_ask(r, "ACL SETUSER default %s", "+set");
    assert_int_equal(outcome, DLOCK_REDIS_ERROR);
    assert_string_equal(said, "NOPERM");
    freeReplyObject(reply);
    dlock_args_free(&words);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_whether_it_was_executed),
        cmocka_unit_test(addresses_are_checked),
        cmocka_unit_test(a_unix_address_has_user_and_password),
        cmocka_unit_test(a_forgotten_script_is_sent_again),
        cmocka_unit_test(a_right_that_a_script_misses_is_said),
        cmocka_unit_test(an_idle_connection_that_died_is_not_used),
        cmocka_unit_test(a_stopped_server_is_unknown_and_in_time),
        cmocka_unit_test(a_dead_server_is_not_sent_then_back),
        cmocka_unit_test(callers_beyond_the_pool_queue),
        cmocka_unit_test(a_wrong_password_is_an_error_without_it),
        cmocka_unit_test(a_server_without_auth_does_not_spill_the_password),
        cmocka_unit_test(a_demoted_master_is_left),
        cmocka_unit_test(replicas_are_waited_for_until_far_deadlines),
        cmocka_unit_test(another_run_of_the_server_is_not_used_before_it_is_admitted),
        cmocka_unit_test(a_run_that_is_no_longer_admitted_is_sent_nothing),
        cmocka_unit_test(a_signal_does_not_end_a_connect),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, rig_setup, rig_teardown);
}
