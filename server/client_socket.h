/*
 * client_socket.h - the socket under a connection of civetweb's, which does not hand it out.
 *
 * With it a thread other than the connection's can answer the client (store/direct_answer.h).
 * civetweb goes on to own the socket: here it is polled and written to, but never read from, and
 * only while the connection's thread is in its handler, so it can be neither closed nor given to
 * another connection meanwhile.
 */
#ifndef FLASHSALE_CLIENT_SOCKET_H
#define FLASHSALE_CLIENT_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct client_socket {
    int fd;       /* -1 = not known */
    int wakeup;   /* an eventfd for the connection's thread; -1 = none */
    int requests; /* that have come */
    bool searched;
    _Atomic uint64_t consumed; /* bytes of them, heads and bodies */
} client_socket;

typedef struct client_end {
    const char *host; /* its address, in numbers */
    int port;
} client_end;

/* One of several sockets that are looked for at once. */
typedef struct client_sought {
    client_end there; /* the client's */
    int port;         /* ours */
    void *owner;      /* the caller's */
    int fd;           /* found; -1 = none, or more than one */
} client_sought;

typedef struct client_look {
    uint64_t received; /* bytes, since it was opened */
    int64_t silent_ms; /* since something came or went last */
} client_look;

/* The address in a link like "http://127.0.0.1:7000/buy". False: not in that form, or too long. */
bool client_end_in_link(const char *link, char *ret, size_t ret_len);

void client_socket_init(client_socket *client);
void client_socket_free(client_socket *client);

/* Counts a request of so many bytes, which has been read to its end. */
void client_socket_count(client_socket *client, size_t bytes);

/* Whether it is time to look for the socket, once: from a connection's second request on, for with
 * one alone the search would not pay. */
bool client_socket_sought(const client_socket *client);

/* Looks for the socket by the connection's two ends, the client's and ours. */
void client_socket_find(client_socket *client, const client_end *there, const client_end *here);

/* Looks for all of these, and puts them into another order. */
void client_sockets_find(client_sought *sought, int count);

/* What the kernel knows of a connection. False: nothing. */
bool client_socket_look(int fd, client_look *ret);

/* Whether the client can be answered from another thread: the socket is known, and nothing has come
 * behind the request that was counted last, which civetweb may hold in its buffer where no poll
 * shows it. */
bool client_socket_ready(const client_socket *client);

/* Sends all of it without waiting. False: nothing was sent. A client that has let its window fill
 * up in the middle of an answer is cut off. */
bool client_socket_send(const client_socket *client, const char *bytes, size_t len);

#endif
