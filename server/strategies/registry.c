/* registry.c - the list of strategies: one line each, and nothing else to do for a new one. */
#include "server/selling/strategy.h"

#include <stdio.h>
#include <string.h>

#define STRATEGIES(ADD)                                                                            \
    ADD(none)                                                                                      \
    ADD(setnx)                                                                                     \
    ADD(watchdog)                                                                                  \
    ADD(getset)                                                                                    \
    ADD(reentrant)                                                                                 \
    ADD(nested)                                                                                    \
    ADD(pubsub)                                                                                    \
    ADD(redlock)                                                                                   \
    ADD(fair)                                                                                      \
    ADD(fenced)                                                                                    \
    ADD(combined)                                                                                  \
    ADD(atomic)                                                                                    \
    ADD(batched)                                                                                   \
    ADD(sharded)

#define DECLARE(name) extern const fs_strategy strategy_##name;
STRATEGIES(DECLARE)

#define ENTER(name) &strategy_##name,
const fs_strategy *const strategy_list[] = {STRATEGIES(ENTER) NULL};

#define NAME(name) ", " #name

const fs_strategy *strategy_find(const char *name)
{
    for (const fs_strategy *const *s = strategy_list; *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

const char *strategy_names(void)
{
    static const char names[] = STRATEGIES(NAME);
    return names + 2;
}
