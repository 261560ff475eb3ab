/*
 * single_flight.c - a list of running calls, at most as many as threads.
 *
 * The calls for one name are numbered. A caller that accepts any result waits for the running call.
 * Callers that need a fresh result wait for the next call, which the first of them makes.
 */
#include "server/base/single_flight.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"

typedef struct flight {
    struct flight *next;
    char name[IDENT_MAX + 1];
    int users;            /* threads that make, await or want one */
    int64_t begun, ended; /* calls so far; one at most is under way */
    int result;           /* of the last that ended */
    pthread_cond_t over;
} flight;

struct single_flight {
    pthread_mutex_t lock;
    flight *first;
};

single_flight *single_flight_new(void)
{
    single_flight *all = calloc(1, sizeof(*all));
    if (all)
        pthread_mutex_init(&all->lock, NULL);
    return all;
}

void single_flight_free(single_flight *all)
{
    if (!all)
        return;
    pthread_mutex_destroy(&all->lock);
    free(all);
}

/* Under the lock. NULL: out of memory. */
static flight *join(single_flight *all, const char *name)
{
    flight *f = all->first;
    while (f && strcmp(f->name, name) != 0)
        f = f->next;
    if (!f && (f = calloc(1, sizeof(*f)))) {
        snprintf(f->name, sizeof(f->name), "%s", name);
        dlock_cond_init(&f->over);
        f->next = all->first;
        all->first = f;
    }
    if (f)
        f->users++;
    return f;
}

/* Under the lock. */
static void leave(single_flight *all, flight *f)
{
    if (--f->users > 0)
        return;
    flight **link = &all->first;
    while (*link != f)
        link = &(*link)->next;
    *link = f->next;
    pthread_cond_destroy(&f->over);
    free(f);
}

int single_flight_do(single_flight *all, const char *name, flight_age age, dlock_time deadline,
                     flight_call *call, void *arg, int otherwise)
{
    int result = otherwise;
    pthread_mutex_lock(&all->lock);
    flight *f = join(all, name);
    int64_t wanted = !f ? 0 : 1 + (age == FLIGHT_FRESH ? f->begun : f->ended);
    while (f && f->ended < wanted && !dlock_passed(deadline)) {
        if (f->begun > f->ended) {
            dlock_cond_wait(&f->over, &all->lock, deadline);
            continue;
        }
        f->begun++;
        pthread_mutex_unlock(&all->lock);
        result = call(arg, name, deadline);
        pthread_mutex_lock(&all->lock);
        f->result = result;
        f->ended = f->begun;
        pthread_cond_broadcast(&f->over);
    }
    if (f && f->ended >= wanted)
        result = f->result;
    if (f)
        leave(all, f);
    pthread_mutex_unlock(&all->lock);
    return result;
}
