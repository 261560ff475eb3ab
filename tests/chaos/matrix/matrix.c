/* matrix.c - sums runs up into cells, and cells into a matrix. */
#include "tests/chaos/matrix/matrix.h"

#include <stdio.h>
#include <string.h>

const char *const figure_names[FIGURES] = {"oversold",  "lost_updates", "duplicates", "acked_lost",
                                           "unordered", "refused_sold", "unresolved", "stuck"};

static const char *const verdict_words[VERDICTS] = {"SKIPPED", "HELD", "NOT_COVERED",
                                                    "INCONCLUSIVE", "BROKEN"};

const char *verdict_word(verdict v)
{
    return verdict_words[v];
}

/* ---- runs ------------------------------------------------------------------------------------ */

static verdict read_verdict(const cJSON *run)
{
    const cJSON *word = cJSON_GetObjectItemCaseSensitive(run, "verdict");
    for (int v = 0; cJSON_IsString(word) && v < VERDICTS; v++) {
        if (strcmp(word->valuestring, verdict_words[v]) == 0)
            return (verdict)v;
    }
    return INCONCLUSIVE;
}

/* False: it is not known. */
static bool add_number(const cJSON *run, const char *name, long long *sum)
{
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(run, name);
    if (cJSON_IsNumber(number))
        *sum += (long long)number->valuedouble;
    return cJSON_IsNumber(number);
}

static const char *text_in(const cJSON *object, const char *name)
{
    const cJSON *text = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsString(text) ? text->valuestring : "";
}

static bool is_violated(const cJSON *guarantee)
{
    return strcmp(text_in(guarantee, "state"), "violated") == 0;
}

static bool has_lost_instance(const cJSON *run)
{
    const cJSON *guarantee;
    cJSON_ArrayForEach(guarantee, cJSON_GetObjectItemCaseSensitive(run, "guarantees")) {
        if (strcmp(text_in(guarantee, "name"), "alive") == 0 && is_violated(guarantee))
            return true;
    }
    return false;
}

/* The guarantees that are not kept. */
static void name_violated(const cJSON *run, char *buf, size_t len)
{
    const cJSON *guarantee;
    buf[0] = '\0';
    cJSON_ArrayForEach(guarantee, cJSON_GetObjectItemCaseSensitive(run, "guarantees")) {
        size_t used = strlen(buf);
        if (is_violated(guarantee))
            snprintf(buf + used, len - used, "%s%s", used ? " " : "", text_in(guarantee, "name"));
    }
}

void matrix_add(matrix_cell *c, const cJSON *run, uint64_t seed, int tries, const char *why)
{
    verdict v = run ? read_verdict(run) : INCONCLUSIVE;
    c->died = c->died || !run || has_lost_instance(run);
    c->runs++;
    c->tries += tries;
    add_number(run, "landed", &c->landed);
    for (int i = 0; i < FIGURES; i++) {
        if (!add_number(run, figure_names[i], &c->figures[i]))
            c->untold[i] = true;
    }
    if (c->runs > 1 && v <= c->verdict)
        return;
    c->verdict = v;
    c->seed = seed;
    snprintf(c->why, sizeof(c->why), "%s", run ? text_in(run, "why") : why);
    if (run && c->why[0] == '\0')
        snprintf(c->why, sizeof(c->why), "%s", text_in(run, "note"));
    name_violated(run, c->violated, sizeof(c->violated));
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* What is inconclusive is counted on its own, but for a control: that one has to be seen. No row
 * may die, or hang. */
static bool is_as_expected(const matrix_cell *c)
{
    if (c->died)
        return false;
    switch (plan_expects(&c->row, c->fault)) {
    case EXPECT_HELD:
        return c->verdict != BROKEN;
    case EXPECT_BROKEN:
        return c->verdict == BROKEN;
    case EXPECT_LOSS:
        return c->verdict == NOT_COVERED && c->figures[ACKED_LOST] > 0;
    default:
        return true;
    }
}

bool matrix_is_blind(int inconclusive, int ran)
{
    return inconclusive >= BLIND_AT_LEAST && 2 * inconclusive > ran;
}

/* Of the cells that ran and that are in the row, or in the column; NULL: any. */
static bool is_blind(const matrix *m, const char *of_row, const fault *f)
{
    int ran = 0, inconclusive = 0;
    for (int i = 0; i < m->len; i++) {
        const matrix_cell *c = &m->cells[i];
        if (c->verdict == SKIPPED || (f && c->fault != f) ||
            (of_row && strcmp(c->row.name, of_row) != 0))
            continue;
        ran++;
        inconclusive += c->verdict == INCONCLUSIVE;
    }
    return matrix_is_blind(inconclusive, ran);
}

const char *matrix_blind(const matrix *m, int k)
{
    for (int i = 0; faults[i]; i++) {
        if (is_blind(m, NULL, faults[i]) && k-- == 0)
            return faults[i]->name;
    }
    for (int i = 0; plan_row(i); i++) {
        const char *name = plan_row(i);
        row r;
        if (row_read(name, &r) && row_is_guarded(&r) && is_blind(m, name, NULL) && k-- == 0)
            return name;
    }
    return NULL;
}

void matrix_sum_up(matrix *m)
{
    memset(m->counts, 0, sizeof(m->counts));
    m->unexpected = 0;
    for (int i = 0; i < m->len; i++) {
        matrix_cell *c = &m->cells[i];
        c->as_expected = is_as_expected(c);
        m->counts[c->verdict]++;
        m->unexpected += !c->as_expected;
    }
}

const matrix_cell *matrix_find(const matrix *m, const char *of_row, const char *of_fault)
{
    for (int i = 0; i < m->len; i++) {
        if (strcmp(m->cells[i].row.name, of_row) == 0 &&
            strcmp(m->cells[i].fault->name, of_fault) == 0)
            return &m->cells[i];
    }
    return NULL;
}

bool matrix_has_row(const matrix *m, const char *name)
{
    for (int i = 0; i < m->len; i++) {
        if (strcmp(m->cells[i].row.name, name) == 0)
            return true;
    }
    return false;
}

bool matrix_has_fault(const matrix *m, const fault *f)
{
    for (int i = 0; i < m->len; i++) {
        if (m->cells[i].fault == f)
            return true;
    }
    return false;
}

const char *matrix_command(const matrix_cell *c)
{
    static char buf[256];
    snprintf(buf, sizeof(buf), "build/tests/matrix cell --row %s --fault %s --seed %llu",
             c->row.name, c->fault->name, (unsigned long long)c->seed);
    return buf;
}

/* The gravest figure that is not 0. */
static const char *gravest(const matrix_cell *c, char *buf, size_t len)
{
    static const char *const words[FIGURES] = {"oversold",  "lost updates",  "duplicates", "lost",
                                               "unordered", "sold, told no", "unresolved", "stuck"};
    for (int i = 0; i < FIGURES; i++) {
        if (c->figures[i] > 0) {
            snprintf(buf, len, "%lld %s", c->figures[i], words[i]);
            return buf;
        }
    }
    snprintf(buf, len, "%s", c->violated);
    return buf;
}

const char *matrix_text(const matrix_cell *c, char *buf, size_t len)
{
    char figure_text[160];
    if (!c || c->verdict == SKIPPED)
        snprintf(buf, len, "–");
    else if (c->verdict == HELD)
        snprintf(buf, len, "held");
    else if (c->verdict == INCONCLUSIVE)
        snprintf(buf, len, "?");
    else if (c->verdict == BROKEN)
        snprintf(buf, len, "%s", gravest(c, figure_text, sizeof(figure_text)));
    else if (c->untold[ACKED_LOST])
        snprintf(buf, len, "(?)");
    else
        snprintf(buf, len, "(%lld lost)", c->figures[ACKED_LOST]);
    return buf;
}
