/* network.c - by unshare(2). */
#include "tests/chaos/faults/network.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    close(fd);
    return written;
}

/* Who is not allowed to make a network may be in a user namespace of their own. */
static bool become_root_inside(void)
{
    char uids[64], gids[64];
    snprintf(uids, sizeof(uids), "0 %u 1", (unsigned)geteuid());
    snprintf(gids, sizeof(gids), "0 %u 1", (unsigned)getegid());
    return unshare(CLONE_NEWUSER) == 0 && write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/uid_map", uids) && write_file("/proc/self/gid_map", gids);
}

static bool leave_network(void)
{
    struct ifreq lo = {.ifr_name = "lo", .ifr_flags = IFF_UP};
    if (unshare(CLONE_NEWNET) != 0)
        return false;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool up = fd >= 0 && ioctl(fd, SIOCSIFFLAGS, &lo) == 0;
    close(fd);
    return up;
}

bool network_leave(void)
{
    return leave_network() || (become_root_inside() && leave_network());
}
