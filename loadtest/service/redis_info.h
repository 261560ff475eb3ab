/*
 * redis_info.h - how many commands a Redis server has processed, from its INFO command.
 *
 * The only thing that loadtest ever asks a Redis, and only when given --redis-info: an address of
 * the form "unix:///path/redis.sock" or "host:port".
 */
#ifndef LOADTEST_REDIS_INFO_H
#define LOADTEST_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* total_commands_processed. False, with a sentence in `err`, when it can not be had. */
bool redis_info_commands(const char *address, int64_t *ret, char *err, size_t err_len);

#endif
