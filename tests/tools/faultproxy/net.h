/*
 * net.h - addresses "unix:PATH", "unix:///PATH", "HOST:PORT", "redis://HOST:PORT".
 */
#ifndef FAULTPROXY_NET_H
#define FAULTPROXY_NET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

typedef struct net_address {
    struct sockaddr_storage addr;
    socklen_t len;
} net_address;

/* False with a sentence in err. */
bool net_parse(const char *text, net_address *ret, char *err, size_t err_len);

/* A non-blocking listening socket; -1: errno. An old socket file at the path is removed. */
int net_listen(const net_address *address);

/* A non-blocking socket, connected or about to be; -1: errno. */
int net_dial(const net_address *address);

/* A non-blocking socket of the next client; -1: there is none. */
int net_accept(int listen_fd);

/* Where the socket listens, with the port that was chosen: a URL for Redis clients. */
void net_url(int listen_fd, char *buf, size_t buf_len);

#endif
