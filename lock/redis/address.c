/*
 * Parsing of redis://, rediss:// and unix:// addresses. Each part takes its piece of the text and
 * returns what is wrong with it, as words that never repeat the text: it may hold a password.
 */
#include "redis/address.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Copies n characters of `from` and decodes %XX. False: too long, or bad escape, or a NUL. */
static bool decode(const char *from, size_t n, char *to, size_t to_len)
{
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        int c = (unsigned char)from[i];
        if (c == '%') {
            if (i + 2 >= n || hex(from[i + 1]) < 0 || hex(from[i + 2]) < 0)
                return false;
            c = hex(from[i + 1]) * 16 + hex(from[i + 2]);
            i += 2;
        }
        if (c == 0 || out + 1 >= to_len)
            return false;
        to[out++] = (char)c;
    }
    to[out] = 0;
    return true;
}

static bool number(const char *text, long min, long max, int *ret)
{
    char *end;
    long n = strtol(text, &end, 10);
    if (end == text || *end || n < min || n > max)
        return false;
    *ret = (int)n;
    return true;
}

static const char *parse_credentials(const char *text, size_t len, address *ret)
{
    const char *colon = memchr(text, ':', len);
    size_t user = colon ? (size_t)(colon - text) : 0;
    const char *password = colon ? colon + 1 : text;
    if (!decode(text, user, ret->user, sizeof(ret->user)) ||
        !decode(password, len - (size_t)(password - text), ret->password, sizeof(ret->password)))
        return "user or password is too long or has a bad %XX";
    return NULL;
}

/* Reads what stands before the last '@' in text[0..len). Returns its length, '@' included. */
static const char *parse_user(const char *text, size_t len, address *ret, size_t *ret_len)
{
    const char *at = memrchr(text, '@', len);
    *ret_len = at ? (size_t)(at + 1 - text) : 0;
    return at ? parse_credentials(text, *ret_len - 1, ret) : NULL;
}

static const char *parse_unix(const char *rest, address *ret)
{
    size_t user;
    const char *wrong = parse_user(rest, strcspn(rest, "/?"), ret, &user);
    if (wrong)
        return wrong;
    rest += user;
    size_t path = strcspn(rest, "?");
    if (path == 0 || rest[0] != '/')
        return "a Unix socket needs an absolute path, as in unix:///run/redis.sock";
    if (!decode(rest, path, ret->path, sizeof(ret->path)))
        return "the socket's path is too long or has a bad %XX";
    if (rest[path] == 0)
        return NULL;
    if (strncmp(rest + path, "?db=", 4) != 0 || !number(rest + path + 4, 0, 65535, &ret->db))
        return "after the socket's path only ?db=N may stand";
    return NULL;
}

/* host, host:port, [v6], [v6]:port */
static const char *parse_host(const char *text, size_t len, address *ret)
{
    const char *port = NULL;
    const char *host = text;
    size_t host_len = len;
    if (len > 0 && text[0] == '[') {
        const char *close = memchr(text, ']', len);
        if (!close)
            return "'[' without ']' in the host";
        host = text + 1;
        host_len = (size_t)(close - host);
        if (close + 1 < text + len)
            port = close[1] == ':' ? close + 2 : "";
    } else {
        const char *colon = memchr(text, ':', len);
        if (colon) {
            host_len = (size_t)(colon - text);
            port = colon + 1;
        }
    }
    if (host_len == 0 || !decode(host, host_len, ret->host, sizeof(ret->host)))
        return "the host is missing or too long";
    if (!port)
        return NULL;
    char digits[8];
    size_t n = *port ? (size_t)(text + len - port) : 0;
    if (!decode(port, n, digits, sizeof(digits)) || !number(digits, 1, 65535, &ret->port))
        return "the port must be a number from 1 to 65535";
    return NULL;
}

static const char *parse_tcp(const char *rest, address *ret)
{
    size_t authority = strcspn(rest, "/?#");
    size_t user;
    const char *wrong = parse_user(rest, authority, ret, &user);
    if (!wrong)
        wrong = parse_host(rest + user, authority - user, ret);
    if (wrong)
        return wrong;
    const char *db = rest + authority;
    if (*db == 0 || strcmp(db, "/") == 0)
        return NULL;
    if (*db != '/' || !number(db + 1, 0, 65535, &ret->db))
        return "after the host only /DB may stand, DB being a number";
    return NULL;
}

int dlock_address_parse(const char *url, address *ret, char *err, size_t err_len)
{
    *ret = (address){.port = 6379};
    const char *wrong;
    if (!url) {
        wrong = "no address was given";
    } else if (strncmp(url, "unix://", 7) == 0) {
        wrong = parse_unix(url + 7, ret);
    } else if (strncmp(url, "redis://", 8) == 0) {
        wrong = parse_tcp(url + 8, ret);
    } else if (strncmp(url, "rediss://", 9) == 0) {
#ifdef DLOCK_TLS
        ret->tls = true;
        wrong = parse_tcp(url + 9, ret);
#else
        wrong = "rediss:// needs hiredis with TLS (libhiredis_ssl), which this build has not";
#endif
    } else {
        wrong = "it must begin with redis://, rediss:// or unix://";
    }
    if (!wrong)
        return 0;
    snprintf(err, err_len, "bad Redis address: %s", wrong);
    return -1;
}
