/*
 * Tables of histories of a few lines each, and what histcheck must find in them.
 */
#ifndef TESTS_TOOLS_HISTORY_CASES_H
#define TESTS_TOOLS_HISTORY_CASES_H

#include "tests/support/fixture.h"

#include <stdio.h>
#include <string.h>

/* Times are in ms here: the zeros make them ns. */
#define MS "000000 "

/* A whole grant of `fence` to process P, op OP: asked for at A, had from B to C. */
#define GRANT(p, op, fence, a, b, c) SHARE(p, op, fence, "", a, b, c)

/* The same of a part of the lock. */
#define SHARE(p, op, fence, share, a, b, c)                                                        \
    a MS p " 1 " op " invoke L 0 0 0" share "\n" b MS p " 1 " op " ok L " fence " 1 " op           \
           "\n" c MS p " 1 " op " release-invoke L 0 0 " op "\n" c "500000 " p " 1 " op            \
           " release-ok L 0 0 " op "\n"

#define READER(p, op, fence, a, b, c)         SHARE(p, op, fence, " 1/0", a, b, c)
#define PERMITS(p, op, fence, share, a, b, c) SHARE(p, op, fence, " " share, a, b, c)

struct history_case {
    const char *name;
    const char *options[5];
    const char *lines;
    const char *found;      /* the start of a line of the answer; NULL: nothing is wrong */
    const char *parties[2]; /* stand in that line as well */
};

/* Runs histcheck; *ret_status is its exit code. The answer is freed with the process. */
static inline fx_process *hc_judge(const char *const *options, const char *const *files,
                                   int *ret_status)
{
    char program[256];
    const char *argv[64] = {fx_build_path("tests/histcheck", program, sizeof(program))};
    int argc = 1;
    for (; *options; options++)
        argv[argc++] = *options;
    for (; *files && argc < 63; files++)
        argv[argc++] = *files;
    fx_process *process = fx_spawn(argv, true);
    *ret_status = fx_process_wait(process, 20000);
    return process;
}

static inline void hc_write_file(const char *path, const char *text, size_t zeros)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    for (size_t i = 0; i < zeros; i++)
        fputc('\0', file);
    fclose(file);
}

/* The first line of the answer that begins with, or contains, `found`; copied. */
static inline bool hc_line_with(const char *answer, const char *found, char *ret, size_t len)
{
    const char *at = strstr(answer, found);
    if (!at)
        return false;
    snprintf(ret, len, "%.*s", (int)strcspn(at, "\n"), at);
    return true;
}

static inline void hc_check_case(const struct history_case *history, const char *path)
{
    int status;
    char line[512] = "";
    hc_write_file(path, history->lines, 100);
    fx_process *process = hc_judge(history->options, (const char *const[]){path, NULL}, &status);
    const char *answer = fx_process_stdout(process);
    bool found = history->found && hc_line_with(answer, history->found, line, sizeof(line));
    if (status != (history->found ? 1 : 0) || found != (history->found != NULL))
        fail_msg("%s: exit %d, '%s%s'", history->name, status, answer, fx_process_stderr(process));
    for (int i = 0; i < 2 && history->parties[i]; i++) {
        if (!strstr(line, history->parties[i]))
            fail_msg("%s: no '%s' in '%s'", history->name, history->parties[i], line);
    }
    fx_process_free(process);
}

static inline void hc_check_cases(const struct history_case *cases, size_t count)
{
    char dir[128], path[160];
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/history", dir);
    for (size_t i = 0; i < count; i++)
        hc_check_case(&cases[i], path);
    fx_dir_remove(dir);
}

#endif
