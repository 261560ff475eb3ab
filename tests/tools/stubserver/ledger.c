/* ledger.c - orders in an array, and a hash table of their request ids over it. */
#include "tests/tools/stubserver/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/hash.h"

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("stubserver: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* The slot of a request: the one that has it, or the free one where it would go. */
static uint32_t *slot_of(const struct ledger *ledger, const char *request)
{
    size_t mask = ledger->slot_count - 1;
    for (size_t i = fx_hash(request) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &ledger->slots[i];
        if (*slot == 0 || strcmp(ledger->orders[*slot - 1].request, request) == 0)
            return slot;
    }
}

static void enter(struct ledger *ledger, size_t index)
{
    uint32_t *slot = slot_of(ledger, ledger->orders[index].request);
    if (*slot == 0)
        *slot = (uint32_t)index + 1;
}

static void grow(struct ledger *ledger)
{
    ledger->room = ledger->room == 0 ? 1024 : ledger->room * 2;
    ledger->orders = must(realloc(ledger->orders, ledger->room * sizeof(ledger->orders[0])));
    free(ledger->slots);
    ledger->slot_count = ledger->room * 2;
    ledger->slots = must(calloc(ledger->slot_count, sizeof(ledger->slots[0])));
    for (size_t i = 0; i < ledger->count; i++)
        enter(ledger, i);
}

void ledger_add(struct ledger *ledger, const struct order *order)
{
    if (ledger->count == ledger->room)
        grow(ledger);
    ledger->orders[ledger->count] = *order;
    enter(ledger, ledger->count++);
}

struct order *ledger_find(const struct ledger *ledger, const char *request)
{
    if (ledger->slot_count == 0)
        return NULL;
    uint32_t slot = *slot_of(ledger, request);
    return slot == 0 ? NULL : &ledger->orders[slot - 1];
}

void ledger_clear(struct ledger *ledger)
{
    free(ledger->orders);
    free(ledger->slots);
    *ledger = (struct ledger){0};
}
