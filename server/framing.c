/* framing.c - what RFC 9112 (sections 3.2, 5.1 and 6) asks of the headers that tell where a request
 * ends. */
#include "server/framing.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The headers that matter, as found; NULL = not sent. */
typedef struct found {
    api_headers headers;
    const char *length, *coding, *connection, *expect;
    const char *twice; /* the name of one that came again */
} found;

#define SLOT(field) offsetof(found, field)

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

static void take(found *f, const http_header *header)
{
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcasecmp(header->name, wanted[i].name) != 0)
            continue;
        const char **slot = (const char **)((char *)f + wanted[i].slot);
        if (*slot && !wanted[i].list)
            f->twice = wanted[i].name;
        *slot = header->value;
        return;
    }
}

/* Digits only, and so few that no reader's integer overflows. */
static bool is_length(const char *text)
{
    size_t digits = strspn(text, "0123456789");
    return digits > 0 && digits < 10 && text[digits] == '\0';
}

static const char *find_fault(const found *f, bool old)
{
    if (f->twice)
        return "a header that must be unique came twice";
    if (!f->headers.host && !old)
        return "no Host header";
    if (f->length && f->coding)
        return "Content-Length and Transfer-Encoding together";
    if (f->length && !is_length(f->length))
        return "Content-Length is not a number";
    if (f->coding && (old || strcasecmp(f->coding, "chunked") != 0))
        return "a Transfer-Encoding other than chunked";
    return NULL;
}

http_framing framing_read(const http_header *headers, int count, const char *version)
{
    found f = {0};
    for (int i = 0; i < count; i++)
        take(&f, &headers[i]);

    bool old = strcmp(version, "1.0") == 0;
    http_framing framing = {
        .fault = find_fault(&f, old),
        .chunked = f.coding,
        .expect = old ? NULL : f.expect,
        .headers = f.headers,
    };
    if (!framing.fault && f.length)
        framing.length = strtol(f.length, NULL, 10);
    if (f.connection)
        framing.close = strcasecmp(f.connection, "keep-alive") != 0;
    else
        framing.close = old;
    return framing;
}

/* ---- between the parts ----------------------------------------------------------------------- */

/* civetweb's buffer, and so a request without anything before it, begins where malloc() puts it. */
#define BUFFER_ALIGNMENT 16

/* One empty line, or none. civetweb takes any blanks, but counts the bytes of the head only up to
 * the second line end: it would read the body, and the next request, from the middle of this one.
 * (Sixteen blanks look like none: who sends them confuses his own connection.) */
static bool begins_cleanly(const char *method)
{
    size_t before = (uintptr_t)method % BUFFER_ALIGNMENT;
    return before == 0 || (before == 2 && method[-2] == '\r' && method[-1] == '\n');
}

/* Where the next line begins, behind `text` and its CR LF, both NULs now. */
static const char *line_behind(const char *text)
{
    return text + strlen(text) + 2;
}

/* Between a name and its value there are the colon, a NUL now, and blanks. A blank before the colon
 * has become a NUL too. */
static bool is_joined(const http_header *header)
{
    const char *behind = header->name + strlen(header->name) + 1;
    return behind + strspn(behind, " \t") == header->value;
}

/* Whether `line` is the empty one that ends the head. Its last byte is a NUL now, wherever civetweb
 * stopped; the one before too, when no header came. */
static bool ends_head(const char *line, const http_head *head)
{
    size_t before = (uintptr_t)head->method % BUFFER_ALIGNMENT;
    if ((size_t)(line - head->method) + before + 2 > FRAMING_HEAD_MAX)
        return false;
    return line[0] == (head->count > 0 ? '\r' : '\0') && line[1] == '\0';
}

const char *framing_find_hidden(const http_head *head)
{
    static const char version[] = "HTTP/";
    if (!begins_cleanly(head->method))
        return "more than one empty line before the request";
    if (head->target != head->method + strlen(head->method) + 1 ||
        head->version != head->target_end + 1 + strlen(version))
        return "the parts of the request line are not one blank apart";
    const char *line = line_behind(head->version);
    for (int i = 0; i < head->count; i++) {
        if (head->headers[i].name != line)
            return "a line that does not end with CR LF, or a folded one";
        if (!is_joined(&head->headers[i]))
            return "a blank before the colon of a header";
        line = line_behind(head->headers[i].value);
    }
    return ends_head(line, head) ? NULL : "a malformed header";
}

size_t framing_head_bytes(const http_head *head)
{
    const char *last = head->count > 0 ? head->headers[head->count - 1].value : head->version;
    size_t before = (uintptr_t)head->method % BUFFER_ALIGNMENT;
    return (size_t)(line_behind(last) - head->method) + before + 2;
}
