/*
 * stub.c - starts build/tests/stubserver, runs build/loadtest against it, and reads its result
 * file.
 */
#include "tests/support/stub.h"

#include "tests/support/fixture.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTS_MAX      16
#define ARGS_MAX       96
#define CASE_WORDS_MAX 32
#define CASE_ATTEMPTS  4
#define START_MS       10000
#define DEADLINE_MS    120000

struct fx_stub {
    fx_process *process;
    int ports;
    char urls[PORTS_MAX][64];
};

/* ---- the stub -------------------------------------------------------------------------------- */

static int count_lines(const char *text)
{
    int lines = 0;
    for (; *text != '\0'; text++)
        lines += *text == '\n';
    return lines;
}

static bool all_listen(void *arg)
{
    fx_stub *stub = arg;
    return count_lines(fx_process_stdout(stub->process)) >= stub->ports;
}

static void read_urls(fx_stub *stub)
{
    const char *line = fx_process_stdout(stub->process);
    for (int i = 0; i < stub->ports; i++) {
        const char *address = strstr(line, "127.0.0.1:");
        assert_non_null(address);
        snprintf(stub->urls[i], sizeof(stub->urls[i]), "http://%.*s", (int)strcspn(address, "\n"),
                 address);
        line = strchr(address, '\n') + 1;
    }
}

fx_stub *fx_stub_start(const char *const *extra_args)
{
    char path[512];
    const char *argv[ARGS_MAX] = {fx_build_path("tests/stubserver", path, sizeof(path))};
    fx_stub *stub = calloc(1, sizeof(*stub));
    assert_non_null(stub);
    stub->ports = 1;
    for (int i = 0; extra_args != NULL && extra_args[i] != NULL; i++) {
        argv[i + 1] = extra_args[i];
        if (strcmp(extra_args[i], "--ports") == 0)
            stub->ports = (int)strtol(extra_args[i + 1], NULL, 10);
    }
    stub->process = fx_spawn(argv, true);
    if (!fx_wait_until(all_listen, stub, START_MS))
        fail_msg("stubserver did not start: %s", fx_process_stderr(stub->process));
    read_urls(stub);
    return stub;
}

void fx_stub_stop(fx_stub *stub)
{
    if (stub == NULL)
        return;
    fx_process_signal(stub->process, SIGTERM);
    fx_process_wait(stub->process, START_MS);
    fx_process_free(stub->process);
    free(stub);
}

const char *fx_stub_url(const fx_stub *stub, int n)
{
    return stub->urls[n];
}

/* ---- loadtest -------------------------------------------------------------------------------- */

fx_process *fx_load_spawn(const fx_stub *stub, const char *command, const char *const *args)
{
    char path[512];
    int count = 0;
    const char *argv[ARGS_MAX] = {fx_build_path("loadtest", path, sizeof(path))};
    argv[++count] = command;
    for (int i = 0; stub != NULL && i < stub->ports; i++) {
        argv[++count] = "--target";
        argv[++count] = stub->urls[i];
    }
    for (int i = 0; args[i] != NULL && count < ARGS_MAX - 5; i++)
        argv[++count] = args[i];
    argv[++count] = "--quiet";
    argv[++count] = "--json";
    argv[++count] = "-";
    return fx_spawn(argv, true);
}

fx_load *fx_load_finish(fx_process *process)
{
    fx_load *load = calloc(1, sizeof(*load));
    assert_non_null(load);
    load->exit_code = fx_process_wait(process, DEADLINE_MS);
    load->text = strdup(fx_process_stderr(process));
    load->json = cJSON_Parse(fx_process_stdout(process));
    load->row = cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(load->json, "runs"), 0);
    fx_process_free(process);
    return load;
}

fx_load *fx_load_run(const fx_stub *stub, const char *command, const char *const *args)
{
    return fx_load_finish(fx_load_spawn(stub, command, args));
}

fx_load *fx_load_plain(const char *const *args)
{
    char path[512];
    const char *argv[ARGS_MAX] = {fx_build_path("loadtest", path, sizeof(path))};
    for (int i = 0; args[i] != NULL && i < ARGS_MAX - 2; i++)
        argv[i + 1] = args[i];
    return fx_load_finish(fx_spawn(argv, true));
}

void fx_load_free(fx_load *load)
{
    if (load == NULL)
        return;
    cJSON_Delete(load->json);
    free(load->text);
    free(load);
}

/* ---- the result file ------------------------------------------------------------------------- */

double fx_load_number(const fx_load *load, const char *path)
{
    const cJSON *at = load->row;
    char name[64];
    while (at != NULL && *path != '\0') {
        size_t length = strcspn(path, ".");
        snprintf(name, sizeof(name), "%.*s", (int)length, path);
        at = cJSON_GetObjectItemCaseSensitive(at, name);
        path += length + (path[length] == '.');
    }
    return cJSON_IsNumber(at) ? at->valuedouble : NAN;
}

const char *fx_load_text(const fx_load *load, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(load->row, name));
    return text == NULL ? "" : text;
}

bool fx_load_invalid_because(const fx_load *load, const char *words)
{
    const cJSON *reason;
    cJSON_ArrayForEach(reason, cJSON_GetObjectItemCaseSensitive(load->row, "invalid_because")) {
        if (strstr(reason->valuestring, words) != NULL)
            return true;
    }
    return false;
}

/* No invariant may fail in a run that is called safe, whatever it stands for. */
static bool all_hold(const cJSON *row)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(row, "invariants")) {
        if (!cJSON_IsTrue(cJSON_GetObjectItem(item, "ok")))
            return false;
    }
    return true;
}

bool fx_row_is_sound(const cJSON *row)
{
    const cJSON *reason;
    cJSON_ArrayForEach(reason, cJSON_GetObjectItemCaseSensitive(row, "invalid_because")) {
        if (!strstr(reason->valuestring, "the generator"))
            return false;
    }
    const char *verdict = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, "verdict"));
    return verdict && (strcmp(verdict, "SAFE") == 0 || strcmp(verdict, "INVALID") == 0) &&
           all_hold(row);
}

int fx_load_errors(const fx_load *load, const char *phase, const char *code)
{
    const cJSON *entry;
    int count = 0;
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(load->row, "errors_by_kind")) {
        const char *at = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "phase"));
        const char *what = cJSON_GetStringValue(cJSON_GetObjectItem(entry, "code"));
        if (strcmp(at, phase) == 0 && strcmp(what, code) == 0)
            count += cJSON_GetObjectItem(entry, "count")->valueint;
    }
    return count;
}

/* ---- cases in tables ------------------------------------------------------------------------- */

/* Splits the words into argv, after those that are there. */
static void split(const char *words, char *room, size_t size, const char **argv, int count)
{
    char *rest = room, *word;
    snprintf(room, size, "%s", words == NULL ? "" : words);
    while ((word = strsep(&rest, " ")) != NULL) {
        if (*word != '\0')
            argv[count++] = word;
    }
    argv[count] = NULL;
}

static bool says(const fx_load *load, const char *words)
{
    const cJSON *item;
    if (words == NULL || fx_load_invalid_because(load, words))
        return true;
    cJSON_ArrayForEach(item, cJSON_GetObjectItem(load->row, "invariants")) {
        if (!cJSON_IsTrue(cJSON_GetObjectItem(item, "ok")) &&
            strstr(cJSON_GetStringValue(cJSON_GetObjectItem(item, "name")), words) != NULL)
            return true;
    }
    return false;
}

/* The exit code of a run, of which no break is expected, with this verdict. */
static int exit_code_of(const char *verdict)
{
    if (strcmp(verdict, "SAFE") == 0)
        return 0;
    return strcmp(verdict, "INVALID") == 0 || strcmp(verdict, "COUNTS_ONLY") == 0 ? 3 : 1;
}

/* Whether "A|B|C" has the verdict among its words. */
static bool admits(const char *verdicts, const char *verdict)
{
    size_t length = strlen(verdict);
    for (const char *word = verdicts; *word != '\0'; word += *word == '|') {
        size_t size = strcspn(word, "|");
        if (size == length && memcmp(word, verdict, size) == 0)
            return true;
        word += size;
    }
    return false;
}

static bool is_as_expected(const fx_case *of, const fx_load *load)
{
    const char *verdict = fx_load_text(load, "verdict");
    return admits(of->verdict, verdict) && load->exit_code == exit_code_of(verdict) &&
           says(load, of->words) && (load->exit_code != 0 || all_hold(load->row));
}

/* A machine that is busy with other things spoilt the run: the generator says so of itself, and
 * nothing of the stub. */
static bool is_spoilt(const fx_load *load)
{
    return fx_load_invalid_because(load, "the generator") ||
           fx_load_invalid_because(load, " requests waited for one of the ");
}

static fx_load *run_case(const fx_case *of)
{
    char stub_words[512], run_words[512];
    const char *stub_argv[CASE_WORDS_MAX],
        *run_argv[CASE_WORDS_MAX] = {"--stock", "100", "--requests", "300", "--users", "10"};
    split(of->stub, stub_words, sizeof(stub_words), stub_argv, 0);
    split(of->run, run_words, sizeof(run_words), run_argv, 6);
    fx_stub *stub = fx_stub_start(stub_argv);
    fx_load *load = fx_load_run(stub, "run", run_argv);
    fx_stub_stop(stub);
    return load;
}

/* Whether it comes to its verdict; says so when it does not. */
static bool comes_out(const fx_case *of)
{
    fx_load *load = run_case(of);
    for (int attempt = 1; attempt < CASE_ATTEMPTS && is_spoilt(load); attempt++) {
        fx_load_free(load);
        load = run_case(of);
    }
    bool good = is_as_expected(of, load) ||
                (admits(of->verdict, "SAFE") && is_spoilt(load) && fx_row_is_sound(load->row));
    if (!good)
        print_error("\"%s\" \"%s\": not %s (%s)\n%s\n", of->stub, of->run, of->verdict,
                    of->words == NULL ? "" : of->words, load->text);
    fx_load_free(load);
    return good;
}

void fx_judge_all(const fx_case *cases, size_t count)
{
    int missed = 0;
    for (size_t i = 0; i < count; i++)
        missed += !comes_out(&cases[i]);
    assert_int_equal(missed, 0);
}
