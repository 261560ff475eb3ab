/* client_socket.c - finding the socket by its two ends, and sending without waiting. */
#include "server/client_socket.h"

#include <errno.h>
#include <linux/tcp.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

/* Descriptors are given from below, so behind so many unused ones there hardly is another: a client
 * that has gone is not looked for among all that there could be. */
#define UNUSED_MAX 1024

void client_socket_init(client_socket *client)
{
    client->fd = client->wakeup = -1;
    client->requests = 0;
    client->searched = false;
    client->consumed = 0;
}

void client_socket_free(client_socket *client)
{
    if (client->wakeup >= 0)
        close(client->wakeup);
    client_socket_init(client);
}

void client_socket_count(client_socket *client, size_t bytes)
{
    client->requests++;
    atomic_fetch_add_explicit(&client->consumed, bytes, memory_order_relaxed);
}

/* ---- the search ------------------------------------------------------------------------------ */

bool client_end_in_link(const char *link, char *ret, size_t ret_len)
{
    static const char scheme[] = "http://";
    if (strncmp(link, scheme, strlen(scheme)) != 0)
        return false;
    const char *host = link + strlen(scheme);
    bool bracket = *host == '[';
    size_t len = strcspn(host + bracket, bracket ? "]" : ":/");
    if (len >= ret_len)
        return false;
    memcpy(ret, host + bracket, len);
    ret[len] = '\0';
    return true;
}

static int port_of(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)address)->sin_port);
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return -1;
}

static bool is_at(const struct sockaddr_storage *address, socklen_t len, const client_end *end)
{
    char host[NI_MAXHOST];
    return port_of(address) == end->port &&
           getnameinfo((const struct sockaddr *)address, len, host, sizeof(host), NULL, 0,
                       NI_NUMERICHOST) == 0 &&
           strcmp(host, end->host) == 0;
}

static bool is_between(int fd, const client_end *there, const client_end *here)
{
    struct sockaddr_storage peer = {0}, own = {0};
    socklen_t peer_len = sizeof(peer), own_len = sizeof(own);
    return getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0 &&
           is_at(&peer, peer_len, there) &&
           getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 && is_at(&own, own_len, here);
}

/* Both addresses and both ports are a connection's name, so there is no other. Three of them are
 * not: from one port a client may connect to two addresses of ours. */
static int find_socket(const client_end *there, const client_end *here)
{
    int unused = 0;
    for (int fd = 3; unused < UNUSED_MAX; fd++) {
        errno = 0;
        if (is_between(fd, there, here))
            return fd;
        unused = errno == EBADF ? unused + 1 : 0;
    }
    return -1;
}

/* ---- the search for several at once ---------------------------------------------------------- */

enum { NONE = -1, SEVERAL = -2 };

static int by_port(const void *a, const void *b)
{
    return ((const client_sought *)a)->there.port - ((const client_sought *)b)->there.port;
}

/* The first whose client has this port, or a higher one. */
static int first_at(const client_sought *sought, int count, int port)
{
    int low = 0, high = count;
    while (low < high) {
        int middle = low + (high - low) / 2;
        if (sought[middle].there.port < port)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* By three of the four: our own address is not known for each. Where that makes two of one, neither
 * is taken for the other. */
static void match(client_sought *sought, int count, int fd, const struct sockaddr_storage *peer,
                  socklen_t peer_len)
{
    struct sockaddr_storage own = {0};
    socklen_t own_len = sizeof(own);
    int port = port_of(peer);
    for (int i = first_at(sought, count, port); i < count && sought[i].there.port == port; i++)
        if (is_at(peer, peer_len, &sought[i].there) &&
            getsockname(fd, (struct sockaddr *)&own, &own_len) == 0 &&
            port_of(&own) == sought[i].port)
            sought[i].fd = sought[i].fd == NONE ? fd : SEVERAL;
}

void client_sockets_find(client_sought *sought, int count)
{
    int unused = 0;
    qsort(sought, (size_t)count, sizeof(*sought), by_port);
    for (int i = 0; i < count; i++)
        sought[i].fd = NONE;
    for (int fd = 3; unused < UNUSED_MAX; fd++) {
        struct sockaddr_storage peer = {0};
        socklen_t peer_len = sizeof(peer);
        errno = 0;
        if (getpeername(fd, (struct sockaddr *)&peer, &peer_len) == 0)
            match(sought, count, fd, &peer, peer_len);
        unused = errno == EBADF ? unused + 1 : 0;
    }
    for (int i = 0; i < count; i++)
        if (sought[i].fd == SEVERAL)
            sought[i].fd = NONE;
}

/* ---- use ------------------------------------------------------------------------------------- */

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

static bool nothing_more_has_come(const client_socket *client)
{
    client_look look;
    return client_socket_look(client->fd, &look) &&
           look.received == atomic_load_explicit(&client->consumed, memory_order_relaxed);
}

bool client_socket_sought(const client_socket *client)
{
    return client->requests > 1 && !client->searched;
}

void client_socket_find(client_socket *client, const client_end *there, const client_end *here)
{
    client->searched = true;
    client->fd = find_socket(there, here);
    if (client->fd >= 0)
        client->wakeup = eventfd(0, EFD_CLOEXEC);
}

bool client_socket_ready(const client_socket *client)
{
    return client->fd >= 0 && client->wakeup >= 0 && nothing_more_has_come(client);
}

bool client_socket_send(const client_socket *client, const char *bytes, size_t len)
{
    ssize_t sent = send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent > 0 && (size_t)sent < len)
        shutdown(client->fd, SHUT_RDWR);
    return sent > 0;
}
