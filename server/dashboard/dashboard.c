/*
 * dashboard.c - the thread, and the documents that it makes.
 *
 * A document is renewed for as long as it is asked for. There is room for few items at once; one
 * more takes the place of the one that was asked for the longest ago.
 */
#include "server/dashboard/dashboard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/dashboard/document.h"
#include "server/selling/batch.h"

#define ITEMS    16
#define LOOK_MS  500  /* between two documents, and two records, while somebody looks */
#define IDLE_MS  1000 /* between two records otherwise */
#define ASKED_MS 5000 /* for so long after a question somebody looks */

typedef struct item_document {
    char item[IDENT_MAX + 1]; /* "" = free */
    dlock_time asked, made;   /* when last; 0 = never */
    dlock_time read;          /* when the numbers of its sale were read; likewise */
    bool over;                /* as in its view */
    bool wanted;              /* it is to be made at once: somebody waits for it */
    int readers;              /* who wait; its place is not given away meanwhile */
    fs_text text;
    item_view view; /* the thread's alone */
} item_document;

struct dashboard {
    dashboard_options options;
    pthread_t thread;
    pthread_mutex_t lock; /* guards the next four, but the views */
    pthread_cond_t wanted;
    pthread_cond_t made;
    bool stop;
    item_document documents[ITEMS];
    dlock_time next; /* look; this and the next are the thread's alone */
    fs_text draft;
    instances others;
};

static bool is_over(dlock_time since, int64_t ms, dlock_time now)
{
    return since.us == 0 || now.us - since.us >= ms * 1000;
}

/* ---- the thread ------------------------------------------------------------------------------ */

/* Under the lock. */
static bool is_watched(const dashboard *d)
{
    bool watched = false;
    dlock_time now = dlock_now();
    for (int i = 0; i < ITEMS; i++)
        watched = watched || !is_over(d->documents[i].asked, ASKED_MS, now);
    return watched;
}

/* Tells the other instances of this one, and hears them. */
static void call_others(dashboard *d, bool watched)
{
    const dashboard_options *o = &d->options;
    instance_record mine = {.watched = watched};
    batch_counts batches;
    dlock_stats locks;
    o->count(o->arg, &mine);
    batch_count(&batches);
    dlock_client_stats(o->store->locks, &locks);
    snprintf(mine.client, sizeof(mine.client), "%s", dlock_client_id(o->store->locks));
    mine.waiting = (int64_t)locks.waiting_now + batches.waiting;
    mine.batches = batches.batches;
    mine.batched = batches.buyers;
    mine.largest_batch = batches.largest;
    instances_call(&d->others, &mine);
}

/* If it is time to. Under the lock, which is let go of while Redis is asked. */
static bool call_if_due(dashboard *d)
{
    bool due = dlock_passed(d->next), watched = is_watched(d);
    if (!due)
        return false;
    pthread_mutex_unlock(&d->lock);
    call_others(d, watched);
    d->next = dlock_in_ms(watched || instances_watched(&d->others) ? LOOK_MS : IDLE_MS);
    pthread_mutex_lock(&d->lock);
    return true;
}

/* Likewise. */
static void renew(dashboard *d, item_document *document)
{
    char item[IDENT_MAX + 1];
    memcpy(item, document->item, sizeof(item));
    pthread_mutex_unlock(&d->lock);
    if (strcmp(document->view.item, item) != 0)
        view_init(&document->view, item);
    view_read(&document->view, d->options.sales);
    text_clear(&d->draft);
    document_write(&d->draft, &document->view, &d->others);
    pthread_mutex_lock(&d->lock);
    if (strcmp(document->item, item) != 0)
        return;
    document->wanted = false;
    if (!d->draft.failed) {
        text_clear(&document->text);
        text_add_bytes(&document->text, text_bytes(&d->draft), d->draft.len);
        document->made = dlock_now();
        document->read = document->view.read;
        document->over = document->view.over;
    }
    pthread_cond_broadcast(&d->made);
}

/* Those that are looked at, or only those that somebody waits for. The others hear of this instance
 * in between: they do not wait for its documents, and take it to be down. Under the lock. */
static void renew_all(dashboard *d, bool looked_at)
{
    dlock_time now = dlock_now();
    for (int i = 0; !d->stop && i < ITEMS; i++) {
        item_document *document = &d->documents[i];
        if (!document->wanted && (!looked_at || is_over(document->asked, ASKED_MS, now)))
            continue;
        renew(d, document);
        call_if_due(d);
    }
}

static bool is_wanted(const dashboard *d)
{
    bool wanted = false;
    for (int i = 0; i < ITEMS; i++)
        wanted = wanted || d->documents[i].wanted;
    return wanted;
}

static void *run(void *arg)
{
    dashboard *d = arg;
    pthread_mutex_lock(&d->lock);
    while (!d->stop) {
        renew_all(d, call_if_due(d));
        while (!d->stop && !is_wanted(d) && !dlock_passed(d->next))
            dlock_cond_wait(&d->wanted, &d->lock, d->next);
    }
    pthread_mutex_unlock(&d->lock);
    return NULL;
}

/* ---- the viewers ----------------------------------------------------------------------------- */

/* The item's document, perhaps an empty one. NULL: somebody waits for every one that there is, or,
 * unless one may be `ousted`, looks at it. Under the lock. */
static item_document *find_or_take(dashboard *d, const char *item, bool ousted)
{
    item_document *oldest = NULL;
    dlock_time now = dlock_now();
    for (int i = 0; i < ITEMS; i++) {
        item_document *document = &d->documents[i];
        if (strcmp(document->item, item) == 0)
            return document;
        if (document->readers == 0 && (ousted || is_over(document->asked, ASKED_MS, now)) &&
            (!oldest || document->asked.us < oldest->asked.us))
            oldest = document;
    }
    if (oldest) {
        snprintf(oldest->item, sizeof(oldest->item), "%s", item);
        oldest->asked = oldest->made = (dlock_time){0};
        oldest->wanted = oldest->over = false;
    }
    return oldest;
}

/* Has it made if it was not renewed of late, and waits until it is. Under the lock. */
static void await(dashboard *d, item_document *document, dlock_time deadline)
{
    dlock_time now = dlock_now();
    if (document->over ||
        (is_over(document->asked, ASKED_MS, now) && is_over(document->made, LOOK_MS, now))) {
        document->wanted = true;
        pthread_cond_signal(&d->wanted);
    }
    document->asked = now;
    document->readers++;
    while (document->wanted && !dlock_passed(deadline))
        dlock_cond_wait(&d->made, &d->lock, deadline);
    document->readers--;
}

static void put_age(fs_text *out, const char *before, dlock_time since)
{
    text_add(out, before);
    if (since.us > 0)
        text_add_int(out, (dlock_now().us - since.us) / 1000);
    else
        text_add(out, "null");
}

dashboard_answer dashboard_read(dashboard *d, const char *item, dlock_time deadline, fs_text *out)
{
    item_document *document;
    bool waits = !dlock_passed(deadline);
    pthread_mutex_lock(&d->lock);
    while (!(document = find_or_take(d, item, waits)) && !dlock_passed(deadline))
        dlock_cond_wait(&d->made, &d->lock, deadline);
    if (document)
        await(d, document, deadline);
    dashboard_answer answer = !document || document->made.us == 0 ? DASHBOARD_LATE
                              : document->over                    ? DASHBOARD_OVER
                                                                  : DASHBOARD_TOLD;
    if (answer == DASHBOARD_TOLD) {
        put_age(out, "\"age_ms\":", document->made);
        put_age(out, ",\"sale_age_ms\":", document->read);
        text_add(out, ",");
        text_add_bytes(out, text_bytes(&document->text), document->text.len);
    }
    pthread_mutex_unlock(&d->lock);
    return answer;
}

/* ---- its life -------------------------------------------------------------------------------- */

static void free_all(dashboard *d)
{
    for (int i = 0; i < ITEMS; i++)
        text_free(&d->documents[i].text);
    text_free(&d->draft);
    pthread_cond_destroy(&d->wanted);
    pthread_cond_destroy(&d->made);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

dashboard *dashboard_start(const dashboard_options *options)
{
    dashboard *d = calloc(1, sizeof(*d));
    if (!d)
        return NULL;
    d->options = *options;
    pthread_mutex_init(&d->lock, NULL);
    dlock_cond_init(&d->wanted);
    dlock_cond_init(&d->made);
    for (int i = 0; i < ITEMS; i++)
        text_init(&d->documents[i].text);
    text_init(&d->draft);
    instances_init(&d->others, options->store);
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
