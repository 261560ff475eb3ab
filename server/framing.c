/* framing.c - what RFC 9112 (sections 3.2, 5.1 and 6) asks of the headers that tell where a request
 * ends. */
#include "server/framing.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The headers that matter, as found; NULL = not sent. */
typedef struct found {
    const char *host, *length, *coding, *connection, *key, *authorization;
    const char *twice; /* the name of one that came again */
} found;

static void take(found *f, const http_header *header)
{
    const struct {
        const char *name, **slot;
    } wanted[] = {
        {"Host", &f->host},
        {"Content-Length", &f->length},
        {"Transfer-Encoding", &f->coding},
        {"Connection", &f->connection},
        {"Idempotency-Key", &f->key},
        {"Authorization", &f->authorization},
    };
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        if (strcasecmp(header->name, wanted[i].name) != 0)
            continue;
        if (*wanted[i].slot && wanted[i].slot != &f->connection) /* it is a list */
            f->twice = wanted[i].name;
        *wanted[i].slot = header->value;
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
    if (!f->host && !old)
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
        .length = -1,
        .chunked = f.coding,
        .idempotency_key = f.key,
        .authorization = f.authorization,
    };
    if (!framing.fault && f.length)
        framing.length = strtol(f.length, NULL, 10);
    if (f.connection)
        framing.close = strcasecmp(f.connection, "keep-alive") != 0;
    else
        framing.close = old;
    return framing;
}

bool framing_is_complete(const char *last_value)
{
    const char *next = last_value + strlen(last_value) + 1;
    if (*next == '\0') /* the line ended with CR LF, not with LF alone */
        next++;
    return *next == '\r' || *next == '\n';
}
