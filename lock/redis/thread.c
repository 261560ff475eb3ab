/* thread.c - starts threads, which inherit the signal mask of the one that starts them, and puts
 * them to sleep. */
#include "redis/thread.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

bool dlock_thread_start(pthread_t *ret, void *(*run)(void *arg), void *arg)
{
    static const int of_a_fault[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(of_a_fault) / sizeof(of_a_fault[0]); i++)
        sigdelset(&blocked, of_a_fault[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    bool started = pthread_create(ret, NULL, run, arg) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

/* ---- sleep ----------------------------------------------------------------------------------- */

enum { AWAKE = 0, ASLEEP, ENDED };

static bool change(dlock_sleeper *at, unsigned from, unsigned to)
{
    return atomic_compare_exchange_strong(at, &from, to);
}

void dlock_sleeper_ready(dlock_sleeper *at)
{
    change(at, AWAKE, ASLEEP);
}

void dlock_sleeper_wait(dlock_sleeper *at, dlock_time until)
{
    int64_t left_us = dlock_sooner(until, dlock_in_ms(60000)).us - dlock_now().us;
    struct { /* as the kernel knows it by this call, whatever size time_t has */
        long s, ns;
    } left = {(long)(left_us / 1000000), (long)(left_us % 1000000 * 1000)};
    if (left_us > 0 && atomic_load(at) == ASLEEP)
        syscall(SYS_futex, at, FUTEX_WAIT_PRIVATE, ASLEEP, &left, NULL, 0);
}

void dlock_sleeper_nap(dlock_sleeper *at, pthread_mutex_t *lock, dlock_time until)
{
    dlock_sleeper_ready(at);
    pthread_mutex_unlock(lock);
    dlock_sleeper_wait(at, until);
    pthread_mutex_lock(lock);
}

/* The thread may be gone: then this wakes nobody, or somebody who looks what woke it. */
static void wake(dlock_sleeper *at)
{
    syscall(SYS_futex, at, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void dlock_sleeper_rouse(dlock_sleeper *at)
{
    if (change(at, ASLEEP, AWAKE))
        wake(at);
}

void dlock_sleeper_end(dlock_sleeper *at)
{
    if (atomic_exchange(at, ENDED) == ASLEEP)
        wake(at);
}

bool dlock_sleeper_ended(const dlock_sleeper *at)
{
    return atomic_load(at) == ENDED;
}
