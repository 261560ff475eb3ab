/*
 * walk.h - the answers of real instances held to the OpenAPI document: what was answered must be
 * documented, and at the end what is documented must have been answered.
 *
 *     walk_begin(server);                   // fetches GET /openapi.json; every answer to fx_ask()
 *     ...                                   // and its kin is looked at from now on
 *     walk_missing(excuses)                 // what nobody was answered
 *
 * For the main thread.
 */
#ifndef TESTS_SERVER_OPENAPI_WALK_H
#define TESTS_SERVER_OPENAPI_WALK_H

#include "tests/support/service.h"

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

/* A code that no instance can be brought to answer here. */
typedef struct walk_excuse {
    const char *code, *why; /* code NULL: behind the last one */
} walk_excuse;

/* Prints what is documented and was not answered (parts.h too), and counts it; also prints what is
 * excused. */
int walk_missing(const walk_excuse *excuses);

#endif
