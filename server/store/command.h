/*
 * command.h - a command, or a script of one key, whose words are all texts.
 */
#ifndef FLASHSALE_COMMAND_H
#define FLASHSALE_COMMAND_H

#include "server/store/store.h"

/* Runs one command, its words ending with NULL. As dlock_redis_command(). */
dlock_redis_outcome asking(fs_store *store, dlock_time deadline, redisReply **ret,
                           const char *const *words);

/* The words of a command, in place: ASKING("GET", key). */
#define ASKING(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Runs a script with one key; its arguments end with NULL. */
dlock_redis_outcome asking_script(fs_store *store, dlock_time deadline, redisReply **ret,
                                  dlock_script *script, const char *key,
                                  const char *const *arguments);

#endif
