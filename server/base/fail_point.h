/*
 * fail_point.h - named points at which a test can stop this process. For tests only.
 *
 * They exist only in builds with FAIL_POINTS=1. The environment variable FLASHSALE_FAIL_DIR names a
 * directory. If the file "in-section" exists there, a thread that reaches FAIL_POINT("in-section")
 * removes it, so only one thread stops; creates "in-section.reached"; and continues when the test
 * has created "in-section.go".
 */
#ifndef FLASHSALE_FAIL_POINT_H
#define FLASHSALE_FAIL_POINT_H

#ifdef FAIL_POINTS

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline void fail_point(const char *name)
{
    const char *dir = getenv("FLASHSALE_FAIL_DIR");
    char armed[512], path[528];
    if (!dir)
        return;
    snprintf(armed, sizeof(armed), "%s/%s", dir, name);
    if (unlink(armed) != 0)
        return;
    snprintf(path, sizeof(path), "%s.reached", armed);
    close(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    snprintf(path, sizeof(path), "%s.go", armed);
    while (access(path, F_OK) != 0)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

#define FAIL_POINT(name) fail_point(name)
#else
#define FAIL_POINT(name) ((void)0)
#endif

#endif
