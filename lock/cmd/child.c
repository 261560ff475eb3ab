/*
 * The command that `dlock run` runs: fork and exec, signals to it alone or to its group, its end.
 * It is told to end with this process by the kernel, so that no lock is left without a holder while
 * the work goes on.
 */
#include "cmd/child.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_NOT_EXECUTABLE 126
#define EXIT_NOT_FOUND      127

/* In the child of a process with threads: only async-signal-safe calls until exec. */
static void become(char **argv, const sigset_t *mask, bool own_group, pid_t parent)
{
    if (own_group)
        setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before the line above */
        _exit(EXIT_NOT_EXECUTABLE);
    signal(SIGPIPE, SIG_DFL);
    sigprocmask(SIG_SETMASK, mask, NULL);
    execvp(argv[0], argv);

    int code = errno == ENOENT ? EXIT_NOT_FOUND : EXIT_NOT_EXECUTABLE;
    dprintf(STDERR_FILENO, "dlock: %s: %s\n", argv[0], strerror(errno));
    _exit(code);
}

bool child_start(child_process *child, char **argv, const sigset_t *mask)
{
    pid_t parent = getpid();
    child->own_group = !isatty(STDIN_FILENO);
    child->pid = fork();
    if (child->pid == 0)
        become(argv, mask, child->own_group, parent);
    if (child->pid > 0 && child->own_group)
        setpgid(child->pid, child->pid); /* both do it: whoever is first, it is done */
    return child->pid > 0;
}

void child_signal(const child_process *child, int signo)
{
    kill(child->own_group ? -child->pid : child->pid, signo);
}

void child_forward(const child_process *child, const struct signalfd_siginfo *info)
{
    bool from_terminal = info->ssi_code == SI_KERNEL;
    if (child->own_group || !from_terminal)
        child_signal(child, (int)info->ssi_signo);
}

bool child_ended(const child_process *child, int *ret)
{
    int status;
    if (waitpid(child->pid, &status, WNOHANG) != child->pid)
        return false;
    *ret = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return true;
}
