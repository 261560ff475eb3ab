/*
 * last_words.c - preloaded into programs that are compiled for coverage: one that is killed writes
 * down what it executed before it dies.
 *
 * Who calls kill() with SIGKILL sends a signal of ours first, where the other catches it, and waits
 * until that has ended, for two seconds at most; then SIGKILL follows as ever. So who waits for it
 * sees it killed. A stopped one is killed at once, and leaves nothing.
 *
 * scripts/mutate preloads it for its records; coverage_dump() is in what it compiles then.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

enum { ROUNDS = 400, ROUND_NS = 5000000 };

static void (*dump)(void);

static int our_signal(void)
{
    return SIGRTMAX - 3;
}

static int really_kill(pid_t pid, int signo)
{
    return (int)syscall(SYS_kill, pid, signo);
}

static void leave(int signo)
{
    (void)signo;
    dump();
    really_kill(getpid(), SIGKILL);
}

__attribute__((constructor)) static void listen_for_it(void)
{
    struct sigaction action = {.sa_handler = leave};
    dump = (void (*)(void))dlsym(RTLD_DEFAULT, "coverage_dump");
    if (dump)
        sigaction(our_signal(), &action, NULL);
}

/* The rest of the line of /proc/PID/status that begins so; "" where there is none. */
static void status_of(pid_t pid, const char *name, char *ret, size_t len)
{
    char path[64], line[512];
    ret[0] = '\0';
    snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, name, strlen(name)) == 0)
            snprintf(ret, len, "%s", line + strlen(name));
    if (file)
        fclose(file);
}

static bool catches_it(pid_t pid)
{
    char caught[64];
    status_of(pid, "SigCgt:\t", caught, sizeof(caught));
    return strtoull(caught, NULL, 16) >> (our_signal() - 1) & 1;
}

/* Not a zombie, and not stopped. */
static bool goes_on(pid_t pid)
{
    char state[64];
    status_of(pid, "State:\t", state, sizeof(state));
    return state[0] != '\0' && !strchr("ZXTt", state[0]);
}

EXPORTED int kill(pid_t pid, int sig)
{
    if (sig == SIGKILL && pid > 0 && pid != getpid() && catches_it(pid)) {
        really_kill(pid, our_signal());
        for (int i = 0; i < ROUNDS && goes_on(pid); i++)
            nanosleep(&(struct timespec){.tv_nsec = ROUND_NS}, NULL);
    }
    return really_kill(pid, sig);
}
