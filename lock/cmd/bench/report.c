/* The bench's table for people, and its JSON file for programs. */
#include "cmd/bench/bench.h"
#include "cmd/command.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* ---- table ----------------------------------------------------------------------------------- */

void bench_print_head(void)
{
    printf("%-9s %8s  %24s  %24s  %8s  %7s%7s  %6s  %6s\n", "", "", "hand-off us", "acquire us",
           "slowest/", "round", "redis", "client", "canary");
    printf("%-9s %8s  %8s%8s%8s  %8s%8s%8s  %8s  %7s%7s  %6s  %6s  %6s\n", "kind", "ops/s", "p50",
           "p99", "p99.9", "p50", "p99", "p99.9", "fastest", "trips", "cmds", "us", "broken",
           "errors");
}

static void print_figure(int width, int decimals, double figure)
{
    if (isfinite(figure))
        printf("%*.*f", width, decimals, figure);
    else
        printf("%*s", width, "-");
}

static void print_quantiles(const latency_histogram *latency)
{
    static const double quantiles[] = {0.5, 0.99, 0.999};
    for (int i = 0; i < 3; i++)
        print_figure(8, 0, latency_us(latency, quantiles[i]));
    fputs("  ", stdout);
}

void bench_print_row(const bench_row *row)
{
    printf("%-9s %8.0f  ", row->run->kind, row->ops_per_s);
    print_quantiles(&row->handoff);
    print_quantiles(&row->acquire);
    print_figure(8, 2, row->fairness);
    print_figure(9, 1, row->round_trips_per_op);
    print_figure(7, 1, row->redis_cmds_per_op);
    print_figure(8, 0, row->cpu_us_per_op);
    printf("  %6" PRIu64 "  %6" PRIu64 "\n", (uint64_t)row->canary_lost + row->broken, row->errors);
    if (row->run->options.kind == DLOCK_WRITE) {
        char writers[64];
        snprintf(writers, sizeof(writers), "  its %" PRIu64 " writers", row->writing.count);
        printf("%-46s", writers);
        print_quantiles(&row->writing);
        putchar('\n');
    }
    if (isfinite(row->longest_gap_ms)) {
        printf("%-9s   killed: next grant after ", "");
        print_figure(0, 0, row->takeover_ms);
        printf(" ms, longest gap between grants %.0f ms, all gaps over %d ms %.0f ms\n",
               row->longest_gap_ms, BENCH_STALL_NS / BENCH_MS_NS, row->stalled_ms);
    }
    fflush(stdout);
}

/* ---- file ------------------------------------------------------------------------------------ */

static void write_environment(json_writer *json, const char *redis_version)
{
    struct utsname host;
    char when[32];
    time_t now = time(NULL);
    struct tm tm;
    json_open(json, "environment", '{');
    json_text(json, "dlock", FLASHSALE_VERSION);
    json_text(json, "redis", redis_version);
    if (uname(&host) == 0) {
        json_text(json, "host", host.nodename);
        json_text(json, "kernel", host.release);
        json_text(json, "machine", host.machine);
    }
    json_int(json, "cpus", sysconf(_SC_NPROCESSORS_ONLN));
    if (gmtime_r(&now, &tm) && strftime(when, sizeof(when), "%FT%TZ", &tm))
        json_text(json, "time", when);
    json_close(json, '}');
}

bool bench_json_start(json_writer *json, const char *path, const char *redis_version)
{
    *json = (json_writer){.file = fopen(path, "w")};
    if (!json->file) {
        command_complain("%s: %s", path, strerror(errno));
        return false;
    }
    json_open(json, NULL, '{');
    json_int(json, "schema", 1);
    write_environment(json, redis_version);
    return true;
}

bool bench_json_finish(json_writer *json, const char *path)
{
    json_close(json, '}');
    bool good = !ferror(json->file);
    good &= fclose(json->file) == 0;
    if (!good)
        command_complain("%s could not be written", path);
    return good;
}

static void write_quantiles(json_writer *json, const char *key, const latency_histogram *latency)
{
    json_open(json, key, '{');
    json_number(json, "p50", latency_us(latency, 0.5), 1);
    json_number(json, "p99", latency_us(latency, 0.99), 1);
    json_number(json, "p999", latency_us(latency, 0.999), 1);
    json_int(json, "samples", (int64_t)latency->count);
    json_close(json, '}');
}

void bench_json_row(json_writer *json, const bench_row *row)
{
    const bench_options *bench = row->run->bench;
    char think_ms[64];
    snprintf(think_ms, sizeof(think_ms), "%g-%g", (double)bench->think_min_us / 1000,
             (double)bench->think_max_us / 1000);
    json_open(json, NULL, '{');
    json_text(json, "kind", row->run->kind);
    json_int(json, "processes", bench->processes);
    json_int(json, "threads", bench->threads);
    json_text(json, "think_ms", think_ms);
    json_number(json, "hold_ms", (double)bench->hold_us / 1000, 3);
    json_int(json, "duration_ms", bench->duration_ms);
    json_int(json, "ops", (int64_t)row->ops);
    json_number(json, "ops_per_s", row->ops_per_s, 1);
    write_quantiles(json, "handoff_us", &row->handoff);
    write_quantiles(json, "acquire_us", &row->acquire);
    json_number(json, "fairness", row->fairness, 3);
    json_number(json, "redis_cmds_per_op", row->redis_cmds_per_op, 2);
    json_number(json, "round_trips_per_op", row->round_trips_per_op, 2);
    json_number(json, "cpu_us_per_op", row->cpu_us_per_op, 1);
    json_int(json, "canary_lost", row->canary_lost);
    json_int(json, "errors", (int64_t)row->errors);
    if (row->run->options.kind == DLOCK_WRITE) {
        json_int(json, "readers_percent", bench->readers);
        json_int(json, "torn_reads", (int64_t)row->broken);
        write_quantiles(json, "write_acquire_us", &row->writing);
    }
    if (row->run->options.kind == DLOCK_SEMAPHORE) {
        json_int(json, "permits", bench->permits);
        json_int(json, "take", bench->take);
        json_int(json, "above_permits", (int64_t)row->broken);
    }
    if (bench->kill) {
        json_text(json, "killed", bench->kill == BENCH_KILL_HOLDER ? "holder" : "queued");
        json_number(json, "takeover_ms", row->takeover_ms, 1);
        json_number(json, "longest_gap_ms", row->longest_gap_ms, 1);
        json_number(json, "stalled_ms", row->stalled_ms, 1);
    }
    json_close(json, '}');
}
