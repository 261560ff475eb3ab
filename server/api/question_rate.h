/*
 * question_rate.h - how often one address may ask, and how often this instance looks for items that
 * it does not know.
 *
 * Anybody may ask for the stock, an order or the live document, and Redis answers most of that. So
 * a question counts here, in the memory of this instance, where refusing it costs Redis nothing.
 * The generic cell rate algorithm (ITU-T I.371), with a second's worth of questions at once.
 * Addresses whose hashes agree share a bucket.
 */
#ifndef FLASHSALE_QUESTION_RATE_H
#define FLASHSALE_QUESTION_RATE_H

#include <stdatomic.h>
#include <stdint.h>

/* Items a second that Redis is asked for because of a question, and that no sale here knows. */
#define UNKNOWN_ITEMS_RATE 50

enum { QUESTION_BUCKETS = 1024 };

/* All zeros but for the rate is one without a question so far. Any number of threads may use it. */
typedef struct question_rate {
    int64_t rate;                               /* questions a second and address; 0 = no limit */
    _Atomic int64_t empty_us[QUESTION_BUCKETS]; /* when the bucket is empty again; dlock_now() */
    _Atomic int64_t unknown_empty_us;
} question_rate;

/* 0: go on. Otherwise the seconds after which a question can succeed. */
int question_wait_s(question_rate *questions, const char *address);

/* Likewise for a look at Redis for an item that is not known here. */
int question_wait_unknown_s(question_rate *questions);

#endif
