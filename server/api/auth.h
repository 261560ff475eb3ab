/*
 * auth.h - who may start sales, look at locks and read the ledger: whoever knows the token.
 *
 * Without a token configured, everybody may on a server that only listens on loopback, and nobody
 * may on any other. The token is never logged, and compared in constant time.
 */
#ifndef FLASHSALE_AUTH_H
#define FLASHSALE_AUTH_H

#include <stdbool.h>
#include <stddef.h>

#define TOKEN_MAX 256

typedef struct fs_admin {
    char token[TOKEN_MAX + 1]; /* empty = none */
    bool open;                 /* no token needed */
} fs_admin;

typedef enum admin_answer {
    ADMIN_YES = 0,
    ADMIN_TOKEN_MISSING,
    ADMIN_TOKEN_WRONG,
    ADMIN_DISABLED
} admin_answer;

/* Takes the token from the file `path`, else from `token`; both may be NULL. -1 and a sentence in
 * err when the file can not be read or the token is too short or long. */
int admin_init(fs_admin *admin, const char *path, const char *token, bool loopback, char *err,
               size_t err_len);

/* `authorization` is the header's value, "Bearer <token>"; NULL = none. */
admin_answer admin_check(const fs_admin *admin, const char *authorization);

#endif
