/*
 * fuzz_address.c - Redis addresses: one that is taken is the same when it is written and read once
 * more; and nothing shows its password, neither the sentence about a bad one nor an address that
 * dlock_redis_hide() has been through.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"
#include "lock/redis/address.h"
#include "server/base/text.h"

/* ---- writing once more ----------------------------------------------------------------------- */

static void add_escaped(fs_text *out, const char *words)
{
    for (; *words != '\0'; words++)
        text_printf(out, "%%%02x", (unsigned char)*words);
}

static void add_credentials(fs_text *out, const address *from)
{
    if (from->user[0] == '\0' && from->password[0] == '\0')
        return;
    add_escaped(out, from->user);
    text_add(out, ":");
    add_escaped(out, from->password);
    text_add(out, "@");
}

static void add_hosts(fs_text *out, const address *from)
{
    for (int i = 0; i < from->hosts_len; i++) {
        text_add(out, i > 0 ? ",[" : "[");
        add_escaped(out, from->hosts[i].host);
        text_printf(out, "]:%d", from->hosts[i].port);
    }
}

static void write_again(const address *from, fs_text *out)
{
    static const char *const kinds[] = {"", "+sentinel", "+cluster"};
    if (from->path[0] != '\0') {
        text_add(out, "unix://");
        add_credentials(out, from);
        text_add(out, "/"); /* a path is absolute */
        add_escaped(out, from->path + 1);
        text_printf(out, "?db=%d", from->db);
        return;
    }
    text_printf(out, "redis%s%s://", from->tls ? "s" : "", kinds[from->kind]);
    add_credentials(out, from);
    add_hosts(out, from);
    if (from->kind == ADDRESS_SENTINEL) {
        text_add(out, "/");
        add_escaped(out, from->service);
    }
    if (from->kind != ADDRESS_CLUSTER)
        text_printf(out, "/%d", from->db);
    if (from->sentinel_user[0] != '\0' || from->sentinel_password[0] != '\0') {
        text_add(out, "?sentinel_user=");
        add_escaped(out, from->sentinel_user);
        text_add(out, "&sentinel_password=");
        add_escaped(out, from->sentinel_password);
    }
}

static bool same_hosts(const address *a, const address *b)
{
    bool same = a->hosts_len == b->hosts_len;
    for (int i = 0; same && i < a->hosts_len; i++)
        same = dlock_address_same(&a->hosts[i], &b->hosts[i]);
    return same;
}

static bool same(const address *a, const address *b)
{
    return a->kind == b->kind && a->port == b->port && a->db == b->db && a->tls == b->tls &&
           same_hosts(a, b) && strcmp(a->host, b->host) == 0 && strcmp(a->path, b->path) == 0 &&
           strcmp(a->service, b->service) == 0 && strcmp(a->user, b->user) == 0 &&
           strcmp(a->password, b->password) == 0 &&
           strcmp(a->sentinel_user, b->sentinel_user) == 0 &&
           strcmp(a->sentinel_password, b->sentinel_password) == 0;
}

static void hold_again(const address *taken)
{
    char err[256];
    address again;
    fs_text text;
    text_init(&text);
    write_again(taken, &text);
    FUZZ_HOLDS(dlock_address_parse(text_bytes(&text), &again, err, sizeof(err)) == 0,
               "an address is taken once more");
    FUZZ_HOLDS(same(taken, &again), "and is the same");
    text_free(&text);
}

/* ---- what was taken, and what is shown of it ------------------------------------------------- */

static void hold_limits(const address *taken)
{
    bool local = taken->path[0] != '\0';
    FUZZ_HOLDS(local || (taken->hosts_len >= 1 && taken->hosts_len <= ADDRESS_HOSTS_MAX),
               "there is a host, and not too many");
    FUZZ_HOLDS(!local || (taken->hosts_len == 0 && taken->path[0] == '/' && !taken->tls),
               "a socket has a path alone");
    FUZZ_HOLDS(taken->db >= 0 && taken->db <= 65535, "a database is a small number");
    FUZZ_HOLDS((taken->kind == ADDRESS_SENTINEL) == (taken->service[0] != '\0'),
               "a service is the sentinels'");
    for (int i = 0; i < taken->hosts_len; i++)
        FUZZ_HOLDS(taken->hosts[i].host[0] != '\0' && taken->hosts[i].port >= 1 &&
                       taken->hosts[i].port <= 65535,
                   "a host has a name and a port");
}

static void hold_stars(const char *shown, const char *url, const char *from, const char *to)
{
    for (const char *at = from; at < to; at++)
        FUZZ_HOLDS(shown[at - url] == '*', "a password does not show");
}

/* Every byte of both passwords becomes a star, wherever the address keeps them; others may. What
 * has
 * "://" in it once more looks like two addresses. */
static void hold_hidden(const char *url, const address *taken)
{
    char *shown = strstr(strstr(url, "://") + 1, "://") ? NULL : strdup(url);
    if (!shown)
        return;
    dlock_redis_hide(shown);
    FUZZ_HOLDS(strlen(shown) == strlen(url), "hiding changes no length");
    const char *text = strstr(url, "://") + 3, *query = strrchr(url, '?');
    const char *at = memrchr(text, '@', strcspn(text, taken->path[0] != '\0' ? "/?" : "/?#"));
    const char *colon = at ? memchr(text, ':', (size_t)(at - text)) : NULL;
    if (at)
        hold_stars(shown, url, colon ? colon + 1 : text, at);
    const char *name = query ? strstr(query, "sentinel_password=") : NULL;
    if (name && taken->kind == ADDRESS_SENTINEL)
        hold_stars(shown, url, name + strlen("sentinel_password="), name + strcspn(name, "&"));
    free(shown);
}

/* The sentence about a bad address is one of a few, whatever stood in the address. */
static void hold_sentence(const char *err)
{
    FUZZ_HOLDS(strncmp(err, "bad Redis address: ", 19) == 0, "a bad address has a sentence");
    FUZZ_HOLDS(strlen(err) < 200, "of a sensible size");
    FUZZ_HOLDS(!strstr(err, "s3cret"), "which shows nothing of it");
}

void fuzz_address(const uint8_t *data, size_t len)
{
    char err[256] = "", *url = fuzz_text(data, len);
    address taken;
    if (dlock_address_parse(url, &taken, err, sizeof(err)) == 0) {
        hold_limits(&taken);
        hold_again(&taken);
        hold_hidden(url, &taken);
    } else {
        hold_sentence(err);
    }
    free(url);
}
