/* An answer with a missing member or a number that is not whole is no stock: a guessed figure
 * must not decide a verdict. */
#include "loadtest/service/stock.h"

#include "loadtest/base/json.h"

#include <stdio.h>
#include <string.h>

#define ANSWER_MS 5000L

void describe_reply(const char *what, const char *url, const lt_http_reply *reply,
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

static bool take_number(const cJSON *json, const char *name, bool optional, int64_t *ret)
{
    lt_whole number = json_read_whole(json, name);
    *ret = number.value;
    return number.form == FORM_GOOD || (optional && number.form == FORM_ABSENT);
}

static bool take_text(const cJSON *json, const char *name, char *ret, size_t size)
{
    lt_text text = json_read_text(json, name);
    if (text.form != FORM_GOOD || strlen(text.text) >= size)
        return false;
    snprintf(ret, size, "%s", text.text);
    return true;
}

/* `halted` is an object, or absent. */
static bool take_halt(const cJSON *json, lt_stock *stock)
{
    const cJSON *halted = cJSON_GetObjectItemCaseSensitive(json, "halted");
    if (!take_number(json, "lost_orders", true, &stock->lost_orders))
        return false;
    if (!halted || cJSON_IsNull(halted) || cJSON_IsFalse(halted))
        return true;
    if (!take_text(halted, "why", stock->halted, sizeof(stock->halted)))
        snprintf(stock->halted, sizeof(stock->halted), "yes");
    return stock->lost_orders != 0 || take_number(halted, "lost_orders", true, &stock->lost_orders);
}

static bool take_stock(const cJSON *json, const char *item, lt_stock *stock)
{
    char of[72];
    stock->reserved = json_read_whole(json, "reserved");
    stock->sold = json_read_whole(json, "sold");
    stock->time_us = json_read_whole(json, "time_us");
    return take_text(json, "item", of, sizeof(of)) && strcmp(of, item) == 0 &&
           take_text(json, "sale", stock->sale, sizeof(stock->sale)) &&
           take_text(json, "strategy", stock->strategy, sizeof(stock->strategy)) &&
           take_number(json, "initial", false, &stock->initial) &&
           take_number(json, "remaining", false, &stock->remaining) &&
           take_number(json, "orders", false, &stock->orders) &&
           take_number(json, "units", false, &stock->units) &&
           take_number(json, "oversold", false, &stock->oversold) &&
           take_number(json, "lost_updates", false, &stock->lost_updates) &&
           take_number(json, "unordered", true, &stock->unordered) && take_halt(json, stock);
}

/* Writes a line "stock"; status 0 if the answer was no stock. */
static void record(lt_pen *pen, int target, mono_ns from, long status, const lt_stock *stock)
{
    pen_word(pen, "stock");
    pen_time(pen, "from", from);
    pen_time(pen, "to", clock_now());
    pen_number(pen, "target", target);
    if (!stock) {
        pen_number(pen, "status", status == 200 ? 0 : status);
        pen_line(pen);
        return;
    }
    const struct {
        const char *name;
        int64_t value;
        bool always;
    } numbers[] = {
        {"remaining", stock->remaining, true},  {"units", stock->units, true},
        {"orders", stock->orders, true},        {"initial", stock->initial, true},
        {"oversold", stock->oversold, false},   {"lost_updates", stock->lost_updates, false},
        {"unordered", stock->unordered, false}, {"lost_orders", stock->lost_orders, false},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].always || numbers[i].value != 0)
            pen_number(pen, numbers[i].name, numbers[i].value);
    }
    if (stock->reserved.form == FORM_GOOD)
        pen_number(pen, "reserved", stock->reserved.value);
    if (stock->sold.form == FORM_GOOD)
        pen_number(pen, "sold", stock->sold.value);
    if (stock->time_us.form == FORM_GOOD && stock->time_us.value >= 0)
        pen_number(pen, "time_us", stock->time_us.value);
    pen_text(pen, "sale", stock->sale);
    pen_text(pen, "strategy", stock->strategy);
    if (stock->halted[0] != '\0')
        pen_text(pen, "halted", stock->halted);
    pen_line(pen);
}

void stock_write_rest(lt_pen *pen, const lt_stock *stock)
{
    pen_word(pen, "rest");
    pen_number(pen, "remaining", stock->remaining);
    pen_line(pen);
}

bool stock_read(lt_http *http, lt_pen *pen, const lt_plan *plan, int target, bool patient,
                lt_stock *ret, char *err, size_t err_len)
{
    char url[512];
    lt_http_reply reply;
    lt_stock stock = {.sale = ""};
    mono_ns from = clock_now();
    snprintf(url, sizeof(url), "%s/stock?item=%s", plan->targets[target], plan->item);
    if (patient)
        http_read(http, url, ANSWER_MS, &reply);
    else
        http_call(http, "GET", url, NULL, ANSWER_MS, &reply);
    cJSON *json = reply.status == 200 ? json_parse(reply.body, strlen(reply.body)) : NULL;
    bool good = take_stock(json, plan->item, &stock);
    cJSON_Delete(json);
    if (pen)
        record(pen, target, from, reply.status, good ? &stock : NULL);
    if (good)
        *ret = stock;
    else
        describe_reply("GET", url, &reply,
                       reply.status == 200 ? "not a stock of that item" : "no stock", err, err_len);
    return good;
}
