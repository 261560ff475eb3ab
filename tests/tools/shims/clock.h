/* clock.h - what a program with a preloaded clock (clock.c) and the test that sets it share. */
#ifndef TESTS_SHIMS_CLOCK_H
#define TESTS_SHIMS_CLOCK_H

#include <stdatomic.h>
#include <stdint.h>

#define SHIM_CLOCK_FILE    "FLASHSALE_CLOCK"    /* environment: the file with shim_clocks */
#define SHIM_CLOCK_PROGRAM "FLASHSALE_CLOCK_OF" /* environment: the only program that it is for */

enum { SHIM_CLOCKS = 16 };

/* Each process that starts takes the next of the clocks, in the order of their starts. */
typedef struct shim_clocks {
    _Atomic int64_t taken;
    struct {
        _Atomic int64_t ahead_s; /* of the machine's clock; may be negative */
        _Atomic int64_t told;    /* how often it was asked while it was not 0 */
    } of[SHIM_CLOCKS];
} shim_clocks;

#endif
