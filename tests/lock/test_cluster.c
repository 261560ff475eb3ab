/* Commands and scripts on a real cluster of three primaries and three replicas: each key on its
 * server, through moving slots, failovers and lost connections. */
#include "tests/lock/cluster.h"

#include <pthread.h>
#include <signal.h>

enum { CALLERS = 4, CALLERS_MAX = 12, DEADLINE_MS = 20000 };

/* Counts in two keys at once, and says again what it was told. */
static dlock_script count_script =
    DLOCK_SCRIPT("count", "#!lua\n"
                          "local a, b = redis.call('INCR', KEYS[1]), redis.call('INCR', KEYS[2])\n"
                          "return {a, b, ARGV[1]}");

static atomic_bool stop; /* all callers */

/* Who counts, one call after the other, in {tag}:a and {tag}:b, until told to stop. */
typedef struct caller {
    dlock_redis *redis;
    const char *tag;
    int ms; /* for one call */
    int number;
    atomic_long done, failed, unknown, wrong; /* wrong: another call's reply */
    dlock_redis_outcome last;
    pthread_t thread;
} caller;

static dlock_redis_outcome count_once(caller *c, long n)
{
    char key[80], word[64];
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    snprintf(key, sizeof(key), "{%s}:a", c->tag);
    dlock_args_text(&args, key);
    snprintf(key, sizeof(key), "{%s}:b", c->tag);
    dlock_args_text(&args, key);
    snprintf(word, sizeof(word), "%d/%ld", c->number, n);
    dlock_args_text(&args, word);
    dlock_redis_outcome outcome =
        dlock_redis_eval(c->redis, &count_script, 2, &args, dlock_in_ms(c->ms), &reply);
    if (outcome == DLOCK_REDIS_OK && (reply->type != REDIS_REPLY_ARRAY || reply->elements != 3 ||
                                      reply->element[0]->integer != reply->element[1]->integer ||
                                      reply->element[2]->type != REDIS_REPLY_STRING ||
                                      strcmp(reply->element[2]->str, word) != 0))
        atomic_fetch_add(&c->wrong, 1);
    freeReplyObject(reply);
    dlock_args_free(&args);
    return outcome;
}

static void *count_often(void *arg)
{
    caller *c = arg;
    for (long n = 0; !atomic_load(&stop); n++) {
        dlock_redis_outcome outcome = count_once(c, n);
        if (outcome == DLOCK_REDIS_OK) {
            atomic_fetch_add(&c->done, 1);
            continue;
        }
        c->last = outcome;
        atomic_fetch_add(outcome == DLOCK_REDIS_UNKNOWN ? &c->unknown : &c->failed, 1);
    }
    return NULL;
}

/* A case that fails leaves its function, and its callers call on. So what they use is not of the
 * case, and they are stopped after it. */
static caller callers[CALLERS_MAX];
static char tags[CALLERS_MAX][32];
static int calling; /* of them */

/* The first of `n` that count in the tag. */
static caller *start_callers(int n, dlock_redis *redis, const char *tag, int ms)
{
    assert_true(calling + n <= CALLERS_MAX);
    caller *all = &callers[calling];
    snprintf(tags[calling], sizeof(tags[calling]), "%s", tag);
    tag = tags[calling];
    atomic_store(&stop, false);
    for (int i = 0; i < n; i++, calling++) {
        all[i] = (caller){.redis = redis, .tag = tag, .ms = ms, .number = i};
        assert_int_equal(pthread_create(&all[i].thread, NULL, count_often, &all[i]), 0);
    }
    return all;
}

static void stop_callers(void)
{
    atomic_store(&stop, true);
    while (calling > 0)
        pthread_join(callers[--calling].thread, NULL);
}

static int end_case(void **state)
{
    (void)state;
    stop_callers();
    return 0;
}

static long sum_done(const caller *all, int n)
{
    long sum = 0;
    for (int i = 0; i < n; i++)
        sum += atomic_load(&all[i].done);
    return sum;
}

typedef struct progress {
    const caller *all;
    int n;
    long beyond;
} progress;

static bool has_gone_on(void *arg)
{
    progress *p = arg;
    return sum_done(p->all, p->n) > p->beyond;
}

/* Until so many more calls have been answered. */
static void let_count(const caller *all, int n, long more)
{
    progress p = {.all = all, .n = n, .beyond = sum_done(all, n) + more};
    if (!fx_wait_until(has_gone_on, &p, DEADLINE_MS))
        fail_msg("nobody counts any more; the last one failed as \"%s\"",
                 dlock_redis_outcome_text(all[0].last));
}

typedef struct error_wait {
    cluster_rig *r;
    int member;
    const char *kind;
    long beyond;
} error_wait;

static bool has_answered(void *arg)
{
    error_wait *w = arg;
    return cluster_errors(w->r, w->member, w->kind) > w->beyond;
}

static void until_answered(cluster_rig *r, int member, const char *kind, long beyond)
{
    error_wait w = {.r = r, .member = member, .kind = kind, .beyond = beyond};
    if (!fx_wait_until(has_answered, &w, DEADLINE_MS))
        fail_msg("member %d has not answered %s", member, kind);
}

static long long get_number(dlock_redis *redis, const char *key)
{
    redisReply *reply;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "GET");
    dlock_args_text(&args, key);
    assert_int_equal(dlock_redis_command(redis, key, &args, dlock_in_ms(DEADLINE_MS), &reply),
                     DLOCK_REDIS_OK);
    long long n = reply->type == REDIS_REPLY_STRING ? strtoll(reply->str, NULL, 10) : -1;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return n;
}

/* ---- each key on its server ------------------------------------------------------------------ */

static void keys_are_on_every_server(void **state)
{
    cluster_rig *r = *state;
    bool used[DLOCK_SERVERS_MAX] = {false};
    for (int i = 0; i < 100; i++) {
        char tag[32];
        snprintf(tag, sizeof(tag), "spread%d", i);
        caller c = {.redis = r->redis, .tag = tag, .ms = DEADLINE_MS};
        assert_int_equal(count_once(&c, i), DLOCK_REDIS_OK);
        assert_int_equal(atomic_load(&c.wrong), 0);
        int server = dlock_redis_server_of(r->redis, tag);
        assert_in_range(server, 0, 2);
        assert_true(dlock_redis_serves(r->redis, server));
        used[server] = true;
    }
    assert_true(used[0] && used[1] && used[2]);
    assert_true(dlock_redis_is_cluster(r->redis));
    assert_int_equal(dlock_redis_servers(r->redis), 3);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cluster_errors(r, i, "MOVED"), 0);
}

static void slots_are_counted_as_the_servers_do(void **state)
{
    cluster_rig *r = *state;
    static const char letters[] = {'a', '{', '}', 'b', '\0', '\xff', '{', '}'};
    unsigned dice = 1;
    for (int i = 0; i < 2000; i++) {
        char key[12];
        size_t len = (size_t)i % sizeof(key);
        for (size_t at = 0; at < len; at++) {
            dice = dice * 1103515245u + 12345u;
            key[at] = letters[dice >> 16 & 7];
        }
        redisReply *reply = fx_topology_ask(r->topology, 0, "CLUSTER KEYSLOT %b", key, len);
        assert_non_null(reply);
        assert_int_equal(dlock_slot_of(key, len), reply->integer);
        freeReplyObject(reply);
    }
}

/* ---- moving slots ---------------------------------------------------------------------------- */

/* Both keys at the old server, one of them at the new one, both there, and the slot itself. */
static void move_the_slot_under(cluster_rig *r, caller *all, int n, const char *tag)
{
    char key[80];
    cluster_move m = cluster_begin_move(r, tag);
    let_count(all, n, 50);
    long before = cluster_errors(r, m.from, "TRYAGAIN");
    snprintf(key, sizeof(key), "{%s}:a", tag);
    cluster_move_key(r, m, key);
    until_answered(r, m.from, "TRYAGAIN", before);
    before = cluster_errors(r, m.from, "ASK");
    snprintf(key, sizeof(key), "{%s}:b", tag);
    cluster_move_key(r, m, key);
    until_answered(r, m.from, "ASK", before);
    let_count(all, n, 50);
    before = cluster_errors(r, m.from, "MOVED");
    cluster_end_move(r, m);
    let_count(all, n, 50);
    assert_true(cluster_errors(r, m.from, "MOVED") >= before);
}

static void a_slot_moves_under_load(void **state)
{
    cluster_rig *r = *state;
    caller *all = start_callers(CALLERS, r->redis, "moving", DEADLINE_MS);
    for (int round = 0; round < 3; round++) {
        let_count(all, CALLERS, 50);
        move_the_slot_under(r, all, CALLERS, "moving");
    }
    stop_callers();
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(atomic_load(&all[i].failed), 0);
        assert_int_equal(atomic_load(&all[i].unknown), 0);
        assert_int_equal(atomic_load(&all[i].wrong), 0);
    }
    assert_int_equal(get_number(r->redis, "{moving}:a"), sum_done(all, CALLERS));
    assert_int_equal(get_number(r->redis, "{moving}:b"), sum_done(all, CALLERS));
}

/* Keys that stay on their way: the call ends by its deadline, and nothing was written. On a busy
 * machine an answer may be too slow in coming, so that it is unknown: then once more. */
static void a_slot_that_stays_open_is_refused_in_time(void **state)
{
    enum { TRIES = 20 };
    cluster_rig *r = *state;
    caller c = {.redis = r->redis, .tag = "torn", .ms = DEADLINE_MS};
    assert_int_equal(count_once(&c, 0), DLOCK_REDIS_OK);
    cluster_move m = cluster_begin_move(r, "torn");
    cluster_move_key(r, m, "{torn}:a");
    dlock_redis_outcome outcome = DLOCK_REDIS_UNKNOWN;
    c.ms = 500;
    for (int i = 0; i < TRIES && outcome != DLOCK_REDIS_REFUSED; i++) {
        dlock_time start = dlock_now();
        outcome = count_once(&c, 1);
        assert_int_not_equal(outcome, DLOCK_REDIS_OK);
        assert_true(dlock_now().us - start.us <= DEADLINE_MS * 1000);
    }
    assert_int_equal(outcome, DLOCK_REDIS_REFUSED);
    assert_string_equal(dlock_redis_said(), "TRYAGAIN");
    cluster_end_move(r, m);
    c.ms = DEADLINE_MS;
    assert_int_equal(count_once(&c, 2), DLOCK_REDIS_OK);
    assert_int_equal(get_number(r->redis, "{torn}:a"), 2);
}

/* A script that the server does not know is sent by its text behind ASKING once more. */
static void a_script_is_taught_on_the_way(void **state)
{
    cluster_rig *r = *state;
    caller c = {.redis = r->redis, .tag = "taught", .ms = DEADLINE_MS};
    assert_int_equal(count_once(&c, 0), DLOCK_REDIS_OK);
    cluster_move m = cluster_begin_move(r, "taught");
    cluster_move_key(r, m, "{taught}:a");
    cluster_move_key(r, m, "{taught}:b");
    for (int member = 0; member < 6; member++)
        if (cluster_is_primary(r, member))
            cluster_tell(r, member, "SCRIPT FLUSH");
    assert_int_equal(count_once(&c, 1), DLOCK_REDIS_OK);
    assert_int_equal(count_once(&c, 2), DLOCK_REDIS_OK);
    cluster_end_move(r, m);
    assert_int_equal(get_number(r->redis, "{taught}:a"), 3);
}

/* A node that does not tell its host is where the one is that was asked. */
static void nodes_may_not_know_their_host(void **state)
{
    cluster_rig *r = *state;
    for (int i = 0; i < 6; i++)
        cluster_tell(r, i, "CONFIG SET cluster-preferred-endpoint-type unknown-endpoint");
    dlock_redis *redis = rig_redis(fx_topology_url(r->topology));
    caller *all = start_callers(CALLERS, redis, "nowhere", DEADLINE_MS);
    let_count(all, CALLERS, 50);
    move_the_slot_under(r, all, CALLERS, "nowhere");
    stop_callers();
    for (int i = 0; i < CALLERS; i++)
        assert_int_equal(atomic_load(&all[i].failed) + atomic_load(&all[i].unknown), 0);
    assert_int_equal(get_number(redis, "{nowhere}:a"), sum_done(all, CALLERS));
    assert_int_equal(dlock_redis_servers(redis), 3);
    dlock_redis_close(redis);
    for (int i = 0; i < 6; i++)
        cluster_tell(r, i, "CONFIG SET cluster-preferred-endpoint-type ip");
}

/* "?": it has not heard its name yet. */
static bool has_nameless(const redisReply *part)
{
    bool any = part->type == REDIS_REPLY_STRING && strcmp(part->str, "?") == 0;
    for (size_t i = 0; part->type == REDIS_REPLY_ARRAY && i < part->elements; i++)
        any = any || has_nameless(part->element[i]);
    return any;
}

static bool all_are_named(void *arg)
{
    cluster_rig *r = arg;
    bool all = true;
    for (int i = 0; i < 6 && all; i++) {
        redisReply *slots = fx_topology_ask(r->topology, i, "CLUSTER SLOTS");
        all = slots && slots->type == REDIS_REPLY_ARRAY && !has_nameless(slots);
        freeReplyObject(slots);
    }
    return all;
}

static void nodes_may_be_told_by_name(void **state)
{
    cluster_rig *r = *state;
    for (int i = 0; i < 6; i++) {
        cluster_tell(r, i, "CONFIG SET cluster-announce-hostname localhost");
        cluster_tell(r, i, "CONFIG SET cluster-preferred-endpoint-type hostname");
    }
    assert_true(fx_wait_until(all_are_named, r, 10000));
    dlock_redis *redis = rig_redis(fx_topology_url(r->topology));
    caller c = {.redis = redis, .tag = "named", .ms = DEADLINE_MS};
    for (int i = 0; i < 3; i++) {
        char tag[32];
        cluster_tag_on(r, i, tag, sizeof(tag));
        c.tag = tag;
        assert_int_equal(count_once(&c, i), DLOCK_REDIS_OK);
    }
    dlock_redis_close(redis);
    for (int i = 0; i < 6; i++)
        cluster_tell(r, i, "CONFIG SET cluster-preferred-endpoint-type ip");
}

/* ---- addresses ------------------------------------------------------------------------------- */

static void one_living_node_of_the_address_is_enough(void **state)
{
    cluster_rig *r = *state;
    char url[256];
    snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d,[::1]:%d,127.0.0.1:%d", fx_free_port(),
             fx_free_port(), fx_topology_port(r->topology, 4));
    dlock_redis *redis = rig_redis(url);
    caller c = {.redis = redis, .tag = "alive", .ms = DEADLINE_MS};
    dlock_redis_outcome outcome;
    for (int i = 0; (outcome = count_once(&c, i)) == DLOCK_REDIS_NOT_SENT && i < 20; i++) {
    }
    assert_int_equal(outcome, DLOCK_REDIS_OK);
    dlock_redis_close(redis);
}

static void an_address_without_a_cluster_says_why(void **state)
{
    cluster_rig *r = *state;
    char url[128], error[256];
    fx_redis *single = fx_redis_start_single(NULL);
    const struct {
        int port;
        const char *why;
    } cases[] = {
        {fx_redis_port(single), "cluster support disabled"},
        {fx_free_port(), "Connection refused"},
    };
    (void)r;
    for (size_t i = 0; i < COUNT(cases); i++) {
        snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", cases[i].port);
        dlock_redis *redis = rig_redis(url);
        caller c = {.redis = redis, .tag = "none", .ms = DEADLINE_MS};
        assert_int_equal(count_once(&c, 0), DLOCK_REDIS_NOT_SENT);
        dlock_redis_last_error(redis, error, sizeof(error));
        if (!strstr(error, cases[i].why))
            fail_msg("\"%s\" does not say \"%s\"", error, cases[i].why);
        dlock_redis_close(redis);
    }
    fx_redis_stop(single);
}

/* ---- failures -------------------------------------------------------------------------------- */

static bool as_many_as(void *arg)
{
    const int *expected = arg;
    return fx_descriptors_open() == *expected;
}

/* Callers on each of the servers; all connections are cut again and again. */
static void lost_connections_mix_up_nothing(void **state)
{
    enum { SERVERS = 3, CUTS = 10 };
    cluster_rig *r = *state;
    caller *all[SERVERS];
    char tag[32];
    int before = fx_descriptors_open(), n = 0;
    dlock_redis *redis = rig_redis(fx_topology_url(r->topology));
    for (int i = 0; i < 6 && n < SERVERS; i++) {
        if (!cluster_is_primary(r, i))
            continue;
        cluster_tag_on(r, i, tag, sizeof(tag));
        all[n++] = start_callers(CALLERS, redis, tag, DEADLINE_MS);
    }
    for (int cut = 0; cut < CUTS; cut++) {
        for (int s = 0; s < SERVERS; s++)
            let_count(all[s], CALLERS, 20);
        for (int i = 0; i < 6; i++)
            cluster_tell(r, i, "CLIENT KILL TYPE normal SKIPME yes");
    }
    long unknown = 0;
    for (int s = 0; s < SERVERS; s++)
        let_count(all[s], CALLERS, 20);
    stop_callers();
    for (int s = 0; s < SERVERS; s++) {
        for (int i = 0; i < CALLERS; i++) {
            assert_int_equal(atomic_load(&all[s][i].wrong), 0);
            unknown += atomic_load(&all[s][i].unknown);
        }
    }
    print_message("%d cuts: %ld calls unknown\n", CUTS, unknown);
    dlock_redis_close(redis);
    if (!fx_wait_until(as_many_as, &before, DEADLINE_MS)) /* the rig's own finder connects again */
        fail_msg("%d descriptors, where there were %d", fx_descriptors_open(), before);
}

/* Its keys are back when its replica has taken over; those of the others were there all along. */
static void a_killed_primary_is_followed_by_its_replica(void **state)
{
    cluster_rig *r = *state;
    char tag[32], other_tag[32];
    int old = 1;
    while (!cluster_is_primary(r, old))
        old++;
    int spared = old == 0 ? 1 : 0;
    while (!cluster_is_primary(r, spared) || spared == old)
        spared++;
    cluster_tag_on(r, old, tag, sizeof(tag));
    cluster_tag_on(r, spared, other_tag, sizeof(other_tag));
    cluster_require_coverage(r, "no");
    caller *hit = start_callers(1, r->redis, tag, 500);
    caller *other = start_callers(1, r->redis, other_tag, DEADLINE_MS);
    let_count(hit, 1, 20);
    let_count(other, 1, 20);
    fx_topology_kill(r->topology, old);
    dlock_time killed = dlock_now();
    let_count(other, 1, 20);
    fx_topology_next_primary(r->topology, tag, old, 30000);
    let_count(hit, 1, 20);
    print_message("back %lld ms after the kill\n", (long long)(dlock_now().us - killed.us) / 1000);
    stop_callers();
    assert_int_equal(atomic_load(&other->failed) + atomic_load(&other->unknown), 0);
    assert_true(atomic_load(&hit->failed) + atomic_load(&hit->unknown) > 0);
    assert_int_equal(atomic_load(&hit->wrong) + atomic_load(&other->wrong), 0);
    fx_topology_restart(r->topology, old);
    fx_topology_settle(r->topology, 30000);
    cluster_require_coverage(r, "yes");
}

typedef struct route_wait {
    dlock_redis *redis;
    const char *key;
    int not_server;
} route_wait;

static bool is_routed_elsewhere(void *arg)
{
    route_wait *w = arg;
    int server = dlock_redis_server_of(w->redis, w->key);
    return server != w->not_server && dlock_redis_serves(w->redis, server) &&
           !dlock_redis_serves(w->redis, w->not_server);
}

/* Nobody calls, and the map is up to date all the same. */
static void a_failover_is_noticed_without_traffic(void **state)
{
    cluster_rig *r = *state;
    char tag[32];
    int old = 0;
    while (!cluster_is_primary(r, old))
        old++;
    cluster_tag_on(r, old, tag, sizeof(tag));
    route_wait w = {
        .redis = r->redis, .key = tag, .not_server = dlock_redis_server_of(r->redis, tag)};
    fx_topology_signal(r->topology, old, SIGSTOP);
    assert_true(fx_wait_until(is_routed_elsewhere, &w, 30000));
    fx_topology_signal(r->topology, old, SIGCONT);
    fx_topology_settle(r->topology, 30000);
}

#define CASE(name) cmocka_unit_test_teardown(name, end_case)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(keys_are_on_every_server),
        CASE(slots_are_counted_as_the_servers_do),
        CASE(one_living_node_of_the_address_is_enough),
        CASE(an_address_without_a_cluster_says_why),
        CASE(a_slot_moves_under_load),
        CASE(a_slot_that_stays_open_is_refused_in_time),
        CASE(a_script_is_taught_on_the_way),
        CASE(nodes_may_not_know_their_host),
        CASE(nodes_may_be_told_by_name),
        CASE(lost_connections_mix_up_nothing),
        CASE(a_killed_primary_is_followed_by_its_replica),
        CASE(a_failover_is_noticed_without_traffic),
    };
    return cmocka_run_group_tests_name("cluster", tests, cluster_setup, cluster_teardown);
}
