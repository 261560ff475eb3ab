/*
 * stub.h - the stub server (tests/tools/stubserver) and runs of loadtest against it.
 *
 *     fx_stub *stub = fx_stub_start((const char *[]){"--reset-every", "10", NULL});
 *     fx_load *load = fx_load_run(stub, "run", (const char *[]){"--users", "20", NULL});
 *     assert_int_equal(load->exit_code, 0);
 *     ... fx_load_number(load, "sold") ...
 *     fx_load_free(load);
 *     fx_stub_stop(stub);
 *
 * What can not be started fails the running test.
 */
#ifndef TESTS_SUPPORT_STUB_H
#define TESTS_SUPPORT_STUB_H

#include "tests/support/process.h"

#include <cjson/cJSON.h>

typedef struct fx_stub fx_stub;

/* Starts a stub; extra_args ends with NULL, or is NULL. */
fx_stub *fx_stub_start(const char *const *extra_args);
void fx_stub_stop(fx_stub *stub); /* SIGTERM, so that its log is complete. NULL is allowed */

/* The URL of its n-th port, "http://127.0.0.1:PORT". */
const char *fx_stub_url(const fx_stub *stub, int n);

typedef struct fx_load {
    int exit_code;    /* -1: it had to be killed */
    cJSON *json;      /* the result file, or NULL */
    const cJSON *row; /* its first row, or NULL (borrowed) */
    char *text;       /* what it had to say to people */
} fx_load;

/* Runs `loadtest COMMAND` against all ports of the stub, to its end. */
fx_load *fx_load_run(const fx_stub *stub, const char *command, const char *const *args);

/* Likewise, without a stub: only the arguments given. */
fx_load *fx_load_plain(const char *const *args);

/* Starts one in the background; fx_load_finish() waits for it and frees the process. */
fx_process *fx_load_spawn(const fx_stub *stub, const char *command, const char *const *args);
fx_load *fx_load_finish(fx_process *process);

void fx_load_free(fx_load *load);

/* A number of the first row; dots go into objects: "latency_ms.p99". NAN when null or absent. */
double fx_load_number(const fx_load *load, const char *path);

/* A text of the first row, "" when absent. */
const char *fx_load_text(const fx_load *load, const char *name);

/* Whether one of the reasons in "invalid_because" contains the words. */
bool fx_load_invalid_because(const fx_load *load, const char *words);

/* Whether every guarantee holds in a row. It may be INVALID for the generator alone: a machine that
 * was busy with other things. */
bool fx_row_is_sound(const cJSON *row);

/* How many errors of that phase and code "errors_by_kind" counts. */
int fx_load_errors(const fx_load *load, const char *phase, const char *code);

/* ---- cases in tables ------------------------------------------------------------------------- */

/* A stub, a run against it (of 100 units, 300 requests, 10 users, if it does not say otherwise),
 * and the verdict that it must come to. */
typedef struct fx_case {
    const char *stub;    /* its options, a space between words */
    const char *run;     /* the run's options, likewise */
    const char *verdict; /* or several that will do: "LOST|BROKEN" */
    const char *words;   /* in a reason, or in an invariant that fails; NULL: none is asked for */
} fx_case;

/* Runs them all; fails, after the last, when one came to another verdict, or exit code, or was
 * called SAFE with a failed invariant. A run that was to be SAFE, and that a busy machine spoils
 * again and again, must satisfy all invariants, and have no other reason against it. */
void fx_judge_all(const fx_case *cases, size_t count);

#endif
