/* history.c - reads all files of a run into memory, and sorts the events by time. */
#include "tests/tools/histcheck/history.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void *hc_grown(void *array, size_t len, size_t *cap, size_t size)
{
    if (len < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 1024;
    void *ret = realloc(array, *cap * size);
    if (!ret) {
        perror("histcheck");
        exit(2);
    }
    return ret;
}

/* There are few locks: a list will do. */
static int lock_index(hc_history *history, const char *name)
{
    if (strcmp(name, "*") == 0)
        return -1;
    for (int i = 0; i < history->locks_len; i++) {
        if (strcmp(history->locks[i], name) == 0)
            return i;
    }
    size_t cap = (size_t)history->locks_cap;
    history->locks = hc_grown(history->locks, (size_t)history->locks_len, &cap, EVENT_LOCK_MAX);
    history->locks_cap = (int)cap;
    snprintf(history->locks[history->locks_len], EVENT_LOCK_MAX, "%s", name);
    return history->locks_len++;
}

static event_kind kind_of(const char *word)
{
    static const char *const names[] = EVENT_NAMES;
    int kind = 0;
    while (kind < EVENT_KINDS && strcmp(names[kind], word) != 0)
        kind++;
    return (event_kind)kind;
}

/* What may follow the nine words. */
static bool read_share(const char *text, hc_event *event)
{
    hc_share *share = &event->share;
    int end = 0;
    if (strcmp(text, "\n") == 0)
        return true;
    return event->kind == EVENT_INVOKE &&
           sscanf(text, " %9d/%9d%n", &share->takes, &share->of, &end) == 2 &&
           strcmp(text + end, "\n") == 0 && share->takes > 0 && share->of >= 0 &&
           (share->of == 0 || share->takes <= share->of);
}

/* A line is these words and nothing else; a number that does not fit is none. */
static bool read_line(hc_history *history, const char *line, hc_event *event)
{
    char kind[32], lock[EVENT_LOCK_MAX];
    int64_t depth;
    int end = 0;
    errno = 0;
    int fields = sscanf(line,
                        "%" SCNd64 " %" SCNd64 " %" SCNu64 " %" SCNu64 " %31s %127s %" SCNu64
                        " %" SCNd64 " %" SCNu64 "%n",
                        &event->ns, &event->process, &event->context, &event->op, kind, lock,
                        &event->fence, &depth, &event->hold, &end);
    if (fields != 9 || errno == ERANGE || depth < INT_MIN || depth > INT_MAX)
        return false;
    event->depth = (int)depth;
    event->kind = kind_of(kind);
    if (!read_share(line + end, event))
        return false;
    event->lock = lock_index(history, lock);
    return event->kind != EVENT_KINDS;
}

/* A last line without its end is what a killed process did not come to write: left out. The
 * file's unused rest is zeros. */
static bool whole(const char *line)
{
    size_t len = strlen(line);
    return len > 0 && line[len - 1] == '\n';
}

/* Whether a line that is not whole, from `begin` on, is the last one: not one that is too long, or
 * has lost its end, with others behind it that would go unread. */
static bool is_last(FILE *file, long begin, const char *line)
{
    int byte = 0;
    if (strlen(line) + 1 == EVENT_LINE_MAX || fseek(file, begin + (long)strlen(line), SEEK_SET))
        return false;
    while (byte == 0)
        byte = fgetc(file);
    return byte == EOF;
}

bool hc_history_read(hc_history *history, const char *path, char *err, size_t err_len)
{
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(err, err_len, "%s: %s", path, strerror(errno));
        return false;
    }
    char line[EVENT_LINE_MAX];
    bool ok = true, more = true;
    long begin = 0;
    for (long number = 1; ok && more && fgets(line, sizeof(line), file); number++) {
        hc_event event = {.file = path, .line = number};
        more = whole(line);
        ok = more ? line[0] == '#' || line[0] == '\n' || read_line(history, line, &event)
                  : is_last(file, begin, line);
        if (!ok)
            snprintf(err, err_len, "%s:%ld: not an event", path, number);
        begin += (long)strlen(line);
        if (!ok || !more || line[0] == '#' || line[0] == '\n')
            continue;
        history->events =
            hc_grown(history->events, history->events_len, &history->events_cap, sizeof(hc_event));
        history->events[history->events_len++] = event;
    }
    fclose(file);
    return ok;
}

static int by_time(const void *left, const void *right)
{
    const hc_event *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns < b->ns ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line; /* one thread's events keep their order */
}

void hc_history_sort(hc_history *history)
{
    if (history->events_len > 0)
        qsort(history->events, history->events_len, sizeof(hc_event), by_time);
}

void hc_history_free(hc_history *history)
{
    free(history->events);
    free(history->locks);
    free(history->operations);
}

bool share_reads(hc_share share)
{
    return share.takes > 0 && share.of == 0;
}

void taken_add(hc_taken *taken, hc_share share)
{
    taken->any = true;
    taken->all = taken->all || share.takes == 0;
    taken->takes += share.takes;
    if (share.of > 0 && (taken->of == 0 || share.of < taken->of))
        taken->of = share.of;
}

bool taken_fits(const hc_taken *taken, hc_share share)
{
    hc_taken both = *taken;
    if (!taken->any)
        return true;
    taken_add(&both, share);
    return !both.all && (both.of == 0 || both.takes <= both.of);
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

bool operation_certain(const hc_operation *hold, int64_t *ret_from, int64_t *ret_to)
{
    if (hold->outcome != OUTCOME_OK || hold->reentry)
        return false;
    int64_t to = hold->held_ns == NEVER ? hold->end_ns : hold->held_ns;
    if (hold->release == OUTCOME_OK && !hold->passed_on)
        to = hold->release_invoke_ns;
    to = sooner(to, hold->void_ns);
    *ret_from = hold->end_ns;
    *ret_to = to;
    return to > hold->end_ns;
}

static int by_start(const void *left, const void *right)
{
    const hc_certain *a = left, *b = right;
    if (a->hold->lock != b->hold->lock)
        return a->hold->lock < b->hold->lock ? -1 : 1;
    return a->from_ns < b->from_ns ? -1 : a->from_ns > b->from_ns;
}

hc_certain *hc_certain_holds(const hc_history *history, size_t *ret_len)
{
    hc_certain *list = NULL;
    size_t len = 0, cap = 0;
    for (size_t i = 0; i < history->operations_len; i++) {
        hc_certain certain = {.hold = &history->operations[i]};
        if (!operation_certain(certain.hold, &certain.from_ns, &certain.to_ns))
            continue;
        list = hc_grown(list, len, &cap, sizeof(*list));
        list[len++] = certain;
    }
    if (len)
        qsort(list, len, sizeof(*list), by_start);
    *ret_len = len;
    return list;
}

int64_t operation_possible_end(const hc_operation *operation, int64_t lease_ns)
{
    if (operation->outcome == OUTCOME_FAIL)
        return operation->invoke_ns;
    if (operation->outcome == OUTCOME_UNKNOWN)
        return operation->end_ns + lease_ns;
    if (operation->release == OUTCOME_OK || operation->release == OUTCOME_FAIL)
        return operation->release_end_ns;
    if (operation->release == OUTCOME_UNKNOWN)
        return operation->release_end_ns + lease_ns;
    int64_t last = sooner(operation->lost_ns, operation->gone_ns);
    return last == NEVER ? NEVER : last + lease_ns;
}
