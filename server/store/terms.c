/* terms.c - what follows from a sale's terms. */
#include "server/store/terms.h"

#include <stdlib.h>
#include <string.h>

#define REQUEST_MS      10000
#define WAIT_RESERVE_MS 1000 /* beyond the longest wait, for the write itself */
#define HOLD_RESERVE_MS 500  /* beyond the section, for the lock and the write */

static const char *const durability_names[DURABILITY_LEVELS] = {"memory", "disk"};

const char *durability_name(durability level)
{
    return durability_names[level];
}

bool durability_find(const char *name, durability *ret)
{
    for (int i = 0; i < DURABILITY_LEVELS; i++) {
        if (strcmp(name, durability_names[i]) == 0) {
            *ret = (durability)i;
            return true;
        }
    }
    return false;
}

int64_t terms_request_ms(const sale_terms *terms)
{
    return terms->wait_ms <= REQUEST_MS ? REQUEST_MS : terms->wait_ms + WAIT_RESERVE_MS;
}

int64_t terms_hold_most_ms(const sale_terms *terms)
{
    return terms_request_ms(terms) - HOLD_RESERVE_MS;
}

/* A sale's id is the moment of its start, which ended the one before. */
bool terms_keep_previous(const sale_terms *terms)
{
    int64_t age_us = store_redis_us(terms->store, dlock_now()) - strtoll(terms->id, NULL, 16);
    return terms->previous[0] != '\0' && age_us < TERMS_KEPT_S * INT64_C(1000000);
}

int64_t terms_units(const sale_terms *terms, int segment)
{
    if (terms->segments == 0)
        return terms->initial;
    return terms->initial / terms->segments + (segment < terms->initial % terms->segments);
}
