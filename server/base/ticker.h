/* ticker.h - a thread that repeats a call until it is stopped. */
#ifndef FLASHSALE_TICKER_H
#define FLASHSALE_TICKER_H

#include <stdint.h>

typedef struct ticker ticker;

/* Starts a thread that calls `tick` at once, and again `pause_ms` after each return. NULL: out of
 * memory or threads. */
ticker *ticker_start(void (*tick)(void *arg), void *arg, int64_t pause_ms);

/* Waits for a running tick. NULL is allowed. */
void ticker_stop(ticker *t);

#endif
