/*
 * say.h - what the program says of itself: lines on stderr, trouble once and not every time,
 * progress where stderr is a terminal, and metrics in a file.
 */
#ifndef FLASHSALE_ORDERS_SAY_H
#define FLASHSALE_ORDERS_SAY_H

#include <stdbool.h>
#include <stdint.h>

/* A line "flashsale-orders: ...". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ms of a clock that nobody sets. */
int64_t now_ms(void);

/* Unix time, by this machine's clock. */
int64_t unix_us(void);

/* How long to wait after another failure: twice as long as before, but no longer than `most`. */
static inline int64_t twice_up_to(int64_t ms, int64_t most)
{
    return ms * 2 < most ? ms * 2 : most;
}

/* Something that fails again and again. All-zero: it does not. */
typedef struct trouble {
    bool is;
    char said[512];
    int64_t said_ms;
    int64_t wait_ms; /* before it is tried again: 0.1 s, and twice as long each time, up to 5 s */
    int64_t due_ms;  /* ... which is then; 0 = it does not fail */
} trouble;

/* It has failed: said when it is new, when it is another sentence, though not within ten seconds,
 * and once a minute. */
void trouble_is(trouble *of, const char *what, const char *sentence);
void trouble_over(trouble *of, const char *what);

/* What a follower has done and sees. */
typedef struct follow_figures {
    bool leading, database_up, source_up;
    int64_t events;       /* written by this process */
    int64_t lost;         /* orders and moves marked as lost */
    int64_t behind;       /* events that are not in the database, as the instances say */
    int64_t committed_us; /* Unix time of the last transaction; 0 = none so far */
    int64_t age_us;       /* of the last event when it was written, by Redis's clock */
} follow_figures;

/* Both at most once a second. `file` NULL: none. */
void say_figures(const follow_figures *figures, const char *file, bool last);

#endif
