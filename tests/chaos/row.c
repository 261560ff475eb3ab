/* row.c - names of rows. */
#include "tests/chaos/row.h"

#include <stdio.h>
#include <string.h>

#include "server/strategies/registry.h"

static const struct {
    const char *word;
    kept_where value;
} words[] = {{"memory", IN_MEMORY}, {"replicated", ON_REPLICAS}, {"disk", ON_DISK}};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

/* Reads ":reserve" and ":durability=WORD", each of which may be missing; false: something else. */
static bool read_options(const char *text, row *ret)
{
    static const char reserve[] = ":reserve", kept[] = ":durability=";
    if (strncmp(text, reserve, strlen(reserve)) == 0) {
        ret->reserves = true;
        text += strlen(reserve);
    }
    if (*text == '\0')
        return !ret->reserves || row_strategy(ret)->reserves;
    if (strncmp(text, kept, strlen(kept)) != 0)
        return false;
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(text + strlen(kept), words[i].word) == 0) {
            ret->durability = words[i].value;
            return !ret->reserves || row_strategy(ret)->reserves;
        }
    }
    return false;
}

bool row_read(const char *name, row *ret)
{
    const char *colon = strchr(name, ':');
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    *ret = (row){.durability = IN_MEMORY};
    if (len >= sizeof(ret->strategy) || strlen(name) >= sizeof(ret->name))
        return false;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->strategy, sizeof(ret->strategy), "%.*s", (int)len, name);
    return row_strategy(ret) && read_options(name + len, ret);
}

const char *durability_word(kept_where d)
{
    for (int i = 0; i < WORDS; i++) {
        if (words[i].value == d)
            return words[i].word;
    }
    return "?";
}

const fs_strategy *row_strategy(const row *r)
{
    return strategy_find(r->strategy);
}

bool row_is_guarded(const row *r)
{
    return row_strategy(r)->guarded;
}

bool row_is_locked(const row *r)
{
    return row_strategy(r)->locked;
}

bool row_is_sharded(const row *r)
{
    return row_strategy(r)->sharded;
}

bool row_has_quorum(const row *r)
{
    return row_strategy(r)->lock.kind == DLOCK_QUORUM;
}
