/*
 * sale_check.c - reads a sale, judges it, and halts it if Redis lacks orders.
 *
 * In a sharded sale all segments are halted before the item's own pointer. That pointer is lifted
 * last (sale_resume.c) and read first. So a process that finds it unchanged finds the segments
 * unchanged too; or it finds a halted segment, which means that a halt was interrupted, and
 * completes that halt. A process that finds the item's pointer halted leaves the segments alone.
 */
#include "server/sale/sale_check.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/sale_look.h"
#include "server/selling/sell.h"

/* For readers that do not ask Redis. A segment that can not be read keeps its last numbers. */
static void remember_numbers(const open_sale *sale, const sale_seen *seen)
{
    ledger_numbers sum = {0};
    for (int k = 0; k < sale->key_sets; k++) {
        const stock_seen *stock = &seen->stock[k];
        if (stock->remaining < 0 || stock->sold < 0)
            return;
        sum.remaining += stock->remaining;
        sum.reserved += stock->reserved;
        sum.units += stock->sold + stock->reserved;
        sum.orders += stock->ledger.orders;
    }
    sale_saw_numbers(sale, &sum);
}

/* ---- halting --------------------------------------------------------------------------------- */

/* Halts one tag, or adds to its halt the orders that are known here to be lost (`seen->lost`).
 * `found` orders are in other tags. *ret is the halt there. False also if something has changed
 * since the look: then the losses known here are in no halt yet, and another look must add them. */
static bool halt_tag(const open_sale *sale, int segment, const halt_reason *seen, const char *why,
                     int64_t found, sale_halt *ret)
{
    char now[POINTER_MAX + 1];
    const sale_terms *terms = &sale->terms;
    sale_halt halt = {.found = found};
    bool ours = sale_look_is_halt(terms, seen->pointer, ret);
    if (ours && seen->lost->count == 0)
        return true;
    snprintf(halt.sale, sizeof(halt.sale), "%s", terms->id);
    snprintf(halt.why, sizeof(halt.why), "%s", ours ? ret->why : why);
    snprintf(halt.instance, sizeof(halt.instance), "%s",
             sale->store->instance[0] != '\0' ? sale->store->instance : "-");
    return halt_write(sale->store->looking, terms->item, segment, seen, &halt, now) &&
           sale_look_is_halt(terms, now, ret);
}

/* A segment whose pointer is no text sells nothing, and is left as it is. `ret` gets what the
 * item's own halt must count. */
static bool halt_segment(const open_sale *sale, int k, const stock_seen *stock, const char *why,
                         dlock_args *ret, int64_t *ret_found)
{
    char name[12];
    dlock_args lost;
    dlock_args_init(&lost);
    int64_t orders = stock->ledger.orders;
    int64_t mine = known_ledger_lost(&sale->known[k], &stock->ledger, &lost);
    sale_halt halt = {.known = orders + mine, .found = orders};
    halt_reason seen = {stock->pointer, stock->ledger.epochs, &lost};
    bool good = strcmp(stock->pointer, NO_TEXT) == 0 || halt_tag(sale, k, &seen, why, 0, &halt);
    dlock_args_free(&lost);
    snprintf(name, sizeof(name), "#%d", k);
    dlock_args_text(ret, name);
    dlock_args_int(ret, 0);
    dlock_args_int(ret, halt_lost_orders(&halt));
    *ret_found += halt.found;
    return good;
}

/* Halts the segments, then the item itself. With `foreign`, orders of that sale are lost too. */
static void halt_all(const open_sale *sale, const sale_seen *seen, const char *why,
                     const sale_gone *foreign, sale_checked *ret)
{
    bool good = true;
    int64_t found = 0;
    dlock_args lost;
    halt_reason item = {seen->pointer, seen->epochs, &lost};
    dlock_args_init(&lost);
    for (int k = 0; good && k < sale->terms.segments; k++)
        good = halt_segment(sale, k, &seen->stock[k], why, &lost, &found);
    if (sale->terms.segments == 0)
        known_ledger_lost(&sale->known[0], &seen->stock[0].ledger, &lost);
    if (foreign) {
        dlock_args_text(&lost, foreign->id);
        dlock_args_int(&lost, 0);
        dlock_args_int(&lost, foreign->orders);
    }
    good = good && halt_tag(sale, SEGMENT_NONE, &item, why, found, &ret->halt);
    ret->status = good ? SALE_HALTED : SALE_UNAVAILABLE;
    dlock_args_free(&lost);
}

/* ---- judging --------------------------------------------------------------------------------- */

static void is_damaged(sale_checked *ret, const char *what, int segment)
{
    char where[24] = "";
    if (segment != SEGMENT_NONE)
        snprintf(where, sizeof(where), " of segment %d", segment);
    ret->status = SALE_DAMAGED;
    snprintf(ret->detail, sizeof(ret->detail), "%s%s", what, where);
}

/* Why the sale is behind, by what stands under one pointer: NULL = it is not, and *ret is
 * SALE_NONE, _DAMAGED or as it was. */
static const char *judge_pointer(const sale_terms *terms, const char *pointer, sale_checked *ret)
{
    sale_halt halt;
    if (strcmp(pointer, terms->id) == 0)
        return NULL;
    if (pointer[0] == '\0')
        return HALT_LOST;
    if (halt_read(pointer, &halt)) {
        /* this one, or an older one while this is forgotten */
        if (strcmp(halt.sale, terms->id) <= 0)
            return HALT_ROLLED_BACK;
        ret->status = SALE_NONE;
        ret->halt = halt;
        return NULL;
    }
    if (!sale_id_ok(pointer, strlen(pointer))) {
        is_damaged(ret, CHECK_CFG, SEGMENT_NONE);
        return NULL;
    }
    if (strcmp(pointer, terms->id) < 0)
        return HALT_ROLLED_BACK;
    ret->status = SALE_NONE;
    snprintf(ret->next, sizeof(ret->next), "%s", pointer);
    return NULL;
}

static int64_t lost_in(const open_sale *sale, const sale_seen *seen, int k)
{
    return known_ledger_lost(&sale->known[k], &seen->stock[k].ledger, NULL);
}

/* An existing halt is left alone, because its segments may be lifted just now; unless this process
 * or the segments know of more losses (several processes may have halted some segments each). */
static bool judge_halt(const open_sale *sale, const sale_seen *seen, sale_checked *ret)
{
    sale_halt part;
    const sale_terms *terms = &sale->terms;
    if (!sale_look_is_halt(terms, seen->pointer, &ret->halt)) {
        memset(&ret->halt, 0, sizeof(ret->halt));
        return false;
    }
    bool more = false;
    int64_t in_segments = 0;
    for (int k = 0; k < sale->key_sets; k++) {
        if (sale_look_is_halt(terms, seen->stock[k].pointer, &part))
            in_segments += halt_lost_orders(&part);
        more = more || lost_in(sale, seen, k) > 0;
    }
    more = more || in_segments > halt_lost_orders(&ret->halt);
    if (!more)
        ret->status = SALE_HALTED;
    return !more;
}

/* Whether Redis has forgotten what became of a reservation, and nothing was accepted since. */
static bool has_lost_moves(const open_sale *sale, const sale_seen *seen, int k)
{
    return seen->stock[k].lost_moves > 0 && seen->terms.accepted <= sale->known[k].accepted;
}

/* The same of one set of keys. */
static const char *judge_stock(const open_sale *sale, const sale_seen *seen, int k,
                               sale_checked *ret)
{
    const stock_seen *stock = &seen->stock[k];
    const char *why = judge_pointer(&sale->terms, stock->pointer, ret);
    if (why || ret->status != SALE_OK)
        return why;
    if (stock->damaged[0] != '\0')
        is_damaged(ret, stock->damaged, sale->terms.segments > 0 ? k : SEGMENT_NONE);
    else if (!epochs_ok(stock->ledger.epochs, stock->ledger.orders) ||
             known_ledger_contradicts(&sale->known[k], stock->ledger.epochs))
        is_damaged(ret, EPOCHS_DAMAGED, sale->terms.segments > 0 ? k : SEGMENT_NONE);
    else if (lost_in(sale, seen, k) > 0 || has_lost_moves(sale, seen, k))
        return HALT_ROLLED_BACK;
    return NULL;
}

/* Why the sale is to be halted; NULL: *ret says the rest. */
static const char *judge(const open_sale *sale, const sale_seen *seen, sale_checked *ret)
{
    if (judge_halt(sale, seen, ret))
        return NULL;
    const char *why = judge_pointer(&sale->terms, seen->pointer, ret);
    if (!why && ret->status == SALE_OK &&
        (seen->terms_status != SALE_OK || !terms_same(&sale->terms, &seen->terms)))
        is_damaged(ret, CHECK_CFG, SEGMENT_NONE);
    for (int k = 0; !why && k < sale->key_sets && ret->status == SALE_OK; k++)
        why = judge_stock(sale, seen, k, ret);
    return why;
}

/* Of a sale that is over, as long as it is kept. Its replacer was told of those that are noted. */
static int64_t count_lost(const open_sale *sale, const sale_seen *seen)
{
    int64_t lost = 0;
    for (int k = 0; seen->terms_status == SALE_OK && k < sale->key_sets; k++) {
        seen_ledger ledger = seen->stock[k].ledger;
        ledger.halted = true;
        lost += known_ledger_lost(&sale->known[k], &ledger, NULL);
    }
    return lost;
}

/* ---- taking over ----------------------------------------------------------------------------- */

/* Writes are made under the newest epoch from now on, which this run of the server has begun.
 * False: something has changed meanwhile, or nothing can be written. */
static bool adopt(const open_sale *sale, int k, const sale_seen *seen, dlock_time deadline)
{
    const stock_seen *stock = &seen->stock[k];
    bool all_seen = sale->terms.durability != DURABILITY_REPLICATED;
    seen_ledger ledger = stock->ledger;
    redisReply *begun = NULL;
    if (stock->run[0] != '\0' && !epochs_are_of(ledger.epochs, stock->run)) {
        begun = epochs_begin(sale->store, &sale->keys[k], sale->terms.id, ledger.epochs, stock->run,
                             deadline);
        ledger.epochs = begun ? begun->str : "";
    }
    bool good = epochs_are_of(ledger.epochs, stock->run) &&
                known_ledger_adopt(&sale->known[k], &ledger, seen->terms.accepted, all_seen);
    if (good && all_seen)
        known_ledger_saw_move(&sale->known[k], stock->settled_epoch, stock->settled);
    freeReplyObject(begun);
    return good;
}

/* Returns the units of expired reservations, as no buyer has come since to do so. */
static void return_units(const open_sale *sale, dlock_time deadline)
{
    const fs_node *node = sale_node(sale, 0);
    if (node_takes_writes(node) && sale_missing_promise(sale, 0, node) == BUY_SOLD)
        sell(sale, sale->keys, (sell_lock){.hold = NULL}, NULL, 0, deadline);
}

void sale_check(const open_sale *sale, dlock_time deadline, sale_checked *ret)
{
    sale_seen *seen = sale_look(sale, deadline);
    memset(ret, 0, sizeof(*ret));
    if (!seen) {
        ret->status = SALE_UNAVAILABLE;
        return;
    }
    remember_numbers(sale, seen);
    const char *why = judge(sale, seen, ret);
    if (ret->status == SALE_NONE)
        ret->lost = count_lost(sale, seen);
    if (why)
        halt_all(sale, seen, why, NULL, ret);
    for (int k = 0; ret->status == SALE_OK && k < sale->key_sets; k++)
        if (!adopt(sale, k, seen, deadline))
            ret->status = SALE_UNAVAILABLE;
    if (ret->status == SALE_OK && seen->stock[0].due)
        return_units(sale, deadline);
    sale_look_free(seen);
}

void sale_halt_foreign(const open_sale *sale, const sale_gone *gone, dlock_time deadline,
                       sale_checked *ret)
{
    sale_seen *seen = sale_look(sale, deadline);
    memset(ret, 0, sizeof(*ret));
    ret->status = SALE_UNAVAILABLE;
    if (seen && known_ledger_accepted(seen->lost, gone->id) >= gone->orders)
        ret->status = SALE_OK;
    else if (seen)
        halt_all(sale, seen, HALT_ROLLED_BACK, gone, ret);
    sale_look_free(seen);
}

int64_t sale_known_orders(const open_sale *sale)
{
    int64_t known = 0;
    for (int k = 0; k < sale->key_sets; k++)
        known += known_ledger_orders(&sale->known[k]);
    return known;
}
