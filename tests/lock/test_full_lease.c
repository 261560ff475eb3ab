/* Who was told that it has the lock has it for a whole lease: a holder that is stopped right then,
 * for nine tenths of its lease, has lost it to nobody. FULL_LEASE_RUNS: so many runs of each. */
#include "tests/lock/guests.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LEASE_MS = 2000, RUNS = 2, LIMIT_S = 120 };

static int lease_ms = LEASE_MS; /* longer where the machine is crowded */

static const char *const name = "lease";

typedef struct holder {
    dlock_lock *lock;
    dlock_hold *hold;
} holder;

static dlock_lock *lock_in_child(const char *url, dlock_options options)
{
    char err[256];
    dlock_client *client;
    dlock_lock *lock;
    alarm(LIMIT_S);
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK ||
        dlock_lock_new(client, name, &options, &lock, err, sizeof(err)) != DLOCK_OK)
        _exit(2);
    return lock;
}

/* Stops right after OK. When it goes on it may have heard of no renewal, and not trust its hold. */
static void take_and_stop(dlock_lock *lock)
{
    dlock_hold *hold;
    if (dlock_acquire(lock, &(dlock_wait){.wait_ms = DLOCK_FOREVER}, &hold) != DLOCK_OK)
        _exit(3);
    raise(SIGSTOP);
    dlock_status status = dlock_release(hold);
    _exit(status == DLOCK_OK || status == DLOCK_EXPIRED ? 0 : 4);
}

static void *give_back_late(void *arg)
{
    holder *h = arg;
    dlock_sleep(dlock_in_ms(lease_ms * 3 / 10)); /* shortly before its renewal */
    dlock_release(h->hold);
    return NULL;
}

/* Gets the grant from another thread of its process. */
static void take_in_cohort_and_stop(dlock_lock *lock)
{
    pthread_t thread;
    holder first = {.lock = lock};
    if (dlock_acquire(lock, &(dlock_wait){.context = 7, .wait_ms = 60000}, &first.hold) != DLOCK_OK)
        _exit(3);
    pthread_create(&thread, NULL, give_back_late, &first);
    take_and_stop(lock);
}

/* The name is never free, nor another's, as long as the child stands still. */
static void nobody_gets_it(rig *r, pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, WUNTRACED), child);
    if (!WIFSTOPPED(status))
        fail_msg("the holder ended with %d", WEXITSTATUS(status));
    dlock_time until = dlock_in_ms(lease_ms * 9 / 10);
    while (!dlock_passed(until)) {
        assert_int_equal(rig_ask(r, "EXISTS %s", name), 1);
        dlock_sleep(dlock_in_ms(5));
    }
    kill(child, SIGCONT);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static int runs(void)
{
    const char *told = getenv("FULL_LEASE_RUNS");
    return told ? (int)strtol(told, NULL, 10) : RUNS;
}

/* Handed over by another process. */
static void check_hand_over(rig *r, dlock_kind kind)
{
    lease_ms = fx_lease_ms(LEASE_MS);
    for (int i = 0; i < runs(); i++) {
        dlock_options options = {.kind = kind, .lease_ms = lease_ms};
        dlock_lock *mine = rig_lock(r->client, name, options);
        dlock_hold *hold;
        rig_ask(r, "DEL %s", name);
        assert_int_equal(dlock_acquire(mine, NULL, &hold), DLOCK_OK);
        pid_t child = fork();
        if (child == 0)
            take_and_stop(lock_in_child(fx_redis_url(r->server), options));
        while (rig_ask(r, "LLEN %s", "dlock:{lease}:queue") == 0)
            dlock_sleep(dlock_in_ms(2));
        dlock_sleep(dlock_in_ms(20)); /* by then it listens, most likely */
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        nobody_gets_it(r, child);
        dlock_lock_free(mine);
    }
}

static void a_fair_holder(void **state)
{
    check_hand_over(*state, DLOCK_FAIR);
}

static void a_writer(void **state)
{
    check_hand_over(*state, DLOCK_WRITE);
}

static void who_gets_it_inside_a_cohort(void **state)
{
    rig *r = *state;
    lease_ms = fx_lease_ms(LEASE_MS);
    for (int i = 0; i < runs(); i++) {
        dlock_options options = {
            .kind = DLOCK_FAIR, .lease_ms = lease_ms, .cohort_max = 5, .cohort_ms = lease_ms};
        rig_ask(r, "DEL %s", name);
        pid_t child = fork();
        if (child == 0)
            take_in_cohort_and_stop(lock_in_child(fx_redis_url(r->server), options));
        nobody_gets_it(r, child);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_fair_holder),
        cmocka_unit_test(a_writer),
        cmocka_unit_test(who_gets_it_inside_a_cohort),
    };
    return cmocka_run_group_tests_name("full_lease", tests, rig_setup, rig_teardown);
}
