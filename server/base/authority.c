/* authority.c - see authority.h. */
#include "server/base/authority.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct authority {
    const char *host; /* (borrowed) */
    size_t len;
    long port; /* 0 = the scheme's own */
} authority;

static bool read_authority(const char *text, authority *ret)
{
    size_t len = text[0] == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
    if (len == 0 || len > strlen(text) || (text[len] != ':' && text[len] != '\0'))
        return false;
    const char *port = text + len + (text[len] == ':');
    size_t digits = strspn(port, "0123456789");
    if (digits > 5 || port[digits] != '\0')
        return false;
    long number = strtol(port, NULL, 10);
    *ret = (authority){text, len, number == 80 || number == 443 ? 0 : number};
    return true;
}

bool authority_is_loopback(const char *text)
{
    authority is;
    unsigned char ip[4];
    char host[INET_ADDRSTRLEN];
    if (!read_authority(text, &is) || is.len >= sizeof(host))
        return false;
    memcpy(host, is.host, is.len);
    host[is.len] = '\0';
    return (inet_pton(AF_INET, host, ip) == 1 && ip[0] == 127) ||
           strcasecmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0;
}

bool authority_is_of_origin(const char *host, const char *origin)
{
    authority mine, theirs;
    const char *scheme_end = strstr(origin, "://");
    return scheme_end && read_authority(host, &mine) && read_authority(scheme_end + 3, &theirs) &&
           mine.port == theirs.port && mine.len == theirs.len &&
           strncasecmp(mine.host, theirs.host, mine.len) == 0;
}
