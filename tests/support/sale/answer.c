/* answer.c - asks over connections that are kept open, as real buyers keep them. */
#include "tests/support/sale/answer.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/patience.h"

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
    text_in(body, "item", a->item, sizeof(a->item));
    text_in(body, "request", a->told.request, sizeof(a->told.request));
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

void answer_ask(const char *method, const char *url, bool anew, answer *ret)
{
    CURL *curl = handle_of_thread();
    long status = 0;
    *ret = (answer){0};
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    if (strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, "");
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)fx_patient_ms(FX_ANSWER_MS));
    curl_easy_setopt(curl, CURLOPT_FRESH_CONNECT, anew ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_FORBID_REUSE, anew ? 1L : 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, ret);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    ret->told.status = (int)status;
    read_body(ret);
}
