/*
 * A libcurl easy handle that is set up anew for every request and keeps its connection; the body
 * goes into a buffer that grows up to a limit.
 */
#include "loadtest/service/http_client.h"

#include "loadtest/base/clock.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BODY_LIMIT     (64u * 1024 * 1024)
#define TOKEN_LINE_MAX 512
#define READ_TRIES     5
#define READ_NS        (20 * NS_PER_S) /* after which no further try begins */
#define READ_PAUSE_NS  (100 * NS_PER_MS)

struct lt_http {
    CURL *easy;
    struct curl_slist *headers;
    char *body;
    size_t length, room;
};

lt_http *http_new(const char *token)
{
    lt_http *http = calloc(1, sizeof(*http));
    if (!http)
        return NULL;
    char authorization[TOKEN_LINE_MAX];
    snprintf(authorization, sizeof(authorization), "Authorization: Bearer %s", !token ? "" : token);
    http->easy = curl_easy_init();
    http->headers = curl_slist_append(NULL, "Content-Type: application/json");
    bool complete =
        http->easy && http->headers && (!token || curl_slist_append(http->headers, authorization));
    if (complete)
        return http;
    http_free(http);
    return NULL;
}

void http_free(lt_http *http)
{
    if (!http)
        return;
    curl_easy_cleanup(http->easy);
    curl_slist_free_all(http->headers);
    free(http->body);
    free(http);
}

static size_t receive(char *data, size_t size, size_t count, void *user)
{
    lt_http *http = user;
    size_t length = size * count;
    if (http->length + length + 1 > http->room) {
        size_t room = (http->length + length + 1) * 2;
        char *body = room > BODY_LIMIT ? NULL : realloc(http->body, room);
        if (!body)
            return 0;
        http->body = body;
        http->room = room;
    }
    memcpy(http->body + http->length, data, length);
    http->length += length;
    http->body[http->length] = '\0';
    return length;
}

void http_call(lt_http *http, const char *method, const char *url, const char *json,
               long timeout_ms, lt_http_reply *ret)
{
    CURL *easy = http->easy;
    char error[CURL_ERROR_SIZE] = "";
    http->length = 0;
    curl_easy_reset(easy);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_URL, url);
    curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT_MS, timeout_ms);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, error);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, http);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, http->headers);
    if (json)
        curl_easy_setopt(easy, CURLOPT_POSTFIELDS, json);
    CURLcode code = curl_easy_perform(easy);
    *ret = (lt_http_reply){.body = http->length > 0 ? http->body : ""};
    if (code != CURLE_OK) {
        snprintf(ret->error, sizeof(ret->error), "%s",
                 error[0] != '\0' ? error : curl_easy_strerror(code));
        return;
    }
    const char *type = NULL;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &ret->status);
    curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &type);
    if (type)
        snprintf(ret->type, sizeof(ret->type), "%.*s", (int)strcspn(type, "; "), type);
}

static bool is_passing(const lt_http_reply *reply)
{
    return reply->status == 0 || reply->status == 429 || reply->status >= 500;
}

void http_read(lt_http *http, const char *url, long timeout_ms, lt_http_reply *ret)
{
    mono_ns deadline = clock_now() + READ_NS, pause = READ_PAUSE_NS;
    for (int tries = 1;; tries++, pause *= 2) {
        http_call(http, "GET", url, NULL, timeout_ms, ret);
        if (!is_passing(ret) || tries == READ_TRIES || clock_now() + pause > deadline)
            return;
        clock_sleep_until(clock_now() + pause);
    }
}
