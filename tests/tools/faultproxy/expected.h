/*
 * expected.h - the replies that a connection still owes, in order, with what is to happen to them.
 */
#ifndef FAULTPROXY_EXPECTED_H
#define FAULTPROXY_EXPECTED_H

#include "tests/tools/faultproxy/rules.h"

typedef struct expected_reply {
    fp_judgement judgement;
    char *script; /* the text of a SCRIPT LOAD, whose reply is its hash; NULL: another command */
    size_t script_len;
} expected_reply;

/* All-zero is an empty queue. */
typedef struct fp_expected {
    expected_reply *ring; /* cap is a power of two */
    size_t first, count, cap;
} fp_expected;

void expected_free(fp_expected *expected);

/* Queues what the judged request will be answered with: one reply, or one for each channel of a
 * subscription. */
void expected_add(fp_expected *expected, const char *request, size_t len,
                  const fp_judgement *judgement);

/* Takes the first one; the caller frees its script. False: nothing was expected. */
bool expected_take(fp_expected *expected, expected_reply *ret);

#endif
