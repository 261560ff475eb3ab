#include "loadtest/run/run.h"

#include "loadtest/judge/fairness.h"
#include "loadtest/judge/verdict.h"
#include "loadtest/service/lock_metrics.h"
#include "loadtest/service/redis_info.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TICK_NS      (50 * NS_PER_MS)
#define DRAIN_NS     (10 * NS_PER_S) /* after the time is over: how long answers are awaited */
#define DRAIN_INT    (2 * NS_PER_S)  /* after Ctrl-C */
#define PATIENCE_NS  (25 * NS_PER_S) /* for unknown outcomes to become final */
#define PATIENCE_INT NS_PER_S        /* likewise, after Ctrl-C */

static volatile sig_atomic_t interrupted;

static void on_signal(int signo)
{
    if (interrupted)
        _exit(128 + signo);
    interrupted = 1;
}

void run_catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

bool run_interrupted(void)
{
    return interrupted != 0;
}

/* A run in progress: what it owns besides the result. */
struct run {
    const struct run_setup *setup;
    const struct load_plan *plan;
    struct run_result *result;
    struct http *http;
    struct course course;
    struct fleet fleet;
    struct lock_wait wait_before;
    int64_t commands_before; /* -1: unknown */
};

/* ---- before ---------------------------------------------------------------------------------- */

static void make_key_prefix(char *prefix, size_t size)
{
    uint64_t mixed = (uint64_t)clock_now() * UINT64_C(0x9E3779B97F4A7C15) ^
                     (uint64_t)getpid() * UINT64_C(0xBF58476D1CE4E5B9);
    snprintf(prefix, size, "lt%012" PRIx64, mixed >> 16);
}

static int64_t redis_commands(const struct run *run)
{
    int64_t commands = -1;
    char err[256];
    if (run->setup->redis_info &&
        !redis_info_commands(run->setup->redis_info, &commands, err, sizeof(err)))
        fprintf(stderr, "loadtest: %s\n", err);
    return commands;
}

static bool open_sale(struct run *run)
{
    char err[768] = "";
    struct run_result *result = run->result;
    if (sale_targets_alive(run->http, run->plan, err, sizeof(err)) &&
        sale_create(run->http, run->plan, &run->setup->spec, result->sale, err, sizeof(err)) &&
        sale_wait_everywhere(run->http, run->plan, result->sale, err, sizeof(err)))
        return true;
    result_invalid(result, "%.250s", err);
    return false;
}

static bool prepare_course(struct run *run)
{
    struct course *course = &run->course;
    course->users = calloc((size_t)run->plan->users, sizeof(course->users[0]));
    course->timeline = timeline_new();
    course->errors = error_book_new();
    course->log = run->setup->log;
    course->sale = run->result->sale;
    if (course->users && course->timeline && course->errors &&
        fleet_init(&run->fleet, engine_threads(run->plan)))
        return true;
    result_invalid(run->result, "out of memory");
    return false;
}

/* ---- during ---------------------------------------------------------------------------------- */

static void stop_when_due(struct course *course)
{
    const struct load_plan *plan = course->plan;
    if (run_interrupted())
        course_stop(course, STOP_INTERRUPTED);
    if (plan->duration > 0 && clock_now() - course->started_at >= plan->duration)
        course_stop(course, STOP_DURATION);
}

/* Whether what is still in flight has been awaited long enough. */
static bool patience_over(struct course *course)
{
    if (!course_stopped(course) || course_cut(course))
        return false;
    mono_ns waited = clock_now() - course->stopped_at;
    if (run_interrupted())
        return waited > DRAIN_INT;
    return course->stop_reason == STOP_DURATION && waited > DRAIN_NS;
}

static void conduct(struct run *run, struct engine *engine, struct live *live)
{
    struct course *course = &run->course;
    while (!course_wait_finished(course, run->fleet.threads, clock_now() + TICK_NS)) {
        stop_when_due(course);
        if (patience_over(course))
            engine_cut(engine);
        live_tick(live);
    }
}

static bool put_load(struct run *run)
{
    char err[256];
    struct course *course = &run->course;
    struct run_result *result = run->result;
    struct engine *engine = engine_start(course, &run->fleet, err, sizeof(err));
    if (!engine) {
        result_invalid(result, "%s", err);
        return false;
    }
    struct health_mark before = health_now();
    course_start(course, run->fleet.threads);
    struct stock_watch *watch = stock_watch_start(run->plan, course->started_at);
    struct live *live = live_new(run->setup->live, run->setup->label, course, &run->fleet, watch);
    conduct(run, engine, live);
    result->health = health_between(before, health_now());
    live_free(live);
    engine_join(engine);
    if (watch)
        result->samples = stock_watch_stop(watch, &result->sample_count);
    return true;
}

/* ---- after ----------------------------------------------------------------------------------- */

static void collect_counts(struct run *run)
{
    struct course *course = &run->course;
    struct run_result *result = run->result;
    mono_ns last = course->last_done;
    result->stop_reason = (enum stop_reason)course->stop_reason;
    result->partial = result->stop_reason == STOP_INTERRUPTED;
    result->tally = fleet_sum(&run->fleet);
    result->all_due = tally_all(result->tally->from_due);
    result->all_send = tally_all(result->tally->from_send);
    result->elapsed_s = last > 0 ? clock_seconds(last - course->started_at) : 0.0;
    if (course->stopped_at > 0)
        result->offered_s = clock_seconds(course->stopped_at - course->started_at);
    result->bins = timeline_bins(course->timeline, last > 0 ? last - course->started_at : 0,
                                 &result->bin_count, &result->bin_width_s);
    result->error_count = error_book_list(course->errors, result->errors, ERRORS_MAX);
    fairness_measure(result, course);
}

static void collect_evidence(struct run *run)
{
    char err[768];
    struct run_result *result = run->result;
    struct course *course = &run->course;
    /* Unknown outcomes first: while one is open, the stock may still change. */
    result->ledger = ledger_check(run->http, run->plan, course->key_prefix, &run->fleet,
                                  course->tickets, result->partial ? PATIENCE_INT : PATIENCE_NS);
    result->stock_known = sale_stock(run->http, run->plan->targets[0], run->plan->item,
                                     &result->stock, err, sizeof(err));
    if (result->stock_known && strcmp(result->stock.sale, result->sale) != 0)
        result_invalid(result, "another sale (%s) replaced this run's: somebody else uses the item",
                       result->stock.sale);
    if (result->stock_known && result->stock.remaining <= 0 && course->last_sold > 0)
        result->sellout_s = clock_seconds(course->last_sold - course->started_at);
}

static void collect_costs(struct run *run, int64_t commands_after)
{
    struct run_result *result = run->result;
    struct lock_wait after = lock_wait_read(run->http, run->plan);
    int64_t sold = result_count(result, OUT_SOLD);
    lock_wait_quantile(&run->wait_before, &after, 0.50, &result->lock_wait_p50_ms);
    lock_wait_quantile(&run->wait_before, &after, 0.99, &result->lock_wait_p99_ms);
    if (run->commands_before >= 0 && commands_after >= 0 && sold > 0)
        result->redis_per_sale = (double)(commands_after - run->commands_before) / (double)sold;
}

static void run_sale(struct run *run)
{
    if (!open_sale(run) || !prepare_course(run))
        return;
    run->wait_before = lock_wait_read(run->http, run->plan);
    run->commands_before = redis_commands(run);
    if (!put_load(run))
        return;
    int64_t commands_after = redis_commands(run);
    collect_counts(run);
    collect_costs(run, commands_after);
    collect_evidence(run);
}

void run_execute(const struct run_setup *setup, struct run_result *result)
{
    struct run run = {.setup = setup, .plan = setup->plan, .result = result};
    *result = (struct run_result){.spec = setup->spec,
                                  .sellout_s = NAN,
                                  .lock_wait_p50_ms = NAN,
                                  .lock_wait_p99_ms = NAN,
                                  .redis_per_sale = NAN,
                                  .fairness = {.ratio = NAN, .jain = NAN}};
    make_key_prefix(result->key_prefix, sizeof(result->key_prefix));
    course_init(&run.course, setup->plan, result->key_prefix);
    run.http = http_new(setup->plan->admin_token);
    if (!run.http)
        result_invalid(result, "out of memory");
    else
        run_sale(&run);
    verdict_reach(result, setup->plan);
    http_free(run.http);
    fleet_release(&run.fleet);
    error_book_free(run.course.errors);
    timeline_free(run.course.timeline);
    free(run.course.users);
    course_release(&run.course);
}
