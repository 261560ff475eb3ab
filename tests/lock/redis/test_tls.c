/*
 * TLS to a real server: whose certificate is taken, what is said of one that is not, and that
 * nothing is sent before. Skipped where the build has no TLS.
 */
#include "tests/lock/rig.h"
#include "tests/support/http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#define SECRET "s3cret"

enum { SOON_MS = 20000 };

static struct {
    fx_redis *redis;
    int port; /* of TLS */
    char dir[256];
} tls;

#define file_of(name, buf) (snprintf(buf, sizeof(buf), "%s/%s", tls.dir, name), buf)

/* ---- helpers --------------------------------------------------------------------------------- */

static dlock_redis *open_at(const char *credentials, const char *host, int port)
{
    char url[256];
    snprintf(url, sizeof(url), "rediss://%s%s:%d", credentials, host, port);
    return rig_redis(url);
}

static dlock_redis_outcome ping(dlock_redis *redis, int ms)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "PING");
    dlock_redis_outcome outcome = dlock_redis_command(redis, NULL, &args, dlock_in_ms(ms), NULL);
    dlock_args_free(&args);
    return outcome;
}

static void present(const char *certificate)
{
    fx_redis_do(tls.redis, "CONFIG SET tls-cert-file %s/%s.pem tls-key-file %s/%s.key", tls.dir,
                certificate, tls.dir, certificate);
}

/* A server with a good certificate, which the case trusts, and that asks for none. */
static void need_tls(void)
{
    char ca[300];
    if (!tls.redis)
        fx_skip("this build has no TLS (no hiredis_ssl)");
    present("good");
    fx_redis_do(tls.redis, "CONFIG SET tls-auth-clients no");
    setenv("SSL_CERT_FILE", file_of("ca.pem", ca), 1);
    unsetenv("DLOCK_TLS_CERT");
    unsetenv("DLOCK_TLS_KEY");
}

/* What a PING through TLS to this port ends with: "" or why not. */
static const char *try_ping(const char *host, int port)
{
    static char error[256];
    dlock_redis *redis = open_at("", host, port);
    dlock_redis_outcome outcome = ping(redis, SOON_MS);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (outcome == DLOCK_REDIS_OK)
        assert_string_equal(error, "");
    else
        assert_int_equal(outcome, DLOCK_REDIS_NOT_SENT);
    dlock_redis_close(redis);
    return error;
}

static int listen_on(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(listener, 8), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return listener;
}

/* ---- certificates ---------------------------------------------------------------------------- */

static void a_certificate_is_taken_or_refused_with_the_reason(void **state)
{
    (void)state;
    static const struct {
        const char *certificate, *host, *says;
    } cases[] = {
        {"good", "localhost", NULL},
        {"good", "127.0.0.1", NULL},
        {"expired", "localhost", "certificate has expired"},
        {"expired", "127.0.0.1", "certificate has expired"},
        {"foreign", "localhost", "unable to get local issuer certificate"},
        {"nobody", "localhost", "self-signed certificate"},
        {"elsewhere", "localhost", "hostname mismatch"},
        {"elsewhere", "127.0.0.1", "IP address mismatch"},
        {"good", "localhost", NULL},
    };
    need_tls();
    for (size_t i = 0; i < COUNT(cases); i++) {
        present(cases[i].certificate);
        const char *error = try_ping(cases[i].host, tls.port);
        if (cases[i].says ? !strstr(error, cases[i].says) : *error != '\0')
            fail_msg("%s for %s: %s", cases[i].certificate, cases[i].host, error);
    }
}

/* One that has gone bad is refused when the next connection is made. */
static void a_certificate_that_expires_keeps_new_connections_out(void **state)
{
    (void)state;
    need_tls();
    dlock_redis *redis = open_at("", "localhost", tls.port);
    char error[256];
    assert_int_equal(ping(redis, SOON_MS), DLOCK_REDIS_OK);
    present("expired");
    assert_int_equal(ping(redis, SOON_MS), DLOCK_REDIS_OK); /* on the connection that is there */
    fx_redis_do(tls.redis, "CLIENT KILL TYPE normal SKIPME yes");
    assert_int_equal(ping(redis, SOON_MS), DLOCK_REDIS_NOT_SENT);
    dlock_redis_last_error(redis, error, sizeof(error));
    assert_non_null(strstr(error, "certificate has expired"));
    dlock_redis_close(redis);
}

static void a_server_that_asks_for_a_certificate_gets_it(void **state)
{
    (void)state;
    need_tls();
    char cert[300], key[300], err[256] = "";
    dlock_redis *redis;
    fx_redis_do(tls.redis, "CONFIG SET tls-auth-clients yes");
    redis = open_at("", "localhost", tls.port);
    assert_int_not_equal(ping(redis, SOON_MS), DLOCK_REDIS_OK);
    dlock_redis_last_error(redis, err, sizeof(err));
    assert_string_not_equal(err, ""); /* a reset may overtake the server's reason */
    dlock_redis_close(redis);

    setenv("DLOCK_TLS_CERT", file_of("client.pem", cert), 1);
    assert_int_equal(
        dlock_redis_open(&(dlock_redis_options){.url = "rediss://h"}, &redis, err, sizeof(err)),
        -1);
    assert_non_null(strstr(err, "DLOCK_TLS_KEY"));
    setenv("DLOCK_TLS_KEY", file_of("client.key", key), 1);
    assert_string_equal(try_ping("localhost", tls.port), "");
}

static void a_file_of_authorities_that_is_not_there_is_said(void **state)
{
    (void)state;
    need_tls();
    char err[256] = "", file[300];
    dlock_redis *redis;
    dlock_redis_options options = {.url = "rediss://h"};
    setenv("SSL_CERT_FILE", file_of("none.pem", file), 1);
    assert_int_equal(dlock_redis_open(&options, &redis, err, sizeof(err)), -1);
    assert_non_null(strstr(err, "SSL_CERT_FILE"));
    setenv("SSL_CERT_FILE", file_of("nobody.pem", file), 1);
    const char *error = try_ping("localhost", tls.port);
    assert_non_null(strstr(error, "self-signed certificate in certificate chain"));
}

/* ---- servers that do not speak TLS ----------------------------------------------------------- */

static void a_plain_server_is_not_spoken_to(void **state)
{
    (void)state;
    need_tls();
    const char *error = try_ping("127.0.0.1", fx_redis_port(tls.redis));
    assert_non_null(strstr(error, "does it speak TLS on this port?"));
    char url[64];
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", tls.port); /* and the reverse */
    dlock_redis *redis = rig_redis(url);
    assert_int_not_equal(ping(redis, SOON_MS), DLOCK_REDIS_OK);
    dlock_redis_close(redis);
}

/* Who accepts and is silent costs what a connect may cost; who hears all hears no password. */
static void a_silent_server_costs_one_deadline_and_hears_nothing(void **state)
{
    (void)state;
    need_tls();
    char heard[8192], error[256];
    int port, listener = listen_on(&port);
    dlock_redis *redis = open_at("user:" SECRET "@", "127.0.0.1", port);
    dlock_time start = dlock_now();
    assert_int_equal(ping(redis, 300), DLOCK_REDIS_NOT_SENT);
    int64_t took_us = dlock_now().us - start.us;
    assert_true(took_us >= 300000 && took_us < (int64_t)SOON_MS * 1000);
    dlock_redis_last_error(redis, error, sizeof(error));
    assert_non_null(strstr(error, "no answer in time"));
    int fd = accept(listener, NULL, NULL);
    ssize_t len = recv(fd, heard, sizeof(heard), 0);
    assert_true(len > 0);
    assert_int_equal(heard[0], 0x16); /* a handshake record */
    assert_null(memmem(heard, (size_t)len, SECRET, strlen(SECRET)));
    assert_null(memmem(heard, (size_t)len, "AUTH", 4));
    close(fd);
    close(listener);
    dlock_redis_close(redis);
}

/* ---- what goes through it -------------------------------------------------------------------- */

static void queue_echo(dlock_redis_conn *conn, const char *text, size_t len)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "ECHO");
    dlock_args_bytes(&args, text, len);
    dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

/* Commands and replies from one byte to more than a TLS record holds, in one pipeline. */
static void each_reply_of_a_pipeline_is_its_own(void **state)
{
    (void)state;
    enum { ECHOES = 300, STEP = 211 };
    need_tls();
    static char text[ECHOES * STEP + 16];
    dlock_redis *redis = open_at("", "localhost", tls.port);
    dlock_redis_conn *conn;
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)('a' + i % 23);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < ECHOES; i++)
            queue_echo(conn, text + i % 16, (size_t)i * STEP + 1);
        assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
        for (int i = 0; i < ECHOES; i++) {
            redisReply *reply;
            assert_true(dlock_redis_wait(conn, dlock_in_ms(SOON_MS)));
            assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), &reply), DLOCK_REDIS_OK);
            assert_int_equal(reply->len, (size_t)i * STEP + 1);
            assert_memory_equal(reply->str, text + i % 16, reply->len);
            freeReplyObject(reply);
        }
        assert_false(dlock_redis_wait(conn, dlock_in_ms(0)));
    }
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
}

/* A session ticket makes the socket readable, and is nothing to read. */
static void a_fresh_connection_has_nothing_to_read(void **state)
{
    (void)state;
    need_tls();
    dlock_redis *redis = open_at("", "localhost", tls.port);
    dlock_redis_conn *conn;
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    assert_false(dlock_redis_wait(conn, dlock_in_ms(200)));
    queue_echo(conn, "x", 1);
    assert_int_equal(dlock_redis_flush(conn, dlock_in_ms(SOON_MS)), DLOCK_REDIS_OK);
    assert_true(dlock_redis_wait(conn, dlock_in_ms(SOON_MS)));
    assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), NULL), DLOCK_REDIS_OK);
    fx_redis_do(tls.redis, "CLIENT KILL TYPE normal SKIPME yes");
    assert_true(dlock_redis_wait(conn, dlock_in_ms(SOON_MS))); /* its end */
    assert_int_equal(dlock_redis_read(conn, dlock_in_ms(SOON_MS), NULL), DLOCK_REDIS_UNKNOWN);
    dlock_redis_hang_up(conn);
    dlock_redis_close(redis);
}

/* What one connection ended with is no error of another of the same thread. */
static void a_lost_connection_spoils_no_other(void **state)
{
    (void)state;
    need_tls();
    dlock_redis *redis = open_at("", "localhost", tls.port);
    dlock_redis_conn *lost, *other;
    for (int i = 0; i < 10; i++) {
        dlock_time deadline = dlock_in_ms(SOON_MS);
        assert_int_equal(dlock_redis_dial(redis, NULL, deadline, &lost), DLOCK_REDIS_OK);
        fx_redis_do(tls.redis, "CLIENT KILL TYPE normal SKIPME yes");
        assert_int_equal(dlock_redis_dial(redis, NULL, deadline, &other), DLOCK_REDIS_OK);
        assert_int_equal(dlock_redis_read(lost, deadline, NULL), DLOCK_REDIS_UNKNOWN);
        assert_non_null(strstr(try_ping("192.0.2.1.invalid", tls.port), "can not connect"));
        queue_echo(other, "still here", 10);
        assert_int_equal(dlock_redis_flush(other, deadline), DLOCK_REDIS_OK);
        assert_int_equal(dlock_redis_read(other, deadline, NULL), DLOCK_REDIS_OK);
        dlock_redis_hang_up(lost);
        dlock_redis_hang_up(other);
    }
    dlock_redis_close(redis);
}

static void a_stopped_server_is_unknown_and_in_time(void **state)
{
    (void)state;
    need_tls();
    dlock_redis *redis = open_at("", "localhost", tls.port);
    assert_int_equal(ping(redis, SOON_MS), DLOCK_REDIS_OK);
    fx_redis_signal(tls.redis, SIGSTOP);
    dlock_redis_outcome on_old = ping(redis, 200);
    dlock_redis_outcome on_new = ping(redis, 200); /* its handshake is not answered */
    fx_redis_signal(tls.redis, SIGCONT);
    assert_int_equal(on_old, DLOCK_REDIS_UNKNOWN);
    assert_int_equal(on_new, DLOCK_REDIS_NOT_SENT);
    dlock_redis_close(redis);
}

static void *lock_often(void *lock)
{
    for (int i = 0; i < 50; i++) {
        dlock_hold *hold;
        if (dlock_acquire(lock, &(dlock_wait){.wait_ms = SOON_MS}, &hold) != DLOCK_OK ||
            dlock_release(hold) != DLOCK_OK)
            return (void *)1;
    }
    return NULL;
}

/* Waiting by a list, by a channel and by asking: two clients, so that all of it goes by Redis. */
static void locks_are_waited_for_through_it(void **state)
{
    (void)state;
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    enum { CLIENTS = 2, THREADS = 2 };
    need_tls();
    dlock_redis *redis = open_at("", "localhost", tls.port);
    for (size_t k = 0; k < COUNT(kinds); k++) {
        dlock_client *clients[CLIENTS];
        dlock_lock *locks[CLIENTS];
        pthread_t threads[CLIENTS * THREADS];
        for (int c = 0; c < CLIENTS; c++) {
            clients[c] = rig_client(&(dlock_client_options){.redis = redis});
            locks[c] = rig_lock(clients[c], "through-tls", (dlock_options){.kind = kinds[k]});
        }
        for (int i = 0; i < CLIENTS * THREADS; i++)
            pthread_create(&threads[i], NULL, lock_often, locks[i % CLIENTS]);
        for (int i = 0; i < CLIENTS * THREADS; i++) {
            void *failed;
            pthread_join(threads[i], &failed);
            assert_null(failed);
        }
        for (int c = 0; c < CLIENTS; c++) {
            dlock_lock_free(locks[c]);
            dlock_client_free(clients[c]);
        }
    }
    dlock_redis_close(redis);
}

/* ---- the programs ---------------------------------------------------------------------------- */

/* Runs "dlock WORDS" on this server; the exit code, and what it said in `ret`. */
static int run_dlock(const char *host, const char *words, char *ret, size_t ret_len)
{
    char line[512], path[256];
    snprintf(line, sizeof(line), "DLOCK_REDIS=rediss://%s:%d exec %s %s", host, tls.port,
             fx_build_path("dlock", path, sizeof(path)), words);
    fx_process *process = fx_spawn((const char *const[]){"sh", "-c", line, NULL}, true);
    int code = fx_process_wait(process, SOON_MS);
    snprintf(ret, ret_len, "%s%s", fx_process_stdout(process), fx_process_stderr(process));
    fx_process_free(process);
    return code;
}

static void dlock_runs_through_it_or_says_why_not(void **state)
{
    (void)state;
    need_tls();
    char said[1024];
    assert_int_equal(run_dlock("localhost", "run n -- echo done", said, sizeof(said)), 0);
    assert_string_equal(said, "done\n");
    present("elsewhere");
    assert_int_equal(run_dlock("localhost", "status n", said, sizeof(said)), 69);
    assert_non_null(strstr(said, "hostname mismatch"));
    present("expired");
    assert_int_equal(run_dlock("localhost", "run -w 1 n -- echo done", said, sizeof(said)), 69);
    assert_non_null(strstr(said, "certificate has expired"));
    assert_null(strstr(said, "done"));
}

static void *buy_often(void *server)
{
    for (int i = 0; i < 50; i++) {
        char url[128];
        fx_reply reply;
        snprintf(url, sizeof(url), "%s/buy?item=P0001&user=u%d", fx_server_url(server), i);
        int status = fx_http("POST", url, NULL, NULL, SOON_MS, &reply);
        fx_reply_free(&reply);
        if (status != 201 && status != 409)
            return (void *)1;
    }
    return NULL;
}

static void flashsale_sells_through_it(void **state)
{
    (void)state;
    enum { BUYERS = 4 };
    need_tls();
    char url[64], stock[160];
    pthread_t threads[BUYERS];
    fx_reply reply;
    snprintf(url, sizeof(url), "rediss://localhost:%d", tls.port);
    fx_server *server =
        fx_server_start(url, (const char *const[]){"--item", "P0001", "--stock", "100", NULL});
    for (int i = 0; i < BUYERS; i++)
        pthread_create(&threads[i], NULL, buy_often, server);
    for (int i = 0; i < BUYERS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    snprintf(stock, sizeof(stock), "%s/stock?item=P0001", fx_server_url(server));
    assert_int_equal(fx_http("GET", stock, NULL, NULL, SOON_MS, &reply), 200);
    assert_non_null(strstr(reply.body, "\"remaining\":0,\"orders\":100"));
    fx_reply_free(&reply);
    assert_int_equal(fx_server_stop(server), 0);
}

static bool log_says_expired(void *process)
{
    return strstr(fx_process_stderr(process), "certificate has expired");
}

static void flashsale_says_why_it_can_not(void **state)
{
    (void)state;
    need_tls();
    char url[64], path[256];
    snprintf(url, sizeof(url), "rediss://localhost:%d", tls.port);
    present("expired");
    fx_process *process =
        fx_spawn((const char *const[]){fx_build_path("flashsale", path, sizeof(path)), "--listen",
                                       "127.0.0.1:0", "--redis", url, NULL},
                 true);
    assert_true(fx_wait_until(log_says_expired, process, SOON_MS));
    fx_process_free(process);
}

/* ---- the server ------------------------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
#ifdef DLOCK_TLS
    char port[16], ca[300], cert[300], key[300];
    fx_dir_make(tls.dir, sizeof(tls.dir));
    if (fx_shell("exec tests/support/certificates \"$1\"", tls.dir, SOON_MS) != 0)
        return -1;
    tls.port = fx_free_port();
    snprintf(port, sizeof(port), "%d", tls.port);
    const char *const args[] = {"--tls-port",
                                port,
                                "--tls-cert-file",
                                file_of("good.pem", cert),
                                "--tls-key-file",
                                file_of("good.key", key),
                                "--tls-ca-cert-file",
                                file_of("ca.pem", ca),
                                "--tls-auth-clients",
                                "no",
                                NULL};
    tls.redis = fx_redis_start_single(args);
#endif
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_redis_stop(tls.redis);
    if (tls.redis)
        fx_dir_remove(tls.dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_is_taken_or_refused_with_the_reason),
        cmocka_unit_test(a_certificate_that_expires_keeps_new_connections_out),
        cmocka_unit_test(a_server_that_asks_for_a_certificate_gets_it),
        cmocka_unit_test(a_file_of_authorities_that_is_not_there_is_said),
        cmocka_unit_test(a_plain_server_is_not_spoken_to),
        cmocka_unit_test(a_silent_server_costs_one_deadline_and_hears_nothing),
        cmocka_unit_test(each_reply_of_a_pipeline_is_its_own),
        cmocka_unit_test(a_fresh_connection_has_nothing_to_read),
        cmocka_unit_test(a_lost_connection_spoils_no_other),
        cmocka_unit_test(a_stopped_server_is_unknown_and_in_time),
        cmocka_unit_test(locks_are_waited_for_through_it),
        cmocka_unit_test(dlock_runs_through_it_or_says_why_not),
        cmocka_unit_test(flashsale_sells_through_it),
        cmocka_unit_test(flashsale_says_why_it_can_not),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, setup, teardown);
}
