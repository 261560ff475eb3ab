/* reply.c - makes replies and problems, and writes their bytes. */
#include "server/api/reply.h"

#include <stdio.h>
#include <string.h>

#include "lock/dlock_redis.h"

void reply_init(api_reply *reply)
{
    memset(reply, 0, offsetof(api_reply, location)); /* not the texts' kilobytes */
    reply->status = 500;
    reply->content_type = "text/plain; charset=utf-8";
    text_init(&reply->location);
    text_init(&reply->body);
}

void reply_free(api_reply *reply)
{
    text_free(&reply->location);
    text_free(&reply->body);
}

fs_text *reply_json(api_reply *reply, int status)
{
    reply->status = status;
    reply->content_type = "application/json";
    reply->object = true;
    text_clear(&reply->body);
    text_add(&reply->body, "{");
    return &reply->body;
}

static const char *status_title(int status)
{
    static const struct {
        int status;
        const char *title;
    } titles[] = {
        {200, "OK"},
        {201, "Created"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {421, "Misdirected Request"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++)
        if (titles[i].status == status)
            return titles[i].title;
    return "Unknown";
}

void problem(api_reply *reply, int status, const char *code, const char *detail)
{
    fs_text *out = reply_json(reply, status);
    reply->retry_after_s = status == 503 || status == 429;
    reply->content_type = "application/problem+json";
    text_put(out, AS_IS("type", "\"about:blank\""), STRING("title", status_title(status)),
             NUMBER("status", status), STRING("code", code), STRING("detail", detail));
}

void problem_outcome(api_reply *reply, purchase_outcome outcome, const char *detail)
{
    const outcome_words *words = &outcome_table[outcome];
    problem(reply, words->status, words->code, detail ? detail : words->sentence);
}

void problem_redis(api_reply *reply, const char *redis, const char *so)
{
    static const char *const reasons[][2] = {
        {"OOM", "out of memory"},
        {"READONLY", "it takes no writes"},
        {"NOPERM", "the service's user lacks a right"},
        {"NOAUTH", "it wants a password"},
        {"WRONGPASS", "the password is wrong"},
        {"MISCONF", "its writes are off since a save failed"},
        {"NOREPLICAS", "it has too few replicas"},
        {"LOADING", "it is still loading"},
    };
    char detail[160];
    const char *why = "see the log";
    for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
        if (strcmp(reasons[i][0], redis) == 0)
            why = reasons[i][1];
    if (redis[0] == '\0')
        redis = "no_answer";
    if (strcmp(redis, "no_answer") == 0)
        snprintf(detail, sizeof(detail), "Redis did not answer; %s", so);
    else if (strcmp(redis, DLOCK_NOT_ADMITTED) == 0)
        snprintf(detail, sizeof(detail),
                 "Redis was restarted or replaced, and is compared before anything is written; %s",
                 so);
    else
        snprintf(detail, sizeof(detail), "Redis refused (%s): %s; %s", redis, why, so);
    problem_outcome(reply, BUY_UNAVAILABLE, detail);
    text_put(&reply->body, STRING("redis", redis));
}

/* ---- as bytes -------------------------------------------------------------------------------- */

/* What a browser may do with a page of ours, and with anything else: nothing. */
#define PAGE_POLICY                                                                                \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "              \
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
#define DATA_POLICY "default-src 'none'; frame-ancestors 'none'"

static void write_optional(fs_text *out, const api_reply *reply)
{
    if (reply->retry_after_s > 0) {
        text_add(out, "Retry-After: ");
        text_add_int(out, reply->retry_after_s);
        text_add(out, "\r\n");
    }
    if (reply->location.len > 0)
        text_add_all(out, "Location: ", text_bytes(&reply->location), "\r\n");
    if (reply->allow)
        text_add_all(out, "Allow: ", reply->allow, "\r\n");
    if (reply->etag)
        text_add_all(out, "ETag: \"", reply->etag, "\"\r\n");
    if (reply->challenge)
        text_add_all(out, "WWW-Authenticate: ", reply->challenge, "\r\n");
    if (reply->replayed)
        text_add(out, "Idempotency-Replayed: true\r\n");
}

void reply_write(fs_text *out, const api_reply *reply, bool head_only)
{
    bool page = strncmp(reply->content_type, "text/html", 9) == 0;
    const char *end = reply->object ? "}\n" : "";
    text_add(out, "HTTP/1.1 ");
    text_add_int(out, reply->status);
    text_add_all(out, " ", status_title(reply->status), "\r\nContent-Type: ", reply->content_type);
    if (reply->stream[0] == '\0') { /* else it ends with its connection */
        text_add(out, "\r\nContent-Length: ");
        text_add_int(out, (int64_t)(reply->body.len + strlen(end)));
    }
    text_add_all(out, "\r\nCache-Control: ", reply->etag ? "no-cache" : "no-store", "\r\n");
    text_add_all(out,
                 "X-Content-Type-Options: nosniff\r\n"
                 "Referrer-Policy: no-referrer\r\nContent-Security-Policy: ",
                 page ? PAGE_POLICY : DATA_POLICY, "\r\n");
    write_optional(out, reply);
    text_add_all(out, "Connection: ", reply->close ? "close" : "keep-alive", "\r\n\r\n");
    out->failed = out->failed || reply->location.failed;
    if (head_only || reply->status == 304)
        return;
    text_add_bytes(out, text_bytes(&reply->body), reply->body.len);
    text_add(out, end);
}
