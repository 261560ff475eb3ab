#include "tests/tools/stubserver/shop.h"

#include "tests/tools/stubserver/book.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_ORDERS 1000
#define REPLY_MAX   (256 * 1024)
#define TENTH       10

struct shop {
    struct shop_options options;
    struct book book;
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

struct shop *shop_new(struct shop_options options)
{
    struct shop *shop = calloc(1, sizeof(*shop));
    if (shop != NULL)
        shop->options = options;
    return shop;
}

void shop_free(struct shop *shop)
{
    book_clear(&shop->book);
    free(shop);
}

static struct shop_reply reply(struct shop *shop, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static struct shop_reply reply(struct shop *shop, int status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(shop->reply, sizeof(shop->reply), format, args);
    va_end(args);
    return (struct shop_reply){
        .status = status, .body = shop->reply, .length = length < 0 ? 0 : (size_t)length};
}

static struct shop_reply problem(struct shop *shop, int status, const char *code)
{
    return reply(shop, status, "{\"status\":%d,\"code\":\"%s\"}\n", status, code);
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

static struct shop_reply open_sale(struct shop *shop, const struct shop_request *request)
{
    char body[1024], stock[32];
    snprintf(body, sizeof(body), "%.*s", (int)request->body_length, request->body);
    body_value(body, "item", shop->item, sizeof(shop->item));
    body_value(body, "strategy", shop->strategy, sizeof(shop->strategy));
    body_value(body, "stock", stock, sizeof(stock));
    if (shop->item[0] == '\0' || stock[0] == '\0')
        return problem(shop, 422, "bad_sale");
    book_clear(&shop->book);
    shop->sale++;
    shop->initial = shop->remaining = strtoll(stock, NULL, 10);
    shop->units = shop->sales = shop->attempts = shop->unknowns = 0;
    return reply(shop, 201, "{\"item\":\"%s\",\"sale\":\"s%d\",\"strategy\":\"%s\"}\n", shop->item,
                 shop->sale, shop->strategy);
}

static struct shop_reply show_stock(struct shop *shop)
{
    int64_t lost = shop->units - (shop->initial - shop->remaining);
    int64_t over = shop->units - shop->initial;
    return reply(shop, 200,
                 "{\"item\":\"%s\",\"sale\":\"s%d\",\"strategy\":\"%s\",\"initial\":%" PRId64
                 ",\"remaining\":%" PRId64 ",\"orders\":%zu,\"units\":%" PRId64
                 ",\"oversold\":%" PRId64 ",\"lost_updates\":%" PRId64 "}\n",
                 shop->item, shop->sale, shop->strategy, shop->initial, shop->remaining,
                 shop->book.count, shop->units, over > 0 ? over : 0, lost > 0 ? lost : 0);
}

static struct shop_reply show_order(struct shop *shop, const char *request)
{
    const struct order *order = book_find(&shop->book, request);
    if (order == NULL)
        return reply(shop, 404, "{\"code\":\"no_such_order\",\"final\":true}\n");
    return reply(shop, 200, "{\"request\":\"%s\",\"order\":\"%" PRId64 "\"}\n", order->request,
                 order->number);
}

static struct shop_reply show_page(struct shop *shop, const char *query)
{
    char cursor[32];
    query_value(query, "cursor", cursor, sizeof(cursor));
    size_t at = strtoul(cursor, NULL, 10), end = at + PAGE_ORDERS;
    size_t length = (size_t)snprintf(shop->reply, sizeof(shop->reply), "{\"orders\":[");
    end = end > shop->book.count ? shop->book.count : end;
    for (size_t i = at; i < end; i++) {
        const struct order *order = &shop->book.orders[i];
        length += (size_t)snprintf(
            shop->reply + length, sizeof(shop->reply) - length,
            "%s{\"request\":\"%s\",\"order\":\"%" PRId64 "\",\"quantity\":%" PRId64 "}",
            i == at ? "" : ",", order->request, order->number, order->quantity);
    }
    const char *format =
        end < shop->book.count ? "],\"cursor\":\"%zu\"}\n" : "],\"cursor\":null}\n";
    length += (size_t)snprintf(shop->reply + length, sizeof(shop->reply) - length, format, end);
    return (struct shop_reply){.status = 200, .body = shop->reply, .length = length};
}

/* Every buy waited less than 10 ms for the lock, says the shop. */
static struct shop_reply show_metrics(struct shop *shop)
{
    int64_t n = shop->attempts;
    return reply(shop, 200,
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

static struct shop_reply sold(struct shop *shop, const char *request, int64_t number)
{
    return reply(shop, 201,
                 "{\"order\":\"%" PRId64 "\",\"request\":\"%s\",\"item\":\"%s\",\"sale\":\"s%d\","
                 "\"quantity\":1,\"remaining\":%" PRId64 ",\"fence\":%" PRId64 "}\n",
                 number, request, shop->item, shop->sale, shop->remaining, number);
}

/* Sells, and does to the books what the defect asks for. Returns whether the buyer may know. */
static bool sell(struct shop *shop, const char *request, int64_t quantity, int64_t *ret_number)
{
    enum defect defect = shop->options.defect;
    struct order order = {.number = ++shop->sales, .quantity = quantity};
    bool tenth = nth(shop->sales, TENTH);
    snprintf(order.request, sizeof(order.request), "%s", request);
    *ret_number = order.number;
    if ((defect != DEFECT_LOSE || shop->sales % 2 == 0) && shop->remaining >= quantity)
        shop->remaining -= quantity;
    if (defect == DEFECT_FORGET && tenth)
        return true;
    shop->units += quantity;
    book_add(&shop->book, &order);
    if (defect == DEFECT_DUPLICATE && tenth) {
        order.number = ++shop->sales;
        book_add(&shop->book, &order);
    }
    return defect != DEFECT_UNANNOUNCED || !tenth;
}

static struct shop_reply buy(struct shop *shop, const struct shop_request *request)
{
    char quantity_text[32];
    int64_t number;
    query_value(request->query, "quantity", quantity_text, sizeof(quantity_text));
    int64_t quantity = quantity_text[0] == '\0' ? 1 : strtoll(quantity_text, NULL, 10);
    const struct order *earlier = book_find(&shop->book, request->key);
    if (earlier != NULL && request->key[0] != '\0')
        return sold(shop, request->key,
                    earlier->number + (shop->options.defect == DEFECT_AMNESIA ? 1000000 : 0));
    shop->attempts++;
    if (nth(shop->attempts, shop->options.busy_every))
        return problem(shop, 503, "busy");
    bool unknown = nth(shop->attempts, shop->options.unknown_every);
    bool sold_out = shop->remaining < quantity && shop->options.defect != DEFECT_OVERSELL;
    if (unknown && (sold_out || ++shop->unknowns % 2 == 0))
        return problem(shop, 504, "unknown");
    if (sold_out)
        return problem(shop, 409, "sold_out");
    if (!sell(shop, request->key, quantity, &number))
        return problem(shop, 503, "busy");
    return unknown ? problem(shop, 504, "unknown") : sold(shop, request->key, number);
}

struct shop_reply shop_answer(struct shop *shop, const struct shop_request *request)
{
    bool post = strcmp(request->method, "POST") == 0;
    if (strcmp(request->path, "/livez") == 0)
        return reply(shop, 200, "ok\n");
    if (strcmp(request->path, "/metrics") == 0)
        return show_metrics(shop);
    if (post && strcmp(request->path, "/sales") == 0)
        return open_sale(shop, request);
    if (shop->sale == 0)
        return problem(shop, 404, "not_found");
    if (post && strcmp(request->path, "/buy") == 0)
        return buy(shop, request);
    if (strcmp(request->path, "/stock") == 0)
        return show_stock(shop);
    if (strcmp(request->path, "/orders") == 0)
        return show_page(shop, request->query);
    if (strncmp(request->path, "/orders/", 8) == 0)
        return show_order(shop, request->path + 8);
    return problem(shop, 404, "not_found");
}
