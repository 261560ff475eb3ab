/*
 * record.h - what an instance tells the others of itself, and how that is written in Redis.
 *
 * One line of words. The first says how many outcomes and buckets there are: a record of another
 * form, by a program of another version, is left out rather than misread.
 */
#ifndef FLASHSALE_RECORD_H
#define FLASHSALE_RECORD_H

#include "server/dashboard/latency.h"
#include "server/store/purchase.h"

#define RECORD_CLIENT_MAX 127

/* Buys since the instance's start. */
typedef struct instance_counts {
    int64_t outcomes[BUY_OUTCOMES];
    int64_t latency[LATENCY_BUCKETS]; /* of those sold */
} instance_counts;

typedef struct instance_record {
    char client[RECORD_CLIENT_MAX + 1]; /* dlock_client_id(), by which its locks are known */
    bool draining;
    bool watched;      /* somebody looks at its live page */
    int64_t in_flight; /* requests being answered */
    int64_t waiting;   /* threads that wait for a lock, and buyers that wait in a batch */
    int64_t batches, batched, largest_batch; /* batch_counts (selling/batch.h) */
    instance_counts counts;
} instance_record;

void record_write(fs_text *out, const instance_record *record);

/* False: it is none, or of another form. */
bool record_read(const char *text, instance_record *ret);

#endif
