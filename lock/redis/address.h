/* A Redis address, taken apart. See "Addresses" in dlock_redis.h. */
#ifndef DLOCK_REDIS_ADDRESS_H
#define DLOCK_REDIS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct address {
    char host[256]; /* empty for a Unix socket */
    int port;
    char path[108]; /* of the Unix socket; empty for TCP */
    char user[128], password[256];
    int db;
    bool tls;
} address;

/* 0, or -1 with a sentence in err that never shows user or password. */
int dlock_address_parse(const char *url, address *ret, char *err, size_t err_len);

#endif
