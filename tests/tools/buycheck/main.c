/*
 * buycheck - judges a sale by what its buyers were told and by what Redis has of it at rest.
 *
 * event.h has the format, tests/tools/README.md what is checked. Each file is a history of its own.
 * Exit: 0 all of it held, 1 violated, 2 a history can not be read, 3 not all could be checked, 64
 * usage; of several histories the worst.
 */
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/buycheck/checks.h"

#define EXIT_UNREADABLE 2
#define EXIT_USAGE      64

static const char usage[] =
    "usage: buycheck [--json] [--i7-us N] [--final-us N] FILE...\n"
    "  --json      one JSON object a history\n"
    "  --i7-us     a buy succeeds so soon behind a heal (the sale's lease and a second)\n"
    "  --final-us  looking for a request becomes final so soon (30,000,000)\n";

static bool read_us(const char *text, int64_t *ret)
{
    char *end;
    errno = 0;
    long long us = strtoll(text, &end, 10);
    bool ok = end != text && *end == '\0' && errno == 0 && us >= 0 && us <= BUYS_TIME_MAX;
    if (ok)
        *ret = us;
    return ok;
}

static bool read_options(int argc, char **argv, bc_options *ret)
{
    static const struct option names[] = {{"json", no_argument, NULL, 'j'},
                                          {"i7-us", required_argument, NULL, '7'},
                                          {"final-us", required_argument, NULL, 'f'},
                                          {NULL, 0, NULL, 0}};
    bool ok = true;
    for (int name; ok && (name = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        if (name == 'j')
            ret->json = true;
        else if (name == '7' || name == 'f')
            ok = read_us(optarg, name == '7' ? &ret->i7_us : &ret->final_us);
        else
            ok = false;
    }
    return ok && optind < argc;
}

static int judge(const bc_history *history, const bc_options *options)
{
    bc_report report = {.history = history, .options = *options};
    count_figures(&report);
    check_units(&report);
    check_stock(&report);
    check_ledger(&report);
    check_refusals(&report);
    check_fences(&report);
    check_heals(&report);
    check_left(&report);
    check_order(&report);
    check_limit(&report);
    if (options->json)
        report_print_json(&report, stdout);
    else
        report_print(&report, stdout);
    return report_exit(&report);
}

static int judge_file(const char *path, const bc_options *options)
{
    bc_history history;
    char err[512];
    int status = EXIT_UNREADABLE;
    if (history_read(&history, path, err, sizeof(err)))
        status = judge(&history, options);
    else
        fprintf(stderr, "buycheck: %s\n", err);
    history_free(&history);
    return status;
}

/* What can not be read is worst, then what is violated. */
static int worse(int a, int b)
{
    static const int rank[] = {0, 2, 3, 1};
    return rank[a] > rank[b] ? a : b;
}

int main(int argc, char **argv)
{
    bc_options options = {.i7_us = UNKNOWN, .final_us = 30000000};
    if (!read_options(argc, argv, &options)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    int status = 0;
    for (; optind < argc; optind++)
        status = worse(status, judge_file(argv[optind], &options));
    return status;
}
