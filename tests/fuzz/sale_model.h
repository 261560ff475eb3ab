/*
 * sale_model.h - what a sale is, in sixty lines and without Redis, locks or strategies: whom it
 * sells to and what it says, when one asks after the other. test_differential.c holds the service
 * to it.
 */
#ifndef TESTS_FUZZ_SALE_MODEL_H
#define TESTS_FUZZ_SALE_MODEL_H

#include <stdbool.h>

enum { MODEL_KEYS = 16, MODEL_SEGMENTS = 4, MODEL_ORDERS = 64, MODEL_ID = 80 };

typedef struct model_order {
    char request[MODEL_ID], user[16];
    int quantity, remaining, segment, number;
} model_order;

/* What is remembered of a key that has no order. */
typedef struct model_note {
    bool passed[MODEL_SEGMENTS]; /* went on to the next segment: is not sold to in this one */
    bool never;                  /* told for good that it has none */
    bool asked;                  /* a question was answered "not yet" */
} model_note;

typedef struct model_sale {
    char id[MODEL_ID];
    bool sharded, closed;
    bool replayable; /* "sold out" leaves the key as it was; otherwise it is told so for good */
    bool replicated;
    int initial, limit, segments; /* limit 0 = none; at least one segment */
    int left[MODEL_SEGMENTS], numbers[MODEL_SEGMENTS];
    model_order orders[MODEL_ORDERS];
    int orders_len;
    model_note notes[MODEL_KEYS];
} model_sale;

typedef struct model_answer {
    int status;
    const char *code;         /* of a refusal */
    const model_order *order; /* of a 201 */
    bool replayed;
} model_answer;

/* The parts of a sale that stand in its body are filled in by the caller, the others zero. */
void model_open(model_sale *sale);

/* Units that segment k began with, and units left in all of them. */
int model_units(const model_sale *sale, int k);
int model_left(const model_sale *sale);

/* Whether a text is the order's id; its epoch may be any. */
bool model_is_id(const model_sale *sale, const model_order *order, const char *id);

/* The order of a request; NULL = none. */
const model_order *model_find(const model_sale *sale, const char *request);

/* A buy. `note` is the request's, NULL = its id was made by the service. `late`: its not_after has
 * passed. */
model_answer model_buy(model_sale *sale, model_note *note, const char *request, const char *user,
                       int quantity, bool late);

#endif
