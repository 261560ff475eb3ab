/*
 * run.c - the runs of all cells in one list; as many at a time as there are jobs; a run that said
 * nothing for certain is made again, a few times, with the same seed.
 *
 * What cells leave when they are killed is in one directory, which goes at the end; also at the end
 * that a signal makes. Their processes end with them, and they with us.
 */
#include "tests/chaos/matrix/run.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/chaos/matrix/matrix.h"
#include "tests/support/patience.h"
#include "tests/support/sale/journal.h"

enum {
    JOBS_MAX = 32,
    JOBS_EACH = 5, /* for each processor */
    TRIES = 3,
    RUN_MS = 180000, /* then it hangs, on an idle machine */
    REMOVED_MS = 5000,
    INCONCLUSIVE_SHARE = 10 /* at most one cell in so many */
};

typedef struct job {
    fx_process *process; /* NULL: idle */
    matrix_cell *cell;
    uint64_t seed;
    int tries;
    int64_t from_us;
    char result[512];
} job;

typedef struct runner {
    const matrix_options *options;
    matrix m;
    int runs;        /* of all cells */
    int next, ended; /* of them */
    job jobs[JOBS_MAX];
    int jobs_len;
    char program[512];
} runner;

/* ---- the cells ------------------------------------------------------------------------------- */

static void plan(runner *r)
{
    const matrix_options *o = r->options;
    for (int f = 0; faults[f]; f++) {
        for (int i = 0; plan_row(i); i++) {
            matrix_cell planned = {.fault = faults[f]};
            if (!row_read(plan_row(i), &planned.row) ||
                !plan_has(o->size, &planned.row, planned.fault, o->rows, o->faults))
                continue;
            r->m.cells = realloc(r->m.cells, (size_t)(r->m.len + 1) * sizeof(planned));
            if (!r->m.cells)
                abort();
            r->m.cells[r->m.len++] = planned;
        }
    }
}

/* ---- one run --------------------------------------------------------------------------------- */

static void launch(runner *r, job *j)
{
    char seed[24];
    snprintf(seed, sizeof(seed), "%llu", (unsigned long long)j->seed);
    snprintf(j->result, sizeof(j->result), "%s/cells/%s.%s.%s.json", r->options->out,
             j->cell->row.name, j->cell->fault->name, seed);
    unlink(j->result);
    char cells[480];
    snprintf(cells, sizeof(cells), "%s/cells", r->options->out);
    const char *const argv[] = {r->program, "cell",
                                "--row",    j->cell->row.name,
                                "--fault",  j->cell->fault->name,
                                "--seed",   seed,
                                "--out",    cells,
                                NULL};
    j->from_us = journal_now_us();
    j->tries++;
    j->process = fx_spawn(argv, false);
}

static int runs_of(const runner *r, const matrix_cell *c)
{
    return r->options->runs > 0 ? r->options->runs : plan_runs(r->options->size, &c->row);
}

/* The place in the list of the run that comes next. The list goes by columns, and some compute all
 * the time, others mostly wait: by great steps through it, they come side by side. */
static int next_place(runner *r)
{
    int step = r->runs % 617 != 0 ? 617 : 619; /* primes: each place is met once */
    return (int)((long long)r->next++ * step % r->runs);
}

static void begin(runner *r, job *j)
{
    int number = next_place(r);
    matrix_cell *c = r->m.cells;
    for (; number >= runs_of(r, c); c++)
        number -= runs_of(r, c);
    *j = (job){.cell = c, .seed = r->options->seed + (uint64_t)number};
    launch(r, j);
}

static cJSON *read_result(const char *path)
{
    char text[65536];
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(text, 1, sizeof(text) - 1, file) : 0;
    text[len] = '\0';
    if (file)
        fclose(file);
    return cJSON_Parse(text);
}

/* The line of its output that says what went wrong; "" = nothing did. */
static void find_words(const job *j, bool hangs, const cJSON *result, char *buf, size_t len)
{
    static const char *const marks[] = {"ERROR: ", "--- "}; /* of cmocka, by its version */
    const char *text = fx_process_stderr(j->process), *at = NULL;
    if (hangs) {
        snprintf(buf, len, "hung: it did not end in %lld s",
                 (long long)(journal_now_us() - j->from_us) / 1000000);
        return;
    }
    for (int i = 0; !at && i < 2; i++) {
        at = strstr(text, marks[i]);
        at = at ? at + strlen(marks[i]) : NULL;
    }
    at = at ? at : text[0] == '[' ? "" : text;
    size_t used = 0;
    if (!result)
        used = (size_t)snprintf(buf, len, "died: exit code %d: ", fx_process_wait(j->process, 0));
    snprintf(buf + used, len - used, "%.*s", (int)strcspn(at, "\n"), at);
}

static void tell(const runner *r, const job *j, const matrix_cell *c, const cJSON *result,
                 const char *words)
{
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(result, "verdict");
    printf("%4d/%-4d %-32s %-18s %-12s %s", r->ended, r->runs, c->row.name, c->fault->name,
           cJSON_IsString(said) ? said->valuestring : "INCONCLUSIVE", words);
    if (j->tries > 1)
        printf("%sat try %d", words[0] ? "; " : "", j->tries);
    putchar('\n');
    fflush(stdout);
}

static bool is_inconclusive(const cJSON *result)
{
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(result, "verdict");
    return !cJSON_IsString(said) || strcmp(said->valuestring, "INCONCLUSIVE") == 0;
}

static const char *reason_in(const cJSON *result)
{
    const cJSON *why = cJSON_GetObjectItemCaseSensitive(result, "why");
    return cJSON_IsString(why) ? why->valuestring : "";
}

/* Takes up what has ended: true when the job is idle again. */
static bool collect(runner *r, job *j)
{
    bool runs = fx_process_wait(j->process, 0) < 0;
    bool hangs = runs && journal_now_us() - j->from_us > fx_patient_ms(RUN_MS) * INT64_C(1000);
    if (runs && !hangs)
        return false;
    char words[256];
    cJSON *result = hangs ? NULL : read_result(j->result);
    find_words(j, hangs, result, words, sizeof(words));
    fx_process_free(j->process);
    j->process = NULL;
    j->cell->seconds += (double)(journal_now_us() - j->from_us) / 1e6;
    if (is_inconclusive(result) && j->tries < TRIES) {
        printf("     again %-32s %-18s %s %s\n", j->cell->row.name, j->cell->fault->name,
               reason_in(result), words);
        cJSON_Delete(result);
        launch(r, j);
        return false;
    }
    r->ended++;
    matrix_add(j->cell, result, j->seed, j->tries, words);
    tell(r, j, j->cell, result, is_inconclusive(result) ? words : "");
    cJSON_Delete(result);
    return true;
}

static volatile sig_atomic_t stopped_by; /* a signal; 0: none */

static void stop(int signo)
{
    stopped_by = signo;
}

/* False: told to stop before all had run. */
static bool run_all(runner *r)
{
    while (r->ended < r->runs && !stopped_by) {
        for (int i = 0; i < r->jobs_len; i++) {
            job *j = &r->jobs[i];
            if (j->process && !collect(r, j))
                continue;
            if (!j->process && r->next < r->runs)
                begin(r, j);
        }
        fx_let_pass(10);
    }
    for (int i = 0; i < r->jobs_len; i++)
        fx_process_free(r->jobs[i].process);
    return r->ended == r->runs;
}

/* Servers whose cell was killed may still be ending. */
static bool is_removed(void *path)
{
    fx_dir_remove(path);
    return access(path, F_OK) != 0;
}

/* Where cells make their directories, and what sees to its end. */
static void prepare(char *dir, size_t len)
{
    struct sigaction action = {.sa_handler = stop};
    int signals[] = {SIGINT, SIGTERM, SIGHUP};
    for (int i = 0; i < 3; i++)
        sigaction(signals[i], &action, NULL);
    fx_dir_make(dir, len);
    setenv("TMPDIR", dir, 1);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool write_report(const runner *r, const char *name, bool (*report)(const matrix *, FILE *))
{
    char path[512];
    snprintf(path, sizeof(path), "%s/%s", r->options->out, name);
    FILE *file = fopen(path, "we");
    bool written = file && report(&r->m, file);
    if (file && fclose(file) != 0)
        written = false;
    if (!written)
        fprintf(stderr, "matrix: %s could not be written\n", path);
    return written;
}

/* Tries behind the first, which had been inconclusive. */
static int count_repetitions(const matrix *m)
{
    int count = 0;
    for (int i = 0; i < m->len; i++)
        count += m->cells[i].tries - m->cells[i].runs;
    return count;
}

/* Names what is blind; whether something is. */
static bool tell_blind(const matrix *m)
{
    const char *name;
    for (int k = 0; (name = matrix_blind(m, k)); k++)
        printf("INCONCLUSIVE: more than half of the cells of %s\n", name);
    return matrix_blind(m, 0) != NULL;
}

static int sum_up(runner *r)
{
    const matrix *m = &r->m;
    bool few = m->counts[INCONCLUSIVE] * INCONCLUSIVE_SHARE <= m->len - m->counts[SKIPPED];
    bool written = write_report(r, "matrix.json", matrix_json) &&
                   write_report(r, "matrix.md", matrix_markdown) &&
                   write_report(r, "matrix.html", matrix_html);
    for (int i = 0; i < m->len; i++) {
        if (!m->cells[i].as_expected)
            printf("NOT AS EXPECTED: %s under %s: %s %s %s\n  %s\n", m->cells[i].row.name,
                   m->cells[i].fault->name, verdict_word(m->cells[i].verdict), m->cells[i].violated,
                   m->cells[i].why, matrix_command(&m->cells[i]));
    }
    bool blind = tell_blind(m);
    printf("%d cells, seed %llu: %d held, %d broken, %d not covered, %d inconclusive, %d skipped; "
           "%.0f s\n%d runs were made again\n%d not as expected\nReport: %s/matrix.html\n",
           m->len, (unsigned long long)m->seed, m->counts[HELD], m->counts[BROKEN],
           m->counts[NOT_COVERED], m->counts[INCONCLUSIVE], m->counts[SKIPPED], m->seconds,
           count_repetitions(m), m->unexpected, r->options->out);
    bool shown = m->counts[SKIPPED] < m->len;
    return written && few && !blind && shown && m->unexpected == 0 && m->planted == m->caught ? 0
                                                                                              : 1;
}

int matrix_run(const matrix_options *options)
{
    static runner r;
    char cells[512], dir[256];
    int64_t from_us = journal_now_us();
    r.options = options;
    r.m.seed = options->seed;
    r.m.planted = options->planted;
    r.m.caught = options->caught;
    r.jobs_len = options->jobs > 0 ? options->jobs : JOBS_EACH * (int)sysconf(_SC_NPROCESSORS_ONLN);
    r.jobs_len = r.jobs_len < JOBS_MAX ? r.jobs_len : JOBS_MAX;
    fx_build_path("tests/matrix", r.program, sizeof(r.program));
    snprintf(cells, sizeof(cells), "%s/cells", options->out);
    mkdir(options->out, 0777);
    if (mkdir(cells, 0777) != 0 && access(cells, W_OK) != 0) {
        fprintf(stderr, "matrix: %s can not be written to\n", cells);
        return 1;
    }
    plan(&r);
    if (r.m.len == 0) {
        fprintf(stderr, "matrix: these rows have no cell under these faults\n");
        return 1;
    }
    for (int i = 0; i < r.m.len; i++)
        r.runs += runs_of(&r, &r.m.cells[i]);
    printf("seed %llu, %d cells, %d runs, %d at a time\n", (unsigned long long)options->seed,
           r.m.len, r.runs, r.jobs_len);
    prepare(dir, sizeof(dir));
    bool whole = run_all(&r);
    fx_wait_until(is_removed, dir, REMOVED_MS);
    if (!whole)
        return 128 + stopped_by;
    matrix_sum_up(&r.m);
    r.m.seconds = (double)(journal_now_us() - from_us) / 1e6;
    return sum_up(&r);
}
