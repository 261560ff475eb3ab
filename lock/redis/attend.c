/*
 * One of the threads that wait for an answer reads. If none waits, the thread in this file does. It
 * also ends asynchronous calls whose time is over. It sleeps in poll() on all lines that it leads.
 * If all calls are lazy, it comes a little later, because another thread may have read by then.
 */
#include <poll.h>
#include <sys/eventfd.h>

#include "redis/line.h"

void dlock_line_poke(shared *s)
{
    if (!s->has_thread || s->poked)
        return;
    s->poked = true;
    eventfd_write(s->wake_fd, 1);
}

/* The last call whose thread waits for its answer; NULL: none does. *lazy: nobody else hurries. */
static shared_call *last_of_a_thread(const line *l, bool *lazy)
{
    *lazy = true;
    for (unsigned i = l->tail; i != l->head; i--) {
        shared_call *a = l->slots[(i - 1) % SLOTS_MAX].who;
        if (a && !a->done)
            return a;
        *lazy = *lazy && (!a || a->lazy);
    }
    return NULL;
}

void dlock_line_pass_on(shared *s, station *k, line *l)
{
    bool lazy = true;
    shared_call *next = l->led ? NULL : last_of_a_thread(l, &lazy);
    if (next) {
        dlock_sleeper_rouse(&next->place);
        return;
    }
    bool awaited = lazy && !dlock_passed(s->lazy_at);
    if (l->calls > 0 && !l->led && !awaited) {
        if (lazy)
            s->lazy_at = dlock_in_ms(LAZY_MS);
        dlock_line_poke(s);
    }
    dlock_line_let_go(k, l);
}

/* Ends those whose time is over. Under the lock. */
static void expire(shared *s, station *k, dlock_time now)
{
    shared_call *next;
    for (shared_call *a = k->first; a; a = next) {
        next = a->next;
        if (a->done && a->deadline.us <= now.us)
            dlock_line_give_up(s, a);
        else if (a->done)
            s->earliest = dlock_sooner(s->earliest, a->deadline);
    }
    for (int n = 0; n < LINES_MAX; n++) {
        line *l = k->lines[n];
        for (unsigned i = l ? l->head : 0; l && i != l->tail; i++) {
            shared_call *a = l->slots[i % SLOTS_MAX].who;
            bool over = a && a->done && a->deadline.us <= now.us;
            if (over && dlock_line_give_up(s, a)) {
                if (l != k->lines[n]) /* that was the last one, and the line went with it */
                    break;
            } else if (a && a->done) {
                s->earliest = dlock_sooner(s->earliest, over ? dlock_in_ms(1) : a->deadline);
            }
        }
    }
}

/* Whether the thread is to read: calls are in flight, and no thread waits for its own. */
static bool needs_thread(const line *l, bool lazy_too)
{
    bool lazy;
    return !l->led && !l->failed && l->calls > 0 && !last_of_a_thread(l, &lazy) &&
           (!lazy || lazy_too);
}

typedef struct attended {
    line *line;
    station *station;
} attended;

enum { ATTENDED_MAX = DLOCK_SERVERS_MAX * LINES_MAX };

/* Sends what waits, and takes the lead where nobody else does. Returns how many lines it leads;
 * *until: when to look again. */
static int take_lead(shared *s, attended *led, struct pollfd *fds, dlock_time *until)
{
    int len = 0;
    bool due = dlock_passed(s->earliest), lazy_due = dlock_passed(s->lazy_at);
    if (due)
        s->earliest.us = INT64_MAX;
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        station *k = &s->stations[i];
        if (due)
            expire(s, k, dlock_now());
        while (dlock_shared_push(s, k))
            continue;
        k->attended = k->first;
        if (k->attended)
            *until = dlock_sooner(*until, dlock_in_ms(STALL_MS));
        for (int n = 0; n < LINES_MAX; n++) {
            line *l = k->lines[n];
            if (!l || !needs_thread(l, lazy_due))
                continue;
            l->led = true;
            led[len] = (attended){l, k};
            fds[len++] = (struct pollfd){
                .fd = l->conn->ctx->fd,
                .events = (short)(POLLIN | (l->unwritten ? POLLOUT : 0)),
            };
        }
    }
    *until = dlock_sooner(*until, s->earliest);
    if (!lazy_due)
        *until = dlock_sooner(*until, s->lazy_at);
    return len;
}

static void *attend(void *arg)
{
    shared *s = arg;
    attended led[ATTENDED_MAX];
    struct pollfd fds[ATTENDED_MAX + 1];
    pthread_mutex_lock(&s->lock);
    while (!s->stop) {
        eventfd_t poked;
        dlock_time until = dlock_in_ms(60000);
        int len = take_lead(s, led, fds, &until);
        fds[len] = (struct pollfd){.fd = s->wake_fd, .events = POLLIN};
        dlock_line_tell_finished(s);
        pthread_mutex_unlock(&s->lock);
        poll(fds, (nfds_t)len + 1, dlock_left_ms(until));
        pthread_mutex_lock(&s->lock);
        if (s->poked)
            eventfd_read(s->wake_fd, &poked);
        s->poked = false;
        for (int i = 0; i < len; i++) {
            line *l = led[i].line;
            if (fds[i].revents && !l->busy && !l->failed)
                dlock_line_step(s, led[i].station, l);
            l->led = false;
            if (!needs_thread(l, true))
                dlock_line_pass_on(s, led[i].station, l);
        }
        dlock_line_tell_finished(s);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

bool dlock_shared_start_thread(shared *s)
{
    if (!s->has_thread && s->wake_fd < 0)
        s->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (!s->has_thread && s->wake_fd >= 0)
        s->has_thread = dlock_thread_start(&s->thread, attend, s);
    return s->has_thread;
}
