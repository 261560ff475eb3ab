/*
 * histcheck - judges what many processes did with locks, from what they wrote down.
 *
 * event.h has the format, tests/tools/README.md what is checked. Exit: 0 all of it held, 1
 * violated, 2 the history can not be read, 64 usage.
 */
#include <getopt.h>
#include <stdlib.h>

#include "tests/tools/histcheck/checks.h"

#define EXIT_UNREADABLE 2
#define EXIT_USAGE      64
#define NS_A_MS         1000000

static const char usage[] =
    "usage: histcheck [--lease-ms N] [--idle-ms N] [--fifo-ms N] [--fair LOCK]\n"
    "                 [--cohort LOCK] FILE...\n"
    "  --lease-ms  the longest lease in use (10,000): so long may an unknown outcome hold a lock\n"
    "  --idle-ms   a waiter gets a free lock within this time (not checked)\n"
    "  --fifo-ms   nobody is overtaken by who came so much later (not checked)\n"
    "  --fair      only this lock, and others so named, is first in, first out (all)\n"
    "  --cohort    this lock's hand-offs inside a process keep the fence (none)\n";

static bool read_options(int argc, char **argv, hc_options *ret)
{
    static const struct option names[] = {
        {"lease-ms", required_argument, NULL, 'l'}, {"idle-ms", required_argument, NULL, 'i'},
        {"fifo-ms", required_argument, NULL, 'f'},  {"fair", required_argument, NULL, 'q'},
        {"cohort", required_argument, NULL, 'c'},   {NULL, 0, NULL, 0}};
    int fair = 0;
    for (int name; (name = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        int64_t ns = optarg ? strtoll(optarg, NULL, 10) * NS_A_MS : 0;
        if (name == 'l')
            ret->lease_ns = ns;
        else if (name == 'i')
            ret->idle_ns = ns;
        else if (name == 'f')
            ret->fifo_ns = ns;
        else if (name == 'c')
            ret->cohort = optarg;
        else if (name == 'q' && fair < HC_FAIR_MAX)
            ret->fair[fair++] = optarg;
        else
            return false;
    }
    return optind < argc;
}

static long judge(hc_history *history, const hc_options *options)
{
    hc_report report = {.history = history};
    hc_history_sort(history);
    replay(history, options, &report);
    check_overlap(history, &report);
    check_fences(history, &report);
    check_endings(history, &report);
    check_idle(history, options, &report);
    check_fifo(history, options, &report);
    return report_summary(&report);
}

static bool read_all(hc_history *history, char **paths)
{
    char err[512];
    for (; *paths; paths++) {
        if (!hc_history_read(history, *paths, err, sizeof(err))) {
            fprintf(stderr, "histcheck: %s\n", err);
            return false;
        }
    }
    if (history->events_len == 0)
        fprintf(stderr, "histcheck: not one event: nothing was checked\n");
    return history->events_len > 0;
}

int main(int argc, char **argv)
{
    hc_options options = {.lease_ns = 10000LL * NS_A_MS};
    if (!read_options(argc, argv, &options)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    hc_history history = {0};
    int status = EXIT_UNREADABLE;
    if (read_all(&history, argv + optind))
        status = judge(&history, &options) ? EXIT_FAILURE : EXIT_SUCCESS;
    hc_history_free(&history);
    return status;
}
