/*
 * A thread's counters and histograms. Histograms are made when first needed: most runs see two or
 * three of the seven outcomes.
 */
#include "loadtest/stats/tally.h"

#include <stdlib.h>

lt_tally *tally_new(void)
{
    return calloc(1, sizeof(lt_tally));
}

static void release(lt_tally *tally)
{
    for (int i = 0; i < SERIES_COUNT; i++)
        histogram_free(tally->from_due[i]);
    histogram_free(tally->from_send);
    for (int i = 0; i < PLAN_TARGETS_MAX; i++)
        histogram_free(tally->targets[i].latency);
    histogram_free(tally->lag);
}

void tally_free(lt_tally *tally)
{
    if (tally)
        release(tally);
    free(tally);
}

/* Only the tally's own thread makes histograms, so there is no race. */
static lt_histogram *slot_need(lt_histogram_slot *slot)
{
    lt_histogram *h = atomic_load_explicit(slot, memory_order_relaxed);
    if (!h) {
        h = histogram_new();
        atomic_store_explicit(slot, h, memory_order_release);
    }
    return h;
}

static void slot_record(lt_histogram_slot *slot, mono_ns span)
{
    lt_histogram *h = slot_need(slot);
    if (h)
        histogram_record(h, span / NS_PER_US);
}

static void slot_merge(lt_histogram_slot *into, const lt_histogram_slot *from)
{
    const lt_histogram *source = tally_histogram(from);
    lt_histogram *target = !source ? NULL : slot_need(into);
    if (target)
        histogram_merge(target, source);
}

void tally_settle(lt_tally *tally, const lt_settled *settled)
{
    lt_target_tally *target = &tally->targets[settled->target];
    slot_record(&tally->lag, settled->sent - settled->due);
    slot_record(&tally->from_due[settled_series(settled)], settled->done - settled->due);
    slot_record(&tally->from_send, settled->done - settled->sent);
    slot_record(&target->latency, settled->done - settled->sent);
    if (settled->ending == END_UNFINISHED) {
        counter_add(&tally->unfinished, 1);
        counter_add(&target->unfinished, 1);
        return;
    }
    counter_add(&tally->outcomes[settled->outcome], 1);
    counter_add(&target->sold, settled->outcome == OUT_SOLD);
    bool failed = settled->ending == END_FAILED;
    counter_add(&tally->completed, !failed);
    counter_add(&tally->failed, failed);
    counter_add(&target->failed, failed);
}

void tally_unsent(lt_tally *tally, mono_ns due)
{
    counter_add(&tally->unsent, 1);
    slot_record(&tally->from_due[SERIES_UNANSWERED], clock_now() - due);
}

static void merge(lt_tally *into, const lt_tally *from)
{
    counter_add(&into->issued, counter_get(&from->issued));
    counter_add(&into->completed, counter_get(&from->completed));
    counter_add(&into->failed, counter_get(&from->failed));
    counter_add(&into->unfinished, counter_get(&from->unfinished));
    counter_add(&into->retries, counter_get(&from->retries));
    counter_add(&into->connects, counter_get(&from->connects));
    counter_add(&into->waited, counter_get(&from->waited));
    counter_add(&into->unsent, counter_get(&from->unsent));
    counter_add(&into->bytes_received, counter_get(&from->bytes_received));
    counter_add(&into->bytes_sent, counter_get(&from->bytes_sent));
    for (int i = 0; i < OUT_COUNT; i++)
        counter_add(&into->outcomes[i], counter_get(&from->outcomes[i]));
    for (int i = 0; i < SERIES_COUNT; i++)
        slot_merge(&into->from_due[i], &from->from_due[i]);
    slot_merge(&into->from_send, &from->from_send);
    slot_merge(&into->lag, &from->lag);
    for (int i = 0; i < PLAN_TARGETS_MAX; i++) {
        counter_add(&into->targets[i].sold, counter_get(&from->targets[i].sold));
        counter_add(&into->targets[i].failed, counter_get(&from->targets[i].failed));
        counter_add(&into->targets[i].unfinished, counter_get(&from->targets[i].unfinished));
        slot_merge(&into->targets[i].latency, &from->targets[i].latency);
    }
}

static lt_histogram *together(const lt_tally *tally, bool refusals)
{
    lt_histogram *sum = histogram_new();
    for (int i = 0; sum && i < SERIES_COUNT; i++) {
        const lt_histogram *h = tally_histogram(&tally->from_due[i]);
        bool is_refusal = i == OUT_SOLD_OUT || i == OUT_LIMIT || i == OUT_BUSY;
        if (h && (refusals || !is_refusal))
            histogram_merge(sum, h);
    }
    return sum;
}

lt_histogram *tally_all(const lt_tally *tally)
{
    return together(tally, true);
}

lt_histogram *tally_headline(const lt_tally *tally)
{
    return together(tally, false);
}

bool tallies_init(lt_tallies *tallies, int count)
{
    tallies->items = calloc((size_t)count, sizeof(tallies->items[0]));
    tallies->count = !tallies->items ? 0 : count;
    return tallies->items;
}

void tallies_release(lt_tallies *tallies)
{
    for (int i = 0; i < tallies->count; i++)
        release(&tallies->items[i]);
    free(tallies->items);
}

lt_tally *tallies_sum(const lt_tallies *tallies)
{
    lt_tally *sum = tally_new();
    for (int i = 0; sum && i < tallies->count; i++)
        merge(sum, &tallies->items[i]);
    return sum;
}
