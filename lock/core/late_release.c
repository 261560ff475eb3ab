/*
 * Releases that Redis did not answer. Each is tried again every RETRY_MS in a background thread,
 * until Redis gives a definite answer or the lease must have ended by itself. The token makes a
 * repetition harmless: it frees nothing but this grant. The thread starts with the first need.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/internal.h"

#define RETRY_MS 100

typedef struct open_release {
    dlock_lock *lock; /* (a reference) */
    char token[TOKEN_LEN];
    dlock_time until;
    struct open_release *next;
} open_release;

struct retried_releases {
    dlock_client *client;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    pthread_t thread;
    bool started, stop;
    open_release *first;
    bool at_work; /* the thread asks Redis for one that is not in the list just now */
};

retried_releases *dlock_retried_releases_new(dlock_client *client)
{
    retried_releases *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->client = client;
    pthread_mutex_init(&s->lock, NULL);
    dlock_cond_init(&s->changed);
    return s;
}

static void free_open(open_release *open)
{
    dlock_lock_unref(open->lock);
    free(open);
}

/* One try for the first in the list, which goes to its end if it stays open. Under the mutex. */
static bool settle_first(retried_releases *s)
{
    open_release *open = s->first;
    s->first = open->next;
    s->at_work = true;
    pthread_mutex_unlock(&s->lock);
    dlock_status status = open->lock->kind->leave(open->lock, open->token);
    bool unsettled = status == DLOCK_UNAVAILABLE || status == DLOCK_UNKNOWN;
    bool over = unsettled && dlock_passed(open->until);
    if (!unsettled || over)
        dlock_client_report(s->client, DLOCK_REPORT_RELEASE, "release of %s %s",
                            open->lock->names[0],
                            over ? "given up: its lease must have ended" : "settled");
    pthread_mutex_lock(&s->lock);
    s->at_work = false;
    pthread_cond_broadcast(&s->changed);
    if (!unsettled || over) {
        free_open(open);
        return true;
    }
    open_release **end = &s->first;
    while (*end)
        end = &(*end)->next;
    open->next = NULL;
    *end = open;
    return false;
}

static void *run(void *arg)
{
    retried_releases *s = arg;
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        if (!s->first)
            dlock_cond_wait(&s->changed, &s->lock, dlock_in_ms(60000));
        else if (!settle_first(s) && !s->stop)
            dlock_cond_wait(&s->changed, &s->lock, dlock_in_ms(RETRY_MS));
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

void dlock_retried_release_add(dlock_lock *lock, const char *token)
{
    retried_releases *s = lock->client->retried_releases;
    open_release *open = calloc(1, sizeof(*open));
    if (!open)
        return;
    open->lock = lock;
    dlock_lock_ref(lock);
    open->until = dlock_in_ms(lock->options.lease_ms);
    snprintf(open->token, sizeof(open->token), "%s", token);
    pthread_mutex_lock(&s->lock);
    open->next = s->first;
    s->first = open;
    if (!s->started)
        s->started = pthread_create(&s->thread, NULL, run, s) == 0;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void dlock_retried_releases_free(retried_releases *s)
{
    if (!s)
        return;
    dlock_time until = dlock_in_ms(s->client->options.io_ms);
    pthread_mutex_lock(&s->lock);
    while ((s->first || s->at_work) && !dlock_passed(until))
        dlock_cond_wait(&s->changed, &s->lock, dlock_in_ms(RETRY_MS));
    s->stop = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    if (s->started)
        pthread_join(s->thread, NULL);
    while (s->first) {
        open_release *open = s->first;
        s->first = open->next;
        free_open(open);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
