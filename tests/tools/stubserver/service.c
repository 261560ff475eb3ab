/* service.c - which answer a request gets, and how answers and refusals are written. */
#include "tests/tools/stubserver/sale.h"

#include "tests/tools/stubserver/request.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool defect_add(struct lies *lies, const char *name)
{
    static const struct {
        const char *name, *lie;
    } defects[] = {
        {"oversell", "buy.sold_out=never"},
        {"lose", "every=2:sell.take=0"},
        {"duplicate", "every=10:sell.record=2"},
        {"forget", "every=10:sell.record=0"},
        {"unannounced", "every=10:told.as=busy"},
        {"amnesia", "replayed.order=+1000000"},
        {"deny", "replayed.as=sold_out"},
        {"busy_again", "replayed.as=busy"},
        {"twice", "nth=10:ledger.times=2"},
        {"stranger", "page.extra=somebody-else"},
        {"invented", "page.extra=-1000000"},
        {"early", "left=50:buy.as=sold_out"},
        {"limit", "left=50:buy.as=limit_reached"},
        {"loop", "page=2:page.cursor=\"40\""},
        {"endless", "page.endless=1"},
        {"zeroes", "ledger.request=zero"},
    };
    for (size_t i = 0; i < sizeof(defects) / sizeof(defects[0]); i++) {
        if (strcmp(name, defects[i].name) == 0)
            return lies_add(lies, defects[i].lie);
    }
    return strcmp(name, "none") == 0;
}

struct service *service_new(const struct service_options *options)
{
    struct service *service = calloc(1, sizeof(*service));
    if (service == NULL)
        return NULL;
    service->options = *options;
    service->lies = &service->options.lies;
    return service;
}

void service_free(struct service *service)
{
    for (int i = 0; i < SALES_KEPT; i++) {
        ledger_clear(&service->sales[i].ledger);
        ledger_clear(&service->sales[i].asked);
    }
    free(service);
}

/* ---- answers --------------------------------------------------------------------------------- */

struct text answer_begin(struct service *service)
{
    struct text text = {
        .text = service->reply, .room = sizeof(service->reply), .lies = service->lies};
    text_add(&text, "{");
    return text;
}

static struct service_reply finish(struct service *service, struct text *text, const char *place,
                                   int status)
{
    const char *tail = lies_about(service->lies, place, "tail");
    text_add(text, "}%s\n", tail == NULL ? "" : tail);
    const char *other = lies_about(service->lies, place, "status");
    return (struct service_reply){.status = other == NULL ? status : (int)strtol(other, NULL, 10),
                                  .reset = lies_does(service->lies, place, "reset", NULL),
                                  .body = text->text,
                                  .length = text->length};
}

struct service_reply answer_end(struct service *service, struct text *text, const char *place,
                                int status)
{
    const char *code = lies_about(service->lies, place, "as");
    return code == NULL ? finish(service, text, place, status) : problem(service, code);
}

static int status_of(const char *code)
{
    static const struct {
        int status;
        const char *codes;
    } table[] = {
        {404, " no_such_order no_such_sale no_such_item not_found "},
        {400, " bad_sale bad_quantity reservation_not_offered reservations_not_supported "
              "unknown_parameter "},
        {405, " method_not_allowed "},
        {422, " request_reused "},
        {429, " rate_limited "},
        {503, " busy store_unavailable store_may_evict durability_lost starting draining "
              "sale_rolled_back sale_damaged too_many_connections writes_paused "},
        {504, " unknown "},
    };
    char word[64];
    snprintf(word, sizeof(word), " %s ", code);
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (strstr(table[i].codes, word) != NULL)
            return table[i].status;
    }
    return 409;
}

int64_t wall_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

struct service_reply problem(struct service *service, const char *code)
{
    int status = status_of(code);
    struct text text = answer_begin(service);
    text_word(&text, "refused", "type", "about:blank");
    text_word(&text, "refused", "title", "Refused");
    text_number(&text, "refused", "status", status);
    text_word(&text, "refused", "code", code);
    text_word(&text, "refused", "detail", "as it is");
    bool of_sale = strcmp(code, "sale_closed") != 0 && strcmp(code, "no_such_sale") != 0;
    if (service->request->key[0] != '\0' && of_sale) {
        text_word(&text, "refused", "request", service->request->key);
        text_word(&text, "refused", "sale", current_sale(service)->id);
    }
    if (strcmp(code, "sold_out") == 0 && current_sale(service)->reserve_max_s > 0)
        text_number(&text, "refused", "reserved", current_sale(service)->reserved);
    if (status == 504)
        text_number(&text, "refused", "not_after", wall_us());
    struct service_reply reply = finish(service, &text, "refused", status);
    const char *replayed = lies_about(service->lies, "refused", "replayed");
    snprintf(reply.replayed, sizeof(reply.replayed), "%s", replayed == NULL ? "" : replayed);
    return reply;
}

static struct service_reply plain(struct service *service, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static struct service_reply plain(struct service *service, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(service->reply, sizeof(service->reply), format, args);
    va_end(args);
    return (struct service_reply){
        .status = 200, .body = service->reply, .length = length < 0 ? 0 : (size_t)length};
}

/* Every buy waited less than 10 ms for the lock, says the service; a sale takes it 100 us more of
 * processor time than a refusal, which takes 20. */
static struct service_reply show_metrics(struct service *service)
{
    int64_t n = current_sale(service)->buys, sold = current_sale(service)->sold;
    return plain(service,
                 "# TYPE flashsale_lock_wait_seconds histogram\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"0.001\"} %" PRId64 "\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"0.01\"} %" PRId64 "\n"
                 "flashsale_lock_wait_seconds_bucket{le=\"+Inf\"} %" PRId64 "\n"
                 "process_cpu_seconds_total %.6f\n",
                 n / 2, n, n, 1.5 + 100e-6 * (double)sold + 20e-6 * (double)n);
}

/* ---- requests -------------------------------------------------------------------------------- */

static void look_around(struct service *service)
{
    const struct sale *sale = current_sale(service);
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    service->lies->at = (struct occasion){
        .target = service->request->target,
        .now_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000,
        .buys = sale->buys,
        .left = sale->remaining,
        .initial = sale->initial,
    };
}

struct service_reply service_answer(struct service *service, const struct service_request *request)
{
    bool post = strcmp(request->method, "POST") == 0;
    service->request = request;
    look_around(service);
    expire_due(service);
    if (strcmp(request->path, "/livez") == 0)
        return plain(service, "ok\n");
    if (strcmp(request->path, "/metrics") == 0)
        return show_metrics(service);
    if (strcmp(request->path, "/strategies") == 0)
        return show_strategies(service);
    if (post && strcmp(request->path, "/sales") == 0)
        return open_sale(service);
    if (service->sale_count == 0)
        return problem(service, "no_such_item");
    if (post && strcmp(request->path, "/buy") == 0 &&
        lies_does(service->lies, "buy", "redirect", NULL)) {
        struct service_reply reply = problem(service, "not_found");
        reply.status = 307;
        snprintf(reply.location, sizeof(reply.location), "/v2/buy?%.240s", request->query);
        return reply;
    }
    if (post && (strcmp(request->path, "/buy") == 0 || strcmp(request->path, "/v2/buy") == 0))
        return buy(service);
    if (strcmp(request->path, "/stock") == 0)
        return show_stock(service);
    if (strcmp(request->path, "/orders") == 0)
        return show_page(service);
    if (post && strncmp(request->path, "/orders/", 8) == 0 &&
        strchr(request->path + 8, '/') != NULL)
        return end_order(service, request->path + 8);
    if (strncmp(request->path, "/orders/", 8) == 0)
        return show_order(service, request->path + 8);
    return problem(service, "not_found");
}
