#include "loadtest/service/stock_sampler.h"

#include "loadtest/service/sale_api.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define SAMPLES_MAX 20000

struct stock_watch {
    const struct load_plan *plan;
    mono_ns started_at;
    pthread_t thread;
    struct http *http;
    atomic_bool stop;
    pthread_mutex_t mutex; /* guards samples and count */
    struct stock_sample *samples;
    int count;
};

/* The pause after a sample taken `at` after the start. */
static mono_ns pause_at(mono_ns at)
{
    if (at < 5 * NS_PER_S)
        return 20 * NS_PER_MS;
    return at < 60 * NS_PER_S ? 200 * NS_PER_MS : NS_PER_S;
}

static void take_sample(struct stock_watch *watch)
{
    struct stock_view stock;
    char err[256];
    if (!sale_stock(watch->http, watch->plan->targets[0], watch->plan->item, &stock, err,
                    sizeof(err)))
        return;
    struct stock_sample sample = {.at_s = clock_seconds(clock_now() - watch->started_at),
                                  .remaining = stock.remaining,
                                  .units = stock.units};
    pthread_mutex_lock(&watch->mutex);
    if (watch->count < SAMPLES_MAX)
        watch->samples[watch->count++] = sample;
    pthread_mutex_unlock(&watch->mutex);
}

static void *watch_main(void *arg)
{
    struct stock_watch *watch = arg;
    while (!atomic_load(&watch->stop)) {
        take_sample(watch);
        mono_ns now = clock_now(), next = now + pause_at(now - watch->started_at);
        while (now < next && !atomic_load(&watch->stop)) {
            mono_ns slice = now + 20 * NS_PER_MS;
            clock_sleep_until(slice < next ? slice : next);
            now = clock_now();
        }
    }
    take_sample(watch);
    return NULL;
}

static void watch_free(struct stock_watch *watch)
{
    http_free(watch->http);
    free(watch->samples);
    pthread_mutex_destroy(&watch->mutex);
    free(watch);
}

struct stock_watch *stock_watch_start(const struct load_plan *plan, mono_ns started_at)
{
    struct stock_watch *watch = calloc(1, sizeof(*watch));
    if (!watch)
        return NULL;
    pthread_mutex_init(&watch->mutex, NULL);
    watch->plan = plan;
    watch->started_at = started_at;
    watch->http = http_new(plan->admin_token);
    watch->samples = calloc(SAMPLES_MAX, sizeof(watch->samples[0]));
    if (watch->http && watch->samples &&
        pthread_create(&watch->thread, NULL, watch_main, watch) == 0)
        return watch;
    watch_free(watch);
    return NULL;
}

bool stock_watch_last(struct stock_watch *watch, struct stock_sample *ret_sample)
{
    pthread_mutex_lock(&watch->mutex);
    bool any = watch->count > 0;
    if (any)
        *ret_sample = watch->samples[watch->count - 1];
    pthread_mutex_unlock(&watch->mutex);
    return any;
}

struct stock_sample *stock_watch_stop(struct stock_watch *watch, int *ret_count)
{
    atomic_store(&watch->stop, true);
    pthread_join(watch->thread, NULL);
    struct stock_sample *samples = watch->samples;
    *ret_count = watch->count;
    watch->samples = NULL;
    watch_free(watch);
    return samples;
}
