/* The slot of a key in a cluster. */
#ifndef DLOCK_REDIS_SLOTS_H
#define DLOCK_REDIS_SLOTS_H

#include <stddef.h>

enum { SLOTS = 16384 };

/* 0..16383: CRC16 of the key, or of what stands in its first {...} unless that is empty. */
int dlock_slot_of(const char *key, size_t len);

#endif
