/* source.c - asks by libcurl, and parses answers with cJSON. */
#include "server/orders/source.h"

#include <curl/curl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INSTANCES_MAX 16
#define RATE_TRIES    10 /* a second apart, after a 429: an instance allows fewer questions */
#define CONNECT_MS    2000L
#define ANSWER_MS     15000L
#define BODY_MAX      (16 << 20) /* a page of 1,000 orders has 1 MB at most */

struct source {
    CURL *curl;
    struct curl_slist *headers;
    char *urls[INSTANCES_MAX];
    int count, now;
    char *body;
    size_t len, room;
    char err[512];
};

static size_t take(char *bytes, size_t size, size_t count, void *arg)
{
    source *from = arg;
    size_t len = size * count;
    if (from->len + len + 1 > from->room) {
        size_t room = (from->len + len + 1) * 2;
        char *body = room <= BODY_MAX ? realloc(from->body, room) : NULL;
        if (!body)
            return 0;
        from->body = body;
        from->room = room;
    }
    memcpy(from->body + from->len, bytes, len);
    from->len += len;
    from->body[from->len] = '\0';
    return len;
}

/* False: these are not 1 to 16 HTTP URLs. */
static bool read_urls(source *from, const char *urls)
{
    bool fine = true;
    while (fine) {
        size_t len = strcspn(urls, ",");
        fine = from->count < INSTANCES_MAX &&
               (strncmp(urls, "http://", 7) == 0 || strncmp(urls, "https://", 8) == 0);
        const char *last = urls + len;
        while (fine && last > urls && last[-1] == '/')
            last--;
        if (fine && !(from->urls[from->count++] = strndup(urls, (size_t)(last - urls))))
            fine = false;
        if (urls[len] == '\0')
            break;
        urls += len + 1;
    }
    return fine;
}

static bool set_up(source *from, const char *token)
{
    char header[512];
    from->curl = curl_easy_init();
    snprintf(header, sizeof(header), "Authorization: Bearer %s", token);
    if (token[0] != '\0')
        from->headers = curl_slist_append(NULL, header);
    return from->curl && (from->headers || token[0] == '\0') &&
           !curl_easy_setopt(from->curl, CURLOPT_HTTPHEADER, from->headers) &&
           !curl_easy_setopt(from->curl, CURLOPT_PROTOCOLS_STR, "http,https") &&
           !curl_easy_setopt(from->curl, CURLOPT_PROXY, "") &&
           !curl_easy_setopt(from->curl, CURLOPT_NOSIGNAL, 1L) &&
           !curl_easy_setopt(from->curl, CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) &&
           !curl_easy_setopt(from->curl, CURLOPT_TIMEOUT_MS, ANSWER_MS) &&
           !curl_easy_setopt(from->curl, CURLOPT_WRITEFUNCTION, take) &&
           !curl_easy_setopt(from->curl, CURLOPT_WRITEDATA, from);
}

source *source_new(const char *urls, const char *token, char *err, size_t err_len)
{
    source *from = calloc(1, sizeof(*from));
    if (!from || !read_urls(from, urls))
        snprintf(err, err_len, "--from takes 1 to %d URLs http://... or https://..., with commas",
                 INSTANCES_MAX);
    else if (!set_up(from, token))
        snprintf(err, err_len, "libcurl can not be used");
    else
        return from;
    source_free(from);
    return NULL;
}

void source_free(source *from)
{
    if (!from)
        return;
    for (int i = 0; i < from->count; i++)
        free(from->urls[i]);
    if (from->curl)
        curl_easy_cleanup(from->curl);
    curl_slist_free_all(from->headers);
    free(from->body);
    free(from);
}

/* If there is nothing at the path, this is no instance, or an older one. */
/* A sale that is damaged, and over: no instance knows more of it. */
static bool is_last_word(const answer *from)
{
    const char *code = answer_text(from, "code");
    return answer_text(from, "next_sale") ||
           (from->status < 500 && from->status != 401 && from->status != 403 &&
            from->status != 429 && (!code || strcmp(code, "not_found") != 0));
}

/* Asks one instance. False: from->err says why this is no answer. */
static bool ask(source *from, const char *url, const char *path, answer *ret)
{
    char whole[1024];
    snprintf(whole, sizeof(whole), "%s%s", url, path);
    from->len = 0;
    ret->status = 0;
    CURLcode code = curl_easy_setopt(from->curl, CURLOPT_URL, whole);
    if (code == CURLE_OK)
        code = curl_easy_perform(from->curl);
    if (code != CURLE_OK) {
        snprintf(from->err, sizeof(from->err), "%s: %s", url, curl_easy_strerror(code));
        return false;
    }
    curl_easy_getinfo(from->curl, CURLINFO_RESPONSE_CODE, &ret->status);
    ret->body = from->body;
    ret->json = from->len > 0 ? cJSON_ParseWithLength(from->body, from->len) : NULL;
    bool is_ours = cJSON_IsObject(ret->json);
    const char *why = answer_text(ret, "detail");
    if (is_ours && is_last_word(ret))
        return true;
    if (is_ours)
        snprintf(from->err, sizeof(from->err), "%s: %ld %s: %s", url, ret->status,
                 answer_text(ret, "code") ? answer_text(ret, "code") : "", why ? why : "");
    else
        snprintf(from->err, sizeof(from->err), "%s: %ld, and not as an instance answers", url,
                 ret->status);
    cJSON_Delete(ret->json);
    return false;
}

bool source_get(source *from, const char *path, answer *ret)
{
    for (int tries = 0, i = 0; i < from->count; i++) {
        if (ask(from, from->urls[from->now], path, ret))
            return true;
        if (ret->status == 429 && tries++ < RATE_TRIES) {
            poll(NULL, 0, 1000);
            i--;
        } else {
            from->now = (from->now + 1) % from->count;
        }
    }
    return false;
}

const char *source_error(const source *from)
{
    return from->err;
}

const char *answer_text(const answer *from, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from->json, name));
}

double answer_number(const answer *from, const char *name)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(from->json, name);
    return cJSON_IsNumber(member) ? member->valuedouble : 0;
}

bool answer_is(const answer *from, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(from->json, name));
}
