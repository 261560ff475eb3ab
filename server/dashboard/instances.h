/*
 * instances.h - the instances that sell from the same Redis: which of them live, and what each has
 * done.
 *
 * Each writes a heartbeat into a hash in Redis once a second, twice while somebody looks, and reads
 * the others' in the same call. An instance without heartbeats is down; its last record is kept for
 * ten minutes. While Redis does not answer all stay as they were; when it answers again, or its
 * clock was set, they get some time for a heartbeat. For one thread.
 */
#ifndef FLASHSALE_INSTANCES_H
#define FLASHSALE_INSTANCES_H

#include "server/dashboard/minute.h"

#define INSTANCES_MAX 64 /* more are left out, those that are down first */

/* Its numbers, in the order of their words in Redis. */
enum {
    TOLD_DRAINING,
    TOLD_WATCHED,   /* somebody looks at its live page */
    TOLD_IN_FLIGHT, /* requests being answered */
    TOLD_WAITING,   /* threads that wait for a lock, and buyers that wait in a batch */
    TOLD_BATCHES,   /* this and the next two: batch_counts (selling/batch.h) */
    TOLD_BATCHED,
    TOLD_LARGEST_BATCH,
    TOLD_COUNTS, /* metrics_read_counts() */
    TOLD_NUMBERS = TOLD_COUNTS + METRICS_COUNTS
};

#define FEEDS_TOLD    16 /* more are left out, those that are the least behind first */
#define FEED_SHOWN_MS 60000

/* How far the reader of a sale's orders has got (sale/feed_seen.h). */
typedef struct feed_told {
    char item[IDENT_MAX + 1], sale[IDENT_MAX + 1];
    int64_t orders, behind;
    int64_t asked_us; /* when it asked last, by Redis's clock */
} feed_told;

typedef struct instance_record {
    char client[128]; /* dlock_client_id(), by which its locks are known */
    int64_t numbers[TOLD_NUMBERS];
    int feed_count;
    feed_told feeds[FEEDS_TOLD]; /* of those who asked within FEED_SHOWN_MS */
} instance_record;

void record_add_feed(instance_record *record, const feed_told *feed);

/* A record in Redis is one line of words. The first says how many outcomes and buckets there are: a
 * record of another form, by a program of another version, is left out rather than misread. The
 * feeds stand behind the numbers, five words each. */
void record_write(fs_text *out, const instance_record *record);
bool record_read(const char *text, instance_record *ret);

typedef enum instance_state {
    INSTANCE_UP = 0,
    INSTANCE_DRAINING,
    INSTANCE_DOWN,
} instance_state;

typedef struct instance {
    char name[IDENT_MAX + 1];
    int64_t told_ms; /* when it told the record, in ms since 1970 by Redis's clock */
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

/* Tells the others `mine`, and hears them, within a second. A call that fails changes this
 * instance's own record alone. Whether one of them is looked at. */
bool instances_call(instances *in, const instance_record *mine);

/* Redis's time now, in ms since 1970, as far as it is known here. */
int64_t instances_now_ms(const instances *in);

/* What was told last of the reader of the item's sale. NULL: none asked within FEED_SHOWN_MS.
 * (borrowed) */
const feed_told *instances_feed(const instances *in, const char *item, const char *sale);

/* The name of the one that a lock's owner token is of; "" = of none that is known. (borrowed) */
const char *instances_owner(const instances *in, const char *owner);

#endif
