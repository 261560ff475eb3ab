/* Finds the master that sentinels name. */
#ifndef DLOCK_REDIS_SENTINEL_H
#define DLOCK_REDIS_SENTINEL_H

#include "redis/topology.h"

extern const finder dlock_sentinel;

#endif
