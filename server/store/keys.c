/*
 * keys.c - composes the names of keys, in one place: if two places spelt a name differently, a sale
 * would lose its stock.
 */
#include "server/store/keys.h"

#include <stdio.h>
#include <string.h>

#include "server/store/store.h"

#define SALE_ID_LEN 14

void keys_name(sale_keys *keys, const char *item, int segment, const char *sale)
{
    char tag[IDENT_MAX + 16];
    if (segment == SEGMENT_NONE)
        snprintf(tag, sizeof(tag), "%.*s", IDENT_MAX, item);
    else
        snprintf(tag, sizeof(tag), "%.*s#%d", IDENT_MAX, item, segment);

    keys->segment = segment == SEGMENT_NONE ? 0 : segment;
    keys->reserves = false;
    snprintf(keys->current, KEY_MAX, "fs:{%s}:sale", tag);
    snprintf(keys->latest, KEY_MAX, "fs:{%s}:latest", tag);
    snprintf(keys->base, KEY_MAX, "fs:{%s}:%.*s", tag, IDENT_MAX, sale);
    struct {
        char *name;
        const char *suffix;
    } names[] = {
        {keys->cfg, "cfg"},           {keys->stock, "stock"},     {keys->sold, "sold"},
        {keys->orders, "orders"},     {keys->ledger, "ledger"},   {keys->users, "users"},
        {keys->epochs, "epochs"},     {keys->lost, "lost"},       {keys->lock, "lock"},
        {keys->reserved, "reserved"}, {keys->buckets, "buckets"}, {keys->moves, "moves"},
    };
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        snprintf(names[i].name, KEY_MAX, "fs:{%s}:%.*s:%s", tag, IDENT_MAX, sale, names[i].suffix);
}

bool sale_id_ok(const char *text, size_t len)
{
    return len == SALE_ID_LEN && strspn(text, "0123456789abcdef") == len;
}

void keys_put_leftovers(dlock_args *args, const sale_keys *old)
{
    store_put(args, WORDS(old->cfg, old->stock, old->sold, old->orders, old->ledger, old->users,
                          old->epochs, old->lost, old->reserved, old->buckets, old->moves));
}
