/*
 * say.h - the program's messages: lines on stderr, each trouble once and not every time; progress
 * if stderr is a terminal; and metrics in a file.
 */
#ifndef FLASHSALE_ORDERS_SAY_H
#define FLASHSALE_ORDERS_SAY_H

#include <stdbool.h>
#include <stdint.h>

/* A line "flashsale-orders: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ms of a monotonic clock. */
int64_t now_ms(void);

/* Unix time, by this machine's clock. */
int64_t unix_us(void);

/* The wait after another failure: twice as long as before, but at most `most`. */
static inline int64_t twice_up_to(int64_t ms, int64_t most)
{
    return ms * 2 < most ? ms * 2 : most;
}

/* A repeated failure. All-zero: none. */
typedef struct trouble {
    bool is;
    char said[512];
    int64_t said_ms;
    int64_t wait_ms; /* until the next try: 0.1 s, and twice as long each time, up to 5 s */
    int64_t due_ms;  /* the next try; 0 = no failure */
} trouble;

/* Notes a failure. Prints it if it is new, if the sentence has changed (but not within ten
 * seconds), and once a minute. */
void trouble_is(trouble *of, const char *what, const char *sentence);
void trouble_over(trouble *of, const char *what);

/* A follower's state and counts. */
typedef struct follow_figures {
    bool leading, database_up, source_up;
    int64_t events;       /* written by this process */
    int64_t lost;         /* orders and moves marked as lost */
    int64_t behind;       /* events that the database lacks, by the instances */
    int64_t committed_us; /* Unix time of the last transaction; 0 = none so far */
    int64_t age_us;       /* of the last event when it was written, by Redis's clock */
} follow_figures;

/* Prints progress and writes metrics, each at most once a second. `file` NULL: none. */
void say_figures(const follow_figures *figures, const char *file, bool last);

#endif
