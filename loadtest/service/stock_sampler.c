/*
 * The sampler has its own thread, so a stalled service holds up no buyer and no display. It keeps
 * all samples; the reports thin them out.
 */
#include "loadtest/service/stock_sampler.h"

#include "loadtest/service/stock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SAMPLES_MAX 20000

struct lt_stock_sampler {
    const lt_plan *plan;
    const char *sale;
    mono_ns started_at;
    pthread_t thread;
    lt_http *http;
    lt_pen *pen;
    int turns; /* of the targets */
    _Atomic int stop;
    lt_stock_sample *samples; /* constant up to `count` */
    _Atomic int count;
};

/* The pause after a sample taken `at` after the start. */
static mono_ns pause_at(mono_ns at)
{
    if (at < 5 * NS_PER_S)
        return 20 * NS_PER_MS;
    return at < 60 * NS_PER_S ? 200 * NS_PER_MS : NS_PER_S;
}

static void take_sample(lt_stock_sampler *sampler)
{
    lt_stock stock;
    char err[768];
    int count = sampler->count, target = sampler->turns++ % sampler->plan->target_count;
    if (!stock_read(sampler->http, sampler->pen, sampler->plan, target, false, &stock, err,
                    sizeof(err)) ||
        strcmp(stock.sale, sampler->sale) != 0 || count == SAMPLES_MAX)
        return;
    sampler->samples[count] =
        (lt_stock_sample){.at_s = clock_seconds(clock_now() - sampler->started_at),
                          .remaining = stock.remaining,
                          .units = stock.units,
                          .reserved = stock.reserved.value};
    sampler->count = count + 1;
}

static void *sampler_main(void *arg)
{
    lt_stock_sampler *sampler = arg;
    mono_ns now;
    do {
        take_sample(sampler);
        now = clock_now();
    } while (clock_sleep_unless(&sampler->stop, now + pause_at(now - sampler->started_at)));
    take_sample(sampler);
    return NULL;
}

static void sampler_free(lt_stock_sampler *sampler)
{
    http_free(sampler->http);
    pen_free(sampler->pen);
    free(sampler->samples);
    free(sampler);
}

lt_stock_sampler *stock_sampler_start(const lt_plan *plan, const char *sale, lt_recorder *recorder,
                                      mono_ns started_at)
{
    lt_stock_sampler *sampler = calloc(1, sizeof(*sampler));
    if (!sampler)
        return NULL;
    sampler->plan = plan;
    sampler->sale = sale;
    sampler->started_at = started_at;
    sampler->http = http_new(plan->admin_token);
    sampler->pen = pen_new(recorder);
    sampler->samples = calloc(SAMPLES_MAX, sizeof(sampler->samples[0]));
    if (sampler->http && sampler->pen && sampler->samples &&
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
    lt_stock_watch seen = {sampler->samples, sampler->count};
    sampler->samples = NULL;
    sampler_free(sampler);
    return seen;
}
