/* wire.c - rewrites a body in memory, and sends it. */
#include "tests/tools/stubserver/wire.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define CHUNK  700
#define STORED 65535 /* bytes in a block of deflate */

bool wire_style_parse(const char *names, unsigned *ret_style)
{
    static const char *const all[] = {"chunked", "gzip",    "close", "http10", "lower",
                                      "pretty",  "escaped", "extra", "padded", "decimal"};
    *ret_style = 0;
    for (bool known = true; known; names++) {
        size_t length = strcspn(names, ",");
        known = false;
        for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
            if (strlen(all[i]) == length && memcmp(all[i], names, length) == 0) {
                *ret_style |= 1U << i;
                known = true;
            }
        }
        names += length;
        if (known && *names == '\0')
            return true;
    }
    return false;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

struct bytes {
    char *data;
    size_t length, room;
};

static void add(struct bytes *bytes, const void *data, size_t length)
{
    while (bytes->length + length > bytes->room) {
        bytes->room = bytes->room == 0 ? 16384 : bytes->room * 2;
        bytes->data = realloc(bytes->data, bytes->room);
        if (bytes->data == NULL) {
            fputs("stubserver: out of memory\n", stderr);
            exit(1);
        }
    }
    memcpy(bytes->data + bytes->length, data, length);
    bytes->length += length;
}

static void add_text(struct bytes *bytes, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void add_text(struct bytes *bytes, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(bytes, text, (size_t)length);
}

/* ---- the body -------------------------------------------------------------------------------- */

static void add_extras(struct bytes *bytes, const char *next, unsigned style, bool first)
{
    const char *comma = *next == '}' ? "" : ",";
    if ((style & WIRE_EXTRA) != 0)
        add_text(bytes, "\"x_note\":{\"order\":\"none\",\"request\":[\"a\\\"}b\",null,1e3]}%s",
                 comma);
    if ((style & WIRE_PADDED) != 0 && first)
        add_text(bytes, "\"x_padding\":\"");
    for (int i = 0; (style & WIRE_PADDED) != 0 && first && i < 60; i++)
        add_text(bytes, "%0100d", i);
    if ((style & WIRE_PADDED) != 0 && first)
        add_text(bytes, "\"%s", comma);
}

/* Rewrites JSON, character by character; what it means stays the same. */
static void rewrite(struct bytes *bytes, const struct service_reply *reply, unsigned style)
{
    bool inside = false, first = true;
    for (size_t i = 0; i < reply->length; i++) {
        char c = reply->body[i], next = reply->body[i + 1];
        if (inside && c == '-' && (style & WIRE_ESCAPED) != 0)
            add_text(bytes, "\\u002d");
        else
            add(bytes, &c, 1);
        inside = inside != (c == '"');
        if (inside)
            continue;
        if (c == '{') {
            add_extras(bytes, reply->body + i + 1, style, first);
            first = false;
        }
        if ((style & WIRE_PRETTY) != 0 && strchr("{[,", c) != NULL)
            add_text(bytes, "\r\n\t  ");
        if ((style & WIRE_PRETTY) != 0 && c == ':')
            add_text(bytes, " ");
        if ((style & WIRE_DECIMAL) != 0 && isdigit((unsigned char)c) && strchr(",}]", next) != NULL)
            add_text(bytes, ".0");
    }
}

static uint32_t crc_of(const char *data, size_t length)
{
    uint32_t crc = 0xffffffff;
    for (size_t i = 0; i < length; i++) {
        crc ^= (unsigned char)data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static void add_little(struct bytes *bytes, uint32_t number, int count)
{
    for (int i = 0; i < count; i++) {
        char byte = (char)(number >> (8 * i));
        add(bytes, &byte, 1);
    }
}

/* Puts it into gzip's frame, in blocks that are stored as they are (RFC 1951, 3.2.4). */
static void wrap(struct bytes *body)
{
    struct bytes gzip = {0};
    add(&gzip, "\x1f\x8b\x08\0\0\0\0\0\0\x03", 10);
    size_t at = 0, length;
    do {
        length = body->length - at > STORED ? STORED : body->length - at;
        add_little(&gzip, at + length == body->length, 1);
        add_little(&gzip, (uint32_t)length | ~(uint32_t)length << 16, 4);
        add(&gzip, body->data + at, length);
        at += length;
    } while (at < body->length);
    add_little(&gzip, crc_of(body->data, body->length), 4);
    add_little(&gzip, (uint32_t)body->length, 4);
    free(body->data);
    *body = gzip;
}

/* ---- the answer ------------------------------------------------------------------------------ */

static void add_header(struct bytes *bytes, unsigned style, const char *name, const char *value)
{
    for (; *name != '\0'; name++)
        add_text(bytes, "%c", (style & WIRE_LOWER) != 0 ? tolower((unsigned char)*name) : *name);
    add_text(bytes, ": %s\r\n", value);
}

static void add_head(struct bytes *bytes, const struct service_reply *reply, unsigned style,
                     size_t length)
{
    char number[32];
    int status = reply->status;
    snprintf(number, sizeof(number), "%zu", length);
    add_text(bytes, "HTTP/1.%d %d %s\r\n", (style & WIRE_HTTP10) == 0, status,
             status < 300   ? "OK"
             : status < 500 ? "Refused"
                            : "Failed");
    add_header(bytes, style, "Content-Type",
               status < 400 ? "application/json" : "application/problem+json");
    if ((style & WIRE_CHUNKED) == 0)
        add_header(bytes, style, "Content-Length", number);
    else
        add_header(bytes, style, "Transfer-Encoding", "chunked");
    if ((style & WIRE_GZIP) != 0)
        add_header(bytes, style, "Content-Encoding", "gzip");
    if ((style & (WIRE_CLOSE | WIRE_HTTP10)) != 0)
        add_header(bytes, style, "Connection", "close");
    if (status == 429 || status == 503)
        add_header(bytes, style, "Retry-After", "1");
    if (reply->location[0] != '\0')
        add_header(bytes, style, "Location", reply->location);
    if (reply->replayed[0] != '\0')
        add_header(bytes, style, "Idempotency-Replayed", reply->replayed);
    add_text(bytes, "\r\n");
}

static void add_chunks(struct bytes *bytes, const struct bytes *body)
{
    for (size_t at = 0; at < body->length; at += CHUNK) {
        size_t length = body->length - at > CHUNK ? CHUNK : body->length - at;
        add_text(bytes, "%zx\r\n", length);
        add(bytes, body->data + at, length);
        add_text(bytes, "\r\n");
    }
    add_text(bytes, "0\r\n\r\n");
}

/* Whole replies are small, or read at once by the tests: a blocking tail is good enough. */
static bool send_all(int fd, const char *data, size_t length)
{
    while (length > 0) {
        ssize_t sent = send(fd, data, length, MSG_NOSIGNAL);
        if (sent < 0 && errno == EAGAIN) {
            struct timespec moment = {.tv_nsec = 100000};
            nanosleep(&moment, NULL);
            continue;
        }
        if (sent < 0)
            return false;
        data += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool wire_send(int fd, const struct service_reply *reply, unsigned style)
{
    static struct bytes body, whole; /* kept for the next answer */
    body.length = whole.length = 0;
    rewrite(&body, reply, style);
    if ((style & WIRE_GZIP) != 0)
        wrap(&body);
    add_head(&whole, reply, style, body.length);
    if ((style & WIRE_CHUNKED) != 0)
        add_chunks(&whole, &body);
    else
        add(&whole, body.data, body.length);
    return send_all(fd, whole.data, whole.length) && (style & (WIRE_CLOSE | WIRE_HTTP10)) == 0;
}
