/*
 * fuzz_history.c - histcheck's reader: what it takes for events is written once more as the same
 * events, and what it leaves out is only the torn line behind which nothing comes. A reader that
 * skipped what it can not read would call a broken history sound.
 */
#include "tests/fuzz/fuzz.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tools/histcheck/history.h"

/* A file in memory with these bytes; its descriptor, and its path. */
static int make_file(const void *bytes, size_t len, char *path, size_t path_len)
{
    int fd = memfd_create("history", MFD_CLOEXEC);
    if (fd < 0 || write(fd, bytes, len) != (ssize_t)len) {
        perror("fuzz");
        exit(2);
    }
    snprintf(path, path_len, "/proc/self/fd/%d", fd);
    return fd;
}

static bool read_bytes(hc_history *ret, const void *bytes, size_t len)
{
    char path[64], err[256] = "";
    int fd = make_file(bytes, len, path, sizeof(path));
    bool good = hc_history_read(ret, path, err, sizeof(err));
    FUZZ_HOLDS(good == (err[0] == '\0'), "what can not be read has a sentence, and only that");
    for (size_t i = 0; i < ret->events_len; i++)
        ret->events[i].file = "";
    close(fd);
    return good;
}

/* ---- writing once more ----------------------------------------------------------------------- */

static void write_again(const hc_history *history, FILE *out)
{
    static const char *const kinds[] = EVENT_NAMES;
    for (size_t i = 0; i < history->events_len; i++) {
        const hc_event *event = &history->events[i];
        fprintf(out,
                "%" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s %s %" PRIu64 " %d %" PRIu64,
                event->ns, event->process, event->context, event->op, kinds[event->kind],
                event->lock < 0 ? "*" : history->locks[event->lock], event->fence, event->depth,
                event->hold);
        if (event->share.takes > 0)
            fprintf(out, " %d/%d", event->share.takes, event->share.of);
        fputc('\n', out);
    }
}

static bool same(const hc_event *a, const hc_event *b)
{
    return a->ns == b->ns && a->process == b->process && a->context == b->context &&
           a->op == b->op && a->kind == b->kind && a->lock == b->lock && a->fence == b->fence &&
           a->depth == b->depth && a->hold == b->hold && a->share.takes == b->share.takes &&
           a->share.of == b->share.of;
}

static void hold_again(const hc_history *history)
{
    hc_history again = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return;
    write_again(history, out);
    fclose(out);
    FUZZ_HOLDS(read_bytes(&again, text, len), "a history is read once more");
    FUZZ_HOLDS(again.events_len == history->events_len, "with as many events");
    for (size_t i = 0; i < again.events_len; i++)
        FUZZ_HOLDS(same(&again.events[i], &history->events[i]), "each the same");
    hc_history_free(&again);
    free(text);
}

/* ---- what was left out ----------------------------------------------------------------------- */

/* Lines that are no comment and not empty, up to the zeros behind the last one. */
static size_t count_lines(const char *bytes, size_t len)
{
    size_t lines = 0;
    const char *at = bytes, *end = bytes + len, *next;
    for (; at < end && (next = memchr(at, '\n', (size_t)(end - at))); at = next + 1)
        lines += *at != '#' && *at != '\n';
    return lines;
}

static void hold_order(hc_history *history)
{
    hc_history_sort(history);
    for (size_t i = 1; i < history->events_len; i++)
        FUZZ_HOLDS(history->events[i - 1].ns <= history->events[i].ns, "sorted by time");
}

void fuzz_history(const uint8_t *data, size_t len)
{
    hc_history history = {0};
    if (read_bytes(&history, data, len)) {
        FUZZ_HOLDS(history.events_len == count_lines((const char *)data, len),
                   "every line is an event, a comment or unreadable");
        hold_again(&history);
        hold_order(&history);
    }
    hc_history_free(&history);
}
