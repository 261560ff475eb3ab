/* crew_draw.c - what each request of the crew is like: drawn from the seed and its number. */
#include <stdio.h>

#include "tests/support/sale/crew.h"

enum {
    MANY = 10, /* units, and up to so many more, less one: */
    MANY_MORE = 16
};

crew_habits crew_like;

/* SplitMix64. */
unsigned crew_drawn(int number, unsigned below)
{
    uint64_t z = crew_like.seed + (uint64_t)number * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % below);
}

int crew_quantity(int number)
{
    unsigned drawn = crew_drawn(number, 40);
    if (crew_like.several && drawn == 5 && crew_drawn(number + CREW_DRAW_APART, 3) == 0)
        return MANY + (int)crew_drawn(number + CREW_DRAW_APART, MANY_MORE);
    return crew_like.several && drawn < 5 ? 1 + (int)drawn : 1;
}

/* Two by two they differ in a letter's case. */
const char *crew_name(int number, char buf[FX_REQUEST_MAX])
{
    snprintf(buf, FX_REQUEST_MAX, "%c-%0*d", number % 2 ? 'R' : 'r', crew_like.long_names ? 62 : 1,
             number / 2);
    return buf;
}
