/*
 * client_socket.h - the socket of a civetweb connection. civetweb owns it and has no function that
 * returns it. This file never reads from it, and uses it only while civetweb can not close it.
 */
#ifndef FLASHSALE_CLIENT_SOCKET_H
#define FLASHSALE_CLIENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* A socket to find by its client's address. */
typedef struct client_sought {
    struct sockaddr_storage peer;
    socklen_t peer_len;
    int fd;      /* < 0: not found, or ambiguous */
    void *owner; /* the caller's */
} client_sought;

/* `host` is the client's numeric address. False: it is not one. */
bool client_sought_init(client_sought *ret, const char *host, int port);

/* Searches the descriptors of this process for all of them. If a client has connected from one port
 * to two of our addresses, neither socket is returned. */
void client_sockets_find(client_sought *sought, int count);

typedef struct client_look {
    uint64_t received; /* bytes since it was opened */
    int64_t silent_ms; /* since bytes last came or went */
} client_look;

/* What the kernel knows of a connection. False: unknown. */
bool client_socket_look(int fd, client_look *ret);

/* Sends all bytes without waiting. False: nothing was sent. A client whose window fills up in the
 * middle of an answer is disconnected. */
bool client_socket_send(int fd, const char *bytes, size_t len);

/* Takes the socket away from civetweb, and gives it one whose peer has closed, so civetweb ends the
 * connection. Returns the caller's descriptor, or -1 if nothing has changed. */
int client_socket_take(int fd);

#endif
