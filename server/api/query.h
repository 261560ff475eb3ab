/*
 * query.h - the parameters of a request, from its query, "item=P0001&user=u1", and from its body, a
 * form or a flat JSON object.
 *
 * A route lists its parameters. Any other is refused; so is a repeated one, in any spelling and
 * place, because two readers might use different values.
 */
#ifndef FLASHSALE_QUERY_H
#define FLASHSALE_QUERY_H

#include "server/api/reply.h"
#include "server/base/json.h"

enum { QUERY_PARAMS = 7, QUERY_VALUE_MAX = USER_MAX };

typedef enum query_status {
    QUERY_OK = 0,
    QUERY_ABSENT,
    QUERY_BAD /* too long, bad percent-encoding, or not of the form asked for */
} query_status;

/* A value in a query or form may be text or number; JSON distinguishes them. */
typedef enum query_kind { QUERY_WORD = 0, QUERY_JSON_TEXT, QUERY_JSON_NUMBER } query_kind;

typedef struct query_param {
    const char *name; /* (borrowed) */
    query_status status;
    query_kind kind;
    char value[QUERY_VALUE_MAX + 1];
} query_param;

typedef struct fs_query {
    int count;
    query_param params[QUERY_PARAMS];
    json_fault fault;
    char why[160]; /* on a fault: a sentence that names the parameter */
} fs_query;

/* An empty query for the parameters `names`, QUERY_PARAMS at most, ended by NULL (borrowed). NULL =
 * none. */
void query_init(fs_query *query, const char *const *names);

/* Adds the parameters in text[0..len), "a=b&c=d" percent-encoded or a JSON object. A malformed
 * value is no fault, but is read as QUERY_BAD. */
json_fault query_add_words(fs_query *query, const char *text, size_t len);
json_fault query_add_json(fs_query *query, const char *text, size_t len);

/* The value of `name`, a text that passes `ok` (ident_ok or user_ok of text.h; NULL = any). `ret`
 * has room for the longest: IDENT_MAX + 1, USER_MAX + 1, QUERY_VALUE_MAX + 1. */
query_status query_word(const fs_query *query, const char *name,
                        bool (*ok)(const char *text, size_t len), char *ret);

/* The value as a decimal number from `least` to `most`. */
query_status query_int(const fs_query *query, const char *name, int64_t least, int64_t most,
                       int64_t *ret);

/* The request id in an Idempotency-Key, bare or quoted (IETF draft). False: it is not one. */
bool query_read_key(const char *header, char ret[IDENT_MAX + 1]);

/* Whether a parameter was read. If not, refuses it with 400 and `code`: it must be `form`. */
bool api_param_ok(query_status status, const char *code, const char *name, const char *form,
                  api_reply *reply);

/* What an identifier is, for people. */
#define IDENT_FORM "1 to 64 of [A-Za-z0-9_-]"

/* Reads an identifier; "" if it is absent and not needed. False: refused. */
bool api_read_ident(const fs_query *query, const char *name, const char *code, bool needed,
                    char ret[IDENT_MAX + 1], api_reply *reply);

/* Reads `not_after`, 0 = none. False: refused. */
bool api_read_not_after(const fs_query *query, int64_t *ret, api_reply *reply);

#endif
