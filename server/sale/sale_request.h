/*
 * sale_request.h - the terms of a sale to start, from JSON or from options, with the same names and
 * limits.
 */
#ifndef FLASHSALE_SALE_REQUEST_H
#define FLASHSALE_SALE_REQUEST_H

#include "server/base/json.h"
#include "server/store/terms.h"

#define STOCK_MAX 1000000000

/* All that can be requested. Numbers: -1 = not given. */
typedef struct sale_request {
    char item[IDENT_MAX + 1];
    char strategy[32];   /* "" = the default */
    char durability[32]; /* "" = memory */
    int64_t stock, per_user_limit, reserve_max_s, lease_ms, wait_ms, hold_ms, segments,
        min_replicas;
} sale_request;

/* Nothing is given yet. */
void sale_request_init(sale_request *request);

/* Checks the request, except as sale_request_reserves() does, and fills in the strategy's defaults.
 * `ret` still lacks id and previous sale. False: err has a sentence that names the member. */
bool sale_request_finish(const sale_request *request, sale_terms *ret, char *err, size_t err_len);

/* Reads a JSON body and finishes it; a request that fails the check has a bad value. */
json_fault sale_request_read(const char *body, size_t len, sale_terms *ret, char *err,
                             size_t err_len);

/* Whether the strategy can reserve, if the terms ask for it. False: a sentence in err. */
bool sale_request_reserves(const sale_terms *terms, char *err, size_t err_len);

/* The limits of a number, by its name in JSON. False: no such number; nothing is written. */
bool sale_request_limits(const char *name, int64_t *ret_least, int64_t *ret_most);

#endif
