/* http.c - one request with libcurl, the whole answer in memory. */
#include "tests/support/http.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/support/patience.h"

/* libcurl's write callback: appends to the string at *into. */
static size_t append(char *data, size_t size, size_t count, void *into)
{
    char **text = into;
    size_t have = strlen(*text), more = size * count;
    char *grown = realloc(*text, have + more + 1);
    if (grown == NULL)
        return 0;
    memcpy(grown + have, data, more);
    grown[have + more] = '\0';
    *text = grown;
    return more;
}

static struct curl_slist *header_list(const char *const *headers)
{
    struct curl_slist *list = curl_slist_append(NULL, "Expect:"); /* no 100-continue round */
    for (size_t i = 0; headers && headers[i]; i++)
        list = curl_slist_append(list, headers[i]);
    return list;
}

int fx_http(const char *method, const char *url, const char *const *headers, const char *body,
            int timeout_ms, fx_reply *ret)
{
    *ret = (fx_reply){.body = calloc(1, 1), .headers = calloc(1, 1)};
    CURL *curl = curl_easy_init();
    struct curl_slist *list = header_list(headers);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_URL, url);
    curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)fx_patient_ms(timeout_ms));
    curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, ret->error);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &ret->body);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, append);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &ret->headers);
    if (strcmp(method, "HEAD") == 0)
        curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
    if (body || strcmp(method, "POST") == 0)
        curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body ? body : "");

    if (curl_easy_perform(curl) == CURLE_OK) {
        long status = 0;
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
        ret->status = (int)status;
    }
    curl_slist_free_all(list);
    curl_easy_cleanup(curl);
    return ret->status;
}

const char *fx_reply_header(const fx_reply *reply, const char *name, char *buf, size_t len)
{
    size_t name_len = strlen(name);
    buf[0] = '\0';
    for (const char *line = reply->headers; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncasecmp(line, name, name_len) != 0 || line[name_len] != ':')
            continue;
        const char *value = line + name_len + 1;
        value += strspn(value, " \t");
        snprintf(buf, len, "%.*s", (int)strcspn(value, "\r\n"), value);
        break;
    }
    return buf;
}

void fx_reply_free(fx_reply *reply)
{
    free(reply->body);
    free(reply->headers);
    *reply = (fx_reply){0};
}
