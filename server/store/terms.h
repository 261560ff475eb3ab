/*
 * terms.h - the terms of one sale, as they stand in Redis and never change.
 *
 * All instances read the same terms, so all sell in the same way.
 */
#ifndef FLASHSALE_TERMS_H
#define FLASHSALE_TERMS_H

#include "server/store/keys.h"
#include "server/store/store.h"

#define SEGMENTS_MAX 16

/* A sale that has ended is kept for so long, its orders too. */
#define TERMS_KEPT_S (24 * 3600)

typedef enum durability {
    DURABILITY_MEMORY = 0, /* acknowledged when Redis has it in memory */
    DURABILITY_DISK,       /* acknowledged when Redis has it on disk (AOF "always") */
    DURABILITY_LEVELS      /* "replicated" will stand before this one */
} durability;

struct fs_strategy;

typedef struct sale_terms {
    char item[IDENT_MAX + 1];
    char id[IDENT_MAX + 1]; /* unique per run */
    const struct fs_strategy *strategy;
    int64_t initial;        /* units */
    int64_t per_user_limit; /* units; 0 = none */
    int64_t lease_ms;
    int64_t wait_ms; /* how long a buyer waits for the lock; 0 = fails fast */
    int64_t hold_ms; /* how long the critical section lasts on purpose */
    durability durability;
    int segments;                 /* 0 unless sharded */
    char previous[IDENT_MAX + 1]; /* the sale before; empty = none */
    int previous_segments;

    fs_store *store;         /* (borrowed) */
    const fs_shelf *shelves; /* one, or one a segment (borrowed) */
    int shelf_count;
} sale_terms;

const char *durability_name(durability level);

/* False: no such level. */
bool durability_find(const char *name, durability *ret);

/* A request is answered in this time, and writes nothing after it: 10 s, or longer when the sale
 * lets its buyers wait longer. */
int64_t terms_request_ms(const sale_terms *terms);

/* The longest hold_ms with which a buyer can still be sold to in that time. */
int64_t terms_hold_most_ms(const sale_terms *terms);

/* Whether there was a sale before that is kept still. */
bool terms_keep_previous(const sale_terms *terms);

/* Units with which a shelf began, by fs_shelf.segment: of a sharded sale's stock equal parts, what
 * is left over one by one from the first. */
int64_t terms_units(const sale_terms *terms, int segment);

#endif
