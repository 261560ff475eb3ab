/*
 * site.h - a whole shop for end-to-end tests: a Redis, three instances, and what one does with
 * them: open a sale, buy, look at the stock, let a crowd in.
 *
 * Everything that can fail fails the running test, with the answer that came instead.
 */
#ifndef TESTS_SUPPORT_SITE_H
#define TESTS_SUPPORT_SITE_H

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"
#include "tests/support/http.h"

enum { FX_INSTANCES = 3 };

typedef struct fx_site {
    fx_redis *redis;
    fx_server *server[FX_INSTANCES];
} fx_site;

/* The item P0001, 1,000 pieces of it, and extra_args for every instance (NULL-terminated, or
 * NULL); redis_args likewise for Redis. */
fx_site *fx_site_start(const char *const *redis_args, const char *const *extra_args);
void fx_site_stop(fx_site *site); /* NULL is allowed */

/* Request to instance number `at`; path starts with '/'. Free the reply. Returns the status. */
int fx_site_ask(fx_site *site, int at, const char *method, const char *path, const char *body,
                fx_reply *ret);

/* Closes the item's sale and opens one with this stock and strategy. */
void fx_site_sell(fx_site *site, int stock, const char *strategy);

/* A field of GET /stock?item=P0001, asked of instance 0. */
int fx_site_stock(fx_site *site, const char *field);

/* Runs build/loadtest with these arguments (NULL-terminated), every instance as --target, and
 * --json. The whole result; *code is its exit code. Free with cJSON_Delete(). */
cJSON *fx_site_load(fx_site *site, const char *const *args, int deadline_ms, int *code);

/* The reply's body as JSON; fails the test when it is not. Free with cJSON_Delete(). */
cJSON *fx_reply_json(const fx_reply *reply);

/* A number or string in an object; fails the test, naming it, when it is not there. */
double fx_json_number(const cJSON *object, const char *name);
const char *fx_json_text(const cJSON *object, const char *name);

#endif
