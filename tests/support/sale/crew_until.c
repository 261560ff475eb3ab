/* crew_until.c - waiting until a count of the crew has come so far. */
#include "tests/support/sale/crew.h"

typedef struct goal {
    atomic_int *count;
    int so_far;
} goal;

static bool is_reached(void *arg)
{
    goal *g = arg;
    return atomic_load(g->count) >= g->so_far;
}

bool crew_until(atomic_int *count_of, int so_far, int deadline_ms)
{
    goal g = {count_of, so_far};
    return fx_wait_until(is_reached, &g, deadline_ms);
}

bool crew_more(atomic_int *count_of, int more, int deadline_ms)
{
    return crew_until(count_of, atomic_load(count_of) + more, deadline_ms);
}
