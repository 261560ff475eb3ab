/*
 * clock.c - the time of day, as far ahead of or behind the machine's as a test wants it: preloaded
 * into redis-server or flashsale.
 *
 *     FLASHSALE_CLOCK=/tmp/clock FLASHSALE_CLOCK_OF=redis-server LD_PRELOAD=.../clock.so ...
 *
 * The file is mapped by this library and by the test (clock.h), so that the clock can step while
 * the program runs. Only the time of day steps: monotonic clocks go on, as they do when somebody
 * sets a machine's clock.
 */
#include "tests/tools/shims/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static shim_clocks *clocks; /* NULL: the machine's time */
static int64_t mine;

static __attribute__((constructor)) void map_clock(void)
{
    const char *path = getenv(SHIM_CLOCK_FILE), *program = getenv(SHIM_CLOCK_PROGRAM);
    if (!path || !program || strcmp(program, program_invocation_short_name) != 0)
        return;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    void *mapped = fd < 0 ? MAP_FAILED
                          : mmap(NULL, sizeof(*clocks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        abort(); /* the test would believe that the clock had stepped */
    clocks = mapped;
    close(fd);
    mine = atomic_fetch_add(&clocks->taken, 1);
    if (mine >= SHIM_CLOCKS)
        abort();
}

static time_t ahead(void)
{
    int64_t ahead_s = clocks ? atomic_load(&clocks->of[mine].ahead_s) : 0;
    if (ahead_s != 0)
        atomic_fetch_add(&clocks->of[mine].told, 1);
    return (time_t)ahead_s;
}

/* The system call, not the library's function, which this one takes the place of. */
EXPORTED int clock_gettime(clockid_t clock_id, struct timespec *tp)
{
    int failed = (int)syscall(SYS_clock_gettime, clock_id, tp);
    if (failed == 0 && (clock_id == CLOCK_REALTIME || clock_id == CLOCK_REALTIME_COARSE))
        tp->tv_sec += ahead();
    return failed;
}

EXPORTED int gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
    struct timespec now;
    (void)tz;
    clock_gettime(CLOCK_REALTIME, &now);
    *tv = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
    return 0;
}

EXPORTED time_t time(time_t *timer)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (timer)
        *timer = now.tv_sec;
    return now.tv_sec;
}
