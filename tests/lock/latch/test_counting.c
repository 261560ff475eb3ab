/* Latches that are set, counted down and looked at: what counts, how often, and for which latch. */
#include "tests/lock/latch/latch_rig.h"

#include <sys/wait.h>
#include <unistd.h>

enum { NAME_TOO_LONG = 449 };

static void it_opens_at_zero_and_can_be_set_again(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "zero");
    int64_t left = 7;
    for (int round = 0; round < 2; round++) {
        assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
        assert_int_equal(left_of(latch), 2);
        assert_int_equal(dlock_latch_set(latch, 5, 0), DLOCK_BUSY);
        assert_int_equal(dlock_latch_wait(latch, NULL), DLOCK_BUSY);
        down(latch, "a", 1);
        down(latch, "a", 1); /* once a round */
        assert_int_equal(dlock_latch_wait(latch, NULL), DLOCK_BUSY);
        down(latch, NULL, 0);
        assert_int_equal(left_of(latch), 0);
        assert_int_equal(dlock_latch_wait(latch, NULL), DLOCK_OK);
        down(latch, "late", 0);
        assert_true(rig_ask(r, "PTTL %s", "zero") > 86000000);
    }
    assert_int_equal(rig_ask(r, "DEL %s", "zero"), 1);
    assert_int_equal(dlock_latch_count_down(latch, "a", &left), DLOCK_EXPIRED);
    assert_int_equal(dlock_latch_left(latch, &left), DLOCK_EXPIRED);
    assert_int_equal(left, 7);
    dlock_latch_free(latch);
}

/* The round that one dlock_latch knows is over, by what another one did. */
static void a_round_that_is_not_known_is_no_obstacle(void **state)
{
    rig *r = *state;
    dlock_latch *one = latch_of(r->client, "rounds"), *other = latch_of(r->client, "rounds");
    for (int round = 0; round < 3; round++) {
        assert_int_equal(dlock_latch_set(round % 2 ? one : other, 2, 0), DLOCK_OK);
        down(one, NULL, 1);
        down(other, NULL, 0);
    }
    dlock_latch_free(one);
    dlock_latch_free(other);
}

enum { THREADS = 8, EACH = 50 };

static void *count_each_twice(void *arg)
{
    static atomic_int threads;
    int me = atomic_fetch_add(&threads, 1);
    for (int i = 0; i < 2 * EACH; i++) {
        char who[32];
        snprintf(who, sizeof(who), "%d/%d", me, i / 2);
        if (dlock_latch_count_down(arg, who, NULL) != DLOCK_OK)
            return arg;
    }
    return NULL;
}

static void each_is_counted_once_however_many_count(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "at-once");
    pthread_t threads[THREADS];
    assert_int_equal(dlock_latch_set(latch, THREADS * EACH + 1, 0), DLOCK_OK);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, count_each_twice, latch), 0);
    for (int i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(left_of(latch), 1);
    dlock_latch_free(latch);
}

static void it_lives_for_its_life_after_each_count_down(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "life");
    assert_int_equal(dlock_latch_set(latch, 2, 900000), DLOCK_OK);
    assert_in_range(rig_ask(r, "PTTL %s", "life"), 1, 900000);
    for (int64_t left = 1; left >= 0; left--) {
        rig_ask(r, "PEXPIRE %s 600000", "life");
        down(latch, NULL, left);
        assert_in_range(rig_ask(r, "PTTL %s", "life"), 600001, 900000);
    }
    dlock_latch_free(latch);
}

/* Without a reply nobody knows whether it was counted; asked again, it counts once. */
static void a_lost_reply_counts_once(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "lost-reply");
    far_client far = far_of(r, "lost-reply");
    assert_int_equal(dlock_latch_set(latch, 9, 0), DLOCK_OK);
    down(far.latch, NULL, 8); /* the server, and this latch, know script and round */
    static const char *const faults[] = {"drop reply", "drop request", "reset after",
                                         "reset before"};
    for (int i = 0; i < 4; i++) {
        fx_proxy_say(far.proxy, "%s 1 match evalsha", faults[i]);
        down(far.latch, NULL, 7 - i);
        fx_proxy_say(far.proxy, "heal");
    }
    assert_int_equal(left_of(latch), 4);
    far_end(&far);
    dlock_latch_free(latch);
}

static void without_any_reply_it_is_unknown_and_may_be_repeated(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "unknown");
    far_client far = far_of(r, "unknown");
    int64_t left = 7;
    assert_int_equal(dlock_latch_set(latch, 3, 0), DLOCK_OK);
    down(far.latch, NULL, 2);
    fx_proxy_say(far.proxy, "drop reply match evalsha");
    assert_int_equal(dlock_latch_count_down(far.latch, "me", &left), DLOCK_UNKNOWN);
    assert_int_equal(left, 7);
    fx_proxy_say(far.proxy, "heal");
    down(far.latch, "me", 1);
    assert_int_equal(left_of(latch), 1);

    /* Likewise of its setting: it is there, or it is not. */
    rig_ask(r, "DEL %s", "unknown");
    fx_proxy_say(far.proxy, "drop reply match evalsha");
    assert_int_equal(dlock_latch_set(far.latch, 3, 0), DLOCK_UNKNOWN);
    fx_proxy_say(far.proxy, "heal");
    assert_int_equal(dlock_latch_set(far.latch, 3, 0), DLOCK_BUSY);
    far_end(&far);
    dlock_latch_free(latch);
}

/* What reaches Redis when its repetition has counted already, and the latch was set again, would
 * open it too early. */
static void a_late_call_does_nothing_in_the_next_round(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "late");
    far_client far = far_of(r, "late");
    assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
    down(far.latch, NULL, 1);
    fx_proxy_say(far.proxy, "delay request 1500ms 1 match evalsha");
    down(far.latch, NULL, 0); /* by its repetition */
    assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
    script_count wanted = {r->server, script_calls(r->server) + 1};
    assert_true(fx_wait_until(have_run, &wanted, SOON_MS));
    assert_int_equal(left_of(latch), 2);
    far_end(&far);
    dlock_latch_free(latch);
}

static void what_is_no_latch_is_left_alone(void **state)
{
    rig *r = *state;
    static const char *const given[] = {"SET strange token", "RPUSH strange x",
                                        "HSET strange uuid:1 1",
                                        "HSET strange left 2x round 5 first 5 life 5"};
    dlock_latch *latch = latch_of(r->client, "strange");
    int64_t left = 7;
    for (size_t i = 0; i < COUNT(given); i++) {
        fx_redis_do(r->server, "DEL strange");
        fx_redis_do(r->server, given[i]);
        redisReply *before = fx_redis_reply(r->server, "DUMP strange");
        assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_NOT_OWNER);
        assert_int_equal(dlock_latch_count_down(latch, "a", &left), DLOCK_NOT_OWNER);
        assert_int_equal(dlock_latch_left(latch, &left), DLOCK_NOT_OWNER);
        assert_int_equal(dlock_latch_wait(latch, &(dlock_wait){.wait_ms = SOON_MS}),
                         DLOCK_NOT_OWNER);
        assert_int_equal(left, 7);
        redisReply *after = fx_redis_reply(r->server, "DUMP strange");
        assert_int_equal(before->len, after->len);
        assert_memory_equal(before->str, after->str, before->len);
        freeReplyObject(before);
        freeReplyObject(after);
    }
    dlock_latch_free(latch);
}

/* A latch is a stranger to locks of every kind as well. */
static void a_lock_does_not_take_a_latch_for_its_own(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "both");
    assert_int_equal(dlock_latch_set(latch, 1, 0), DLOCK_OK);
    for (dlock_kind kind = DLOCK_STRING; kind <= DLOCK_FAIR; kind++) {
        dlock_lock *lock = rig_lock(r->client, "both", (dlock_options){.kind = kind});
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_BUSY);
        dlock_lock_free(lock);
    }
    assert_int_equal(left_of(latch), 1);
    dlock_latch_free(latch);
}

static void bad_arguments_are_refused(void **state)
{
    rig *r = *state;
    static const char *const names[] = {NULL, "", "a{b", "{}"};
    char err[256], long_name[NAME_TOO_LONG + 1], who[130];
    dlock_latch *none = NULL;
    memset(long_name, 'n', NAME_TOO_LONG);
    long_name[NAME_TOO_LONG] = '\0';
    for (size_t i = 0; i <= COUNT(names); i++) {
        err[0] = '\0';
        assert_int_equal(
            dlock_latch_new(r->client, i < 4 ? names[i] : long_name, &none, err, sizeof(err)),
            DLOCK_INVALID);
        assert_true(strlen(err) > 0);
    }
    assert_null(none);
    dlock_latch *latch = latch_of(r->client, "bad");
    static const int64_t counts[] = {0, -1, 1000000001}, lives[] = {-1, 31536000001};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(dlock_latch_set(latch, counts[i], 0), DLOCK_INVALID);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(dlock_latch_set(latch, 1, lives[i]), DLOCK_INVALID);
    assert_int_equal(dlock_latch_set(latch, 1000000000, 31536000000), DLOCK_OK);
    memset(who, 'w', 129);
    who[129] = '\0';
    assert_int_equal(dlock_latch_count_down(latch, "", NULL), DLOCK_INVALID);
    assert_int_equal(dlock_latch_count_down(latch, who, NULL), DLOCK_INVALID);
    who[128] = '\0';
    down(latch, who, 999999999);
    assert_int_equal(dlock_latch_wait(latch, &(dlock_wait){.wait_ms = -2}), DLOCK_INVALID);
    assert_int_equal(dlock_latch_wait(latch, &(dlock_wait){.reserved = {1}}), DLOCK_INVALID);
    dlock_latch_free(latch);
}

static void a_child_has_no_latch(void **state)
{
    rig *r = *state;
    dlock_latch *latch = latch_of(r->client, "forked"), *none;
    assert_int_equal(dlock_latch_set(latch, 2, 0), DLOCK_OK);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char err[64];
        int64_t left;
        bool good = dlock_latch_set(latch, 1, 0) == DLOCK_FORKED &&
                    dlock_latch_count_down(latch, "c", &left) == DLOCK_FORKED &&
                    dlock_latch_left(latch, &left) == DLOCK_FORKED &&
                    dlock_latch_wait(latch, NULL) == DLOCK_FORKED &&
                    dlock_latch_new(r->client, "c", &none, err, sizeof(err)) == DLOCK_FORKED;
        dlock_latch_free(latch); /* does nothing */
        _exit(good ? 0 : 1);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(left_of(latch), 2);
    dlock_latch_free(latch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_opens_at_zero_and_can_be_set_again),
        cmocka_unit_test(a_round_that_is_not_known_is_no_obstacle),
        cmocka_unit_test(each_is_counted_once_however_many_count),
        cmocka_unit_test(it_lives_for_its_life_after_each_count_down),
        cmocka_unit_test(a_lost_reply_counts_once),
        cmocka_unit_test(without_any_reply_it_is_unknown_and_may_be_repeated),
        cmocka_unit_test(a_late_call_does_nothing_in_the_next_round),
        cmocka_unit_test(what_is_no_latch_is_left_alone),
        cmocka_unit_test(a_lock_does_not_take_a_latch_for_its_own),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(a_child_has_no_latch),
    };
    signal(SIGPIPE, SIG_IGN); /* as programs that use the library must */
    return cmocka_run_group_tests_name("latch counting", tests, rig_setup_single, rig_teardown);
}
