/*
 * told.h - what a 201 tells its buyer, and whether it is the sale that was asked for.
 *
 * The contract of POST /buy lists the members. One that names another request, item, sale, user or
 * quantity is no proof of the sale that its buyer wanted; nor is one that leaves them out.
 */
#ifndef LOADTEST_TOLD_H
#define LOADTEST_TOLD_H

#include "loadtest/load/run_state.h"

#include <stdbool.h>
#include <stddef.h>

#define TOLD_MAX 72

/* The members as they were written; "" when absent. */
typedef struct lt_told {
    char order[TOLD_MAX], request[TOLD_MAX], item[TOLD_MAX], sale[TOLD_MAX], user[TOLD_MAX];
    char quantity[24], remaining[24];
    bool whole; /* one object, each of these once, and nothing else */
} lt_told;

typedef enum lt_told_truth {
    TOLD_AS_ASKED,
    TOLD_LESS, /* a member of the contract is missing, or not of its form */
    TOLD_OTHER /* a member contradicts what was asked for, or what there can be */
} lt_told_truth;

/* Reads the members out of a body. */
void told_read(const char *body, size_t length, lt_told *ret);

/* Compares them with what the request of this ticket asked for. `code` gets a name for what is
 * wrong, as "201_other_user"; unchanged when nothing is. */
lt_told_truth told_check(const lt_told *told, const lt_run_state *state, int64_t ticket, char *code,
                         size_t code_size);

/* Units left, as told: a whole number, or -1 when it was none (TOLD_LESS). */
int64_t told_remaining(const lt_told *told);

#endif
