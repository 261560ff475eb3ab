/* journal.c - appends lines to a history. */
#include "tests/support/sale/journal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/fixture.h"

struct journal {
    FILE *file;
    pthread_mutex_t lock;
    _Atomic(const char *) lacks; /* NULL: nothing */
};

static int64_t us_of(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t journal_now_us(void)
{
    return us_of(CLOCK_MONOTONIC);
}

int64_t journal_wall_us(void)
{
    return us_of(CLOCK_REALTIME);
}

journal *journal_open(const char *path)
{
    FILE *file = fopen(path, "we");
    if (!file)
        fail_msg("the history can not be written to %s", path);
    setvbuf(file, NULL, _IOLBF, 0); /* so that it is there, whatever becomes of the test */
    journal *history = calloc(1, sizeof(*history));
    history->file = file;
    pthread_mutex_init(&history->lock, NULL);
    journal_write(history, "flashsale-history 2");
    return history;
}

void journal_write(journal *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&to->lock);
    vfprintf(to->file, format, args);
    fputc('\n', to->file);
    pthread_mutex_unlock(&to->lock);
    va_end(args);
}

void journal_lacks(journal *to, const char *why)
{
    atomic_store(&to->lacks, why);
}

void journal_close(journal *history)
{
    const char *lacks = atomic_load(&history->lacks);
    journal_write(history, "end truncated=%s", lacks ? lacks : "-");
    bool whole = !ferror(history->file);
    whole = fclose(history->file) == 0 && whole;
    pthread_mutex_destroy(&history->lock);
    free(history);
    if (!whole)
        fail_msg("the history could not be written");
}
