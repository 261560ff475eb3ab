/* fixture_dir.c - fresh directories, all removed at exit, and ports of 127.0.0.1 that are free. */
#include <arpa/inet.h>
#include <errno.h>
#include <ftw.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/support/fixture.h"

/* Below 32768, where Linux's ip_local_port_range starts, and clear of well-known services. */
enum { PORT_FIRST = 20000, PORT_COUNT = 12000, PORT_TRIES = 200 };

static bool port_is_free(int port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool is_free = fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0;
    if (fd >= 0)
        close(fd);
    return is_free;
}

int fx_free_port(void)
{
    /* Random, so that test programs running at the same time rarely try the same ones. */
    for (int i = 0; i < PORT_TRIES; i++) {
        unsigned dice = 0;
        if (getrandom(&dice, sizeof(dice), 0) != sizeof(dice))
            break;
        int port = PORT_FIRST + (int)(dice % PORT_COUNT);
        if (port_is_free(port))
            return port;
    }
    fail_msg("no free port on 127.0.0.1");
    return -1;
}

static int remove_entry(const char *path, const struct stat *info, int type, struct FTW *where)
{
    (void)info, (void)type, (void)where;
    return remove(path);
}

void fx_dir_remove(const char *dir)
{
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static struct made {
    struct made *next;
    char path[];
} * made;
static pid_t owner; /* of those: a forked child that exits leaves them alone */

static void remove_all(void)
{
    for (; made && owner == getpid(); made = made->next)
        fx_dir_remove(made->path);
}

static void remember(const char *dir)
{
    if (owner != getpid()) {
        owner = getpid();
        made = NULL;
        atexit(remove_all);
    }
    struct made *dir_made = malloc(sizeof(*dir_made) + strlen(dir) + 1);
    assert_non_null(dir_made);
    memcpy(dir_made->path, dir, strlen(dir) + 1);
    dir_made->next = made;
    made = dir_made;
}

void fx_dir_make(char *buf, size_t len)
{
    const char *tmp = getenv("TMPDIR");
    int need = snprintf(buf, len, "%s/flashsale.XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (need >= (int)len)
        fail_msg("fx_dir_make: %d bytes are needed, not %zu", need + 1, len);
    if (mkdtemp(buf) == NULL)
        fail_msg("mkdtemp %s: %s", buf, strerror(errno));
    remember(buf);
}
