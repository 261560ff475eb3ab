/*
 * process_metrics.c - from /proc/self, which the systemd unit leaves visible; of the rest of /proc
 * (ProcSubset=pid) nothing is read, so the start is told from the clocks instead of from btime.
 */
#include "server/metrics/metrics.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The whole of a small file as text; "" when it can not be read. */
static void read_small(const char *path, char *ret, size_t ret_len)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(ret, 1, ret_len - 1, file) : 0;
    ret[len] = '\0';
    if (file)
        fclose(file);
}

static void write_memory(fs_text *out)
{
    char statm[128];
    unsigned long long whole, resident;
    double page = (double)sysconf(_SC_PAGESIZE);
    read_small("/proc/self/statm", statm, sizeof(statm));
    if (sscanf(statm, "%llu %llu", &whole, &resident) != 2)
        return;
    metric_gauge(out, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
                 (double)whole * page);
    metric_gauge(out, "process_resident_memory_bytes", "Resident memory size in bytes.",
                 (double)resident * page);
}

/* The start is the 22nd word of stat, in clock ticks since the machine's; the 2nd, the program's
 * name in brackets, may have blanks and brackets in it. */
static void write_start(fs_text *out)
{
    char stat[1024];
    unsigned long long ticks;
    read_small("/proc/self/stat", stat, sizeof(stat));
    const char *behind_name = strrchr(stat, ')');
    if (!behind_name ||
        sscanf(behind_name,
               ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &ticks) != 1)
        return;
    double booted_s = seconds_of(CLOCK_REALTIME) - seconds_of(CLOCK_BOOTTIME);
    metric_gauge(out, "process_start_time_seconds",
                 "Start time of the process since unix epoch in seconds.",
                 booted_s + (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

static void write_descriptors(fs_text *out)
{
    int open = -1; /* not the one by which they are read */
    DIR *dir = opendir("/proc/self/fd");
    for (const struct dirent *entry; dir && (entry = readdir(dir)) != NULL;)
        open += entry->d_name[0] != '.';
    if (dir) {
        closedir(dir);
        metric_gauge(out, "process_open_fds", "Number of open file descriptors.", open);
    }
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        metric_gauge(out, "process_max_fds", "Maximum number of open file descriptors.",
                     (double)limit.rlim_cur);
}

void process_metrics_write(fs_text *out)
{
    const char *cpu = "process_cpu_seconds_total";
    metric_head(out, cpu, "counter", "Total user and system CPU time spent in seconds.");
    text_printf(out, "%s %.6f\n", cpu, seconds_of(CLOCK_PROCESS_CPUTIME_ID));
    write_memory(out);
    write_start(out);
    write_descriptors(out);
}
