/* keys.c - composing key names. */
#include "server/store/keys.h"

#include <stdio.h>

void shelf_name(fs_shelf *shelf, const char *item, int segment, const char *sale)
{
    char tag[IDENT_MAX + 16];
    if (segment == SHELF_WHOLE)
        snprintf(tag, sizeof(tag), "%.*s", IDENT_MAX, item);
    else
        snprintf(tag, sizeof(tag), "%.*s#%d", IDENT_MAX, item, segment);

    shelf->segment = segment == SHELF_WHOLE ? 0 : segment;
    snprintf(shelf->current, KEY_MAX, "fs:{%s}:sale", tag);
    snprintf(shelf->base, KEY_MAX, "fs:{%s}:%.*s", tag, IDENT_MAX, sale);
    struct {
        char *name;
        const char *suffix;
    } keys[] = {
        {shelf->cfg, "cfg"},       {shelf->stock, "stock"},   {shelf->sold, "sold"},
        {shelf->orders, "orders"}, {shelf->ledger, "ledger"}, {shelf->users, "users"},
        {shelf->lock, "lock"},
    };
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        snprintf(keys[i].name, KEY_MAX, "fs:{%s}:%.*s:%s", tag, IDENT_MAX, sale, keys[i].suffix);
}
