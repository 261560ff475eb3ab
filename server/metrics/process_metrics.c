/*
 * process_metrics.c - from /proc/self, which the systemd unit leaves visible; of the rest of /proc
 * (ProcSubset=pid) nothing is read, so the start is computed by the clocks, not read as btime.
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

/* Words 22 to 24 of stat: the start, in clock ticks since the machine's; bytes; pages. The 2nd, the
 * program's name in brackets, may have blanks and brackets in it. */
static void write_stat(fs_text *out)
{
    char stat[1024];
    unsigned long long ticks, bytes, pages;
    FILE *file = fopen("/proc/self/stat", "re");
    stat[file ? fread(stat, 1, sizeof(stat) - 1, file) : 0] = '\0';
    if (file)
        fclose(file);
    const char *behind_name = strrchr(stat, ')');
    if (!behind_name ||
        sscanf(behind_name,
               ") %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
               "%llu %llu %llu",
               &ticks, &bytes, &pages) != 3)
        return;
    metric_gauge(out, "process_virtual_memory_bytes", "Virtual memory size in bytes.",
                 (double)bytes);
    metric_gauge(out, "process_resident_memory_bytes", "Resident memory size in bytes.",
                 (double)pages * (double)sysconf(_SC_PAGESIZE));
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
    write_stat(out);
    write_descriptors(out);
}
