/*
 * The room that the public structs keep for members to come: "How this interface grows" in dlock.h.
 * What a caller has there is an option that this library does not know.
 */
#ifndef DLOCK_REDIS_RESERVED_H
#define DLOCK_REDIS_RESERVED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RESERVED_IN_USE                                                                            \
    "`reserved` must be zero: set the whole struct to zero first, or use a later libdlock"

static inline bool reserved_in_use(const uint64_t *words, size_t count)
{
    uint64_t any = 0;
    for (size_t i = 0; i < count; i++)
        any |= words[i];
    return any != 0;
}

/* Of a struct's member, an array. */
#define HAS_RESERVED(s) reserved_in_use((s)->reserved, sizeof((s)->reserved) / sizeof(uint64_t))

#endif
