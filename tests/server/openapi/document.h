/*
 * document.h - the service's OpenAPI document, as an instance serves it, and what is in it.
 *
 * A key names one answer: "GET /stock 503 HaltProblem sale_rolled_back" is the operation, the
 * status, and of a problem its schema and its code.
 */
#ifndef TESTS_SERVER_OPENAPI_DOCUMENT_H
#define TESTS_SERVER_OPENAPI_DOCUMENT_H

#include "tests/support/service.h"

enum { DOCUMENT_KEY_MAX = 192 };

extern cJSON *document; /* one at a time */

void document_read(fx_server *server);
void document_drop(void);

/* An operation; HEAD is none, for it has the answers of GET. */
typedef struct document_operation {
    char method[8];   /* "GET"; "" behind the last one */
    char path[64];    /* "/orders/{request}" */
    char target[128]; /* "/orders/k1?item=P0001", as the examples have it */
    const cJSON *json;
} document_operation;

const document_operation *document_operations(void);

/* Whether the operation has an answer with this code. */
bool document_has(const document_operation *operation, const char *code);

/* Whether the operation has a parameter with this name in its query, or a member in its body. */
bool document_takes(const document_operation *operation, const char *name);

/* All names that any operation takes so, as an object's members. Free with cJSON_Delete(). */
cJSON *document_names(void);

/* The answers to a request, by status: of its operation, whose name goes into key, else those of
 * x-any-request, whose name is "- -". */
const cJSON *document_answers(const char *method, const char *target, char key[DOCUMENT_KEY_MAX]);

/* Adds to a key what tells an answer from the others: its status, and of a problem the schema. The
 * body is NULL of what is none; it is known to be documented. */
void document_add_shape(char key[DOCUMENT_KEY_MAX], int status, const cJSON *schema,
                        const cJSON *body);

/* The keys of all answers, as an object's members. Free with cJSON_Delete(). */
cJSON *document_keys(void);

#endif
