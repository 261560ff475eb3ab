/*
 * loadtest - puts buyers on a flash sale and says whether the service kept its word. Here: what is
 * run, what is written where, and the exit code. README.md says how the parts fit together.
 */
#include "loadtest/cli/options.h"
#include "loadtest/report/report.h"
#include "loadtest/run/run.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Every user is a descriptor, or two. */
static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- the files ------------------------------------------------------------------------------- */

static bool to_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

/* Closes what was written, or could not be; complains when something failed. */
static bool finish(FILE *out, bool good, const char *path)
{
    if (out)
        good = (out == stdout ? fflush(out) : fclose(out)) == 0 && good;
    if (!good)
        fprintf(stderr, "loadtest: %s could not be written\n", path);
    return good;
}

/* One run's distribution of all latencies; of a comparison, FILE gets the strategy's name. */
static bool write_hgrm(const char *path, const lt_comparison *comparison, const lt_row *row)
{
    char named[4096];
    snprintf(named, sizeof(named), "%s", path);
    if (comparison->row_count > 1)
        snprintf(named, sizeof(named), "%s.%s", path, row->spec->label);
    FILE *out = !row_shown(row)->all_due ? NULL : fopen(named, "w");
    return finish(out, out && report_hgrm(out, row_shown(row)->all_due), path);
}

static bool write_files(const lt_options *options, const lt_comparison *comparison)
{
    bool good = true;
    cJSON *document = report_json(comparison);
    char *json = !document ? NULL : cJSON_Print(document);
    if (options->json_path) {
        FILE *out = to_stdout(options->json_path) ? stdout : fopen(options->json_path, "w");
        good = finish(out, out && json && fprintf(out, "%s\n", json) > 0, options->json_path);
    }
    if (options->html_path) {
        FILE *out = fopen(options->html_path, "w");
        good = finish(out, out && json && report_html(out, json), options->html_path) && good;
    }
    for (int i = 0; options->hgrm_path && i < comparison->row_count; i++)
        good = write_hgrm(options->hgrm_path, comparison, &comparison->rows[i]) && good;
    free(json);
    cJSON_Delete(document);
    return good;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void write_text(const lt_options *options, const lt_comparison *comparison)
{
    FILE *out = to_stdout(options->json_path) ? stderr : stdout;
    if (options->command == COMMAND_RUN && comparison->row_count > 0)
        report_text(out, comparison->plan, &comparison->rows[0]);
    else
        report_table(out, comparison);
    report_closing(out, comparison);
    const char *files[] = {options->json_path, options->html_path, options->hgrm_path,
                           options->log_path};
    const char *lead = "\nwritten: ";
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (!files[i] || to_stdout(files[i]))
            continue;
        fprintf(out, "%s%s", lead, files[i]);
        lead = "  ";
    }
    fputc('\n', out);
    fflush(out);
}

/* The file for --log, with its heading; NULL without one. */
static FILE *open_log(const char *path)
{
    FILE *log = !path ? NULL : fopen(path, "w");
    if (log)
        fputs("request,user,target,due_ns,sent_ns,done_ns,ending,outcome\n", log);
    else if (path)
        fprintf(stderr, "loadtest: %s can not be written\n", path);
    return log;
}

static int execute(const lt_options *options)
{
    lt_comparison comparison = {.plan = &options->plan,
                                .thresholds = options->thresholds,
                                .threshold_count = options->threshold_count};
    if (!comparison_init(&comparison)) {
        fprintf(stderr, "loadtest: out of memory\n");
        return EXIT_INVALID;
    }
    raise_descriptor_limit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    FILE *log = open_log(options->log_path);
    run_all(&comparison, options->quiet, log);
    if (log)
        fclose(log);
    write_text(options, &comparison);
    bool written = write_files(options, &comparison);
    lt_exit_code code = comparison_exit_code(&comparison);
    comparison_release(&comparison);
    curl_global_cleanup();
    return written || code != EXIT_SAFE ? (int)code : (int)EXIT_INVALID;
}

int main(int argc, char **argv)
{
    lt_options options;
    char err[512] = "";
    if (!options_parse(argc, argv, &options, err, sizeof(err))) {
        fprintf(stderr, "loadtest: %s\n", err);
        return EXIT_USAGE;
    }
    switch (options.command) {
    case COMMAND_HELP:
        fputs(help_text, stdout);
        return EXIT_SAFE;
    case COMMAND_VERSION:
        puts("loadtest " FLASHSALE_VERSION);
        return EXIT_SAFE;
    case COMMAND_DIFF:
        if (report_diff(stdout, options.diff[0], options.diff[1], err, sizeof(err)))
            return EXIT_SAFE;
        fprintf(stderr, "loadtest: %s\n", err);
        return EXIT_USAGE;
    default:
        return execute(&options);
    }
}
