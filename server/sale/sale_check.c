/*
 * sale_check.c - look, judge, and halt what is behind.
 *
 * Of a sharded sale every segment is halted before the item's own pointer, which is lifted last
 * (sale_resume.c), and looked at first. So whoever finds the item's pointer as it was finds the
 * segments so too; or it finds a halted segment, and knows that a halt is under way, which it then
 * completes. Whoever finds the item's pointer halted leaves the segments alone.
 */
#include "server/sale/sale_check.h"

#include <stdio.h>
#include <string.h>

#include "server/base/log.h"
#include "server/sale/look_item.lua.h"
#include "server/sale/look_stock.lua.h"
#include "server/selling/strategy.h"
#include "server/store/state.lua.h"

static dlock_script look_item = DLOCK_SCRIPT("look_item", "#!lua flags=no-writes\n" LOOK_ITEM_LUA);
static dlock_script look_stock =
    DLOCK_SCRIPT("look_stock", "#!lua flags=no-writes\n" STATE_LUA LOOK_STOCK_LUA);

#define NO_TEXT "?" /* a pointer that is no text, or not one of ours */

typedef struct stock_seen {
    char pointer[POINTER_MAX + 1];
    char damaged[64]; /* "" = nothing */
    int64_t number;   /* of orders */
    int64_t known;    /* likewise, as far as was known before looking */
    int64_t looked_us;
    int64_t remaining, units; /* -1 = no number */
} stock_seen;

/* What Redis has of a sale. */
typedef struct sale_seen {
    char pointer[POINTER_MAX + 1];
    int64_t looked_us; /* by the server's clock */
    sale_status terms_status;
    sale_terms terms;
    stock_seen stock[SEGMENTS_MAX];
} sale_seen;

/* ---- looking --------------------------------------------------------------------------------- */

static redisReply *ask(const open_sale *sale, dlock_script *script, int keys, dlock_args *args,
                       dlock_time deadline)
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(sale->store->looking, script, keys, args, deadline, &reply);
    dlock_args_free(args);
    if (outcome == DLOCK_REDIS_OK && dlock_redis_check(sale->store->looking, script->name, reply,
                                                       reply->type == REDIS_REPLY_ARRAY))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

/* Longer ones are nobody's. */
static void copy_pointer(char ret[POINTER_MAX + 1], const redisReply *text)
{
    snprintf(ret, POINTER_MAX + 1, "%s", text->len <= POINTER_MAX ? text->str : NO_TEXT);
}

static bool see_item(const open_sale *sale, dlock_time deadline, sale_seen *ret)
{
    char err[256];
    sale_keys keys;
    dlock_args args;
    const sale_terms *terms = &sale->terms;
    keys_name(&keys, terms->item, SEGMENT_NONE, terms->id);
    dlock_args_init(&args);
    dlock_args_text(&args, keys.current);
    dlock_args_text(&args, keys.cfg);
    redisReply *reply = ask(sale, &look_item, 2, &args, deadline);
    bool good = reply && reply->elements == 3 && reply->element[0]->type == REDIS_REPLY_STRING &&
                store_is_pairs(reply->element[1]);
    if (good) {
        copy_pointer(ret->pointer, reply->element[0]);
        ret->looked_us = reply->element[2]->integer;
        ret->terms_status = terms_from(reply->element[1], terms->item, terms->id, ret->looked_us,
                                       &ret->terms, err, sizeof(err));
    }
    freeReplyObject(reply);
    return good;
}

static bool see_stock(const open_sale *sale, int k, dlock_time deadline, stock_seen *ret)
{
    dlock_args args;
    ret->known = sale_known_number(sale, &sale->keys[k]); /* what is sold from now on is more */
    dlock_args_init(&args);
    terms_put_state(&args, &sale->terms, &sale->keys[k], 0);
    if (sale->strategy->guarded)
        dlock_args_int(&args, terms_units(&sale->terms, k));
    else
        dlock_args_text(&args, "");
    redisReply *reply = ask(sale, &look_stock, STATE_KEYS, &args, deadline);
    bool good = reply && reply->elements == 6 && reply->element[0]->type == REDIS_REPLY_STRING &&
                reply->element[1]->type == REDIS_REPLY_STRING;
    if (good) {
        copy_pointer(ret->pointer, reply->element[0]);
        snprintf(ret->damaged, sizeof(ret->damaged), "%s", reply->element[1]->str);
        ret->number = reply->element[2]->integer;
        ret->looked_us = reply->element[3]->integer;
        ret->remaining = reply->element[4]->integer;
        ret->units = reply->element[5]->integer;
    }
    freeReplyObject(reply);
    return good;
}

static bool see(const open_sale *sale, dlock_time deadline, sale_seen *ret)
{
    memset(ret, 0, sizeof(*ret));
    bool good = see_item(sale, deadline, ret);
    for (int k = 0; good && k < sale->key_sets; k++)
        good = see_stock(sale, k, deadline, &ret->stock[k]);
    return good;
}

/* For who wants to know without asking Redis. A segment that can not be read: as before. */
static void remember_numbers(const open_sale *sale, const sale_seen *seen)
{
    ledger_numbers sum = {0};
    for (int k = 0; k < sale->key_sets; k++) {
        const stock_seen *stock = &seen->stock[k];
        if (stock->remaining < 0 || stock->units < 0)
            return;
        sum.remaining += stock->remaining;
        sum.units += stock->units;
        sum.orders += stock->number;
    }
    sale_saw_numbers(sale, &sum);
}

/* ---- halting --------------------------------------------------------------------------------- */

static bool is_halt_of(const sale_terms *terms, const char *pointer, sale_halt *ret)
{
    return halt_read(pointer, ret) && strcmp(ret->sale, terms->id) == 0;
}

/* Halts one tag, or adds to its halt what is known here. `found` in other tags. *ret is the halt
 * that stands there then. False also when another has halted it since it was looked at, and knew
 * less: what is known here is in no halt then, and has to be added after another look. */
static bool halt_tag(const open_sale *sale, int segment, const halt_reason *seen, const char *why,
                     int64_t known, int64_t found, sale_halt *ret)
{
    char now[POINTER_MAX + 1];
    const sale_terms *terms = &sale->terms;
    sale_halt halt = {.known = known, .found = found};
    bool ours = is_halt_of(terms, seen->pointer, ret);
    if (ours && ret->known >= halt.known)
        return true;
    snprintf(halt.sale, sizeof(halt.sale), "%s", terms->id);
    snprintf(halt.why, sizeof(halt.why), "%s", ours ? ret->why : why);
    snprintf(halt.instance, sizeof(halt.instance), "%s",
             sale->store->instance[0] != '\0' ? sale->store->instance : "-");
    return halt_write(sale->store->looking, terms->item, segment, seen, &halt, now) &&
           is_halt_of(terms, now, ret) && ret->known >= known;
}

/* A segment whose pointer is no text sells nothing, and is left as it is. */
static bool halt_segment(const open_sale *sale, int k, const stock_seen *stock, const char *why,
                         sale_halt *all)
{
    sale_halt halt;
    halt_reason seen = {stock->pointer, stock->looked_us, -1};
    int64_t mine = sale_known_number(sale, &sale->keys[k]);
    if (strcmp(stock->pointer, NO_TEXT) == 0)
        halt = (sale_halt){.known = mine > stock->number ? mine : stock->number,
                           .found = stock->number};
    else if (!halt_tag(sale, k, &seen, why, mine, 0, &halt))
        return false;
    all->known += halt.known;
    all->found += halt.found;
    return true;
}

/* The segments, then the item itself. `lost` orders are counted beyond those remembered here. */
static void halt_all(const open_sale *sale, const sale_seen *seen, const char *why, int64_t lost,
                     sale_checked *ret)
{
    bool good = true;
    sale_halt all = {.known = lost};
    halt_reason item = {seen->pointer, seen->looked_us,
                        seen->terms_status == SALE_OK ? seen->terms.accepted : -1};
    for (int k = 0; good && k < sale->terms.segments; k++)
        good = halt_segment(sale, k, &seen->stock[k], why, &all);
    if (sale->terms.segments == 0) {
        int64_t mine = sale_known_number(sale, &sale->keys[0]);
        all.known += mine > seen->stock[0].number ? mine : seen->stock[0].number;
    }
    good = good && halt_tag(sale, SEGMENT_NONE, &item, why, all.known, all.found, &ret->halt);
    ret->verdict = good ? CHECK_HALTED : CHECK_UNAVAILABLE;
}

/* ---- judging --------------------------------------------------------------------------------- */

static void is_damaged(sale_checked *ret, const char *what)
{
    ret->verdict = CHECK_DAMAGED;
    snprintf(ret->detail, sizeof(ret->detail), "%s", what);
}

/* Why the sale is behind, by what stands under one pointer: NULL = it is not, and *ret is
 * CHECK_NEXT, _DAMAGED or as it was. */
static const char *judge_pointer(const sale_terms *terms, const char *pointer, sale_checked *ret)
{
    sale_halt halt;
    if (strcmp(pointer, terms->id) == 0)
        return NULL;
    if (pointer[0] == '\0')
        return HALT_LOST;
    if (halt_read(pointer, &halt)) {
        if (strcmp(halt.sale, terms->id) <=
            0) /* this one, or an older one while this is forgotten */
            return HALT_ROLLED_BACK;
        ret->verdict = CHECK_NEXT;
        ret->halt = halt;
        return NULL;
    }
    if (!sale_id_ok(pointer, strlen(pointer))) {
        is_damaged(ret, CHECK_CFG);
        return NULL;
    }
    if (strcmp(pointer, terms->id) < 0)
        return HALT_ROLLED_BACK;
    ret->verdict = CHECK_NEXT;
    snprintf(ret->next, sizeof(ret->next), "%s", pointer);
    return NULL;
}

/* The terms stand in the item's own tag. What the admin has accepted last can be forgotten, too:
 * the orders that came after are lost then, however many numbers have been given again. */
static const char *judge_terms(const sale_terms *terms, const sale_seen *seen, sale_checked *ret)
{
    if (seen->terms_status != SALE_OK || !terms_same(terms, &seen->terms)) {
        is_damaged(ret, CHECK_CFG);
    } else if (seen->terms.accepted < terms->accepted) {
        return HALT_ROLLED_BACK;
    } else if (seen->terms.accepted > terms->accepted) {
        ret->verdict = CHECK_NEXT;
        snprintf(ret->next, sizeof(ret->next), "%s", terms->id);
    }
    return NULL;
}

/* A halt that stands already is left alone unless more is known here, or in its segments, of which
 * several processes have each halted some: the segments may just be being lifted. After the admin
 * has let the sale go on, nothing is known of it any more. */
static bool judge_halt(const open_sale *sale, const sale_seen *seen, sale_checked *ret)
{
    sale_halt part;
    const sale_terms *terms = &sale->terms;
    if (!is_halt_of(terms, seen->pointer, &ret->halt)) {
        memset(&ret->halt, 0, sizeof(ret->halt));
        return false;
    }
    if (seen->terms_status == SALE_OK && seen->terms.accepted > terms->accepted) {
        ret->verdict = CHECK_NEXT;
        return true;
    }
    bool more = sale_known_orders(sale) > ret->halt.known;
    int64_t in_segments = 0;
    for (int k = 0; k < sale->key_sets; k++) {
        if (!is_halt_of(terms, seen->stock[k].pointer, &part))
            continue;
        in_segments += part.known;
        more = more || sale_known_number(sale, &sale->keys[k]) > part.known;
    }
    more = more || in_segments > ret->halt.known;
    if (!more)
        ret->verdict = CHECK_HALTED;
    return !more;
}

/* Why the sale is to be halted; NULL: *ret says the rest. */
static const char *judge(const open_sale *sale, const sale_seen *seen, sale_checked *ret)
{
    if (judge_halt(sale, seen, ret))
        return NULL;
    const char *why = judge_pointer(&sale->terms, seen->pointer, ret);
    if (!why && ret->verdict == CHECK_SOUND)
        why = judge_terms(&sale->terms, seen, ret);
    for (int k = 0; !why && k < sale->key_sets && ret->verdict == CHECK_SOUND; k++) {
        const stock_seen *stock = &seen->stock[k];
        why = judge_pointer(&sale->terms, stock->pointer, ret);
        if (!why && ret->verdict == CHECK_SOUND && stock->damaged[0] != '\0')
            is_damaged(ret, stock->damaged);
        else if (!why && ret->verdict == CHECK_SOUND && stock->number < stock->known)
            why = HALT_ROLLED_BACK;
    }
    return why;
}

void sale_check(const open_sale *sale, dlock_time deadline, sale_checked *ret)
{
    sale_seen seen;
    memset(ret, 0, sizeof(*ret));
    if (!see(sale, deadline, &seen)) {
        ret->verdict = CHECK_UNAVAILABLE;
        return;
    }
    remember_numbers(sale, &seen);
    const char *why = judge(sale, &seen, ret);
    if (why)
        halt_all(sale, &seen, why, 0, ret);
    else if (ret->verdict == CHECK_DAMAGED)
        LOG_SOME(LOG_ERROR, "sale_damaged", "item", sale->terms.item, "sale", sale->terms.id,
                 "detail", ret->detail, NULL);
    bool replicated = sale->terms.durability == DURABILITY_REPLICATED;
    for (int k = 0; ret->verdict == CHECK_SOUND && !replicated && k < sale->key_sets; k++)
        sale_saw_number(sale, &sale->keys[k], seen.stock[k].number);
}

void sale_halt_foreign(const open_sale *sale, const char *why, int64_t lost, dlock_time deadline,
                       sale_checked *ret)
{
    sale_seen seen;
    memset(ret, 0, sizeof(*ret));
    ret->verdict = CHECK_UNAVAILABLE;
    if (see(sale, deadline, &seen))
        halt_all(sale, &seen, why, lost, ret);
}

int64_t sale_known_orders(const open_sale *sale)
{
    int64_t known = 0;
    for (int k = 0; k < sale->key_sets; k++)
        known += sale_known_number(sale, &sale->keys[k]);
    return known;
}
