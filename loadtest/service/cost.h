/*
 * cost.h - what a sale costs: CPU time of the service and of Redis, and Redis commands.
 *
 * Where the load generator is the bottleneck, throughput does not tell the strategies apart; their
 * cost does, and it depends little on other activity on the machine. It includes all that the
 * targets and the servers of --redis-info have used (see metrics.h, redis_info.h), background work
 * and readings of the stock included.
 *
 * A refusal is cheaper than a sale, and a run first sells and then refuses. So the cost of a sale
 * covers the time with stock: from before the load to the first check, 100 a second, that finds
 * half of the stock sold, divided by the sales until then. A run that sells less than half, or is
 * over before that check, divides the whole load by its sales. The cost of a request is the whole
 * load divided by all answers.
 */
#ifndef LOADTEST_COST_H
#define LOADTEST_COST_H

#include "loadtest/load/run_state.h"
#include "loadtest/service/http_client.h"

/* Each NAN when it is unknown. */
typedef struct lt_cost {
    double service_us, redis_us; /* processor time */
    double redis_commands;
} lt_cost;

typedef struct lt_costs {
    lt_cost sale, request;
    double lock_wait_p50_ms, lock_wait_p99_ms; /* as the instances count it; NAN: nobody waited */
} lt_costs;

typedef struct lt_cost_meter lt_cost_meter;

/* Reads the counters, and starts a thread that reads them again during the load. Only the meter
 * may use `http` until it is stopped (borrowed, like the state). NULL when that fails. */
lt_cost_meter *cost_meter_start(const lt_run_state *state, lt_http *http);

/* After the load: returns the costs. Frees the meter, which may be NULL: then nothing is known. */
lt_costs cost_meter_stop(lt_cost_meter *meter);

static inline double cost_cpu_us(const lt_cost *cost)
{
    return cost->service_us + cost->redis_us;
}

#endif
