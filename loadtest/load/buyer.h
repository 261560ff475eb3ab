/*
 * buyer.h - one user: a connection (a reused libcurl easy handle) and the request it is in.
 *
 * Workers move buyers; a buyer knows nothing of event loops:
 *
 *     buyer_take(buyer, ticket, due);             // prepares the easy handle for a new request
 *     do
 *         code = ...perform buyer_easy(buyer)...
 *     while (buyer_settle(buyer, code));          // true: prepared for one more attempt
 *
 * Several attempts make one request when its outcome stays unknown (--retry), all with the same
 * Idempotency-Key, each at the next target. The latency of a request runs from its first attempt to
 * the answer that settles it.
 *
 * libcurl re-sends a request by itself when a kept-alive connection dies under it. A load
 * generator must not: the buyer refuses the second connection, so that the loss is counted, and
 * only --retry sends again.
 */
#ifndef LOADTEST_BUYER_H
#define LOADTEST_BUYER_H

#include "loadtest/load/run_state.h"
#include "loadtest/load/transfers.h"

#include <curl/curl.h>

typedef struct lt_buyer lt_buyer;

/* A buyer for user number `user`, who records with `pen` and is performed by `transfers`. NULL
 * when memory is short. Borrows the pointers. */
lt_buyer *buyer_new(lt_run_state *state, lt_tally *tally, lt_pen *pen, lt_transfers *transfers,
                    int user);
void buyer_free(lt_buyer *buyer);

/* The handle to perform. Its CURLOPT_PRIVATE is the caller's. */
CURL *buyer_easy(lt_buyer *buyer);

/* Its number. */
int buyer_user(const lt_buyer *buyer);

/* The target that the buyer is connected to, or would be. */
int buyer_target(const lt_buyer *buyer);

/* Prepares GET /livez at the buyer's target, to open the connection before the run. */
void buyer_warm_up(lt_buyer *buyer);
/* Takes note of how that ended: a bad answer is counted among the errors. */
void buyer_warmed_up(lt_buyer *buyer, CURLcode code);
/* Instead of both: the first request opens the connection. */
void buyer_skip_warm_up(lt_buyer *buyer);
/* Likewise, because there was no time left; counted among the errors. */
void buyer_miss_warm_up(lt_buyer *buyer);

/* Prepares a new request, due at `due`, and counts it as issued. Its sending starts now. */
void buyer_take(lt_buyer *buyer, int64_t ticket, mono_ns due);

/* Takes note of an attempt's end. True: another attempt is prepared, perform it. */
bool buyer_settle(lt_buyer *buyer, CURLcode code);

/* Gives up an open request and settles it as unfinished. The handle must not be running. */
void buyer_abandon(lt_buyer *buyer);

/* Closes the connection of a user who is done, which frees the server's thread for others. Only
 * buyer_free() may follow. */
void buyer_leave(lt_buyer *buyer);

#endif
