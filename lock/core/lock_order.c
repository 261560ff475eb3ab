/*
 * The lock order checker: if one context takes A then B, and another one B then A, they can
 * deadlock some day, even if they did not today.
 *
 * It remembers for each context what it holds, and for all contexts which lock was asked for while
 * which other was held. A new pair whose reverse is known, directly or over other locks, is
 * reported once. It costs a mutex and a search per acquire.
 */
#include "core/lock_order.h"

#include <stdlib.h>
#include <string.h>

#include "core/client.h"

typedef struct pair {
    char *first, *then;
    bool seen; /* the search's mark */
} pair;

typedef struct held {
    char *name;
    uint64_t context;
    bool of_thread; /* a thread's number and a caller's own id may be the same number */
} held;

struct lock_order {
    pthread_mutex_t lock;
    pair *pairs;
    size_t pairs_len;
    held *held;
    size_t held_len;
};

lock_order *dlock_lock_order_new(void)
{
    lock_order *order = calloc(1, sizeof(*order));
    if (order)
        pthread_mutex_init(&order->lock, NULL);
    return order;
}

void dlock_lock_order_free(lock_order *order)
{
    if (!order)
        return;
    for (size_t i = 0; i < order->pairs_len; i++) {
        free(order->pairs[i].first);
        free(order->pairs[i].then);
    }
    for (size_t i = 0; i < order->held_len; i++)
        free(order->held[i].name);
    free(order->pairs);
    free(order->held);
    pthread_mutex_destroy(&order->lock);
    free(order);
}

static bool known(const lock_order *order, const char *first, const char *then)
{
    for (size_t i = 0; i < order->pairs_len; i++)
        if (strcmp(order->pairs[i].first, first) == 0 && strcmp(order->pairs[i].then, then) == 0)
            return true;
    return false;
}

/* Whether `to` was ever asked for while `from` was held, over any number of steps. */
static bool leads(lock_order *order, const char *from, const char *to)
{
    for (size_t i = 0; i < order->pairs_len; i++) {
        pair *p = &order->pairs[i];
        if (p->seen || strcmp(p->first, from) != 0)
            continue;
        p->seen = true;
        if (strcmp(p->then, to) == 0 || leads(order, p->then, to))
            return true;
    }
    return false;
}

static void remember(lock_order *order, const char *first, const char *then)
{
    pair *pairs = realloc(order->pairs, (order->pairs_len + 1) * sizeof(*pairs));
    if (!pairs)
        return;
    order->pairs = pairs;
    pair p = {.first = strdup(first), .then = strdup(then)};
    if (p.first && p.then) {
        pairs[order->pairs_len++] = p;
    } else {
        free(p.first);
        free(p.then);
    }
}

static bool same_context(const held *h, const dlock_hold *hold)
{
    return h->context == hold->context && h->of_thread == hold->of_thread;
}

void dlock_lock_order_acquiring(const dlock_hold *wanted)
{
    dlock_client *client = wanted->lock->client;
    const char *name = dlock_lock_name(wanted->lock, 0);
    lock_order *order = client->order;
    pthread_mutex_lock(&order->lock);
    for (size_t i = 0; i < order->held_len; i++) {
        const held *h = &order->held[i];
        if (!same_context(h, wanted) || strcmp(h->name, name) == 0 || known(order, h->name, name))
            continue;
        for (size_t k = 0; k < order->pairs_len; k++)
            order->pairs[k].seen = false;
        if (leads(order, name, h->name))
            dlock_client_report(
                client, DLOCK_REPORT_ORDER,
                "possible deadlock: %s is asked for while %s is held, and elsewhere %s "
                "while %s is held",
                name, h->name, h->name, name);
        remember(order, h->name, name);
    }
    pthread_mutex_unlock(&order->lock);
}

void dlock_lock_order_acquired(const dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    const char *name = dlock_lock_name(hold->lock, 0);
    lock_order *order = client->order;
    pthread_mutex_lock(&order->lock);
    held *more = realloc(order->held, (order->held_len + 1) * sizeof(*more));
    char *copy = strdup(name);
    if (more)
        order->held = more;
    if (more && copy)
        more[order->held_len++] = (held){copy, hold->context, hold->of_thread};
    else
        free(copy);
    pthread_mutex_unlock(&order->lock);
}

void dlock_lock_order_released(const dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    const char *name = dlock_lock_name(hold->lock, 0);
    lock_order *order = client->order;
    pthread_mutex_lock(&order->lock);
    for (size_t i = 0; i < order->held_len; i++) {
        if (!same_context(&order->held[i], hold) || strcmp(order->held[i].name, name) != 0)
            continue;
        free(order->held[i].name);
        order->held[i] = order->held[--order->held_len];
        break;
    }
    pthread_mutex_unlock(&order->lock);
}
