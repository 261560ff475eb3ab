/*
 * errors.h - what went wrong, by phase, code and target, with a hint for each.
 *
 * A failure is never only a number: the report says where it happened ("connect"), what it was
 * ("refused"), at which target, how often, and what to look at.
 */
#ifndef LOADTEST_ERRORS_H
#define LOADTEST_ERRORS_H

#include <pthread.h>
#include <stdint.h>

#define ERRORS_MAX 128 /* kinds kept apart; further ones are counted together */

typedef enum lt_error_phase {
    PHASE_WARM_UP, /* before the run: opening the connections */
    PHASE_CONNECT, /* nothing was sent */
    PHASE_SEND,    /* part of the request may have been sent */
    PHASE_WAIT,    /* sent; the answer did not come, or not whole */
    PHASE_ANSWER   /* an HTTP answer that is not one of the outcomes of a sale */
} lt_error_phase;

typedef struct lt_error_entry {
    lt_error_phase phase;
    char code[64]; /* "refused", "reset", "http_500", "store_unavailable" */
    int target;    /* index into the plan's targets */
    int64_t count;
} lt_error_entry;

/* Zero, with an initialised mutex, is empty. */
typedef struct lt_errors {
    pthread_mutex_t mutex; /* errors are rare, so one lock for all is enough */
    int count;
    lt_error_entry entries[ERRORS_MAX];
} lt_errors;

/* Counts one. Any thread. */
void errors_add(lt_errors *errors, lt_error_phase phase, const char *code, int target);

/* Puts the most frequent first. */
void errors_sort(lt_errors *errors);

const char *error_phase_name(lt_error_phase phase);

/* A sentence on what to look at. Never NULL. */
const char *error_hint(const lt_error_entry *entry);

#endif
