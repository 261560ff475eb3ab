/*
 * http.c - civetweb, which only files of this folder use.
 *
 * Why one write per response: with headers and body in two writes, Nagle's algorithm and the
 * client's delayed ACK add 40 ms to each response. Why so many threads: civetweb gives every
 * keep-alive connection its own thread until it ends; connections.h has the rest.
 */
#include "server/http.h"

#include <civetweb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/connections.h"
#include "server/framing.h"
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

static void refuse(fs_api *api, api_reply *reply, int status, const char *code, const char *detail)
{
    problem(reply, status, code, detail);
    reply->close = true; /* where this request ends is anybody's guess */
    metrics_count_response(api->metrics, status);
}

/* False, and the refusal in the reply: it can not be served for its form, or for lack of room. */
static bool may_be_served(fs_http *http, const struct mg_request_info *info, connection *from,
                          const http_framing *framing, api_reply *reply)
{
    if (info->num_headers >= MG_MAX_HEADERS)
        refuse(http->api, reply, 431, "too_many_headers", "a request may have 63 headers");
    else if (framing->fault)
        refuse(http->api, reply, 400, "bad_framing", framing->fault);
    else if (framing->coding) /* civetweb has no deadline for the lines between the chunks */
        refuse(http->api, reply, 411, "length_required", "a body needs a Content-Length");
    else if (framing->expect && strcasecmp(framing->expect, "100-continue") != 0)
        refuse(http->api, reply, 417, "expectation_failed", "only 100-continue may be expected");
    else if (!connection_admit(from, &reply->close))
        refuse(http->api, reply, 503, "too_many_connections", "this instance has no thread free");
    else if (framing->body > BODY_MAX)
        refuse(http->api, reply, 413, "body_too_long", "a body may have 4096 bytes");
    else
        return true;
    return false;
}

/* Reads the body, into memory of its own, by a deadline. False, and the refusal in the reply: it
 * did not come. */
static bool read_body(fs_http *http, struct mg_connection *conn, const http_framing *framing,
                      dlock_time received, char **ret, api_reply *reply)
{
    static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
    dlock_time deadline = {received.us + BODY_DEADLINE_MS * 1000};
    size_t len = 0;
    if (framing->body == 0) /* most have none, so it has no room on each thread's stack */
        return true;
    char *body = *ret = malloc(framing->body + 1);
    if (!body) {
        refuse(http->api, reply, 503, "out_of_memory", "there was no memory for the body");
        return false;
    }
    if (framing->expect)
        mg_write(conn, go_on, sizeof(go_on) - 1);
    /* Byte by byte, because mg_read() waits for all that it was asked for, with a limit for each
     * wait only: a client that sends a byte a second would keep this thread for an hour. */
    while (len < framing->body && mg_read(conn, body + len, 1) == 1) {
        len++;
        if (dlock_passed(deadline)) {
            refuse(http->api, reply, 408, "body_too_slow", "the body did not come in time");
            return false;
        }
    }
    body[len] = '\0';
    if (len == framing->body)
        return true;
    if (connection_is_leaving(mg_get_user_connection_data(conn)))
        refuse(http->api, reply, 408, "body_too_slow",
               "the body did not come, and others need the thread");
    else
        refuse(http->api, reply, 408, "body_too_short", "the body ended before its length");
    return false;
}

/* ---- what goes out --------------------------------------------------------------------------- */

/* False, too, where civetweb has not read the method. */
static bool is_head(const struct mg_request_info *info)
{
    return info && info->request_method && strcmp(info->request_method, "HEAD") == 0;
}

/* False: not all of it was sent. */
static bool send_reply(struct mg_connection *conn, const api_reply *reply)
{
    fs_text whole;
    text_init(&whole);
    reply_write(&whole, reply, is_head(mg_get_request_info(conn)));
    bool sent = !whole.failed && mg_write(conn, text_bytes(&whole), whole.len) == (int)whole.len;
    if (reply->close || !sent) /* half an answer would take the next one for its other half */
        mg_disable_connection_keep_alive(conn);
    text_free(&whole);
    return sent;
}

/* ---- one request ----------------------------------------------------------------------------- */

/* Answers a request that has come as a whole. False: not all of the answer was sent. */
static bool answer(fs_http *http, struct mg_connection *conn, const api_request *request,
                   api_reply *reply)
{
    api_handle(http->api, request, reply);
    if (reply->sent)
        return true;
    connection_enter(mg_get_user_connection_data(conn), CONNECTION_IS_TOLD);
    bool sent = send_reply(conn, reply);
    api_done(http->api);
    return sent;
}

/* civetweb shows a request first when its head is whole: that is when its time begins. */
static int serve(struct mg_connection *conn)
{
    dlock_time received = dlock_now();
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    connection *from = mg_get_user_connection_data(conn);
    const struct mg_request_info *info = mg_get_request_info(conn);
    http_framing framing = framing_read(info);
    bool head_only = is_head(info);
    int fd = -1;
    char *body = NULL, path[PATH_BYTES];
    api_reply reply;
    reply_init(&reply);
    reply.close = framing.close;

    if (may_be_served(http, info, from, &framing, &reply) &&
        read_body(http, conn, &framing, received, &body, &reply)) {
        api_client *client = connection_serve(from, framing.head + framing.body);
        /* As it came: civetweb's own makes "/buy" of "//buy" and "/x/../buy", which nothing in
         * front of us would take for it. */
        const char *raw = info->local_uri_raw;
        bool found = text_percent_decode(raw, strlen(raw), false, path, sizeof(path));
        const api_request request = {
            .received = received,
            .deadline = {received.us + REQUEST_MS * 1000},
            .method = head_only ? "GET" : info->request_method,
            .path = found ? path : "",
            .query_string = info->query_string ? info->query_string : "",
            .headers = framing.headers,
            .peer = info->remote_addr,
            .body = body ? body : "",
            .body_len = framing.body,
            .client = reply.close ? NULL : client,
        };
        bool sent = answer(http, conn, &request, &reply);
        /* A stream that has begun goes on without this thread. Where that can not be it ends here,
         * and the client comes again. */
        if (sent && reply.stream[0] != '\0' && !framing.close && !head_only)
            fd = connection_take(from);
        if (fd >= 0 && !streams_add(http->streams, fd, reply.stream))
            close(fd);
    } else {
        send_reply(conn, &reply);
    }
    connection_enter(from, CONNECTION_IS_READ);
    int status = reply.status;
    reply_free(&reply);
    free(body);
    return status;
}

/* ---- start and stop -------------------------------------------------------------------------- */

static int log_civetweb(const struct mg_connection *conn, const char *message)
{
    (void)conn;
    LOG_SOME(LOG_WARN, "http", "detail", message, NULL);
    return 1;
}

static void refuse_at_once(struct mg_connection *conn, int status, const char *code,
                           const char *detail)
{
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    api_reply reply;
    reply_init(&reply);
    refuse(http->api, &reply, status, code, detail);
    send_reply(conn, &reply);
    reply_free(&reply);
}

/* civetweb's own refusals: what is not HTTP, or not whole in time, or has a head too large. */
static int answer_fault(struct mg_connection *conn, int status, const char *message)
{
    connection *from = mg_get_user_connection_data(conn);
    (void)status, (void)message; /* of many kinds, and not always true */
    if (connection_is_leaving(from))
        refuse_at_once(conn, 408, "head_too_slow",
                       "the head did not come, and others need the thread");
    else
        refuse_at_once(conn, 400, "malformed",
                       "not HTTP/1.1, not here in time, or a head of more than 8 KiB");
    connection_enter(from, CONNECTION_IS_REFUSED);
    return 0;
}

static int connection_opened(const struct mg_connection *conn, void **conn_data)
{
    fs_http *http = mg_get_user_data(mg_get_context(conn));
    *conn_data = connection_open(http->connections, conn);
    return 0;
}

/* Before the socket is closed. civetweb answers nothing to "OPTIONS *", nor to the URL of another
 * port, and closes. */
static void connection_ends(const struct mg_connection *conn)
{
    const struct mg_request_info *info = mg_get_request_info(conn);
    connection *from = mg_get_user_connection_data(conn);
    if (info && info->request_uri && !info->local_uri &&
        !connection_is(from, CONNECTION_IS_REFUSED))
        refuse_at_once((struct mg_connection *)conn, 421, "other_server",
                       "the URL in the request line is not of this server; a path alone is enough");
    connection_close(from);
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
    const char *options[][2] = {
        {"max_request_size", head_max},
        {"listening_ports", listen},
        {"num_threads", count},
        {"tcp_nodelay", "1"},
        {"enable_keep_alive", "yes"},
        {"keep_alive_timeout_ms", "75000"},
        {"request_timeout_ms", HEAD_DEADLINE_MS},
        {"connection_queue", "512"},
        {"listen_backlog", "1024"},
        {"access_control_allow_origin", ""},
        {"decode_url", "no"},               /* it would cut "/buy%00zzz" down to "/buy" */
        {"enable_auth_domain_check", "no"}, /* any host may stand in an absolute URL */
        {NULL, NULL},
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
        .callbacks = &callbacks, .user_data = http, .configuration_options = options[0]};
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
