/*
 * service.h - a whole service for tests: a Redis, instances, and what one does with them: start a
 * sale, buy, look at the stock, run the load generator.
 *
 * A test program has one of them, `fx`, around all of its cases:
 *
 *     static void one_is_sold_once(void **state)
 *     {
 *         (void)state;
 *         fx_sell("'stock':1,'strategy':'%s'", "atomic");
 *         fx_expect(fx.server[0], 201, "POST /buy?item=P0001&user=u%d", 1);
 *         fx_refused(fx.server[1], 409, "sold_out", "POST /buy?item=P0001&user=u%d", 2);
 *     }
 *
 *     int main(void)
 *     {
 *         const struct CMUnitTest tests[] = {cmocka_unit_test(one_is_sold_once)};
 *         return fx_run(tests, .instances = 3);
 *     }
 *
 * A request is written "METHOD PATH" or "METHOD PATH BODY", as for printf(). In a JSON body single
 * quotes stand for double ones. Everything that can fail fails the running test, with the answer
 * that came instead; therefore all of it is for the main thread, but fx_ask() and fx_status().
 */
#ifndef TESTS_SUPPORT_SERVICE_H
#define TESTS_SUPPORT_SERVICE_H

#include <cjson/cJSON.h>

#include "tests/support/fixture.h"
#include "tests/support/http.h"

enum { FX_INSTANCES = 3 };

typedef struct fx_plan {
    int instances;                 /* 0 = only the Redis */
    bool one_server;               /* on one server, whatever FX_REDIS says */
    const char *const *args;       /* of each instance, ending with NULL; NULL = none */
    const char *const *redis_args; /* likewise */
} fx_plan;

typedef struct fx_service {
    fx_plan plan;
    fx_redis *redis;
    fx_server *server[FX_INSTANCES]; /* NULL: not started */

    /* Is shown each answer to fx_ask() and its kin, by the thread that asked. NULL = none. */
    void (*saw)(const char *method, const char *target, const fx_reply *reply);
} fx_service;

extern fx_service fx;

/* Options that let an instance sell 1,000 pieces of P0001 from its start. */
#define FX_P0001 "--item", "P0001", "--stock", "1000"

/* Runs a group of cases with the service around it. The rest are members of fx_plan. */
#define fx_run(tests, ...)                                                                         \
    (fx.plan = (fx_plan){__VA_ARGS__},                                                             \
     cmocka_run_group_tests(tests, fx_service_start, fx_service_stop))

/* The group's setup and teardown, for programs with more around them. Stop takes what is there. */
int fx_service_start(void **state);
int fx_service_stop(void **state);

/* ---- requests -------------------------------------------------------------------------------- */

/* Asks. The status, 0 when there was no answer; free the reply. Any thread. */
int fx_ask(fx_server *server, fx_reply *ret, const char *request, ...)
    __attribute__((format(printf, 3, 4)));

/* Likewise when only the status is of interest. */
int fx_status(fx_server *server, const char *request, ...) __attribute__((format(printf, 2, 3)));

/* Asks, and fails unless the answer has this status. Its body, valid until the next fx_expect(). */
const char *fx_expect(fx_server *server, int status, const char *request, ...)
    __attribute__((format(printf, 3, 4)));

/* Asks until the answer has this status and this part in its body; fails if none has within so
 * long.
 */
void fx_await(fx_server *server, const char *request, int status, const char *part, int wait_ms);

/* Fails unless the body has this part. */
void fx_has(const char *body, const char *part);

/* Asks, and fails unless it is refused with this status and code, as application/problem+json.
 * NULL: any code. The body, as of fx_expect(). */
const char *fx_refused(fx_server *server, int status, const char *code, const char *request, ...)
    __attribute__((format(printf, 4, 5)));

/* Fails unless the reply is such a refusal, with a Retry-After when it is a 503 or 429; `what` was
 * asked. */
void fx_assert_problem(const char *what, const fx_reply *reply, int status, const char *code);

/* ---- sales ----------------------------------------------------------------------------------- */

/* Starts a sale at this instance, in force there at once and on the others a moment later. `terms`
 * are the members of the body but the item. Its id, valid until the next such call. */
const char *fx_start_sale(fx_server *server, const char *item, const char *terms, ...)
    __attribute__((format(printf, 3, 4)));

/* Waits until every instance has this sale of the item in force. */
void fx_wait_in_force(const char *item, const char *id);

/* Starts a sale of P0001 at the first instance, and waits until it is in force on all. */
const char *fx_sell(const char *terms, ...) __attribute__((format(printf, 1, 2)));

/* The id of an item's current sale, as Redis has it; valid until the next call. */
const char *fx_current_sale(const char *item);

/* A number in GET /stock?item=P0001, asked of the first instance. */
int fx_stock(const char *field);

/* ---- strategies ------------------------------------------------------------------------------ */

typedef struct fx_strategy {
    char name[32];   /* "" behind the last one */
    bool locked;     /* has a lock */
    bool renews;     /* ... whose lease it extends */
    bool replayable; /* after an unknown outcome, asking again is answered by the record */
    bool guarded;    /* oversells nothing, whatever happens to the lock */
    bool sharded;    /* the stock is split into segments; knows no per_user_limit */
    bool reserves;   /* units can be reserved */
} fx_strategy;

/* All that the first instance knows, from GET /strategies. */
const fx_strategy *fx_strategies(void);

/* ---- loadtest and JSON ----------------------------------------------------------------------- */

/* A run during which the machine was too busy for it proves nothing, and says so by its exit code:
 * then once more. */
enum { FX_LOADTEST_INVALID = 3, FX_LOADTEST_TRIES = 3 };

/* Runs build/loadtest with these arguments (NULL-terminated), every instance as --target, and
 * --json; again if the run was invalid. The whole result; *code is its exit code. Free with
 * cJSON_Delete(). */
cJSON *fx_loadtest(const char *const *args, int deadline_ms, int *code);

/* The reply's body as JSON; fails the test when it is not. Free with cJSON_Delete(). */
cJSON *fx_reply_json(const fx_reply *reply);

/* A file as JSON; NULL when it is none. Free with cJSON_Delete(). */
cJSON *fx_json_file(const char *path);

/* A number or string in an object; fails the test, naming it, when it is not there. */
double fx_json_number(const cJSON *object, const char *name);
const char *fx_json_text(const cJSON *object, const char *name);

/* A string in the JSON of a body, copied into buf. */
void fx_copy_member(const char *body, const char *name, char *buf, size_t len);

#endif
