/*
 * Rates are differences between two sums of all tallies, one second apart, so the counting threads
 * need not know about the display.
 */
#include "loadtest/run/progress.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PERIOD_NS       NS_PER_S
#define REDRAW_NS       (200 * NS_PER_MS)
#define COLUMNS_UNKNOWN 79
#define LINE_MAX_BYTES  512
#define BAR_WIDTH       24
#define LINE_START      "\r\033[K" /* back to the start, clear the line */
#define LINE_UP         "\033[A"

struct lt_progress {
    bool on_terminal;
    const char *label;
    lt_run_state *state;
    lt_stock_sampler *sampler;
    mono_ns next_draw, last_second;
    lt_tally *before; /* the sum at last_second */
    double per_second, sold_per_second, p50_ms, p99_ms;
    int64_t errors;
};

lt_progress *progress_new(const char *label, lt_run_state *state, lt_stock_sampler *sampler)
{
    lt_progress *progress = calloc(1, sizeof(*progress));
    if (!progress)
        return NULL;
    *progress = (lt_progress){.on_terminal = isatty(STDERR_FILENO),
                              .label = label,
                              .state = state,
                              .sampler = sampler,
                              .before = tally_new(),
                              .last_second = state->started_at};
    return progress;
}

/* The quantile of what was recorded between two states of a histogram, in ms. */
static double quantile_since(const lt_histogram *before, const lt_histogram *now, double quantile)
{
    int64_t total = histogram_count(now) - histogram_count(before), seen = 0, count;
    int64_t low, high;
    for (int cursor = 0; histogram_next(now, &cursor, &low, &high, &count);) {
        seen += count;
        int64_t earlier = histogram_count_upto(before, high);
        if (seen > earlier && (double)(seen - earlier) >= quantile * (double)total)
            return (double)high / 1000.0;
    }
    return 0.0;
}

static void measure_latency(lt_progress *progress, const lt_tally *now)
{
    lt_histogram *all_before = tally_all(progress->before);
    lt_histogram *all_now = tally_all(now);
    if (all_before && all_now) {
        progress->p50_ms = quantile_since(all_before, all_now, 0.50);
        progress->p99_ms = quantile_since(all_before, all_now, 0.99);
    }
    histogram_free(all_before);
    histogram_free(all_now);
}

/* The rates since last_second, which is `at` from now on if a second is over. */
static void measure(lt_progress *progress, mono_ns at, bool second_over)
{
    lt_tally *now = tallies_sum(&progress->state->tallies);
    if (!now)
        return;
    double span_s = clock_seconds(at - progress->last_second);
    int64_t done = counter_get(&now->completed) - counter_get(&progress->before->completed);
    int64_t sold =
        counter_get(&now->outcomes[OUT_SOLD]) - counter_get(&progress->before->outcomes[OUT_SOLD]);
    progress->per_second = (double)done / span_s;
    progress->sold_per_second = (double)sold / span_s;
    progress->errors = counter_get(&now->outcomes[OUT_ERROR]) +
                       counter_get(&now->outcomes[OUT_UNAVAILABLE]) +
                       counter_get(&now->outcomes[OUT_UNKNOWN]);
    measure_latency(progress, now);
    if (second_over) {
        lt_tally *before = progress->before;
        progress->before = now;
        now = before;
        progress->last_second = at;
    }
    tally_free(now);
}

/* How much of the run is over, 0..1; negative when nobody knows. */
static double share_done(const lt_progress *progress, mono_ns at)
{
    const lt_plan *plan = progress->state->plan;
    double done = -1.0;
    if (plan->requests > 0) {
        int64_t tickets = atomic_load(&progress->state->tickets);
        done = (double)tickets / (double)plan->requests;
    }
    if (plan->duration > 0) {
        double time = (double)(at - progress->state->started_at) / (double)plan->duration;
        done = time > done ? time : done;
    }
    return done > 1.0 ? 1.0 : done;
}

static void write_progress(FILE *line, double done, double elapsed_s, int bar)
{
    int filled = (int)(done * bar);
    if (done < 0.0) {
        fprintf(line, "%6.1f s", elapsed_s);
        return;
    }
    if (bar > 0) {
        fputc('[', line);
        for (int i = 0; i < bar; i++)
            fputc(i < filled ? '#' : '.', line);
        fputs("] ", line);
    }
    fprintf(line, "%3.0f %%", done * 100.0);
    if (done > 0.02 && done < 1.0)
        fprintf(line, ", %.0f s left", elapsed_s * (1.0 - done) / done);
}

/* How far the run is: with a bar of this width, 0: without. */
static void write_state(const lt_progress *progress, FILE *line, mono_ns at, int bar)
{
    lt_stock_sample stock;
    fprintf(line, "%s ", progress->label);
    write_progress(line, share_done(progress, at), clock_seconds(at - progress->state->started_at),
                   bar);
    if (progress->sampler && stock_sampler_last(progress->sampler, &stock))
        fprintf(line, "  stock %" PRId64, stock.remaining);
    if (progress->errors > 0)
        fprintf(line, "  %" PRId64 " errors", progress->errors);
}

/* A line longer than the terminal would wrap and could not be overwritten. */
static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return COLUMNS_UNKNOWN;
    return size.ws_col - 1;
}

/* A plain line; or, on a terminal of 80 columns, two lines. The cursor stays in the first. */
static void show(const lt_progress *progress, mono_ns at)
{
    char state[LINE_MAX_BYTES] = "", speed[LINE_MAX_BYTES];
    int width = columns();
    FILE *line = fmemopen(state, sizeof(state), "w");
    if (line) {
        write_state(progress, line, at, progress->on_terminal ? BAR_WIDTH : 0);
        fclose(line);
    }
    snprintf(speed, sizeof(speed), "  %.0f req/s  %.0f sold/s  p50 %.1f ms  p99 %.1f ms",
             progress->per_second, progress->sold_per_second, progress->p50_ms, progress->p99_ms);
    if (progress->on_terminal)
        fprintf(stderr, LINE_START "%.*s\n" LINE_START "%.*s" LINE_UP, width, state, width, speed);
    else
        fprintf(stderr, "%s%s\n", state, speed);
    fflush(stderr);
}

void progress_tick(lt_progress *progress)
{
    mono_ns at = clock_now();
    if (!progress || !progress->before)
        return;
    bool second_over = at - progress->last_second >= PERIOD_NS;
    bool redraw = progress->on_terminal && at >= progress->next_draw;
    bool first_second = progress->last_second == progress->state->started_at;
    /* Before the first whole second, shows the part that has passed. */
    if (second_over || (redraw && first_second))
        measure(progress, at, second_over);
    if (!redraw && (progress->on_terminal || !second_over))
        return;
    show(progress, at);
    progress->next_draw = at + REDRAW_NS;
}

void progress_free(lt_progress *progress)
{
    if (!progress)
        return;
    if (progress->on_terminal) {
        fputs(LINE_START "\n" LINE_START LINE_UP, stderr);
        fflush(stderr);
    }
    tally_free(progress->before);
    free(progress);
}
