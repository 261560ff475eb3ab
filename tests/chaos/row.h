/*
 * row.h - a row of the matrix: a strategy and the durability of its sale, written as loadtest
 * writes it: "combined", "combined:durability=disk"; "combined:reserve", whose buyers reserve, and
 * then confirm, cancel, or let it be.
 */
#ifndef TESTS_CHAOS_ROW_H
#define TESTS_CHAOS_ROW_H

#include <stdbool.h>
#include <stddef.h>

/* What has an order before its buyer is told. A set of them is an OR. */
typedef enum kept_where { IN_MEMORY = 1, ON_REPLICAS = 2, ON_DISK = 4 } kept_where;

enum { EVERYWHERE = IN_MEMORY | ON_REPLICAS | ON_DISK };

typedef struct row {
    char name[64];
    char strategy[32];
    kept_where durability;
    bool reserves; /* buys are reservations */
} row;

/* Reads a name; false when it is none, or there is no such strategy. */
bool row_read(const char *name, row *ret);

/* "memory", "replicated" or "disk", as POST /sales takes it. */
const char *durability_word(kept_where d);

/* What its descriptor says (server/selling/strategy.h): what the matrix does to it, and expects of
 * it, follows from that. */
const struct fs_strategy *row_strategy(const row *r);
bool row_is_guarded(const row *r);
bool row_is_locked(const row *r);
bool row_is_sharded(const row *r);
bool row_has_quorum(const row *r);

#endif
