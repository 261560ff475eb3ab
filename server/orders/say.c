/* say.c - stderr, and the file of metrics, which is replaced atomically. */
#include "server/orders/say.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_FIRST_MS 100
#define WAIT_MOST_MS  5000

static bool at_progress; /* the cursor is behind a line of progress */

void say(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%sflashsale-orders: ", at_progress ? "\r\033[K" : "");
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    at_progress = false;
}

int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t unix_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void trouble_is(trouble *of, const char *what, const char *sentence)
{
    int64_t since_ms = now_ms() - of->said_ms;
    bool same = strncmp(of->said, sentence, sizeof(of->said) - 1) == 0;
    if (!of->is || since_ms >= (same ? 60000 : 10000)) {
        say("%s: %s; trying again", what, sentence);
        snprintf(of->said, sizeof(of->said), "%s", sentence);
        of->said_ms = now_ms();
    }
    of->wait_ms = of->is ? twice_up_to(of->wait_ms, WAIT_MOST_MS) : WAIT_FIRST_MS;
    of->due_ms = now_ms() + of->wait_ms;
    of->is = true;
}

void trouble_over(trouble *of, const char *what)
{
    if (of->is)
        say("%s: answers again", what);
    of->is = false;
    of->said_ms = of->due_ms = 0;
}

static void write_metrics(const follow_figures *figures, const char *file)
{
    const struct {
        const char *name, *type, *help;
        double value;
    } all[] = {
        {"events_total", "counter", "Events written by this process.", (double)figures->events},
        {"lost_total", "counter", "Orders and moves that Redis has lost, and that were marked.",
         (double)figures->lost},
        {"behind_events", "gauge",
         "Events that were not in the database when it was written to last.",
         (double)figures->behind},
        {"age_seconds", "gauge", "Age of the last event when it was written.",
         (double)figures->age_us / 1e6},
        {"committed_timestamp_seconds", "gauge", "When the last transaction was committed.",
         (double)figures->committed_us / 1e6},
        {"leading", "gauge", "Whether this follower leads.", figures->leading},
        {"database_up", "gauge", "Whether the database answers.", figures->database_up},
        {"source_up", "gauge", "Whether the instances answer.", figures->source_up},
    };
    static trouble unwritten;
    char temporary[512];
    snprintf(temporary, sizeof(temporary), "%s.%d", file, (int)getpid());
    FILE *to = fopen(temporary, "w");
    for (size_t i = 0; to && i < sizeof(all) / sizeof(all[0]); i++)
        fprintf(to,
                "# HELP flashsale_orders_%s %s\n# TYPE flashsale_orders_%s %s\n"
                "flashsale_orders_%s %.15g\n",
                all[i].name, all[i].help, all[i].name, all[i].type, all[i].name, all[i].value);
    bool written = to && fclose(to) == 0 && rename(temporary, file) == 0;
    if (written) {
        unwritten = (trouble){.is = false};
    } else {
        trouble_is(&unwritten, "--metrics", strerror(errno));
        unlink(temporary);
    }
}

void say_figures(const follow_figures *figures, const char *file, bool last)
{
    static int64_t due_ms, events, at_ms;
    int64_t now = now_ms();
    if (now < due_ms && !last)
        return;
    double per_s =
        now > at_ms ? (double)(figures->events - events) * 1000.0 / (double)(now - at_ms) : 0;
    if (file)
        write_metrics(figures, file);
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K%lld written, %lld behind, %.0f/s%s", (long long)figures->events,
                (long long)figures->behind, at_ms != 0 ? per_s : 0, last ? "\n" : "");
        at_progress = !last;
    }
    due_ms = now + 1000;
    events = figures->events;
    at_ms = now;
}
