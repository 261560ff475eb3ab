/*
 * auth.h - the admin's token, for starting sales, showing locks and reading the ledger; and buyers'
 * tokens, which a buy needs if there is a key for them.
 *
 * Without an admin token, every client is the admin of a server that listens only on loopback,
 * unless an option forbids it; on other servers no client is. Tokens and keys are never logged, and
 * both kinds of tokens are compared in constant time.
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

/* Reads the token from the first line of a file, else from `token`; and the key of buyers' tokens
 * from the first line of another file; "" = not given. `may_be_open`: without a token every client
 * is the admin. -1 and a sentence in err: a file can not be read, or its value is too short or
 * long. */
int auth_init(fs_auth *auth, const char *token_file, const char *token, const char *key_file,
              bool may_be_open, char *err, size_t err_len);

/* Whether the request comes from the admin; if not, the reply refuses it. `authorization` is the
 * header's value, "Bearer <token>"; NULL = none. */
bool auth_admit(const fs_auth *auth, const char *authorization, api_reply *reply);

/* Whether a buy for this user may go on: always without a key; if not, the reply refuses it.
 * `token` is the value of Buyer-Token, "EXPIRES.HEX": seconds since 1970, and in lower case the
 * HMAC-SHA256 of "USER EXPIRES" under the key; NULL = none. */
bool auth_admit_buyer(const fs_auth *auth, const char *user, const char *token, api_reply *reply);

/* What the admin needs here: "open", nothing; "token"; "closed", there is no admin. */
const char *auth_needs(const fs_auth *auth);

#endif
