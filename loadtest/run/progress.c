#include "loadtest/run/progress.h"

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
#define LINE_UP         "\033[A"

struct live {
    enum live_style style;
    const char *label;
    struct course *course;
    const struct fleet *fleet;
    struct stock_watch *watch;
    mono_ns next_draw, last_second;
    struct tally *before; /* the sum at last_second */
    double per_second, sold_per_second, p50_ms, p99_ms;
    uint64_t errors;
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
    if (!live)
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
    if (all_before && all_now) {
        live->p50_ms = quantile_since(all_before, all_now, 0.50);
        live->p99_ms = quantile_since(all_before, all_now, 0.99);
    }
    histogram_free(all_before);
    histogram_free(all_now);
}

/* The rates since last_second, which is `at` from now on if a second is over. */
static void measure(struct live *live, mono_ns at, bool second_over)
{
    struct tally *now = fleet_sum(live->fleet);
    if (!now)
        return;
    double span_s = clock_seconds(at - live->last_second);
    uint64_t done = counter_get(&now->completed) - counter_get(&live->before->completed);
    uint64_t sold =
        counter_get(&now->outcomes[OUT_SOLD]) - counter_get(&live->before->outcomes[OUT_SOLD]);
    live->per_second = (double)done / span_s;
    live->sold_per_second = (double)sold / span_s;
    live->errors = counter_get(&now->outcomes[OUT_ERROR]) +
                   counter_get(&now->outcomes[OUT_UNAVAILABLE]) +
                   counter_get(&now->outcomes[OUT_UNKNOWN]);
    measure_latency(live, now);
    if (second_over) {
        struct tally *before = live->before;
        live->before = now;
        now = before;
        live->last_second = at;
    }
    tally_free(now);
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

/* How far the run is: with a bar so wide, 0: without. */
static void write_state(const struct live *live, FILE *line, mono_ns at, int bar)
{
    struct stock_sample stock;
    fprintf(line, "%s ", live->label);
    write_progress(line, progress(live, at), clock_seconds(at - live->course->started_at), bar);
    if (live->watch && stock_watch_last(live->watch, &stock))
        fprintf(line, "  stock %" PRId64, stock.remaining);
    if (live->errors > 0)
        fprintf(line, "  %" PRIu64 " errors", live->errors);
}

/* How fast it goes. */
static void write_speed(const struct live *live, FILE *line)
{
    fprintf(line, "  %.0f req/s  %.0f sold/s  p50 %.1f ms  p99 %.1f ms", live->per_second,
            live->sold_per_second, live->p50_ms, live->p99_ms);
}

/* A line longer than the terminal would wrap, and could not be drawn over. */
static int columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2)
        return COLUMNS_UNKNOWN;
    return size.ws_col - 1;
}

/* In two lines, which a terminal of 80 columns holds; the cursor stays in the first. */
static void draw(const struct live *live, mono_ns at)
{
    char state[LINE_MAX_BYTES] = "", speed[LINE_MAX_BYTES] = "";
    int width = columns();
    FILE *line = fmemopen(state, sizeof(state), "w");
    if (line) {
        write_state(live, line, at, BAR_WIDTH);
        fclose(line);
    }
    line = fmemopen(speed, sizeof(speed), "w");
    if (line) {
        write_speed(live, line);
        fclose(line);
    }
    fprintf(stderr, LINE_START "%.*s\n" LINE_START "%.*s" LINE_UP, width, state, width, speed);
    fflush(stderr);
}

static void print_line(const struct live *live, mono_ns at)
{
    write_state(live, stderr, at, 0);
    write_speed(live, stderr);
    fputc('\n', stderr);
}

void live_tick(struct live *live)
{
    mono_ns at = clock_now();
    if (!live || !live->before)
        return;
    bool second_over = at - live->last_second >= PERIOD_NS;
    bool redraw = live->style == LIVE_TERMINAL && at >= live->next_draw;
    bool first_second = live->last_second == live->course->started_at;
    /* Until there is a whole second to tell of, the part of it that there is. */
    if (second_over || (redraw && first_second))
        measure(live, at, second_over);
    if (live->style == LIVE_LINES && second_over)
        print_line(live, at);
    if (!redraw)
        return;
    draw(live, at);
    live->next_draw = at + REDRAW_NS;
}

void live_free(struct live *live)
{
    if (!live)
        return;
    if (live->style == LIVE_TERMINAL) {
        fputs(LINE_START "\n" LINE_START LINE_UP, stderr);
        fflush(stderr);
    }
    tally_free(live->before);
    free(live);
}
