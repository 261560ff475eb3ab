/*
 * answer.h - a question to an instance, and what its answer said.
 */
#ifndef TESTS_SUPPORT_SALE_ANSWER_H
#define TESTS_SUPPORT_SALE_ANSWER_H

#include "tests/support/sale/sale.h"

enum { ANSWER_MAX = 2048 };

/* What an answer's body said, as the journal writes it: "-" = nothing. */
typedef struct answer {
    fx_told told;
    char sale[64], order[96], user[FX_USER_MAX], item[40];
    char remaining[24], fence[24], quantity[24], units[24], orders[24];
    char oversold[24], lost_updates[24], unordered[24];
    char reserved[24], sold[24], expires_us[24], time_us[24], state[16];
    bool final;
    char body[ANSWER_MAX];
    size_t len;
} answer;

/* Asks, over a connection of the thread's, or one of its own (`anew`). Status 0: no answer came. */
void answer_ask(const char *method, const char *url, bool anew, answer *ret);

#endif
