/*
 * auth.h - who may start sales, look at locks and read the ledger: whoever knows the token.
 *
 * Without a token configured, everybody may on a server that only listens on loopback, and nobody
 * may on any other. The token is never logged, and compared in constant time.
 */
#ifndef FLASHSALE_AUTH_H
#define FLASHSALE_AUTH_H

#include "server/api/reply.h"

#define TOKEN_MAX 256

typedef struct fs_auth {
    char token[TOKEN_MAX + 1]; /* empty = none */
    bool open;                 /* no token needed */
} fs_auth;

/* Takes the token from the file `path`, else from `token`; both may be NULL. -1 and a sentence in
 * err when the file can not be read or the token is too short or long. */
int auth_init(fs_auth *auth, const char *path, const char *token, bool loopback, char *err,
              size_t err_len);

/* Whether the request comes from the admin; if not, it is refused in the reply. `authorization` is
 * the header's value, "Bearer <token>"; NULL = none. */
bool auth_admit(const fs_auth *auth, const char *authorization, api_reply *reply);

/* What the admin needs here: "open", nothing; "token"; "closed", there is no way. */
const char *auth_needs(const fs_auth *auth);

#endif
