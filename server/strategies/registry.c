/* registry.c - the strategies, sorted by place. The build makes list.h, with a line
 * STRATEGY(name, "explanation") for each other file of this folder. */
#include "server/strategies/registry.h"

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

static fs_text names;

static int compare(const void *a, const void *b)
{
    const fs_strategy *one = *(const fs_strategy *const *)a, *two = *(const fs_strategy *const *)b;
    unsigned first = (unsigned)one->place - 1, second = (unsigned)two->place - 1; /* 0 is last */
    return first == second ? strcmp(one->name, two->name) : first < second ? -1 : 1;
}

static void sort(void)
{
    qsort(list, sizeof(list) / sizeof(list[0]) - 1, sizeof(list[0]), compare);
    text_init(&names);
    for (const fs_strategy *const *s = list; *s; s++)
        text_add_all(&names, names.len > 0 ? ", " : "", (*s)->name);
}

const fs_strategy *const *strategy_list(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sort);
    return list;
}

const fs_strategy *strategy_find(const char *name)
{
    const fs_strategy *const *s = strategy_list();
    while (*s && strcmp((*s)->name, name) != 0)
        s++;
    return *s;
}

const fs_strategy *strategy_standard(void)
{
    return &strategy_combined;
}

const char *strategy_names(void)
{
    strategy_list();
    return text_bytes(&names);
}

#define STRATEGY(name, text)                                                                       \
    if (strategy == &strategy_##name)                                                              \
        return text;
const char *strategy_explanation(const fs_strategy *strategy)
{
#include "server/strategies/list.h"
    return "";
}
