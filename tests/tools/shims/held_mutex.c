/*
 * held_mutex.c - preloaded into our programs: who unlocks a mutex, or waits on a condition with it,
 * must hold it. glibc lets an unlock pass whose lock was left out, and the race that follows shows
 * once in a million. Other programs, such as redis-server, are left alone.
 *
 * scripts/mutate preloads it. It relies on glibc, which notes the owner of every mutex.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static bool ours; /* the program is of a build folder */

__attribute__((constructor)) static void look_whose_it_is(void)
{
    char path[4096];
    ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);
    path[len > 0 ? len : 0] = '\0';
    ours = strstr(path, "/build/") != NULL;
}

/* A child of fork() has the locks of its parent, under another number. */
static void demand(const pthread_mutex_t *mutex)
{
    static const char words[] = "held_mutex: a mutex is unlocked that this thread does not hold\n";
    int owner = mutex->__data.__owner;
    if (!ours || mutex->__data.__kind != PTHREAD_MUTEX_NORMAL ||
        owner == (int)syscall(SYS_gettid) || (owner == (int)getppid() && owner != 0))
        return;
    (void)!write(STDERR_FILENO, words, sizeof(words) - 1);
    abort();
}

#define NEXT(function) ((__typeof__(&(function)))dlsym(RTLD_NEXT, #function))

EXPORTED int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    static __typeof__(&pthread_mutex_unlock) next;
    if (!next)
        next = NEXT(pthread_mutex_unlock);
    demand(mutex);
    return next(mutex);
}

EXPORTED int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    demand(mutex);
    return NEXT(pthread_cond_wait)(cond, mutex);
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                    const struct timespec *abstime)
{
    demand(mutex);
    return NEXT(pthread_cond_timedwait)(cond, mutex, abstime);
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                                    clockid_t clock_id, const struct timespec *abstime)
{
    demand(mutex);
    return NEXT(pthread_cond_clockwait)(cond, mutex, clock_id, abstime);
}
