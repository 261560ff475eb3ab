/* slowness.c - from /proc/PID/task/TID/schedstat: ns run, ns waited. */
#include "tests/chaos/slowness.h"

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/support/service.h"

#define SLOWEST 10.0 /* behind that a deadline would show nothing */
#define USUAL   2.0  /* time to get through something, as a multiple of the time that it runs */

typedef struct times {
    double ran, waited;
} times;

static times begun;

static void add_threads(pid_t pid, times *sum)
{
    char path[320];
    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    DIR *tasks = opendir(path);
    for (struct dirent *one; tasks && (one = readdir(tasks));) {
        times t;
        snprintf(path, sizeof(path), "/proc/%d/task/%.24s/schedstat", (int)pid, one->d_name);
        FILE *file = fopen(path, "re");
        if (file && fscanf(file, "%lf %lf", &t.ran, &t.waited) == 2) {
            sum->ran += t.ran;
            sum->waited += t.waited;
        }
        if (file)
            fclose(file);
    }
    if (tasks)
        closedir(tasks);
}

/* Of the instances and of this process, which has the buyers. */
static times until_now(void)
{
    times sum = {0, 0};
    for (int i = 0; i < FX_INSTANCES; i++)
        if (fx.server[i])
            add_threads(fx_process_pid(fx_server_process(fx.server[i])), &sum);
    add_threads(getpid(), &sum);
    return sum;
}

void slowness_begin(void)
{
    begun = until_now();
}

double slowness_of(double ran, double waited)
{
    double factor = ran > 0 && waited > 0 ? (ran + waited) / ran / USUAL : 1;
    return factor > SLOWEST ? SLOWEST : factor > 1 ? factor : 1;
}

double slowness_since(void)
{
    times now = until_now();
    return slowness_of(now.ran - begun.ran, now.waited - begun.waited);
}
