/*
 * redis_info.h - how much a Redis server has worked, from its INFO command.
 *
 * This is the only thing that loadtest asks a Redis, and only with --redis-info: an address of the
 * form "unix:///path/redis.sock" or "host:port".
 */
#ifndef LOADTEST_REDIS_INFO_H
#define LOADTEST_REDIS_INFO_H

#include <stdbool.h>
#include <stddef.h>

/* Since the server was started. */
typedef struct lt_redis_info {
    double commands; /* total_commands_processed */
    double cpu_s;    /* used_cpu_user + used_cpu_sys: all threads, but no child that saves */
} lt_redis_info;

/* Adds what a server has done. False, with a sentence in `err`, when that is unknown. */
bool redis_info_add(const char *address, lt_redis_info *sum, char *err, size_t err_len);

#endif
