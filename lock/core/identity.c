/* Names of locks, and of their keys in Redis. */
#include "core/identity.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Redis Cluster hashes what stands between the first '{' and the next '}', if that is not empty. */
static bool has_hash_tag(const char *name)
{
    const char *open = strchr(name, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    return close && close > open + 1;
}

const char *dlock_identity_check_name(const char *name)
{
    if (!name || !*name)
        return "a lock needs a name";
    if (strlen(name) > NAME_MAX_LEN - 64)
        return "the lock's name is too long";
    if (strncmp(name, "dlock:", strlen("dlock:")) == 0)
        return "names that begin with dlock: are those of the companion keys";
    if (!has_hash_tag(name) && strpbrk(name, "{}"))
        return "a name with braces needs a hash tag, as in stock:{42}";
    return NULL;
}

char *dlock_identity_companion(const char *name, const char *role)
{
    char *key = NULL;
    const char *tag = strchr(name, '{');
    int len = tag ? (int)strcspn(tag + 1, "}") : 0;
    int n = tag ? asprintf(&key, "dlock:{%.*s}:%s:%s", len, tag + 1, role, name)
                : asprintf(&key, "dlock:{%s}:%s", name, role);
    return n < 0 ? NULL : key;
}

bool dlock_identity_init(lock_identity *id, const char *name, kind_family family, bool everywhere)
{
    static const char *const roles[LOCK_KEYS] = {[KEY_FENCE] = "fence",
                                                 [KEY_QUEUE] = "queue",
                                                 [KEY_BEATS] = "beats",
                                                 [KEY_PERMITS] = "permits"};
    const char *open = has_hash_tag(name) ? "" : "{", *close = *open ? "}" : "";
    char *wake = dlock_identity_companion(name, "wake");
    *id = (lock_identity){.family = family, .everywhere = everywhere};
    for (int i = 0; i < LOCK_KEYS; i++)
        id->keys[i] = roles[i] ? dlock_identity_companion(name, roles[i]) : NULL;
    id->keys[KEY_NAME] = strdup(name);
    if (!wake || asprintf(&id->keys[KEY_WAKE], "%s:", wake) < 0)
        id->keys[KEY_WAKE] = NULL;
    free(wake);
    if (asprintf(&id->keys[KEY_CHANNEL], "redisson_lock__channel:%s%s%s", open, name, close) < 0)
        id->keys[KEY_CHANNEL] = NULL;
    for (int i = 0; i < LOCK_KEYS; i++)
        if (!id->keys[i])
            return false;
    return true;
}

void dlock_identity_free(lock_identity *id)
{
    for (int i = 0; i < LOCK_KEYS; i++)
        free(id->keys[i]);
}

uint64_t dlock_name_hash(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * UINT64_C(1099511628211);
    return hash;
}

bool dlock_identity_same(const lock_identity *a, const lock_identity *b)
{
    return a->family == b->family && a->everywhere == b->everywhere &&
           strcmp(a->keys[KEY_NAME], b->keys[KEY_NAME]) == 0;
}

void dlock_identity_add_keys(const lock_identity *id, int keys, dlock_args *args)
{
    for (int i = 0; i < keys; i++)
        dlock_args_text(args, id->keys[i]);
}
