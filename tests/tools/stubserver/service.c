#include "tests/tools/stubserver/service.h"

#include "tests/tools/stubserver/ledger.h"
#include "tests/tools/stubserver/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PAGE_ORDERS  40
#define REPLY_MAX    (256 * 1024)
#define TENTH        10
#define MID_ATTEMPTS 200 /* buys, after which GET /stock is "stock", and "mid" before */

struct service {
    struct service_options options;
    struct ledger ledger;
    char item[80], strategy[80], sale[16];
    int sale_count;
    int64_t wait_ms;
    int64_t first_asked_ms; /* for an order that is not there; 0: not yet */
    int64_t initial, remaining, units;
    int64_t sales, attempts, unknowns, replays;
    char reply[REPLY_MAX];
};

bool defect_parse(const char *name, enum defect *ret_defect)
{
    static const char *const names[DEFECT_COUNT] = {
        "none",    "oversell", "lose",       "duplicate", "forget",   "unannounced",
        "amnesia", "deny",     "busy_again", "twice",     "stranger", "invented",
        "early",   "limit",    "loop",       "endless",   "zeroes"};
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

/* An answer that is written member by member. */
static struct text begin(struct service *service)
{
    struct text text = {
        .text = service->reply, .room = sizeof(service->reply), .lies = &service->options.lies};
    text_add(&text, "{");
    return text;
}

static struct service_reply end(struct service *service, struct text *text, const char *place,
                                int status)
{
    const char *tail = lies_about(&service->options.lies, place, "tail");
    text_add(text, "}%s\n", tail == NULL ? "" : tail);
    return (struct service_reply){.status = lies_status(&service->options.lies, place, status),
                                  .body = text->text,
                                  .length = text->length};
}

/* ---- answers --------------------------------------------------------------------------------- */

/* The other terms: those that were asked for, and those to lie about. */
static void put_terms(struct text *text, const char *body)
{
    static const char *const names[] = {"per_user_limit", "lease_ms", "hold_ms", "segments"};
    char value[32];
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        body_value(body, names[i], value, sizeof(value));
        if (value[0] != '\0' || lies_about(text->lies, "sale", names[i]) != NULL)
            text_number(text, "sale", names[i], strtoll(value, NULL, 10));
    }
    body_value(body, "durability", value, sizeof(value));
    if (value[0] != '\0')
        text_word(text, "sale", "durability", value);
}

static struct service_reply open_sale(struct service *service,
                                      const struct service_request *request)
{
    char body[1024], stock[32], wait[32];
    snprintf(body, sizeof(body), "%.*s", (int)request->body_length, request->body);
    body_value(body, "item", service->item, sizeof(service->item));
    body_value(body, "strategy", service->strategy, sizeof(service->strategy));
    body_value(body, "stock", stock, sizeof(stock));
    if (service->item[0] == '\0' || stock[0] == '\0')
        return problem(service, 422, "bad_sale");
    body_value(body, "wait_ms", wait, sizeof(wait));
    ledger_clear(&service->ledger);
    snprintf(service->sale, sizeof(service->sale), "s%d", ++service->sale_count);
    service->initial = service->remaining = strtoll(stock, NULL, 10);
    service->wait_ms = wait[0] == '\0' ? service->options.wait_ms : strtoll(wait, NULL, 10);
    service->units = service->sales = service->attempts = service->unknowns = service->replays = 0;
    service->first_asked_ms = 0;
    struct text text = begin(service);
    text_word(&text, "sale", "item", service->item);
    text_word(&text, "sale", "sale", service->sale);
    text_word(&text, "sale", "strategy", service->strategy);
    text_number(&text, "sale", "stock", service->initial);
    text_number(&text, "sale", "wait_ms", service->wait_ms);
    put_terms(&text, body);
    return end(service, &text, "sale", 201);
}

static struct service_reply show_stock(struct service *service)
{
    int64_t lost = service->units - (service->initial - service->remaining);
    int64_t over = service->units - service->initial;
    struct text text = begin(service);
    text_word(&text, "stock", "item", service->item);
    /* Lies about what a sale is come later: before the first buy nobody could tell. */
    const char *place = service->attempts == 0             ? "stock before"
                        : service->attempts < MID_ATTEMPTS ? "mid"
                                                           : "stock";
    text_word(&text, place, "sale", service->sale);
    text_word(&text, place, "strategy", service->strategy);
    text_number(&text, place, "initial", service->initial);
    text_number(&text, place, "remaining", service->remaining);
    text_number(&text, place, "orders", (int64_t)service->ledger.count);
    text_number(&text, place, "units", service->units);
    text_number(&text, place, "oversold", over > 0 ? over : 0);
    text_number(&text, place, "lost_updates", lost > 0 ? lost : 0);
    return end(service, &text, place, 200);
}

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The members of an order, as a 201 and the ledger have them. */
static void put_order(struct service *service, struct text *text, const char *place,
                      const struct order *order)
{
    char number[32];
    snprintf(number, sizeof(number), "%" PRId64, order->number);
    text_word(text, place, "order", number);
    text_word(text, place, "request", order->request);
    text_word(text, place, "item", service->item);
    text_word(text, place, "sale", service->sale);
    text_word(text, place, "user", order->user);
    text_number(text, place, "quantity", order->quantity);
    text_number(text, place, "remaining", order->remaining);
    text_number(text, place, "fence", order->number);
}

static struct service_reply show_order(struct service *service, const char *request)
{
    const struct order *order = ledger_find(&service->ledger, request);
    struct text text = begin(service);
    if (order != NULL) {
        put_order(service, &text, "found", order);
        return end(service, &text, "found", 200);
    }
    if (service->first_asked_ms == 0)
        service->first_asked_ms = now_ms();
    bool final = now_ms() - service->first_asked_ms >= service->options.final_after_ms;
    text_word(&text, "missing", "code", "no_such_order");
    text_word(&text, "missing", "request", request);
    text_add(&text, ",\"final\":%s", final ? "true" : "false");
    return end(service, &text, "missing", 404);
}

static void put_entry(struct service *service, struct text *text, const struct order *listed)
{
    struct order written = *listed, *order = &written;
    int prefix = (int)strcspn(listed->request, "-");
    if (service->options.defect == DEFECT_ZEROES)
        snprintf(written.request, sizeof(written.request), "%.*s-0%.40s", prefix, listed->request,
                 listed->request + prefix + 1);
    text_add(text, "%s{", text->text[text->length - 1] == '[' ? "" : ",");
    put_order(service, text, "ledger", order);
    text_add(text, "}");
}

/* Orders that are not of this run, at the end of the ledger. */
static void put_additions(struct service *service, struct text *text)
{
    struct order order = {.number = 999999, .quantity = 1, .user = "nobody"};
    if (service->options.defect == DEFECT_STRANGER)
        snprintf(order.request, sizeof(order.request), "somebody-else");
    else if (service->options.defect == DEFECT_INVENTED && service->ledger.count > 0)
        snprintf(order.request, sizeof(order.request), "%.*s-1000000",
                 (int)strcspn(service->ledger.orders[0].request, "-"),
                 service->ledger.orders[0].request);
    else
        return;
    put_entry(service, text, &order);
}

static void put_cursor(struct service *service, struct text *text, size_t at, size_t end)
{
    enum defect defect = service->options.defect;
    size_t empty = service->options.empty_pages * PAGE_ORDERS;
    bool more = end < service->ledger.count;
    if (defect == DEFECT_LOOP && at > 0)
        text_add(text, ",\"cursor\":\"%d\"", PAGE_ORDERS);
    else if (!more && (defect == DEFECT_ENDLESS || at < service->ledger.count + empty))
        text_add(text, ",\"cursor\":\"%zu\"", at + PAGE_ORDERS);
    else if (more)
        text_add(text, ",\"cursor\":\"%zu\"", end);
    else
        text_add(text, ",\"cursor\":null");
}

static struct service_reply show_page(struct service *service, const char *query)
{
    char cursor[32];
    query_value(query, "cursor", cursor, sizeof(cursor));
    size_t at = strtoul(cursor, NULL, 10), last = at + PAGE_ORDERS;
    bool twice = service->options.defect == DEFECT_TWICE;
    last = last > service->ledger.count ? service->ledger.count : last;
    struct text text = begin(service);
    text_word(&text, "page", "item", service->item);
    text_word(&text, "page", "sale", service->sale);
    text_name(&text, "orders");
    text_add(&text, "[");
    for (size_t i = at; i < last; i++) {
        put_entry(service, &text, &service->ledger.orders[i]);
        if (twice && i % TENTH == 0)
            put_entry(service, &text, &service->ledger.orders[i]);
    }
    if (last == service->ledger.count)
        put_additions(service, &text);
    text_add(&text, "]");
    put_cursor(service, &text, at, last);
    return end(service, &text, at == 0 ? "page" : "page2", 200);
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

static struct service_reply sold(struct service *service, const char *place,
                                 const struct order *order)
{
    struct text text = begin(service);
    put_order(service, &text, place, order);
    return end(service, &text, place, 201);
}

/* Sells, and does to the ledger what the defect asks for. Returns whether the buyer may know. */
static bool sell(struct service *service, struct order *order)
{
    enum defect defect = service->options.defect;
    bool tenth = nth(++service->sales, TENTH);
    order->number = service->sales;
    if ((defect != DEFECT_LOSE || service->sales % 2 == 0) && service->remaining >= order->quantity)
        service->remaining -= order->quantity;
    order->remaining = service->remaining;
    if (defect == DEFECT_FORGET && tenth)
        return true;
    service->units += order->quantity;
    ledger_add(&service->ledger, order);
    if (defect == DEFECT_DUPLICATE && tenth) {
        struct order second = *order;
        second.number = ++service->sales;
        ledger_add(&service->ledger, &second);
    }
    return defect != DEFECT_UNANNOUNCED || !tenth;
}

static struct service_reply sell_again(struct service *service, const struct order *earlier)
{
    struct order order = *earlier;
    enum defect defect = service->options.defect;
    if (defect == DEFECT_BUSY_AGAIN || nth(++service->replays, service->options.replay_busy))
        return problem(service, 503, "busy");
    if (defect == DEFECT_DENY)
        return problem(service, 409, "sold_out");
    order.number += defect == DEFECT_AMNESIA ? 1000000 : 0;
    return sold(service, "replayed", &order);
}

static struct service_reply buy(struct service *service, const struct service_request *request)
{
    char quantity[32];
    enum defect defect = service->options.defect;
    struct order order = {.quantity = 1};
    snprintf(order.request, sizeof(order.request), "%s", request->key);
    query_value(request->query, "user", order.user, sizeof(order.user));
    query_value(request->query, "quantity", quantity, sizeof(quantity));
    if (quantity[0] != '\0')
        order.quantity = strtoll(quantity, NULL, 10);
    const struct order *earlier = ledger_find(&service->ledger, request->key);
    if (earlier != NULL && request->key[0] != '\0')
        return sell_again(service, earlier);
    service->attempts++;
    if (nth(service->attempts, service->options.busy_every))
        return problem(service, 503, "busy");
    bool unknown = nth(service->attempts, service->options.unknown_every);
    bool half = service->remaining <= service->initial / 2;
    bool sold_out = (service->remaining < order.quantity && defect != DEFECT_OVERSELL) ||
                    (half && defect == DEFECT_EARLY);
    if (unknown && (sold_out || ++service->unknowns % 2 == 0))
        return problem(service, 504, "unknown");
    if (half && defect == DEFECT_LIMIT)
        return problem(service, 409, "limit_reached");
    if (sold_out)
        return problem(service, 409, "sold_out");
    if (!sell(service, &order))
        return problem(service, 503, "busy");
    return unknown ? problem(service, 504, "unknown") : sold(service, "told", &order);
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
    if (service->sale_count == 0)
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
