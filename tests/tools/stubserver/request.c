/*
 * request.c - takes a request apart where it stands in the buffer, and waits for more when
 * it is not whole.
 */
#include "tests/tools/stubserver/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BODY_MAX 4096

/* Copies [from, to) into a field of `size` bytes; false when it does not fit. */
static bool copy(char *field, size_t size, const char *from, const char *to)
{
    size_t length = (size_t)(to - from);
    if (length >= size)
        return false;
    memcpy(field, from, length);
    field[length] = '\0';
    return true;
}

static bool read_first_line(const char *line, const char *end, struct service_request *request)
{
    const char *path = memchr(line, ' ', (size_t)(end - line));
    if (path == NULL || !copy(request->method, sizeof(request->method), line, path))
        return false;
    path++;
    const char *stop = memchr(path, ' ', (size_t)(end - path));
    if (stop == NULL)
        return false;
    const char *question = memchr(path, '?', (size_t)(stop - path));
    request->query[0] = '\0';
    if (question == NULL)
        return copy(request->path, sizeof(request->path), path, stop);
    return copy(request->path, sizeof(request->path), path, question) &&
           copy(request->query, sizeof(request->query), question + 1, stop);
}

static bool read_header(const char *line, const char *end, struct service_request *request)
{
    static const char key[] = "Idempotency-Key: ", size[] = "Content-Length: ";
    if (strncasecmp(line, key, sizeof(key) - 1) == 0)
        return copy(request->key, sizeof(request->key), line + sizeof(key) - 1, end);
    if (strncasecmp(line, size, sizeof(size) - 1) == 0)
        request->body_length = strtoul(line + sizeof(size) - 1, NULL, 10);
    return true;
}

long request_read(const char *buffer, size_t length, struct service_request *ret_request)
{
    struct service_request request = {.body_length = 0};
    const char *head_end = memmem(buffer, length, "\r\n\r\n", 4);
    if (head_end == NULL)
        return 0;
    const char *line = buffer, *end = memmem(line, length, "\r\n", 2);
    if (!read_first_line(line, end, &request))
        return -1;
    while (end < head_end) {
        line = end + 2;
        end = memmem(line, (size_t)(head_end + 2 - line), "\r\n", 2);
        if (!read_header(line, end, &request))
            return -1;
    }
    request.body = head_end + 4;
    size_t whole = (size_t)(request.body - buffer) + request.body_length;
    if (request.body_length > BODY_MAX)
        return -1;
    *ret_request = request;
    return length >= whole ? (long)whole : 0;
}

void query_value(const char *query, const char *name, char *value, size_t size)
{
    size_t length = strlen(name);
    value[0] = '\0';
    while (*query != '\0') {
        size_t field = strcspn(query, "&");
        if (field > length && query[length] == '=' && memcmp(query, name, length) == 0) {
            snprintf(value, size, "%.*s", (int)(field - length - 1), query + length + 1);
            return;
        }
        query += field + (query[field] == '&');
    }
}

void body_value(const char *body, const char *name, char *value, size_t size)
{
    char quoted[64];
    value[0] = '\0';
    snprintf(quoted, sizeof(quoted), "\"%s\":", name);
    const char *at = strstr(body, quoted);
    if (at == NULL)
        return;
    at += strlen(quoted);
    at += *at == '"';
    snprintf(value, size, "%.*s", (int)strcspn(at, "\",}"), at);
}
