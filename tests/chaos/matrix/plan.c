/* plan.c - the rows, and what is expected of them. */
#include "tests/chaos/matrix/plan.h"

#include <stdio.h>
#include <string.h>

#include "server/strategies/registry.h"

enum { NAME_MAX_LEN = 64 };

const char *plan_row(int i)
{
    static const struct {
        const char *options;
        bool of_all, reserve;
    } kinds[] = {{"", true, false},
                 {":durability=disk", false, false},
                 {":durability=replicated", false, false},
                 {":reserve", false, true},
                 {":reserve:durability=replicated", false, true}};
    static char name[NAME_MAX_LEN];
    for (size_t k = 0; k < COUNT(kinds); k++) {
        for (const fs_strategy *const *s = strategy_list(); *s; s++) {
            bool has = kinds[k].of_all || (kinds[k].reserve ? (*s)->reserves : (*s)->guarded);
            if (has && i-- == 0) {
                snprintf(name, sizeof(name), "%s%s", (*s)->name, kinds[k].options);
                return name;
            }
        }
    }
    return NULL;
}

/* One of each kind: no lock, a lock alone, a lock and a guarded write, the same by batches. */
static const char quick_rows[] = "none,fair,fenced,sharded";

static const struct {
    const char *row, *fault;
} selection[] = {
    {"none", "load"},
    {"setnx", "load"},
    {"fair", "stale-write"},
    {"fenced", "stale-write"},
    {"combined", "retries"},
    {"sharded", "load"},
    {"atomic", "restart-empty"},
};

/* Whether `name` is one of "a,b,c". */
static bool is_one_of(const char *name, const char *list)
{
    size_t len = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        if (strncmp(at, name, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    }
    return false;
}

/* A row with a durability is a second try, of what the same row in memory does not bear, or of
 * what goes wrong with that durability's servers. One that reserves is there for what reservations
 * may suffer from, and is to bear it. */
static bool makes_sense(const row *r, const fault *f)
{
    if (r->reserves)
        return f->reservations != RESERVED_NOT && (f->covered & r->durability) &&
               (r->durability == IN_MEMORY || !(f->covered & IN_MEMORY));
    if (f->reservations == RESERVED_ONLY)
        return false;
    return r->durability == IN_MEMORY || (f->also & r->durability) ||
           (!(f->covered & IN_MEMORY) && (f->covered & r->durability));
}

static bool is_in_size(matrix_size size, const row *r, const fault *f)
{
    if (size == MATRIX_WHOLE)
        return true;
    if (size == MATRIX_QUICK)
        return r->durability == IN_MEMORY ? is_one_of(r->name, quick_rows)
                                          : strcmp(r->strategy, "combined") == 0;
    for (size_t i = 0; i < COUNT(selection); i++) {
        if (strcmp(selection[i].row, r->name) == 0 && strcmp(selection[i].fault, f->name) == 0)
            return true;
    }
    return false;
}

bool plan_has(matrix_size size, const row *r, const fault *f, const char *rows, const char *columns)
{
    if (!makes_sense(r, f))
        return false;
    if (!rows && !columns)
        return is_in_size(size, r, f);
    return (!rows || is_one_of(r->name, rows)) && (!columns || is_one_of(f->name, columns));
}

static bool is_row(const char *name)
{
    for (int i = 0; plan_row(i); i++) {
        if (strcmp(plan_row(i), name) == 0)
            return true;
    }
    return false;
}

static bool is_column(const char *name)
{
    return fault_find(name) != NULL;
}

static bool all_are(const char *list, bool (*is)(const char *name))
{
    char name[64];
    for (const char *at = list; at; at = at[strcspn(at, ",")] ? strchr(at, ',') + 1 : NULL) {
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
        if (!is(name))
            return false;
    }
    return true;
}

bool plan_knows(const char *rows, const char *columns)
{
    return all_are(rows, is_row) && all_are(columns, is_column);
}

int plan_runs(matrix_size size, const row *r)
{
    return size == MATRIX_WHOLE && row_is_guarded(r) ? 2 : 1;
}

/* Seen failing, or the matrix has not looked. A lock alone is not enough where its lease ends
 * before the write comes; and without anything two buyers meet at once. */
static bool is_control(const fs_strategy *s, const char *column)
{
    if (s->guarded)
        return false;
    if (!s->locked)
        return strcmp(column, "load") == 0;
    return strcmp(column, "stale-write") == 0 || (!s->renews && strcmp(column, "pause") == 0);
}

expectation plan_expects(const row *r, const fault *f)
{
    const fs_strategy *s = row_strategy(r);
    if (is_control(s, f->name))
        return EXPECT_BROKEN;
    bool of_retries = strcmp(f->name, "lost-reply") == 0 || strcmp(f->name, "late-command") == 0;
    if (!s->guarded)
        return s->replayable && of_retries ? EXPECT_HELD : EXPECT_NOTHING;
    if (strcmp(f->name, "failover") == 0 && r->durability == IN_MEMORY)
        return EXPECT_LOSS;
    return EXPECT_HELD;
}
