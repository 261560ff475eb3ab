/* timed_section.c - see timed_section.h. */
#include "server/selling/timed_section.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int timed_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    fs_timed *sale = calloc(1, sizeof(*sale));
    if (!sale || !(sale->wheel = wheel_open())) {
        snprintf(err, err_len, "out of memory or threads");
        free(sale);
        return -1;
    }
    sale->terms = terms;
    snprintf(sale->lease_ms, sizeof(sale->lease_ms), "%" PRId64, terms->lease_ms);
    *state = sale;
    return 0;
}

void timed_close(void *state)
{
    fs_timed *sale = state;
    wheel_close(sale->wheel);
    free(sale);
}
