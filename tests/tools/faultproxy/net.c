/* net.c - reading addresses, and non-blocking sockets that listen or connect. */
#include "tests/tools/faultproxy/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 511

static const char *without(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);
    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static bool parse_unix(const char *path, net_address *ret, char *err, size_t err_len)
{
    struct sockaddr_un *un = (struct sockaddr_un *)&ret->addr;
    un->sun_family = AF_UNIX;
    int len = snprintf(un->sun_path, sizeof(un->sun_path), "%s", path);
    ret->len = sizeof(*un);
    if (len > 0 && (size_t)len < sizeof(un->sun_path))
        return true;
    snprintf(err, err_len, "a socket's path has 1 to %zu bytes", sizeof(un->sun_path) - 1);
    return false;
}

bool net_parse(const char *text, net_address *ret, char *err, size_t err_len)
{
    memset(ret, 0, sizeof(*ret));
    const char *path = without(text, "unix://");
    if (!path)
        path = without(text, "unix:");
    if (path)
        return parse_unix(path, ret, err, err_len);
    const char *rest = without(text, "redis://");
    char host[256];
    snprintf(host, sizeof(host), "%s", rest ? rest : text);
    char *port = strrchr(host, ':');
    if (port)
        *port++ = '\0';
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found = NULL;
    if (!port || getaddrinfo(host, port, &hints, &found) != 0) {
        snprintf(err, err_len, "'%s' is neither unix:PATH nor HOST:PORT", text);
        return false;
    }
    memcpy(&ret->addr, found->ai_addr, found->ai_addrlen);
    ret->len = found->ai_addrlen;
    freeaddrinfo(found);
    return true;
}

static int new_socket(const net_address *address)
{
    int fd = socket(address->addr.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int one = 1;
    if (fd >= 0 && address->addr.ss_family == AF_INET)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

int net_listen(const net_address *address)
{
    int fd = new_socket(address);
    if (fd < 0)
        return -1;
    int one = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (address->addr.ss_family == AF_UNIX)
        unlink(((const struct sockaddr_un *)&address->addr)->sun_path);
    if (bind(fd, (const struct sockaddr *)&address->addr, address->len) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int net_dial(const net_address *address)
{
    int fd = new_socket(address);
    if (fd < 0)
        return -1;
    if (connect(fd, (const struct sockaddr *)&address->addr, address->len) != 0 &&
        errno != EINPROGRESS) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

int net_accept(int listen_fd)
{
    int fd = accept4(listen_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    int one = 1;
    if (fd >= 0) /* fails on a Unix socket, which needs it not */
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    return fd;
}

void net_url(int listen_fd, char *buf, size_t buf_len)
{
    struct sockaddr_storage addr = {0};
    socklen_t len = sizeof(addr);
    getsockname(listen_fd, (struct sockaddr *)&addr, &len);
    if (addr.ss_family == AF_UNIX) {
        snprintf(buf, buf_len, "unix://%s", ((struct sockaddr_un *)&addr)->sun_path);
        return;
    }
    const struct sockaddr_in *in = (struct sockaddr_in *)&addr;
    char host[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &in->sin_addr, host, sizeof(host));
    snprintf(buf, buf_len, "redis://%s:%d", host, ntohs(in->sin_port));
}
