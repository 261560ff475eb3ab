/*
 * Releases that Redis did not answer. A background thread tries each again every RETRY_MS, until
 * Redis gives a definite answer or the lease must have ended. The token makes a repetition
 * harmless: it frees only this grant. The thread is started when it is first needed.
 */
#include "core/retried_release.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/ask.h"
#include "core/client.h"
#include "redis/thread.h"

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
    bool at_work; /* the thread is asking Redis for one, which is not in the list meanwhile */
};

retried_releases *dlock_retried_releases_new(dlock_client *client)
{
    retried_releases *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->client = client;
    pthread_mutex_init(&r->lock, NULL);
    dlock_cond_init(&r->changed);
    return r;
}

static void free_open(open_release *open)
{
    dlock_lock_unref(open->lock);
    free(open);
}

/* Takes out one whose lease must have ended, or else the first: the newest, which was not tried
 * yet. Under the mutex. */
static open_release *take_next(retried_releases *r)
{
    open_release **at = &r->first;
    while (*at && !dlock_passed((*at)->until))
        at = &(*at)->next;
    at = *at ? at : &r->first;
    open_release *open = *at;
    *at = open->next;
    return open;
}

/* One try for the next one, which goes to the list's end if it stays open. Under the mutex. */
static bool retry_next(retried_releases *r)
{
    open_release *open = take_next(r);
    r->at_work = true;
    pthread_mutex_unlock(&r->lock);
    bool over = dlock_passed(open->until);
    bool unanswered = over || dlock_status_open(dlock_ask_leave(open->lock, open->token));
    if (!unanswered || over)
        dlock_client_report(r->client, DLOCK_REPORT_RELEASE, "release of %s %s",
                            dlock_lock_name(open->lock, 0),
                            over ? "given up: its lease must have ended" : "settled");
    pthread_mutex_lock(&r->lock);
    r->at_work = false;
    pthread_cond_broadcast(&r->changed);
    if (!unanswered || over) {
        free_open(open);
        return true;
    }
    open_release **end = &r->first;
    while (*end)
        end = &(*end)->next;
    open->next = NULL;
    *end = open;
    return false;
}

static void *run(void *arg)
{
    retried_releases *r = arg;
    pthread_mutex_lock(&r->lock);
    while (!r->stop) {
        if (!r->first)
            dlock_cond_wait(&r->changed, &r->lock, dlock_in_ms(60000));
        else if (!retry_next(r) && !r->stop)
            dlock_cond_wait(&r->changed, &r->lock, dlock_in_ms(RETRY_MS));
    }
    pthread_mutex_unlock(&r->lock);
    return NULL;
}

void dlock_retried_releases_add(dlock_lock *lock, const char *token, int64_t lease_ms)
{
    retried_releases *r = lock->client->retried[lock->kind->everywhere != NULL];
    open_release *open = calloc(1, sizeof(*open));
    if (!open)
        return;
    open->lock = lock;
    dlock_lock_ref(lock);
    open->until = dlock_in_ms(lease_ms);
    snprintf(open->token, sizeof(open->token), "%s", token);
    pthread_mutex_lock(&r->lock);
    open->next = r->first;
    r->first = open;
    if (!r->started)
        r->started = dlock_thread_start(&r->thread, run, r);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

void dlock_retried_releases_free(retried_releases *r, dlock_time until)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    while ((r->first || r->at_work) && !dlock_passed(until))
        dlock_cond_wait(&r->changed, &r->lock, dlock_in_ms(RETRY_MS));
    r->stop = true;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    if (r->started)
        pthread_join(r->thread, NULL);
    while (r->first) {
        open_release *open = r->first;
        r->first = open->next;
        free_open(open);
    }
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}
