/* The first words on a new connection. */
#ifndef DLOCK_REDIS_INTRODUCE_H
#define DLOCK_REDIS_INTRODUCE_H

#include "dlock_redis.h"

/* False: the connection is not to be used, and dlock_redis_last_error() says why. *well: it works,
 * but this run of the server is not admitted. */
bool dlock_redis_introduce(dlock_redis_conn *conn, dlock_time deadline, bool *well);

#endif
