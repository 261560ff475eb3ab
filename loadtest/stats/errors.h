/*
 * errors.h - what went wrong, by phase, code and target, with a hint for each.
 *
 * A failure is never only a number: the report says where it happened ("connect"), what it was
 * ("refused"), at which target, how often, and what to look at.
 */
#ifndef LOADTEST_ERRORS_H
#define LOADTEST_ERRORS_H

#include <stdint.h>

#define ERRORS_MAX 128 /* kinds kept apart; all further ones are counted together */

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
    uint64_t count;
} lt_error_entry;

typedef struct lt_errors lt_errors;

lt_errors *errors_new(void);
void errors_free(lt_errors *errors);

/* Counts one. Any thread. */
void errors_add(lt_errors *errors, lt_error_phase phase, const char *code, int target);

/* Copies all entries, most frequent first; their number. */
int errors_list(lt_errors *errors, lt_error_entry ret_entries[ERRORS_MAX]);

const char *error_phase_name(lt_error_phase phase);

/* A sentence on what to look at. Never NULL. */
const char *error_hint(const lt_error_entry *entry);

#endif
