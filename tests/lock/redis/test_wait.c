/*
 * test_wait.c - a script, and WAIT behind it on the same connection: what each of the two answers
 * means, that no reply is taken for another's, and that a lock is free before the wait for
 * replicas. One connection, so that whatever is left unread is met by the next call.
 */
#include "tests/lock/rig.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/proxy.h"

enum { SOON_MS = 2000, LONG_MS = 20000 };

static struct stage {
    fx_redis *primary, *replica;
    dlock_redis *redis; /* one connection */
} s;

/* Writes, and replies with what it was told to. */
static dlock_script echo = DLOCK_SCRIPT("echo", "#!lua\n"
                                                "redis.call('SET', KEYS[1], ARGV[1])\n"
                                                "return ARGV[1]\n");

static bool is_online(void *arg)
{
    (void)arg;
    char info[4096];
    return fx_redis_text(s.primary, info, sizeof(info), "INFO replication") &&
           strstr(info, ",state=online,") != NULL;
}

static int setup(void **state)
{
    char port[16];
    (void)state;
    s.primary =
        fx_redis_start_single((const char *const[]){"--repl-diskless-sync-delay", "0", NULL});
    snprintf(port, sizeof(port), "%d", fx_redis_port(s.primary));
    s.replica =
        fx_redis_start_single((const char *const[]){"--replicaof", "127.0.0.1", port, NULL});
    assert_true(fx_wait_until(is_online, NULL, LONG_MS));
    char err[256] = "";
    dlock_redis_options options = {.url = fx_redis_url(s.primary), .pool_max = 1};
    if (dlock_redis_open(&options, &s.redis, err, sizeof(err)) != 0)
        fail_msg("%s", err);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_redis_signal(s.replica, SIGCONT);
    dlock_redis_close(s.redis);
    fx_redis_stop(s.replica);
    fx_redis_stop(s.primary);
    return 0;
}

/* One call; checks that the reply is its own. `said`: the text that comes back, NULL = none. */
static void call(dlock_redis *redis, const char *word, int replicas, int ms,
                 dlock_redis_outcome outcome, const char *said)
{
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "echoed");
    dlock_args_text(&args, word);
    assert_int_equal(
        dlock_redis_eval_wait(redis, &echo, 1, &args, replicas, dlock_in_ms(ms), &reply), outcome);
    if (said) {
        assert_non_null(reply);
        if (strncmp(reply->str, said, strlen(said)) != 0)
            fail_msg("expected %s, got %s", said, reply->str);
        freeReplyObject(reply);
    } else {
        assert_null(reply);
    }
    dlock_args_free(&args);
}

static void the_replica_has_what_was_waited_for(void **state)
{
    (void)state;
    char text[16], word[16];
    for (int i = 0; i < 100; i++) {
        snprintf(word, sizeof(word), "w%d", i);
        call(s.redis, word, 1, LONG_MS, DLOCK_REDIS_OK, word);
        assert_true(fx_redis_text(s.replica, text, sizeof(text), "GET echoed"));
        assert_string_equal(text, word);
    }
}

/* The text follows the hash that was not known, and WAIT once more behind it. */
static void a_forgotten_script_is_waited_for_too(void **state)
{
    (void)state;
    char text[16];
    for (int i = 0; i < 3; i++) {
        fx_redis_do(s.primary, "SCRIPT FLUSH");
        call(s.redis, "again", 1, LONG_MS, DLOCK_REDIS_OK, "again");
        assert_true(fx_redis_text(s.replica, text, sizeof(text), "GET echoed"));
        assert_string_equal(text, "again");
        call(s.redis, "next", 0, LONG_MS, DLOCK_REDIS_OK, "next");
    }
}

static void too_few_are_unknown_with_the_reply(void **state)
{
    (void)state;
    call(s.redis, "first", 2, SOON_MS, DLOCK_REDIS_UNKNOWN, "first");
    call(s.redis, "then", 1, LONG_MS, DLOCK_REDIS_OK, "then");
    fx_redis_signal(s.replica, SIGSTOP);
    call(s.redis, "second", 1, SOON_MS, DLOCK_REDIS_UNKNOWN, "second");
    call(s.redis, "third", 0, LONG_MS, DLOCK_REDIS_OK, "third");
    fx_redis_signal(s.replica, SIGCONT);
    call(s.redis, "fourth", 1, LONG_MS, DLOCK_REDIS_OK, "fourth");
}

/* WAIT answers behind a refusal, too, and that says nothing. */
static void a_refusal_stays_one(void **state)
{
    (void)state;
    fx_redis_do(s.primary, "CONFIG SET maxmemory 1");
    call(s.redis, "full", 1, LONG_MS, DLOCK_REDIS_REFUSED, "OOM");
    assert_string_equal(dlock_redis_said(), "OOM");
    fx_redis_do(s.primary, "CONFIG SET maxmemory 0");
    call(s.redis, "well", 1, LONG_MS, DLOCK_REDIS_OK, "well");
    fx_redis_do(s.primary, "DEL echoed");
    fx_redis_do(s.primary, "ACL SETUSER default -wait");
    call(s.redis, "alone", 1, LONG_MS, DLOCK_REDIS_UNKNOWN, "alone");
    call(s.redis, "last", 0, LONG_MS, DLOCK_REDIS_OK, "last");
    fx_redis_do(s.primary, "ACL SETUSER default +wait");
}

/* The script's reply is still on its way, and yet the server has been asked to WAIT. */
static void both_are_sent_before_either_is_answered(void **state)
{
    (void)state;
    char stats[8192];
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(s.primary));
    dlock_redis *behind = rig_redis(fx_proxy_url(proxy));
    call(behind, "learnt", 1, LONG_MS, DLOCK_REDIS_OK, "learnt");
    fx_redis_do(s.primary, "CONFIG RESETSTAT");
    fx_proxy_say(proxy, "delay reply 60s 1 match late");
    call(behind, "late", 2, SOON_MS, DLOCK_REDIS_UNKNOWN, NULL);
    assert_true(fx_redis_text(s.primary, stats, sizeof(stats), "INFO commandstats"));
    assert_non_null(strstr(stats, "cmdstat_wait:calls=1,"));
    dlock_redis_close(behind);
    fx_proxy_stop(proxy);
}

/* ---- who has acknowledged ----------------------------------------------------------------------
 */

/* What `followed` was asked last, and what it says. */
static struct judge {
    bool says;
    int asked, server, acknowledged;
    size_t listed;
} judge;

static bool judge_role(void *arg, int server, int acknowledged, const redisReply *role)
{
    struct judge *j = arg;
    j->asked++;
    j->server = server;
    j->acknowledged = acknowledged;
    j->listed = strcmp(role->element[0]->str, "master") == 0 ? role->element[2]->elements : 0;
    return j->says;
}

static long roles(void)
{
    char stats[8192];
    assert_true(fx_redis_text(s.primary, stats, sizeof(stats), "INFO commandstats"));
    const char *calls = strstr(stats, "cmdstat_role:calls=");
    return calls ? strtol(calls + strlen("cmdstat_role:calls="), NULL, 10) : 0;
}

static void who_acknowledged_is_judged_by_role(void **state)
{
    (void)state;
    char err[256] = "";
    dlock_redis *judged;
    dlock_redis_options options = {.url = fx_redis_url(s.primary),
                                   .pool_max = 1,
                                   .followed = judge_role,
                                   .followed_arg = &judge};
    if (dlock_redis_open(&options, &judged, err, sizeof(err)) != 0)
        fail_msg("%s", err);
    judge = (struct judge){.says = true, .server = -1};
    fx_redis_do(s.primary, "CONFIG RESETSTAT");
    call(s.redis, "unjudged", 1, LONG_MS, DLOCK_REDIS_OK, "unjudged");
    call(judged, "none", 0, LONG_MS, DLOCK_REDIS_OK, "none");
    assert_int_equal(roles(), 0);
    assert_int_equal(judge.asked, 0);
    call(judged, "yes", 1, LONG_MS, DLOCK_REDIS_OK, "yes");
    assert_int_equal(judge.asked, 1);
    assert_int_equal(judge.server, 0);
    assert_int_equal(judge.acknowledged, 1);
    assert_int_equal(judge.listed, 1);
    judge.says = false;
    call(judged, "no", 1, LONG_MS, DLOCK_REDIS_UNKNOWN, "no");
    assert_int_equal(judge.asked, 2);
    judge.says = true; /* nobody asks it where too few acknowledged, or ROLE is refused */
    call(judged, "few", 2, SOON_MS, DLOCK_REDIS_UNKNOWN, "few");
    fx_redis_do(s.primary, "ACL SETUSER default -role");
    call(judged, "denied", 1, LONG_MS, DLOCK_REDIS_UNKNOWN, "denied");
    fx_redis_do(s.primary, "ACL SETUSER default +role");
    assert_int_equal(judge.asked, 2);
    fx_redis_do(s.primary, "SCRIPT FLUSH");
    call(judged, "again", 1, LONG_MS, DLOCK_REDIS_OK, "again");
    fx_redis_do(s.primary, "CONFIG SET maxmemory 1");
    call(judged, "full", 1, LONG_MS, DLOCK_REDIS_REFUSED, "OOM");
    fx_redis_do(s.primary, "CONFIG SET maxmemory 0");
    call(judged, "well", 1, LONG_MS, DLOCK_REDIS_OK, "well");
    assert_int_equal(judge.asked, 4);
    dlock_redis_close(judged);
}

/* ---- the lock -------------------------------------------------------------------------------- */

typedef struct guarded {
    dlock_hold *hold;
    dlock_guard *guard;
    dlock_status status;
    atomic_bool done;
} guarded;

static void *write_and_wait(void *arg)
{
    guarded *g = arg;
    dlock_args args;
    redisReply *reply = NULL;
    dlock_args_init(&args);
    dlock_args_text(&args, "{w}written");
    g->status =
        dlock_guard_call_wait(g->hold, g->guard, 1, &args, true, 1, dlock_in_ms(LONG_MS), &reply);
    atomic_store(&g->done, true);
    freeReplyObject(reply);
    dlock_args_free(&args);
    return NULL;
}

static dlock_lock *lock_of(dlock_client *client)
{
    return rig_lock(client, "{w}lock", (dlock_options){.kind = DLOCK_FAIR, .lease_ms = 1000});
}

/* Longer than its lease, and nothing is lost: the lock was given back long before. */
static void the_lock_is_free_before_replicas_are_waited_for(void **state)
{
    (void)state;
    pthread_t thread;
    dlock_hold *next;
    rig_reports reports = {.text = ""};
    dlock_redis *redis = rig_redis(fx_redis_url(s.primary));
    dlock_client *mine = rig_client(
        &(dlock_client_options){.redis = redis, .report = rig_note, .report_arg = &reports});
    dlock_client *other = rig_client(&(dlock_client_options){.redis = redis});
    dlock_lock *lock = lock_of(mine), *same = lock_of(other);
    guarded g = {.guard = dlock_guard_new("set", "redis.call('SET', KEYS[1], 1) return 1")};
    assert_int_equal(dlock_acquire(lock, NULL, &g.hold), DLOCK_OK);
    fx_redis_signal(s.replica, SIGSTOP);
    assert_int_equal(pthread_create(&thread, NULL, write_and_wait, &g), 0);
    for (int i = 0; i < 3; i++) {
        dlock_wait wait = {.wait_ms = LONG_MS};
        assert_int_equal(dlock_acquire(same, &wait, &next), DLOCK_OK);
        assert_false(atomic_load(&g.done));
        fx_let_pass(500); /* renewals are due meanwhile */
        assert_int_equal(dlock_release(next), DLOCK_OK);
    }
    assert_false(atomic_load(&g.done));
    fx_redis_signal(s.replica, SIGCONT);
    pthread_join(thread, NULL);
    assert_int_equal(g.status, DLOCK_OK);
    assert_int_equal(dlock_release(g.hold), DLOCK_OK);
    if (reports.text[0] != '\0')
        fail_msg("reported: %s", reports.text);
    dlock_guard_free(g.guard);
    dlock_lock_free(lock);
    dlock_lock_free(same);
    dlock_client_free(mine);
    dlock_client_free(other);
    dlock_redis_close(redis);
}

static void a_guarded_write_that_too_few_have_has_run(void **state)
{
    (void)state;
    dlock_redis *redis = rig_redis(fx_redis_url(s.primary));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis});
    dlock_lock *lock = lock_of(client);
    dlock_guard *guard = dlock_guard_new("set", "redis.call('SET', KEYS[1], 1) return 'ran'");
    for (int release = 0; release < 2; release++) {
        dlock_hold *hold;
        dlock_args args;
        redisReply *reply = NULL;
        dlock_args_init(&args);
        dlock_args_text(&args, "{w}written");
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        assert_int_equal(dlock_guard_call_wait(hold, guard, 1, &args, release == 1, 2,
                                               dlock_in_ms(SOON_MS), &reply),
                         DLOCK_UNKNOWN);
        assert_string_equal(reply->str, "ran");
        freeReplyObject(reply);
        dlock_args_free(&args);
        assert_int_equal(dlock_held(hold), release == 0);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        assert_int_equal(fx_redis_number(s.primary, "EXISTS {w}lock"), 0);
    }
    dlock_guard_free(guard);
    dlock_lock_free(lock);
    dlock_client_free(client);
    dlock_redis_close(redis);
}

int main(void)
{
#define STAGE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        STAGE(the_replica_has_what_was_waited_for),
        STAGE(a_forgotten_script_is_waited_for_too),
        STAGE(too_few_are_unknown_with_the_reply),
        STAGE(a_refusal_stays_one),
        STAGE(both_are_sent_before_either_is_answered),
        STAGE(who_acknowledged_is_judged_by_role),
        STAGE(the_lock_is_free_before_replicas_are_waited_for),
        STAGE(a_guarded_write_that_too_few_have_has_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
