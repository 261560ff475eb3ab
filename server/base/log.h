/*
 * log.h - one line of JSON per event, on stderr.
 *
 *     log_event(LOG_INFO, "sale_started", "item", item, "sale", id, NULL);
 *     {"time":"2024-05-01T12:00:00.123Z","level":"info","event":"sale_started","item":...}
 *
 * It is for events that an operator needs: starts, stops, sales, losses, failures. A normal buy is
 * counted (metrics.h), not logged. Any thread may log; lines do not mix.
 */
#ifndef FLASHSALE_LOG_H
#define FLASHSALE_LOG_H

typedef enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO } log_level;

/* `event`, then pairs of name and text, then NULL. Texts are escaped; a NULL text is left out. */
void log_event(log_level level, const char *event, ...) __attribute__((sentinel));

/* The same for an event that may come thousands of times a second, such as a failed call to Redis:
 * at most one line per second and call site, with the number of events left out. */
#define LOG_SOME(level, event, ...)                                                                \
    do {                                                                                           \
        static log_gate gate_;                                                                     \
        char left_out_[24];                                                                        \
        if (log_gate_open(&gate_, left_out_, sizeof(left_out_)))                                   \
            log_event(level, event, "left_out", left_out_, __VA_ARGS__);                           \
    } while (0)

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct log_gate {
    _Atomic int64_t next_us;
    _Atomic int64_t left_out;
} log_gate;

bool log_gate_open(log_gate *gate, char *left_out, size_t left_out_len);

#endif
