/*
 * auth.h - the admin's token, which starts sales, shows locks and reads the ledger; and buyers'
 * tokens, needed for a buy where there is a key for them.
 *
 * Without an admin token everybody is the admin on a server that only listens on loopback, unless
 * it is told otherwise, and nobody on any other. Neither token nor key is ever logged, and both
 * tokens are compared in constant time.
 */
#ifndef FLASHSALE_AUTH_H
#define FLASHSALE_AUTH_H

#include "server/api/reply.h"

#define TOKEN_MAX 256

typedef struct fs_auth {
    char token[TOKEN_MAX + 1];     /* empty = none */
    bool open;                     /* no token needed */
    char buyer_key[TOKEN_MAX + 1]; /* empty = none: buyers need no token */
} fs_auth;

/* Takes the token from the first line of a file, else from `token`, and the key of the buyers'
 * tokens from the first line of another; "" = not given. `may_be_open`: without a token everybody
 * is the admin. -1 and a sentence in err when a file can not be read, or what it has is too short
 * or long. */
int auth_init(fs_auth *auth, const char *token_file, const char *token, const char *key_file,
              bool may_be_open, char *err, size_t err_len);

/* Whether the request comes from the admin; if not, it is refused in the reply. `authorization` is
 * the header's value, "Bearer <token>"; NULL = none. */
bool auth_admit(const fs_auth *auth, const char *authorization, api_reply *reply);

/* Where there is a key: whether a buy for this user may go on; if not, it is refused in the reply.
 * `token` is the value of Buyer-Token, "EXPIRES.HEX": seconds since 1970, and in lower case the
 * HMAC-SHA256 of "USER EXPIRES" under the key; NULL = none. */
bool auth_admit_buyer(const fs_auth *auth, const char *user, const char *token, api_reply *reply);

/* What the admin needs here: "open", nothing; "token"; "closed", there is no way. */
const char *auth_needs(const fs_auth *auth);

#endif
