/* Catching signals, and reading them. */
#include "cmd/signals.h"

#include <stddef.h>
#include <sys/signalfd.h>
#include <unistd.h>

bool signals_catch(sigset_t *caught, sigset_t *before, int *fd)
{
    static const int all[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD};
    sigemptyset(caught);
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        struct sigaction now;
        if (sigaction(all[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(caught, all[i]); /* who ignores one, as nohup, means it */
    }
    sigprocmask(SIG_BLOCK, caught, before);
    *fd = signalfd(-1, caught, SFD_CLOEXEC | SFD_NONBLOCK);
    return *fd >= 0;
}

static void leave(int signo)
{
    _exit(128 + signo);
}

void signals_end_us(const sigset_t *caught, bool yes)
{
    static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGQUIT};
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof(ending) / sizeof(ending[0]); i++) {
        if (sigismember(caught, ending[i]) != 1)
            continue;
        sigaddset(&set, ending[i]);
        if (yes)
            signal(ending[i], leave);
    }
    sigprocmask(yes ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
}

int signals_ending(int fd)
{
    struct signalfd_siginfo info;
    while (read(fd, &info, sizeof(info)) == sizeof(info)) {
        if (info.ssi_signo != SIGUSR1 && info.ssi_signo != SIGUSR2 && info.ssi_signo != SIGCHLD)
            return (int)info.ssi_signo;
    }
    return 0;
}
