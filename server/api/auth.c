/*
 * auth.c - the admin's token and the buyers': where they come from, and whether a request has one.
 *
 * The comparisons take the same time wherever the first difference is, so that their time tells
 * nobody how much of a guess was right.
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

/* The first line of a file, NUL-terminated; as much of it as there is room for. */
static int read_line(const char *path, char *ret, size_t ret_len, char *err, size_t err_len)
{
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(ret, 1, ret_len - 1, file) : 0;
    bool failed = !file || ferror(file);
    if (failed)
        snprintf(err, err_len, "%s: %s", path, strerror(errno));
    if (file)
        fclose(file);
    ret[len] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
    return failed ? -1 : 0;
}

int auth_init(fs_auth *auth, const char *path, const char *token, bool may_be_open, char *err,
              size_t err_len)
{
    char text[TOKEN_MAX + 3] = "";
    memset(auth, 0, sizeof(*auth));
    if (path && read_line(path, text, sizeof(text), err, err_len) != 0)
        return -1;
    if (!path && token)
        snprintf(text, sizeof(text), "%s", token);

    size_t len = strlen(text);
    bool configured = path || token;
    if (configured && (len < TOKEN_MIN || len > TOKEN_MAX)) {
        snprintf(err, err_len, "the token must have %d to %d characters", TOKEN_MIN, TOKEN_MAX);
        return -1;
    }
    memcpy(auth->token, text, len + 1);
    auth->open = !configured && may_be_open;
    return 0;
}

int auth_read_buyer_key(fs_auth *auth, const char *path, char *err, size_t err_len)
{
    char text[TOKEN_MAX + 3];
    if (read_line(path, text, sizeof(text), err, err_len) != 0)
        return -1;
    size_t len = strlen(text);
    if (len < BUYER_KEY_MIN || len > TOKEN_MAX) {
        snprintf(err, err_len, "%s: the key, its first line, must have %d to %d characters", path,
                 BUYER_KEY_MIN, TOKEN_MAX);
        return -1;
    }
    memcpy(auth->buyer_key, text, len + 1);
    return 0;
}

/* ---- the admin ------------------------------------------------------------------------------- */

static bool same(const char *a, const char *b)
{
    char padded[2][TOKEN_MAX + 1] = {{0}, {0}};
    size_t a_len = strnlen(a, TOKEN_MAX + 1), b_len = strnlen(b, TOKEN_MAX + 1);
    memcpy(padded[0], a, a_len <= TOKEN_MAX ? a_len : TOKEN_MAX);
    memcpy(padded[1], b, b_len <= TOKEN_MAX ? b_len : TOKEN_MAX);
    return (CRYPTO_memcmp(padded[0], padded[1], sizeof(padded[0])) == 0) & (a_len == b_len);
}

/* Refuses with what is asked for instead. */
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
    else if (same(auth->token, authorization + sizeof(scheme) - 1))
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

/* What the user's token until then has behind its point. False: out of memory. */
static bool sign(const fs_auth *auth, const char *user, int64_t expires,
                 char ret[2 * HMAC_BYTES + 1])
{
    unsigned char bytes[EVP_MAX_MD_SIZE];
    char said[USER_MAX + 32];
    int len = snprintf(said, sizeof(said), "%s %lld", user, (long long)expires);
    if (!HMAC(EVP_sha256(), auth->buyer_key, (int)strlen(auth->buyer_key),
              (const unsigned char *)said, (size_t)len, bytes, NULL))
        return false;
    for (size_t i = 0; i < 2 * HMAC_BYTES; i++)
        ret[i] = "0123456789abcdef"[i % 2 == 0 ? bytes[i / 2] >> 4 : bytes[i / 2] & 15];
    ret[2 * HMAC_BYTES] = '\0';
    return true;
}

bool auth_admit_buyer(const fs_auth *auth, const char *user, const char *token, api_reply *reply)
{
    static const char code[] = "buyer_token_wrong";
    char right[2 * HMAC_BYTES + 1];
    int64_t expires;
    if (auth->buyer_key[0] == '\0')
        return true;
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
