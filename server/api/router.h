/*
 * router.h - the service without its transport: a request goes in, a reply comes out.
 *
 * A handler fills the reply and returns. It never sends, and never sees a socket; http.c does.
 */
#ifndef FLASHSALE_ROUTER_H
#define FLASHSALE_ROUTER_H

#include "server/api/auth.h"
#include "server/api/metrics.h"
#include "server/base/text.h"
#include "server/sale/sale_table.h"

#define BODY_MAX 4096

typedef struct api_request {
    const char *method;          /* HEAD comes as GET */
    const char *path;            /* percent-decoded */
    const char *query;           /* as sent, without '?'; "" = none */
    const char *idempotency_key; /* the header's value; NULL = none */
    const char *authorization;   /* likewise */
    const char *peer;            /* the client's address */
    const char *body;            /* NUL-terminated, but may contain NULs */
    size_t body_len;
} api_request;

typedef struct api_reply {
    int status;
    const char *content_type; /* static text */
    const char *allow;        /* 405: the methods that there are; otherwise NULL */
    int retry_after_s;        /* 0 = no such header */
    bool replayed;            /* Idempotency-Replayed: true */
    bool close;               /* the connection is to end after this reply */
    fs_text body;
} api_reply;

/* The service, made in main.c and shared by all requests. Everything is borrowed. */
typedef struct fs_api {
    fs_store *store;
    fs_sales *sales;
    fs_metrics *metrics;
    const fs_admin *admin;
    struct fs_limit *limit; /* NULL = none */
    atomic_bool open;       /* false until the start is complete: all but /livez refuses */
    atomic_bool draining;   /* not ready any more, but still selling */
    atomic_bool refusing;   /* not even selling */
    atomic_int in_flight;   /* requests being answered */
} fs_api;

/* Answers a request. `reply` is to be initialised with api_reply_init() and freed by the caller.
 * The request counts as in flight until api_done(), to be called once the reply is sent. */
void api_handle(fs_api *api, const api_request *request, api_reply *reply);
void api_done(fs_api *api);

void api_reply_init(api_reply *reply);
void api_reply_free(api_reply *reply);

#endif
