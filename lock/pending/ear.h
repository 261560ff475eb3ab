/*
 * The ear of a client: one thread that listens to the channels on which pending acquisitions are
 * told that a lock may be theirs, on one connection to each server.
 */
#ifndef DLOCK_PENDING_EAR_H
#define DLOCK_PENDING_EAR_H

#include "core/lock.h"

typedef struct ear ear;

/* One lock's channel: a member of what listens. */
typedef struct ear_channel {
    dlock_lock *lock; /* (borrowed) from listen to forget */
    char name[CHANNEL_LEN];
    /* It is subscribed to from now on; whatever was said before may be missed. Called on the ear's
     * thread, under its mutex. */
    void (*subscribed)(struct ear_channel *c);

    int server; /* the ear's: that it is subscribed to at, or is to be; NO_SERVER = at none as yet
                 */
    bool sent;  /* likewise: it was told to subscribe */
    struct ear_channel *next;
} ear_channel;

ear *dlock_ear_new(dlock_client *client); /* NULL: out of memory, descriptors or threads */
void dlock_ear_free(ear *e);              /* NULL is allowed */

void dlock_ear_listen(ear *e, ear_channel *c); /* with lock, name and subscribed filled in */
void dlock_ear_forget(ear *e, ear_channel *c);

#endif
