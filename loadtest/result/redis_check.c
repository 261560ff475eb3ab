/*
 * The only place that knows the names of the service's keys. They are for people to type; loadtest
 * itself never reads them.
 */
#include "loadtest/result/redis_check.h"

#include <stdio.h>
#include <string.h>

/*
 * Appends "redis-cli COMMAND KEY ARGUMENTS" for the sale's key called `name`; of a sharded sale
 * for each segment's, found by their pattern.
 */
static void ask(lt_invariant *i, const lt_result *r, const lt_plan *p, const char *command,
                const char *name, const char *arguments)
{
    size_t length = strlen(i->check);
    char *at = i->check + length;
    size_t room = sizeof(i->check) - length;
    const char *gap = length > 0 ? "; " : "";
    if (sale_spec_sharded(r->spec))
        snprintf(at, room,
                 "%sredis-cli --scan --pattern 'fs:{%s#*}:%s:%s' | xargs -I K redis-cli %s K%s",
                 gap, p->item, r->sale, name, command, arguments);
    else
        snprintf(at, room, "%sredis-cli %s 'fs:{%s}:%s:%s'%s", gap, command, p->item, r->sale, name,
                 arguments);
}

void redis_check(lt_invariant *invariant, const lt_result *result, const lt_plan *plan)
{
    const char *id = invariant->guarantee->id;
    char first[64];
    if (invariant->of_old_sale || id[0] != 'I')
        return;
    switch (id[1]) {
    case '1': /* units left, and units ordered */
        ask(invariant, result, plan, "GET", "stock", "");
        ask(invariant, result, plan, "GET", "sold", "");
        break;
    case '2':
        ask(invariant, result, plan, "GET", "stock", "");
        break;
    case '3': /* requests that the ledger has more than once */
        ask(invariant, result, plan, "LRANGE", "ledger", " 0 -1 | sort | uniq -d");
        break;
    case '4': /* the order of the run's first request */
        snprintf(first, sizeof(first), " '%s-0'", result->key_prefix);
        ask(invariant, result, plan, "HGET", "orders", first);
        break;
    default:
        break;
    }
}
