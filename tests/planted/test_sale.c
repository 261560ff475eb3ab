/*
 * test_sale.c - thirteen defects that services which sell are known for, planted into a copy of
 * ours, one at a time (sale/NAME.patch says what each is). Each must be caught by a cell of the
 * evidence matrix, or by a test, that the service itself withstands: what finds nothing wrong with
 * a broken sale proves nothing about a sound one. (Defects of the lock: tests/lock/test_planted.c.)
 *
 * The trials of all of them run first, several at a time, for most of them wait:
 *
 *     build the copies, and try the service as it is;   then try the copies
 *
 * The group's cases, one a defect, tell what came of it. A defect shows when buyers meet at the
 * wrong time, and a busy machine may keep a fault from landing, so a trial that says neither way is
 * repeated; a sound service that is found broken is not.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum { TRIES = 3, AT_ONCE = 3, TRIAL_MS = 120000, PATH = 512 };

typedef struct defect {
    const char *name;           /* of the patch */
    const char *row, *fault;    /* the cell ... */
    const char *invariant;      /* ... and what it must find violated; */
    const char *program, *test; /* or the test program and its case ... */
    const char *says;           /* ... which must fail with these words, and not just fail */
} defect;

static const defect defects[] = {
    {.name = "no-request-id", .row = "combined", .fault = "retries", .invariant = "I3"},
    {.name = "no-not-after",
     .program = "server/selling/test_not_after",
     .test = "what_comes_too_late_writes_nothing",
     .says = "orders written too late"},
    {.name = "acknowledge-before-wait",
     .program = "server/store/test_replicas",
     .test = "one_of_two_is_not_enough_while_both_are_online",
     .says = "expected 504, got 201"},
    {.name = "validation-after-the-write", .row = "atomic", .fault = "load", .invariant = "I5"},
    {.name = "connection-reused-after-timeout",
     .program = "server/store/test_late_replies",
     .test = "a_late_reply_is_nobodys",
     .says = "of bob: 200"},
    {.name = "stop-without-drain",
     .program = "server/test_main",
     .test = "what_is_in_flight_ends_before_the_exit",
     .says = "buyers were left without their orders"},
    {.name = "everysec-sold-as-disk",
     .program = "server/sale/test_keeper",
     .test = "disk_is_kept_or_not_sold_from",
     .says = "expected 409, got 201"},
    {.name = "answers-before-the-reply",
     .program = "server/test_buy",
     .test = "a_quantity_is_sold_whole_or_not_at_all",
     .says = "expected 409, got 201"},
    {.name = "no-damaged-check",
     .program = "server/test_lost_keys",
     .test = "nothing_is_sold_from_what_is_left",
     .says = "expected 503, got 201"},
    {.name = "sweepers-clock",
     .program = "server/test_reservation_troubles",
     .test = "the_clock_of_an_instance_ends_nothing",
     .says = "expected 9 remaining, 1 reserved"},
    {.name = "return-without-a-guard",
     .program = "server/test_reservation_troubles",
     .test = "what_is_over_returns_once",
     .says = "expected 5 remaining, 5 reserved"},
    {.name = "confirm-without-the-time",
     .program = "server/test_reservations",
     .test = "what_is_over_returns_though_nobody_buys",
     .says = "expected 409, got 200"},
    {.name = "retry-at-the-next-segment", .row = "sharded", .fault = "retries", .invariant = "I3"},
};
enum { DEFECTS = COUNT(defects) };

static int planted, caught;

/* ---- trials ---------------------------------------------------------------------------------- */

typedef enum verdict { NEITHER, SOUND, BROKEN } verdict; /* building: SOUND = it could be built */
typedef enum purpose { BUILD, TRY_SOUND, TRY_PLANTED } purpose;

typedef struct trial {
    const defect *defect;
    purpose why;
    char dir[PATH]; /* of its own; the copy's */
    int tries;
    fx_process *process; /* NULL: it does not run now */
    bool over;
    verdict verdict;
    char words[2048]; /* what it said at last */
} trial;

static trial builds[DEFECTS], sounds[DEFECTS], tries[DEFECTS];

static void start_build(trial *t)
{
    char patch[PATH];
    snprintf(patch, sizeof(patch), "tests/planted/sale/%s.patch", t->defect->name);
    t->process =
        fx_spawn(FX_ARGS("tests/planted/build.sh", patch, t->dir, "failpoints/flashsale"), true);
}

/* The cell or the test, with the copy's instances when they are `planted`. */
static void start_try(trial *t)
{
    const defect *d = t->defect;
    char instances[PATH * 2] = "FLASHSALE_PROGRAM=", test[128], program[PATH], path[PATH], seed[16];
    fx_build_path("failpoints/flashsale", path, sizeof(path));
    if (t->why == TRY_PLANTED)
        snprintf(instances, sizeof(instances), "FLASHSALE_PROGRAM=%s/%s", builds[d - defects].dir,
                 path);
    snprintf(test, sizeof(test), "FX_CASE=%s", d->program ? d->test : "");
    snprintf(path, sizeof(path), "tests/%s", d->program ? d->program : "matrix");
    snprintf(seed, sizeof(seed), "%d", t->tries);
    fx_build_path(path, program, sizeof(program));
    if (d->program)
        t->process = fx_spawn(FX_ARGS("env", instances, test, program), true);
    else
        t->process = fx_spawn(FX_ARGS("env", instances, program, "cell", "--row", d->row, "--fault",
                                      d->fault, "--seed", seed, "--out", t->dir),
                              true);
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Whether the test's output has a line of that mark for the case. */
static bool has_line(const trial *t, const char *mark)
{
    char line[160];
    snprintf(line, sizeof(line), "[%s] %s\n", mark, t->defect->test);
    return strstr(fx_process_stdout(t->process), line) ||
           strstr(fx_process_stderr(t->process), line);
}

static verdict judge_test(const trial *t, int code)
{
    if (code == 0 && has_line(t, "       OK "))
        return SOUND;
    bool says = strstr(fx_process_stdout(t->process), t->defect->says) ||
                strstr(fx_process_stderr(t->process), t->defect->says);
    if (code <= 0 || !has_line(t, "  FAILED  "))
        return NEITHER;
    return says || t->why == TRY_SOUND ? BROKEN : NEITHER;
}

static bool is_violated(const cJSON *cell, const char *wanted)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, cJSON_GetObjectItemCaseSensitive(cell, "guarantees")) {
        if (strcmp(fx_json_text(one, "id"), wanted) == 0 &&
            strcmp(fx_json_text(one, "state"), "violated") == 0)
            return true;
    }
    return false;
}

/* The cell's JSON ends its output. */
static verdict judge_cell(const trial *t)
{
    const char *text = fx_process_stdout(t->process), *at = strstr(text, "\n{");
    cJSON *cell = cJSON_Parse(at ? at + 1 : text);
    const char *said = cell ? fx_json_text(cell, "verdict") : "";
    verdict v = NEITHER;
    if (strcmp(said, "HELD") == 0)
        v = SOUND;
    else if (strcmp(said, "BROKEN") == 0 &&
             (t->why == TRY_SOUND || is_violated(cell, t->defect->invariant)))
        v = BROKEN;
    cJSON_Delete(cell);
    return v;
}

static void judge(trial *t, int code)
{
    if (t->why == BUILD)
        t->verdict = code == 0 ? SOUND : BROKEN;
    else
        t->verdict = t->defect->program ? judge_test(t, code) : judge_cell(t);
    const char *out = fx_process_stdout(t->process), *err = fx_process_stderr(t->process);
    size_t len = strlen(out), most = sizeof(t->words) / 2;
    snprintf(t->words, sizeof(t->words), "%s\n%.*s", out + (len > most ? len - most : 0),
             (int)most - 64, err);
}

/* ---- several at a time ----------------------------------------------------------------------- */

/* What it is tried for: a copy is to be found broken, all else sound. */
static bool is_settled(const trial *t)
{
    if (t->why == TRY_PLANTED)
        return t->verdict == BROKEN;
    return t->verdict == SOUND || t->verdict == BROKEN;
}

static void begin(trial *t)
{
    t->tries++;
    if (t->why == BUILD)
        start_build(t);
    else
        start_try(t);
}

/* Ended by itself, or given up: then it says neither way. */
static void end(trial *t)
{
    judge(t, fx_process_wait(t->process, 0));
    fx_process_free(t->process);
    t->process = NULL;
    t->over = is_settled(t) || t->tries == TRIES;
}

typedef struct queue {
    trial *trials[2 * DEFECTS];
    int count;
} queue;

static bool one_has_ended(void *arg)
{
    queue *q = arg;
    for (int i = 0; i < q->count; i++) {
        if (q->trials[i]->process && fx_process_wait(q->trials[i]->process, 0) >= 0)
            return true;
    }
    return false;
}

/* None of those that run has ended for so long. */
static void give_up(queue *q)
{
    for (int i = 0; i < q->count; i++) {
        trial *t = q->trials[i];
        if (!t->process)
            continue;
        print_message("%s: given up\n", t->defect->name);
        end(t);
    }
}

/* Runs all of them to their ends. */
static void run(queue *q)
{
    for (bool more = true; more;) {
        int running = 0;
        for (int i = 0; i < q->count; i++) {
            trial *t = q->trials[i];
            if (t->process && fx_process_wait(t->process, 0) >= 0)
                end(t);
            running += t->process != NULL;
        }
        more = running > 0;
        for (int i = 0; i < q->count && running < AT_ONCE; i++) {
            if (q->trials[i]->process || q->trials[i]->over)
                continue;
            begin(q->trials[i]);
            running++;
            more = true;
        }
        if (more && !fx_wait_until(one_has_ended, q, TRIAL_MS))
            give_up(q);
    }
}

static void add(queue *q, trial *t, const defect *d, purpose why)
{
    *t = (trial){.defect = d, .why = why};
    fx_dir_make(t->dir, sizeof(t->dir));
    q->trials[q->count++] = t;
}

static int run_trials(void **state)
{
    queue first = {.count = 0}, then = {.count = 0};
    (void)state;
    for (int i = 0; i < DEFECTS; i++) {
        add(&first, &sounds[i], &defects[i], TRY_SOUND);
        add(&first, &builds[i], &defects[i], BUILD);
    }
    run(&first);
    for (int i = 0; i < DEFECTS; i++) {
        if (sounds[i].verdict == SOUND && builds[i].verdict == SOUND)
            add(&then, &tries[i], &defects[i], TRY_PLANTED);
    }
    run(&then);
    return 0;
}

static int clean_up(void **state)
{
    (void)state;
    for (int i = 0; i < DEFECTS; i++) {
        trial *all[] = {&builds[i], &sounds[i], &tries[i]};
        for (int k = 0; k < 3; k++) {
            fx_process_free(all[k]->process);
            if (all[k]->dir[0] != '\0')
                fx_dir_remove(all[k]->dir);
        }
    }
    return 0;
}

/* ---- what came of it ------------------------------------------------------------------------- */

static void is_caught(void **state)
{
    const defect *d = *state;
    const trial *sound = &sounds[d - defects], *build = &builds[d - defects];
    const trial *try = &tries[d - defects];
    if (sound->verdict != SOUND)
        fail_msg("without a defect: %s", sound->words);
    if (build->verdict != SOUND)
        fail_msg("could not be planted: %s", build->words);
    planted++;
    if (try->verdict != BROKEN)
        fail_msg("not caught in %d tries: %s", try->tries, try->words);
    caught++;
    print_message("%s: caught by %s %s, try %d\n", d->name, d->program ? d->program : d->row,
                  d->program ? d->test : d->fault, try->tries);
}

int main(void)
{
    struct CMUnitTest tests[DEFECTS];
    setenv("FX_REDIS", "single", 1); /* each trial has the servers that it needs */
    for (int i = 0; i < DEFECTS; i++)
        tests[i] = (struct CMUnitTest){.name = defects[i].name,
                                       .test_func = is_caught,
                                       .initial_state = (void *)(uintptr_t)&defects[i]};
    int failed = cmocka_run_group_tests_name("planted", tests, run_trials, clean_up);
    print_message("planted %d, caught %d\n", planted, caught);
    return failed;
}
