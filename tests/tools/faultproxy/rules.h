/*
 * rules.h - which messages suffer which fault.
 *
 * A rule is one line of the language (tests/tools/README.md): a fault and a selector. Every request
 * is judged once, when it has come in whole, for itself and for the reply it will get. Several
 * rules can hit one request: delays take the first that matches, the other faults likewise.
 */
#ifndef FAULTPROXY_RULES_H
#define FAULTPROXY_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/faultproxy/scripts.h"

typedef struct fp_rules fp_rules;

typedef enum fp_fault {
    FAULT_NONE = 0,
    FAULT_DROP,     /* swallowed; nothing more passes in this direction */
    FAULT_RESET,    /* the connection is torn down before the message is passed on */
    FAULT_TRUNCATE, /* the first bytes of it, then the connection's end */
    FAULT_STALL     /* half-open: from here on nothing passes either way */
} fp_fault;

typedef struct fp_judgement {
    fp_fault fault;
    int64_t delay_us;
    size_t truncate_bytes;
} fp_judgement;

typedef struct fp_verdict {
    fp_judgement request, reply;
} fp_verdict;

/* What a connection has sent since MULTI; all-zero: it has sent none. */
typedef struct fp_transaction {
    bool open;
    uint64_t hits; /* of rules with `match write`, by their numbers */
} fp_transaction;

/* `scripts` (borrowed) gives `match script` and `match write` the texts behind EVALSHA. */
fp_rules *rules_new(uint64_t seed, const fp_scripts *scripts);
void rules_free(fp_rules *rules);

/* Adds the rule in `line`. False with a sentence in err. */
bool rules_add(fp_rules *rules, const char *line, char *err, size_t err_len);
void rules_clear(fp_rules *rules);

/* `of` is the connection's, and kept up to date here. */
fp_verdict rules_judge(fp_rules *rules, fp_transaction *of, const char *request, size_t len);

/* The same for a message of a subscription: only `drop push` and delays without a selector. */
fp_judgement rules_judge_push(fp_rules *rules, const char *push, size_t len);

/* "2ms", "150us", "1s", "1.5ms" in microseconds, with *ret_end behind it; -1: not a duration. */
int64_t rules_duration_us(const char *text, const char **ret_end);

#endif
