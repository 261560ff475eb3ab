/* admission.c - compare, wait for objections, compare, admit. */
#include "server/sale/admission.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"

/* Every process looks four times a second, and knocks at a server that was away at least twice a
 * second: in a second each has seen the new run, and halted what it knows to be behind. */
#define OBJECT_MS 1000
#define UP_S      2 /* Redis tells whole seconds: at least one has passed then */

#define ASK_MS    1000 /* for one answer */

static bool compare_all(sale_table *sales)
{
    int count;
    sale_pointer *all = sale_table_pointers(sales, &count);
    bool good = all != NULL;
    for (int i = 0; good && i < count; i++)
        good = sale_table_compare(sales, all[i].item, dlock_in_ms(ASK_MS));
    free(all);
    return good;
}

static void begin(admission *a, fs_store *store, const char *id)
{
    bool first = server_run_is_first(&store->run);
    snprintf(a->seen, sizeof(a->seen), "%s", id);
    a->since = dlock_now();
    atomic_store(&store->run_changed, !first);
    if (!first)
        log_event(LOG_WARN, "redis_changed", "run", id, "detail",
                  "another run of the server: nothing is written to it before it was compared",
                  NULL);
}

static bool others_had_their_time(const admission *a, fs_store *store, int64_t up_s)
{
    if (server_run_is_first(&store->run))
        return up_s >= UP_S;
    return dlock_now().us - a->since.us >= OBJECT_MS * 1000;
}

bool admission_look(admission *a, fs_store *store, sale_table *sales)
{
    char id[RUN_ID_MAX + 1], after[RUN_ID_MAX + 1];
    int64_t up_s;
    if (!server_run_ask(store->looking, dlock_in_ms(ASK_MS), id, &up_s) ||
        server_run_admits(&store->run, id))
        return false;
    if (strcmp(a->seen, id) != 0)
        begin(a, store, id);
    bool in_time = others_had_their_time(a, store, up_s);
    if (!compare_all(sales) || !in_time ||
        !server_run_ask(store->looking, dlock_in_ms(ASK_MS), after, &up_s) ||
        strcmp(id, after) != 0)
        return false;
    server_run_admit(&store->run, id);
    a->seen[0] = '\0';
    if (atomic_exchange(&store->run_changed, false))
        log_event(LOG_INFO, "redis_admitted", "run", id, NULL);
    return true;
}
