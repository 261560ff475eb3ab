/*
 * Fourteen defects that lock libraries are known for, planted into a copy of ours, one at a time.
 * Each must be caught by the same campaign that the library itself withstands: what finds nothing
 * wrong with a broken lock proves nothing about a sound one.
 */
#include "tests/lock/rig.h"

#include <stdlib.h>

#include "tests/support/campaign.h"
#include "tests/support/proxy.h"

enum { TICKS = 24, TICK_MS = 50, BUILD_MS = 120000, TRIES = 3, CATCHES = 12 };

struct ground {
    fx_redis *redis;
    fx_proxy *proxy;
    campaign campaign;
};

struct defect {
    const char *name;     /* of the patch */
    const char *load[20]; /* lockload's options */
    const char *order;    /* to the proxy */
    void (*tick)(struct ground *ground);
    const char *check[6]; /* histcheck's options */
    const char *found[2]; /* what it may call it; one of them must be there */
};

static int planted, caught;

/* ---- faults -----------------------------------------------------------------------------------
 */

static void delete_lock(struct ground *ground)
{
    campaign_note(EVENT_VOID_INVOKE, "planted");
    freeReplyObject(fx_redis_reply(ground->redis, "DEL planted"));
    campaign_note(EVENT_VOID_OK, "planted");
}

/* What a grant does that is lost at once. */
static void raise_fence(struct ground *ground)
{
    redisReply *reply = fx_redis_reply(ground->redis, "GET dlock:{planted}:fence");
    assert_non_null(reply);
    uint64_t fence = reply->str ? strtoull(reply->str, NULL, 10) + 1000 : 1000;
    char issued[64];
    snprintf(issued, sizeof(issued), "%llu s -", (unsigned long long)fence);
    fx_redis_do(ground->redis, "SET dlock:{planted}:fence %s", issued);
    freeReplyObject(reply);
    hist_write(&(hist_event){.kind = EVENT_FENCE_SET, .lock = "planted", .fence = fence});
}

static const struct defect defects[] = {
    {.name = "no-nx", .load = {"--kind", "string"}, .found = {"overlap"}},
    {.name = "release-without-owner-check",
     .load = {"--kind", "string", "--lease-ms", "100", "--renew-ms", "-1", "--hold-ms", "200"},
     .found = {"overlap"}},
    {.name = "renewal-recreates",
     .load = {"--kind", "string", "--renew-ms", "10", "--hold-ms", "100"},
     .tick = delete_lock,
     .found = {"re-created", "overlap"}},
    {.name = "retry-counted-twice",
     .load = {"--kind", "hash", "--processes", "1", "--threads", "1", "--io-ms", "300",
              "--lease-ms", "3000", "--wait-ms", "2000"},
     .order = "drop reply 3 match script next_fence",
     .check = {"--idle-ms", "1000", "--lease-ms", "3000"},
     .found = {"idle"}},
    {.name = "fence-ignored",
     .load = {"--kind", "string", "--lease-ms", "200", "--hold-ms", "100", "--guard", "100"},
     .tick = raise_fence,
     .found = {"stale write"}},
    {.name = "fence-stands-still", .load = {"--kind", "string"}, .found = {"fence"}},
    {.name = "no-recheck-after-subscribe",
     .load = {"--kind", "hash", "--threads", "1", "--fixed", "1", "--hold-ms", "300", "--think-ms",
              "1000", "--recheck-ms", "1000", "--lease-ms", "4000", "--wait-ms", "3000"},
     .order = "delay request 400ms match SUBSCRIBE",
     .check = {"--idle-ms", "550"},
     .found = {"idle"}},
    {.name = "message-only-wake-up",
     .load = {"--kind", "hash", "--threads", "1", "--fixed", "1", "--hold-ms", "300", "--think-ms",
              "1000", "--lease-ms", "4000", "--wait-ms", "3000"},
     .order = "drop push",
     .check = {"--idle-ms", "600"},
     .found = {"idle"}},
    {.name = "validity-from-the-reply",
     .load = {"--kind", "string", "--lease-ms", "300", "--renew-ms", "-1", "--fixed", "1",
              "--hold-ms", "450"},
     .order = "delay reply 150ms 1 match script next_fence",
     .found = {"overlap"}},
    {.name = "writer-beside-reader",
     .load = {"--kind", "write", "--readers", "70"},
     .found = {"overlap"}},
    {.name = "permit-twice",
     .load = {"--kind", "semaphore", "--permits", "3", "--take", "2"},
     .found = {"overlap"}},
    {.name = "reader-overtakes",
     .load = {"--kind", "write", "--readers", "80", "--threads", "4", "--hold-ms", "20"},
     .check = {"--fifo-ms", "150"},
     .found = {"fifo"}},
    {.name = "handed-on-fence", .load = {"--kind", "write", "--readers", "30"}, .found = {"fence"}},
    {.name = "share-renewal-recreates",
     .load = {"--kind", "write", "--readers", "50", "--renew-ms", "10", "--hold-ms", "100"},
     .tick = delete_lock,
     .found = {"re-created", "overlap"}},
};

/* ---- one campaign, on the library as it is and as it is planted -------------------------------
 */

/* histcheck's verdict on a load of `program` (NULL: ours); its words stay in the campaign. */
static int judge(struct ground *ground, const struct defect *defect, const char *program)
{
    const char *args[40] = {"--lock", "planted", "--duration-ms",
                            "1100",   "--redis", fx_proxy_url(ground->proxy)};
    for (int i = 0; defect->load[i]; i++)
        args[6 + i] = defect->load[i];
    campaign_begin(&ground->campaign);
    snprintf(ground->campaign.name, sizeof(ground->campaign.name), "%s%s",
             program ? "planted/" : "unplanted/", defect->name);
    fx_proxy_say(ground->proxy, "heal");
    if (defect->order)
        fx_proxy_say(ground->proxy, "%s", defect->order);
    campaign_load(&ground->campaign, program, args);
    for (int i = 0; i < TICKS; i++) {
        if (defect->tick)
            defect->tick(ground);
        campaign_pass(&ground->campaign, TICK_MS);
    }
    return campaign_judge(&ground->campaign, defect->check);
}

static void build_planted(const struct defect *defect, const char *dir)
{
    char patch[128];
    snprintf(patch, sizeof(patch), "tests/planted/lock/%s.patch", defect->name);
    const char *const argv[] = {"tests/planted/build.sh", patch, dir, "tests/lockload", NULL};
    fx_process *build = fx_spawn(argv, true);
    int status = fx_process_wait(build, BUILD_MS);
    if (status != 0)
        fail_msg("%s could not be planted: %s%s", defect->name, fx_process_stdout(build),
                 fx_process_stderr(build));
    fx_process_free(build);
}

/* Whether a line of the answer begins with one of the words. */
static bool names_it(const char *answer, const struct defect *defect)
{
    for (int i = 0; i < 2 && defect->found[i]; i++) {
        char line[64];
        snprintf(line, sizeof(line), "%s: planted: ", defect->found[i]);
        if (strstr(answer, line))
            return true;
    }
    return false;
}

/* The library as it is withstands the campaign. A machine that stood still meanwhile has proven
 * nothing; then once more. */
static void withstand(struct ground *ground, const struct defect *defect)
{
    for (int i = 0; i < TRIES; i++) {
        bool held = judge(ground, defect, NULL) == 0;
        campaign_end(&ground->campaign);
        if (held)
            return;
        if (ground->campaign.stalls == 0)
            break;
    }
    fail_msg("without a defect: %s", ground->campaign.answer);
}

/* A defect shows when processes meet at the wrong time: they have some tries to do so. */
static void catch_defect(struct ground *ground, const struct defect *defect, const char *program)
{
    for (int i = 0; i < CATCHES; i++) {
        bool found =
            judge(ground, defect, program) == 1 && names_it(ground->campaign.answer, defect);
        campaign_end(&ground->campaign);
        if (found)
            return;
    }
    fail_msg("not caught: %s", ground->campaign.answer);
}

static void is_caught(void **state)
{
    const struct defect *defect = *state;
    struct ground ground = {.redis = fx_redis_start_single(NULL)};
    char dir[72], path[64], program[160];
    ground.proxy = fx_proxy_start(fx_redis_url(ground.redis));
    withstand(&ground, defect);
    planted++;
    fx_dir_make(dir, sizeof(dir));
    build_planted(defect, dir);
    snprintf(program, sizeof(program), "%s/%s", dir,
             fx_build_path("tests/lockload", path, sizeof(path)));
    catch_defect(&ground, defect, program);
    caught++;
    fx_dir_remove(dir);
    fx_proxy_stop(ground.proxy);
    fx_redis_stop(ground.redis);
}

int main(void)
{
    enum { DEFECTS = COUNT(defects) };
    struct CMUnitTest tests[DEFECTS];
    for (int i = 0; i < DEFECTS; i++)
        tests[i] = (struct CMUnitTest){.name = defects[i].name,
                                       .test_func = is_caught,
                                       .initial_state = (void *)(uintptr_t)&defects[i]};
    int failed = cmocka_run_group_tests_name("planted", tests, NULL, NULL);
    print_message("planted %d, caught %d\n", planted, caught);
    return failed;
}
