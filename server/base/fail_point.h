/*
 * fail_point.h - named points at which a test can stop this process. For tests only.
 *
 * Compiled in with FAIL_POINTS=1, otherwise nothing. With the environment variable
 * FLASHSALE_FAIL_DIR naming a directory: a thread that reaches FAIL_POINT("in-section") while the
 * file "in-section" exists there takes that file away, so that only one thread stops, makes
 * "in-section.reached", and goes on once the test has made "in-section.go".
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
