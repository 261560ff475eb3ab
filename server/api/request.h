/*
 * request.h - the service without its transport: a request goes in, a reply (reply.h) comes out.
 *
 * Neither the router nor an endpoint ever sees a socket; http.c does.
 */
#ifndef FLASHSALE_REQUEST_H
#define FLASHSALE_REQUEST_H

#include "server/api/auth.h"
#include "server/api/query.h"
#include "server/api/rate.h"
#include "server/dashboard/dashboard.h"
#include "server/metrics/metrics.h"
#include "server/sale/sale_table.h"

/* The headers that endpoints look at: values as sent, NULL = not sent (borrowed). */
typedef struct api_headers {
    const char *host;
    const char *origin;
    const char *fetch_site; /* Sec-Fetch-Site */
    const char *authorization;
    const char *buyer_token;
    const char *idempotency_key;
    const char *proxy_request; /* Flashsale-Request-Id */
    const char *content_type;
    const char *accept; /* of several the last */
    const char *if_none_match;
} api_headers;

/* A client that another thread than the request's may be able to answer. */
typedef struct api_client {
    direct_answer direct; /* first; the endpoint gives it tell() */
    void *arg;            /* tell()'s */

    /* Sends the reply without waiting. False: nothing was sent. */
    bool (*send)(struct api_client *client, const api_reply *reply);
} api_client;

typedef struct api_request {
    dlock_time received;      /* the one moment that every deadline of the request counts from */
    dlock_time deadline;      /* it is answered by then, if no sale says otherwise */
    const char *method;       /* HEAD comes as GET */
    const char *path;         /* percent-decoded */
    const char *query_string; /* as sent, without '?'; "" = none */
    const fs_query *query;    /* the parameters that the route knows; set by the router */
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
    dashboard *dashboard; /* set before `open` is */
    const char *item;     /* that the live page shows when none is named */
    int64_t max_quantity; /* units that one buy may ask for */
    atomic_bool open;     /* false until the start is complete: all but /livez refuses */
    atomic_bool refusing; /* not even selling */
} fs_api;

/* Answers a request. `reply` is to be initialised with reply_init() and freed by the caller.
 * The request counts as in flight until api_done(), to be called once the reply is sent. */
void api_handle(fs_api *api, const api_request *request, api_reply *reply);
void api_done(fs_api *api);

/* The next piece of a stream about an item; `out` is empty. Never waits. After DASHBOARD_OVER there
 * is nothing more to tell; who asks again is told why. */
dashboard_answer api_stream_next(fs_api *api, const char *item, fs_text *out);

#endif
