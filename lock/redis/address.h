/* A Redis address, taken apart. See "Addresses" in dlock_redis.h. */
#ifndef DLOCK_REDIS_ADDRESS_H
#define DLOCK_REDIS_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>

enum { ADDRESS_HOSTS_MAX = 16 };

typedef enum address_kind {
    ADDRESS_ONE = 0,  /* one server */
    ADDRESS_SENTINEL, /* the master that sentinels name */
    ADDRESS_CLUSTER   /* a cluster, some of whose nodes are named */
} address_kind;

typedef struct address_host {
    char host[256]; /* a name, or an address without brackets */
    int port;
} address_host;

typedef struct address {
    address_kind kind;
    char host[256]; /* of one server; empty for a Unix socket, sentinels and a cluster */
    int port;
    char path[108];                        /* of the Unix socket; empty for TCP */
    address_host hosts[ADDRESS_HOSTS_MAX]; /* the sentinels, some nodes, or the one server */
    int hosts_len;                         /* 0 for a Unix socket */
    char service[128];                     /* the master's name among the sentinels */
    char user[128], password[256];         /* of the servers; empty: none */
    char sentinel_user[128], sentinel_password[256]; /* of the sentinels; empty: none */
    int db;
    bool tls; /* to every server and sentinel */
} address;

/* 0, or -1 with a sentence in err that never shows a user or a password. */
int dlock_address_parse(const char *url, address *ret, char *err, size_t err_len);

bool dlock_address_same(const address_host *a, const address_host *b);

#endif
