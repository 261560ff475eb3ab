/*
 * client_socket.h - the socket under a connection of civetweb's, which does not hand it out and
 * owns it. It is never read from here, and only used while civetweb can not close it.
 */
#ifndef FLASHSALE_CLIENT_SOCKET_H
#define FLASHSALE_CLIENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket that is looked for by its client's end. */
typedef struct client_sought {
    struct sockaddr_storage peer;
    socklen_t peer_len;
    int fd;      /* < 0: not found, or not it alone */
    void *owner; /* the caller's */
} client_sought;

/* `host` is the client's address in numbers. False: it is not one. */
bool client_sought_init(client_sought *ret, const char *host, int port);

/* Looks for all of them among the descriptors of this process. Where a client has connected to two
 * addresses of ours from one port, neither socket is taken. */
void client_sockets_find(client_sought *sought, int count);

typedef struct client_look {
    uint64_t received; /* bytes, since it was opened */
    int64_t silent_ms; /* since something came or went last */
} client_look;

/* What the kernel knows of a connection. False: nothing. */
bool client_socket_look(int fd, client_look *ret);

/* Sends all of it without waiting. False: nothing was sent. A client that has let its window fill
 * up in the middle of an answer is cut off. */
bool client_socket_send(int fd, const char *bytes, size_t len);

/* Takes the socket away from civetweb, which goes on with one that is closed by its peer: so the
 * connection ends there. The caller's descriptor of it, or -1 and all is as before. */
int client_socket_take(int fd);

#endif
