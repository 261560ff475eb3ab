/*
 * Which context holds which lock: what makes locks reentrant. The count of re-entries lives here
 * and not in Redis, so that a repeated question can not count twice.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/internal.h"

static registry_bucket *bucket_of(dlock_client *client, const char *name, uint64_t context)
{
    uint64_t hash = 14695981039346656037u ^ context; /* FNV-1a */
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211u;
    return &client->registry[hash % REGISTRY_BUCKETS];
}

dlock_hold *dlock_registry_reenter(dlock_client *client, const char *name, uint64_t context,
                                   bool of_thread)
{
    registry_bucket *bucket = bucket_of(client, name, context);
    pthread_mutex_lock(&bucket->lock);
    dlock_hold *hold = bucket->first;
    while (hold && !(hold->context == context && hold->of_thread == of_thread &&
                     strcmp(hold->lock->names[0], name) == 0 && hold->lock->names_len == 1 &&
                     !hold->released_by_guard && dlock_grant_alive(hold->grant)))
        hold = hold->next;
    if (hold)
        hold->count++;
    pthread_mutex_unlock(&bucket->lock);
    return hold;
}

void dlock_registry_add(dlock_hold *hold)
{
    registry_bucket *bucket = bucket_of(hold->lock->client, hold->lock->names[0], hold->context);
    pthread_mutex_lock(&bucket->lock);
    hold->next = bucket->first;
    bucket->first = hold;
    pthread_mutex_unlock(&bucket->lock);
}

bool dlock_registry_leave(dlock_hold *hold)
{
    registry_bucket *bucket = bucket_of(hold->lock->client, hold->lock->names[0], hold->context);
    pthread_mutex_lock(&bucket->lock);
    bool last = --hold->count == 0;
    for (dlock_hold **at = &bucket->first; last && *at; at = &(*at)->next) {
        if (*at == hold) {
            *at = hold->next;
            break;
        }
    }
    pthread_mutex_unlock(&bucket->lock);
    return last;
}

void dlock_registry_thread_ended(dlock_client *client, uint64_t thread)
{
    for (int i = 0; i < REGISTRY_BUCKETS; i++) {
        registry_bucket *bucket = &client->registry[i];
        pthread_mutex_lock(&bucket->lock);
        for (dlock_hold *hold = bucket->first; hold; hold = hold->next) {
            if (!hold->of_thread || hold->context != thread)
                continue;
            atomic_store(&hold->grant->orphaned, true);
            dlock_client_report(client, DLOCK_REPORT_ORPHANED,
                                "a thread ended while it held lock %s; it is not renewed any more",
                                hold->lock->names[0]);
        }
        pthread_mutex_unlock(&bucket->lock);
    }
}

void dlock_registry_free(dlock_client *client)
{
    for (int i = 0; i < REGISTRY_BUCKETS; i++) {
        while (client->registry[i].first) {
            dlock_hold *hold = client->registry[i].first;
            client->registry[i].first = hold->next;
            if (atomic_load(&hold->lost_fd) >= 0)
                close(atomic_load(&hold->lost_fd));
            dlock_grant_unref(hold->grant);
            free(hold);
        }
        pthread_mutex_destroy(&client->registry[i].lock);
    }
}
