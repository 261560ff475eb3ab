/*
 * auth.c - the admin's token: where it comes from, and whether a request has it.
 *
 * The comparison takes the same time wherever the first difference is, so that its time tells
 * nobody how much of a guess was right.
 */
#include "server/api/auth.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define TOKEN_MIN 8

static int read_file(const char *path, char *ret, size_t ret_len, char *err, size_t err_len)
{
    FILE *file = fopen(path, "re");
    if (!file) {
        snprintf(err, err_len, "%s: %s", path, strerror(errno));
        return -1;
    }
    size_t len = fread(ret, 1, ret_len - 1, file);
    fclose(file);
    ret[len] = '\0';
    ret[strcspn(ret, "\r\n")] = '\0';
    return 0;
}

int auth_init(fs_auth *auth, const char *path, const char *token, bool loopback, char *err,
              size_t err_len)
{
    char text[TOKEN_MAX + 3] = "";
    memset(auth, 0, sizeof(*auth));
    if (path && read_file(path, text, sizeof(text), err, err_len) != 0)
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
    auth->open = !configured && loopback;
    return 0;
}

static bool same(const char *a, const char *b)
{
    char padded[2][TOKEN_MAX + 1] = {{0}, {0}};
    size_t a_len = strnlen(a, TOKEN_MAX + 1), b_len = strnlen(b, TOKEN_MAX + 1);
    unsigned char difference = a_len != b_len;
    memcpy(padded[0], a, a_len <= TOKEN_MAX ? a_len : TOKEN_MAX);
    memcpy(padded[1], b, b_len <= TOKEN_MAX ? b_len : TOKEN_MAX);
    for (size_t i = 0; i <= TOKEN_MAX; i++)
        difference |= (unsigned char)(padded[0][i] ^ padded[1][i]);
    return difference == 0;
}

bool auth_admit(const fs_auth *auth, const char *authorization, api_reply *reply)
{
    static const char scheme[] = "Bearer ";
    if (auth->open)
        return true;
    if (auth->token[0] == '\0')
        problem(reply, 403, "admin_disabled",
                "this server has no admin token, and listens beyond loopback");
    else if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        problem(reply, 401, "token_missing", "an admin token is needed: Authorization: Bearer ...");
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
