/*
 * One line: calls in flight, what is written and read on it, and how calls end. See shared.c.
 */
#include "redis/line.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "redis/script.h"

/* ---- the end of a call ----------------------------------------------------------------------- */

void dlock_line_settle(shared *s, shared_call *a, dlock_redis_outcome outcome, redisReply *reply)
{
    a->outcome = outcome;
    a->reply = reply;
    a->line = NULL;
    a->is_done = true;
    a->next = NULL;
    *s->finished_end = a;
    s->finished_end = &a->next;
}

void dlock_line_tell_finished(shared *s)
{
    while (s->finished) {
        shared_call *a = s->finished;
        s->finished = NULL;
        s->finished_end = &s->finished;
        pthread_mutex_unlock(&s->lock);
        for (shared_call *next; a; a = next) {
            next = a->next;
            if (a->done)
                a->done(a);
            else
                dlock_sleeper_end(&a->place);
        }
        pthread_mutex_lock(&s->lock);
    }
}

static void unqueue(station *k, shared_call *a)
{
    shared_call **at = &k->first;
    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    if (k->end == &a->next)
        k->end = at;
    if (k->keeper == a)
        k->keeper = NULL;
}

/* If the keeper has left the queue, the last call in it is the next: it stays longest. */
static void appoint_keeper(shared *s, station *k)
{
    if (!k->first || k->keeper || k->attended)
        return;
    shared_call *last = (shared_call *)((char *)k->end - offsetof(shared_call, next));
    if (last->done) {
        dlock_line_poke(s);
    } else {
        k->keeper = last;
        dlock_sleeper_rouse(&last->place);
    }
}

/* Has somebody go on with what is queued. */
static void nudge(shared *s, const station *k)
{
    if (k->first && k->first->done)
        dlock_line_poke(s);
    else if (k->first)
        dlock_sleeper_rouse(&k->first->place);
}

void dlock_line_fail_queue(shared *s, station *k, const char *said)
{
    shared_call *a = k->first;
    k->first = k->keeper = NULL;
    k->end = &k->first;
    for (shared_call *next; a; a = next) {
        next = a->next;
        snprintf(a->said, sizeof(a->said), "%s", said);
        dlock_line_settle(s, a, DLOCK_REDIS_NOT_SENT, NULL);
    }
}

/* ---- the end of a line ----------------------------------------------------------------------- */

void dlock_line_let_go(station *k, line *l)
{
    if (l->led || l->busy || (!l->failed && (l == k->current || l->calls > 0)))
        return;
    for (int i = 0; i < LINES_MAX; i++)
        if (k->lines[i] == l)
            k->lines[i] = NULL;
    dlock_redis_hang_up(l->conn);
    free(l);
}

void dlock_line_retire(station *k, line *l)
{
    if (k->current == l)
        k->current = NULL;
}

static void note_loss(station *k)
{
    k->window = WINDOW_MIN;
    k->answers = 0;
}

void dlock_line_fail(shared *s, station *k, line *l)
{
    dlock_line_retire(k, l);
    l->failed = true;
    l->conn->broken = true;
    if (l->calls > 0)
        note_loss(k);
    for (; l->head != l->tail; l->head++) {
        shared_call *a = l->slots[l->head % SLOTS_MAX].who;
        if (a)
            dlock_line_settle(s, a, DLOCK_REDIS_UNKNOWN, NULL);
    }
    l->calls = l->waited = 0;
    shutdown(l->conn->ctx->fd, SHUT_RDWR); /* wakes the leader */
    nudge(s, k);
}

/* A line that nothing more is sent on, and that nobody waits for an answer on. */
static void end_unless_waited_for(shared *s, station *k, line *l)
{
    if (l->waited == 0 && l->calls > 0 && l != k->current && !l->failed)
        dlock_line_fail(s, k, l);
}

static bool is_long(const station *k, dlock_time since, int64_t ms)
{
    return dlock_now().us - since.us > ms * 1000 + 4 * k->rtt_us;
}

/* Silent, with questions open. */
static bool is_stalled(const station *k, const line *l)
{
    return l->calls > 0 && is_long(k, l->heard, STALL_MS);
}

bool dlock_line_give_up(shared *s, shared_call *a)
{
    station *k = &s->stations[a->server];
    line *l = a->line;
    if (!l) {
        unqueue(k, a);
        dlock_redis_note(s->redis, "no connection to Redis became free in time");
        dlock_line_settle(s, a, DLOCK_REDIS_NOT_SENT, NULL);
        appoint_keeper(s, k);
        return true;
    }
    if (l->busy)
        return false;
    bool silent = false;
    for (unsigned i = l->head; i != l->tail; i++) {
        slot *owed = &l->slots[i % SLOTS_MAX];
        if (owed->who != a)
            continue;
        owed->who = NULL;
        silent = l->heard.us <= owed->sent.us && is_long(k, owed->sent, GIVEN_UP_MS);
    }
    dlock_redis_note(s->redis, "connection to Redis lost: no reply in time");
    dlock_line_settle(s, a, DLOCK_REDIS_UNKNOWN, NULL);
    l->waited--;
    if (l != k->current || l->unwritten || silent) {
        note_loss(k);
        dlock_line_retire(k, l);
    }
    end_unless_waited_for(s, k, l);
    dlock_line_let_go(k, l);
    nudge(s, k);
    return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

bool dlock_line_is_misread(const line *l)
{
    return l->conn->misread != atomic_load(&l->conn->redis->misread);
}

bool dlock_line_is_usable(const station *k, const line *l)
{
    if (l->calls == 0)
        return dlock_redis_is_fit(l->conn) && !dlock_redis_wait(l->conn, (dlock_time){0});
    return !dlock_redis_broken(l->conn) && !l->conn->ends && !is_stalled(k, l) &&
           !dlock_line_is_misread(l);
}

static void owe(line *l, shared_call *who, dlock_script *learns)
{
    l->slots[l->tail++ % SLOTS_MAX] = (slot){who, who != NULL, learns, dlock_now()};
}

static void queue_load(line *l, dlock_script *script)
{
    dlock_args args;
    dlock_redis_load_args(script, &args);
    if (!args.failed) {
        dlock_redis_queue(l->conn, &args);
        owe(l, NULL, script);
    }
    dlock_args_free(&args);
}

/* Behind what is to be written next. */
static void add(line *l, shared_call *a)
{
    if (l->calls == 0) {
        l->heard = dlock_now();
        l->timed = true;
    }
    if (a->script && a->done && !dlock_redis_knows_hash(a->script))
        queue_load(l, a->script);
    if (a->asking) { /* goes for the next command alone */
        dlock_redis_queue_asking(l->conn);
        owe(l, NULL, NULL);
    }
    if (a->script)
        dlock_redis_queue_script(l->conn, a->script, a->keys, a->args, a->by_text);
    else
        dlock_redis_queue(l->conn, a->args);
    owe(l, a, NULL);
    if (a->grace_ms > 0 && a->deadline.us < dlock_in_ms(a->grace_ms).us)
        a->deadline = dlock_in_ms(a->grace_ms);
    a->line = l;
    l->calls++;
    l->waited++;
}

/* What the first `end` slots are owed has been given to the kernel. Nobody settles it meanwhile:
 * the line is busy. */
static void tell_written(line *l, unsigned end)
{
    for (; (int)(l->announced - end) < 0; l->announced++) {
        shared_call *a = l->slots[l->announced % SLOTS_MAX].who;
        if (a && a->written)
            a->written(a);
    }
}

/* With less than a round trip left it would end as unknown, and hold up others. But where nothing
 * is in flight it is tried: the round trip may be shorter than it was. */
static bool may_send(const station *k, const line *l, const shared_call *a)
{
    int fate = CALL_OPEN;
    int64_t least_us = l->calls > 0 && a->grace_ms == 0 ? k->rtt_us : 0;
    if (dlock_now().us + least_us >= a->deadline.us)
        return false;
    return !a->fate || atomic_compare_exchange_strong(a->fate, &fate, CALL_SENT) ||
           fate == CALL_SENT;
}

/* Nothing is added behind a call that the kernel has not taken whole: it could not be withdrawn. */
static bool may_add(const station *k, const line *l)
{
    return !l->unwritten && k->first && l->calls < k->window && l == k->current;
}

/* Writes what is queued. Under the lock, which it releases meanwhile; the line is busy, and this
 * thread's. */
static void write_queued(shared *s, station *k, line *l)
{
    while (!l->failed && (l->unwritten || may_add(k, l))) {
        bool whole = false;
        unsigned from = l->tail;
        for (size_t bytes = 0; bytes < BATCH_BYTES && may_add(k, l);) {
            shared_call *a = k->first;
            unqueue(k, a);
            bytes += a->args->len;
            if (may_send(k, l, a))
                add(l, a);
            else
                dlock_line_settle(s, a, DLOCK_REDIS_NOT_SENT, NULL);
        }
        pthread_mutex_unlock(&s->lock);
        dlock_redis_outcome sent = dlock_redis_push(l->conn, &whole);
        if (whole && sent == DLOCK_REDIS_OK)
            tell_written(l, l->tail);
        pthread_mutex_lock(&s->lock);
        if (sent != DLOCK_REDIS_OK) {
            for (; sent == DLOCK_REDIS_NOT_SENT && l->tail != from; l->tail--) {
                shared_call *a = l->slots[(l->tail - 1) % SLOTS_MAX].who;
                l->calls -= a != NULL;
                l->waited -= a != NULL;
                if (a)
                    dlock_line_settle(s, a, DLOCK_REDIS_NOT_SENT, NULL);
            }
            dlock_line_fail(s, k, l);
        }
        l->unwritten = !whole;
        if (!whole)
            return;
    }
}

static void unbusy(shared *s, station *k, line *l)
{
    l->busy = false;
    appoint_keeper(s, k);
    if (l->leader)
        dlock_sleeper_rouse(&l->leader->place);
    dlock_line_let_go(k, l);
}

void dlock_line_write(shared *s, station *k, line *l)
{
    l->busy = true;
    write_queued(s, k, l);
    unbusy(s, k, l);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void take(shared *s, station *k, line *l, dlock_redis_outcome outcome, redisReply *reply)
{
    slot *owed = &l->slots[l->head++ % SLOTS_MAX];
    shared_call *a = owed->who;
    if (owed->learns)
        dlock_redis_keep_hash(owed->learns, reply);
    l->calls -= owed->ends;
    l->waited -= a != NULL;
    if (a && outcome != DLOCK_REDIS_UNKNOWN) {
        dlock_line_settle(s, a, outcome, reply);
        reply = NULL;
    } else if (a) {
        dlock_line_settle(s, a, outcome, NULL);
    }
    freeReplyObject(reply);
    if (++k->answers >= WINDOW_STEP) {
        k->answers = 0;
        k->window = 2 * k->window < CALLS_MAX ? 2 * k->window : CALLS_MAX;
    }
}

/* Something was answered: measures the round trip. A slow answer counts little, because it may have
 * waited for anything. It does not count if other calls were in flight before it. */
static void hear(shared *s, station *k, line *l)
{
    dlock_time now = dlock_now();
    int64_t took_us = now.us - l->slots[(l->head - 1) % SLOTS_MAX].sent.us, most_us = 0;
    bool timed = l->timed;
    l->timed = false;
    l->heard = now;
    if (k->rtt_us == 0 || took_us < k->rtt_us)
        k->rtt_us = took_us;
    else if (timed)
        k->rtt_us += (took_us - k->rtt_us) / 16;
    else
        return;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        most_us = s->stations[i].rtt_us > most_us ? s->stations[i].rtt_us : most_us;
    atomic_store_explicit(&s->rtt_us, most_us, memory_order_relaxed);
}

void dlock_line_step(shared *s, station *k, line *l)
{
    enum { MOST = 64 };
    redisReply *replies[MOST];
    dlock_redis_outcome outcomes[MOST];
    int n = MOST;
    l->busy = true;
    bool any = false;
    for (bool more = false; n == MOST; more = true) {
        pthread_mutex_unlock(&s->lock);
        n = 0;
        if (more || dlock_redis_receive(l->conn))
            while (n < MOST && dlock_redis_take(l->conn, &outcomes[n], &replies[n]))
                n++;
        tell_written(l, l->head + (unsigned)n); /* what is answered was written */
        pthread_mutex_lock(&s->lock);
        any = any || n > 0;
        for (int i = 0; i < n; i++)
            take(s, k, l, outcomes[i], replies[i]);
    }
    if (any)
        hear(s, k, l);
    if (l == k->current && (l->conn->ends || dlock_line_is_misread(l))) {
        dlock_line_retire(k, l);
        nudge(s, k);
    }
    if (l->conn->broken)
        dlock_line_fail(s, k, l);
    end_unless_waited_for(s, k, l);
    write_queued(s, k, l);
    unbusy(s, k, l);
}
