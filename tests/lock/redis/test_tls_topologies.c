/*
 * TLS to sentinels and to a cluster: all of the way, what is asked for the servers included, is
 * checked like the way to one server. Skipped where the build has no TLS.
 */
#include "tests/lock/rig.h"

#include <signal.h>

#define SECRET "s3cret"

enum { SOON_MS = 30000, ARGS_MAX = 32 };

static char dir[256]; /* of the certificates; "" = no TLS in this build */

static void need_tls(void)
{
    if (!dir[0])
        fx_skip("this build has no TLS (no hiredis_ssl)");
}

/* The settings of a server with this certificate, ending with NULL; `more` likewise. */
static void tls_args(const char *ret[ARGS_MAX], const char *port, const char *certificate,
                     const char *const *more)
{
    static char cert[300], key[300], ca[300];
    snprintf(cert, sizeof(cert), "%s/%s.pem", dir, certificate);
    snprintf(key, sizeof(key), "%s/%s.key", dir, certificate);
    snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
    const char *const args[] = {"--tls-port",         port, "--tls-cert-file",    cert,
                                "--tls-key-file",     key,  "--tls-ca-cert-file", ca,
                                "--tls-auth-clients", "no", "--tls-replication",  "yes"};
    size_t n = COUNT(args);
    memcpy(ret, args, sizeof(args));
    while (*more)
        ret[n++] = *more++;
    ret[n] = NULL;
}

static dlock_redis_outcome write_key(dlock_redis *redis, const char *key)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "SET");
    dlock_args_text(&args, key);
    dlock_args_text(&args, "v");
    dlock_redis_outcome outcome =
        dlock_redis_command(redis, key, &args, dlock_in_ms(SOON_MS), NULL);
    dlock_args_free(&args);
    return outcome;
}

static bool writes(void *redis)
{
    return write_key(redis, "k") == DLOCK_REDIS_OK;
}

static bool says_expired(void *redis)
{
    char error[512];
    bool refused = write_key(redis, "k") == DLOCK_REDIS_NOT_SENT;
    dlock_redis_last_error(redis, error, sizeof(error));
    return refused && strstr(error, "certificate has expired");
}

/* ---- a cluster ------------------------------------------------------------------------------- */

static bool serves(void *redis)
{
    char info[2048];
    fx_redis_text(redis, info, sizeof(info), "CLUSTER INFO");
    return strstr(info, "cluster_state:ok");
}

static void a_cluster_is_reached_through_it(void **state)
{
    (void)state;
    need_tls();
    char port[16], url[64];
    const char *args[ARGS_MAX];
    snprintf(port, sizeof(port), "%d", fx_free_port());
    snprintf(url, sizeof(url), "rediss+cluster://localhost:%s", port);
    tls_args(args, port, "good",
             (const char *const[]){"--cluster-enabled", "yes", "--tls-cluster", "yes", NULL});
    fx_redis *node = fx_redis_start_single(args);
    fx_redis_do(node, "CLUSTER ADDSLOTSRANGE 0 16383");
    assert_true(fx_wait_until(serves, node, SOON_MS));

    dlock_redis *redis = rig_redis(url);
    assert_true(fx_wait_until(writes, redis, SOON_MS));
    assert_int_equal(write_key(redis, "another"), DLOCK_REDIS_OK);
    dlock_redis_close(redis);
    fx_redis_do(node, "CONFIG SET tls-cert-file %s/expired.pem tls-key-file %s/expired.key", dir,
                dir);
    redis = rig_redis(url);
    assert_true(fx_wait_until(says_expired, redis, SOON_MS));
    dlock_redis_close(redis);
    fx_redis_stop(node);
}

/* ---- a sentinel ------------------------------------------------------------------------------ */

/* One that watches the master at that port, and answers at its own with this certificate. */
static fx_process *start_sentinel(const char *port, const char *certificate,
                                  const char *master_port)
{
    char path[300];
    const char *args[ARGS_MAX], *program = getenv("REDIS_SERVER");
    tls_args(args, port, certificate, (const char *const[]){"--port", "0", NULL});
    snprintf(path, sizeof(path), "%s/sentinel-%s.conf", dir, port);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; args[i]; i += 2)
        fprintf(file, "%s %s\n", args[i] + 2, args[i + 1]);
    fprintf(file, "bind 127.0.0.1\ndir %s\nsentinel monitor shop 127.0.0.1 %s 1\n", dir,
            master_port);
    fprintf(file, "requirepass " SECRET "\n");
    fclose(file);
    return fx_spawn((const char *const[]){program && *program ? program : "redis-server", path,
                                          "--sentinel", NULL},
                    true);
}

static void a_sentinel_and_its_master_are_reached_through_it(void **state)
{
    (void)state;
    need_tls();
    char master_port[16], port[16], url[128];
    const char *args[ARGS_MAX];
    snprintf(master_port, sizeof(master_port), "%d", fx_free_port());
    tls_args(args, master_port, "good", (const char *const[]){NULL});
    fx_redis *master = fx_redis_start_single(args);
    for (int i = 0; i < 2; i++) {
        snprintf(port, sizeof(port), "%d", fx_free_port());
        fx_process *sentinel = start_sentinel(port, i == 0 ? "good" : "expired", master_port);
        snprintf(url, sizeof(url), "rediss+sentinel://127.0.0.1:%s/shop?sentinel_password=" SECRET,
                 port);
        dlock_redis *redis = rig_redis(url);
        if (!fx_wait_until(i == 0 ? writes : says_expired, redis, SOON_MS)) {
            char error[512];
            dlock_redis_last_error(redis, error, sizeof(error));
            fail_msg("%s\n%s", error, fx_process_stdout(sentinel));
        }
        dlock_redis_close(redis);
        fx_process_free(sentinel);
    }
    fx_redis_stop(master);
}

/* ---- the certificates ------------------------------------------------------------------------ */

static int setup(void **state)
{
    (void)state;
#ifdef DLOCK_TLS
    char ca[300];
    fx_dir_make(dir, sizeof(dir));
    if (fx_shell("exec tests/support/certificates \"$1\"", dir, SOON_MS) != 0)
        return -1;
    snprintf(ca, sizeof(ca), "%s/ca.pem", dir);
    setenv("SSL_CERT_FILE", ca, 1);
#endif
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    if (dir[0])
        fx_dir_remove(dir);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_is_reached_through_it),
        cmocka_unit_test(a_sentinel_and_its_master_are_reached_through_it),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests(tests, setup, teardown);
}
