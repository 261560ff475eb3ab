/*
 * fsync.c - a disk that can be slow, and whose power can fail: preloaded into redis-server.
 *
 *     FLASHSALE_DISK=/tmp/board LD_PRELOAD=build/tests/shims/fsync.so redis-server ...
 *
 * The board is a file that is mapped by this library and by the test (fsync.h): how long each sync
 * is to take, and how many were made to wait.
 *
 * When a file NAME has been synced, its length goes into NAME.synced, as text: the length that it
 * had when the sync began, for what was written meanwhile may not be on the disk. Whoever kills
 * the server and then cuts its files to these lengths has made a power loss. Only the append-only
 * files that grow are kept account of; Redis syncs the others before it gives them their names.
 *
 * Nothing reaches the real disk: nobody cuts its power, and it would make tests as slow as it is.
 */
#include "tests/tools/shims/fsync.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

static shim_disk *board;

static __attribute__((constructor)) void map_board(void)
{
    const char *path = getenv("FLASHSALE_DISK");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    board = mapped == MAP_FAILED ? NULL : mapped;
    if (fd >= 0)
        close(fd);
}

static void wait_for_disk(void)
{
    int64_t ms = board ? atomic_load(&board->delay_ms) : 0;
    if (ms <= 0)
        return;
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
    atomic_fetch_add(&board->delayed, 1);
}

static void write_length(const char *name, long long length)
{
    char path[4200], text[32];
    snprintf(path, sizeof(path), "%s" SHIM_SYNCED, name);
    int size = snprintf(text, sizeof(text), "%020lld\n", length);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || pwrite(fd, text, (size_t)size, 0) != size)
        abort(); /* the test would take what is on the disk for lost */
    close(fd);
}

static int sync_file(int fd)
{
    char link[64], name[4096];
    struct stat before;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t len = readlink(link, name, sizeof(name) - 1);
    if (len < 0 || fstat(fd, &before) != 0)
        return -1;
    name[len] = '\0';
    wait_for_disk();
    const char *end = len > (ssize_t)strlen(SHIM_GROWING) ? name + len - strlen(SHIM_GROWING) : "";
    if (strcmp(end, SHIM_GROWING) == 0)
        write_length(name, (long long)before.st_size);
    return 0;
}

EXPORTED int fsync(int fd)
{
    return sync_file(fd);
}

EXPORTED int fdatasync(int fildes)
{
    return sync_file(fildes);
}
