/*
 * single_flight.h - one call for an identifier at a time: who comes while it is under way waits for
 * its result instead of asking again.
 * Different names do not wait for each other, and nobody waits beyond its own deadline.
 */
#ifndef FLASHSALE_SINGLE_FLIGHT_H
#define FLASHSALE_SINGLE_FLIGHT_H

#include "lock/dlock_redis.h"

typedef struct single_flight single_flight;

single_flight *single_flight_new(void); /* NULL: out of memory */
void single_flight_free(single_flight *all);

/* How old an answer may be. */
typedef enum flight_age {
    FLIGHT_ANY,  /* the call that is under way will do */
    FLIGHT_FRESH /* only one that begins after now */
} flight_age;

typedef int flight_call(void *arg, const char *name, dlock_time deadline);

/* Makes the call for `name`, or waits for another's; its result. `otherwise` at the deadline, or
 * without memory. */
int single_flight_do(single_flight *all, const char *name, flight_age age, dlock_time deadline,
                     flight_call *call, void *arg, int otherwise);

#endif
