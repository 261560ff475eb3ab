/* hash.h - FNV-1a of 64 bits. */
#ifndef LOADTEST_HASH_H
#define LOADTEST_HASH_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t lt_hash(const char *text, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(1099511628211);
    return hash;
}

#endif
