/* Declarative use. Key templates: what they become, and what they refuse. The callback form: what
 * it returns, and that the lock is released whatever the body does. */
#include "lock/dlock.h"
#include "tests/support/fixture.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

static const dlock_named_arg names[] = {
    {"item", "42"}, {"user", "anna"}, {"item_long", "long"}, {"empty", ""}, {NULL, NULL}};

/* ---- templates ------------------------------------------------------------------------------- */

static void fills(void **state)
{
    (void)state;
    static const struct {
        const char *key_template, *key;
    } cases[] = {
        {"plain", "plain"},
        {"stock:{item}", "stock:42"},
        {"{item}", "42"},
        {"{user}:{item}:{user}", "anna:42:anna"},
        {"{item_long}/{item}", "long/42"},
        {"{{}}", "{}"},
        {"stock:{{{item}}}:lock", "stock:{42}:lock"},
        {"{{item}}", "{item}"},
        {"a}}b{{c", "a}b{c"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char key[64], err[128] = "";
        assert_int_equal(
            dlock_template(cases[i].key_template, names, key, sizeof(key), err, sizeof(err)),
            DLOCK_OK);
        assert_string_equal(key, cases[i].key);
        assert_string_equal(err, "");
    }
}

static void refuses_and_says_why(void **state)
{
    (void)state;
    static const struct {
        const char *key_template, *complaint;
    } cases[] = {
        {"stock:{unknown}", "\"unknown\" of the template is missing"},
        {"stock:{ite}", "\"ite\" of the template is missing"},
        {"stock:{Item}", "\"Item\" of the template is missing"},
        {"stock:{empty}", "\"empty\" of the template is empty"},
        {"stock:{}", "names no argument"},
        {"stock:{item", "'{' is not closed"},
        {"stock:{it{em}", "'{' is not closed"},
        {"stock:{", "'{' is not closed"},
        {"stock:item}", "'}' without '{'"},
        {"stock:{item}}", "'}' without '{'"},
        {"", "is empty"},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char key[64] = "untouched", err[128] = "";
        assert_int_equal(
            dlock_template(cases[i].key_template, names, key, sizeof(key), err, sizeof(err)),
            DLOCK_INVALID);
        assert_string_equal(key, "");
        if (!strstr(err, cases[i].complaint))
            fail_msg("template \"%s\": \"%s\" does not say \"%s\"", cases[i].key_template, err,
                     cases[i].complaint);
    }
}

static void fits_exactly_or_not_at_all(void **state)
{
    (void)state;
    char key[9], err[128];
    assert_int_equal(dlock_template("stock:{item}", names, key, 9, err, sizeof(err)), DLOCK_OK);
    assert_string_equal(key, "stock:42");
    assert_int_equal(dlock_template("stock:{item}", names, key, 8, err, sizeof(err)),
                     DLOCK_INVALID);
    assert_string_equal(key, "");
    assert_non_null(strstr(err, "longer than 7 bytes"));
}

static void needs_neither_arguments_nor_an_error_buffer(void **state)
{
    (void)state;
    char key[16];
    assert_int_equal(dlock_template("plain", NULL, key, sizeof(key), NULL, 0), DLOCK_OK);
    assert_string_equal(key, "plain");
    assert_int_equal(dlock_template("{item}", NULL, key, sizeof(key), NULL, 0), DLOCK_INVALID);
    assert_int_equal(dlock_template(NULL, names, key, sizeof(key), NULL, 0), DLOCK_INVALID);
}

static void needs_a_template_and_room(void **state)
{
    (void)state;
    char key[16] = "untouched";
    const struct {
        const char *key_template;
        char *ret;
        size_t ret_len;
    } cases[] = {{NULL, key, sizeof(key)}, {"{item}", NULL, sizeof(key)}, {"{item}", key, 0}};
    for (size_t i = COUNT(cases); i-- > 0;) {
        char err[128] = "";
        assert_int_equal(dlock_template(cases[i].key_template, names, cases[i].ret,
                                        cases[i].ret_len, err, sizeof(err)),
                         DLOCK_INVALID);
        assert_non_null(strstr(err, "no template, or no room"));
        assert_string_equal(key, "untouched");
    }
    char err[128] = "";
    assert_int_equal(dlock_template("plain", names, key, 1, err, sizeof(err)), DLOCK_INVALID);
    assert_non_null(strstr(err, "longer than 0 bytes"));
    assert_string_equal(key, "");
}

/* ---- the callback form ----------------------------------------------------------------------- */

static fx_redis *server;
static dlock_redis *redis;
static dlock_client *client;

static bool exists(const char *key)
{
    redisReply *reply = fx_redis_reply(server, "EXISTS %s", key);
    bool there = reply->integer == 1;
    freeReplyObject(reply);
    return there;
}

static void set(const char *key, const char *value)
{
    freeReplyObject(fx_redis_reply(server, "SET %s %s", key, value));
}

static int setup(void **state)
{
    (void)state;
    char err[256];
    server = fx_redis_start(NULL);
    dlock_redis_options address = {.url = fx_redis_url(server)};
    if (dlock_redis_open(&address, &redis, err, sizeof(err)) != 0)
        return -1;
    return dlock_client_new(&(dlock_client_options){.redis = redis}, &client, err, sizeof(err));
}

static int teardown(void **state)
{
    (void)state;
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_redis_stop(server);
    return 0;
}

static int flush(void **state)
{
    (void)state;
    freeReplyObject(fx_redis_reply(server, "FLUSHALL"));
    return 0;
}

/* ---- one caller ------------------------------------------------------------------------------ */

static int check_and_return_7(void *arg, dlock_hold *hold)
{
    *(bool *)arg = dlock_held(hold) && exists("stock:42");
    return 7;
}

static void runs_the_body_under_the_lock_and_releases(void **state)
{
    (void)state;
    bool locked = false;
    int value = 0;
    assert_int_equal(
        dlock_with(client, "stock:{item}", names, NULL, NULL, check_and_return_7, &locked, &value),
        DLOCK_OK);
    assert_true(locked);
    assert_int_equal(value, 7);
    assert_false(exists("stock:42"));
}

static void the_value_need_not_be_asked_for(void **state)
{
    (void)state;
    bool locked = false;
    assert_int_equal(
        dlock_with(client, "stock:{item}", names, NULL, NULL, check_and_return_7, &locked, NULL),
        DLOCK_OK);
    assert_true(locked);
}

static int must_not_run(void *arg, dlock_hold *hold)
{
    (void)arg, (void)hold;
    fail_msg("the body ran");
    return 0;
}

static void without_the_lock_the_body_does_not_run(void **state)
{
    (void)state;
    int value = -1;
    set("stock:42", "stranger");
    assert_int_equal(
        dlock_with(client, "stock:{item}", names, NULL, NULL, must_not_run, NULL, &value),
        DLOCK_BUSY);
    assert_int_equal(
        dlock_with(client, "stock:{nobody}", names, NULL, NULL, must_not_run, NULL, &value),
        DLOCK_INVALID);
    assert_int_equal(dlock_with(client, "stock:{item}", names, &(dlock_options){.lease_ms = 1},
                                NULL, must_not_run, NULL, &value),
                     DLOCK_INVALID);
    assert_int_equal(value, -1);
}

static int lose_it(void *arg, dlock_hold *hold)
{
    (void)arg, (void)hold;
    set("stock:42", "stranger");
    return 7;
}

static void a_lock_lost_meanwhile_shows(void **state)
{
    (void)state;
    int value = 0;
    assert_int_equal(dlock_with(client, "stock:{item}", names, NULL, NULL, lose_it, NULL, &value),
                     DLOCK_NOT_OWNER);
    assert_int_equal(value, 7);
    assert_true(exists("stock:42")); /* the stranger's */
}

static int silence_redis(void *arg, dlock_hold *hold)
{
    (void)arg, (void)hold;
    fx_redis_signal(server, SIGSTOP);
    return 7;
}

static void a_release_without_an_answer_does_not_undo_what_was_done(void **state)
{
    (void)state;
    int value = 0;
    assert_int_equal(
        dlock_with(client, "stock:{item}", names, NULL, NULL, silence_redis, NULL, &value),
        DLOCK_OK); /* ours to the body's end */
    assert_int_equal(value, 7);
    fx_redis_signal(server, SIGCONT);
}

static int nest(void *arg, dlock_hold *hold)
{
    (void)hold;
    bool locked = false;
    int value = 0;
    assert_int_equal(
        dlock_with(client, "stock:{item}", names, arg, NULL, check_and_return_7, &locked, &value),
        DLOCK_OK);
    assert_true(locked);
    return exists("stock:42") ? value : -1;
}

static void nests(void **state)
{
    (void)state;
    for (int kind = DLOCK_STRING; kind <= DLOCK_FAIR; kind++) {
        int value = 0;
        dlock_options options = {.kind = (dlock_kind)kind};
        assert_int_equal(
            dlock_with(client, "stock:{item}", names, &options, NULL, nest, &options, &value),
            DLOCK_OK);
        assert_int_equal(value, 7);
        assert_false(exists("stock:42"));
    }
}

/* ---- many callers, each with a lock object of its own ---------------------------------------- */

enum { THREADS = 8, TURNS = 25 };

static int count_up(void *arg, dlock_hold *hold)
{
    (void)hold;
    volatile int *counter = arg;
    int seen = *counter;
    sched_yield();
    *counter = seen + 1;
    return 0;
}

typedef struct caller {
    pthread_t thread;
    dlock_options options;
    int *counter;
    int failed;
} caller;

static void *call_often(void *arg)
{
    caller *self = arg;
    for (int i = 0; i < TURNS; i++)
        self->failed +=
            dlock_with(client, "stock:{item}", names, &self->options,
                       &(dlock_wait){.wait_ms = 20000}, count_up, self->counter, NULL) != DLOCK_OK;
    return NULL;
}

static void threads_take_turns(void **state)
{
    (void)state;
    static const dlock_options options[] = {{.kind = DLOCK_STRING},
                                            {.kind = DLOCK_HASH},
                                            {.kind = DLOCK_FAIR},
                                            {.kind = DLOCK_FAIR, .cohort_max = 8}};
    for (size_t k = 0; k < COUNT(options); k++) {
        caller callers[THREADS];
        int counter = 0;
        for (int i = 0; i < THREADS; i++) {
            callers[i] = (caller){.options = options[k], .counter = &counter};
            assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(callers[i].thread, NULL);
            assert_int_equal(callers[i].failed, 0);
        }
        assert_int_equal(counter, THREADS * TURNS);
    }
}

#define TEST(name) cmocka_unit_test_setup(name, flush)

int main(void)
{
    const struct CMUnitTest templates[] = {
        cmocka_unit_test(fills),
        cmocka_unit_test(refuses_and_says_why),
        cmocka_unit_test(fits_exactly_or_not_at_all),
        cmocka_unit_test(needs_neither_arguments_nor_an_error_buffer),
        cmocka_unit_test(needs_a_template_and_room),
    };
    const struct CMUnitTest callbacks[] = {
        TEST(runs_the_body_under_the_lock_and_releases),
        TEST(the_value_need_not_be_asked_for),
        TEST(without_the_lock_the_body_does_not_run),
        TEST(a_lock_lost_meanwhile_shows),
        TEST(nests),
        TEST(threads_take_turns),
        TEST(a_release_without_an_answer_does_not_undo_what_was_done),
    };
    int failed = cmocka_run_group_tests_name("template", templates, NULL, NULL);
    return failed + cmocka_run_group_tests_name("dlock_with", callbacks, setup, teardown);
}
