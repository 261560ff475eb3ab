/* raw.c - plain sockets with a deadline. */
#include "tests/support/raw.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "tests/support/patience.h"

/* room: bytes for what is not read, 0 = as the kernel likes */
static int connect_with(int port, const char *from, int room)
{
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in own = {.sin_family = AF_INET};
    inet_pton(AF_INET, from ? from : "127.0.0.1", &own.sin_addr);

    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    if (room > 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &room, sizeof(room));
    if (bind(fd, (struct sockaddr *)&own, sizeof(own)) != 0 ||
        connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int fx_raw_connect(int port, const char *from)
{
    return connect_with(port, from, 0);
}

int fx_raw_connect_small(int port, const char *from)
{
    return connect_with(port, from, 4096);
}

bool fx_raw_send(int fd, const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t sent = send(fd, bytes, len, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        bytes += sent;
        len -= (size_t)sent;
    }
    return true;
}

static int ms_until(const struct timespec *end)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    long left = (end->tv_sec - now.tv_sec) * 1000 + (end->tv_nsec - now.tv_nsec) / 1000000;
    return left > 0 ? (int)left : 0;
}

size_t fx_raw_read(int fd, char *buf, size_t len, int deadline_ms, bool *closed)
{
    struct timespec end;
    deadline_ms = fx_patient_ms(deadline_ms);
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += deadline_ms / 1000;
    end.tv_nsec += deadline_ms % 1000 * 1000000L;

    size_t have = 0;
    bool ended = false;
    while (!ended && have + 1 < len) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (poll(&ready, 1, ms_until(&end)) <= 0)
            break;
        ssize_t got = recv(fd, buf + have, len - have - 1, 0);
        ended = got <= 0;
        have += ended ? 0 : (size_t)got;
    }
    buf[have] = '\0';
    if (closed)
        *closed = ended;
    return have;
}
