#include "loadtest/live.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PERIOD_NS       NS_PER_S
#define REDRAW_NS       (200 * NS_PER_MS)
#define COLUMNS_UNKNOWN 79
#define LINE_MAX_BYTES  512
#define BAR_WIDTH       24
#define LINE_START      "\r\033[K" /* back to the start, clear the line */

struct live {
    enum live_style style;
    const char *label;
    struct course *course;
    const struct fleet *fleet;
    struct stock_watch *watch;
    mono_ns next_draw, last_second;
    struct tally *before; /* the sum a second ago */
    double per_second, sold_per_second, p50_ms, p99_ms;
};

enum live_style live_style_of(bool quiet)
{
    if (quiet)
        return LIVE_NONE;
    return isatty(STDERR_FILENO) ? LIVE_TERMINAL : LIVE_LINES;
}

struct live *live_new(enum live_style style, const char *label, struct course *course,
                      const struct fleet *fleet, struct stock_watch *watch)
{
    struct live *live = style == LIVE_NONE ? NULL : calloc(1, sizeof(*live));
    if (live == NULL)
        return NULL;
    *live = (struct live){.style = style,
                          .label = label,
                          .course = course,
                          .fleet = fleet,
                          .watch = watch,
                          .before = tally_new(),
                          .last_second = course->started_at};
    return live;
}

/* The quantile of what was recorded between two states of a histogram, in ms. */
static double quantile_since(const struct histogram *before, const struct histogram *now,
                             double quantile)
{
    uint64_t total = histogram_count(now) - histogram_count(before), seen = 0, count;
    int64_t low, high;
    for (int cursor = 0; histogram_next(now, &cursor, &low, &high, &count);) {
        seen += count;
        uint64_t earlier = histogram_count_upto(before, high);
        if (seen > earlier && (double)(seen - earlier) >= quantile * (double)total)
            return (double)high / 1000.0;
    }
    return 0.0;
}

static void measure_latency(struct live *live, const struct tally *now)
{
    struct histogram *all_before = tally_all(live->before->from_due);
    struct histogram *all_now = tally_all(now->from_due);
    if (all_before != NULL && all_now != NULL) {
        live->p50_ms = quantile_since(all_before, all_now, 0.50);
        live->p99_ms = quantile_since(all_before, all_now, 0.99);
    }
    histogram_free(all_before);
    histogram_free(all_now);
}

/* Once a second: the rates since the second before. */
static void measure(struct live *live, mono_ns at)
{
    struct tally *now = fleet_sum(live->fleet);
    if (now == NULL || live->before == NULL)
        return;
    double span_s = clock_seconds(at - live->last_second);
    uint64_t done = counter_get(&now->completed) - counter_get(&live->before->completed);
    uint64_t sold =
        counter_get(&now->outcomes[OUT_SOLD]) - counter_get(&live->before->outcomes[OUT_SOLD]);
    live->per_second = (double)done / span_s;
    live->sold_per_second = (double)sold / span_s;
    measure_latency(live, now);
    tally_free(live->before);
    live->before = now;
    live->last_second = at;
}

/* How much of the run is over, 0..1; negative when nobody knows. */
static double progress(const struct live *live, mono_ns at)
{
    const struct load_plan *plan = live->course->plan;
    double done = -1.0;
    if (plan->requests > 0) {
        int64_t tickets = atomic_load(&live->course->tickets);
        done = (double)tickets / (double)plan->requests;
    }
    if (plan->duration > 0) {
        double time = (double)(at - live->course->started_at) / (double)plan->duration;
        done = time > done ? time : done;
    }
    return done > 1.0 ? 1.0 : done;
}

static void write_bar(FILE *line, double done, double elapsed_s)
{
    if (done < 0.0) {
        fprintf(line, "%6.1f s", elapsed_s);
        return;
    }
    int filled = (int)(done * BAR_WIDTH);
    fputc('[', line);
    for (int i = 0; i < BAR_WIDTH; i++)
        fputc(i < filled ? '#' : '.', line);
    fprintf(line, "] %3.0f %%", done * 100.0);
    if (done > 0.02 && done < 1.0)
        fprintf(line, ", %.0f s left", elapsed_s * (1.0 - done) / done);
}

static void write_line(const struct live *live, FILE *line, mono_ns at)
{
    struct stock_sample stock;
    uint64_t failed = 0;
    for (int i = 0; i < live->fleet->threads; i++)
        failed += counter_get(&live->fleet->tallies[i]->failed) +
                  counter_get(&live->fleet->tallies[i]->outcomes[OUT_UNAVAILABLE]);
    fprintf(line, "%s ", live->label);
    write_bar(line, progress(live, at), clock_seconds(at - live->course->started_at));
    if (live->watch != NULL && stock_watch_last(live->watch, &stock))
        fprintf(line, "  stock %" PRId64, stock.remaining);
    fprintf(line, "  %.0f req/s  %.0f sold/s  p50 %.1f ms  p99 %.1f ms", live->per_second,
            live->sold_per_second, live->p50_ms, live->p99_ms);
    if (failed > 0)
        fprintf(line, "  %" PRIu64 " errors", failed);
}

/* A line longer than the terminal would wrap, and could not be drawn over. */
static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return COLUMNS_UNKNOWN;
    return size.ws_col - 1;
}

static void draw(struct live *live, mono_ns at)
{
    char text[LINE_MAX_BYTES] = "";
    FILE *line = fmemopen(text, sizeof(text), "w");
    if (line == NULL)
        return;
    write_line(live, line, at);
    fclose(line);
    if (live->style == LIVE_TERMINAL)
        fprintf(stderr, LINE_START "%.*s", columns(), text);
    else
        fprintf(stderr, "%s\n", text);
    fflush(stderr);
}

void live_tick(struct live *live)
{
    mono_ns at = clock_now();
    if (live == NULL || live->before == NULL)
        return;
    bool second_over = at - live->last_second >= PERIOD_NS;
    if (second_over)
        measure(live, at);
    if (live->style == LIVE_LINES ? !second_over : at < live->next_draw)
        return;
    draw(live, at);
    live->next_draw = at + REDRAW_NS;
}

void live_free(struct live *live)
{
    if (live == NULL)
        return;
    if (live->style == LIVE_TERMINAL) {
        fputs(LINE_START, stderr);
        fflush(stderr);
    }
    tally_free(live->before);
    free(live);
}
