/* ticker.h - a thread that does one thing again and again until it is stopped. */
#ifndef FLASHSALE_TICKER_H
#define FLASHSALE_TICKER_H

#include <stdint.h>

typedef struct ticker ticker;

/* Calls `tick` on a thread of its own: at once, and again `pause_ms` after each return. NULL: out
 * of memory or threads. */
ticker *ticker_start(void (*tick)(void *arg), void *arg, int64_t pause_ms);

/* Waits for a tick that is under way. NULL is allowed. */
void ticker_stop(ticker *t);

#endif
