/*
 * The steps of a run, and what it collects on the way. Figures that only make sense as a
 * difference (processor time, Redis commands, lock waits) are read before and after; unknown
 * outcomes are resolved before the stock is read, because while one is open the stock may still
 * change.
 */
#include "loadtest/run/run.h"

#include "loadtest/result/fairness.h"
#include "loadtest/result/verdict.h"
#include "loadtest/load/engine.h"
#include "loadtest/run/progress.h"
#include "loadtest/service/lock_metrics.h"
#include "loadtest/service/redis_info.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS      (50 * NS_PER_MS)
#define DRAIN_NS     (10 * NS_PER_S) /* after the time is over: how long answers are awaited */
#define DRAIN_INT    (2 * NS_PER_S)  /* after Ctrl-C */
#define PATIENCE_NS  (10 * NS_PER_S) /* for unknown outcomes, beyond the time they become final */
#define PATIENCE_INT NS_PER_S        /* for them, after Ctrl-C */

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
    if (interrupted)
        _exit(128 + signo);
    interrupted = 1;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

/* A run in progress: what it owns besides the result. */
typedef struct lt_run {
    const lt_plan *plan;
    const lt_sale_spec *spec;
    const char *label; /* for the progress display */
    bool quiet;
    lt_result *result;
    lt_http *http;
    lt_run_state state;
    lt_lock_metrics lock_before;
    double commands_before; /* of Redis; NAN: unknown */
    lt_sale sale;
} lt_run;

/* ---- before ---------------------------------------------------------------------------------- */

static void make_key_prefix(char *prefix, size_t size)
{
    uint64_t mixed = (uint64_t)clock_now() * UINT64_C(0x9E3779B97F4A7C15) ^
                     (uint64_t)getpid() * UINT64_C(0xBF58476D1CE4E5B9);
    snprintf(prefix, size, "lt%012" PRIx64, mixed >> 16);
}

/* NAN: unknown. */
static double redis_commands(const lt_run *run)
{
    int64_t commands;
    char err[256];
    if (!run->plan->redis_info)
        return NAN;
    if (redis_info_commands(run->plan->redis_info, &commands, err, sizeof(err)))
        return (double)commands;
    fprintf(stderr, "loadtest: %s\n", err);
    return NAN;
}

static bool open_sale(lt_run *run)
{
    char err[768] = "";
    lt_result *result = run->result;
    if (sale_targets_alive(run->http, run->plan, err, sizeof(err)) &&
        sale_create(run->http, run->plan, run->spec, &run->sale, err, sizeof(err)) &&
        sale_wait_everywhere(run->http, run->plan, run->sale.id, err, sizeof(err))) {
        memcpy(result->sale, run->sale.id, sizeof(result->sale));
        result->segments = run->sale.segments;
        return true;
    }
    result_invalid(result, "%.250s", err);
    return false;
}

/* ---- the generator itself -------------------------------------------------------------------- */

/* Processor time of this process so far. */
static mono_ns cpu_now(void)
{
    struct timespec cpu;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    return cpu.tv_sec * NS_PER_S + cpu.tv_nsec;
}

static lt_generator_health health_of(mono_ns wall, mono_ns cpu)
{
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    return (lt_generator_health){.cpu_s = clock_seconds(cpu),
                                 .cores = cores,
                                 .share = (double)cpu / (double)(wall > 0 ? wall : 1) / cores};
}

/* ---- during ---------------------------------------------------------------------------------- */

static void stop_when_due(lt_run_state *state)
{
    const lt_plan *plan = state->plan;
    if (interrupted)
        run_state_stop(state, STOP_INTERRUPTED);
    if (plan->duration > 0 && clock_now() - state->started_at >= plan->duration)
        run_state_stop(state, STOP_DURATION);
}

/* Whether open requests have been awaited long enough. */
static bool patience_over(lt_run_state *state)
{
    if (!run_state_stopped(state) || run_state_is_cut(state))
        return false;
    mono_ns waited = clock_now() - state->stopped_at;
    if (interrupted)
        return waited > DRAIN_INT;
    return state->stop_reason == STOP_DURATION && waited > DRAIN_NS;
}

static bool put_load(lt_run *run)
{
    char err[256];
    lt_run_state *state = &run->state;
    lt_result *result = run->result;
    lt_engine *engine = engine_start(state, err, sizeof(err));
    if (!engine) {
        result_invalid(result, "%s", err);
        return false;
    }
    mono_ns wall = clock_now(), cpu = cpu_now();
    run_state_start(state, state->tallies.count);
    lt_stock_sampler *sampler =
        stock_sampler_start(run->plan, run->spec, result->sale, state->started_at);
    lt_progress *progress = run->quiet ? NULL : progress_new(run->label, state, sampler);
    while (!run_state_wait_finished(state, clock_now() + TICK_NS)) {
        stop_when_due(state);
        if (patience_over(state))
            engine_cut(engine);
        progress_tick(progress);
    }
    result->health = health_of(clock_now() - wall, cpu_now() - cpu);
    progress_free(progress);
    engine_join(engine);
    if (sampler)
        result->watch = stock_sampler_stop(sampler);
    else
        result_invalid(result, "the stock was not watched: out of memory, or of threads");
    return true;
}

/* ---- after ----------------------------------------------------------------------------------- */

static void collect_counts(lt_run *run)
{
    lt_run_state *state = &run->state;
    lt_result *result = run->result;
    mono_ns last = state->last_done;
    result->stop_reason = (lt_stop_reason)state->stop_reason;
    result->partial = result->stop_reason == STOP_INTERRUPTED;
    result->tally = tallies_sum(&state->tallies);
    result->all_due = tally_all(result->tally);
    result->elapsed_s = last > 0 ? clock_seconds(last - state->started_at) : 0.0;
    if (state->stopped_at > 0)
        result->offered_s = clock_seconds(state->stopped_at - state->started_at);
    result->bins = timeline_bins(state->timeline, last > 0 ? last - state->started_at : 0,
                                 &result->bin_count, &result->bin_width_s);
    errors_sort(&state->errors);
    result->error_count = state->errors.count;
    memcpy(result->errors, state->errors.entries, sizeof(result->errors));
    fairness_measure(result, state);
}

/*
 * Whether the stock is the one that this run is about. Of a stranger's sale nothing can be judged,
 * neither its stock nor its ledger.
 */
static bool is_ours(const lt_run *run, const lt_stock *stock)
{
    lt_result *result = run->result;
    if (strcmp(stock->sale, result->sale) != 0) {
        result->audit.ledger = LEDGER_BROKEN;
        result_invalid(result, "another sale (%s) replaced this run's: somebody else uses the item",
                       stock->sale);
    } else if (stock->initial != run->plan->stock) {
        result_invalid(result, "the sale has %" PRId64 " units, and not the %ld asked for",
                       stock->initial, run->plan->stock);
    } else if (strcmp(stock->strategy, run->spec->strategy) != 0) {
        result_invalid(result, "the sale is sold by strategy %s, and not by %s", stock->strategy,
                       run->spec->strategy);
    } else {
        return true;
    }
    return false;
}

static void collect_evidence(lt_run *run)
{
    char err[768];
    lt_result *result = run->result;
    lt_run_state *state = &run->state;
    lt_stock stock;
    /* Unknown outcomes first: while one is open, the stock may still change. */
    mono_ns patience = result->partial ? PATIENCE_INT : sale_final_after(&run->sale) + PATIENCE_NS;
    result->audit = audit_check(run->http, state, run->spec, patience);
    if (!sale_stock_at_rest(run->http, run->plan, &stock, err, sizeof(err)))
        result_invalid(result, "no stock after the run: %.220s", err);
    else if (is_ours(run, &stock))
        result->stock_known = true;
    if (!result->stock_known)
        return;
    result->stock = stock;
    if (stock.remaining <= 0 && state->last_sold > 0)
        result->sellout_s = clock_seconds(state->last_sold - state->started_at);
}

static void collect_costs(lt_run *run, double commands_after)
{
    lt_result *result = run->result;
    lt_lock_metrics after = lock_metrics_read(run->http, run->plan);
    int64_t sold = result_count(result, OUT_SOLD);
    lock_metrics_quantile(&run->lock_before, &after, 0.50, &result->lock_wait_p50_ms);
    lock_metrics_quantile(&run->lock_before, &after, 0.99, &result->lock_wait_p99_ms);
    if (sold > 0)
        result->redis_per_sale = (commands_after - run->commands_before) / (double)sold;
}

static void run_sale(lt_run *run)
{
    if (!open_sale(run))
        return;
    run->lock_before = lock_metrics_read(run->http, run->plan);
    run->commands_before = redis_commands(run);
    if (!put_load(run))
        return;
    double commands_after = redis_commands(run);
    collect_counts(run);
    collect_costs(run, commands_after);
    collect_evidence(run);
}

static void run_once(lt_run *run, FILE *log)
{
    lt_result *result = run->result;
    *result = (lt_result){.spec = run->spec,
                          .stock_asked = run->plan->stock,
                          .sellout_s = NAN,
                          .lock_wait_p50_ms = NAN,
                          .lock_wait_p99_ms = NAN,
                          .redis_per_sale = NAN,
                          .fairness = {.ratio = NAN, .jain = NAN}};
    make_key_prefix(result->key_prefix, sizeof(result->key_prefix));
    run->state = (lt_run_state){
        .plan = run->plan, .key_prefix = result->key_prefix, .sale = result->sale, .log = log};
    run->http = http_new(run->plan->admin_token);
    if (!run_state_init(&run->state, engine_threads(run->plan)) || !run->http)
        result_invalid(result, "out of memory");
    else
        run_sale(run);
    verdict_reach(result, run->plan);
    http_free(run->http);
    run_state_release(&run->state);
}

/* ---- all runs -------------------------------------------------------------------------------- */

void run_all(lt_comparison *comparison, bool quiet, FILE *log)
{
    const lt_plan *plan = comparison->plan;
    char label[192];
    catch_signals();
    for (int i = 0; i < plan_turns(plan) * comparison->row_count && !interrupted; i++) {
        lt_row *row = &comparison->rows[i % comparison->row_count];
        static lt_plan timed; /* 30 KB */
        timed = *plan;
        if (plan->run_length > 0 && row->run_count > 0)
            plan_limit_time(&timed, result_throughput(&row->runs[0]));
        lt_run run = {.plan = &timed,
                      .spec = row->spec,
                      .label = label,
                      .quiet = quiet,
                      .result = &row->runs[row->run_count++]};
        snprintf(label, sizeof(label), "%.64s", row->spec->label);
        if (plan_turns(plan) > 1)
            snprintf(label, sizeof(label), "%.64s %d/%d", row->spec->label, row->run_count,
                     plan_turns(plan));
        run_once(&run, log);
    }
    comparison->interrupted = interrupted != 0;
    comparison_rank(comparison);
}
