/* framing.c - checks a request's head as RFC 9112 (sections 2.2, 3.2, 5.1 and 6) requires. */
#include "server/framing.h"

#include <civetweb.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* civetweb reads each request into one buffer of malloc()'s, so a request without anything before
 * it begins at a multiple of this, and what lies between such a multiple and a request is of the
 * buffer. Nothing else tells where the buffer begins: civetweb hands out neither it nor the length
 * that it has found for the head. */
#define BUFFER_ALIGNMENT 16

/* What is wrong with the bytes between the parts, as a sentence; NULL = nothing. civetweb cuts the
 * head up in place, by NULs over blanks, colons and line ends, and keeps quiet about what it
 * skipped, which another reader may not: blanks before a colon, lines that end with LF alone,
 * folded or malformed headers, at the first of which it stops, dropping a Content-Length behind it.
 */
static const char *find_hidden(const struct mg_request_info *info, size_t *bytes)
{
    const char *method = info->request_method, *version = info->http_version;
    const char *target = info->query_string ? info->query_string : info->request_uri;
    size_t before = (uintptr_t)method % BUFFER_ALIGNMENT;
    /* One empty line may come before a request, as behind a body of the one before. civetweb takes
     * any blanks, but counts the bytes of the head only up to the second line end: it would read
     * the body, and the next request, from the middle of this one. (Sixteen blanks look like none:
     * who sends them confuses his own connection.) */
    if (before != 0 && (before != 2 || method[-2] != '\r' || method[-1] != '\n'))
        return "more than one empty line before the request";
    if (info->request_uri != method + strlen(method) + 1 ||
        version != target + strlen(target) + 1 + strlen("HTTP/"))
        return "the parts of the request line are not one blank apart";
    const char *line = version + strlen(version) + 2;
    for (int i = 0; i < info->num_headers; i++) {
        const char *name = info->http_headers[i].name, *value = info->http_headers[i].value;
        const char *behind = name + strlen(name) + 1; /* a blank before the colon is a NUL, too */
        if (name != line)
            return "a line that does not end with CR LF, or a folded one";
        if (behind + strspn(behind, " \t") != value)
            return "a blank before the colon of a header";
        line = value + strlen(value) + 2;
    }
    /* The empty line. Its last byte is a NUL now, wherever civetweb stopped; the one before too,
     * when no header came. */
    *bytes = (size_t)(line - method) + before + 2;
    if (*bytes > FRAMING_HEAD_MAX || line[0] != (info->num_headers > 0 ? '\r' : '\0') || line[1])
        return "a malformed header";
    return NULL;
}

#define SLOT(field) offsetof(http_framing, field)

static const struct {
    const char *name;
    size_t slot;
    bool list; /* may come again */
} wanted[] = {
    {"Host", SLOT(headers.host), false},
    {"Content-Length", SLOT(length), false},
    {"Transfer-Encoding", SLOT(coding), false},
    {"Connection", SLOT(connection), true},
    {"Idempotency-Key", SLOT(headers.idempotency_key), false},
    {"Flashsale-Request-Id", SLOT(headers.proxy_request), false},
    {"Authorization", SLOT(headers.authorization), false},
    {"Content-Type", SLOT(headers.content_type), false},
    {"If-None-Match", SLOT(headers.if_none_match), true},
    {"Accept", SLOT(headers.accept), true},
    {"Expect", SLOT(expect), false},
    {"Origin", SLOT(headers.origin), false},
    {"Sec-Fetch-Site", SLOT(headers.fetch_site), false},
    {"Buyer-Token", SLOT(headers.buyer_token), false},
};

static void take(http_framing *framing, const struct mg_header *header)
{
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcasecmp(header->name, wanted[i].name) != 0)
            continue;
        const char **slot = (const char **)((char *)framing + wanted[i].slot);
        if (*slot && !wanted[i].list)
            framing->fault = "a header that must be unique came twice";
        *slot = header->value;
        return;
    }
}

static const char *find_fault(const http_framing *framing, bool old)
{
    if (!framing->headers.host && !old)
        return "no Host header";
    if (framing->length && framing->coding)
        return "Content-Length and Transfer-Encoding together";
    size_t digits = framing->length ? strspn(framing->length, "0123456789") : 1;
    if (digits == 0 || digits > 9 || (framing->length && framing->length[digits] != '\0'))
        return "Content-Length is not a number"; /* or one that overflows in some reader */
    if (framing->coding && (old || strcasecmp(framing->coding, "chunked") != 0))
        return "a Transfer-Encoding other than chunked";
    return NULL;
}

http_framing framing_read(const struct mg_request_info *info)
{
    http_framing framing = {0};
    bool old = strcmp(info->http_version, "1.0") == 0;
    for (int i = 0; i < info->num_headers; i++)
        take(&framing, &info->http_headers[i]);
    if (!framing.fault)
        framing.fault = find_fault(&framing, old);
    const char *hidden = find_hidden(info, &framing.head);
    if (hidden)
        framing.fault = hidden;
    if (!framing.fault && framing.length)
        framing.body = strtoul(framing.length, NULL, 10);
    if (old)
        framing.expect = NULL;
    framing.close = framing.connection ? strcasecmp(framing.connection, "keep-alive") != 0 : old;
    return framing;
}
