/*
 * The subscriber of a client: one thread that listens to the channels that wake waiters, on one
 * connection to each server.
 */
#ifndef DLOCK_CORE_SUBSCRIBER_H
#define DLOCK_CORE_SUBSCRIBER_H

#include "core/lock.h"

typedef struct subscriber subscriber;

/* A member of a listener. Its functions are called on the subscriber's thread, under its mutex.
 * They must not wait. None of them runs once the channel is forgotten. */
typedef struct channel {
    char name[CHANNEL_LEN];
    const char *key; /* (borrowed) it is subscribed to at this key's server, in a cluster too */
    bool sharded;    /* in a cluster the message may go to the slot only (SPUBLISH) */
    bool for_each;   /* each channel of this name hears a message; otherwise one for all */
    /* The subscription holds from now on; earlier messages may be missed. */
    void (*subscribed)(struct channel *c);
    void (*heard)(struct channel *c, const char *message);

    int server; /* the subscriber's: the server to subscribe at; NO_SERVER: not known */
    bool sent;  /* the subscriber's: SUBSCRIBE was sent there */
    struct channel *next;
} channel;

subscriber *dlock_subscriber_new(dlock_client *client); /* NULL: out of memory, descriptors or
                                                           threads */
void dlock_subscriber_free(subscriber *s);              /* NULL is allowed */

void dlock_subscriber_listen(subscriber *s,
                             channel *c); /* with all but its own members filled in */
void dlock_subscriber_forget(subscriber *s, channel *c);

#endif
