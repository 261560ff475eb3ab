#include "loadtest/judge/redis_check.h"

#include <stdio.h>
#include <string.h>

/*
 * Appends "redis-cli COMMAND KEY ARGUMENTS" for the books called `name`; of a sharded sale for
 * each segment's, found by their pattern.
 */
static void ask(lt_invariant *i, const lt_result *r, const lt_plan *p, const char *command,
                const char *name, const char *arguments)
{
    size_t length = strlen(i->check);
    char *at = i->check + length;
    size_t room = sizeof(i->check) - length;
    const char *gap = length > 0 ? "; " : "";
    if (strcmp(r->spec.strategy, "sharded") == 0)
        snprintf(at, room,
                 "%sredis-cli --scan --pattern 'fs:{%s#*}:%s:%s' | xargs -I K redis-cli %s K%s",
                 gap, p->item, r->sale, name, command, arguments);
    else
        snprintf(at, room, "%sredis-cli %s 'fs:{%s}:%s:%s'%s", gap, command, p->item, r->sale, name,
                 arguments);
}

void redis_check_remaining(lt_invariant *i, const lt_result *r, const lt_plan *p)
{
    ask(i, r, p, "GET", "stock", "");
}

void redis_check_sum(lt_invariant *i, const lt_result *r, const lt_plan *p)
{
    ask(i, r, p, "GET", "stock", "");
    ask(i, r, p, "GET", "sold", "");
}

void redis_check_ordered(lt_invariant *i, const lt_result *r, const lt_plan *p)
{
    if (p->quantity == 1)
        ask(i, r, p, "HLEN", "orders", "");
    else
        ask(i, r, p, "GET", "sold", "");
}

void redis_check_repeated(lt_invariant *i, const lt_result *r, const lt_plan *p)
{
    ask(i, r, p, "LRANGE", "ledger", " 0 -1 | sort | uniq -d");
}

void redis_check_first_order(lt_invariant *i, const lt_result *r, const lt_plan *p)
{
    char arguments[64];
    snprintf(arguments, sizeof(arguments), " '%s-0'", r->key_prefix);
    ask(i, r, p, "HGET", "orders", arguments);
}
