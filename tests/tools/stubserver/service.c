/*
 * service.c - sells from memory, with one planted defect where it was told to: a verifier is
 * tested by a service that lies, not by one that fails.
 */
#include "tests/tools/stubserver/service.h"

#include "tests/tools/stubserver/ledger.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ORDERS 1000
#define REPLY_MAX   (256 * 1024)
#define TENTH       10

struct service {
    struct service_options options;
    struct ledger ledger;
    char item[80], strategy[80];
    int sale; /* number of the current one; 0: none */
    int64_t initial, remaining, units;
    int64_t sales, attempts, unknowns;
    char reply[REPLY_MAX];
};

bool defect_parse(const char *name, enum defect *ret_defect)
{
    static const char *const names[DEFECT_COUNT] = {"none",   "oversell",    "lose",   "duplicate",
                                                    "forget", "unannounced", "amnesia"};
    for (int i = 0; i < DEFECT_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *ret_defect = (enum defect)i;
            return true;
        }
    }
    return false;
}

struct service *service_new(struct service_options options)
{
    struct service *service = calloc(1, sizeof(*service));
    if (service != NULL)
        service->options = options;
    return service;
}

void service_free(struct service *service)
{
    ledger_clear(&service->ledger);
    free(service);
}

static struct service_reply reply(struct service *service, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct service_reply reply(struct service *service, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(service->reply, sizeof(service->reply), format, args);
    va_end(args);
    return (struct service_reply){
        .status = status, .body = service->reply, .length = length < 0 ? 0 : (size_t)length};
}

static struct service_reply problem(struct service *service, int status, const char *code)
{
    return reply(service, status, "{\"status\":%d,\"code\":\"%s\"}\n", status, code);
}

/* ---- reading the request --------------------------------------------------------------------- */

/* The value of name= in a query, "" when there is none. */
static void query_value(const char *query, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    value[0] = '\0';
    while (*query != '\0') {
        size_t field = strcspn(query, "&");
        if (field > length && query[length] == '=' && memcmp(query, name, length) == 0) {
            snprintf(value, size, "%.*s", (int)(field - length - 1), query + length + 1);
            return;
        }
        query += field + (query[field] == '&');
    }
}

/* A member of a flat JSON object as loadtest writes it: "name":value or "name":"value". */
static void body_value(const char *body, const char *name, char *value, size_t size)
{
    char quoted[64];
    value[0] = '\0';
    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    const char *at = strstr(body, quoted);
    if (at == NULL)
        return;
    at += strlen(quoted);
    at += *at == '"';
    snprintf(value, size, "%.*s", (int)strcspn(at, "\",}"), at);
}

/* ---- answers --------------------------------------------------------------------------------- */

static struct service_reply open_sale(struct service *service,
                                      const struct service_request *request)
{
    char body[1024], stock[32];
    snprintf(body, sizeof(body), "%.*s", (int)request->body_length, request->body);
    body_value(body, "item", service->item, sizeof(service->item));
    body_value(body, "strategy", service->strategy, sizeof(service->strategy));
    body_value(body, "stock", stock, sizeof(stock));
    if (service->item[0] == '\0' || stock[0] == '\0')
        return problem(service, 422, "bad_sale");
    ledger_clear(&service->ledger);
    service->sale++;
    service->initial = service->remaining = strtoll(stock, NULL, 10);
    service->units = service->sales = service->attempts = service->unknowns = 0;
    return reply(service, 201, "{\"item\":\"%s\",\"sale\":\"s%d\",\"strategy\":\"%s\"}\n",
                 service->item, service->sale, service->strategy);
}

static struct service_reply show_stock(struct service *service)
{
    int64_t lost = service->units - (service->initial - service->remaining);
    int64_t over = service->units - service->initial;
    return reply(service, 200,
                 "{\"item\":\"%s\",\"sale\":\"s%d\",\"strategy\":\"%s\",\"initial\":%" PRId64
                 ",\"remaining\":%" PRId64 ",\"orders\":%zu,\"units\":%" PRId64
                 ",\"oversold\":%" PRId64 ",\"lost_updates\":%" PRId64 "}\n",
                 service->item, service->sale, service->strategy, service->initial,
                 service->remaining, service->ledger.count, service->units, over > 0 ? over : 0,
                 lost > 0 ? lost : 0);
}

static struct service_reply show_order(struct service *service, const char *request)
{
    const struct order *order = ledger_find(&service->ledger, request);
    if (order == NULL)
        return reply(service, 404, "{\"code\":\"no_such_order\",\"final\":true}\n");
    return reply(service, 200, "{\"request\":\"%s\",\"order\":\"%" PRId64 "\"}\n", order->request,
                 order->number);
}

static struct service_reply show_page(struct service *service, const char *query)
{
    char cursor[32];
    query_value(query, "cursor", cursor, sizeof(cursor));
    size_t at = strtoul(cursor, NULL, 10), end = at + PAGE_ORDERS;
    size_t length = (size_t)snprintf(service->reply, sizeof(service->reply), "{\"orders\":[");
    end = end > service->ledger.count ? service->ledger.count : end;
    for (size_t i = at; i < end; i++) {
        const struct order *order = &service->ledger.orders[i];
        length += (size_t)snprintf(
            service->reply + length, sizeof(service->reply) - length,
            "%s{\"request\":\"%s\",\"order\":\"%" PRId64 "\",\"quantity\":%" PRId64 "}",
            i == at ? "" : ",", order->request, order->number, order->quantity);
    }
    const char *format =
        end < service->ledger.count ? "],\"cursor\":\"%zu\"}\n" : "],\"cursor\":null}\n";
    length +=
        (size_t)snprintf(service->reply + length, sizeof(service->reply) - length, format, end);
    return (struct service_reply){.status = 200, .body = service->reply, .length = length};
}

/* Every buy waited less than 10 ms for the lock, says the service. */
static struct service_reply show_metrics(struct service *service)
{
    int64_t n = service->attempts;
    return reply(service, 200,
                 "# TYPE flashsale_lock_wait_seconds histogram\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"0.001\"} %" PRId64 "\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"0.01\"} %" PRId64 "\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"+Inf\"} %" PRId64 "\n",
                 n / 2, n, n);
}

/* ---- buying ---------------------------------------------------------------------------------- */

static bool nth(int64_t number, unsigned every)
{
    return every > 0 && number % every == 0;
}

static struct service_reply sold(struct service *service, const char *request, int64_t number)
{
    return reply(service, 201,
                 "{\"order\":\"%" PRId64 "\",\"request\":\"%s\",\"item\":\"%s\",\"sale\":\"s%d\","
                 "\"quantity\":1,\"remaining\":%" PRId64 ",\"fence\":%" PRId64 "}\n",
                 number, request, service->item, service->sale, service->remaining, number);
}

/* Sells, and does to the ledger what the defect asks for. Returns whether the buyer may know. */
static bool sell(struct service *service, const char *request, int64_t quantity,
                 int64_t *ret_number)
{
    enum defect defect = service->options.defect;
    struct order order = {.number = ++service->sales, .quantity = quantity};
    bool tenth = nth(service->sales, TENTH);
    snprintf(order.request, sizeof(order.request), "%s", request);
    *ret_number = order.number;
    if ((defect != DEFECT_LOSE || service->sales % 2 == 0) && service->remaining >= quantity)
        service->remaining -= quantity;
    if (defect == DEFECT_FORGET && tenth)
        return true;
    service->units += quantity;
    ledger_add(&service->ledger, &order);
    if (defect == DEFECT_DUPLICATE && tenth) {
        order.number = ++service->sales;
        ledger_add(&service->ledger, &order);
    }
    return defect != DEFECT_UNANNOUNCED || !tenth;
}

static struct service_reply buy(struct service *service, const struct service_request *request)
{
    char quantity_text[32];
    int64_t number;
    query_value(request->query, "quantity", quantity_text, sizeof(quantity_text));
    int64_t quantity = quantity_text[0] == '\0' ? 1 : strtoll(quantity_text, NULL, 10);
    const struct order *earlier = ledger_find(&service->ledger, request->key);
    if (earlier != NULL && request->key[0] != '\0')
        return sold(service, request->key,
                    earlier->number + (service->options.defect == DEFECT_AMNESIA ? 1000000 : 0));
    service->attempts++;
    if (nth(service->attempts, service->options.busy_every))
        return problem(service, 503, "busy");
    bool unknown = nth(service->attempts, service->options.unknown_every);
    bool sold_out = service->remaining < quantity && service->options.defect != DEFECT_OVERSELL;
    if (unknown && (sold_out || ++service->unknowns % 2 == 0))
        return problem(service, 504, "unknown");
    if (sold_out)
        return problem(service, 409, "sold_out");
    if (!sell(service, request->key, quantity, &number))
        return problem(service, 503, "busy");
    return unknown ? problem(service, 504, "unknown") : sold(service, request->key, number);
}

struct service_reply service_answer(struct service *service, const struct service_request *request)
{
    bool post = strcmp(request->method, "POST") == 0;
    if (strcmp(request->path, "/livez") == 0)
        return reply(service, 200, "ok\n");
    if (strcmp(request->path, "/metrics") == 0)
        return show_metrics(service);
    if (post && strcmp(request->path, "/sales") == 0)
        return open_sale(service, request);
    if (service->sale == 0)
        return problem(service, 404, "not_found");
    if (post && strcmp(request->path, "/buy") == 0)
        return buy(service, request);
    if (strcmp(request->path, "/stock") == 0)
        return show_stock(service);
    if (strcmp(request->path, "/orders") == 0)
        return show_page(service, request->query);
    if (strncmp(request->path, "/orders/", 8) == 0)
        return show_order(service, request->path + 8);
    return problem(service, 404, "not_found");
}
