/* health.c - the troubles, and Redis's words. */
#include "server/redis/health.h"

#include <stdio.h>
#include <string.h>

#define ERROR_LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

void complain(store_complaint *ret, const char *answer)
{
    static const char before[] = "Redis answered: "; /* of dlock_redis_last_error() */
    if (answer && strncmp(answer, before, strlen(before)) == 0)
        answer += strlen(before);
    size_t word = answer ? strspn(answer, ERROR_LETTERS) : 0;
    bool is_code = word > 1 && word < sizeof(ret->redis) && strchr(" ", answer[word]);
    snprintf(ret->redis, sizeof(ret->redis), "%.*s", is_code ? (int)word : 9,
             is_code ? answer : "no_answer");
    snprintf(ret->detail, sizeof(ret->detail), "%s",
             answer && answer[0] != '\0' ? answer : "Redis does not answer");
}

void health_init(store_health *health)
{
    memset(health, 0, sizeof(*health));
    pthread_mutex_init(&health->lock, NULL);
    replica_set_init(&health->replicas);
    for (int i = 0; i < TROUBLES; i++) {
        complain(&health->why[i], NULL);
        atomic_store(&health->found[i], true);
    }
}

void health_free(store_health *health)
{
    pthread_mutex_destroy(&health->lock);
    replica_set_free(&health->replicas);
}

void health_note(store_health *health, store_trouble trouble, const store_complaint *why)
{
    pthread_mutex_lock(&health->lock);
    if (why)
        health->why[trouble] = *why;
    atomic_store_explicit(&health->found[trouble], why != NULL, memory_order_release);
    pthread_mutex_unlock(&health->lock);
}

bool health_why(store_health *health, store_trouble trouble, store_complaint *ret)
{
    pthread_mutex_lock(&health->lock);
    bool found = health_has(health, trouble);
    if (found)
        *ret = health->why[trouble];
    pthread_mutex_unlock(&health->lock);
    return found;
}
