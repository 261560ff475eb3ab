/* Many pending at once: descriptors and memory are what they cost, not threads or connections. */
#include <dirent.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/lock/pending/pending.h"

enum { MANY = 10000, LOCKS = 2000 };

static int threads(void)
{
    int n = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    while (readdir(tasks))
        n++;
    closedir(tasks);
    return n - 2;
}

static int connections(rig *r)
{
    int n = 0;
    redisReply *reply = fx_redis_reply(r->server, "CLIENT LIST");
    for (const char *line = reply->str; (line = strchr(line, '\n')); line++)
        n++;
    freeReplyObject(reply);
    return n;
}

static void allow_descriptors(rlim_t n)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    if (limit.rlim_max < n)
        fx_skip("no more than %ld descriptors", (long)limit.rlim_max);
    limit.rlim_cur = n;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

/* An event loop: what is granted is released, until nothing is pending. */
typedef struct loop {
    int fd;
    int left; /* pending acquisitions and releases */
    int granted;
    bool one_lock;
    uint64_t fence; /* the last one */
} loop;

static loop the_loop;

static void add(dlock_pending *p)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = p};
    assert_int_equal(epoll_ctl(the_loop.fd, EPOLL_CTL_ADD, dlock_pending_fd(p), &event), 0);
    the_loop.left++;
}

static void take(dlock_pending *p)
{
    dlock_hold *hold;
    dlock_pending *going;
    the_loop.left--;
    dlock_status status = dlock_release_finish(p);
    if (status != DLOCK_INVALID) { /* it was one */
        assert_int_equal(status, DLOCK_OK);
        return;
    }
    assert_int_equal(dlock_acquire_finish(p, &hold), DLOCK_OK);
    the_loop.granted++;
    assert_true(!the_loop.one_lock || dlock_fence(hold) > the_loop.fence);
    the_loop.fence = dlock_fence(hold);
    assert_int_equal(dlock_release_start(hold, &going), DLOCK_OK);
    add(going);
}

static void run_loop(void)
{
    dlock_time until = dlock_in_ms(fx_patient_ms(60000));
    while (the_loop.left > 0 && !dlock_passed(until)) {
        struct epoll_event events[64];
        int n = epoll_wait(the_loop.fd, events, 64, 1000);
        for (int i = 0; i < n; i++)
            take(events[i].data.ptr);
    }
    assert_int_equal(the_loop.left, 0);
}

static void begin_loop(void)
{
    the_loop = (loop){.fd = epoll_create1(EPOLL_CLOEXEC)};
    assert_true(the_loop.fd >= 0);
}

/* A first contended one has all threads and connections made. */
static void warm_up(dlock_lock *lock)
{
    dlock_hold *hold = pd_get(pd_start(lock, 0));
    dlock_pending *p = pd_start(lock, DLOCK_FOREVER);
    pd_assert_undecided(p);
    assert_int_equal(pd_release(hold), DLOCK_OK);
    assert_int_equal(pd_release(pd_get(p)), DLOCK_OK);
}

static void ten_thousand_wait_for_one_lock(void **state)
{
    rig *r = *state;
    allow_descriptors(MANY + 500);
    dlock_lock *lock = rig_lock(r->client, "one", (dlock_options){.kind = DLOCK_FAIR});
    warm_up(lock);
    int with = threads(), open = connections(r);
    dlock_hold *hold = pd_get(pd_start(lock, 0));
    begin_loop();
    the_loop.one_lock = true;
    for (int i = 0; i < MANY; i++)
        add(pd_start(lock, DLOCK_FOREVER));
    pd_await_queue(r, "one", MANY);
    assert_int_equal(threads(), with);
    assert_true(connections(r) <= open + 1);
    dlock_sleep(dlock_in_ms(300)); /* signs of life leave them where they are */
    assert_int_equal(rig_ask(r, "LLEN %s", "dlock:{one}:queue"), MANY);
    assert_int_equal(pd_release(hold), DLOCK_OK);
    run_loop();
    assert_int_equal(the_loop.granted, MANY);
    assert_int_equal(threads(), with);
    assert_true(connections(r) <= open + 1);
    close(the_loop.fd);
    dlock_lock_free(lock);
}

static void thousands_of_locks_are_waited_for(void **state)
{
    static const dlock_kind kinds[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR, DLOCK_WRITE};
    static dlock_lock *locks[LOCKS];
    static dlock_hold *holds[LOCKS];
    static dlock_pending *going[LOCKS];
    rig *r = *state;
    allow_descriptors(3 * LOCKS + 500);
    for (int i = 0; i < LOCKS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "many:%d", i);
        locks[i] = rig_lock(r->client, name, (dlock_options){.kind = kinds[i % 4]});
    }
    for (int i = 0; i < 50; i++) /* in a cluster, on each server */
        warm_up(locks[i]);
    int with = threads(), open = connections(r);
    for (int i = 0; i < LOCKS; i++)
        going[i] = pd_start(locks[i], DLOCK_FOREVER);
    for (int i = 0; i < LOCKS; i++)
        holds[i] = pd_get(going[i]);
    begin_loop();
    for (int i = 0; i < LOCKS; i++)
        add(pd_start(locks[i], DLOCK_FOREVER));
    dlock_sleep(dlock_in_ms(500));
    assert_int_equal(threads(), with);
    assert_true(connections(r) <= open + 1);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(dlock_release_start(holds[i], &going[i]), DLOCK_OK);
    run_loop();
    assert_int_equal(the_loop.granted, LOCKS);
    for (int i = 0; i < LOCKS; i++)
        assert_int_equal(dlock_release_finish(going[i]), DLOCK_OK);
    close(the_loop.fd);
    for (int i = 0; i < LOCKS; i++)
        dlock_lock_free(locks[i]);
}

/* All at once: what they leave behind is taken back, and the next one gets the lock. */
static void ten_thousand_give_up(void **state)
{
    static dlock_pending *all[MANY];
    rig *r = *state;
    allow_descriptors(MANY + 500);
    dlock_lock *lock = rig_lock(r->client, "given up", (dlock_options){.kind = DLOCK_FAIR});
    dlock_hold *hold = pd_get(pd_start(lock, 0));
    for (int i = 0; i < MANY; i++)
        all[i] = pd_start(lock, i % 2 ? DLOCK_FOREVER : 3000);
    pd_await_queue(r, "given up", MANY);
    for (int i = 1; i < MANY; i += 2)
        dlock_pending_cancel(all[i]);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pd_finish(all[i], NULL), i % 2 ? DLOCK_CANCELLED : DLOCK_BUSY);
    pd_await_queue(r, "given up", 0);
    assert_int_equal(pd_release(hold), DLOCK_OK);
    assert_int_equal(pd_release(pd_get(pd_start(lock, 0))), DLOCK_OK);
    dlock_lock_free(lock);
}

/* Whoever looks after a dlock_cancel every re-check keeps the engine as busy as can be; what has
 * happened to others is seen to nevertheless. */
static void who_looks_often_holds_up_nobody(void **state)
{
    static dlock_pending *all[MANY];
    rig *r = *state;
    allow_descriptors(MANY + 500);
    dlock_client *client =
        rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = 20000, .recheck_ms = 1});
    dlock_lock *lock = rig_lock(client, "often", (dlock_options){.kind = DLOCK_FAIR});
    dlock_lock *other = rig_lock(client, "other", (dlock_options){.kind = DLOCK_FAIR});
    dlock_cancel *cancel = dlock_cancel_new();
    dlock_hold *hold = pd_get(pd_start(lock, 0));
    for (int i = 0; i < MANY; i++)
        all[i] = pd_start_as(lock, (dlock_wait){.wait_ms = DLOCK_FOREVER, .cancel = cancel});
    pd_await_queue(r, "often", MANY);
    for (int i = 0; i < 3; i++)
        assert_int_equal(pd_release(pd_get(pd_start(other, 0))), DLOCK_OK);
    dlock_cancel_now(cancel);
    for (int i = 0; i < MANY; i++)
        assert_int_equal(pd_finish(all[i], NULL), DLOCK_CANCELLED);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(lock);
    dlock_lock_free(other);
    dlock_cancel_free(cancel);
    dlock_client_free(client);
}

/* Times that a slow machine keeps to. */
static int setup(void **state)
{
    rig_setup(state);
    rig *r = *state;
    dlock_client_free(r->client);
    r->client =
        rig_client(&(dlock_client_options){.redis = r->redis, .io_ms = 20000, .claim_ms = 10000});
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ten_thousand_wait_for_one_lock),
        cmocka_unit_test(thousands_of_locks_are_waited_for),
        cmocka_unit_test(ten_thousand_give_up),
        cmocka_unit_test(who_looks_often_holds_up_nobody),
    };
    return cmocka_run_group_tests_name("pending_many", tests, setup, rig_teardown);
}
