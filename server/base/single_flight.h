/*
 * single_flight.h - one call per name at a time: a caller that comes while a call is running waits
 * for its result instead of repeating it. Calls for different names are independent, and every
 * caller waits only until its own deadline.
 */
#ifndef FLASHSALE_SINGLE_FLIGHT_H
#define FLASHSALE_SINGLE_FLIGHT_H

#include "lock/dlock_redis.h"

typedef struct single_flight single_flight;

single_flight *single_flight_new(void); /* NULL: out of memory */
void single_flight_free(single_flight *all);

/* How old a result may be. */
typedef enum flight_age {
    FLIGHT_ANY,  /* of a running call */
    FLIGHT_FRESH /* only of a call that begins after now */
} flight_age;

typedef int flight_call(void *arg, const char *name, dlock_time deadline);

/* Makes the call for `name`, or waits for another caller's, and returns the result; `otherwise` at
 * the deadline or when out of memory. */
int single_flight_do(single_flight *all, const char *name, flight_age age, dlock_time deadline,
                     flight_call *call, void *arg, int otherwise);

#endif
