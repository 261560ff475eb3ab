/*
 * hash.h - FNV-1a of 32 bits, which is also the service's hash of a request: it says in which
 * segment of a sharded sale the request begins.
 */
#ifndef TESTS_SUPPORT_HASH_H
#define TESTS_SUPPORT_HASH_H

#include <stdint.h>

static inline uint32_t fx_hash(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

#endif
