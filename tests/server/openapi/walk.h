/*
 * walk.h - the service's OpenAPI document, and the answers of real instances held to it: what was
 * answered must be documented, and at the end what is documented must have been answered.
 *
 *     walk_begin(server);                   // fetches GET /openapi.json; every answer to fx_ask()
 *     ...                                   // and its kin is looked at from now on
 *     walk_missing(excuses)                 // what nobody was answered
 *
 * One document at a time, from the main thread.
 */
#ifndef TESTS_SERVER_OPENAPI_WALK_H
#define TESTS_SERVER_OPENAPI_WALK_H

#include "tests/support/service.h"

extern cJSON *walk_document;

void walk_begin(fx_server *server);
void walk_end(void);

/* Holds an answer to the document and notes it. False, and a sentence in err, when the document
 * has it not, or otherwise. */
bool walk_accepts(const char *method, const char *target, const fx_reply *reply, char *err,
                  size_t err_len);

/* Likewise, and fails the test; what fx_ask() calls. */
void walk_saw(const char *method, const char *target, const fx_reply *reply);

/* Likewise for an answer as it came from a socket; it must be a refusal with this code, whose
 * status the document knows. */
void walk_saw_refusal(const char *method, const char *target, const char *bytes, const char *code);

/* Forgets all that was noted. */
void walk_forget(void);

/* The operations, HEAD left out, each with a target as its examples have it. */
typedef struct walk_operation {
    char method[8];   /* "GET" */
    char path[64];    /* "/orders/{request}" */
    char target[128]; /* "/orders/k1?item=P0001" */
} walk_operation;

/* Behind the last one the method is "". */
const walk_operation *walk_operations(void);

/* Whether the document has this code among the operation's answers. */
bool walk_documents(const walk_operation *operation, const char *code);

/* A code that no instance can be brought to answer here. */
typedef struct walk_excuse {
    const char *code, *why; /* code NULL: behind the last one */
} walk_excuse;

/* Prints what is documented and was not answered, and counts it; says aloud what is excused. */
int walk_missing(const walk_excuse *excuses);

#endif
