/*
 * cost.h - what a sale costs: processor time of the service and of Redis, and Redis commands.
 *
 * Where the load generator is the bottleneck, throughput does not tell the strategies apart; their
 * cost does, and it depends little on what else the machine is doing. Counted is what all targets
 * and all servers of --redis-info have used (see metrics.h, redis_info.h), their work in the
 * background and the readings of the stock included.
 *
 * A refusal is cheaper than a sale, and a run sells first and then refuses. So a sale is charged
 * for the time in which there is stock: from before the load to the first look, 100 a second, that
 * finds half of the stock sold, divided by the sales until then. A run that sells less than half,
 * or is over before that look, charges its sales for all of the load. A request is charged for its
 * share of all of the load, whatever the answers were.
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

/* Reads the counters, and starts a thread to read them again during the load. Uses `http` alone
 * until it is stopped (borrowed, like the state). NULL when that fails. */
lt_cost_meter *cost_meter_start(const lt_run_state *state, lt_http *http);

/* After the load: what it cost. Frees the meter, which may be NULL: then nothing is known. */
lt_costs cost_meter_stop(lt_cost_meter *meter);

static inline double cost_cpu_us(const lt_cost *cost)
{
    return cost->service_us + cost->redis_us;
}

#endif
