/* What dlock.h promises of its growth, and the client that opens its own server. */
#include "tests/lock/rig.h"

#include <sys/wait.h>
#include <unistd.h>

/* ---- room for members to come ---------------------------------------------------------------- */

#define ROOM(s) (int)(sizeof((s).reserved) / sizeof((s).reserved[0]))

/* A later header's option, that this library does not know: with every word of the room. */
static void an_option_that_is_not_known_is_refused(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_lock *lock;
    dlock_options options = {0};
    for (int i = 0; i < ROOM(options); i++) {
        options = (dlock_options){0};
        options.reserved[i] = (uint64_t)1 << (i * 9 % 64);
        assert_int_equal(dlock_lock_new(r->client, "room", &options, &lock, err, sizeof(err)),
                         DLOCK_INVALID);
        assert_non_null(strstr(err, "dlock_options: `reserved` must be zero"));
    }
    dlock_client *client;
    dlock_client_options with = {0};
    for (int i = 0; i < ROOM(with); i++) {
        with = (dlock_client_options){.redis = r->redis};
        with.reserved[i] = (uint64_t)1 << 63;
        assert_int_equal(dlock_client_new(&with, &client, err, sizeof(err)), DLOCK_INVALID);
        assert_non_null(strstr(err, "dlock_client_options: `reserved` must be zero"));
        with.redis = NULL;
        assert_int_equal(
            dlock_client_open(fx_redis_url(r->server), &with, &client, err, sizeof(err)),
            DLOCK_INVALID);
    }
    dlock_redis *redis;
    dlock_redis_options at = {0};
    for (int i = 0; i < ROOM(at); i++) {
        at = (dlock_redis_options){.url = fx_redis_url(r->server)};
        at.reserved[i] = 1;
        assert_int_equal(dlock_redis_open(&at, &redis, err, sizeof(err)), -1);
        assert_non_null(strstr(err, "dlock_redis_options: `reserved` must be zero"));
    }
}

/* The wait has no sentence. Nor does it count as a failed acquisition: nothing was tried. */
static void a_wait_that_is_not_known_is_refused(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "room", (dlock_options){0});
    dlock_hold *hold, *again;
    dlock_wait wait = {0};
    for (int i = 0; i < ROOM(wait); i++) {
        wait = (dlock_wait){0};
        wait.reserved[i] = 1;
        assert_int_equal(dlock_acquire(lock, &wait, &hold), DLOCK_INVALID);
    }
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_acquire(lock, &wait, &again), DLOCK_INVALID); /* nor is it a re-entry */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

static void what_the_library_fills_is_zero_there(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "filled", (dlock_options){0});
    dlock_hold *hold;
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    dlock_info info;
    dlock_stats stats;
    memset(&info, 0xff, sizeof(info));
    memset(&stats, 0xff, sizeof(stats));
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    dlock_client_stats(r->client, &stats);
    assert_true(info.held && stats.acquired > 0 && stats.wait_us.count > 0);
    for (int i = 0; i < ROOM(info); i++)
        assert_int_equal(info.reserved[i], 0);
    for (int i = 0; i < ROOM(stats); i++)
        assert_int_equal(stats.reserved[i], 0);
    for (int i = 0; i < ROOM(stats.wait_us); i++)
        assert_int_equal(stats.wait_us.reserved[i] | stats.hold_us.reserved[i], 0);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
}

/* ---- a client with a server of its own ------------------------------------------------------- */

static void a_client_opens_its_server_by_its_url(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_client *client = NULL;
    dlock_hold *hold;
    dlock_client_options with = {.io_ms = 5000};
    assert_int_equal(dlock_client_open(fx_redis_url(r->server), &with, &client, err, sizeof(err)),
                     DLOCK_OK);
    dlock_lock *lock = rig_lock(client, "opened", (dlock_options){.kind = DLOCK_FAIR});
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);

    dlock_args args; /* a command of one's own, on the same server */
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "GET");
    dlock_args_text(&args, "opened");
    assert_int_equal(
        dlock_redis_command(dlock_client_redis(client), "opened", &args, dlock_in_ms(5000), &reply),
        DLOCK_REDIS_OK);
    assert_string_equal(reply->str, dlock_owner(hold));
    freeReplyObject(reply);
    dlock_args_free(&args);

    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_client_free(client);
    assert_ptr_equal(dlock_client_redis(r->client), r->redis);
}

static int connections(rig *r)
{
    char info[4096];
    fx_redis_text(r->server, info, sizeof(info), "INFO clients");
    const char *count = strstr(info, "connected_clients:");
    assert_non_null(count);
    return (int)strtol(count + strlen("connected_clients:"), NULL, 10);
}

typedef struct count {
    rig *rig;
    int connections;
} count;

static bool are_so_many(void *arg)
{
    const count *c = arg;
    return connections(c->rig) == c->connections;
}

static void its_connections_end_with_it(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_client *client = NULL;
    dlock_hold *hold;
    fx_only_single("it counts one server's connections");
    count before = {r, connections(r)};
    assert_int_equal(dlock_client_open(fx_redis_url(r->server), NULL, &client, err, sizeof(err)),
                     DLOCK_OK);
    dlock_lock *lock = rig_lock(client, "closed", (dlock_options){0});
    assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_true(connections(r) > before.connections);
    dlock_lock_free(lock);
    dlock_client_free(client);
    assert_true(fx_wait_until(are_so_many, &before, 10000)); /* Redis sees each end in time */
}

static void what_can_not_be_opened_is_said(void **state)
{
    rig *r = *state;
    dlock_client_options both = {.redis = r->redis}, bad = {.recheck_ms = 5000};
    const struct {
        const char *url;
        const dlock_client_options *options;
        const char *why;
    } cases[] = {
        {NULL, NULL, "needs a URL"},
        {"", NULL, "bad Redis address"},
        {"http://127.0.0.1/", NULL, "bad Redis address"},
        {fx_redis_url(r->server), &both, "opens `redis` itself"},
        {fx_redis_url(r->server), &bad, "recheck_ms"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char err[256] = "";
        dlock_client *client = (dlock_client *)state;
        assert_int_equal(
            dlock_client_open(cases[i].url, cases[i].options, &client, err, sizeof(err)),
            DLOCK_INVALID);
        assert_ptr_equal(client, state); /* not written */
        assert_non_null(strstr(err, cases[i].why));
    }
}

static void what_is_missing_is_said(void **state)
{
    rig *r = *state;
    char err[256] = "";
    dlock_redis *redis;
    dlock_client *client;
    assert_int_equal(dlock_redis_open(NULL, &redis, err, sizeof(err)), -1);
    assert_non_null(strstr(err, "a URL at least"));
    dlock_redis *const votes[] = {r->redis, NULL, r->redis};
    dlock_client_options of = {.quorum = votes, .quorum_len = 3};
    assert_int_equal(dlock_client_new(&of, &client, err, sizeof(err)), DLOCK_INVALID);
    assert_non_null(strstr(err, "a server of the quorum is NULL"));
}

/* The child's copy would share its parent's sockets. */
static void a_forked_child_has_no_server(void **state)
{
    rig *r = *state;
    pid_t child = fork();
    if (child == 0)
        _exit(dlock_client_redis(r->client) ? 1 : 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_option_that_is_not_known_is_refused),
        cmocka_unit_test(a_wait_that_is_not_known_is_refused),
        cmocka_unit_test(what_the_library_fills_is_zero_there),
        cmocka_unit_test(a_client_opens_its_server_by_its_url),
        cmocka_unit_test(its_connections_end_with_it),
        cmocka_unit_test(what_can_not_be_opened_is_said),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(a_forked_child_has_no_server),
    };
    return cmocka_run_group_tests_name("interface", tests, rig_setup, rig_teardown);
}
