/*
 * dashboard.c - the thread, and its documents.
 *
 * A document is renewed while it has viewers. There is room for a few items; another one replaces
 * the item that was requested the longest ago.
 */
#include "server/dashboard/dashboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/dashboard/document.h"
#include "server/sale/feed_seen.h"
#include "server/selling/batch.h"

#define ITEMS    16
#define LOOK_MS  500  /* between documents, and between records, while there are viewers */
#define IDLE_MS  1000 /* between records otherwise */
#define ASKED_MS 5000 /* how long a question counts as a viewer */

typedef struct place {
    document doc;           /* item "" = free */
    char *json;             /* NULL = not made yet */
    dlock_time asked, made; /* the last time; 0 = never */
    bool wanted;            /* make it at once: a viewer waits for it */
    int readers;            /* waiting viewers; meanwhile the place is not given away */
} place;

struct dashboard {
    fs_store *store;
    sale_table *sales;
    fs_metrics *metrics;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next three */
    bool stop;
    bool hurry; /* a document has become wanted */
    place places[ITEMS];
    pthread_cond_t wanted, made;
    dlock_time next;         /* look; this and what follows are the thread's alone */
    document doc;            /* the one that is being made */
    instances others;        /* but its changes are under the next one */
    pthread_mutex_t hearing; /* for dashboard_owner() */
};

static bool is_over(dlock_time since, int64_t ms, dlock_time now)
{
    return since.us == 0 || now.us - since.us >= ms * 1000;
}

/* ---- the thread ------------------------------------------------------------------------------ */

typedef struct feeds_seen {
    instance_record *record;
    int64_t now_us; /* by Redis's clock */
} feeds_seen;

static void tell_feed(void *arg, fs_sale *sale)
{
    feeds_seen *seen = arg;
    feed_lag lag;
    if (!sale_feed_lag(sale, FEED_SHOWN_MS, &lag))
        return;
    feed_told told = {
        .orders = lag.orders, .behind = lag.behind, .asked_us = seen->now_us - lag.asked_us};
    snprintf(told.item, sizeof(told.item), "%s", sale->open_sale.terms.item);
    snprintf(told.sale, sizeof(told.sale), "%s", sale->open_sale.terms.id);
    record_add_feed(seen->record, &told);
}

/* Tells the other instances of this one, and hears them: whether one of them is looked at. */
static bool call_others(dashboard *d, bool watched)
{
    batch_counts batches;
    dlock_stats locks;
    batch_count(&batches);
    dlock_client_stats(d->store->locks, &locks);
    instance_record mine = {
        .numbers = {[TOLD_DRAINING] = atomic_load(&d->metrics->draining),
                    [TOLD_WATCHED] = watched,
                    [TOLD_IN_FLIGHT] = atomic_load(&d->metrics->in_flight),
                    [TOLD_WAITING] = (int64_t)locks.waiting_now + batches.waiting,
                    [TOLD_BATCHES] = batches.batches,
                    [TOLD_BATCHED] = batches.buyers,
                    [TOLD_LARGEST_BATCH] = batches.largest}};
    snprintf(mine.client, sizeof(mine.client), "%s", dlock_client_id(d->store->locks));
    metrics_read_counts(d->metrics, &mine.numbers[TOLD_COUNTS]);
    feeds_seen feeds = {&mine, instances_now_ms(&d->others) * 1000};
    sale_table_each(d->sales, tell_feed, &feeds);
    pthread_mutex_lock(&d->hearing);
    bool looked_at = instances_call(&d->others, &mine);
    pthread_mutex_unlock(&d->hearing);
    return looked_at;
}

/* If it is time to. Under the lock, which is let go of while Redis is asked. */
static bool call_if_due(dashboard *d)
{
    bool watched = false;
    dlock_time now = dlock_now();
    if (!dlock_passed(d->next))
        return false;
    for (int i = 0; i < ITEMS; i++)
        watched = watched || !is_over(d->places[i].asked, ASKED_MS, now);
    pthread_mutex_unlock(&d->lock);
    d->next = dlock_in_ms(call_others(d, watched) || watched ? LOOK_MS : IDLE_MS);
    pthread_mutex_lock(&d->lock);
    return true;
}

/* Likewise. Meanwhile the place may be given to another item. */
static void renew(dashboard *d, place *p)
{
    fs_text text;
    text_init(&text);
    d->doc = p->doc;
    pthread_mutex_unlock(&d->lock);
    document_ask(&d->doc, d->sales);
    document_write(&text, &d->doc, &d->others);
    char *json = text.failed ? NULL : strdup(text_bytes(&text));
    text_free(&text);
    pthread_mutex_lock(&d->lock);
    bool same = strcmp(p->doc.item, d->doc.item) == 0;
    if (same && json) {
        free(p->json);
        p->json = json;
        p->doc = d->doc;
        p->made = dlock_now();
    } else {
        free(json);
    }
    p->wanted = p->wanted && !same;
    pthread_cond_broadcast(&d->made);
}

/* Renews the documents with viewers, or only those that a viewer waits for. Heartbeats go out in
 * between, or the other instances would take this one to be down. Under the lock. */
static void renew_all(dashboard *d, bool looked_at)
{
    dlock_time now = dlock_now();
    for (int i = 0; !d->stop && i < ITEMS; i++) {
        place *p = &d->places[i];
        if (!p->wanted && (!looked_at || is_over(p->asked, ASKED_MS, now)))
            continue;
        renew(d, p);
        call_if_due(d);
    }
}

static void *run(void *arg)
{
    dashboard *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        d->hurry = false;
        renew_all(d, call_if_due(d));
        while (!d->stop && !d->hurry && !dlock_passed(d->next))
            dlock_cond_wait(&d->wanted, &d->lock, d->next);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- the viewers ----------------------------------------------------------------------------- */

/* The item's place, perhaps without a document yet. NULL: all places have waiting viewers or,
 * unless one may be `ousted`, any viewers. Under the lock. */
static place *find_or_take(dashboard *d, const char *item, bool ousted)
{
    place *oldest = NULL;
    dlock_time now = dlock_now();
    for (int i = 0; i < ITEMS; i++) {
        place *p = &d->places[i];
        if (strcmp(p->doc.item, item) == 0)
            return p;
        if (p->readers == 0 && (ousted || is_over(p->asked, ASKED_MS, now)) &&
            (!oldest || p->asked.us < oldest->asked.us))
            oldest = p;
    }
    if (oldest) {
        document_init(&oldest->doc, item);
        oldest->asked = oldest->made = (dlock_time){0};
        oldest->wanted = false;
    }
    return oldest;
}

/* Has it made if it was not renewed of late, and waits until it is. Under the lock. */
static void await(dashboard *d, place *p, dlock_time deadline)
{
    dlock_time now = dlock_now();
    if (p->doc.over || (is_over(p->asked, ASKED_MS, now) && is_over(p->made, LOOK_MS, now))) {
        p->wanted = d->hurry = true;
        pthread_cond_signal(&d->wanted);
    }
    p->asked = now;
    p->readers++;
    while (p->wanted && !dlock_passed(deadline))
        dlock_cond_wait(&d->made, &d->lock, deadline);
    p->readers--;
}

dashboard_answer dashboard_read(dashboard *d, const char *item, dlock_time deadline, fs_text *out)
{
    place *p;
    bool waits = !dlock_passed(deadline);
    pthread_mutex_lock(&d->lock);
    while (!(p = find_or_take(d, item, waits)) && !dlock_passed(deadline))
        dlock_cond_wait(&d->made, &d->lock, deadline);
    if (p)
        await(d, p, deadline);
    dashboard_answer answer = !p || p->made.us == 0 ? DASHBOARD_LATE
                              : p->doc.over         ? DASHBOARD_OVER
                                                    : DASHBOARD_TOLD;
    if (answer == DASHBOARD_TOLD) {
        dlock_time now = dlock_now(), read = p->doc.read;
        text_put(out, NUMBER("age_ms", (now.us - p->made.us) / 1000));
        if (read.us > 0)
            text_put(out, NUMBER("sale_age_ms", (now.us - read.us) / 1000));
        else
            text_put(out, AS_IS("sale_age_ms", "null"));
        text_next(out, p->json);
    }
    pthread_mutex_unlock(&d->lock);
    return answer;
}

bool dashboard_owner(dashboard *d, const char *owner, char ret[IDENT_MAX + 1])
{
    pthread_mutex_lock(&d->hearing);
    snprintf(ret, IDENT_MAX + 1, "%s", instances_owner(&d->others, owner));
    pthread_mutex_unlock(&d->hearing);
    return ret[0] != '\0';
}

/* ---- its life -------------------------------------------------------------------------------- */

static void free_all(dashboard *d)
{
    for (int i = 0; i < ITEMS; i++)
        free(d->places[i].json);
    pthread_cond_destroy(&d->wanted);
    pthread_cond_destroy(&d->made);
    pthread_mutex_destroy(&d->lock);
    pthread_mutex_destroy(&d->hearing);
    free(d);
}

dashboard *dashboard_start(fs_store *store, sale_table *sales, fs_metrics *metrics)
{
    dashboard *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->store = store;
    d->sales = sales;
    d->metrics = metrics;
    pthread_mutex_init(&d->lock, NULL);
    pthread_mutex_init(&d->hearing, NULL);
    dlock_cond_init(&d->wanted);
    dlock_cond_init(&d->made);
    instances_init(&d->others, store);
    if (pthread_create(&d->thread, NULL, run, d) == 0)
        return d;
    free_all(d);
    return NULL;
}

void dashboard_stop(dashboard *d)
{
    if (!d)
        return;
    pthread_mutex_lock(&d->lock);
    d->stop = true;
    pthread_cond_signal(&d->wanted);
    pthread_mutex_unlock(&d->lock);
    pthread_join(d->thread, NULL);
    free_all(d);
}
