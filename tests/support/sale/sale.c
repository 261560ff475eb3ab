/* sale.c - questions about a sale, on connections kept open as real buyers keep them. */
#include "tests/support/sale/sale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sale/answer.h"

enum { LONG_USER = 128 };

/* ---- start and end --------------------------------------------------------------------------- */

static const fx_strategy *strategy_named(const char *name)
{
    const fx_strategy *s = fx_strategies();
    while (s->name[0] != '\0' && strcmp(s->name, name) != 0)
        s++;
    if (s->name[0] == '\0')
        fail_msg("there is no strategy %s", name);
    return s;
}

/* Only what is said: the service's defaults stand for the rest. */
static void add_member(char *buf, size_t len, const char *name, int value)
{
    if (value > 0)
        snprintf(buf + strlen(buf), len - strlen(buf), ",'%s':%d", name, value);
}

fx_sale *fx_sale_start(const fx_terms *terms, const char *history)
{
    char more[192] = "";
    char reserve_us[24] = "-";
    fx_sale *s = calloc(1, sizeof(*s));
    const fx_strategy *strategy = strategy_named(terms->strategy);
    s->terms = *terms;
    snprintf(s->item, sizeof(s->item), "%s", terms->item);
    s->terms.item = s->item;
    s->terms.durability = terms->durability ? terms->durability : "memory";
    pthread_mutex_init(&s->lock, NULL);
    add_member(more, sizeof(more), "per_user_limit", terms->limit);
    add_member(more, sizeof(more), "reserve_max_s", terms->reserve_s);
    add_member(more, sizeof(more), "segments", terms->segments);
    add_member(more, sizeof(more), "lease_ms", terms->lease_ms);
    add_member(more, sizeof(more), "wait_ms", terms->wait_ms);
    add_member(more, sizeof(more), "hold_ms", terms->hold_ms);
    if (terms->reserve_s > 0)
        snprintf(reserve_us, sizeof(reserve_us), "%d000000", terms->reserve_s);
    s->history = journal_open(history);
    snprintf(s->id, sizeof(s->id), "%s",
             fx_start_sale(fx.server[0], s->item, "'stock':%d,'strategy':'%s','durability':'%s'%s",
                           terms->stock, terms->strategy, s->terms.durability, more));
    fx_wait_in_force(s->item, s->id);
    journal_write(s->history,
                  "sale id=%s item=%s strategy=%s durability=%s stock=%d limit=%d segments=%d "
                  "lease_us=%d wait_us=%d guarded=%d fences=%s failovers=%s reserve_us=%s "
                  "wall_us=%lld at=%lld",
                  s->id, s->item, terms->strategy, s->terms.durability, terms->stock, terms->limit,
                  terms->segments, terms->lease_ms * 1000, terms->wait_ms * 1000, strategy->guarded,
                  strategy->locked && strategy->guarded ? "1" : "-", terms->same_run ? "0" : "-",
                  reserve_us, (long long)journal_wall_us(), (long long)journal_now_us());
    fx_sale_look_at_stock(s, 0); /* a history that has no reading at all is not judged SAFE */
    return s;
}

void fx_sale_end(fx_sale *s)
{
    if (!s)
        return;
    journal_close(s->history);
    pthread_mutex_destroy(&s->lock);
    free(s->doubts);
    free(s);
}

int fx_sale_key_sets(const fx_sale *s)
{
    return s->terms.segments > 0 ? s->terms.segments : 1;
}

const char *fx_sale_key(const fx_sale *s, int segment, const char *name, char *buf, size_t len)
{
    char tag[48];
    if (s->terms.segments > 0)
        snprintf(tag, sizeof(tag), "{%s#%d}", s->item, segment);
    else
        snprintf(tag, sizeof(tag), "{%s}", s->item);
    bool of_lock =
        strcmp(name, "queue") == 0 || strcmp(name, "fence") == 0 || strcmp(name, "beats") == 0;
    if (of_lock)
        snprintf(buf, len, "dlock:%s:%s:fs:%s:%s:lock", tag, name, tag, s->id);
    else if (strcmp(name, "sale") == 0)
        snprintf(buf, len, "fs:%s:sale", tag);
    else
        snprintf(buf, len, "fs:%s:%s:%s", tag, s->id, name);
    return buf;
}

/* ---- what is asked --------------------------------------------------------------------------- */

bool fx_is_damaged(const fx_told *told)
{
    return told->status == 503 && strcmp(told->code, "sale_damaged") == 0;
}

bool fx_is_unknown(int status)
{
    return status == 0 || (status >= 500 && status != 503);
}

static void keep(fx_sale *s, const char *request, int status)
{
    pthread_mutex_lock(&s->lock);
    if (fx_is_unknown(status)) {
        if (s->doubt_count == s->doubt_space) {
            s->doubt_space = 2 * s->doubt_space + 64;
            s->doubts = realloc(s->doubts, s->doubt_space * sizeof(*s->doubts));
        }
        snprintf(s->doubts[s->doubt_count++], FX_REQUEST_MAX, "%s", request);
    } else if (status == 201 || status == 409) {
        int yes = status == 201;
        snprintf(s->told[yes][s->told_count[yes]++ % FX_TOLD_KEPT], FX_REQUEST_MAX, "%s", request);
    }
    pthread_mutex_unlock(&s->lock);
}

const char *fx_sale_user(const fx_sale *s, int user, char buf[FX_USER_MAX])
{
    if (s->terms.long_users)
        snprintf(buf, FX_USER_MAX, "u%0*d%c", LONG_USER - 2, user / 2, user % 2 ? 'A' : 'a');
    else
        snprintf(buf, FX_USER_MAX, "u%d", user);
    return buf;
}

/* A number for the history, or a part of a query; nothing if it is 0. */
static const char *number_text(const char *before, int64_t number, char buf[64])
{
    snprintf(buf, 64, number ? "%s%lld" : "", before, (long long)number);
    return buf;
}

/* Who had no key has that of the answer. Without one he has a name that nobody else has. */
static void name_unkeyed(fx_sale *s, const answer *a, char request[FX_REQUEST_MAX])
{
    pthread_mutex_lock(&s->lock);
    size_t number = ++s->unkeyed;
    pthread_mutex_unlock(&s->lock);
    bool named = strcmp(a->told.request, "-") != 0;
    if (named)
        snprintf(request, FX_REQUEST_MAX, "%s", a->told.request);
    else
        snprintf(request, FX_REQUEST_MAX, "unkeyed-%zu", number);
    if (!named && fx_is_unknown(a->told.status))
        journal_lacks(s->history, "unnamed");
}

static void write_buy(const fx_sale *s, const fx_buy *b, const char *request, int at, int64_t from,
                      const answer *a)
{
    char user[FX_USER_MAX], not_after[64], reserve_us[64];
    bool unnamed = a->told.status == 201 && strcmp(a->order, "-") == 0; /* a defect, to be seen */
    journal_write(
        s->history,
        "ask from=%lld to=%lld request=%s user=%s quantity=%d target=%d status=%d "
        "code=%s order=%s told_request=%s told_item=%s told_user=%s told_quantity=%s "
        "sale=%s remaining=%s fence=%s state=%s expires_us=%s%s%s%s",
        (long long)from, (long long)journal_now_us(), request, fx_sale_user(s, b->user, user),
        b->quantity, at, a->told.status, a->told.code, unnamed ? "none" : a->order, a->told.request,
        a->item, a->user, a->quantity, a->sale, a->remaining, a->fence, a->state, a->expires_us,
        b->request[0] ? "" : " keyed=0", number_text(" not_after=", b->not_after_us, not_after),
        number_text(" reserve_us=", b->reserve_s * INT64_C(1000000), reserve_us));
}

fx_told fx_sale_buy(fx_sale *s, const fx_buy *b, int at)
{
    char url[768], user[FX_USER_MAX], request[FX_REQUEST_MAX], reserve[64], not_after[64];
    answer a;
    snprintf(request, sizeof(request), "%s", b->request);
    snprintf(url, sizeof(url), "%s/buy?item=%s&user=%s&quantity=%d&sale=%s%s%s%s%s",
             fx_server_url(fx.server[at]), s->item, fx_sale_user(s, b->user, user), b->quantity,
             s->id, request[0] ? "&request=" : "", request,
             number_text("&reserve_s=", b->reserve_s ? b->reserve_s : s->terms.reserve_s, reserve),
             number_text("&not_after=", b->not_after_us, not_after));
    int64_t from = journal_now_us();
    answer_ask("POST", url, b->anew, &a);
    if (request[0] == '\0')
        name_unkeyed(s, &a, request);
    write_buy(s, b, request, at, from, &a);
    keep(s, request, a.told.status);
    return a.told;
}

fx_told fx_sale_ask(fx_sale *s, const char *request, int user, int quantity, int at)
{
    fx_buy b = {.user = user, .quantity = quantity};
    snprintf(b.request, sizeof(b.request), "%s", request);
    return fx_sale_buy(s, &b, at);
}

/* What was told of an order, as `look`, `confirm` or `cancel` in the history. */
static void write_look(const fx_sale *s, const char *what, const char *request, int64_t until_us,
                       int at, int64_t from, const answer *a)
{
    char not_after[64];
    journal_write(s->history,
                  "%s from=%lld to=%lld request=%s target=%d status=%d code=%s final=%d order=%s "
                  "told_request=%s told_item=%s told_user=%s told_quantity=%s sale=%s "
                  "remaining=%s fence=%s state=%s expires_us=%s time_us=%s%s",
                  what, (long long)from, (long long)journal_now_us(), request, at, a->told.status,
                  a->told.code, a->told.status == 404 && a->final, a->order, a->told.request,
                  a->item, a->user, a->quantity, a->told.status == 200 ? a->sale : "-",
                  a->remaining, a->fence, a->state, a->expires_us, a->time_us,
                  number_text(" not_after=", until_us, not_after));
}

static void ask_to_settle(const fx_sale *s, const char *what, const char *request, int user, int at,
                          answer *a)
{
    char url[640], name[FX_USER_MAX];
    snprintf(url, sizeof(url), "%s/orders/%s/%s?item=%s&sale=%s&user=%s",
             fx_server_url(fx.server[at]), request, what, s->item, s->id,
             fx_sale_user(s, user, name));
    answer_ask("POST", url, false, a);
}

fx_told fx_sale_settle(fx_sale *s, const char *what, const char *request, int user, int at)
{
    answer a;
    int64_t from = journal_now_us();
    ask_to_settle(s, what, request, user, at, &a);
    write_look(s, what, request, 0, at, from, &a);
    keep(s, request, a.told.status);
    return a.told;
}

fx_told fx_sale_settle_for_another(fx_sale *s, const char *what, const char *request, int user,
                                   int at)
{
    answer a;
    ask_to_settle(s, what, request, user, at, &a);
    return a.told;
}

int fx_sale_look_until(fx_sale *s, const char *request, int64_t not_after_us, int at)
{
    char url[512], not_after[64];
    answer a;
    snprintf(url, sizeof(url), "%s/orders/%s?item=%s&sale=%s%s", fx_server_url(fx.server[at]),
             request, s->item, s->id, number_text("&not_after=", not_after_us, not_after));
    int64_t from = journal_now_us();
    answer_ask("GET", url, false, &a);
    int status = a.told.status;
    write_look(s, "look", request, not_after_us, at, from, &a);
    return status == 404 && !a.final ? 0 : status;
}

int fx_sale_look(fx_sale *s, const char *request, int at)
{
    return fx_sale_look_until(s, request, 0, at);
}

long long fx_sale_look_at_stock(fx_sale *s, int at)
{
    char url[256];
    answer a;
    snprintf(url, sizeof(url), "%s/stock?item=%s", fx_server_url(fx.server[at]), s->item);
    int64_t from = journal_now_us();
    answer_ask("GET", url, false, &a);
    if (a.told.status != 200 || strcmp(a.sale, s->id) != 0 || strcmp(a.remaining, "-") == 0)
        return -1;
    journal_write(s->history,
                  "stock from=%lld to=%lld target=%d remaining=%s units=%s orders=%s oversold=%s "
                  "lost_updates=%s unordered=%s reserved=%s sold=%s",
                  (long long)from, (long long)journal_now_us(), at, a.remaining, a.units, a.orders,
                  a.oversold, a.lost_updates, a.unordered, a.reserved, a.sold);
    return a.reserved[0] == '-' ? -1 : strtoll(a.reserved, NULL, 10);
}

/* ---- doubt ----------------------------------------------------------------------------------- */

typedef struct question {
    fx_sale *sale;
    const char *request;
    int at;
} question;

static bool is_resolved(void *arg)
{
    const question *q = arg;
    int status = fx_sale_look(q->sale, q->request, q->at);
    return status == 200 || status == 404;
}

void fx_sale_resolve(fx_sale *s, int at, int deadline_ms)
{
    int64_t end_us = journal_now_us() + deadline_ms * INT64_C(1000);
    for (size_t i = 0; i < s->doubt_count; i++) {
        question q = {s, s->doubts[i], at};
        int64_t left_ms = (end_us - journal_now_us()) / 1000;
        if (left_ms > 0)
            fx_wait_until(is_resolved, &q, (int)left_ms);
    }
}
