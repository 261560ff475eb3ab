/* redis-py's Lock, as Debian ships it, and ours exclude each other. */
#include "tests/lock/rig.h"

#include <stdlib.h>

#include "tests/support/campaign.h"

#define PYTHON "/usr/bin/python3" /* the one that Debian's packages belong to */
#define SCRIPT "tests/lock/foreign_lock.py"

enum { FOREIGNERS = 2, LIMIT_MS = 20000 };

static bool has_redis_py(void)
{
    const char *const argv[] = {PYTHON, "-c", "import redis", NULL};
    fx_process *python = fx_spawn(argv, false);
    bool has = fx_process_wait(python, LIMIT_MS) == 0;
    fx_process_free(python);
    return has;
}

static fx_process *foreigner(const campaign *c, fx_redis *redis, int number)
{
    char history[128];
    snprintf(history, sizeof(history), "%s/foreign-%d.hist", c->dir, number);
    const char *const argv[] = {
        PYTHON, SCRIPT, fx_redis_url(redis) + strlen("unix://"), "both", "1.0", history, NULL};
    return fx_spawn(argv, true);
}

static void count_grants(fx_process *python)
{
    int status = fx_process_wait(python, LIMIT_MS);
    if (status != 0)
        fail_msg("%s ended with %d: %s", SCRIPT, status, fx_process_stderr(python));
    assert_true(strtol(fx_process_stdout(python), NULL, 10) >= 3);
    fx_process_free(python);
}

static void both_exclude_each_other(void **state)
{
    (void)state;
    if (!has_redis_py()) {
        print_message("python3-redis is not installed\n");
        skip();
    }
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_process *python[FOREIGNERS];
    campaign c;
    campaign_begin(&c);
    for (int i = 0; i < FOREIGNERS; i++)
        python[i] = foreigner(&c, redis, i);
    const char *const args[] = {"--redis",
                                fx_redis_url(redis),
                                "--lock",
                                "both",
                                "--kind",
                                "string",
                                "--processes",
                                "2",
                                "--threads",
                                "2",
                                "--duration-ms",
                                "1000",
                                "--think-ms",
                                "10",
                                "--hold-ms",
                                "4",
                                "--lease-ms",
                                "2000",
                                "--wait-ms",
                                "3000",
                                NULL};
    campaign_load(&c, NULL, args);
    const char *const options[] = {"--lease-ms", "2000", NULL};
    for (int i = 0; i < FOREIGNERS; i++)
        count_grants(python[i]);
    if (campaign_judge(&c, options) != 0)
        fail_msg("%s", c.answer);
    campaign_end(&c);
    fx_redis_stop(redis);
}

/* Whoever has it is told as a stranger, and its key is left alone. */
static void a_foreign_lock_is_seen_and_respected(void **state)
{
    rig *r = *state;
    dlock_lock *lock = rig_lock(r->client, "foreign", (dlock_options){0});
    dlock_hold *hold;
    dlock_info info;
    rig_ask(r, "SET %s 0123456789abcdef0123456789abcdef PX 60000", "foreign");
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = 50}, &hold), DLOCK_BUSY);
    assert_int_equal(dlock_inspect(lock, &info), DLOCK_OK);
    assert_string_equal(info.owner, "0123456789abcdef0123456789abcdef");
    assert_string_equal(info.host, "");
    assert_int_equal(info.pid, 0);
    assert_int_equal(rig_ask(r, "GET %s", "foreign"), 32);
    dlock_lock_free(lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_exclude_each_other),
        cmocka_unit_test_setup_teardown(a_foreign_lock_is_seen_and_respected, rig_setup_single,
                                        rig_teardown),
    };
    return cmocka_run_group_tests_name("interop", tests, NULL, NULL);
}
