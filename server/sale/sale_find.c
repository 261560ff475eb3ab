/* sale_find.c - asks Redis, compares, opens sales, and updates the table. */
#include "server/sale/sale_find.h"

#include "server/base/log.h"
#include "server/sale/sale_check.h"
#include "server/sale/sale_start.h"
#include "server/store/items.h"

#define LISTING_MS 250 /* for a server that the waiting buyers may not need */

/* ---- what was found -------------------------------------------------------------------------- */

/* With `now`, that sale becomes the item's. */
static sale_status conclude(sale_table *table, const char *item, fs_sale *now,
                            const sale_checked *checked)
{
    sale_event event = checked->status == SALE_HALTED    ? EVENT_HALTED
                       : checked->status == SALE_DAMAGED ? EVENT_DAMAGED
                                                         : EVENT_SOUND;
    if (checked->status == SALE_UNAVAILABLE)
        return SALE_UNAVAILABLE;
    sale_table_change(
        table, item,
        &(sale_news){
            .event = event, .now = now, .halt = &checked->halt, .detail = checked->detail});
    return event == EVENT_SOUND ? SALE_OK : checked->status;
}

static sale_status remember_halt(sale_table *table, const char *item, const sale_halt *halt)
{
    sale_table_change(table, item, &(sale_news){.event = EVENT_HALTED, .halt = halt});
    return SALE_HALTED;
}

/* A sale that does not follow the remembered one, or whose start has lost orders of that: it is
 * halted before anybody here sells in it. */
static sale_status take_up_foreign(sale_table *table, fs_sale *now, const open_sale *remembered,
                                   int64_t lost, dlock_time deadline)
{
    sale_checked checked;
    const sale_gone gone = {remembered->terms.id, lost};
    sale_halt_foreign(&now->open_sale, &gone, deadline, &checked);
    if (checked.status == SALE_OK)
        return SALE_OK;
    if (checked.status != SALE_HALTED) {
        fs_sale_close(now);
        return SALE_UNAVAILABLE;
    }
    return conclude(table, remembered->terms.item, now, &checked);
}

/* Warns of the cost of selling without waiting for replicas where a failover can happen. */
static void log_in_force(const fs_store *store, const sale_terms *terms)
{
    log_event(LOG_INFO, "sale_in_force", "item", terms->item, "sale", terms->id, "strategy",
              terms->strategy, NULL);
    if (store->fails_over && terms->durability != DURABILITY_REPLICATED)
        log_event(
            LOG_WARN, "failover_loses_orders", "item", terms->item, "durability",
            durability_name(terms->durability), "detail",
            "a failover loses the orders that the promoted replica has not received, and halts "
            "the sale; flashsale-failover loses none, nor does durability 'replicated'",
            NULL);
}

/* The item's sale is for another program, or damaged, as `status` says. */
static void not_opened(sale_table *table, const char *item, const char *id, sale_status status,
                       const char *err)
{
    LOG_SOME(LOG_ERROR, "sale_not_opened", "item", item, "sale", id, "detail", err, NULL);
    if (status == SALE_DAMAGED)
        sale_table_change(table, item, &(sale_news){.event = EVENT_DAMAGED, .detail = CHECK_CFG});
    else if (status == SALE_UNREADABLE)
        sale_table_change(table, item, &(sale_news){.event = EVENT_SUPERSEDED});
}

/* Takes up the item's sale `id`: the one in force, or a halted one. `lost` orders are missing of
 * the remembered one, which is over. */
static sale_status load(sale_table *table, const char *item, const char *id, bool halted,
                        const open_sale *remembered, int64_t lost, dlock_time deadline)
{
    char err[256] = "";
    fs_sale *now = NULL;
    sale_status status =
        fs_sale_open(sale_table_store(table), item, id, deadline, &now, err, sizeof(err));
    if (status != SALE_OK) {
        if (!halted) /* otherwise the halt is reported */
            not_opened(table, item, id, status, err);
        return status;
    }
    if (remembered && !halted)
        status = fs_sale_descends(now, &remembered->terms, deadline);
    if (status == SALE_NONE)
        lost = sale_known_orders(remembered);
    if (status == SALE_NONE || (status == SALE_OK && !halted && lost > 0)) {
        status = take_up_foreign(table, now, remembered, lost, deadline);
        if (status != SALE_OK)
            return status;
    }
    if (status == SALE_OK && !halted)
        status = sale_start_segments(sale_table_store(table), &now->open_sale.terms, deadline);
    if (status == SALE_UNAVAILABLE) {
        fs_sale_close(now);
        return status;
    }
    sale_checked checked;
    sale_check(&now->open_sale, deadline, &checked);
    if (checked.status == SALE_UNAVAILABLE || /* what is remembered stays until more is known */
        (status != SALE_OK && checked.status == SALE_OK)) { /* mended meanwhile */
        fs_sale_close(now);
        return SALE_UNAVAILABLE;
    }
    log_in_force(sale_table_store(table), &now->open_sale.terms);
    status = conclude(table, item, now, &checked);
    if (node_takes_writes(store_node(sale_table_store(table), ITEMS_KEY)))
        items_add(sale_table_store(table), item, dlock_sooner(deadline, dlock_in_ms(LISTING_MS)));
    return status;
}

static sale_status load_halted(sale_table *table, const char *item, const sale_halt *halt,
                               const open_sale *remembered, dlock_time deadline)
{
    sale_status status = load(table, item, halt->sale, true, remembered, 0, deadline);
    return status == SALE_DAMAGED || status == SALE_UNREADABLE ? remember_halt(table, item, halt)
                                                               : status;
}

/* There is no pointer, but there was a sale, which `halt` names. It is halted when it is taken up;
 * if that fails, here. */
static sale_status take_up_lost(sale_table *table, const char *item, sale_halt *halt,
                                dlock_time deadline)
{
    char pointer[POINTER_MAX + 1];
    sale_status status = load(table, item, halt->sale, true, NULL, 0, deadline);
    if (status != SALE_DAMAGED && status != SALE_UNREADABLE)
        return status;
    const halt_reason nothing = {.pointer = ""};
    if (!halt_write(sale_table_store(table)->redis, item, SEGMENT_NONE, &nothing, halt, pointer) ||
        !halt_read(pointer, halt))
        return SALE_UNAVAILABLE;
    return remember_halt(table, item, halt);
}

/* Nothing is remembered of the item, except perhaps a halt. Asks for the latest sale first, because
 * a start writes both at once. */
static sale_status find_out(sale_table *table, const char *item, dlock_time deadline)
{
    fs_store *store = sale_table_store(table);
    sale_current found;
    sale_halt halt = {.why = HALT_LOST, .instance = "-"};
    bool lost = sale_table_halt(table, item, &halt);
    sale_status status = terms_in_force(store, item, SEGMENT_NONE, deadline, &found);
    if (status == SALE_NONE) { /* asked only now, because mostly there is a sale */
        lost = lost || halt_latest(store, item, deadline, halt.sale);
        status = terms_in_force(store, item, SEGMENT_NONE, deadline, &found);
    }
    if (status == SALE_OK ? sale_table_halt(table, item, &halt) : status == SALE_NONE && !lost)
        sale_table_change(table, item, &(sale_news){.event = EVENT_LIFTED});
    if (status == SALE_OK)
        return load(table, item, found.id, false, NULL, 0, deadline);
    if (status == SALE_HALTED)
        return load_halted(table, item, &found.halt, NULL, deadline);
    return status == SALE_NONE && lost ? take_up_lost(table, item, &halt, deadline) : status;
}

/* Whether a server of the item's is being compared: another sale is not taken up then. */
static bool is_held(fs_store *store, const char *item, const open_sale *sale)
{
    bool held = atomic_load(&terms_node(store, item)->run_changed);
    for (int k = 0; sale && !held && k < sale->key_sets; k++)
        held = atomic_load(&sale_node(sale, k)->run_changed);
    return held;
}

#define COMPARED 64 /* beside a sale_status: Redis has answered, or nothing was remembered */

/* Compares the item's sale with Redis, and opens another one that is in force instead, unless the
 * run of the server may not be written to yet. All callers use this one function, because a waiting
 * caller gets the result of another caller's look. */
static int look(void *arg, const char *item, dlock_time deadline)
{
    sale_table *table = arg;
    fs_sale *sale;
    sale_checked checked;
    fs_store *store = sale_table_store(table);
    if (!sale_table_take(table, item, true, &sale))
        return COMPARED |
               (is_held(store, item, NULL) ? SALE_UNAVAILABLE : find_out(table, item, deadline));
    const open_sale *open = &sale->open_sale;
    bool held = is_held(store, item, open);
    sale_check(open, deadline, &checked);
    sale_status status;
    if (checked.status != SALE_NONE)
        status = conclude(table, item, NULL, &checked);
    else if (held)
        status = SALE_UNAVAILABLE;
    else if (checked.halt.sale[0] != '\0')
        status = load_halted(table, item, &checked.halt, open, deadline);
    else
        status = load(table, item, checked.next, false, open, checked.lost, deadline);
    sale_table_put(sale);
    return checked.status == SALE_UNAVAILABLE ? (int)status : COMPARED | (int)status;
}

static int fly(sale_table *table, const char *item, flight_age age, dlock_time deadline)
{
    return single_flight_do(sale_table_flights(table), item, age, deadline, look, table,
                            SALE_UNAVAILABLE);
}

bool sale_compare(sale_table *table, const char *item, dlock_time deadline)
{
    return (fly(table, item, FLIGHT_FRESH, deadline) & COMPARED) != 0;
}

sale_status sale_refresh(sale_table *table, const char *item, dlock_time deadline)
{
    return (sale_status)(fly(table, item, FLIGHT_FRESH, deadline) & ~COMPARED);
}

sale_status sale_watch(sale_table *table, const char *item, dlock_time deadline)
{
    sale_table_add(table, item);
    return sale_refresh(table, item, deadline);
}

sale_status sale_find(sale_table *table, const char *item, dlock_time deadline, fs_sale **ret)
{
    sale_halt halt;
    if (sale_table_take(table, item, false, ret))
        return SALE_OK;
    if (sale_table_halt(table, item, &halt)) /* the keeper looks whether it still is */
        return SALE_HALTED;
    int found = fly(table, item, FLIGHT_ANY, store_read_deadline(deadline));
    if (sale_table_take(table, item, false, ret))
        return SALE_OK;
    sale_status status = (sale_status)(found & ~COMPARED);
    return status == SALE_OK ? SALE_UNAVAILABLE : status;
}
