/*
 * Parsing of addresses, and hiding what is secret in them. Each part of parsing takes its piece of
 * the text and returns what is wrong with it, as words that never repeat the text: it may hold a
 * password.
 */
#include "redis/address.h"
#include "dlock_redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIS_PORT    6379
#define SENTINEL_PORT 26379
#define DB_MAX        65535

static const struct {
    const char *prefix;
    address_kind kind;
    bool tls;
} schemes[] = {
    {"redis://", ADDRESS_ONE, false},
    {"rediss://", ADDRESS_ONE, true},
    {"redis+sentinel://", ADDRESS_SENTINEL, false},
    {"rediss+sentinel://", ADDRESS_SENTINEL, true},
    {"redis+cluster://", ADDRESS_CLUSTER, false},
    {"rediss+cluster://", ADDRESS_CLUSTER, true},
};

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
    size_t digits = strspn(text, "0123456789");
    long n = digits > 0 && digits < 8 && !text[digits] ? strtol(text, NULL, 10) : -1;
    if (n < min || n > max)
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
    if (strncmp(rest + path, "?db=", 4) != 0 || !number(rest + path + 4, 0, DB_MAX, &ret->db))
        return "after the socket's path only ?db=N may stand";
    return NULL;
}

/* host, host:port, [v6], [v6]:port */
static const char *parse_host(const char *text, size_t len, int default_port, address_host *ret)
{
    const char *port = NULL;
    const char *host = text;
    size_t host_len = len;
    ret->port = default_port;
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

/* host,host,... */
static const char *parse_hosts(const char *text, size_t len, address *ret)
{
    int port = ret->kind == ADDRESS_SENTINEL ? SENTINEL_PORT : REDIS_PORT;
    for (const char *end = text + len;; text++) {
        const char *comma = memchr(text, ',', (size_t)(end - text));
        size_t one = (size_t)((comma ? comma : end) - text);
        if (ret->hosts_len == ADDRESS_HOSTS_MAX)
            return "there are more than 16 hosts";
        const char *wrong = parse_host(text, one, port, &ret->hosts[ret->hosts_len++]);
        if (wrong || !comma)
            return wrong;
        text = comma;
    }
}

/* "" or "/DB", up to `len` */
static const char *parse_db(const char *text, size_t len, address *ret)
{
    char digits[8];
    if (len == 0 || (len == 1 && *text == '/'))
        return NULL;
    if (*text != '/' || !decode(text + 1, len - 1, digits, sizeof(digits)) ||
        !number(digits, 0, DB_MAX, &ret->db))
        return "behind the host, or the master's name, only /DB may stand, DB being a number";
    return NULL;
}

/* name=value&name=value */
static const char *parse_sentinel_query(const char *text, address *ret)
{
    const struct {
        const char *name;
        char *to;
        size_t to_len;
    } known[] = {{"sentinel_user=", ret->sentinel_user, sizeof(ret->sentinel_user)},
                 {"sentinel_password=", ret->sentinel_password, sizeof(ret->sentinel_password)}};
    for (;; text++) {
        size_t len = strcspn(text, "&"), i = 0;
        while (i < 2 && strncmp(text, known[i].name, strlen(known[i].name)) != 0)
            i++;
        if (i == 2 || known[i].to[0])
            return "behind '?' stand sentinel_user= and sentinel_password=, with '&' between them";
        size_t name = strlen(known[i].name);
        if (!decode(text + name, len - name, known[i].to, known[i].to_len))
            return "user or password of the sentinels is too long or has a bad %XX";
        text += len;
        if (*text == 0)
            return NULL;
    }
}

/* /NAME[/DB][?QUERY] */
static const char *parse_service(const char *text, address *ret)
{
    size_t path = strcspn(text, "?");
    size_t name = *text == '/' ? strcspn(text + 1, "/?") : 0;
    if (name == 0 || !decode(text + 1, name, ret->service, sizeof(ret->service)))
        return "behind the sentinels stands the master's name, as in "
               "redis+sentinel://h1:26379,h2:26379/mymaster";
    const char *wrong = parse_db(text + 1 + name, path - 1 - name, ret);
    if (!wrong && text[path])
        wrong = parse_sentinel_query(text + path + 1, ret);
    return wrong;
}

static const char *parse_tcp(const char *rest, address *ret)
{
    size_t authority = strcspn(rest, "/?#");
    size_t user;
    const char *wrong = parse_user(rest, authority, ret, &user);
    if (!wrong)
        wrong = parse_hosts(rest + user, authority - user, ret);
    if (wrong)
        return wrong;
    rest += authority;
    switch (ret->kind) {
    case ADDRESS_SENTINEL:
        return parse_service(rest, ret);
    case ADDRESS_CLUSTER:
        return *rest == 0 || strcmp(rest, "/") == 0 ? NULL
                                                    : "a cluster has no databases to choose from";
    default:
        memcpy(ret->host, ret->hosts[0].host, sizeof(ret->host));
        ret->port = ret->hosts[0].port;
        return ret->hosts_len > 1 ? "several hosts need redis+sentinel:// or redis+cluster://"
                                  : parse_db(rest, strlen(rest), ret);
    }
}

static const char *parse(const char *url, address *ret)
{
    if (!url)
        return "no address was given";
    if (strncmp(url, "unix://", 7) == 0)
        return parse_unix(url + 7, ret);
    for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t prefix = strlen(schemes[i].prefix);
        if (strncmp(url, schemes[i].prefix, prefix) != 0)
            continue;
        ret->kind = schemes[i].kind;
        ret->tls = schemes[i].tls;
#ifndef DLOCK_TLS
        if (ret->tls)
            return "rediss:// needs hiredis with TLS (libhiredis_ssl), which this build has not";
#endif
        return parse_tcp(url + prefix, ret);
    }
    return "it must begin with redis://, rediss:// or unix://, or with redis+sentinel://, "
           "redis+cluster:// and their rediss+";
}

int dlock_address_parse(const char *url, address *ret, char *err, size_t err_len)
{
    *ret = (address){.port = REDIS_PORT};
    const char *wrong = parse(url, ret);
    if (!wrong)
        return 0;
    snprintf(err, err_len, "bad Redis address: %s", wrong);
    return -1;
}

/* ---- hiding ---------------------------------------------------------------------------------- */

/* The password in "[user:]password@host/..." ends at the last '@' before the host's end. It may
 * have a '/' that should have been written as %2F; so, `loosely`, it ends at the last '@' before
 * the next address or the word's end. It begins behind the first ':' before the first '@', because
 * a ':' behind that may begin a host's port. */
static void hide_credentials(char *text, bool loosely)
{
    size_t authority = strcspn(text, "/?"), word = strcspn(text, " \t\r\n");
    const char *next = strstr(text, "://");
    if (loosely && authority > 0 && word > authority)
        authority = next && next < text + word ? (size_t)(next - text) : word;
    const char *first = memchr(text, '@', authority), *at = memrchr(text, '@', authority);
    const char *colon = first ? memchr(text, ':', (size_t)(first - text)) : NULL;
    size_t from = colon ? (size_t)(colon + 1 - text) : 0;
    if (at)
        memset(text + from, '*', (size_t)(at - text) - from);
}

static void hide_all_credentials(char *text, bool loosely)
{
    for (char *at = text; (at = strstr(at, "://"));) {
        at += strlen("://");
        hide_credentials(at, loosely);
    }
}

/* What is hidden is not looked at again: so nothing in a password is taken for the query's name,
 * and no '@' in the query for the one behind the password. */
void dlock_redis_hide(char *text)
{
    static const char query[] = "sentinel_password=";
    hide_all_credentials(text, false);
    for (char *at = text; (at = strstr(at, query));) {
        at += strlen(query);
        for (; *at && *at != '&'; at++)
            *at = '*';
    }
    hide_all_credentials(text, true);
}

void dlock_redis_hide_words(int argc, char **argv)
{
    for (int i = 0; i < argc; i++) {
        char *whole = strstr(argv[i], "://") ? strdup(argv[i]) : NULL;
        if (!whole)
            continue;
        dlock_redis_hide(argv[i]);
        if (strcmp(argv[i], whole) == 0)
            free(whole);
        else
            argv[i] = whole;
    }
}

bool dlock_address_same(const address_host *a, const address_host *b)
{
    return a->port == b->port && strcmp(a->host, b->host) == 0;
}
