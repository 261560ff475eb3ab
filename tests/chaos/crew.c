/* crew.c - buyers on connections of their own, kept open, as real ones keep them. */
#include "tests/chaos/crew.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/chaos/journal.h"
#include "tests/support/service.h"

enum {
    ANSWER_MS = 15000, /* the service answers within 10 s */
    BODY_MAX = 2048,
    DOUBTS_MAX = 20000,
    REQUEST_MAX = 48, /* of a request's name */
    AGAIN_MS = 25     /* behind an answer that is worth another try */
};

/* What an answer's body said, as the journal writes it: "-" = nothing. */
typedef struct answer {
    int status;
    char code[48], sale[64], order[96], user[80];
    char remaining[24], fence[24], quantity[24], units[24];
    bool final;
    char body[BODY_MAX];
    size_t len;
} answer;

crew_counts crew;

static pthread_t buyers[CREW_BUYERS];
static bool present;
static char item[32], sale[64];
static atomic_bool over, paused;
static atomic_int inside; /* buyers with a request under way */
static atomic_int pause_ms, quick, avoided, attempts;

/* Requests with an attempt whose outcome nobody knows; the same one may be there twice. What finds
 * no room stays unresolved, which buycheck sees. */
static char doubts[DOUBTS_MAX][REQUEST_MAX];
static atomic_int doubt_count;

/* The instance for a turn, which is one that runs. */
static int instance_for(int turn)
{
    int at = turn % FX_INSTANCES, away = atomic_load(&avoided);
    return at == away ? (at + 1) % FX_INSTANCES : at;
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
    text_in(body, "code", a->code, sizeof(a->code));
    text_in(body, "sale", a->sale, sizeof(a->sale));
    text_in(body, "order", a->order, sizeof(a->order));
    text_in(body, "user", a->user, sizeof(a->user));
    number_in(body, "remaining", a->remaining, sizeof(a->remaining));
    number_in(body, "units", a->units, sizeof(a->units));
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

static void ask(const char *method, const char *url, answer *a)
{
    CURL *curl = handle_of_thread();
    long status = 0;
    *a = (answer){0};
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)ANSWER_MS);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, a);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    a->status = (int)status;
    read_body(a);
}

static bool is_unknown(int status)
{
    return status == 0 || (status >= 500 && status != 503);
}

static void doubt(const char *request)
{
    int at = atomic_fetch_add(&doubt_count, 1);
    if (at < DOUBTS_MAX)
        snprintf(doubts[at], sizeof(doubts[at]), "%s", request);
}

int crew_ask(const char *request, int user, int quantity, int at)
{
    char url[512];
    answer a;
    snprintf(url, sizeof(url), "%s/buy?item=%s&user=u%d&quantity=%d&request=%s&sale=%s",
             fx_server_url(fx.server[at]), item, user, quantity, request, sale);
    int64_t from = journal_now_us();
    ask("POST", url, &a);
    bool unnamed = a.status == 201 && strcmp(a.order, "-") == 0; /* a defect, for buycheck to see */
    journal("ask from=%lld to=%lld request=%s user=u%d quantity=%d instance=%d status=%d code=%s "
            "order=%s remaining=%s fence=%s sale=%s",
            (long long)from, (long long)journal_now_us(), request, user, quantity, at, a.status,
            a.code, unnamed ? "none" : a.order, a.remaining, a.fence,
            a.status == 201 ? "-" : a.sale); /* a yes counts here, whichever sale it names */
    if (is_unknown(a.status))
        doubt(request);
    return a.status;
}

int crew_look(const char *request, int at)
{
    char url[512];
    answer a;
    snprintf(url, sizeof(url), "%s/orders/%s?item=%s&sale=%s", fx_server_url(fx.server[at]),
             request, item, sale);
    int64_t from = journal_now_us();
    ask("GET", url, &a);
    journal("look from=%lld to=%lld request=%s status=%d found=%d final=%d order=%s "
            "quantity=%s user=%s",
            (long long)from, (long long)journal_now_us(), request, a.status, a.status == 200,
            a.status == 404 && a.final, a.order, a.quantity, a.user);
    return a.status == 404 && !a.final ? 0 : a.status;
}

void crew_look_at_stock(int turn)
{
    char url[256];
    answer a;
    snprintf(url, sizeof(url), "%s/stock?item=%s", fx_server_url(fx.server[instance_for(turn)]),
             item);
    int64_t from = journal_now_us();
    ask("GET", url, &a);
    if (a.status == 200 && strcmp(a.sale, sale) == 0 && strcmp(a.remaining, "-") != 0)
        journal("stock from=%lld to=%lld remaining=%s units=%s source=service", (long long)from,
                (long long)journal_now_us(), a.remaining, a.units);
}

/* ---- one buyer ------------------------------------------------------------------------------- */

static void *buy_one(void *arg)
{
    crew_buyer *buyer = arg;
    buyer->status = crew_ask(buyer->request, buyer->user, 1, buyer->at);
    atomic_store(&buyer->done, true);
    return NULL;
}

void crew_send(crew_buyer *buyer, const char *request, int user, int at)
{
    *buyer = (crew_buyer){.user = user, .at = at};
    snprintf(buyer->request, sizeof(buyer->request), "%s", request);
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy_one, buyer), 0);
}

int crew_answer(crew_buyer *buyer)
{
    pthread_join(buyer->thread, NULL);
    return buyer->status;
}

typedef struct repetition {
    const crew_buyer *buyer;
    int at;
} repetition;

static bool has_definite_answer(void *arg)
{
    const repetition *r = arg;
    int status = crew_ask(r->buyer->request, r->buyer->user, 1, r->at);
    return status == 201 || status == 409;
}

bool crew_settle(const crew_buyer *buyer, int at, int deadline_ms)
{
    repetition r = {buyer, at};
    return fx_wait_until(has_definite_answer, &r, deadline_ms);
}

/* ---- buyers ---------------------------------------------------------------------------------- */

static void count(int status)
{
    if (status == 201)
        atomic_fetch_add(&crew.bought, 1);
    else if (status == 409)
        atomic_fetch_add(&crew.sold_out, 1);
    else if (status == 503)
        atomic_fetch_add(&crew.busy, 1);
    else
        atomic_fetch_add(is_unknown(status) ? &crew.unknown : &crew.other, 1);
}

/* One request, with all its attempts. */
static void buy(int number)
{
    char request[REQUEST_MAX];
    bool again = true;
    snprintf(request, sizeof(request), "r-%d", number);
    for (int i = 0; again && i < atomic_load(&attempts); i++) {
        if (i > 0)
            fx_let_pass(AGAIN_MS);
        int status =
            crew_ask(request, number % CREW_USERS, 1 + number % 7 / 6, instance_for(number + i));
        count(status);
        again = status == 503 || is_unknown(status);
    }
}

static void *buy_on_and_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        atomic_fetch_add(&inside, 1);
        if (!atomic_load(&paused)) {
            buy(atomic_fetch_add(&crew.begun, 1));
            atomic_fetch_add(&crew.ended, 1);
        }
        atomic_fetch_sub(&inside, 1);
        if (atomic_load(&paused))
            fx_let_pass(1);
        else if (atomic_load(&crew.begun) >= atomic_load(&quick))
            fx_let_pass(atomic_load(&pause_ms));
    }
    return NULL;
}

void crew_start(const char *for_item, const char *for_sale, bool alone)
{
    snprintf(item, sizeof(item), "%s", for_item);
    snprintf(sale, sizeof(sale), "%s", for_sale);
    atomic_store(&avoided, -1);
    atomic_store(&attempts, 3);
    atomic_store(&doubt_count, 0);
    atomic_store(&over, false);
    for (int i = 0; !alone && i < CREW_BUYERS; i++)
        assert_int_equal(pthread_create(&buyers[i], NULL, buy_on_and_on, NULL), 0);
    present = !alone;
}

void crew_pace(int ms)
{
    atomic_store(&pause_ms, ms);
}

void crew_quick(int requests)
{
    atomic_store(&quick, requests);
}

void crew_avoid(int instance)
{
    atomic_store(&avoided, instance);
}

void crew_attempts(int most)
{
    atomic_store(&attempts, most);
}

typedef struct goal {
    atomic_int *count;
    int so_far;
} goal;

static bool is_reached(void *arg)
{
    goal *g = arg;
    return atomic_load(g->count) >= g->so_far;
}

bool crew_until(atomic_int *count_of, int so_far, int deadline_ms)
{
    goal g = {count_of, so_far};
    return fx_wait_until(is_reached, &g, deadline_ms);
}

bool crew_more(atomic_int *count_of, int more, int deadline_ms)
{
    return crew_until(count_of, atomic_load(count_of) + more, deadline_ms);
}

static bool nobody_is_inside(void *arg)
{
    (void)arg;
    return atomic_load(&inside) == 0;
}

void crew_pause(void)
{
    atomic_store(&paused, true);
    if (!fx_wait_until(nobody_is_inside, NULL, 4 * ANSWER_MS))
        fail_msg("buyers are still waiting for their answers");
}

void crew_go_on(void)
{
    atomic_store(&paused, false);
}

void crew_end(void)
{
    atomic_store(&over, true);
    for (int i = 0; present && i < CREW_BUYERS; i++)
        pthread_join(buyers[i], NULL);
    present = false;
}

/* ---- doubt ----------------------------------------------------------------------------------- */

static bool is_resolved(void *request)
{
    int status = crew_look(request, instance_for(0));
    return status == 200 || status == 404;
}

void crew_resolve(int deadline_ms)
{
    int64_t end_us = journal_now_us() + deadline_ms * INT64_C(1000);
    int number = atomic_load(&doubt_count);
    for (int i = 0; i < number && i < DOUBTS_MAX; i++) {
        int64_t left_ms = (end_us - journal_now_us()) / 1000;
        if (left_ms > 0)
            fx_wait_until(is_resolved, doubts[i], (int)left_ms);
    }
}
