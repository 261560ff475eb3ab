/*
 * The identity of a lock: a name, on the client's redis or on its quorum, in a family of kinds.
 * Holds of one identity are re-entered. Each identity has keys of its own in Redis. While one
 * family holds a name, other families are refused.
 */
#ifndef DLOCK_CORE_IDENTITY_H
#define DLOCK_CORE_IDENTITY_H

#include "dlock.h"

/* Kinds that exclude each other at one name; fence.lua has the letters. */
typedef enum kind_family { FAMILY_STRING, FAMILY_HASH, FAMILY_RW, FAMILY_SEMAPHORE } kind_family;

/* In the order in which scripts know the keys. */
typedef enum lock_key {
    KEY_NAME,
    KEY_FENCE,
    KEY_QUEUE,
    KEY_BEATS,
    KEY_WAKE,    /* what the names of the processes' channels begin with */
    KEY_CHANNEL, /* Redisson's */
    KEY_PERMITS,
    LOCK_KEYS
} lock_key;

typedef struct lock_identity {
    kind_family family;
    bool everywhere; /* on the client's quorum */
    char *keys[LOCK_KEYS];
} lock_identity;

enum { NAME_MAX_LEN = 512 };

/* What is wrong with a name; NULL: nothing. */
const char *dlock_identity_check_name(const char *name);

/* False: out of memory; it must be freed all the same. */
bool dlock_identity_init(lock_identity *id, const char *name, kind_family family, bool everywhere);
void dlock_identity_free(lock_identity *id);

/* FNV-1a, for tables of names in memory. */
uint64_t dlock_name_hash(const char *name);

bool dlock_identity_same(const lock_identity *a, const lock_identity *b);

/* Adds the first `keys` of its keys to a script's. */
void dlock_identity_add_keys(const lock_identity *id, int keys, dlock_args *args);

/* A companion key: "dlock:{NAME}:ROLE", or "dlock:{TAG}:ROLE:NAME" if NAME has the hash tag TAG. So
 * it is in the slot of NAME, no lock has its name, and no two locks share one. The caller frees it.
 * NULL: out of memory. */
char *dlock_identity_companion(const char *name, const char *role);

#endif
