/*
 * request.h - the service without its transport: a request goes in, a reply (reply.h) comes out.
 *
 * Only http.c uses sockets; the router and the endpoints do not.
 */
#ifndef FLASHSALE_REQUEST_H
#define FLASHSALE_REQUEST_H

#include "server/api/auth.h"
#include "server/api/query.h"
#include "server/api/rate.h"
#include "server/dashboard/dashboard.h"
#include "server/metrics/metrics.h"
#include "server/sale/sale_table.h"

/* The headers that endpoints use: values as sent, NULL = not sent (borrowed). */
typedef struct api_headers {
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *buyer_token;
    const char *idempotency_key;
    const char *proxy_request; /* Flashsale-Request-Id */
    const char *content_type;
    const char *accept; /* the last one, if there are several */
    const char *if_none_match;
} api_headers;

/* A client that a thread other than the request's may be able to answer. */
typedef struct api_client {
    direct_answer direct; /* first; the endpoint gives it tell() */
    void *arg;            /* tell()'s */

    /* Sends the reply without waiting. False: nothing was sent. */
    bool (*send)(struct api_client *client, const api_reply *reply);
} api_client;

typedef struct api_request {
    dlock_time received;      /* every deadline of the request counts from here */
    dlock_time deadline;      /* of the answer, unless a sale sets another */
    const char *method;       /* HEAD comes as GET */
    const char *path;         /* percent-decoded */
    const char *query_string; /* as sent, without '?'; "" = none */
    const fs_query *query;    /* the route's parameters; set by the router */
    api_headers headers;
    const char *peer; /* the client's address */
    const char *body; /* NUL-terminated, but may contain NULs */
    size_t body_len;
    api_client *client; /* NULL: only this thread can answer */
} api_request;

/* The service, made in main.c and shared by all requests. Everything is borrowed. */
typedef struct fs_api {
    fs_store *store;
    sale_table *sales;
    fs_metrics *metrics;
    const fs_auth *auth;
    fs_rate *rate;
    dashboard *dashboard; /* set before `open` */
    const char *item;     /* the default of the live page */
    int64_t max_quantity; /* units per buy */
    bool demo;            /* the holder of a lock may be stopped: POST /locks/stop */
    atomic_bool open;     /* false until the start is complete: until then only /livez answers */
    atomic_bool refusing; /* it no longer sells either */
} fs_api;

/* Answers a request. The caller initialises `reply` with reply_init(), frees it, and calls
 * api_done() once it is sent: until then the request counts as in flight. */
void api_handle(fs_api *api, const api_request *request, api_reply *reply);
void api_done(fs_api *api);

/* The next piece of an item's stream; `out` is empty. Never waits. DASHBOARD_OVER ends the stream;
 * a new request then gets the reason. */
dashboard_answer api_stream_next(fs_api *api, const char *item, fs_text *out);

#endif
