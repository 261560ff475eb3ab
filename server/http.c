/*
 * http.c - civetweb; but for this file only http_client.c knows it.
 *
 * Why one write a response: headers and body in two writes meet Nagle's algorithm and the other
 * side's delayed ACK, and each response takes 40 ms. Why so many threads: civetweb gives every
 * keep-alive connection a thread of its own until it ends; see connections.h for those beyond.
 */
#include "server/http.h"

#include <civetweb.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/connections.h"
#include "server/framing.h"
#include "server/http_client.h"
#include "server/response.h"
#include "server/streams.h"

#define HEAD_DEADLINE_MS "5000" /* civetweb's; its waits within a body are as long */
#define BODY_DEADLINE_MS 5000
#define BODY_MAX         4096
#define PATH_BYTES       256 /* no route is as long */

/* Threads beyond --threads, for newcomers: they are served when others are closed for them, or told
 * at once that as many requests as --threads are being answered. */
#define RESERVE 16

struct fs_http {
    fs_api *api;
    struct mg_context *context;
    streams *streams;
    char address[128];
    connections *connections;
};

/* ---- what comes in --------------------------------------------------------------------------- */

static http_framing read_framing(const struct mg_request_info *info, size_t *head_bytes)
{
    http_header headers[MG_MAX_HEADERS];
    int count = info->num_headers;
    for (int i = 0; i < count; i++)
        headers[i] = (http_header){info->http_headers[i].name, info->http_headers[i].value};
    http_framing framing = framing_read(headers, count, info->http_version);
    const char *last = info->query_string ? info->query_string : info->request_uri;
    const http_head head = {
        .method = info->request_method,
        .target = info->request_uri,
        .target_end = last + strlen(last),
        .version = info->http_version,
        .headers = headers,
        .count = count,
    };
    const char *hidden = framing_find_hidden(&head);
    if (hidden)
        framing.fault = hidden;
    else
        *head_bytes = framing_head_bytes(&head);
    return framing;
}

/* The decoded path, as it came: civetweb's own makes "/buy" of "//buy" and "/x/../buy", which
 * nothing in front of us would take for it. False: there is nothing at such a path anyway. */
static bool read_path(const struct mg_request_info *info, char ret[PATH_BYTES])
{
    const char *path = info->local_uri_raw;
    return text_percent_decode(path, strlen(path), false, ret, PATH_BYTES);
}

/* A client that waits for this word sends its body then. */
static void ask_for_body(struct mg_connection *conn, const http_framing *framing)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    if (framing->expect && framing->length > 0)
        mg_write(conn, go_on, sizeof(go_on) - 1);
}

/* Reads the body, at most BODY_MAX bytes and by a deadline. Returns its length, or -1 and the
 * refusal in the reply. */
static int read_body(struct mg_connection *conn, const http_framing *framing, dlock_time received,
                     char *body, api_reply *reply)
{
    int len = 0;
    dlock_time deadline = {received.us + BODY_DEADLINE_MS * 1000};
    if (framing->length > BODY_MAX) {
        problem(reply, 413, "body_too_long", "a body may have 4096 bytes");
        return -1;
    }
    ask_for_body(conn, framing);
    /* Byte by byte, because mg_read() waits for all that it was asked for, with a limit for each
     * wait only: somebody who sends a byte a second would keep this thread for an hour. */
    while (len < framing->length) {
        if (mg_read(conn, body + len, 1) != 1)
            break;
        len++;
        if (dlock_passed(deadline)) {
            problem(reply, 408, "body_too_slow", "the body did not come in time");
            return -1;
        }
    }
    if (len == framing->length)
        return len;
    if (http_client_is_leaving(mg_get_user_connection_data(conn)))
        problem(reply, 408, "body_too_slow", "the body did not come, and others need the thread");
    else
        problem(reply, 408, "body_too_short", "the body ended before its length");
    return -1;
}

/* ---- what goes out --------------------------------------------------------------------------- */

/* False: not all of it was sent. */
static bool send_reply(struct mg_connection *conn, const api_reply *reply, bool head_only)
{
    fs_text whole;
    text_init(&whole);
    response_write(&whole, reply, head_only);
    bool sent = !whole.failed && mg_write(conn, text_bytes(&whole), whole.len) == (int)whole.len;
    if (reply->close || !sent) /* half an answer would take the next one for its other half */
        mg_disable_connection_keep_alive(conn);
    text_free(&whole);
    return sent;
}

/* The client of a stream that has begun is told the rest without this thread. Where that can not be
 * the stream ends here, and the client comes again. */
static void go_on_streaming(fs_http *http, struct mg_connection *conn, const char *item)
{
    http_client *client = mg_get_user_connection_data(conn);
    if (client)
        connections_remove(http->connections, client);
    int fd = http_client_take(client);
    if (fd >= 0 && !streams_add(http->streams, fd, item))
        close(fd);
}

/* ---- one request ----------------------------------------------------------------------------- */

static void refuse(fs_api *api, api_reply *reply, int status, const char *code, const char *detail)
{
    problem(reply, status, code, detail);
    reply->close = true; /* where this request ends is anybody's guess */
    metrics_count_response(api->metrics, status);
}

/* Refuses what can not be served for its form, or for lack of room. */
static bool refused(fs_http *http, const struct mg_request_info *info, const http_framing *framing,
                    api_reply *reply)
{
    if (info->num_headers >= MG_MAX_HEADERS)
        refuse(http->api, reply, 431, "too_many_headers", "a request may have 63 headers");
    else if (framing->fault)
        refuse(http->api, reply, 400, "bad_framing", framing->fault);
    else if (framing->chunked) /* civetweb has no deadline for the lines between the chunks */
        refuse(http->api, reply, 411, "length_required", "a body needs a Content-Length");
    else if (framing->expect && strcasecmp(framing->expect, "100-continue") != 0)
        refuse(http->api, reply, 417, "expectation_failed", "only 100-continue may be expected");
    else if (!connections_have_room(http->connections))
        refuse(http->api, reply, 503, "too_many_connections", "this instance has no thread free");
    else
        return false;
    return true;
}

/* Of a request that civetweb has not read as far as its method, nobody knows. */
static bool is_head(const struct mg_request_info *info)
{
    return info && info->request_method && strcmp(info->request_method, "HEAD") == 0;
}

/* civetweb shows a request first when its head is whole: that is when its time begins. */
static int serve(struct mg_connection *conn)
{
    dlock_time received = dlock_now();
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    const struct mg_request_info *info = mg_get_request_info(conn);
    size_t head_bytes = 0;
    http_framing framing = read_framing(info, &head_bytes);
    char body[BODY_MAX + 1], path[PATH_BYTES];
    api_reply reply;
    reply_init(&reply);
    http_client *client = mg_get_user_connection_data(conn);
    bool head_only = is_head(info);
    bool served = false;
    int body_len = 0;

    bool last =
        framing.close || connections_crowded(http->connections) || http_client_is_leaving(client);
    if (refused(http, info, &framing, &reply)) {
        served = false;
    } else if ((body_len = read_body(conn, &framing, received, body, &reply)) < 0) {
        reply.close = true;
        metrics_count_response(http->api->metrics, reply.status);
    } else {
        body[body_len] = '\0';
        http_client_set(client, CLIENT_IS_SERVED);
        api_request request = {
            .received = received,
            .method = head_only ? "GET" : info->request_method,
            .path = read_path(info, path) ? path : "",
            .query_string = info->query_string ? info->query_string : "",
            .headers = framing.headers,
            .peer = info->remote_addr,
            .body = body,
            .body_len = (size_t)body_len,
            .client = last ? NULL : http_client_count(client, head_bytes + (size_t)body_len),
        };
        api_handle(http->api, &request, &reply);
        served = true;
    }
    reply.close = reply.close || last;
    int status = reply.status;
    if (served && !reply.sent)
        connections_tell(http->connections, client, true);
    bool sent = reply.sent || send_reply(conn, &reply, head_only);
    if (served && !reply.sent)
        connections_tell(http->connections, client, false);
    if (sent && reply.stream[0] != '\0' && !framing.close && !head_only)
        go_on_streaming(http, conn, reply.stream);
    if (served && !reply.sent)
        api_done(http->api);
    http_client_set(client, CLIENT_IS_READ);
    reply_free(&reply);
    return status;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int log_civetweb(const struct mg_connection *conn, const char *message)
{
    (void)conn;
    LOG_SOME(LOG_WARN, "http", "detail", message, NULL);
    return 1;
}

/* civetweb's own refusals: what is not HTTP, or not whole in time, or has a head too large. */
static int answer_fault(struct mg_connection *conn, int status, const char *message)
{
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    http_client *client = mg_get_user_connection_data(conn);
    api_reply reply;
    (void)status, (void)message; /* of many kinds, and not always true */
    reply_init(&reply);
    if (http_client_is_leaving(client))
        refuse(http->api, &reply, 408, "head_too_slow",
               "the head did not come, and others need the thread");
    else
        refuse(http->api, &reply, 400, "malformed",
               "not HTTP/1.1, not here in time, or a head of more than 8 KiB");
    send_reply(conn, &reply, is_head(mg_get_request_info(conn)));
    reply_free(&reply);
    if (client)
        client->answered = true;
    return 0;
}

/* civetweb answers nothing to "OPTIONS *", nor to the URL of another port, and closes. */
static void answer_unanswered(const struct mg_connection *conn)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    const http_client *client = mg_get_user_connection_data(conn);
    if (!info || !info->request_uri || info->local_uri || (client && client->answered))
        return;
    api_reply reply;
    reply_init(&reply);
    refuse(http->api, &reply, 421, "other_server",
           "the URL in the request line is not of this server; a path alone is enough");
    send_reply((struct mg_connection *)conn, &reply, is_head(info));
    reply_free(&reply);
}

static int connection_opened(const struct mg_connection *conn, void **conn_data)
{
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    http_client *client = http_client_new(conn);
    if (client)
        connections_add(http->connections, client);
    *conn_data = client;
    return 0;
}

/* Before the socket is closed: later civetweb has forgotten the client. */
static void connection_ends(const struct mg_connection *conn)
{
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    http_client *client = mg_get_user_connection_data(conn);
    answer_unanswered(conn);
    if (client)
        connections_remove(http->connections, client);
    http_client_free(client);
}

static bool find_port(fs_http *http, const char *address)
{
    struct mg_server_port port;
    if (mg_get_server_ports(http->context, 1, &port) < 1)
        return false;
    const char *colon = strrchr(address, ':');
    int host_len = colon ? (int)(colon - address) : 0;
    snprintf(http->address, sizeof(http->address), "%.*s:%d", host_len, address, port.port);
    return true;
}

static const struct mg_callbacks callbacks = {
    .begin_request = serve,
    .http_error = answer_fault,
    .init_connection = connection_opened,
    .connection_close = connection_ends,
    .log_message = log_civetweb,
};

fs_http *http_start(fs_api *api, const char *address, int threads, char *err, size_t err_len)
{
    char count[16], head_max[16], listen[128];
    snprintf(count, sizeof(count), "%d", threads + RESERVE);
    snprintf(head_max, sizeof(head_max), "%d", FRAMING_HEAD_MAX);
    /* "*:80" is an address to people and a bare port to civetweb. */
    snprintf(listen, sizeof(listen), "%s", strncmp(address, "*:", 2) == 0 ? address + 2 : address);
    const char *options[] = {
        "max_request_size",
        head_max,
        "listening_ports",
        listen,
        "num_threads",
        count,
        "tcp_nodelay",
        "1",
        "enable_keep_alive",
        "yes",
        "keep_alive_timeout_ms",
        "75000",
        "request_timeout_ms",
        HEAD_DEADLINE_MS,
        "connection_queue",
        "512",
        "listen_backlog",
        "1024",
        "access_control_allow_origin",
        "",
        "decode_url", /* it would cut "/buy%00zzz" down to "/buy" */
        "no",
        "enable_auth_domain_check", /* any host may stand in an absolute URL */
        "no",
        NULL,
    };
    fs_http *http = calloc(1, sizeof(*http));
    if (!http) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    http->api = api;
    http->streams = streams_start(api);
    http->connections = connections_start(api, threads, threads + RESERVE);
    struct mg_init_data init = {
        .callbacks = &callbacks, .user_data = http, .configuration_options = options};
    char why[256] = "out of memory, or of threads";
    struct mg_error_data error = {.text = why, .text_buffer_size = sizeof(why)};
    mg_init_library(0);
    if (http->streams && http->connections)
        http->context = mg_start2(&init, &error);
    if (!http->context || !find_port(http, address)) {
        snprintf(err, err_len, "can not listen on %s: %s", address, why);
        http_stop(http);
        return NULL;
    }
    return http;
}

const char *http_address(const fs_http *http)
{
    return http->address;
}

void http_stop(fs_http *http)
{
    if (!http)
        return;
    if (http->context)
        mg_stop(http->context);
    connections_stop(http->connections);
    streams_stop(http->streams);
    mg_exit_library();
    free(http);
}
