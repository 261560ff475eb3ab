/*
 * auth.c - the tokens of the admin and of buyers: reads them, and checks requests.
 *
 * A comparison takes the same time wherever the first difference is, so its duration does not
 * reveal how much of a guess is right.
 */
#include "server/api/auth.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#define TOKEN_MIN     8
#define BUYER_KEY_MIN 32
#define HMAC_BYTES    32

/* Takes a secret of `least` to TOKEN_MAX characters: the first line of the file, or `text` where
 * the path is "". `option` and `what` it is, for people. */
static int take_secret(const char *option, const char *path, const char *text, const char *what,
                       size_t least, char ret[TOKEN_MAX + 1], char *err, size_t err_len)
{
    char line[TOKEN_MAX + 3];
    size_t len = (size_t)snprintf(line, sizeof(line), "%s", text);
    if (path[0] != '\0') {
        FILE *file = fopen(path, "re");
        len = file ? fread(line, 1, sizeof(line) - 1, file) : 0;
        bool failed = !file || ferror(file);
        if (failed)
            snprintf(err, err_len, "%s: %s: %s", option, path, strerror(errno));
        if (file)
            fclose(file);
        if (failed)
            return -1;
        line[len] = '\0';
        len = strcspn(line, "\r\n");
    }
    if (len < least || len > TOKEN_MAX) {
        snprintf(err, err_len, "%s: %s%s%s must have %zu to %d characters", option, path,
                 path[0] != '\0' ? ": " : "", what, least, TOKEN_MAX);
        return -1;
    }
    memcpy(ret, line, len);
    ret[len] = '\0';
    return 0;
}

int auth_init(fs_auth *auth, const char *token_file, const char *token, const char *key_file,
              bool may_be_open, char *err, size_t err_len)
{
    int failed = 0;
    bool in_file = token_file[0] != '\0', given = in_file || token[0] != '\0';
    memset(auth, 0, sizeof(*auth));
    auth->open = !given && may_be_open;
    if (given)
        failed = take_secret(in_file ? "--admin-token-file" : "FLASHSALE_ADMIN_TOKEN", token_file,
                             token, "the token", TOKEN_MIN, auth->token, err, err_len);
    if (!failed && key_file[0] != '\0')
        failed = take_secret("--buyer-key-file", key_file, "", "the key, its first line,",
                             BUYER_KEY_MIN, auth->buyer_key, err, err_len);
    return failed;
}

/* ---- the admin ------------------------------------------------------------------------------- */

/* auth_init() has filled the token's array up with zeros. */
static bool is_token(const fs_auth *auth, const char *guess)
{
    char padded[TOKEN_MAX + 1] = {0};
    size_t len = strnlen(guess, TOKEN_MAX + 1);
    memcpy(padded, guess, len <= TOKEN_MAX ? len : TOKEN_MAX);
    return (CRYPTO_memcmp(auth->token, padded, sizeof(padded)) == 0) & (len <= TOKEN_MAX);
}

static void challenge(api_reply *reply, const char *scheme, const char *code, const char *detail)
{
    problem(reply, 401, code, detail);
    reply->challenge = scheme;
}

bool auth_admit(const fs_auth *auth, const char *authorization, api_reply *reply)
{
    static const char scheme[] = "Bearer ";
    if (auth->open)
        return true;
    if (auth->token[0] == '\0')
        problem(reply, 403, "admin_disabled", "this server has no admin token, and needs one");
    else if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        challenge(reply, "Bearer", "token_missing",
                  "an admin token is needed: Authorization: Bearer ...");
    else if (is_token(auth, authorization + sizeof(scheme) - 1))
        return true;
    else
        problem(reply, 403, "token_wrong", "this is not the admin token");
    return false;
}

const char *auth_needs(const fs_auth *auth)
{
    if (auth->open)
        return "open";
    return auth->token[0] != '\0' ? "token" : "closed";
}

/* ---- buyers ---------------------------------------------------------------------------------- */

/* The signature of a user's token that ends at `expires`. False: out of memory. */
static bool sign(const fs_auth *auth, const char *user, int64_t expires,
                 char ret[2 * HMAC_BYTES + 1])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char said[USER_MAX + 32];
    int len = snprintf(said, sizeof(said), "%s %lld", user, (long long)expires);
    if (!HMAC(EVP_sha256(), auth->buyer_key, (int)strlen(auth->buyer_key),
              (const unsigned char *)said, (size_t)len, bytes, NULL))
        return false;
    text_hex(bytes, HMAC_BYTES, ret);
    return true;
}

bool auth_admit_buyer(const fs_auth *auth, const char *user, const char *token, api_reply *reply)
{
    static const char code[] = "buyer_token_wrong";
    char right[2 * HMAC_BYTES + 1];
    int64_t expires;
    if (!token) {
        challenge(reply, "Buyer-Token", "buyer_token_missing",
                  "a token of the user's is needed: Buyer-Token: EXPIRES.HEX");
        return false;
    }
    size_t point = strcspn(token, ".");
    if (!decimal_read(token, point, &expires) || strlen(token) - point != sizeof(right))
        problem(reply, 403, code, "this Buyer-Token is not of the form EXPIRES.HEX");
    else if (!sign(auth, user, expires, right) ||
             CRYPTO_memcmp(right, token + point + 1, sizeof(right)) != 0)
        problem(reply, 403, code, "this Buyer-Token is not of this user");
    else if (expires <= time(NULL))
        problem(reply, 403, code, "this Buyer-Token has expired");
    else
        return true;
    return false;
}
