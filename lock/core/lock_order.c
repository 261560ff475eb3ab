/*
 * The lock-order checker, a debugging aid: locks taken as A then B by one context and as B then A
 * by another can deadlock some day, even if they did not today.
 *
 * It remembers for each context what it holds, and for all contexts which lock was asked for while
 * which other was held. A new pair whose reverse is known, directly or over other locks, is
 * reported once. Off unless options.check_order; then it costs a mutex and a search per acquire.
 */
#include <stdlib.h>
#include <string.h>

#include "core/internal.h"

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
    lock_order *book = calloc(1, sizeof(*book));
    if (book)
        pthread_mutex_init(&book->lock, NULL);
    return book;
}

void dlock_lock_order_free(lock_order *book)
{
    if (!book)
        return;
    for (size_t i = 0; i < book->pairs_len; i++) {
        free(book->pairs[i].first);
        free(book->pairs[i].then);
    }
    for (size_t i = 0; i < book->held_len; i++)
        free(book->held[i].name);
    free(book->pairs);
    free(book->held);
    pthread_mutex_destroy(&book->lock);
    free(book);
}

static bool known(const lock_order *book, const char *first, const char *then)
{
    for (size_t i = 0; i < book->pairs_len; i++)
        if (strcmp(book->pairs[i].first, first) == 0 && strcmp(book->pairs[i].then, then) == 0)
            return true;
    return false;
}

/* Whether `to` was ever asked for while `from` was held, over any number of steps. */
static bool leads(lock_order *book, const char *from, const char *to)
{
    for (size_t i = 0; i < book->pairs_len; i++) {
        pair *p = &book->pairs[i];
        if (p->seen || strcmp(p->first, from) != 0)
            continue;
        p->seen = true;
        if (strcmp(p->then, to) == 0 || leads(book, p->then, to))
            return true;
    }
    return false;
}

static void remember(lock_order *book, const char *first, const char *then)
{
    pair *pairs = realloc(book->pairs, (book->pairs_len + 1) * sizeof(*pairs));
    if (!pairs)
        return;
    book->pairs = pairs;
    pair p = {.first = strdup(first), .then = strdup(then)};
    if (p.first && p.then) {
        pairs[book->pairs_len++] = p;
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
    const char *name = wanted->lock->names[0];
    lock_order *book = client->order;
    if (!client->options.check_order)
        return;
    pthread_mutex_lock(&book->lock);
    for (size_t i = 0; i < book->held_len; i++) {
        const held *h = &book->held[i];
        if (!same_context(h, wanted) || strcmp(h->name, name) == 0 || known(book, h->name, name))
            continue;
        for (size_t k = 0; k < book->pairs_len; k++)
            book->pairs[k].seen = false;
        if (leads(book, name, h->name))
            dlock_client_report(
                client, DLOCK_REPORT_ORDER,
                "possible deadlock: %s is asked for while %s is held, and elsewhere %s "
                "while %s is held",
                name, h->name, h->name, name);
        remember(book, h->name, name);
    }
    pthread_mutex_unlock(&book->lock);
}

void dlock_lock_order_acquired(const dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    const char *name = hold->lock->names[0];
    lock_order *book = client->order;
    if (!client->options.check_order)
        return;
    pthread_mutex_lock(&book->lock);
    held *more = realloc(book->held, (book->held_len + 1) * sizeof(*more));
    char *copy = strdup(name);
    if (more)
        book->held = more;
    if (more && copy)
        more[book->held_len++] = (held){copy, hold->context, hold->of_thread};
    else
        free(copy);
    pthread_mutex_unlock(&book->lock);
}

void dlock_lock_order_released(const dlock_hold *hold)
{
    dlock_client *client = hold->lock->client;
    const char *name = hold->lock->names[0];
    lock_order *book = client->order;
    if (!client->options.check_order)
        return;
    pthread_mutex_lock(&book->lock);
    for (size_t i = 0; i < book->held_len; i++) {
        if (!same_context(&book->held[i], hold) || strcmp(book->held[i].name, name) != 0)
            continue;
        free(book->held[i].name);
        book->held[i] = book->held[--book->held_len];
        break;
    }
    pthread_mutex_unlock(&book->lock);
}
