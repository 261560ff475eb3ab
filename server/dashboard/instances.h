/*
 * instances.h - the instances that sell from the same Redis: which are up, and what each has done.
 *
 * Each writes a heartbeat into a hash in Redis once a second, or twice while there are viewers, and
 * reads the others' in the same call. An instance without heartbeats is down; its last record is
 * kept for ten minutes. While Redis does not answer, no state changes; after it answers again, or
 * its clock was set, instances get some time for a heartbeat. For one thread.
 */
#ifndef FLASHSALE_INSTANCES_H
#define FLASHSALE_INSTANCES_H

#include "server/dashboard/minute.h"

#define INSTANCES_MAX 64 /* more are left out, those that are down first */

/* Its numbers, in the order of their words in Redis. */
enum {
    TOLD_DRAINING,
    TOLD_WATCHED,   /* its live page has viewers */
    TOLD_IN_FLIGHT, /* requests being answered */
    TOLD_WAITING,   /* threads waiting for a lock, and buyers waiting in a batch */
    TOLD_BATCHES,   /* this and the next two: batch_counts (selling/batch.h) */
    TOLD_BATCHED,
    TOLD_LARGEST_BATCH,
    TOLD_COUNTS, /* metrics_read_counts() */
    TOLD_NUMBERS = TOLD_COUNTS + METRICS_COUNTS
};

#define FEEDS_TOLD    16 /* more are left out, the least behind first */
#define FEED_SHOWN_MS 60000

/* The position of the reader of a sale's feed (sale/feed_seen.h). */
typedef struct feed_told {
    char item[IDENT_MAX + 1], sale[IDENT_MAX + 1];
    int64_t orders, behind;
    int64_t asked_us; /* its last question, by Redis's clock */
} feed_told;

typedef struct instance_record {
    char client[128]; /* dlock_client_id(), which identifies its locks */
    int64_t numbers[TOLD_NUMBERS];
    int feed_count;
    feed_told feeds[FEEDS_TOLD]; /* of readers that asked within FEED_SHOWN_MS */
} instance_record;

void record_add_feed(instance_record *record, const feed_told *feed);

/* A record in Redis is one line of words. The first word gives the numbers of outcomes and buckets,
 * so that a record of another version is skipped and not misread. The feeds follow the numbers,
 * with five words each. */
void record_write(fs_text *out, const instance_record *record);
bool record_read(const char *text, instance_record *ret);

typedef enum instance_state {
    INSTANCE_UP = 0,
    INSTANCE_DRAINING,
    INSTANCE_DOWN,
} instance_state;

typedef struct instance {
    char name[IDENT_MAX + 1];
    int64_t told_ms; /* when it wrote the record, in ms since 1970 by Redis's clock */
    instance_state state;
    instance_record record;
} instance;

typedef struct instances {
    fs_store *store;     /* (borrowed) */
    bool heard;          /* the last call was answered */
    bool refused;        /* the last call was refused, and the log says so */
    int64_t heard_ms;    /* Redis's time at the last answer */
    dlock_time heard_at; /* ours then */
    int64_t since_ms; /* Redis's time at the first answer since the last failure, or since its clock
                         was set */
    int count;
    instance all[INSTANCES_MAX]; /* by name */
    minute minute;
} instances;

void instances_init(instances *in, fs_store *store);

/* Writes `mine` and reads the others' records, within a second. If that fails, only this instance's
 * record changes. Returns whether any instance has viewers. */
bool instances_call(instances *in, const instance_record *mine);

/* Redis's time now, in ms since 1970, as estimated here. */
int64_t instances_now_ms(const instances *in);

/* The last record of the reader of the item's sale. NULL: no reader asked within FEED_SHOWN_MS.
 * (borrowed) */
const feed_told *instances_feed(const instances *in, const char *item, const char *sale);

/* The name of the instance with this lock owner's token; "" = unknown. (borrowed) */
const char *instances_owner(const instances *in, const char *owner);

#endif
