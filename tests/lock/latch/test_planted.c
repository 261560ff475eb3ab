/*
 * Four defects of latches, planted into a copy of ours, one at a time. Each must show in the
 * scenario that the command as it is withstands: a scenario that finds nothing wrong with a broken
 * latch proves nothing about a sound one.
 */
#include "tests/lock/rig.h"
#include "tests/support/proxy.h"

enum { SOON_MS = 30000, BUILD_MS = 120000, CODE_OPEN = 0, CODE_NOT_OPEN = 75 };

typedef struct scene {
    fx_redis *redis;
    fx_proxy *proxy;
    const char *program;  /* that is judged; it is behind the proxy */
    const char *patience; /* seconds that it waits: of a broken one, all of them */
} scene;

struct defect {
    const char *name; /* of the patch */
    int (*scenario)(scene *on);
    int sound, broken; /* what comes of it */
};

static int planted, caught;

/* ---- what scenarios are made of -------------------------------------------------------------- */

/* Our own command, straight to Redis. */
static void ours(const scene *on, const char *words)
{
    char line[512], path[256];
    snprintf(line, sizeof(line), "exec %s latch %s --redis %s", fx_build_path("dlock", path, 256),
             words, fx_redis_url(on->redis));
    assert_int_equal(fx_shell(line, "", SOON_MS), 0);
}

static fx_process *judged_waits(const scene *on)
{
    const char *const argv[] = {on->program,  "wait",    "--wait",
                                on->patience, "--redis", fx_proxy_url(on->proxy),
                                "planted",    NULL};
    return fx_spawn(argv, false);
}

static int end_of(fx_process *process)
{
    int code = fx_process_wait(process, SOON_MS);
    fx_process_free(process);
    return code;
}

/* Whether the waiter sleeps, as far as Redis can tell: it has subscribed, and looked after that. */
static bool sleeps(void *arg)
{
    fx_redis *redis = arg;
    redisReply *subscribers = fx_redis_reply(redis, "PUBSUB NUMSUB dlock:{planted}:open");
    redisReply *calls = fx_redis_reply(redis, "INFO commandstats");
    const char *at = strstr(calls->str, "cmdstat_evalsha:calls=");
    bool both = subscribers->elements == 2 && subscribers->element[1]->integer == 1 && at &&
                strtol(strchr(at, '=') + 1, NULL, 10) >= 2;
    freeReplyObject(calls);
    freeReplyObject(subscribers);
    return both;
}

static fx_process *judged_sleeps(scene *on)
{
    fx_redis_do(on->redis, "CONFIG RESETSTAT");
    fx_process *waiter = judged_waits(on);
    assert_true(fx_wait_until(sleeps, on->redis, SOON_MS));
    return waiter;
}

static bool is_delayed(void *proxy)
{
    return fx_proxy_count(proxy, "delayed") > 0;
}

/* ---- scenarios: what the wait ends with, or what is left ------------------------------------- */

static int the_message_is_lost(scene *on)
{
    ours(on, "set 1 planted");
    fx_process *waiter = judged_sleeps(on);
    fx_proxy_say(on->proxy, "drop push");
    ours(on, "down planted");
    return end_of(waiter);
}

static int it_opens_before_the_subscription(scene *on)
{
    ours(on, "set 1 planted");
    fx_proxy_say(on->proxy, "delay request 500ms 1 match subscribe");
    fx_process *waiter = judged_waits(on);
    assert_true(fx_wait_until(is_delayed, on->proxy, SOON_MS));
    ours(on, "down planted");
    return end_of(waiter);
}

static int it_is_set_anew_before_a_look(scene *on)
{
    ours(on, "set 1 planted");
    fx_process *waiter = judged_sleeps(on);
    fx_proxy_say(on->proxy, "blackhole");
    ours(on, "down planted");
    ours(on, "set 1 planted");
    fx_proxy_say(on->proxy, "heal");
    return end_of(waiter);
}

/* The first question is told the round, the second one counts. What is left of two. */
static int the_reply_is_lost(scene *on)
{
    const char *const argv[] = {on->program, "latch", "down", "--redis", fx_proxy_url(on->proxy),
                                "planted",   NULL};
    ours(on, "set 2 planted");
    fx_proxy_say(on->proxy, "drop reply 2 match script by:");
    assert_int_equal(end_of(fx_spawn(argv, false)), 0);
    assert_int_equal(fx_proxy_count(on->proxy, "dropped"), 1);
    return (int)fx_redis_number(on->redis, "HGET planted left");
}

static const struct defect defects[] = {
    {"latch-message-only", the_message_is_lost, CODE_OPEN, CODE_NOT_OPEN},
    {"latch-look-before-subscribe", it_opens_before_the_subscription, CODE_OPEN, CODE_NOT_OPEN},
    {"latch-round-forgotten", it_is_set_anew_before_a_look, CODE_OPEN, CODE_NOT_OPEN},
    {"latch-counted-twice", the_reply_is_lost, 1, 0},
};

/* ---- each of them, on the command as it is and as it is planted ------------------------------ */

static int result(const struct defect *defect, fx_redis *redis, const char *program,
                  const char *patience)
{
    scene on = {redis, fx_proxy_start(fx_redis_url(redis)), program, patience};
    fx_redis_do(redis, "FLUSHALL");
    int came_of_it = defect->scenario(&on);
    fx_proxy_stop(on.proxy);
    return came_of_it;
}

static void is_caught(void **state)
{
    const struct defect *defect = *state;
    char dir[72], path[64], program[160], patch[128];
    fx_redis *redis = fx_redis_start_single(NULL);
    fx_build_path("dlock", path, sizeof(path));
    assert_int_equal(result(defect, redis, path, "60"), defect->sound);

    fx_dir_make(dir, sizeof(dir));
    snprintf(patch, sizeof(patch), "tests/planted/lock/%s.patch", defect->name);
    const char *const argv[] = {"tests/planted/build.sh", patch, dir, "dlock", NULL};
    fx_process *build = fx_spawn(argv, true);
    if (fx_process_wait(build, BUILD_MS) != 0)
        fail_msg("%s could not be planted: %s%s", defect->name, fx_process_stdout(build),
                 fx_process_stderr(build));
    fx_process_free(build);
    planted++;
    snprintf(program, sizeof(program), "%s/%s", dir, path);
    assert_int_equal(result(defect, redis, program, "5"), defect->broken);
    caught++;
    fx_dir_remove(dir);
    fx_redis_stop(redis);
}

int main(void)
{
    enum { DEFECTS = COUNT(defects) };
    struct CMUnitTest tests[DEFECTS];
    for (int i = 0; i < DEFECTS; i++)
        tests[i] = (struct CMUnitTest){.name = defects[i].name,
                                       .test_func = is_caught,
                                       .initial_state = (void *)(uintptr_t)&defects[i]};
    int failed = cmocka_run_group_tests_name("planted latches", tests, NULL, NULL);
    print_message("planted %d, caught %d\n", planted, caught);
    return failed;
}
