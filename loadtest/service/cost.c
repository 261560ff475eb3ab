/*
 * The reading during the load has its own thread, so a stalled target holds up neither the end of
 * the run nor the display.
 */
#include "loadtest/service/cost.h"

#include "loadtest/base/plain.h"
#include "loadtest/service/metrics.h"
#include "loadtest/service/redis_info.h"

#include <math.h>
#include <stdlib.h>

#define LOOK_NS (10 * NS_PER_MS)

/* All that was used and answered so far. */
typedef struct lt_usage {
    lt_metrics service;
    lt_redis_info redis; /* NAN: unknown */
    double sold, answered;
} lt_usage;

struct lt_cost_meter {
    const lt_run_state *state;
    lt_http *http;
    pthread_t thread;
    _Atomic int stop;
    bool half_sold; /* and `half` was read */
    lt_usage before, half;
};

static void count_answers(const lt_tallies *tallies, double *sold, double *answered)
{
    *sold = *answered = 0.0;
    for (int i = 0; i < tallies->count; i++) {
        *sold += (double)counter_get(&tallies->items[i].outcomes[OUT_SOLD]);
        *answered += (double)counter_get(&tallies->items[i].completed);
    }
}

static lt_redis_info read_redis(const lt_plan *plan)
{
    const lt_redis_info unknown = {.commands = NAN, .cpu_s = NAN};
    lt_redis_info sum = {.commands = 0.0};
    char err[256];
    for (int i = 0; i < plan->redis_count; i++) {
        if (!redis_info_add(plan->redis_info[i], &sum, err, sizeof(err))) {
            plain_complain("%s", err);
            return unknown;
        }
    }
    return plan->redis_count > 0 ? sum : unknown;
}

/* Sales go on while the counters are read: count those at the middle of the reading. */
static void read_usage(const lt_cost_meter *meter, lt_usage *ret)
{
    const lt_tallies *tallies = &meter->state->tallies;
    double sold, answered;
    count_answers(tallies, &sold, &answered);
    ret->redis = read_redis(meter->state->plan);
    ret->service = metrics_read(meter->http, meter->state->plan);
    count_answers(tallies, &ret->sold, &ret->answered);
    ret->sold = (ret->sold + sold) / 2.0;
    ret->answered = (ret->answered + answered) / 2.0;
}

static bool is_half_sold(const lt_cost_meter *meter)
{
    const lt_plan *plan = meter->state->plan;
    double sold, answered;
    count_answers(&meter->state->tallies, &sold, &answered);
    return sold > 0.0 && 2.0 * sold * (double)plan->quantity >= (double)plan->stock;
}

static void *meter_main(void *arg)
{
    lt_cost_meter *meter = arg;
    while (!is_half_sold(meter)) {
        if (!clock_sleep_unless(&meter->stop, clock_now() + LOOK_NS))
            return NULL;
    }
    read_usage(meter, &meter->half);
    meter->half_sold = true;
    return NULL;
}

lt_cost_meter *cost_meter_start(const lt_run_state *state, lt_http *http)
{
    lt_cost_meter *meter = calloc(1, sizeof(*meter));
    if (!meter)
        return NULL;
    meter->state = state;
    meter->http = http;
    read_usage(meter, &meter->before);
    if (pthread_create(&meter->thread, NULL, meter_main, meter) == 0)
        return meter;
    free(meter);
    return NULL;
}

static lt_cost cost_of(double count, const lt_usage *before, const lt_usage *after)
{
    double each = count > 0.0 ? 1.0 / count : NAN;
    return (lt_cost){
        .service_us = 1e6 * (after->service.cpu_s - before->service.cpu_s) * each,
        .redis_us = 1e6 * (after->redis.cpu_s - before->redis.cpu_s) * each,
        .redis_commands = (after->redis.commands - before->redis.commands) * each,
    };
}

lt_costs cost_meter_stop(lt_cost_meter *meter)
{
    const lt_cost unknown = {.service_us = NAN, .redis_us = NAN, .redis_commands = NAN};
    lt_costs costs = {unknown, unknown, .lock_wait_p50_ms = NAN, .lock_wait_p99_ms = NAN};
    if (!meter)
        return costs;
    lt_usage end, *before = &meter->before, *sold;
    atomic_store(&meter->stop, 1);
    pthread_join(meter->thread, NULL);
    read_usage(meter, &end);
    sold = meter->half_sold ? &meter->half : &end;
    costs.sale = cost_of(sold->sold, before, sold);
    costs.request = cost_of(end.answered, before, &end);
    metrics_lock_wait(&before->service, &end.service, 0.50, &costs.lock_wait_p50_ms);
    metrics_lock_wait(&before->service, &end.service, 0.99, &costs.lock_wait_p99_ms);
    free(meter);
    return costs;
}
