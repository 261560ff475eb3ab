/*
 * Schedules that once made two holders of one lock, and what keeps them from it. A third party that
 * has no part in the lock, the fixture's own connection, looks who owns the key in Redis; nobody
 * else may be told by dlock_held() at that moment that he holds it.
 *
 * TWO_HOLDERS_ROUNDS=1000 repeats each schedule so often.
 */
#include "tests/lock/rig.h"

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>

#include "lock/core/attempt.h"
#include "lock/core/client.h"
#include "tests/support/proxy.h"

enum { LIMIT_MS = 10000 };

static int rounds(int otherwise)
{
    const char *wanted = getenv("TWO_HOLDERS_ROUNDS");
    return wanted ? (int)strtol(wanted, NULL, 10) : otherwise;
}

/* ---- who wants the lock ---------------------------------------------------------------------- */

/* A thread that waits for the lock, and keeps it until it is told to let go. */
typedef struct wish {
    dlock_lock *lock;
    uint64_t context;
    bool stops; /* see __wrap_dlock_attempt_grant() */
    pthread_t thread;
    dlock_status status;
    _Atomic(dlock_hold *) hold;
    atomic_bool over; /* the acquire has returned */
    sem_t let_go;
} wish;

static _Thread_local bool stops_here;
static sem_t stopped, go_on;

/* Whoever `stops` has been given the lock, and nobody but Redis knows. (The Makefile
 * replaces the library's by this.) */
grant *__real_dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a);
grant *__wrap_dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a);
grant *__wrap_dlock_attempt_grant(dlock_lock *lock, const waiter *w, const answer *a)
{
    if (stops_here) {
        sem_post(&stopped);
        sem_wait(&go_on);
        stops_here = false;
    }
    return __real_dlock_attempt_grant(lock, w, a);
}

static void *come_true(void *arg)
{
    wish *w = arg;
    dlock_hold *hold = NULL;
    stops_here = w->stops;
    w->status =
        dlock_acquire(w->lock, &(dlock_wait){.wait_ms = LIMIT_MS, .context = w->context}, &hold);
    atomic_store(&w->hold, hold);
    atomic_store(&w->over, true);
    sem_wait(&w->let_go);
    if (w->status == DLOCK_OK)
        dlock_release(hold);
    return NULL;
}

static void start(wish *w)
{
    sem_init(&w->let_go, 0, 0);
    pthread_create(&w->thread, NULL, come_true, w);
}

/* Whoever has it by then or later. */
static void let_go(wish *w)
{
    sem_post(&w->let_go);
    pthread_join(w->thread, NULL);
    sem_destroy(&w->let_go);
    assert_int_equal(w->status, DLOCK_OK);
}

static bool is_over(void *arg)
{
    return atomic_load(&((wish *)arg)->over);
}

static void until_over(wish *w)
{
    assert_true(fx_wait_until(is_over, w, LIMIT_MS));
    assert_int_equal(w->status, DLOCK_OK);
}

typedef struct in_queue {
    rig *r;
    const char *queue;
    long long n;
} in_queue;

static bool is_queued(void *arg)
{
    in_queue *q = arg;
    return rig_ask(q->r, "LLEN %s", q->queue) >= q->n;
}

static void until_queued(rig *r, const char *queue, long long n)
{
    assert_true(fx_wait_until(is_queued, &(in_queue){r, queue, n}, LIMIT_MS));
}

static bool is_in_line(void *arg)
{
    dlock_lock *lock = arg;
    pthread_mutex_lock(&lock->cohort.lock);
    bool in_line = lock->cohort.line.first;
    pthread_mutex_unlock(&lock->cohort.lock);
    return in_line;
}

/* ---- the third party ------------------------------------------------------------------------- */

static void owner_of(rig *r, const char *name, char *ret, size_t len)
{
    /* a string, a hash, or a sorted set */
    static const char *const ways[] = {"GET %s", "HKEYS %s", "ZRANGE %s 0 -1"};
    redisReply *reply = NULL;
    for (int i = 0; i < 3 && (!reply || reply->type == REDIS_REPLY_ERROR); i++) {
        freeReplyObject(reply);
        reply = fx_redis_reply(r->server, ways[i], name);
    }
    assert_non_null(reply);
    const redisReply *owner = reply->elements == 1 ? reply->element[0] : reply;
    snprintf(ret, len, "%s", owner->type == REDIS_REPLY_STRING ? owner->str : "");
    freeReplyObject(reply);
}

/* Held after the look at the key means held before it: false stays false. */
static void look_at(rig *r, const char *name, dlock_hold *const *holds, int n)
{
    char owner[256];
    owner_of(r, name, owner, sizeof(owner));
    for (int i = 0; i < n; i++)
        if (holds[i] && dlock_held(holds[i]) && strcmp(dlock_owner(holds[i]), owner) != 0)
            fail_msg("two holders of %s: %s has %d ms left, Redis says \"%s\"", name,
                     dlock_owner(holds[i]), (int)dlock_validity_ms(holds[i]), owner);
}

static void watch(rig *r, const char *name, wish *const *wishes, int n, int ms)
{
    for (dlock_time end = dlock_in_ms(ms); !dlock_passed(end);) {
        dlock_hold *holds[4];
        for (int i = 0; i < n; i++)
            holds[i] = atomic_load(&wishes[i]->hold);
        look_at(r, name, holds, n);
    }
}

/* ---- a release that got no reply ------------------------------------------------------------- */

static const struct {
    const char *name;
    dlock_options options;
} kinds[] = {
    {"{g}string", {.kind = DLOCK_STRING, .cohort_max = 8}},
    {"{g}hash", {.kind = DLOCK_HASH, .cohort_max = 8}},
    {"{g}fair", {.kind = DLOCK_FAIR, .cohort_max = 8}},
    {"{g}write", {.kind = DLOCK_WRITE, .cohort_max = 8}},
};
#define KINDS (COUNT(kinds))

enum {
    DEADLINE_MS = 40, /* of a guarded call that is held up on its way */
    LOOK_MS = 100,
};

/* A process behind a bad line, whose holder makes a guarded call that arrives only when the line
 * heals, while another of its cohort and a stranger wait. */
typedef struct scene {
    rig *r;
    fx_proxy *proxy;
    dlock_redis *redis;
    dlock_client *client, *elsewhere;
    dlock_guard *guard;
    rig_reports reports;
    const char *name;
    dlock_hold *first;
    wish heir, stranger;
} scene;

static void set_scene(scene *s, rig *r)
{
    *s = (scene){.r = r, .proxy = fx_proxy_start(fx_redis_url(r->server))};
    s->redis = rig_redis(fx_proxy_url(s->proxy));
    s->client = rig_client(
        &(dlock_client_options){.redis = s->redis, .report = rig_note, .report_arg = &s->reports});
    s->elsewhere = rig_client(&(dlock_client_options){.redis = r->redis});
    s->guard = dlock_guard_new("late", "return redis.call('INCR', KEYS[1])");
}

static void clear_scene(scene *s)
{
    dlock_guard_free(s->guard);
    dlock_client_free(s->elsewhere);
    dlock_client_free(s->client);
    dlock_redis_close(s->redis);
    fx_proxy_stop(s->proxy);
}

static dlock_status write_guarded(scene *s, bool release, int ms)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "{g}writes");
    dlock_status status =
        dlock_guard_call(s->first, s->guard, 1, &args, release, dlock_in_ms(ms), NULL);
    dlock_args_free(&args);
    return status;
}

/* The holder has it, its call is under way, the others wait. */
static void open_scene(scene *s, size_t k, bool release)
{
    s->name = kinds[k].name;
    s->heir = (wish){.lock = rig_lock(s->client, s->name, kinds[k].options), .context = 2};
    s->stranger = (wish){.lock = rig_lock(s->elsewhere, s->name, kinds[k].options)};
    dlock_wait own = {.context = 1};
    assert_int_equal(dlock_acquire(s->heir.lock, &own, &s->first), DLOCK_OK);
    assert_int_equal(write_guarded(s, false, LIMIT_MS), DLOCK_OK); /* the script is known now */
    start(&s->heir);
    assert_true(fx_wait_until(is_in_line, s->heir.lock, LIMIT_MS));
    fx_redis_do(s->r->server, "DEL {g}writes");
    fx_proxy_say(s->proxy, "halfopen 1 match {g}writes");
    int held_up_ms =
        (int)(DEADLINE_MS * fx_crowding()); /* many round trips: the line is given up */
    assert_int_equal(write_guarded(s, release, held_up_ms), DLOCK_UNKNOWN);
}

static void close_scene(scene *s)
{
    sem_post(&s->stranger.let_go); /* one of the two has it, and the other one waits for that */
    let_go(&s->heir);
    let_go(&s->stranger);
    dlock_lock_free(s->heir.lock);
    dlock_lock_free(s->stranger.lock);
    fx_redis_do(s->r->server, "FLUSHALL");
}

static void a_release_without_a_reply_is_passed_on_to_nobody(void **state)
{
    scene s;
    set_scene(&s, *state);
    for (int round = 0; round < rounds(2); round++) {
        for (size_t k = 0; k < KINDS; k++) {
            wish *const both[] = {&s.heir, &s.stranger};
            open_scene(&s, k, true);
            bool still_held = dlock_held(s.first), told = false;
            struct pollfd lost = {.fd = dlock_lost_fd(s.first), .events = POLLIN};
            told = poll(&lost, 1, 0) == 1;
            dlock_status released = dlock_release(s.first);
            fx_proxy_say(s.proxy, "heal");
            start(&s.stranger);
            watch(s.r, s.name, both, 2, LOOK_MS);
            close_scene(&s);
            assert_int_equal(released, DLOCK_UNKNOWN);
            assert_false(still_held);
            assert_true(told);
        }
    }
    assert_true(atomic_load(&s.reports.count[DLOCK_REPORT_LOST]) > 0);
    clear_scene(&s);
}

/* Whoever has the lock next in the process would have the same token and fence: the late write
 * would be taken for his. */
static void a_late_write_meets_no_heir(void **state)
{
    scene s;
    set_scene(&s, *state);
    for (int round = 0; round < rounds(1); round++) {
        for (size_t k = 0; k < KINDS; k++) {
            char token[256];
            wish *const both[] = {&s.heir, &s.stranger};
            open_scene(&s, k, false);
            assert_true(dlock_held(s.first));
            snprintf(token, sizeof(token), "%s", dlock_owner(s.first));
            assert_int_equal(dlock_release(s.first), DLOCK_OK);
            until_over(&s.heir);
            fx_proxy_say(s.proxy, "heal");
            start(&s.stranger);
            watch(s.r, s.name, both, 2, LOOK_MS);
            assert_string_not_equal(dlock_owner(atomic_load(&s.heir.hold)), token);
            assert_int_equal(fx_redis_number(s.r->server, "EXISTS {g}writes"), 0);
            close_scene(&s);
        }
    }
    clear_scene(&s);
}

/* ---- settings that differ -------------------------------------------------------------------- */

typedef struct taking {
    dlock_lock *lock;
    dlock_hold *hold;
} taking;

/* Of a short lease the answer may come too late. */
static bool is_taken(void *arg)
{
    taking *t = arg;
    return dlock_acquire(t->lock, NULL, &t->hold) == DLOCK_OK;
}

/* Who gives the lock sets its expiry; the one who gets it knows no other than his own. He is cut
 * off then, so that no renewal tells him better. */
static void who_gives_says_for_how_long(void **state)
{
    rig *r = *state;
    static const struct {
        int claim_ms, lease_ms; /* of who gives */
    } givers[] = {{20, 10000}, {250, 20}, {150, 10000}};
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(r->server));
    dlock_redis *line = rig_redis(fx_proxy_url(proxy));
    dlock_client *gets = rig_client(&(dlock_client_options){.redis = line});
    dlock_client *third = rig_client(&(dlock_client_options){.redis = r->redis});
    dlock_options plain = {.kind = DLOCK_FAIR, .lease_ms = 10000};
    for (int round = 0; round < rounds(2) * 3; round++) {
        int64_t claim_ms = givers[round % 3].claim_ms;
        dlock_client *gives =
            rig_client(&(dlock_client_options){.redis = r->redis, .claim_ms = claim_ms});
        dlock_lock *lock = rig_lock(
            gives, "given", (dlock_options){DLOCK_FAIR, .lease_ms = givers[round % 3].lease_ms});
        wish heir = {.lock = rig_lock(gets, "given", plain)};
        dlock_lock *last = rig_lock(third, "given", plain);
        taking first = {.lock = lock};
        dlock_hold *mine = NULL;
        assert_true(fx_wait_until(is_taken, &first, LIMIT_MS));
        start(&heir); /* on a machine that stands still it gets the lock without a queue */
        while (rig_ask(r, "LLEN %s", "dlock:{given}:queue") < 1 && !is_over(&heir))
            fx_let_pass(1);
        dlock_release(first.hold);
        until_over(&heir);
        fx_proxy_say(proxy, "blackhole");
        if (dlock_acquire(last, &(dlock_wait){.wait_ms = 300}, &mine) == DLOCK_OK) {
            dlock_hold *holds[] = {atomic_load(&heir.hold), mine};
            look_at(r, "given", holds, 2);
            dlock_release(mine);
        }
        fx_proxy_say(proxy, "heal");
        let_go(&heir);
        dlock_lock_free(last);
        dlock_lock_free(heir.lock);
        dlock_lock_free(lock);
        dlock_client_free(gives);
        fx_redis_do(r->server, "FLUSHALL");
    }
    dlock_client_free(third);
    dlock_client_free(gets);
    dlock_redis_close(line);
    fx_proxy_stop(proxy);
}

/* ---- an answer that is read late ------------------------------------------------------------- */

/* One thread is given the lock and stopped until the window is over and another one of its process
 * has it, of whose questions it hears meanwhile. */
static void what_was_given_is_not_made_younger(void **state)
{
    rig *r = *state;
    int met = 0;
    dlock_client_options quick = {.redis = r->redis, .claim_ms = 120, .recheck_ms = 40};
    dlock_client *gives = rig_client(&quick), *gets = rig_client(&quick);
    dlock_options fair = {.kind = DLOCK_FAIR};
    dlock_lock *lock = rig_lock(gives, "late", fair), *theirs = rig_lock(gets, "late", fair);
    for (int round = 0; round < rounds(5); round++) {
        dlock_hold *hold;
        wish slow = {.lock = theirs, .context = 1, .stops = true};
        wish quicker = {.lock = theirs, .context = 2};
        assert_int_equal(dlock_acquire(lock, NULL, &hold), DLOCK_OK);
        sem_init(&stopped, 0, 0);
        sem_init(&go_on, 0, 0);
        start(&slow);
        until_queued(r, "dlock:{late}:queue", 1);
        start(&quicker);
        until_queued(r, "dlock:{late}:queue", 2);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        sem_wait(&stopped);
        if (rig_ask(r, "PTTL %s", "late") <= quick.claim_ms) { /* else it has asked and been told */
            until_over(&quicker);
            met++;
        }
        sem_post(&go_on);
        watch(r, "late", (wish *const[]){&slow, &quicker}, 2, 100);
        wish *first = atomic_load(&quicker.over) ? &quicker : &slow; /* the other may wait for it */
        wish *then = first == &slow ? &quicker : &slow;
        until_over(first);
        let_go(first);
        until_over(then);
        look_at(r, "late", (dlock_hold *const[]){atomic_load(&then->hold)}, 1);
        let_go(then);
    }
    assert_true(met > 0);
    dlock_lock_free(theirs);
    dlock_lock_free(lock);
    dlock_client_free(gets);
    dlock_client_free(gives);
}

int main(void)
{
    signal(SIGPIPE, SIG_IGN); /* as programs that use the library must */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_release_without_a_reply_is_passed_on_to_nobody),
        cmocka_unit_test(a_late_write_meets_no_heir),
        cmocka_unit_test(who_gives_says_for_how_long),
        cmocka_unit_test(what_was_given_is_not_made_younger),
    };
    if (getenv("TWO_HOLDERS_ONLY"))
        cmocka_set_test_filter(getenv("TWO_HOLDERS_ONLY"));
    return cmocka_run_group_tests_name("two holders", tests, rig_setup_single, rig_teardown);
}
