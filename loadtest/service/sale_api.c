/*
 * Each function sends one request and reads its answer. Numbers that are not whole and missing
 * members are refused: a guessed figure must not decide a verdict.
 */
#include "loadtest/service/sale_api.h"

#include "loadtest/base/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MS     5000L /* limit for each of these requests */
#define EVERYWHERE_NS (3 * NS_PER_S)
#define POLL_NS       (20 * NS_PER_MS)
#define REQUEST_MS    10000 /* the time of a request in the service's contract: this long, ... */
#define RESERVE_MS    1000  /* ... or so much longer than the sale's wait where that is longer */
#define MARGIN_MS     1000  /* after it, until "no order" is final */
#define WAIT_MAX_MS   60000 /* the longest wait that a sale can have */
#define SEGMENTS_MAX  1024  /* that a stock can be split into */

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
    add_given(json, "reserve_max_s", plan->reserve_s > 0 ? plan->reserve_s : SALE_NOT_GIVEN);
    if (spec->durability[0] != '\0')
        cJSON_AddStringToObject(json, "durability", spec->durability);
    char *body = cJSON_PrintUnformatted(json);
    cJSON_Delete(json);
    return body;
}

/* The terms as asked for, where the answer does not name them. */
static lt_sale terms_asked(const lt_sale_spec *spec)
{
    bool sharded = sale_spec_sharded(spec);
    return (lt_sale){.wait_ms = spec->wait_ms == SALE_NOT_GIVEN ? WAIT_MAX_MS : spec->wait_ms,
                     .segments = !sharded             ? 1
                                 : spec->segments > 0 ? spec->segments
                                                      : SEGMENTS_MAX};
}

/* Whether a number in the answer is the one asked for; any number will do where the service
 * chose. */
static bool keeps_number(const cJSON *json, const char *name, int64_t asked, char *err,
                         size_t err_len)
{
    lt_whole told = json_read_whole(json, name);
    if (asked == SALE_NOT_GIVEN || told.form == FORM_ABSENT ||
        (told.form == FORM_GOOD && told.value == asked))
        return true;
    snprintf(err, err_len, "POST /sales: the sale has another %s than the %lld asked for", name,
             (long long)asked);
    return false;
}

static bool keeps_text(const cJSON *json, const char *name, const char *asked, char *err,
                       size_t err_len)
{
    lt_text told = json_read_text(json, name);
    if (asked[0] == '\0' || told.form == FORM_ABSENT ||
        (told.form == FORM_GOOD && strcmp(told.text, asked) == 0))
        return true;
    snprintf(err, err_len, "POST /sales: the sale has another %s than the \"%s\" asked for", name,
             asked);
    return false;
}

/* Whether the answer names the terms that were asked for. The verdict depends on them: a sale
 * with a wider limit or more segments would be judged by what it allows itself. */
static bool keeps_terms(const cJSON *json, const lt_plan *plan, const lt_sale_spec *spec, char *err,
                        size_t err_len)
{
    bool sharded = sale_spec_sharded(spec);
    return keeps_text(json, "item", plan->item, err, err_len) &&
           keeps_text(json, "strategy", spec->strategy, err, err_len) &&
           keeps_text(json, "durability", spec->durability, err, err_len) &&
           keeps_number(json, "stock", plan->stock, err, err_len) &&
           keeps_number(json, "per_user_limit", spec->per_user_limit, err, err_len) &&
           keeps_number(json, "reserve_max_s",
                        plan->reserve_s > 0 ? plan->reserve_s : SALE_NOT_GIVEN, err, err_len) &&
           keeps_number(json, "lease_ms", spec->lease_ms, err, err_len) &&
           keeps_number(json, "wait_ms", spec->wait_ms, err, err_len) &&
           keeps_number(json, "hold_ms", spec->hold_ms, err, err_len) &&
           keeps_number(json, "segments", sharded ? spec->segments : SALE_NOT_GIVEN, err, err_len);
}

/* The wait and the segments that the answer names; one segment for a stock that is not split. */
static bool take_terms(const cJSON *json, bool sharded, lt_sale *sale, char *err, size_t err_len)
{
    lt_whole told = json_read_whole(json, "segments"), wait_ms = json_read_whole(json, "wait_ms");
    int64_t segments = told.form == FORM_GOOD ? told.value : sale->segments;
    sale->wait_ms = wait_ms.form == FORM_GOOD ? wait_ms.value : sale->wait_ms;
    sale->lease_ms = json_read_whole(json, "lease_ms").value;
    snprintf(sale->previous, sizeof(sale->previous), "%s", json_read_id(json, "previous").text);
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
        describe_reply("POST", url, &reply, "no sale", err, err_len);
        return false;
    }
    lt_sale sale = terms_asked(spec);
    cJSON *json = json_parse(reply.body, strlen(reply.body));
    snprintf(sale.id, sizeof(sale.id), "%s", json_read_id(json, "sale").text);
    bool named = sale.id[0] != '\0';
    if (!named)
        describe_reply("POST", url, &reply, "no sale id in the answer", err, err_len);
    bool good = named && keeps_terms(json, plan, spec, err, err_len) &&
                take_terms(json, sale_spec_sharded(spec), &sale, err, err_len);
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
        bool read = stock_read(http, NULL, plan, i, false, &stock, err, err_len);
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
            describe_reply("GET", url, &reply, "not alive", err, err_len);
        return false;
    }
    return true;
}
