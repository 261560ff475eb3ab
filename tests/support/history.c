/*
 * history.c - one line an event, into a mapped file of zeros for each thread. Nothing is flushed:
 * the pages outlive the process, so a line that was begun before SIGKILL is all that can be lost.
 */
#include "tests/support/history.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_BYTES (1024 * 1024) /* one mapping; then comes the next file */

/* One thread's place to write: a mapped file of zeros, filled from its front. */
struct window {
    char *at, *end;
    char *start;
    pid_t owner;     /* a forked child inherits it, and must not write into it */
    unsigned opened; /* the hist_open() that it belongs to */
};

static char directory[256];
static atomic_uint times_opened;
static atomic_ullong next_op = 1, next_file = 1, next_thread = 1;
static pthread_key_t window_key;
static pthread_once_t window_once = PTHREAD_ONCE_INIT;
static _Thread_local uint64_t thread_number;

static void window_end(void *arg)
{
    struct window *window = arg;
    if (window->start)
        munmap(window->start, WINDOW_BYTES);
    free(window);
}

static void make_window_key(void)
{
    pthread_key_create(&window_key, window_end);
}

int hist_open(const char *dir)
{
    pthread_once(&window_once, make_window_key);
    atomic_fetch_add(&times_opened, 1);
    if ((size_t)snprintf(directory, sizeof(directory), "%s", dir) < sizeof(directory))
        return access(dir, W_OK);
    directory[0] = '\0';
    errno = ENAMETOOLONG;
    return -1;
}

static bool window_open(struct window *window)
{
    char path[320];
    snprintf(path, sizeof(path), "%s/%d-%llu.hist", directory, (int)getpid(),
             atomic_fetch_add(&next_file, 1));
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    void *map = MAP_FAILED;
    if (ftruncate(fd, WINDOW_BYTES) == 0)
        map = mmap(NULL, WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (map == MAP_FAILED)
        return false;
    if (window->start)
        munmap(window->start, WINDOW_BYTES);
    window->start = window->at = map;
    window->end = window->start + WINDOW_BYTES;
    window->owner = getpid();
    window->opened = atomic_load(&times_opened);
    return true;
}

static struct window *window_with_room(size_t len)
{
    struct window *window = pthread_getspecific(window_key);
    if (!window) {
        window = calloc(1, sizeof(*window));
        pthread_setspecific(window_key, window);
    }
    if (!window)
        return NULL;
    bool has_room = window->owner == getpid() && window->opened == atomic_load(&times_opened) &&
                    (size_t)(window->end - window->at) >= len;
    return has_room || window_open(window) ? window : NULL;
}

static uint64_t this_thread(void)
{
    if (!thread_number)
        thread_number = atomic_fetch_add(&next_thread, 1);
    return thread_number;
}

void hist_write(const hist_event *event)
{
    static const char *const names[] = EVENT_NAMES;
    char line[EVENT_LINE_MAX], share[32] = "";
    if (!directory[0])
        return;
    if (event->kind == EVENT_INVOKE && event->takes > 0)
        snprintf(share, sizeof(share), " %d/%d", event->takes, event->of);
    int len = snprintf(
        line, sizeof(line),
        "%" PRId64 " %" PRId64 " %" PRIu64 " %" PRIu64 " %s %s %" PRIu64 " %d %" PRIu64 "%s\n",
        event->ns ? event->ns : hist_now_ns(), event->process ? event->process : (int64_t)getpid(),
        event->context ? event->context : this_thread(), event->op, names[event->kind],
        event->lock ? event->lock : "*", event->fence, event->depth, event->hold, share);
    struct window *window = window_with_room((size_t)len);
    if (!window || (size_t)len >= sizeof(line)) {
        fprintf(stderr, "history: an event could not be written: %s\n", strerror(errno));
        abort(); /* a history with a hole would accuse the innocent */
    }
    memcpy(window->at, line, (size_t)len);
    window->at += len;
}

uint64_t hist_op(void)
{
    return atomic_fetch_add(&next_op, 1);
}

int64_t hist_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}
