/* sale_look.c - two scripts: one for the item's own tag, one for each segment. */
#include "server/sale/sale_look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sale/look_item.lua.h"
#include "server/sale/look_stock.lua.h"
#include "server/selling/strategy.h"
#include "server/store/reserved.lua.h"
#include "server/store/state.lua.h"

static dlock_script look_item = DLOCK_SCRIPT("look_item", "#!lua flags=no-writes\n" LOOK_ITEM_LUA);
static dlock_script look_stock =
    DLOCK_SCRIPT("look_stock", "#!lua flags=no-writes\n" STATE_LUA RESERVED_LUA LOOK_STOCK_LUA);

static bool is_list(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ARRAY;
}

/* Longer values are not ours. */
static void copy_pointer(char ret[POINTER_MAX + 1], const redisReply *text)
{
    snprintf(ret, POINTER_MAX + 1, "%s", text->len <= POINTER_MAX ? text->str : NO_TEXT);
}

static bool see_item(const open_sale *sale, dlock_time deadline, sale_seen *ret)
{
    sale_keys keys;
    const sale_terms *terms = &sale->terms;
    keys_name(&keys, terms->item, SEGMENT_NONE, terms->id);
    dlock_args args = store_words(WORDS(keys.current, keys.cfg, keys.epochs, keys.lost));
    redisReply *reply = store_eval(sale->store->looking, &look_item, 4, &args, deadline, is_list);
    bool good = reply && reply->elements == 5 && reply->element[0]->type == REDIS_REPLY_STRING &&
                store_is_pairs(reply->element[1]) &&
                reply->element[3]->type == REDIS_REPLY_STRING && store_is_pairs(reply->element[4]);
    ret->reply = reply;
    if (good) {
        copy_pointer(ret->pointer, reply->element[0]);
        ret->epochs = reply->element[3]->str;
        ret->lost = reply->element[4];
        ret->terms_status = terms_from(reply->element[1], terms->item, terms->id,
                                       reply->element[2]->integer, &ret->terms, NULL, 0);
    }
    return good;
}

static bool is_stock(const redisReply *reply)
{
    static const int types[] = {REDIS_REPLY_STRING,  REDIS_REPLY_STRING,  REDIS_REPLY_INTEGER,
                                REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER,
                                REDIS_REPLY_STRING,  REDIS_REPLY_ARRAY,   REDIS_REPLY_INTEGER,
                                REDIS_REPLY_INTEGER, REDIS_REPLY_INTEGER, REDIS_REPLY_STRING};
    size_t len = sizeof(types) / sizeof(types[0]);
    bool good = reply->elements == len && store_is_pairs(reply->element[7]);
    for (size_t i = 0; good && i < len; i++)
        good = reply->element[i]->type == types[i];
    return good;
}

bool sale_look_is_halt(const sale_terms *terms, const char *pointer, sale_halt *ret)
{
    return halt_read(pointer, ret) && strcmp(ret->sale, terms->id) == 0;
}

static bool see_stock(const open_sale *sale, int k, dlock_time deadline, stock_seen *ret)
{
    dlock_args args;
    sale_halt halt;
    fs_node *node = sale_node(sale, k);
    server_run_name(&node->run, ret->run);
    if (atomic_load(&node->is_replica)) /* then nothing is written from what is known */
        ret->run[0] = '\0';
    known_ledger_mark(&sale->known[k], ret->run); /* what is sold from now on comes on top */
    dlock_args_init(&args);
    int keys = terms_put_keys(&args, &sale->keys[k]) + 1;
    dlock_args_text(&args, sale->keys[k].lost);
    terms_put_caller(&args, &sale->terms, "", 0);
    store_put_number(&args, sale->strategy->guarded, sale->units[k]);
    known_ledger_put_moves(&sale->known[k], &args);
    redisReply *reply =
        store_eval(sale->store->looking, &look_stock, keys, &args, deadline, is_list);
    bool good = reply && is_stock(reply);
    ret->reply = reply;
    if (good) {
        copy_pointer(ret->pointer, reply->element[0]);
        snprintf(ret->damaged, sizeof(ret->damaged), "%s", reply->element[1]->str);
        ret->remaining = reply->element[3]->integer;
        ret->sold = reply->element[4]->integer;
        ret->reserved = reply->element[5]->integer;
        ret->due = reply->element[8]->integer == 1;
        ret->lost_moves = reply->element[9]->integer;
        ret->settled = reply->element[10]->integer;
        ret->settled_epoch = reply->element[11]->str;
        ret->ledger =
            (seen_ledger){reply->element[6]->str, reply->element[2]->integer, reply->element[7],
                          sale_look_is_halt(&sale->terms, ret->pointer, &halt)};
        if (strlen(ret->ledger.epochs) != reply->element[6]->len)
            snprintf(ret->damaged, sizeof(ret->damaged), EPOCHS_DAMAGED);
    }
    return good;
}

static bool see(const open_sale *sale, dlock_time deadline, sale_seen *ret)
{
    bool good = see_item(sale, deadline, ret);
    for (int k = 0; good && k < sale->key_sets; k++)
        good = see_stock(sale, k, deadline, &ret->stock[k]);
    if (good && ret->stock[0].lost_moves > 0) { /* has the admin accepted that meanwhile? */
        freeReplyObject(ret->reply);
        good = see_item(sale, deadline, ret);
    }
    if (good && sale->terms.segments == 0) { /* the same tag: as read with the stock */
        memcpy(ret->pointer, ret->stock[0].pointer, sizeof(ret->pointer));
        ret->epochs = ret->stock[0].ledger.epochs;
    }
    return good;
}

void sale_look_free(sale_seen *seen)
{
    if (!seen)
        return;
    freeReplyObject(seen->reply);
    for (int k = 0; k < SEGMENTS_MAX; k++)
        freeReplyObject(seen->stock[k].reply);
    free(seen);
}

/* Allocated: it is too large for the stack of a buyer's thread. */
sale_seen *sale_look(const open_sale *sale, dlock_time deadline)
{
    sale_seen *seen = calloc(1, sizeof(*seen));
    if (!seen || see(sale, deadline, seen))
        return seen;
    sale_look_free(seen);
    return NULL;
}
