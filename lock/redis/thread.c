/* Starting threads: a new thread inherits the signal mask of the one that starts it. */
#include "redis/thread.h"

#include <signal.h>

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
