/* Scripts by their hashes. */
#ifndef DLOCK_REDIS_SCRIPT_H
#define DLOCK_REDIS_SCRIPT_H

#include "dlock_redis.h"

/* Whether the script can be called by its hash. */
bool dlock_redis_knows_hash(const dlock_script *script);

/* SCRIPT LOAD, in `args` that are initialised here, and what becomes of its answer. */
void dlock_redis_load_args(const dlock_script *script, dlock_args *args);
void dlock_redis_keep_hash(dlock_script *script, const redisReply *reply);

/* Redis does not know the hash; a script's own error "NOSCRIPT ..." is not that. */
bool dlock_redis_is_unknown_hash(const char *error);

#endif
