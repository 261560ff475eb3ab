/*
 * row.h - a row of the matrix: a strategy and the durability of its sale, written as loadtest
 * writes it: "combined", "combined:durability=disk".
 */
#ifndef TESTS_CHAOS_ROW_H
#define TESTS_CHAOS_ROW_H

#include <stdbool.h>
#include <stddef.h>

/* What has an order before its buyer is told. A set of them is an OR. */
typedef enum durability { IN_MEMORY = 1, ON_REPLICAS = 2, ON_DISK = 4 } durability;

enum { EVERYWHERE = IN_MEMORY | ON_REPLICAS | ON_DISK };

typedef struct row {
    char name[64];
    char strategy[32];
    durability durability;
} row;

/* Reads a name; false when it is none. Whether there is such a strategy the service knows. */
bool row_read(const char *name, row *ret);

/* "memory", "replicated" or "disk", as POST /sales takes it. */
const char *durability_word(durability d);

/* What the service says of its strategies, and therefore not a list of names. */
bool row_is_guarded(const row *r); /* oversells nothing, whatever happens to the lock */
bool row_is_locked(const row *r);
bool row_is_sharded(const row *r);
bool row_is_replayable(const row *r);

#endif
