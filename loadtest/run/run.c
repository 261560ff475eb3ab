/*
 * The steps of a run, and what it collects on the way. The cost is metered from before the load to
 * its end. Unknown outcomes are resolved before the stock is read, because the stock may change
 * while one is open.
 */
#include "loadtest/run/run.h"

#include "loadtest/base/number.h"
#include "loadtest/load/engine.h"
#include "loadtest/result/fairness.h"
#include "loadtest/result/validity.h"
#include "loadtest/result/verdict.h"
#include "loadtest/run/old_sale.h"
#include "loadtest/run/progress.h"
#include "loadtest/service/cost.h"
#include "loadtest/service/prober.h"

#include <inttypes.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS      (50 * NS_PER_MS)
#define DRAIN_NS     (10 * NS_PER_S)    /* after the time is over: how long answers are awaited */
#define DRAIN_INT    (2 * NS_PER_S)     /* after Ctrl-C */
#define PATIENCE_NS  (10 * NS_PER_S)    /* for unknown outcomes, after they become final */
#define PATIENCE_INT NS_PER_S           /* for them, after Ctrl-C */
#define PROBES_NS    (5 * NS_PER_S)     /* after the load: to send again what is still due */
#define RETURN_NS    (5200 * NS_PER_MS) /* after a reservation: how long its units are awaited */

static void on_signal(int signo)
{
    if (asker_interrupted)
        _exit(128 + signo);
    asker_interrupted = 1;
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
    lt_recorder *recorder;
    lt_asker *asker;
    bool holds_old_sale;   /* before its own; see old_sale.h */
    lt_old_sale *old_sale; /* NULL: none */
    lt_run_state state;
    lt_sale sale;
} lt_run;

/* ---- before ---------------------------------------------------------------------------------- */

static void make_key_prefix(char *prefix, size_t size)
{
    uint64_t mixed = (uint64_t)clock_now() * UINT64_C(0x9E3779B97F4A7C15) ^
                     (uint64_t)getpid() * UINT64_C(0xBF58476D1CE4E5B9);
    snprintf(prefix, size, "lt%012" PRIx64, mixed >> 16);
}

static bool open_sale(lt_run *run)
{
    char err[768] = "";
    lt_result *result = run->result;
    if (sale_targets_alive(run->http, run->plan, err, sizeof(err)) &&
        sale_create(run->http, run->plan, run->spec, &run->sale, err, sizeof(err)) &&
        sale_wait_everywhere(run->http, run->plan, run->sale.id, err, sizeof(err))) {
        memcpy(result->sale, run->sale.id, sizeof(result->sale));
        run->asker = asker_new(run->plan, result->sale, run->recorder);
        if (run->asker)
            evidence_terms(asker_pen(run->asker), run->plan, run->spec, &run->sale);
        return run->asker;
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
    if (asker_interrupted)
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
    if (asker_interrupted)
        return waited > DRAIN_INT;
    return state->stop_reason == STOP_DURATION && waited > DRAIN_NS;
}

/* Waits until no unit is reserved, at most a little longer than the last reservation. */
static void await_returns(const lt_run_state *state, lt_stock_sampler *sampler)
{
    mono_ns now = clock_now(), until = now + state->plan->reserve_s * NS_PER_S + RETURN_NS;
    double now_s = clock_seconds(now - state->started_at);
    lt_stock_sample seen;
    if (state->plan->reserve_s == 0)
        return;
    while (sampler && !asker_interrupted && clock_now() < until &&
           !(stock_sampler_last(sampler, &seen) && seen.at_s > now_s && seen.reserved == 0))
        clock_sleep_until(clock_now() + TICK_NS);
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
        stock_sampler_start(run->plan, result->sale, run->recorder, state->started_at);
    lt_prober *prober = prober_start(state);
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
    await_returns(state, sampler);
    if (sampler)
        result->watch = stock_sampler_stop(sampler);
    if (prober)
        result->retries_probed =
            prober_stop(prober, clock_now() + (asker_interrupted ? 0 : PROBES_NS));
    if (!sampler || !prober)
        result_invalid(result, "sampler or prober did not start: out of memory or threads");
    return sampler && prober;
}

/* ---- after ----------------------------------------------------------------------------------- */

static void collect_counts(lt_run *run)
{
    lt_run_state *state = &run->state;
    lt_result *result = run->result;
    mono_ns last = state->last_done, stopped = state->stopped_at;
    mono_ns end = number_larger(state->last_ended, stopped);
    result->stop_reason = (lt_stop_reason)state->stop_reason;
    result->partial = result->stop_reason == STOP_INTERRUPTED;
    result->tally = tallies_sum(&state->tallies);
    result->all_due = tally_all(result->tally);
    if (last > 0)
        result->elapsed_s = clock_seconds(number_larger(last, stopped) - state->started_at);
    if (stopped > 0)
        result->offered_s = clock_seconds(stopped - state->started_at);
    if (state->silence > 0) {
        result->silence_s = clock_seconds(state->silence);
        result->silent_from_s = clock_seconds(state->silence_from - state->started_at);
    }
    result->bins = timeline_bins(state->timeline, end > 0 ? end - state->started_at : 0,
                                 &result->bin_count, &result->bin_width_s);
    errors_sort(&state->errors);
    result->error_count = state->errors.count;
    memcpy(result->errors, state->errors.entries, sizeof(result->errors));
    fairness_measure(result, state);
}

static void collect_evidence(lt_run *run)
{
    lt_result *result = run->result;
    lt_run_state *state = &run->state;
    mono_ns patience = result->partial ? PATIENCE_INT : sale_final_after(&run->sale) + PATIENCE_NS;
    evidence_after(run->asker, run->http, state, patience, &result->evidence);
    const lt_stock *stock = &result->evidence.stock;
    if (result->evidence.stock_known && stock->remaining <= 0 && state->last_sold > 0)
        result->sellout_s = clock_seconds(state->last_sold - state->started_at);
}

static void run_sale(lt_run *run)
{
    if (run->holds_old_sale)
        run->old_sale = old_sale_hold(run->http, run->plan, run->spec, run->result->key_prefix);
    if (!open_sale(run))
        return;
    if (run->holds_old_sale && !run->old_sale)
        result_invalid(run->result, "the small sale before this one could not be held: nobody sent "
                                    "one key twice at once");
    evidence_before(run->asker, &run->state, &run->sale);
    lt_cost_meter *meter = cost_meter_start(&run->state, run->http);
    bool loaded = put_load(run);
    run->result->costs = cost_meter_stop(meter);
    if (!loaded)
        return;
    collect_counts(run);
    if (run->old_sale)
        old_sale_ask(run->old_sale);
    collect_evidence(run);
}

/* Writes the reasons not to believe the run into its history, so that a later `verify` knows
 * them too. */
static void write_doubts(lt_run *run)
{
    lt_result *result = run->result;
    lt_pen *pen = result->tally ? pen_new(run->recorder) : NULL;
    if (result->tally)
        validity_check(result, run->plan);
    for (int i = 0; pen && i < result->reason_count; i++) {
        pen_word(pen, "doubt");
        pen_text(pen, "why", result->reasons[i]);
        pen_line(pen);
    }
    pen_free(pen);
}

/* Has the histories judged: the run's, and the old sale's. */
static void judge(lt_run *run)
{
    asker_free(run->asker);
    if (run->recorder) {
        write_doubts(run);
        recorder_end(run->recorder);
    }
    verdict_reach(run->result, run->plan, run->recorder ? recorder_path(run->recorder) : NULL,
                  run->old_sale ? old_sale_end(run->old_sale) : NULL);
    old_sale_free(run->old_sale);
    recorder_free(run->recorder);
}

static void run_once(lt_run *run, FILE *log, const char *history)
{
    lt_result *result = run->result;
    *result = (lt_result){.spec = run->spec,
                          .stock_asked = run->plan->stock,
                          .sellout_s = NAN,
                          .silence_s = NAN,
                          .silent_from_s = NAN,
                          .costs = cost_meter_stop(NULL),
                          .fairness = {.ratio = NAN, .jain = NAN}};
    char err[256];
    make_key_prefix(result->key_prefix, sizeof(result->key_prefix));
    run->recorder = recorder_open(history, err, sizeof(err));
    run->state = (lt_run_state){.plan = run->plan,
                                .key_prefix = result->key_prefix,
                                .sale = result->sale,
                                .recorder = run->recorder,
                                .log = log};
    run->http = http_new(run->plan->admin_token);
    if (!run->recorder)
        result_invalid(result, "%s", err);
    else if (!run_state_init(&run->state, engine_workers(run->plan)) || !run->http)
        result_invalid(result, "out of memory");
    else
        run_sale(run);
    judge(run);
    http_free(run->http);
    run_state_release(&run->state);
}

/* ---- all runs -------------------------------------------------------------------------------- */

/* FILE, or, when there are several runs, FILE.LABEL.NUMBER. */
static void history_name(const lt_comparison *comparison, const lt_row *row, char *named,
                         size_t size)
{
    const char *path = comparison->history ? comparison->history : "";
    if (plan_turns(comparison->plan) * comparison->row_count == 1)
        snprintf(named, size, "%s", path);
    else
        snprintf(named, size, "%s.%s.%d", path, row->spec->label, row->run_count);
}

void run_all(lt_comparison *comparison, bool quiet, FILE *log)
{
    const lt_plan *plan = comparison->plan;
    char label[192], named[4096];
    catch_signals();
    for (int i = 0; i < plan_turns(plan) * comparison->row_count && !asker_interrupted; i++) {
        lt_row *row = &comparison->rows[i % comparison->row_count];
        static lt_plan timed; /* 30 KB */
        timed = *plan;
        if (plan->run_length > 0 && row->run_count > 0)
            plan_limit_time(&timed, result_throughput(&row->runs[0]));
        bool first = row->run_count == 0;
        lt_run run = {.plan = &timed,
                      .spec = row->spec,
                      .label = label,
                      .quiet = quiet,
                      .holds_old_sale = first && !row->spec->expect_unsafe,
                      .result = &row->runs[row->run_count++]};
        snprintf(label, sizeof(label), "%.64s", row->spec->label);
        if (plan_turns(plan) > 1)
            snprintf(label, sizeof(label), "%.64s %d/%d", row->spec->label, row->run_count,
                     plan_turns(plan));
        history_name(comparison, row, named, sizeof(named));
        run_once(&run, log, comparison->history ? named : NULL);
    }
    comparison->interrupted = asker_interrupted != 0;
    comparison_rank(comparison);
}
