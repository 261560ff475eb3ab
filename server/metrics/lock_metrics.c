/* lock_metrics.c - what the lock client counts: of all its locks, and of each. */
#include "server/metrics/metrics.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* ---- of all ---------------------------------------------------------------------------------- */

/* The library counts in buckets of powers of two of microseconds; those below half a millisecond
 * are put together. */
static void write_lock_times(fs_text *out, const char *name, const char *help,
                             const dlock_histogram *times)
{
    enum { FIRST = 9, LAST = DLOCK_HISTOGRAM_BUCKETS - 1 };
    uint64_t count = 0;
    metric_head(out, name, "histogram", help);
    for (int i = 0; i < LAST; i++) {
        count += times->bucket[i];
        if (i >= FIRST)
            text_printf(out, "%s_bucket{le=\"%g\"} %llu\n", name, (double)(1u << i) / 1e6,
                        (unsigned long long)count);
    }
    text_printf(out, "%s_bucket{le=\"+Inf\"} %llu\n%s_sum %.6f\n%s_count %llu\n", name,
                (unsigned long long)times->count, name, (double)times->sum_us / 1e6, name,
                (unsigned long long)times->count);
}

static void write_totals(dlock_client *locks, fs_text *out)
{
    dlock_stats stats;
    dlock_client_stats(locks, &stats);
    const struct {
        const char *name, *help;
        uint64_t value;
    } counters[] = {
        {"flashsale_lock_acquired_total", "Grants of a lock by Redis.", stats.acquired},
        {"flashsale_lock_reentered_total", "Re-entries.", stats.reentered},
        {"flashsale_lock_passed_on_total", "Grants passed on inside the process.", stats.passed_on},
        {"flashsale_lock_busy_total", "Waits that ended without the lock.", stats.busy},
        {"flashsale_lock_released_total", "Releases.", stats.released},
        {"flashsale_lock_renewals_total", "Renewed leases.", stats.renewals},
        {"flashsale_lock_renewals_failed_total", "Renewals that failed.", stats.renewals_failed},
        {"flashsale_lock_lost_total", "Holds lost before their release.", stats.lost},
        {"flashsale_lock_guarded_total", "Guarded writes.", stats.guarded},
        {"flashsale_lock_stale_total", "Guarded writes refused as stale.", stats.stale},
        {"flashsale_lock_unknown_total", "Questions about locks without an answer.", stats.unknown},
    };
    for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++)
        metric_counter(out, counters[i].name, counters[i].help, counters[i].value);
    write_lock_times(out, "flashsale_lock_wait_seconds",
                     "Time from asking for a lock to having it.", &stats.wait_us);
    write_lock_times(out, "flashsale_lock_hold_seconds", "Time from having a lock to its release.",
                     &stats.hold_us);
    metric_gauge(out, "flashsale_lock_held", "Locks held now.", (double)stats.held_now);
    metric_gauge(out, "flashsale_lock_waiting", "Threads waiting for a lock now.",
                 (double)stats.waiting_now);
}

/* ---- of each --------------------------------------------------------------------------------- */

typedef struct lock_row {
    char name[LOCK_NAME_MAX];
    uint64_t acquired, lost, busy, waiting, wait_us, hold_us;
} lock_row;

typedef struct lock_rows {
    int count;
    lock_row rows[LOCK_METRICS_NAMES];
} lock_rows;

/* Locks of one name that differ in their options count together. */
static void see_lock(void *arg, const char *name, const dlock_stats *stats)
{
    lock_rows *all = arg;
    int i = 0;
    if (strlen(name) >= LOCK_NAME_MAX || stats->acquired + stats->busy + stats->waiting_now == 0)
        return;
    while (i < all->count && strcmp(all->rows[i].name, name) != 0)
        i++;
    if (i == LOCK_METRICS_NAMES)
        return;
    lock_row *row = &all->rows[i];
    if (i == all->count) {
        all->count++;
        *row = (lock_row){.acquired = 0};
        memcpy(row->name, name, strlen(name) + 1);
    }
    row->acquired += stats->acquired;
    row->lost += stats->lost;
    row->busy += stats->busy;
    row->waiting += stats->waiting_now;
    row->wait_us += stats->wait_us.sum_us;
    row->hold_us += stats->hold_us.sum_us;
}

static void write_each(dlock_client *locks, fs_text *out)
{
    static const struct {
        const char *name, *type, *help;
        size_t at;
        double unit;
    } columns[] = {
        {"acquired_total", "counter", "Grants of this lock.", offsetof(lock_row, acquired), 1},
        {"busy_total", "counter", "Waits that ended without it.", offsetof(lock_row, busy), 1},
        {"lost_total", "counter", "Holds lost before release.", offsetof(lock_row, lost), 1},
        {"waiting", "gauge", "Threads that wait for it now.", offsetof(lock_row, waiting), 1},
        {"wait_seconds_total", "counter", "Time waited for it.", offsetof(lock_row, wait_us), 1e6},
        {"hold_seconds_total", "counter", "Time it was held.", offsetof(lock_row, hold_us), 1e6},
    };
    lock_rows all = {.count = 0};
    dlock_client_locks(locks, see_lock, &all);
    for (size_t c = 0; c < sizeof(columns) / sizeof(columns[0]); c++) {
        char name[64];
        snprintf(name, sizeof(name), "flashsale_lock_name_%s", columns[c].name);
        metric_head(out, name, columns[c].type, columns[c].help);
        for (int i = 0; i < all.count; i++) {
            uint64_t value;
            memcpy(&value, (const char *)&all.rows[i] + columns[c].at, sizeof(value));
            text_printf(out, "%s{lock=\"%s\"} %.15g\n", name, all.rows[i].name,
                        (double)value / columns[c].unit);
        }
    }
}

void lock_metrics_write(dlock_client *locks, fs_text *out)
{
    write_totals(locks, out);
    write_each(locks, out);
}
