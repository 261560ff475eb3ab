/* log.c - composes a line and writes it in one call, so lines of threads do not mix. */
#include "server/base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lock/dlock_redis.h"
#include "server/base/text.h"

static void put_time(fs_text *line)
{
    struct timespec now;
    struct tm utc;
    char stamp[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &utc);
    strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
    text_printf(line, "{\"time\":\"%s.%03ldZ\"", stamp, now.tv_nsec / 1000000);
}

void log_event(log_level level, const char *event, ...)
{
    static const char *const levels[] = {"error", "warn", "info"};
    fs_text line;
    text_init(&line);
    put_time(&line);
    text_printf(&line, ",\"level\":\"%s\",\"event\":\"%s\"", levels[level], event);

    va_list pairs;
    va_start(pairs, event);
    for (const char *name; (name = va_arg(pairs, const char *));) {
        const char *value = va_arg(pairs, const char *);
        if (value) {
            text_printf(&line, ",\"%s\":", name);
            text_json(&line, value);
        }
    }
    va_end(pairs);
    text_add(&line, "}\n");
    if (write(STDERR_FILENO, text_bytes(&line), line.len) < 0) {
        /* nowhere left to say so */
    }
    text_free(&line);
}

bool log_gate_open(log_gate *gate, char *left_out, size_t left_out_len)
{
    int64_t now = dlock_now().us;
    int64_t next = atomic_load(&gate->next_us);
    if (now < next || !atomic_compare_exchange_strong(&gate->next_us, &next, now + 1000000)) {
        atomic_fetch_add(&gate->left_out, 1);
        return false;
    }
    snprintf(left_out, left_out_len, "%lld", (long long)atomic_exchange(&gate->left_out, 0));
    return true;
}
