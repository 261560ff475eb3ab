/*
 * loadtest - see help.c for what it does, README.md for how its parts fit together.
 */
#include "loadtest/report/diff.h"
#include "loadtest/report/hgrm.h"
#include "loadtest/report/html.h"
#include "loadtest/report/json.h"
#include "loadtest/report/text.h"

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

static bool to_stdout(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static bool write_json(const char *path, const char *json)
{
    FILE *out = to_stdout(path) ? stdout : fopen(path, "w");
    if (!out)
        return false;
    bool good = fprintf(out, "%s\n", json) > 0;
    return (out == stdout ? fflush(out) : fclose(out)) == 0 && good;
}

static bool write_html(const char *path, const char *json)
{
    FILE *out = fopen(path, "w");
    if (!out)
        return false;
    bool good = report_html(out, json);
    return fclose(out) == 0 && good;
}

/* One run's distribution of all latencies; of a comparison, FILE gets the strategy's name. */
static bool write_hgrm(const char *path, const lt_comparison *comparison, const lt_row *row)
{
    char named[4096];
    snprintf(named, sizeof(named), "%s", path);
    if (comparison->row_count > 1)
        snprintf(named, sizeof(named), "%s.%s", path, row->spec.label);
    FILE *out = !row_shown(row)->all_due ? NULL : fopen(named, "w");
    if (!out)
        return false;
    bool good = report_hgrm(out, row_shown(row)->all_due);
    return fclose(out) == 0 && good;
}

static bool complain(const char *path)
{
    fprintf(stderr, "loadtest: %s could not be written\n", path);
    return false;
}

static bool write_files(const lt_comparison *comparison)
{
    const lt_options *options = comparison->options;
    bool good = true;
    cJSON *document = report_json(comparison);
    char *json = !document ? NULL : cJSON_Print(document);
    if (options->json_path && (!json || !write_json(options->json_path, json)))
        good = complain(options->json_path);
    if (options->html_path && (!json || !write_html(options->html_path, json)))
        good = complain(options->html_path);
    for (int i = 0; options->hgrm_path && i < comparison->row_count; i++) {
        if (!write_hgrm(options->hgrm_path, comparison, &comparison->rows[i]))
            good = complain(options->hgrm_path);
    }
    free(json);
    cJSON_Delete(document);
    return good;
}

static void write_text(const lt_comparison *comparison)
{
    FILE *out = to_stdout(comparison->options->json_path) ? stderr : stdout;
    if (comparison->options->command == COMMAND_RUN && comparison->row_count > 0)
        report_run(out, comparison->options, &comparison->rows[0]);
    else
        report_table(out, comparison);
    report_reference(out, comparison);
    report_closing(out, comparison);
    fflush(out);
}

static int execute(const lt_options *options)
{
    lt_comparison comparison;
    run_catch_signals();
    raise_descriptor_limit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (!comparison_execute(&comparison, options)) {
        fprintf(stderr, "loadtest: out of memory\n");
        return EXIT_INVALID;
    }
    write_text(&comparison);
    bool written = write_files(&comparison);
    lt_exit_code code = comparison_exit_code(&comparison);
    comparison_release(&comparison);
    curl_global_cleanup();
    return written || code != EXIT_SAFE ? (int)code : (int)EXIT_INVALID;
}

static int diff(const lt_options *options)
{
    char err[512];
    if (report_diff(stdout, options->diff[0], options->diff[1], err, sizeof(err)))
        return EXIT_SAFE;
    fprintf(stderr, "loadtest: %s\n", err);
    return EXIT_USAGE;
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
        return diff(&options);
    default:
        return execute(&options);
    }
}
