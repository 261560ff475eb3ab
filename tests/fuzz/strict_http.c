/* strict_http.c - RFC 9112, sections 2.2, 3, 5 and 6; bodies in chunks are not read at all. */
#include "tests/fuzz/strict_http.h"

#include <string.h>
#include <strings.h>

enum { PLAIN_HEAD_MAX = 4096, BODY_MAX = 4096, PLAIN_HEADERS_MAX = 60 };

/* What the lines of the head say. */
typedef struct head {
    int hosts, lengths, headers;
    long length;
    bool old; /* HTTP/1.0 */
    bool close, keep;
    bool plain;
} head;

/* A word of the head, text[0..len). */
typedef struct words {
    const char *text;
    size_t len;
} words;

static bool equal(words a, const char *b)
{
    return a.len == strlen(b) && strncasecmp(a.text, b, a.len) == 0;
}

static bool is_token(unsigned char c)
{
    return c > ' ' && c < 127 && c != ':';
}

/* The line at `at`, without the CR LF that it must end with; no other CR, LF or NUL in it. */
static bool take_line(const char **at, const char *end, words *ret)
{
    const char *stop = memchr(*at, '\n', (size_t)(end - *at));
    if (!stop || stop == *at || stop[-1] != '\r')
        return false;
    *ret = (words){*at, (size_t)(stop - 1 - *at)};
    *at = stop + 1;
    return !memchr(ret->text, '\r', ret->len) && !memchr(ret->text, '\0', ret->len);
}

/* Up to the next blank, or the line's end. */
static words take_word(words *line)
{
    const char *blank = memchr(line->text, ' ', line->len);
    size_t len = blank ? (size_t)(blank - line->text) : line->len;
    words word = {line->text, len};
    size_t behind = blank ? len + 1 : len;
    line->text += behind;
    line->len -= behind;
    return word;
}

static bool all_visible(words word)
{
    for (size_t i = 0; i < word.len; i++)
        if ((unsigned char)word.text[i] <= ' ' || word.text[i] == 127)
            return false;
    return word.len > 0;
}

static bool all_plain(words word)
{
    for (size_t i = 0; i < word.len; i++)
        if (word.text[i] < ' ' || word.text[i] >= 127)
            return false;
    return true;
}

static bool read_request_line(words line, head *ret)
{
    words method = take_word(&line), target = take_word(&line), version = take_word(&line);
    ret->old = version.len == 8 && memcmp(version.text, "HTTP/1.0", 8) == 0;
    ret->plain = (equal(method, "GET") || equal(method, "POST")) && method.text[0] < 'a' &&
                 target.len > 0 && target.text[0] == '/' && all_plain(target);
    for (size_t i = 0; i < method.len; i++)
        if (!is_token((unsigned char)method.text[i]))
            return false;
    return method.len > 0 && all_visible(target) && line.len == 0 &&
           (ret->old || (version.len == 8 && memcmp(version.text, "HTTP/1.1", 8) == 0));
}

static bool read_length(words value, head *ret)
{
    ret->length = 0;
    for (size_t i = 0; i < value.len; i++) {
        if (value.text[i] < '0' || value.text[i] > '9' || i >= 9)
            return false;
        ret->length = ret->length * 10 + (value.text[i] - '0');
    }
    return value.len > 0 && ++ret->lengths == 1;
}

/* A list of words between commas. */
static void read_connection(words value, head *ret)
{
    while (value.len > 0) {
        const char *comma = memchr(value.text, ',', value.len);
        words one = {value.text, comma ? (size_t)(comma - value.text) : value.len};
        size_t behind = comma ? one.len + 1 : one.len;
        for (; one.len > 0 && strchr(" \t", one.text[0]); one.len--)
            one.text++;
        while (one.len > 0 && strchr(" \t", one.text[one.len - 1]))
            one.len--;
        ret->close = ret->close || equal(one, "close");
        ret->keep = ret->keep || equal(one, "keep-alive");
        value.text += behind;
        value.len -= behind;
    }
}

static bool read_header(words line, head *ret)
{
    const char *colon = memchr(line.text, ':', line.len);
    words name = {line.text, colon ? (size_t)(colon - line.text) : 0};
    for (size_t i = 0; i < name.len; i++)
        if (!is_token((unsigned char)name.text[i]))
            return false;
    if (name.len == 0)
        return false;
    words value = {colon + 1, line.len - name.len - 1};
    ret->plain = ret->plain && value.len > 1 && value.text[0] == ' ' && value.text[1] != ' ' &&
                 value.text[value.len - 1] != ' ' && all_plain(value) && !equal(name, "Expect") &&
                 !equal(name, "Upgrade") && ++ret->headers <= PLAIN_HEADERS_MAX;
    for (; value.len > 0 && strchr(" \t", value.text[0]); value.len--)
        value.text++;
    while (value.len > 0 && strchr(" \t", value.text[value.len - 1]))
        value.len--;
    static const char *const once[] = {"Idempotency-Key", "Flashsale-Request-Id", "Authorization",
                                       "Content-Type",    "Connection",           "Origin",
                                       "Sec-Fetch-Site",  "Buyer-Token"};
    for (size_t i = 0; i < sizeof(once) / sizeof(once[0]); i++)
        ret->plain = ret->plain && !equal(name, once[i]);
    if (equal(name, "Connection"))
        read_connection(value, ret);
    if (equal(name, "Host"))
        return ++ret->hosts == 1;
    return equal(name, "Content-Length") ? read_length(value, ret)
                                         : !equal(name, "Transfer-Encoding");
}

static bool read_head(const char **at, const char *end, head *ret)
{
    words line;
    if (end - *at >= 2 && memcmp(*at, "\r\n", 2) == 0)
        *at += 2; /* one empty line is nothing */
    const char *begin = *at;
    if (!take_line(at, end, &line) || !read_request_line(line, ret))
        return false;
    while (take_line(at, end, &line)) {
        if (line.len == 0) {
            ret->plain = ret->plain && *at - begin < PLAIN_HEAD_MAX && ret->length <= BODY_MAX;
            return ret->old || ret->hosts == 1;
        }
        if (!read_header(line, ret))
            return false;
    }
    return false;
}

bool strict_read(const char *bytes, size_t len, strict_request *ret)
{
    head said = {0};
    const char *at = bytes, *end = bytes + len;
    if (!read_head(&at, end, &said) || said.length > end - at)
        return false;
    ret->size = (size_t)(at - bytes) + (size_t)said.length;
    ret->last = said.close || (said.old && !said.keep);
    ret->plain = said.plain && !said.old;
    return true;
}
