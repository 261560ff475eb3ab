/*
 * A message is a tree of values. To find its end it suffices to count how many values are still to
 * come: a scalar takes one away, an array of n elements takes one away and adds n.
 */
#include "tests/tools/faultproxy/resp.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define LINE_MAX_BYTES (64 * 1024) /* Redis's own limit of one line */

/* The length of the line at `data`, its "\r\n" included; 0: not yet whole. */
static size_t line_size(const char *data, size_t len)
{
    const char *newline = memchr(data, '\n', len);
    return newline ? (size_t)(newline - data) + 1 : 0;
}

/* How many values an aggregate of this type and length consists of; -1: not an aggregate. */
static int64_t aggregate_items(char type, int64_t count)
{
    switch (type) {
    case '*':
    case '~':
    case '>':
        return count > 0 ? count : 0;
    case '%':
        return 2 * count;
    case '|': /* attributes stand before the value that they describe */
        return 2 * count + 1;
    default:
        return -1;
    }
}

static bool is_bulk(char type)
{
    return type == '$' || type == '=' || type == '!';
}

/* Reads one value. The bytes it takes, 0: more needed, -1: nonsense. Changes frame->items. */
static ssize_t take_value(resp_frame *frame, const char *data, size_t len)
{
    size_t size = line_size(data, len);
    if (size == 0)
        return len > LINE_MAX_BYTES ? -1 : 0;
    int64_t number = strtoll(data + 1, NULL, 10);
    int64_t items = aggregate_items(data[0], number);
    if (items >= 0) {
        frame->items += items - 1;
        return (ssize_t)size;
    }
    if (is_bulk(data[0]) && number >= 0) {
        size += (size_t)number + 2;
        if (size > len)
            return 0;
    }
    frame->items--;
    return (ssize_t)size;
}

ssize_t resp_frame_end(resp_frame *frame, const char *message, size_t len)
{
    if (!frame->started)
        *frame = (resp_frame){.items = 1, .started = true};
    while (frame->items > 0) {
        ssize_t taken = take_value(frame, message + frame->done, len - frame->done);
        if (taken <= 0)
            return taken;
        frame->done += (size_t)taken;
    }
    ssize_t end = (ssize_t)frame->done;
    *frame = (resp_frame){0};
    return end;
}

int resp_words(const char *request, size_t len)
{
    return len > 1 && request[0] == '*' ? (int)strtol(request + 1, NULL, 10) : 1;
}

bool resp_word(const char *request, size_t len, int index, const char **ret_word, size_t *ret_len)
{
    if (index >= resp_words(request, len))
        return false;
    if (request[0] != '*') { /* inline command: one line */
        *ret_word = request;
        *ret_len = strcspn(request, " \r\n");
        return true;
    }
    const char *end = request + len;
    const char *at = request + line_size(request, len);
    for (int i = 0; at < end; i++) {
        size_t word_len = (size_t)strtoll(at + 1, NULL, 10);
        at += line_size(at, (size_t)(end - at));
        if (i == index) {
            *ret_word = at;
            *ret_len = word_len;
            return at + word_len <= end;
        }
        at += word_len + 2;
    }
    return false;
}

bool resp_word_is(const char *request, size_t len, int index, const char *word)
{
    const char *found;
    size_t found_len;
    return resp_word(request, len, index, &found, &found_len) && found_len == strlen(word) &&
           strncasecmp(found, word, found_len) == 0;
}

bool resp_is_push(const char *reply, size_t len)
{
    static const char *const pushes[] = {">", "*3\r\n$7\r\nmessage\r\n", "*3\r\n$8\r\nsmessage\r\n",
                                         "*4\r\n$8\r\npmessage\r\n"};
    for (size_t i = 0; i < sizeof(pushes) / sizeof(pushes[0]); i++) {
        size_t push_len = strlen(pushes[i]);
        if (len >= push_len && memcmp(reply, pushes[i], push_len) == 0)
            return true;
    }
    return false;
}
