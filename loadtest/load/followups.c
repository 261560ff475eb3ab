/*
 * Two queues, each in the order of its due times because "at once" and "later" are constant delays;
 * and two reservoirs, in which every request of the run has the same chance to stay.
 */
#include "loadtest/load/followups.h"

#include <pthread.h>
#include <stdlib.h>

#define EVERY_NS  (5 * NS_PER_MS)   /* between two random follow-ups; not for --replay */
#define LATER_NS  (300 * NS_PER_MS) /* the delay of every second retry */
#define PUT_OFF   (200 * NS_PER_MS) /* a confirm that was put off */
#define RESERVOIR 500

typedef struct lt_queue {
    lt_followup *items;
    size_t first, end, room;
} lt_queue;

typedef struct lt_reservoir {
    int64_t items[RESERVOIR];
    size_t seen;
} lt_reservoir;

struct lt_followups {
    const lt_plan *plan;
    pthread_mutex_t mutex;
    lt_queue at_once, later;
    lt_reservoir sold, refused;
    int64_t *unknown;
    size_t unknown_count, unknown_room;
    mono_ns last;    /* when the latest random one was noted */
    mono_ns put_off; /* likewise, of a confirm */
    size_t turn;     /* of those that bought */
};

lt_followups *followups_new(const lt_plan *plan)
{
    lt_followups *followups = calloc(1, sizeof(*followups));
    if (!followups)
        return NULL;
    followups->plan = plan;
    pthread_mutex_init(&followups->mutex, NULL);
    return followups;
}

void followups_free(lt_followups *followups)
{
    if (!followups)
        return;
    pthread_mutex_destroy(&followups->mutex);
    free(followups->at_once.items);
    free(followups->later.items);
    free(followups->unknown);
    free(followups);
}

/* Room for one more; false when memory is short. */
static bool grow(void **items, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 64 : *room * 2;
    void *grown = realloc(*items, more * size);
    if (!grown)
        return false;
    *items = grown;
    *room = more;
    return true;
}

static void push(lt_queue *queue, lt_followup item)
{
    if (queue->first == queue->end)
        queue->first = queue->end = 0;
    if (grow((void **)&queue->items, queue->end, &queue->room, sizeof(item)))
        queue->items[queue->end++] = item;
}

static void sample(lt_reservoir *reservoir, int64_t ticket)
{
    size_t at = reservoir->seen++;
    uint64_t mixed = ((uint64_t)ticket + 1) * UINT64_C(0x9E3779B97F4A7C15);
    if (at >= RESERVOIR)
        at = (mixed ^ (mixed >> 29)) % reservoir->seen;
    if (at < RESERVOIR)
        reservoir->items[at] = ticket;
}

/* A request that finds no room is not looked up, and the judge finds it unresolved. */
static void note_unknown(lt_followups *followups, int64_t ticket)
{
    if (grow((void **)&followups->unknown, followups->unknown_count, &followups->unknown_room,
             sizeof(ticket)))
        followups->unknown[followups->unknown_count++] = ticket;
}

/* Sold requests are asked about in these ways in turn; refused ones are looked up. */
static void note_by_chance(lt_followups *followups, lt_followup item, bool sold)
{
    static const struct {
        lt_followup_kind kind;
        bool later;
    } ways[] = {{FOLLOW_LOOK, false},      {FOLLOW_RETRY, false},
                {FOLLOW_OTHER, false},     {FOLLOW_LOOK, false},
                {FOLLOW_RETRY, true},      {FOLLOW_END, false}, /* these too where buys reserve */
                {FOLLOW_OTHER_END, false}, {FOLLOW_END, true}};
    size_t count = sizeof(ways) / sizeof(ways[0]) - (followups->plan->reserve_s == 0 ? 3 : 0);
    if (item.due - followups->last < EVERY_NS)
        return;
    followups->last = item.due;
    bool later = sold && ways[followups->turn].later;
    item.kind = sold ? ways[followups->turn].kind : FOLLOW_LOOK;
    item.due += later ? LATER_NS : 0;
    push(later ? &followups->later : &followups->at_once, item);
    if (sold)
        followups->turn = (followups->turn + 1) % count;
}

void followups_note(lt_followups *followups, int64_t ticket, lt_outcome outcome, int target,
                    mono_ns done)
{
    lt_followup item = {.ticket = ticket, .target = target, .due = done};
    bool sold = outcome == OUT_SOLD;
    pthread_mutex_lock(&followups->mutex);
    if (outcome == OUT_UNKNOWN) {
        note_unknown(followups, ticket);
    } else {
        sample(sold ? &followups->sold : &followups->refused, ticket);
        note_by_chance(followups, item, sold);
    }
    item.kind = FOLLOW_RETRY;
    if (sold && plan_replays(followups->plan, ticket))
        push(&followups->at_once, item);
    pthread_mutex_unlock(&followups->mutex);
}

void followups_put_off(lt_followups *followups, int64_t ticket, int target, mono_ns done)
{
    pthread_mutex_lock(&followups->mutex);
    if (done - followups->put_off >= PUT_OFF) {
        push(&followups->later, (lt_followup){ticket, target, FOLLOW_END, done + LATER_NS});
        followups->put_off = done;
    }
    pthread_mutex_unlock(&followups->mutex);
}

static bool take_from(lt_queue *queue, mono_ns until, lt_followup *ret)
{
    if (queue->first == queue->end || queue->items[queue->first].due > until)
        return false;
    *ret = queue->items[queue->first++];
    return true;
}

bool followups_take(lt_followups *followups, bool all, lt_followup *ret)
{
    mono_ns until = all ? INT64_MAX : clock_now();
    pthread_mutex_lock(&followups->mutex);
    bool taken =
        take_from(&followups->at_once, until, ret) || take_from(&followups->later, until, ret);
    pthread_mutex_unlock(&followups->mutex);
    return taken;
}

lt_tickets followups_sold(const lt_followups *followups)
{
    size_t seen = followups->sold.seen;
    return (lt_tickets){followups->sold.items, seen < RESERVOIR ? seen : RESERVOIR};
}

lt_tickets followups_refused(const lt_followups *followups)
{
    size_t seen = followups->refused.seen;
    return (lt_tickets){followups->refused.items, seen < RESERVOIR ? seen : RESERVOIR};
}

lt_tickets followups_unknown(const lt_followups *followups)
{
    return (lt_tickets){followups->unknown, followups->unknown_count};
}
