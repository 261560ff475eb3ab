/* client_socket.c - finds sockets by their clients' addresses, and sends without waiting. */
#include "server/client_socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Descriptors are given from below, so behind so many unused ones there hardly is another: a client
 * that has gone is not looked for among all that there could be. */
#define UNUSED_MAX 1024

enum { NONE = -1, SEVERAL = -2 };

bool client_sought_init(client_sought *ret, const char *host, int port)
{
    const struct addrinfo numeric = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                     .ai_socktype = SOCK_STREAM};
    struct addrinfo *end;
    char service[16];
    snprintf(service, sizeof(service), "%d", port);
    if (getaddrinfo(host, service, &numeric, &end) != 0)
        return false;
    memcpy(&ret->peer, end->ai_addr, end->ai_addrlen);
    ret->peer_len = end->ai_addrlen;
    ret->fd = NONE;
    freeaddrinfo(end);
    return true;
}

void client_sockets_find(client_sought *sought, int count)
{
    for (int fd = 3, unused = 0; unused < UNUSED_MAX; fd++) {
        struct sockaddr_storage peer;
        socklen_t len = sizeof(peer);
        if (getpeername(fd, (struct sockaddr *)&peer, &len) != 0) {
            unused = errno == EBADF ? unused + 1 : 0;
            continue;
        }
        unused = 0;
        for (int i = 0; i < count; i++)
            if (len == sought[i].peer_len && memcmp(&peer, &sought[i].peer, len) == 0)
                sought[i].fd = sought[i].fd == NONE ? fd : SEVERAL;
    }
}

bool client_socket_look(int fd, client_look *ret)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);
    memset(&info, 0, sizeof(info));
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) != 0)
        return false;
    ret->received = info.tcpi_bytes_received;
    ret->silent_ms = info.tcpi_last_data_recv < info.tcpi_last_data_sent ? info.tcpi_last_data_recv
                                                                         : info.tcpi_last_data_sent;
    return true;
}

bool client_socket_send(int fd, const char *bytes, size_t len)
{
    ssize_t sent = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0 && (size_t)sent < len)
        shutdown(fd, SHUT_RDWR);
    return sent > 0;
}

int client_socket_take(int fd)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    close(ends[1]);
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own >= 0 && dup3(ends[0], fd, O_CLOEXEC) != fd) {
        close(own);
        own = -1;
    }
    close(ends[0]);
    return own;
}
