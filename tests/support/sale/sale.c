/* sale.c - questions about a sale, on connections kept open as real buyers keep them. */
#include "tests/support/sale/sale.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/patience.h"

enum { BODY_MAX = 2048, LONG_USER = 128 };

/* What an answer's body said, as the journal writes it: "-" = nothing. */
typedef struct answer {
    fx_told told;
    char sale[64], order[96], user[FX_USER_MAX];
    char remaining[24], fence[24], quantity[24], units[24], orders[24];
    char oversold[24], lost_updates[24], unordered[24];
    char reserved[24], sold[24], expires_us[24], time_us[24], state[16];
    bool final;
    char body[BODY_MAX];
    size_t len;
} answer;

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
                  "lease_us=%d wait_us=%d guarded=%d fences=%s failovers=%s reserve_us=%s",
                  s->id, s->item, terms->strategy, s->terms.durability, terms->stock, terms->limit,
                  terms->segments, terms->lease_ms * 1000, terms->wait_ms * 1000, strategy->guarded,
                  strategy->locked && strategy->guarded ? "1" : "-", terms->same_run ? "0" : "-",
                  reserve_us);
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

/* ---- one question ---------------------------------------------------------------------------- */

static size_t append(char *data, size_t size, size_t count, void *into)
{
    answer *a = into;
    size_t more = size * count, room = sizeof(a->body) - 1 - a->len;
    more = more < room ? more : room;
    memcpy(a->body + a->len, data, more);
    a->len += more;
    return size * count;
}

static void number_in(const cJSON *body, const char *name, char *buf, size_t len)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(body, name);
    snprintf(buf, len, "-");
    if (cJSON_IsNumber(member))
        snprintf(buf, len, "%.0f", member->valuedouble);
}

/* A value for the history, which takes no blank in it. */
static void text_in(const cJSON *body, const char *name, char *buf, size_t len)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(body, name);
    bool is_text = cJSON_IsString(member) && member->valuestring[0] != '\0';
    snprintf(buf, len, "%s", is_text ? member->valuestring : "-");
    for (char *at = buf; *at; at++)
        *at = *at > ' ' ? *at : '_';
}

static void read_body(answer *a)
{
    a->body[a->len] = '\0';
    cJSON *body = cJSON_Parse(a->body);
    text_in(body, "code", a->told.code, sizeof(a->told.code));
    text_in(body, "sale", a->sale, sizeof(a->sale));
    text_in(body, "order", a->order, sizeof(a->order));
    text_in(body, "user", a->user, sizeof(a->user));
    number_in(body, "remaining", a->remaining, sizeof(a->remaining));
    number_in(body, "units", a->units, sizeof(a->units));
    number_in(body, "orders", a->orders, sizeof(a->orders));
    number_in(body, "oversold", a->oversold, sizeof(a->oversold));
    number_in(body, "lost_updates", a->lost_updates, sizeof(a->lost_updates));
    number_in(body, "unordered", a->unordered, sizeof(a->unordered));
    number_in(body, "reserved", a->reserved, sizeof(a->reserved));
    number_in(body, "sold", a->sold, sizeof(a->sold));
    number_in(body, "expires_us", a->expires_us, sizeof(a->expires_us));
    number_in(body, "time_us", a->time_us, sizeof(a->time_us));
    text_in(body, "state", a->state, sizeof(a->state));
    a->told.expires_us = strtoll(a->expires_us, NULL, 10);
    number_in(body, "fence", a->fence, sizeof(a->fence));
    number_in(body, "quantity", a->quantity, sizeof(a->quantity));
    a->final = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(body, "final"));
    cJSON_Delete(body);
}

static pthread_key_t handles;

static void make_handles(void)
{
    pthread_key_create(&handles, curl_easy_cleanup);
}

/* A handle for each thread, whose connections stay open between its requests, until it ends. */
static CURL *handle_of_thread(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_handles);
    CURL *handle = pthread_getspecific(handles);
    if (handle == NULL)
        handle = curl_easy_init();
    pthread_setspecific(handles, handle);
    curl_easy_reset(handle);
    return handle;
}

static void ask(const char *method, const char *url, bool anew, answer *a)
{
    CURL *curl = handle_of_thread();
    long status = 0;
    *a = (answer){0};
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)fx_patient_ms(FX_ANSWER_MS));
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, anew ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, anew ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    a->told.status = (int)status;
    read_body(a);
}

bool fx_is_damaged(const fx_told *told)
{
    return told->status == 503 && strcmp(told->code, "sale_damaged") == 0;
}

bool fx_is_unknown(int status)
{
    return status == 0 || (status >= 500 && status != 503);
}

/* ---- what is asked --------------------------------------------------------------------------- */

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
        snprintf(s->told[s->told_count++ % FX_TOLD_KEPT], FX_REQUEST_MAX, "%s", request);
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

static fx_told buy(fx_sale *s, const char *request, int user, int quantity, int at, bool anew)
{
    char url[640], reserve[32] = "", name[FX_USER_MAX];
    answer a;
    fx_sale_user(s, user, name);
    if (s->terms.reserve_s > 0)
        snprintf(reserve, sizeof(reserve), "&reserve_s=%d", s->terms.reserve_s);
    snprintf(url, sizeof(url), "%s/buy?item=%s&user=%s&quantity=%d&request=%s&sale=%s%s",
             fx_server_url(fx.server[at]), s->item, name, quantity, request, s->id, reserve);
    int64_t from = journal_now_us();
    ask("POST", url, anew, &a);
    bool unnamed = a.told.status == 201 && strcmp(a.order, "-") == 0; /* a defect, to be seen */
    journal_write(s->history,
                  "ask from=%lld to=%lld request=%s user=%s quantity=%d target=%d status=%d "
                  "code=%s order=%s remaining=%s fence=%s sale=%s state=%s expires_us=%s",
                  (long long)from, (long long)journal_now_us(), request, name, quantity, at,
                  a.told.status, a.told.code, unnamed ? "none" : a.order, a.remaining, a.fence,
                  a.told.status == 201 ? "-" : a.sale, /* a yes counts, whichever sale it names */
                  a.state, a.expires_us);
    keep(s, request, a.told.status);
    return a.told;
}

fx_told fx_sale_ask(fx_sale *s, const char *request, int user, int quantity, int at)
{
    return buy(s, request, user, quantity, at, false);
}

fx_told fx_sale_ask_anew(fx_sale *s, const char *request, int user, int quantity, int at)
{
    return buy(s, request, user, quantity, at, true);
}

/* What was told of an order, as `look`, `confirm` or `cancel` in the history. */
static void write_look(const fx_sale *s, const char *what, const char *request, int at,
                       int64_t from, const answer *a)
{
    journal_write(s->history,
                  "%s from=%lld to=%lld request=%s target=%d status=%d code=%s final=%d order=%s "
                  "told_quantity=%s told_user=%s remaining=%s fence=%s state=%s expires_us=%s "
                  "time_us=%s",
                  what, (long long)from, (long long)journal_now_us(), request, at, a->told.status,
                  a->told.code, a->told.status == 404 && a->final, a->order, a->quantity, a->user,
                  a->remaining, a->fence, a->state, a->expires_us, a->time_us);
}

static void ask_to_settle(const fx_sale *s, const char *what, const char *request, int user, int at,
                          answer *a)
{
    char url[640], name[FX_USER_MAX];
    snprintf(url, sizeof(url), "%s/orders/%s/%s?item=%s&sale=%s&user=%s",
             fx_server_url(fx.server[at]), request, what, s->item, s->id,
             fx_sale_user(s, user, name));
    ask("POST", url, false, a);
}

fx_told fx_sale_settle(fx_sale *s, const char *what, const char *request, int user, int at)
{
    answer a;
    int64_t from = journal_now_us();
    ask_to_settle(s, what, request, user, at, &a);
    write_look(s, what, request, at, from, &a);
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

int fx_sale_look(fx_sale *s, const char *request, int at)
{
    char url[512];
    answer a;
    snprintf(url, sizeof(url), "%s/orders/%s?item=%s&sale=%s", fx_server_url(fx.server[at]),
             request, s->item, s->id);
    int64_t from = journal_now_us();
    ask("GET", url, false, &a);
    int status = a.told.status;
    write_look(s, "look", request, at, from, &a);
    return status == 404 && !a.final ? 0 : status;
}

long long fx_sale_look_at_stock(fx_sale *s, int at)
{
    char url[256];
    answer a;
    snprintf(url, sizeof(url), "%s/stock?item=%s", fx_server_url(fx.server[at]), s->item);
    int64_t from = journal_now_us();
    ask("GET", url, false, &a);
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
