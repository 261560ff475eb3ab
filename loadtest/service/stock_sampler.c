/*
 * A thread of its own, so that a stalled service holds up no buyer and no display. It keeps all
 * samples; the reports thin them out. What it could not read, or was no sample, it counts.
 */
#include "loadtest/service/stock_sampler.h"

#include "loadtest/base/number.h"
#include "loadtest/service/sale_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX 20000

struct lt_stock_sampler {
    const lt_plan *plan;
    const lt_sale_spec *spec;
    const char *sale;
    mono_ns started_at;
    pthread_t thread;
    lt_http *http;
    _Atomic int stop;
    lt_stock_sample *samples; /* constant up to `count` */
    _Atomic int count;
    lt_stock_watch seen; /* but for the samples */
};

/* The pause after a sample taken `at` after the start. */
static mono_ns pause_at(mono_ns at)
{
    if (at < 5 * NS_PER_S)
        return 20 * NS_PER_MS;
    return at < 60 * NS_PER_S ? 200 * NS_PER_MS : NS_PER_S;
}

/* Whether an answer is about this sale, by the terms that were asked for; counts what is not. */
static bool is_sample(lt_stock_sampler *sampler, const lt_stock *stock)
{
    bool foreign = strcmp(stock->sale, sampler->sale) != 0;
    bool other = !foreign && (stock->initial != sampler->plan->stock ||
                              strcmp(stock->strategy, sampler->spec->strategy) != 0);
    sampler->seen.foreign += foreign;
    sampler->seen.other += other;
    return !foreign && !other;
}

static void take_sample(lt_stock_sampler *sampler)
{
    lt_stock stock;
    char err[768];
    int count = sampler->count;
    if (!sale_stock(sampler->http, sampler->plan->targets[0], sampler->plan->item, &stock, err,
                    sizeof(err))) {
        sampler->seen.failed++;
        return;
    }
    if (!is_sample(sampler, &stock))
        return;
    lt_stock_watch *seen = &sampler->seen;
    seen->lowest = number_smaller(seen->lowest, stock.remaining);
    seen->most_units = number_larger(seen->most_units, stock.units);
    seen->most_oversold = number_larger(seen->most_oversold, stock.oversold);
    seen->most_lost = number_larger(seen->most_lost, stock.lost_updates);
    if (count == SAMPLES_MAX)
        return;
    sampler->samples[count] =
        (lt_stock_sample){.at_s = clock_seconds(clock_now() - sampler->started_at),
                          .remaining = stock.remaining,
                          .units = stock.units};
    sampler->count = count + 1;
}

static void *sampler_main(void *arg)
{
    lt_stock_sampler *sampler = arg;
    mono_ns now;
    do {
        take_sample(sampler);
        now = clock_now();
        sampler->seen.while_buying = sampler->count;
    } while (clock_sleep_unless(&sampler->stop, now + pause_at(now - sampler->started_at)));
    take_sample(sampler);
    return NULL;
}

static void sampler_free(lt_stock_sampler *sampler)
{
    http_free(sampler->http);
    free(sampler->samples);
    free(sampler);
}

lt_stock_sampler *stock_sampler_start(const lt_plan *plan, const lt_sale_spec *spec,
                                      const char *sale, mono_ns started_at)
{
    lt_stock_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return NULL;
    sampler->plan = plan;
    sampler->spec = spec;
    sampler->sale = sale;
    sampler->seen.lowest = plan->stock;
    sampler->started_at = started_at;
    sampler->http = http_new(plan->admin_token);
    sampler->samples = calloc(SAMPLES_MAX, sizeof(sampler->samples[0]));
    if (sampler->http && sampler->samples &&
        pthread_create(&sampler->thread, NULL, sampler_main, sampler) == 0)
        return sampler;
    sampler_free(sampler);
    return NULL;
}

bool stock_sampler_last(lt_stock_sampler *sampler, lt_stock_sample *ret)
{
    int count = sampler->count;
    if (count > 0)
        *ret = sampler->samples[count - 1];
    return count > 0;
}

lt_stock_watch stock_sampler_stop(lt_stock_sampler *sampler)
{
    atomic_store(&sampler->stop, 1);
    pthread_join(sampler->thread, NULL);
    lt_stock_watch seen = sampler->seen;
    seen.samples = sampler->samples;
    seen.count = sampler->count;
    sampler->samples = NULL;
    sampler_free(sampler);
    return seen;
}
