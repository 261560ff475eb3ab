/* journal.c - appends lines to the cell's history. */
#include "tests/chaos/journal.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "tests/support/fixture.h"

static FILE *file;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

int64_t journal_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void journal_open(const char *path)
{
    file = fopen(path, "we");
    if (file == NULL)
        fail_msg("the history can not be written to %s", path);
    journal("flashsale-history 1");
}

void journal(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    pthread_mutex_lock(&lock);
    vfprintf(file, format, args);
    fputc('\n', file);
    pthread_mutex_unlock(&lock);
    va_end(args);
}

void journal_close(void)
{
    journal("end");
    bool whole = !ferror(file);
    if (fclose(file) != 0 || !whole)
        fail_msg("the history could not be written");
    file = NULL;
}
