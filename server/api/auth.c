/* auth.c - see auth.h. */
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

int admin_init(fs_admin *admin, const char *path, const char *token, bool loopback, char *err,
               size_t err_len)
{
    char text[TOKEN_MAX + 3] = "";
    memset(admin, 0, sizeof(*admin));
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
    memcpy(admin->token, text, len + 1);
    admin->open = !configured && loopback;
    return 0;
}

/* Takes the same time wherever the first difference is. */
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

admin_answer admin_check(const fs_admin *admin, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (admin->open)
        return ADMIN_YES;
    if (admin->token[0] == '\0')
        return ADMIN_DISABLED;
    if (!authorization || strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
        return ADMIN_TOKEN_MISSING;
    return same(admin->token, authorization + sizeof(scheme) - 1) ? ADMIN_YES : ADMIN_TOKEN_WRONG;
}
