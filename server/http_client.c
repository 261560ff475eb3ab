/* http_client.c - what civetweb tells of a connection, and an answer past it. */
#include "server/http_client.h"

#include <civetweb.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/framing.h"
#include "server/response.h"

http_client *http_client_new(const struct mg_connection *conn)
{
    http_client *client = calloc(1, sizeof(*client));
    if (client) {
        client_socket_init(&client->socket);
        client->conn = conn;
        client->fd = -1;
    }
    return client;
}

void http_client_free(http_client *client)
{
    if (client)
        client_socket_free(&client->socket);
    free(client);
}

/* civetweb tells the address that the client has connected to in a link to what was asked for. (Not
 * on the stack: it would stay that deep in each of a thousand threads.) */
static void find_socket(const struct mg_connection *conn, client_socket *socket)
{
    enum { LINK_BYTES = FRAMING_HEAD_MAX + 64 };
    const struct mg_request_info *info = mg_get_request_info(conn);
    char host[64], *link = malloc(LINK_BYTES);
    bool known = link && mg_get_request_link(conn, link, LINK_BYTES) >= 0 &&
                 client_end_in_link(link, host, sizeof(host));
    free(link);
    if (!known)
        return;
    const client_end there = {info->remote_addr, info->remote_port};
    const client_end here = {host, info->server_port};
    client_socket_find(socket, &there, &here);
}

bool http_client_ends(const http_client *client, client_sought *ret)
{
    const struct mg_request_info *info = mg_get_request_info(client->conn);
    if (!info)
        return false;
    ret->there = (client_end){info->remote_addr, info->remote_port};
    ret->port = info->server_port;
    return true;
}

static bool is_ready(api_client *client)
{
    http_client *mine = (http_client *)client;
    if (client_socket_sought(&mine->socket))
        find_socket(mine->conn, &mine->socket);
    client->socket = mine->socket.fd;
    client->wakeup = mine->socket.wakeup;
    return client_socket_ready(&mine->socket);
}

/* From another thread, while the connection's is in its handler. The client may have sent its next
 * request before send() is back, so it is not said to be idle after that. */
static bool send_directly(api_client *client, const api_reply *reply)
{
    http_client *mine = (http_client *)client;
    fs_text whole;
    text_init(&whole);
    response_write(&whole, reply, false);
    http_client_set(mine, CLIENT_IS_READ);
    bool sent = !whole.failed && client_socket_send(&mine->socket, text_bytes(&whole), whole.len);
    if (!sent)
        http_client_set(mine, CLIENT_IS_SERVED);
    text_free(&whole);
    return sent;
}

/* A socket whose peer has gone. */
static int closed_socket(void)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        return -1;
    close(ends[1]);
    return ends[0];
}

int http_client_take(http_client *client)
{
    if (!client)
        return -1;
    if (client->socket.fd < 0)
        find_socket(client->conn, &client->socket);
    int fd = client->socket.fd, stand_in = fd >= 0 ? closed_socket() : -1;
    int own = stand_in >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (own >= 0 && dup3(stand_in, fd, O_CLOEXEC) != fd) {
        close(own);
        own = -1;
    }
    if (stand_in >= 0)
        close(stand_in);
    client->socket.fd = own >= 0 ? -1 : fd;
    return own;
}

api_client *http_client_count(http_client *client, size_t bytes)
{
    if (!client)
        return NULL;
    client_socket_count(&client->socket, bytes);
    client->client.ready = is_ready;
    client->client.send = send_directly;
    return &client->client;
}
