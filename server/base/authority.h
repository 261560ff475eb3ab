/* authority.h - reads the values of Host and Origin: "host", "host:port", "[v6]:port". */
#ifndef FLASHSALE_AUTHORITY_H
#define FLASHSALE_AUTHORITY_H

#include <stdbool.h>

/* Whether it names this machine to itself: localhost, 127.x.x.x or [::1], with a port or none. */
bool authority_is_loopback(const char *authority);

/* Whether the value of Origin, "scheme://host:port", names this Host. Ignores the scheme, the ports
 * 80 and 443, and the case of letters; "null" names no host. */
bool authority_is_of_origin(const char *host, const char *origin);

#endif
