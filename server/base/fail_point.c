/* fail_point.c - waiting at a named point until the test says go. */
#include "server/base/fail_point.h"

#ifdef FAIL_POINTS

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

void fail_point(const char *name)
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

#else

typedef int fail_points_are_compiled_out;

#endif
