/* The library in a process of others: signals that the program waits for, and fork(). */
#include "lock/core/registry.h"
#include "tests/lock/rig.h"

#include <pthread.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORKS = 50, OPEN = 2000, LIMIT_S = 20 };

static void assert_child_is_well(pid_t child)
{
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* ---- signals --------------------------------------------------------------------------------- */

static dlock_status do_nothing(void *arg)
{
    (void)arg;
    return DLOCK_OK;
}

/* Has every thread of the library started: watchdog, engine, what listens, what asks, a worker. */
static void start_all_threads(const char *url)
{
    char err[256];
    dlock_client *client;
    dlock_hold *hold;
    dlock_pending *pending, *call;
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK)
        _exit(2);
    dlock_options options = {.kind = DLOCK_FAIR, .lease_ms = fx_lease_ms(300)};
    dlock_lock *lock = rig_lock(client, "{p}signals", options);
    dlock_wait wait = {.wait_ms = DLOCK_FOREVER, .context = 7};
    if (dlock_acquire(lock, NULL, &hold) != DLOCK_OK ||
        dlock_acquire_start(lock, &wait, &pending) != DLOCK_OK ||
        dlock_call_start(client, do_nothing, NULL, &call) != DLOCK_OK)
        _exit(3);
    dlock_stats stats = {0};
    while (stats.renewals == 0) {
        dlock_sleep(dlock_in_ms(5));
        dlock_client_stats(client, &stats);
    }
}

/* As a program does that learns only later which signals it wants to wait for. */
static void wait_for_own_signal(const char *url)
{
    sigset_t term;
    struct signalfd_siginfo info;
    alarm(LIMIT_S);
    start_all_threads(url);
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &term, NULL);
    int fd = signalfd(-1, &term, 0);
    kill(getpid(), SIGTERM);
    _exit(read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_signo == SIGTERM ? 0 : 4);
}

static void a_signal_that_main_blocks_reaches_its_signalfd(void **state)
{
    const rig *r = *state;
    pid_t child = fork();
    if (child == 0)
        wait_for_own_signal(fx_redis_url(r->server));
    assert_child_is_well(child);
}

/* ---- fork() ---------------------------------------------------------------------------------- */

typedef struct opener {
    dlock_client *client;
    atomic_bool stop;
    pthread_t thread;
} opener;

static bool lock_and_unlock(const char *url)
{
    char err[256];
    dlock_client *client;
    dlock_lock *lock;
    dlock_hold *hold;
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK)
        return false;
    bool done = dlock_lock_new(client, "{p}fork", NULL, &lock, err, sizeof(err)) == DLOCK_OK;
    if (done && dlock_acquire(lock, &(dlock_wait){.wait_ms = 10000}, &hold) == DLOCK_OK)
        done = dlock_release(hold) == DLOCK_OK;
    else
        done = false;
    dlock_lock_free(lock);
    dlock_client_free(client);
    return done;
}

/* Is in the process's list of registries nearly all the time: the oldest is the last in a long one.
 */
static void *keep_opening(void *arg)
{
    opener *o = arg;
    registry *all[OPEN];
    for (int i = 0; i < OPEN; i++)
        all[i] = dlock_registry_new(o->client);
    for (int i = 0; !atomic_load(&o->stop); i = (i + 1) % OPEN) {
        dlock_registry_free(all[i]);
        all[i] = dlock_registry_new(o->client);
    }
    for (int i = 0; i < OPEN; i++)
        dlock_registry_free(all[i]);
    return NULL;
}

/* Whatever the other threads are about at that moment. */
static void a_forked_child_may_open_its_own_client(void **state)
{
    const rig *r = *state;
    opener others = {.client = r->client};
    assert_int_equal(pthread_create(&others.thread, NULL, keep_opening, &others), 0);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (child == 0) {
            alarm(LIMIT_S);
            _exit(lock_and_unlock(fx_redis_url(r->server)) ? 0 : 1);
        }
        assert_child_is_well(child);
    }
    atomic_store(&others.stop, true);
    pthread_join(others.thread, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_signal_that_main_blocks_reaches_its_signalfd),
        cmocka_unit_test(a_forked_child_may_open_its_own_client),
    };
    return cmocka_run_group_tests_name("process", tests, rig_setup, rig_teardown);
}
