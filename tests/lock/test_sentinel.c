/*
 * A master that changes, behind real sentinels: killed, demoted on purpose, back as a replica; what
 * becomes of clients, connections and locks. For sentinels that lie see redis/test_sentinel_lies.c.
 */
#include "tests/lock/rig.h"
#include "tests/support/topology.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#define SECRET "s3cret-of-all"

enum { SOON_MS = 60000, AFTER_SENTINELS_MS = 2000, FIRST_SENTINEL = 3, MEMBERS = 6 };

static fx_topology *redis_set; /* of 0 to 2, watched by the sentinels 3 to 5 */

/* ---- helpers --------------------------------------------------------------------------------- */

/* COMMAND KEY VALUE ("": none) */
static dlock_redis_outcome do_for(dlock_redis *redis, const char *command, const char *key,
                                  const char *value, int ms)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, command);
    dlock_args_text(&args, key);
    if (value[0])
        dlock_args_text(&args, value);
    dlock_redis_outcome outcome = dlock_redis_command(redis, key, &args, dlock_in_ms(ms), NULL);
    dlock_args_free(&args);
    return outcome;
}

typedef struct write_try {
    dlock_redis *redis;
    const char *key;
} write_try;

static bool writes(void *arg)
{
    const write_try *w = arg;
    return do_for(w->redis, "SET", w->key, "1", 300) == DLOCK_REDIS_OK;
}

static void assert_writes_soon(dlock_redis *redis, const char *key)
{
    char error[512];
    if (fx_wait_until(writes, &(write_try){redis, key}, SOON_MS))
        return;
    dlock_redis_last_error(redis, error, sizeof(error));
    fail_msg("no write: %s", error);
}

/* Whether the member has the key; -1 = it does not answer. */
static int has(int member, const char *key)
{
    redisReply *reply = fx_topology_ask(redis_set, member, "EXISTS %s", key);
    int n = reply && reply->type == REDIS_REPLY_INTEGER ? (int)reply->integer : -1;
    freeReplyObject(reply);
    return n;
}

static void tell_member(int member, const char *command, const char *word)
{
    redisReply *reply = fx_topology_ask(redis_set, member, command, word);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    freeReplyObject(reply);
}

static void tell_sentinels(const char *command, const char *word)
{
    for (int i = FIRST_SENTINEL; i < MEMBERS; i++)
        tell_member(i, command, word);
}

/* Of this process: its threads, or its descriptors but those of the fixture's logs. */
static int entries(const char *dir)
{
    int n = 0;
    DIR *d = opendir(dir);
    assert_non_null(d);
    for (struct dirent *e; (e = readdir(d));) {
        char path[300], target[64] = "";
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        ssize_t len = readlink(path, target, sizeof(target) - 1);
        n += len < 0 || strncmp(target, "/memfd:", 7) != 0;
    }
    closedir(d);
    return n;
}

/* For how long a master may be silent until it is taken for dead. On a busy machine one that is
 * well is silent for a second now and then, and that is no case's subject. */
static void be_patient(const char *ms)
{
    for (int i = FIRST_SENTINEL; i < MEMBERS; i++)
        freeReplyObject(fx_topology_ask(
            redis_set, i, "SENTINEL SET mymaster down-after-milliseconds %s failover-timeout 3000",
            ms)); /* or it does not run */
}

#define IMPATIENT "1000"
#define PATIENT   "20000"

static int killed; /* the master that was killed last */

/* Kills the master; another one is master then. */
static int fail_over(void)
{
    int old = killed = fx_topology_primary(redis_set, NULL);
    be_patient(IMPATIENT);
    fx_topology_kill(redis_set, old);
    fx_topology_next_primary(redis_set, NULL, old, SOON_MS);
    be_patient(PATIENT);
    return old;
}

static bool has_moved(void *arg)
{
    const int *old = arg;
    freeReplyObject(fx_topology_ask(redis_set, FIRST_SENTINEL,
                                    "SENTINEL FAILOVER mymaster")); /* or still busy */
    int now = fx_topology_primary(redis_set, NULL);
    return now >= 0 && now != *old;
}

/* Has the first sentinel make another one the master, though the present one is well. Asks again
 * until it has found a replica that is good enough. Returns which. */
static int switch_over(void)
{
    int old = fx_topology_primary(redis_set, NULL);
    assert_true(fx_wait_until(has_moved, &old, SOON_MS));
    return fx_topology_next_primary(redis_set, NULL, old, SOON_MS);
}

static void heal(void)
{
    for (int i = 0; i < MEMBERS; i++) {
        redisReply *reply = fx_topology_ask(redis_set, i, "PING");
        if (!reply)
            fx_topology_restart(redis_set, i);
        freeReplyObject(reply);
    }
    for (int i = FIRST_SENTINEL; i < MEMBERS; i++) /* forbidden by a case that has failed */
        freeReplyObject(fx_topology_ask(redis_set, i, "ACL SETUSER default +@all"));
    be_patient(PATIENT);
    fx_topology_settle(redis_set, SOON_MS);
}

static int setup_all(void **state)
{
    (void)state;
    redis_set = fx_topology_start("sentinel", NULL);
    return 0;
}

static int teardown_all(void **state)
{
    (void)state;
    fx_topology_stop(redis_set);
    return 0;
}

static int setup(void **state)
{
    (void)state;
    heal();
    return 0;
}

static dlock_redis *open_set(void)
{
    return rig_redis(fx_topology_url(redis_set));
}

/* The set's URL with these credentials, and this behind it. */
static dlock_redis *open_with(const char *credentials, const char *query)
{
    char url[512];
    const char *hosts = strstr(fx_topology_url(redis_set), "://") + 3;
    snprintf(url, sizeof(url), "redis+sentinel://%s%s%s", credentials, hosts, query);
    return rig_redis(url);
}

/* ---- failovers ------------------------------------------------------------------------------- */

/* Writes until told to stop; remembers the longest time without one. */
typedef struct writer {
    pthread_t thread;
    dlock_redis *redis;
    atomic_bool stop;
    atomic_llong last_us, longest_us; /* dlock_now() of the last, the longest gap */
} writer;

static void *keep_writing(void *arg)
{
    writer *w = arg;
    while (!atomic_load(&w->stop)) {
        if (do_for(w->redis, "INCR", "written", "", 300) == DLOCK_REDIS_OK) {
            long long now = dlock_now().us, gap = now - atomic_load(&w->last_us);
            atomic_store(&w->last_us, now);
            if (gap > atomic_load(&w->longest_us))
                atomic_store(&w->longest_us, gap);
        }
        dlock_sleep(dlock_in_ms(5));
    }
    return NULL;
}

static bool wrote_since(void *arg)
{
    const writer *w = arg;
    return atomic_load(&w->longest_us) > 100000;
}

static void a_killed_master_is_followed_by_the_next(void **state)
{
    (void)state;
    writer w = {.redis = open_set()};
    atomic_init(&w.last_us, dlock_now().us);
    assert_writes_soon(w.redis, "before");
    assert_int_equal(pthread_create(&w.thread, NULL, keep_writing, &w), 0);
    int old = fail_over();
    long long named_us = dlock_now().us; /* the new one calls itself master */
    assert_true(fx_wait_until(wrote_since, &w, SOON_MS));
    int after_ms = (int)((atomic_load(&w.last_us) - named_us) / 1000);
    atomic_store(&w.stop, true);
    pthread_join(w.thread, NULL);
    print_message("no write for %d ms; %d ms after the promotion it writes again\n",
                  (int)(atomic_load(&w.longest_us) / 1000), after_ms);
    assert_true(after_ms <
                AFTER_SENTINELS_MS + 3000); /* a busy machine is not the client's fault */
    assert_int_not_equal(fx_topology_primary(redis_set, NULL), old);
    dlock_redis_close(w.redis);
}

/* The old master is well, and its connections work until the sentinels close them. */
static void a_planned_failover_is_followed(void **state)
{
    (void)state;
    dlock_redis *redis = open_set();
    dlock_redis_conn *own;
    assert_writes_soon(redis, "before");
    assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(5000), &own), DLOCK_REDIS_OK);
    int now = switch_over();
    fx_topology_settle(redis_set, SOON_MS);
    assert_writes_soon(redis, "after");
    assert_int_equal(has(now, "after"), 1);
    assert_true(dlock_redis_broken(own));
    dlock_redis_hang_up(own);
    dlock_redis_close(redis);
}

static bool is_replica(void *arg)
{
    const int *member = arg;
    redisReply *reply = fx_topology_ask(redis_set, *member, "ROLE");
    bool is = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
              strcmp(reply->element[0]->str, "slave") == 0;
    freeReplyObject(reply);
    return is;
}

/* It takes itself for the master until a sentinel has told it otherwise, which takes seconds. (The
 * one that the case before has killed.) */
static void a_master_that_comes_back_is_not_written_to(void **state)
{
    (void)state;
    dlock_redis *stays = open_set();
    int old = killed;
    assert_writes_soon(stays, "before");
    fx_topology_restart(redis_set, old);
    int looks = 0;
    for (; !is_replica(&old); looks++) {
        fx_let_pass(20);
        dlock_redis *new = open_set();
        assert_writes_soon(new, "new");
        assert_writes_soon(stays, "stays");
        int has_new = has(old, "new"), has_stays = has(old, "stays");
        assert_true(is_replica(&old) || (has_new != 1 && has_stays != 1));
        dlock_redis_close(new);
    }
    print_message("%d looks while it took itself for the master\n", looks);
    dlock_redis_close(stays);
}

/* ---- sentinels that end ---------------------------------------------------------------------- */

static bool complains(void *arg)
{
    char error[512];
    dlock_redis *redis = arg;
    bool wrote = do_for(redis, "SET", "k", "1", 300) == DLOCK_REDIS_OK;
    dlock_redis_last_error(redis, error, sizeof(error));
    return !wrote && strstr(error, "can not connect to Redis: Connection refused; no sentinel");
}

static void without_sentinels_the_master_goes_on_being_used(void **state)
{
    (void)state;
    dlock_redis *redis = open_set();
    int master = fx_topology_primary(redis_set, NULL);
    assert_writes_soon(redis, "before");
    for (int i = FIRST_SENTINEL; i < MEMBERS; i++)
        fx_topology_kill(redis_set, i);
    for (int i = 0; i < 20; i++) { /* over new connections too */
        dlock_redis_conn *conn;
        assert_int_equal(dlock_redis_dial(redis, NULL, dlock_in_ms(5000), &conn), DLOCK_REDIS_OK);
        dlock_redis_hang_up(conn);
        assert_int_equal(do_for(redis, "SET", "k", "1", 5000), DLOCK_REDIS_OK);
    }
    fx_topology_kill(redis_set, master);
    assert_true(fx_wait_until(complains, redis, SOON_MS));
    fx_topology_restart(redis_set, master);
    heal();
    assert_writes_soon(redis, "after");
    dlock_redis_close(redis);
}

typedef struct arrival {
    write_try write;
    int member;
} arrival;

/* Until it is demoted the old master takes writes too, which are lost then. */
static bool has_arrived(void *arg)
{
    arrival *a = arg;
    return writes(&a->write) && has(a->member, a->write.key) == 1;
}

/* The others were subscribed to as well; and one that comes back is heard again. */
static void one_sentinel_after_the_other_may_die(void **state)
{
    (void)state;
    dlock_redis *redis = open_set();
    assert_writes_soon(redis, "before");
    fx_topology_kill(redis_set, FIRST_SENTINEL);
    fail_over();
    assert_writes_soon(redis, "one");
    fx_topology_restart(redis_set, FIRST_SENTINEL);
    heal();
    fx_topology_kill(redis_set, FIRST_SENTINEL + 1);
    arrival two = {{redis, "two"}, switch_over()};
    assert_true(fx_wait_until(has_arrived, &two, SOON_MS));
    dlock_redis_close(redis);
}

/* ---- connections that are lost --------------------------------------------------------------- */

typedef struct echoer {
    pthread_t thread;
    dlock_redis *redis;
    int number;
    atomic_bool *stop;
    atomic_int right, wrong, failed;
} echoer;

static void *keep_echoing(void *arg)
{
    echoer *e = arg;
    for (int i = 0; !atomic_load(e->stop); i++) {
        char token[64];
        redisReply *reply = NULL;
        dlock_args args;
        snprintf(token, sizeof(token), "%d/%d", e->number, i);
        dlock_args_init(&args);
        dlock_args_text(&args, "ECHO");
        dlock_args_text(&args, token);
        if (dlock_redis_command(e->redis, NULL, &args, dlock_in_ms(300), &reply) != DLOCK_REDIS_OK)
            atomic_fetch_add(&e->failed, 1);
        else
            atomic_fetch_add(strcmp(reply->str, token) == 0 ? &e->right : &e->wrong, 1);
        freeReplyObject(reply);
        dlock_args_free(&args);
    }
    return NULL;
}

enum { ECHOERS = 4, LOSSES = 10 };

static bool all_echo(void *arg)
{
    echoer *all = arg;
    bool good = true;
    for (int i = 0; i < ECHOERS; i++)
        good = good && atomic_load(&all[i].right) > 0;
    return good;
}

static void lose_connections(echoer *all)
{
    for (int loss = 0; loss < LOSSES; loss++) {
        if (loss == LOSSES / 2) {
            fail_over();
        } else {
            tell_member(fx_topology_primary(redis_set, NULL), "CLIENT KILL TYPE %s SKIPME yes",
                        "normal");
        }
        for (int i = 0; i < ECHOERS; i++)
            atomic_store(&all[i].right, 0);
        assert_true(fx_wait_until(all_echo, all, SOON_MS));
    }
}

static void ten_lost_connections_leave_nothing_and_mix_nothing_up(void **state)
{
    (void)state;
    heal();
    int descriptors = entries("/proc/self/fd"), threads = entries("/proc/self/task");
    atomic_bool stop = false;
    dlock_redis *redis = open_set();
    echoer all[ECHOERS] = {0};
    for (int i = 0; i < ECHOERS; i++) {
        all[i].redis = redis;
        all[i].number = i;
        all[i].stop = &stop;
        assert_int_equal(pthread_create(&all[i].thread, NULL, keep_echoing, &all[i]), 0);
    }
    assert_true(fx_wait_until(all_echo, all, SOON_MS));
    int open = entries("/proc/self/fd");
    lose_connections(all);
    heal();
    assert_true(entries("/proc/self/fd") <= open + ECHOERS);
    atomic_store(&stop, true);
    for (int i = 0; i < ECHOERS; i++) {
        pthread_join(all[i].thread, NULL);
        assert_int_equal(all[i].wrong, 0);
        assert_true(all[i].failed > 0);
    }
    dlock_redis_close(redis);
    assert_int_equal(entries("/proc/self/fd"), descriptors);
    assert_int_equal(entries("/proc/self/task"), threads);
}

/* ---- locks ----------------------------------------------------------------------------------- */

typedef struct waiter {
    pthread_t thread;
    dlock_lock *lock;
    dlock_status status;
} waiter;

static void *take_and_give_back(void *arg)
{
    waiter *w = arg;
    dlock_hold *hold = NULL;
    w->status = dlock_acquire(w->lock, &(dlock_wait){.wait_ms = 60000}, &hold);
    if (w->status == DLOCK_OK)
        dlock_release(hold);
    return NULL;
}

typedef struct renewal {
    dlock_client *client;
    dlock_hold **holds;
    int len;
    uint64_t before;
} renewal;

/* Whether each has been renewed since, or is lost. */
static bool all_went_on(void *arg)
{
    const renewal *r = arg;
    dlock_stats stats;
    bool all_lost = true;
    for (int i = 0; i < r->len; i++)
        all_lost = all_lost && !dlock_held(r->holds[i]);
    dlock_client_stats(r->client, &stats);
    return all_lost || stats.renewals >= r->before + 2 * (uint64_t)r->len;
}

/* The next one gets it, whether it was kept over the failover or lost with the old master. */
static void locks_go_on_after_a_failover(void **state)
{
    (void)state;
    enum { KINDS = 3, LEASE_MS = 8000 };
    dlock_hold *holds[KINDS];
    dlock_lock *ours[KINDS];
    waiter waiters[KINDS];
    static const char *const names[KINDS] = {"string", "hash", "fair"};
    dlock_redis *redis = open_set();
    dlock_client *holder = rig_client(&(dlock_client_options){.redis = redis});
    dlock_client *other = rig_client(&(dlock_client_options){.redis = redis});
    for (int k = 0; k < KINDS; k++) {
        dlock_options options = {.kind = (dlock_kind)k, .lease_ms = LEASE_MS};
        ours[k] = rig_lock(holder, names[k], options);
        waiters[k] = (waiter){.lock = rig_lock(other, names[k], options)};
        assert_int_equal(dlock_acquire(ours[k], NULL, &holds[k]), DLOCK_OK);
        pthread_create(&waiters[k].thread, NULL, take_and_give_back, &waiters[k]);
    }
    fail_over();
    assert_writes_soon(redis, "k");
    dlock_stats stats;
    dlock_client_stats(holder, &stats);
    renewal since = {holder, holds, KINDS, stats.renewals};
    assert_true(fx_wait_until(all_went_on, &since, SOON_MS));
    for (int k = 0; k < KINDS; k++) {
        bool held = dlock_held(holds[k]);
        dlock_status status = dlock_release(holds[k]);
        print_message("%s: %s, released: %s\n", names[k], held ? "held" : "lost",
                      dlock_status_text(status));
        assert_true(!held || status == DLOCK_OK);
        pthread_join(waiters[k].thread, NULL);
        assert_int_equal(waiters[k].status, DLOCK_OK);
        dlock_lock_free(waiters[k].lock);
        dlock_lock_free(ours[k]);
    }
    dlock_client_free(other);
    dlock_client_free(holder);
    dlock_redis_close(redis);
}

/* ---- passwords and names --------------------------------------------------------------------- */

/* "" or why there was no answer. */
static const char *try_with(const char *credentials, const char *query)
{
    static char error[512];
    dlock_redis *redis = open_with(credentials, query);
    bool good = do_for(redis, "SET", "app:k", "1", 5000) == DLOCK_REDIS_OK;
    dlock_redis_last_error(redis, error, sizeof(error));
    dlock_redis_close(redis);
    assert_null(strstr(error, SECRET));
    return good ? "" : error;
}

static void sentinels_and_servers_have_passwords_of_their_own(void **state)
{
    (void)state;
    static const char *const forbid = "ACL SETUSER default %ssentinel|get-master-addr-by-name";
    for (int i = 0; i < FIRST_SENTINEL; i++)
        tell_member(i, "ACL SETUSER app on >" SECRET "1 %s +@all ~app:*", "resetchannels");
    tell_sentinels("ACL SETUSER eye on >" SECRET "2 +@all %s", "allchannels");
    tell_sentinels(forbid, "-");
    const char *right = "?sentinel_user=eye&sentinel_password=" SECRET "2";
    assert_string_equal(try_with("app:" SECRET "1@", right), "");
    assert_non_null(strstr(try_with("app:" SECRET "2@", right), "WRONGPASS"));
    assert_non_null(strstr(try_with("app:" SECRET "1@", ""), "no sentinel answers: 127.0.0.1:"));
    const char *wrong = "?sentinel_user=eye&sentinel_password=" SECRET "1";
    assert_non_null(strstr(try_with("app:" SECRET "1@", wrong), "WRONGPASS"));
    assert_non_null(strstr(try_with("app:" SECRET "1@", wrong), "no sentinel answers"));
    tell_sentinels(forbid, "+");
    assert_string_equal(try_with("app:" SECRET "1@", ""), "");
}

static void the_refusal_of_a_password_is_told_as_such(void **state)
{
    (void)state;
    dlock_redis *redis = open_with("nobody:" SECRET "@", "");
    assert_int_equal(do_for(redis, "SET", "k", "1", 5000), DLOCK_REDIS_NOT_SENT);
    assert_string_equal(dlock_redis_said(), "WRONGPASS");
    dlock_redis_close(redis);
}

static void sentinels_may_tell_a_name_instead_of_an_address(void **state)
{
    (void)state;
    char port[16], url[512];
    snprintf(port, sizeof(port), "%d",
             fx_topology_port(redis_set, fx_topology_primary(redis_set, NULL)));
    tell_sentinels("SENTINEL CONFIG SET resolve-hostnames %s", "yes");
    tell_sentinels("SENTINEL CONFIG SET announce-hostnames %s", "yes");
    tell_sentinels("SENTINEL MONITOR named localhost %s 2", port);
    snprintf(url, sizeof(url), "%.*snamed",
             (int)(strrchr(fx_topology_url(redis_set), '/') + 1 - fx_topology_url(redis_set)),
             fx_topology_url(redis_set));
    dlock_redis *redis = rig_redis(url);
    assert_writes_soon(redis, "by-name");
    dlock_redis_close(redis);
    tell_sentinels("SENTINEL REMOVE %s", "named");
    tell_sentinels("SENTINEL CONFIG SET announce-hostnames %s", "no");
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(sentinels_and_servers_have_passwords_of_their_own),
        CASE(the_refusal_of_a_password_is_told_as_such),
        CASE(sentinels_may_tell_a_name_instead_of_an_address),
        CASE(a_killed_master_is_followed_by_the_next),
        cmocka_unit_test(a_master_that_comes_back_is_not_written_to),
        CASE(a_planned_failover_is_followed),
        CASE(one_sentinel_after_the_other_may_die),
        CASE(without_sentinels_the_master_goes_on_being_used),
        CASE(ten_lost_connections_leave_nothing_and_mix_nothing_up),
        CASE(locks_go_on_after_a_failover),
    };
    signal(SIGPIPE, SIG_IGN);
    return cmocka_run_group_tests_name("sentinel", tests, setup_all, teardown_all);
}
