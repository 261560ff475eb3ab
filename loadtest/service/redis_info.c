#include "loadtest/service/redis_info.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define REPLY_MAX 32768
#define LIMIT_S   2 /* for connecting, sending, receiving */

static int open_socket(int family, const struct sockaddr *address, socklen_t length)
{
    struct timeval limit = {.tv_sec = LIMIT_S};
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, address, length) == 0)
        return fd;
    close(fd);
    return -1;
}

static int connect_unix(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof(address.sun_path)) {
        errno = ENAMETOOLONG;
        return -1;
    }
    memcpy(address.sun_path, path, strlen(path) + 1);
    return open_socket(AF_UNIX, (const struct sockaddr *)&address, sizeof(address));
}

static int connect_tcp(const char *host_port)
{
    char host[256];
    const char *colon = strrchr(host_port, ':');
    if (!colon || (size_t)(colon - host_port) >= sizeof(host)) {
        errno = EINVAL;
        return -1;
    }
    snprintf(host, sizeof(host), "%.*s", (int)(colon - host_port), host_port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    if (getaddrinfo(host, colon + 1, &hints, &list) != 0) {
        errno = EHOSTUNREACH;
        return -1;
    }
    int fd = -1;
    for (struct addrinfo *at = list; at && fd < 0; at = at->ai_next)
        fd = open_socket(at->ai_family, at->ai_addr, at->ai_addrlen);
    freeaddrinfo(list);
    return fd;
}

/* Sends INFO stats and reads until the wanted line is there, whole. */
static bool ask(int fd, int64_t *ret_commands)
{
    static const char question[] = "*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n";
    static const char name[] = "total_commands_processed:";
    char reply[REPLY_MAX];
    size_t length = 0;
    if (send(fd, question, sizeof(question) - 1, MSG_NOSIGNAL) != sizeof(question) - 1)
        return false;
    while (length < sizeof(reply) - 1) {
        ssize_t got = recv(fd, reply + length, sizeof(reply) - 1 - length, 0);
        if (got <= 0)
            return false;
        length += (size_t)got;
        reply[length] = '\0';
        char *line = strstr(reply, name);
        if (line && strchr(line, '\n')) {
            *ret_commands = strtoll(line + sizeof(name) - 1, NULL, 10);
            return true;
        }
    }
    return false;
}

bool redis_info_commands(const char *address, int64_t *ret_commands, char *err, size_t err_len)
{
    static const char unix_prefix[] = "unix://";
    bool is_unix = strncmp(address, unix_prefix, sizeof(unix_prefix) - 1) == 0;
    int fd = is_unix ? connect_unix(address + sizeof(unix_prefix) - 1) : connect_tcp(address);
    if (fd < 0) {
        snprintf(err, err_len, "%s: %s", address, strerror(errno));
        return false;
    }
    bool good = ask(fd, ret_commands);
    close(fd);
    if (!good)
        snprintf(err, err_len, "%s: no usable answer to INFO", address);
    return good;
}
