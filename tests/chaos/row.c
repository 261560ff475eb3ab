/* row.c - names of rows, and what the service says of their strategies. */
#include "tests/chaos/row.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/service.h"

static const struct {
    const char *word;
    durability value;
} words[] = {{"memory", IN_MEMORY}, {"replicated", ON_REPLICAS}, {"disk", ON_DISK}};

enum { WORDS = sizeof(words) / sizeof(words[0]) };

bool row_read(const char *name, row *ret)
{
    static const char option[] = ":durability=";
    const char *colon = strchr(name, ':');
    size_t len = colon ? (size_t)(colon - name) : strlen(name);
    *ret = (row){.durability = IN_MEMORY};
    if (len == 0 || len >= sizeof(ret->strategy) || strlen(name) >= sizeof(ret->name))
        return false;
    snprintf(ret->name, sizeof(ret->name), "%s", name);
    snprintf(ret->strategy, sizeof(ret->strategy), "%.*s", (int)len, name);
    if (!colon)
        return true;
    if (strncmp(colon, option, strlen(option)) != 0)
        return false;
    for (int i = 0; i < WORDS; i++) {
        if (strcmp(colon + strlen(option), words[i].word) == 0) {
            ret->durability = words[i].value;
            return true;
        }
    }
    return false;
}

const char *durability_word(durability d)
{
    for (int i = 0; i < WORDS; i++) {
        if (words[i].value == d)
            return words[i].word;
    }
    return "?";
}

/* Asked once: later on, whoever would be asked may have been stopped. */
static const fx_strategy *strategy_of(const row *r)
{
    static fx_strategy asked;
    if (strcmp(asked.name, r->strategy) == 0)
        return &asked;
    const fx_strategy *s = fx_strategies();
    while (s->name[0] != '\0' && strcmp(s->name, r->strategy) != 0)
        s++;
    if (s->name[0] == '\0')
        fail_msg("there is no strategy %s", r->strategy);
    asked = *s;
    return &asked;
}

bool row_is_guarded(const row *r)
{
    return strategy_of(r)->guarded;
}

bool row_is_locked(const row *r)
{
    return strategy_of(r)->locked;
}

bool row_is_sharded(const row *r)
{
    return strategy_of(r)->sharded;
}

bool row_is_replayable(const row *r)
{
    return strategy_of(r)->replayable;
}
