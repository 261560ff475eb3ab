/* registry.c - the strategies in the order of their places: list.h, which the build makes, has a
 * line STRATEGY(name, "explanation") for each other file of this folder. */
#include "server/strategies/registry.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"

#define STRATEGY(name, text) extern const fs_strategy strategy_##name;
#include "server/strategies/list.h"
#undef STRATEGY

#define STRATEGY(name, text) &strategy_##name,
static const fs_strategy *list[] = {
#include "server/strategies/list.h"
    NULL};
#undef STRATEGY

static const struct {
    const fs_strategy *strategy;
    const char *text;
} explanations[] = {
#define STRATEGY(name, text) {&strategy_##name, text},
#include "server/strategies/list.h"
#undef STRATEGY
};

static int place_of(const fs_strategy *strategy)
{
    return strategy->place > 0 ? strategy->place : INT_MAX;
}

static int compare(const void *a, const void *b)
{
    const fs_strategy *one = *(const fs_strategy *const *)a, *two = *(const fs_strategy *const *)b;
    if (place_of(one) != place_of(two))
        return place_of(one) < place_of(two) ? -1 : 1;
    return strcmp(one->name, two->name);
}

static void sort(void)
{
    qsort(list, sizeof(list) / sizeof(list[0]) - 1, sizeof(list[0]), compare);
}

const fs_strategy *const *strategy_list(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sort);
    return list;
}

const fs_strategy *strategy_find(const char *name)
{
    for (const fs_strategy *const *s = strategy_list(); *s; s++)
        if (strcmp((*s)->name, name) == 0)
            return *s;
    return NULL;
}

const char *strategy_explanation(const fs_strategy *strategy)
{
    size_t i = 0;
    while (explanations[i].strategy != strategy)
        i++;
    return explanations[i].text;
}

const fs_strategy *strategy_standard(void)
{
    const fs_strategy *const *s = strategy_list();
    while (*s && !(*s)->standard)
        s++;
    return *s;
}

static fs_text names;

static void join_names(void)
{
    text_init(&names);
    for (const fs_strategy *const *s = strategy_list(); *s; s++)
        text_printf(&names, "%s%s", names.len > 0 ? ", " : "", (*s)->name);
}

const char *strategy_names(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, join_names);
    return text_bytes(&names);
}
