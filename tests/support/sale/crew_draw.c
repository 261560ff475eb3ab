/* crew_draw.c - what each request of the crew is like: drawn from the seed and its number. */
#include <stdio.h>

#include "tests/support/sale/crew.h"

enum {
    MANY = 10, /* units, and up to so many more, less one: */
    MANY_MORE = 16,
    SOON_US = 400000, /* until a not_after */
    PAST_US = 5000000 /* since one that has passed */
};

/* One in DATES is each of these; the others are not dated. */
enum { DATED_PAST, DATED_SOON, DATED_SOON_TOO, DATED_AND_LOOKED_FOR, DATES = 24 };

crew_habits crew_like;

/* SplitMix64. */
unsigned crew_drawn(int number, unsigned below)
{
    uint64_t z = crew_like.seed + (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % below);
}

static unsigned date_of(int number)
{
    return crew_like.dated ? crew_drawn(number + 2 * CREW_DRAW_APART, DATES) : DATES;
}

bool crew_looks_first(int number)
{
    return date_of(number) == DATED_AND_LOOKED_FOR;
}

/* Where there is a limit some reach it, but all together they may have all. Those that tests name
 * themselves are others. */
static int user_of(const fx_terms *terms, int number)
{
    return 1000 + number % (terms->limit > 0 ? terms->stock / 4 + 1 : 100);
}

static int quantity_of(int number)
{
    unsigned drawn = crew_drawn(number, 40);
    if (crew_like.several && drawn == 5 && crew_drawn(number + CREW_DRAW_APART, 3) == 0)
        return MANY + (int)crew_drawn(number + CREW_DRAW_APART, MANY_MORE);
    return crew_like.several && drawn < 5 ? 1 + (int)drawn : 1;
}

/* The names of requests differ two by two in a letter's case. */
fx_buy crew_draw(const fx_terms *terms, int number)
{
    unsigned date = date_of(number);
    fx_buy b = {.user = user_of(terms, number), .quantity = quantity_of(number)};
    snprintf(b.request, sizeof(b.request), "%c-%0*d", number % 2 ? 'R' : 'r',
             crew_like.long_names ? 62 : 1, number / 2);
    if (terms->reserve_s > 1 && crew_drawn(number + 3 * CREW_DRAW_APART, 3) == 0)
        b.reserve_s = terms->reserve_s / 2;
    if (date <= DATED_AND_LOOKED_FOR)
        b.not_after_us = journal_wall_us() + (date == DATED_PAST ? -PAST_US : SOON_US);
    return b;
}
