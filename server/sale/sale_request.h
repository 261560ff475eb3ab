/*
 * sale_request.h - the terms of a sale that is to be started: from a request's JSON or from
 * options, with the same names and the same limits.
 */
#ifndef FLASHSALE_SALE_REQUEST_H
#define FLASHSALE_SALE_REQUEST_H

#include "server/base/json.h"
#include "server/store/terms.h"

#define STOCK_MAX 1000000000

/* What may be said about a sale. Numbers: -1 = not said. */
typedef struct sale_request {
    char item[IDENT_MAX + 1];
    char strategy[32];   /* "" = the default */
    char durability[32]; /* "" = memory */
    int64_t stock, per_user_limit, reserve_max_s, lease_ms, wait_ms, hold_ms, segments,
        min_replicas;
} sale_request;

/* Nothing said yet. */
void sale_request_init(sale_request *request);

/* Checks the request, but for sale_request_reserves(), and fills in what was not said from the
 * strategy. `ret` lacks id and previous sale. False and a sentence that names the member in err. */
bool sale_request_finish(const sale_request *request, sale_terms *ret, char *err, size_t err_len);

/* Both at once, from a JSON body; a request that can not be finished has a bad value. */
json_fault sale_request_read(const char *body, size_t len, sale_terms *ret, char *err,
                             size_t err_len);

/* Whether the sale's strategy can reserve, if it is to; else a sentence in err. */
bool sale_request_reserves(const sale_terms *terms, char *err, size_t err_len);

/* The limits of one of the numbers, by its name in JSON. False, and nothing written: no such
 * number. */
bool sale_request_limits(const char *name, int64_t *ret_least, int64_t *ret_most);

#endif
