#include "loadtest/stats/receipts.h"

#include <stdlib.h>

bool receipts_add(lt_receipts *receipts, lt_receipt receipt)
{
    if (receipts->count == receipts->room) {
        size_t room = receipts->room == 0 ? 64 : receipts->room * 2;
        lt_receipt *items = realloc(receipts->items, room * sizeof(*items));
        if (!items)
            return false;
        receipts->items = items;
        receipts->room = room;
    }
    receipts->items[receipts->count++] = receipt;
    return true;
}

void receipts_release(lt_receipts *receipts)
{
    free(receipts->items);
    *receipts = (lt_receipts){0};
}

uint64_t receipt_hash(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return hash;
}
