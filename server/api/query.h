/*
 * query.h - the parameters of a request's query, "item=P0001&user=u1".
 *
 * A parameter given twice, cut short or wrongly encoded is refused rather than guessed at.
 */
#ifndef FLASHSALE_QUERY_H
#define FLASHSALE_QUERY_H

#include <stddef.h>
#include <stdint.h>

typedef enum query_status {
    QUERY_OK = 0,
    QUERY_ABSENT,
    QUERY_BAD /* twice, too long, bad percent-encoding, or not of the form asked for */
} query_status;

/* The decoded value of `name`. NUL bytes are refused. */
query_status query_text(const char *query, const char *name, char *ret, size_t ret_len);

/* The value as an identifier (text.h); `ret` has IDENT_MAX + 1 bytes. */
query_status query_ident(const char *query, const char *name, char *ret);

/* The value as a decimal number from `least` to `most`. */
query_status query_int(const char *query, const char *name, int64_t least, int64_t most,
                       int64_t *ret);

#endif
