/*
 * trouble.h - what goes wrong in a soak, one after the other, at random.
 *
 * All kinds lie in a bag, are drawn blindly, and put back together when it is empty: so each minute
 * meets most of them, and the first meets what the last does. Two of the instances are never ended,
 * so that what leaks there shows; the third one is killed or told to go, now and then.
 */
#ifndef TESTS_CHAOS_SOAK_TROUBLE_H
#define TESTS_CHAOS_SOAK_TROUBLE_H

#include "tests/chaos/cell.h"

/* Makes the next trouble, undoes it, and writes both down. Adds 1 to c->landed if it took effect.
 * Its name. */
const char *trouble_make(cell *c);

#endif
