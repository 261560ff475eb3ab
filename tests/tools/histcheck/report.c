/* report.c - prints the first violations of each kind, and the sums of all. */
#include "tests/tools/histcheck/report.h"

#include <inttypes.h>
#include <stdarg.h>

#define TOLD_OF_EACH_KIND 10

static const char *const words[VIOLATIONS] = {"overlap",    "fence", "stale write",
                                              "re-created", "depth", "unended",
                                              "idle",       "fifo",  "protocol"};

void report(hc_report *report, violation what, int lock, const char *format, ...)
{
    if (report->count[what]++ >= TOLD_OF_EACH_KIND)
        return;
    printf("%s: %s: ", words[what], lock < 0 ? "*" : report->history->locks[lock]);
    va_list args;
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
}

static void count_outcomes(const hc_history *history)
{
    long grants = 0, reentries = 0, failed = 0, unknown = 0, lost = 0;
    for (size_t i = 0; i < history->operations_len; i++) {
        const hc_operation *operation = &history->operations[i];
        grants += operation->outcome == OUTCOME_OK && !operation->reentry;
        reentries += operation->outcome == OUTCOME_OK && operation->reentry;
        failed += operation->outcome == OUTCOME_FAIL;
        unknown += operation->outcome == OUTCOME_UNKNOWN;
        lost += operation->lost_ns != NEVER;
    }
    printf("%zu events, %d locks, %zu operations: %ld grants, %ld re-entries, %ld failed, "
           "%ld unknown; %ld lost\n",
           history->events_len, history->locks_len, history->operations_len, grants, reentries,
           failed, unknown, lost);
}

long report_summary(const hc_report *report)
{
    long all = 0;
    count_outcomes(report->history);
    for (int i = 0; i < VIOLATIONS; i++) {
        if (report->count[i])
            printf("%ld x %s\n", report->count[i], words[i]);
        all += report->count[i];
    }
    printf("%s\n", all ? "VIOLATED" : "HELD");
    return all;
}

const char *report_name(const hc_operation *operation)
{
    static char names[4][96];
    static int next;
    char *name = names[next++ % 4];
    snprintf(name, sizeof(names[0]), "%" PRId64 "/%" PRIu64 " (op %" PRIu64 ", fence %" PRIu64 ")",
             operation->process, operation->context, operation->op, operation->fence);
    return name;
}

double report_ms(const hc_report *report, int64_t ns)
{
    return (double)(ns - report->history->events[0].ns) / 1e6;
}
