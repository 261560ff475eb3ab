/* sale.c - see sale.h. */
#include "server/sale/sale.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "server/store/ledger.h"
#include "server/store/outcome.h"

#define SOLD_OUT_MS 100
#define STALE_TRIES 20 /* grants lost in a row before a buyer is told "busy" */
#define RETRY_MS    20 /* pause before asking again what became of an unknown try */
#define RETRIES     3

fs_sale *sale_open(const sale_terms *terms, char *err, size_t err_len)
{
    int count = terms->segments > 0 ? terms->segments : 1;
    fs_sale *sale = calloc(1, sizeof(*sale) + (size_t)count * sizeof(fs_shelf));
    if (!sale) {
        snprintf(err, err_len, "out of memory");
        return NULL;
    }
    sale->terms = *terms;
    sale->terms.shelves = sale->shelves;
    sale->terms.shelf_count = count;
    for (int k = 0; k < count; k++)
        shelf_name(&sale->shelves[k], terms->item, terms->segments > 0 ? k : SHELF_WHOLE,
                   terms->id);
    if (terms->strategy->open(&sale->terms, &sale->state, err, err_len) != 0) {
        free(sale);
        return NULL;
    }
    return sale;
}

void sale_close(fs_sale *sale)
{
    sale->terms.strategy->close(sale->state);
    free(sale);
}

/* Whether another try can still help, and pauses before it. */
static bool worth_another(const fs_sale *sale, const buy_request *request, buy_outcome outcome,
                          int tries)
{
    if (dlock_left_ms(request->deadline) <= RETRY_MS)
        return false;
    if (outcome == BUY_STALE)
        return tries < STALE_TRIES;
    if (outcome != BUY_UNKNOWN || !sale->terms.strategy->replayable || tries >= RETRIES)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = RETRY_MS * 1000000L}, NULL);
    return true;
}

static bool is_definite(buy_outcome outcome)
{
    return outcome != BUY_BUSY && outcome != BUY_UNAVAILABLE && outcome != BUY_STALE &&
           outcome != BUY_CLOSED && outcome != BUY_UNKNOWN;
}

/* "Sold out" to a retry, from a strategy that writes in steps: an earlier try may have taken its
 * units, and its order may still be on its way to Redis. So the order is looked for, and the
 * request made void where there is none, before the answer is a definite one. */
static void settle(const fs_sale *sale, const buy_request *request, buy_result *result)
{
    ledger_entry entry;
    switch (ledger_find(&sale->terms, request->request, LEDGER_VOID, request->deadline, &entry)) {
    case LEDGER_FOUND:
        outcome_of_earlier(&entry.order, entry.segment, request, result);
        break;
    case LEDGER_UNAVAILABLE:
        buy_answer(result, BUY_UNKNOWN);
        break;
    default:
        break;
    }
}

void sale_sell(fs_sale *sale, buy_request *request, buy_result *result)
{
    int64_t seen = atomic_load_explicit(&sale->sold_out_us, memory_order_relaxed);
    if (!request->keyed && seen != 0 && dlock_now().us - seen < SOLD_OUT_MS * 1000) {
        buy_answer(result, BUY_SOLD_OUT);
        result->remaining = 0;
        return;
    }
    request->not_after_us = store_redis_us(sale->terms.store, request->deadline);

    bool doubt = false;
    int tries = 0;
    do {
        sale->terms.strategy->buy(sale->state, request, result);
        doubt = doubt || result->outcome == BUY_UNKNOWN;
    } while (worth_another(sale, request, result->outcome, ++tries));

    if (request->keyed && !sale->terms.strategy->replayable && result->outcome == BUY_SOLD_OUT)
        settle(sale, request, result);
    if (doubt && !is_definite(result->outcome))
        buy_answer(result, BUY_UNKNOWN);
    else if (result->outcome == BUY_STALE)
        buy_answer(result, BUY_BUSY);
    if (result->outcome == BUY_BUSY && !atomic_load(&sale->terms.store->reachable))
        buy_answer(result, BUY_UNAVAILABLE); /* that is why nobody gave the lock back */
    if (!request->keyed)
        result->replayed = false;
    if (result->outcome == BUY_SOLD_OUT && result->remaining == 0)
        atomic_store_explicit(&sale->sold_out_us, dlock_now().us, memory_order_relaxed);
}
