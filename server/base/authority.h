/* authority.h - whom Host and Origin name: "host", "host:port", "[v6]:port". */
#ifndef FLASHSALE_AUTHORITY_H
#define FLASHSALE_AUTHORITY_H

#include <stdbool.h>

/* Whether it names this machine to itself: localhost, 127.x.x.x or [::1], with a port or none. */
bool authority_is_loopback(const char *authority);

/* Whether the value of Origin, "scheme://host:port", is of this Host. The scheme does not count,
 * the ports 80 and 443 are as none, and letters may be of either case; "null" is of no host. */
bool authority_is_of_origin(const char *host, const char *origin);

#endif
