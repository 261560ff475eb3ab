/*
 * router.h - the service without its transport: a request goes in, a reply comes out.
 *
 * Neither the router nor an endpoint ever sees a socket; http.c does.
 */
#ifndef FLASHSALE_ROUTER_H
#define FLASHSALE_ROUTER_H

#include "server/api/reply.h"
#include "server/api/request.h"

/* Answers a request. `reply` is to be initialised with reply_init() and freed by the caller.
 * The request counts as in flight until api_done(), to be called once the reply is sent. */
void api_handle(fs_api *api, const api_request *request, api_reply *reply);
void api_done(fs_api *api);

typedef enum api_piece {
    PIECE_NEXT = 0,
    PIECE_NONE, /* as yet */
    PIECE_LAST, /* there is nothing more to tell; who asks again is told why */
} api_piece;

/* The next piece of a stream about an item; `out` is empty. Never waits. */
api_piece api_stream_next(fs_api *api, const char *item, fs_text *out);

#endif
