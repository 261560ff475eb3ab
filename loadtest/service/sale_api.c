/*
 * Each function is one request and the reading of its answer. Numbers that are not whole, and
 * members that are missing, are refused: a figure that was guessed would decide a verdict.
 */
#include "loadtest/service/sale_api.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS     5000L /* limit for each of these requests */
#define EVERYWHERE_NS (3 * NS_PER_S)
#define POLL_NS       (20 * NS_PER_MS)
#define REQUEST_MS                                                                                 \
    10000                 /* the time of a request, as the service's contract has it: so long, ... \
                           */
#define RESERVE_MS   1000 /* ... or so much longer than the sale's wait where that is longer */
#define MARGIN_MS    1000 /* beyond it, until "no order" is final */
#define WAIT_MAX_MS  60000 /* the longest wait that a sale can have */
#define SEGMENTS_MAX 1024  /* that a stock can be split into */

static bool whole_number(const cJSON *object, const char *name, int64_t *ret)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsNumber(member) || member->valuedouble != floor(member->valuedouble) ||
        fabs(member->valuedouble) > 0x1p53)
        return false;
    *ret = (int64_t)member->valuedouble;
    return true;
}

static bool text(const cJSON *object, const char *name, char *value, size_t size)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!cJSON_IsString(member) || strlen(member->valuestring) >= size)
        return false;
    snprintf(value, size, "%s", member->valuestring);
    return true;
}

static bool read_stock(const cJSON *json, const char *item, lt_stock *stock)
{
    char of[72];
    return text(json, "item", of, sizeof(of)) && strcmp(of, item) == 0 &&
           text(json, "sale", stock->sale, sizeof(stock->sale)) &&
           text(json, "strategy", stock->strategy, sizeof(stock->strategy)) &&
           whole_number(json, "initial", &stock->initial) &&
           whole_number(json, "remaining", &stock->remaining) &&
           whole_number(json, "orders", &stock->orders) &&
           whole_number(json, "units", &stock->units) &&
           whole_number(json, "oversold", &stock->oversold) &&
           whole_number(json, "lost_updates", &stock->lost_updates);
}

/* A sentence about an answer that was not the one hoped for: what is `wrong` with it. Of a page
 * that is not the service's own nothing is repeated. */
static void describe(const char *what, const char *url, const lt_http_reply *reply,
                     const char *wrong, char *err, size_t err_len)
{
    size_t line = strcspn(reply->body, "\r\n");
    if (reply->status == 0)
        snprintf(err, err_len, "%s %s: %s", what, url, reply->error);
    else if (strstr(reply->type, "json"))
        snprintf(err, err_len, "%s %s: %s: HTTP %ld: %.*s", what, url, wrong, reply->status,
                 line < 200 ? (int)line : 200, reply->body);
    else
        snprintf(err, err_len, "%s %s: %s: HTTP %ld, %s", what, url,
                 reply->status >= 502 ? "no flashsale service answers there"
                                      : "not a flashsale service",
                 reply->status, reply->type[0] != '\0' ? reply->type : "of no type");
}

/* The stock in an answer to GET `url`. */
static bool take_stock(const lt_http_reply *reply, const char *url, const char *item, lt_stock *ret,
                       char *err, size_t err_len)
{
    lt_stock stock = {.remaining = 0};
    if (reply->status != 200) {
        describe("GET", url, reply, "no stock", err, err_len);
        return false;
    }
    cJSON *json = cJSON_ParseWithOpts(reply->body, NULL, 1);
    bool good = read_stock(json, item, &stock);
    cJSON_Delete(json);
    if (good)
        *ret = stock;
    else
        describe("GET", url, reply, "not a stock of that item", err, err_len);
    return good;
}

bool sale_stock(lt_http *http, const char *target, const char *item, lt_stock *ret, char *err,
                size_t err_len)
{
    char url[512];
    lt_http_reply reply;
    snprintf(url, sizeof(url), "%s/stock?item=%s", target, item);
    http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
    return take_stock(&reply, url, item, ret, err, err_len);
}

bool sale_stock_at_rest(lt_http *http, const lt_plan *plan, lt_stock *ret, char *err,
                        size_t err_len)
{
    char url[512];
    lt_http_reply reply;
    snprintf(url, sizeof(url), "%s/stock?item=%s", plan->targets[0], plan->item);
    http_read(http, url, ANSWER_MS, &reply);
    return take_stock(&reply, url, plan->item, ret, err, err_len);
}

static void add_given(cJSON *json, const char *name, long value)
{
    if (value != SALE_NOT_GIVEN)
        cJSON_AddNumberToObject(json, name, (double)value);
}

/* The body of POST /sales, from malloc(). */
static char *sale_body(const lt_plan *plan, const lt_sale_spec *spec)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "item", plan->item);
    cJSON_AddNumberToObject(json, "stock", (double)plan->stock);
    cJSON_AddStringToObject(json, "strategy", spec->strategy);
    add_given(json, "lease_ms", spec->lease_ms);
    add_given(json, "wait_ms", spec->wait_ms);
    add_given(json, "hold_ms", spec->hold_ms);
    add_given(json, "per_user_limit", spec->per_user_limit);
    add_given(json, "segments", spec->segments);
    if (spec->durability[0] != '\0')
        cJSON_AddStringToObject(json, "durability", spec->durability);
    char *body = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return body;
}

/* The terms that follow from what was asked for, where the answer does not name them. */
static lt_sale terms_asked(const lt_sale_spec *spec)
{
    bool sharded = strcmp(spec->strategy, "sharded") == 0;
    return (lt_sale){.wait_ms = spec->wait_ms == SALE_NOT_GIVEN ? WAIT_MAX_MS : spec->wait_ms,
                     .segments = !sharded             ? 1
                                 : spec->segments > 0 ? spec->segments
                                                      : SEGMENTS_MAX};
}

/* Whether a number in the answer is the one asked for; what was left to the service may be any. */
static bool keeps_number(const cJSON *json, const char *name, int64_t asked, char *err,
                         size_t err_len)
{
    int64_t told = asked;
    if (asked == SALE_NOT_GIVEN || !cJSON_GetObjectItemCaseSensitive(json, name) ||
        (whole_number(json, name, &told) && told == asked))
        return true;
    snprintf(err, err_len, "POST /sales: the sale has another %s than the %lld asked for", name,
             (long long)asked);
    return false;
}

static bool keeps_text(const cJSON *json, const char *name, const char *asked, char *err,
                       size_t err_len)
{
    const cJSON *told = cJSON_GetObjectItemCaseSensitive(json, name);
    if (asked[0] == '\0' || !told ||
        (cJSON_IsString(told) && strcmp(told->valuestring, asked) == 0))
        return true;
    snprintf(err, err_len, "POST /sales: the sale has another %s than the \"%s\" asked for", name,
             asked);
    return false;
}

/* Whether the terms that the answer names are those asked for. The verdict rests on them: a sale
 * with a wider limit, or in more segments, would be judged by what it allows itself. */
static bool keeps_terms(const cJSON *json, const lt_plan *plan, const lt_sale_spec *spec, char *err,
                        size_t err_len)
{
    bool sharded = strcmp(spec->strategy, "sharded") == 0;
    return keeps_text(json, "item", plan->item, err, err_len) &&
           keeps_text(json, "strategy", spec->strategy, err, err_len) &&
           keeps_text(json, "durability", spec->durability, err, err_len) &&
           keeps_number(json, "stock", plan->stock, err, err_len) &&
           keeps_number(json, "per_user_limit", spec->per_user_limit, err, err_len) &&
           keeps_number(json, "lease_ms", spec->lease_ms, err, err_len) &&
           keeps_number(json, "wait_ms", spec->wait_ms, err, err_len) &&
           keeps_number(json, "hold_ms", spec->hold_ms, err, err_len) &&
           keeps_number(json, "segments", sharded ? spec->segments : SALE_NOT_GIVEN, err, err_len);
}

/* The wait and the segments that the answer names: of a stock that is not split, one. */
static bool take_terms(const cJSON *json, bool sharded, lt_sale *sale, char *err, size_t err_len)
{
    int64_t segments = sale->segments;
    whole_number(json, "wait_ms", &sale->wait_ms);
    whole_number(json, "segments", &segments);
    if (segments > SEGMENTS_MAX || segments < sharded || (!sharded && segments > 1)) {
        snprintf(err, err_len, "POST /sales: a stock in %lld segments", (long long)segments);
        return false;
    }
    sale->segments = sharded ? segments : 1;
    return true;
}

bool sale_create(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec, lt_sale *ret,
                 char *err, size_t err_len)
{
    char url[512];
    lt_http_reply reply;
    snprintf(url, sizeof(url), "%s/sales", plan->targets[0]);
    char *body = sale_body(plan, spec);
    http_call(http, "POST", url, body, ANSWER_MS, &reply);
    free(body);
    if (reply.status != 201) {
        describe("POST", url, &reply, "no sale", err, err_len);
        return false;
    }
    lt_sale sale = terms_asked(spec);
    cJSON *json = cJSON_ParseWithOpts(reply.body, NULL, 1);
    bool named = text(json, "sale", sale.id, sizeof(sale.id));
    if (!named)
        describe("POST", url, &reply, "no sale id in the answer", err, err_len);
    bool good = named && keeps_terms(json, plan, spec, err, err_len) &&
                take_terms(json, strcmp(spec->strategy, "sharded") == 0, &sale, err, err_len);
    cJSON_Delete(json);
    if (good)
        *ret = sale;
    return good;
}

mono_ns sale_final_after(const lt_sale *sale)
{
    int64_t wait_ms = sale->wait_ms < WAIT_MAX_MS ? sale->wait_ms : WAIT_MAX_MS;
    int64_t request_ms = wait_ms <= REQUEST_MS ? REQUEST_MS : wait_ms + RESERVE_MS;
    return (request_ms + MARGIN_MS) * NS_PER_MS;
}

bool sale_wait_everywhere(lt_http *http, const lt_plan *plan, const char *sale, char *err,
                          size_t err_len)
{
    mono_ns deadline = clock_now() + EVERYWHERE_NS;
    for (int i = 0; i < plan->target_count;) {
        lt_stock stock;
        bool read = sale_stock(http, plan->targets[i], plan->item, &stock, err, err_len);
        if (read && strcmp(stock.sale, sale) == 0) {
            i++;
            continue;
        }
        if (clock_now() > deadline) {
            if (read)
                snprintf(err, err_len, "%s still serves sale %s, 3 s after %s was created",
                         plan->targets[i], stock.sale, sale);
            return false;
        }
        clock_sleep_until(clock_now() + POLL_NS);
    }
    return true;
}

bool sale_targets_alive(lt_http *http, const lt_plan *plan, char *err, size_t err_len)
{
    for (int i = 0; i < plan->target_count; i++) {
        char url[512];
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/livez", plan->targets[i]);
        http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
        if (reply.status == 200 && !strstr(reply.type, "html"))
            continue;
        if (reply.status == 0)
            snprintf(err, err_len, "target %s is down: %s", plan->targets[i], reply.error);
        else
            describe("GET", url, &reply, "not alive", err, err_len);
        return false;
    }
    return true;
}

/* Whether the order in the answer is this request's, by all that the answer names. */
static bool is_order_of(const cJSON *json, const lt_plan *plan, const char *sale, const char *user)
{
    char err[256];
    return keeps_text(json, "item", plan->item, err, sizeof(err)) &&
           keeps_text(json, "sale", sale, err, sizeof(err)) &&
           keeps_text(json, "user", user, err, sizeof(err)) &&
           keeps_number(json, "quantity", plan->quantity, err, sizeof(err));
}

lt_fate sale_fate(lt_http *http, const lt_plan *plan, const char *sale, const char *request,
                  const char *user)
{
    char url[512];
    lt_http_reply reply;
    snprintf(url, sizeof(url), "%s/orders/%s?item=%s&sale=%s", plan->targets[0], request,
             plan->item, sale);
    http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
    if (reply.status != 200 && reply.status != 404)
        return FATE_OPEN;
    char named[80];
    cJSON *json = cJSON_ParseWithOpts(reply.body, NULL, 1);
    bool sold = text(json, "request", named, sizeof(named)) && strcmp(named, request) == 0;
    bool other = sold && !is_order_of(json, plan, sale, user);
    bool never = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(json, "final"));
    cJSON_Delete(json);
    if (reply.status == 200)
        return other ? FATE_OTHER : sold ? FATE_SOLD : FATE_OPEN;
    return never ? FATE_NEVER : FATE_OPEN;
}
