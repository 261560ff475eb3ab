/*
 * loadtest - puts buyers on a flash sale and says whether the service kept its promises. This file
 * decides what is run, what is written where, and the exit code. README.md says how the parts fit
 * together.
 */
#include "loadtest/base/plain.h"
#include "loadtest/cli/options.h"
#include "loadtest/cli/verify.h"
#include "loadtest/report/bench_file.h"
#include "loadtest/report/report.h"
#include "loadtest/run/run.h"

#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Every user needs a descriptor or two. */
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

/* Whether FILE can be written; asked before the run is made for it. Changes nothing. */
static bool can_write(const char *option, const char *path)
{
    struct stat is;
    bool exists = stat(path, &is) == 0, good;
    if (exists && !S_ISREG(is.st_mode) && !S_ISDIR(is.st_mode)) {
        good = access(path, W_OK) == 0; /* opening and closing a pipe would end its reader */
    } else {
        int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
        good = fd >= 0;
        if (good)
            close(fd);
        if (good && !exists)
            unlink(path);
    }
    if (!good)
        plain_complain("%s %s: %s", option, path, strerror(errno));
    return good;
}

static bool can_write_all(const lt_options *options)
{
    const char *const files[][2] = {
        {"--json", to_stdout(options->json_path) ? NULL : options->json_path},
        {"--html", options->html_path},
        {"--hgrm", options->hgrm_path},
        {"--log", options->log_path},
        {"--history", options->history_path},
    };
    bool good = true;
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        good = (!files[i][1] || can_write(files[i][0], files[i][1])) && good;
    return good;
}

/* Closes a file, or notes that it could not be opened; complains when something failed,
 * otherwise says on `say` what was written. */
static bool finish(FILE *say, FILE *out, bool good, const char *path)
{
    if (out)
        good = (out == stdout ? fflush(out) : fclose(out)) == 0 && good;
    if (!good)
        plain_complain("%s could not be written", path);
    else if (out != stdout)
        fprintf(say, "written: %s\n", path);
    return good;
}

/* Writes one run's distribution of all latencies; in a comparison the strategy's name is added
 * to FILE. */
static bool write_hgrm(FILE *say, const char *path, const lt_comparison *comparison,
                       const lt_row *row)
{
    char named[4096];
    snprintf(named, sizeof(named), "%s", path);
    if (comparison->row_count > 1)
        snprintf(named, sizeof(named), "%s.%s", path, row->spec->label);
    FILE *out = !row_shown(row)->all_due ? NULL : fopen(named, "w");
    return finish(say, out, out && report_hgrm(out, row_shown(row)->all_due), named);
}

/* Writes the files, and closes the log, which was written during the runs. */
static bool write_files(FILE *say, const lt_options *options, const lt_comparison *comparison,
                        const cJSON *document, FILE *log)
{
    bool good = true;
    char *json = !document ? NULL : cJSON_Print(document);
    if (options->json_path) {
        FILE *out = to_stdout(options->json_path) ? stdout : fopen(options->json_path, "w");
        good = finish(say, out, out && json && fprintf(out, "%s\n", json) > 0, options->json_path);
    }
    if (options->html_path) {
        FILE *out = fopen(options->html_path, "w");
        good = finish(say, out, out && json && report_html(out, json), options->html_path) && good;
    }
    for (int i = 0; options->hgrm_path && i < comparison->row_count; i++)
        good = write_hgrm(say, options->hgrm_path, comparison, &comparison->rows[i]) && good;
    if (options->log_path)
        good = finish(say, log, log && !ferror(log), options->log_path) && good;
    free(json);
    return good;
}

/* ---- the commands ---------------------------------------------------------------------------- */

static void write_text(FILE *out, const lt_options *options, const cJSON *document)
{
    const cJSON *runs = cJSON_GetObjectItemCaseSensitive(document, "runs");
    if (options->details)
        report_details(out, document);
    if (options->command == COMMAND_RUN && cJSON_GetArraySize(runs) > 0)
        report_text(out, document);
    else
        report_table(out, document);
    fflush(out);
}

/* The file for --log, with its heading; NULL without one. */
static FILE *open_log(const char *path)
{
    FILE *log = !path ? NULL : fopen(path, "w");
    if (log)
        fputs("request,user,target,due_ns,sent_ns,done_ns,ending,outcome\n", log);
    return log;
}

static int execute(const lt_options *options)
{
    lt_comparison comparison = {.plan = &options->plan,
                                .thresholds = options->thresholds,
                                .threshold_count = options->threshold_count,
                                .history = options->history_path};
    if (!comparison_init(&comparison)) {
        plain_complain("out of memory");
        return EXIT_INVALID;
    }
    raise_descriptor_limit();
    curl_global_init(CURL_GLOBAL_DEFAULT);
    FILE *say = to_stdout(options->json_path) ? stderr : stdout;
    FILE *log = open_log(options->log_path);
    run_all(&comparison, options->quiet, log);
    cJSON *document = report_json(&comparison);
    bool written = write_files(say, options, &comparison, document, log);
    plain_json(document);
    write_text(say, options, document);
    cJSON_Delete(document);
    lt_exit_code code = comparison_exit_code(&comparison);
    comparison_release(&comparison);
    curl_global_cleanup();
    return written || code != EXIT_SAFE ? (int)code : (int)EXIT_INVALID;
}

static bool is_same_file(const char *a, const char *b)
{
    struct stat is_a, is_b;
    return stat(a, &is_a) == 0 && stat(b, &is_b) == 0 && is_a.st_dev == is_b.st_dev &&
           is_a.st_ino == is_b.st_ino;
}

static int diff(const lt_options *options)
{
    char err[512] = "";
    lt_exit_code code = report_diff(stdout, options->diff, options->thresholds,
                                    options->threshold_count, err, sizeof(err));
    if (code == EXIT_USAGE)
        plain_complain("%s", err);
    return (int)code;
}

/* Makes the page of a bench file; the file is read before anything is written. */
static int chart(const lt_options *options)
{
    char err[512] = "";
    cJSON *bench = bench_file_read(options->chart_path, err, sizeof(err));
    if (bench && is_same_file(options->chart_path, options->html_path))
        snprintf(err, sizeof(err), "--html %s would write over the bench file", options->html_path);
    if (err[0] != '\0')
        plain_complain("%s", err);
    bool good = err[0] == '\0' && can_write_all(options);
    char *json = !good ? NULL : cJSON_Print(bench);
    FILE *out = !good ? NULL : fopen(options->html_path, "w");
    bool written =
        good && finish(stdout, out, out && json && report_chart(out, json), options->html_path);
    free(json);
    cJSON_Delete(bench);
    return written ? EXIT_SAFE : good ? EXIT_INVALID : EXIT_USAGE;
}

int main(int argc, char **argv)
{
    lt_options options;
    char err[512] = "";
    if (argc > 1 && strcmp(argv[1], "verify") == 0)
        return verify_files(argc - 1, argv + 1);
    if (!options_parse(argc, argv, &options, err, sizeof(err))) {
        plain_complain("%s", err);
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
    case COMMAND_CHART:
        return chart(&options);
    default:
        return can_write_all(&options) ? execute(&options) : (int)EXIT_USAGE;
    }
}
