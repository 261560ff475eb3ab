/*
 * Calls of many threads on one connection to a server, a line.
 *
 *     queue of a server: calls that are not sent --> line: calls in flight, in the order sent
 *
 * A caller that finds nobody at a line's connection writes all that is queued. One of the callers
 * with calls in flight leads: it reads, and hands the answers out. Once it has its own, another one
 * leads. If nobody waits, but calls with a callback are in flight, a thread leads (attend.c): there
 * is one for all servers, which also ends such calls at their deadline. Of the callers whose calls
 * are queued one looks every STALL_MS whether they can be sent, the keeper; the others sleep.
 *
 * A call that was given to the kernel and is not answered in time is UNKNOWN. If its answer comes
 * later, it is counted and thrown away. On a line that is silent for STALL_MS nothing more is sent:
 * the next call opens another line, while those in flight keep the rest of their time. A silent
 * line ends with the last of them; or, when there are LINES_MAX, if it has been silent for longest.
 * A line that is lost takes all calls in flight with it. So after a loss few calls may be in
 * flight, and more as answers come. A call that has less than a round trip left is not sent: it
 * would be unknown, and the calls behind it late.
 */
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#include "redis/shared.h"

#include "redis/line.h"
#include "redis/thread.h"

/* ---- a new line ------------------------------------------------------------------------------ */

static int free_place(const station *k)
{
    for (int i = 0; i < LINES_MAX; i++)
        if (!k->lines[i])
            return i;
    return -1;
}

typedef struct dialler {
    shared *s;
    station *k;
} dialler;

static void *dial(void *arg)
{
    dialler d = *(dialler *)arg;
    shared *s = d.s;
    station *k = d.k;
    dlock_redis_conn *conn = NULL;
    dlock_time connect_ms_ends_it = {INT64_MAX};
    line *l = calloc(1, sizeof(*l));
    free(arg);
    if (l && dlock_redis_dial_server(s->redis, (int)(k - s->stations), connect_ms_ends_it, &conn) ==
                 DLOCK_REDIS_OK)
        conn->follows = conn->shared = true;
    pthread_mutex_lock(&s->lock);
    k->dialling = false;
    if (conn) {
        l->conn = conn;
        k->lines[free_place(k)] = k->current = l;
    } else {
        free(l);
        dlock_line_fail_queue(s, k, dlock_redis_said());
    }
    while (dlock_shared_push(s, k))
        continue;
    dlock_line_tell_finished(s);
    s->dialling--;
    pthread_cond_signal(&s->idle);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

static void start_dialling(shared *s, station *k)
{
    pthread_t thread;
    if (dlock_redis_held_back(s->redis, (int)(k - s->stations))) {
        dlock_line_fail_queue(s, k, dlock_redis_said());
        return;
    }
    dialler *d = malloc(sizeof(*d));
    if (d)
        *d = (dialler){s, k};
    if (!d || s->stop || !dlock_thread_start(&thread, dial, d)) {
        free(d);
        dlock_line_fail_queue(s, k, "");
        return;
    }
    pthread_detach(thread);
    k->dialling = true;
    s->dialling++;
}

/* Ends a line that is left: one that is broken, or else the one that has been silent for longest.
 * Its place is free when the last thread has let go of it. */
static void make_place(shared *s, station *k)
{
    line *oldest = NULL;
    for (int i = 0; i < LINES_MAX; i++) {
        line *l = k->lines[i];
        if (l && l->failed) /* its place will be free */
            return;
        if (!l || l == k->current || l->busy)
            continue;
        bool broken = dlock_redis_broken(l->conn);
        if (broken || !oldest || l->heard.us < oldest->heard.us)
            oldest = l;
        if (broken)
            break;
    }
    if (!oldest)
        return;
    dlock_line_fail(s, k, oldest);
    dlock_line_let_go(k, oldest);
}

static bool find_place(shared *s, station *k)
{
    if (free_place(k) < 0)
        make_place(s, k);
    return free_place(k) >= 0;
}

/* A line that must not be used for another call is left, if there may be another. */
static bool leave(shared *s, station *k, line *l)
{
    if (l->calls > 0 && !find_place(s, k))
        return false;
    dlock_line_retire(k, l);
    bool over = l->waited == 0 || dlock_redis_broken(l->conn) || dlock_line_is_misread(l);
    if (l->calls > 0 && over)
        dlock_line_fail(s, k, l);
    dlock_line_let_go(k, l);
    return true;
}

bool dlock_shared_push(shared *s, station *k)
{
    line *l = k->current;
    if (!k->first || (!l && k->dialling) || (l && l->busy))
        return false;
    if (!l) {
        if (find_place(s, k))
            start_dialling(s, k);
        return false;
    }
    if (!dlock_line_is_usable(k, l))
        return leave(s, k, l);
    if (l->calls >= k->window || l->unwritten)
        return false;
    dlock_line_write(s, k, l);
    if (l != k->current)
        return true;
    dlock_line_pass_on(s, k, l);
    return !l->unwritten;
}

/* ---- leading --------------------------------------------------------------------------------- */

/* Waits until answers may be there to read. Under the lock, which it releases meanwhile. */
static bool await(shared *s, line *l, dlock_time until)
{
    int fd = l->conn->ctx->fd;
    short events = (short)(POLLIN | (l->unwritten ? POLLOUT : 0));
    pthread_mutex_unlock(&s->lock);
    bool ready = dlock_redis_wait_fd(fd, events, until);
    pthread_mutex_lock(&s->lock);
    return ready;
}

/* Reads until its own answer is there, or its deadline. Under the lock, which it releases
 * meanwhile. */
static void lead(shared *s, shared_call *a)
{
    line *l = a->line;
    station *k = &s->stations[a->server];
    l->led = true;
    while (!a->is_done && !dlock_passed(a->deadline)) {
        if (s->finished) {
            dlock_line_tell_finished(s);
        } else if (l->busy) {
            l->leader = a;
            dlock_sleeper_nap(&a->place, &s->lock, a->deadline);
            l->leader = NULL;
        } else if (await(s, l, a->deadline) && !l->busy && !l->failed) {
            dlock_line_step(s, k, l);
        }
    }
    while (!a->is_done && !dlock_line_give_up(s, a)) /* it is being written or read */
        dlock_sleeper_nap(&a->place, &s->lock, dlock_in_ms(1));
    l->led = false;
    dlock_line_pass_on(s, k, l);
}

/* Writes what the kernel did not take at once, while another thread waits for answers. Under the
 * lock, which it releases meanwhile. */
static void go_on_writing(shared *s, shared_call *a)
{
    int fd = a->line->conn->ctx->fd; /* if it is closed meanwhile, this was for nothing */
    pthread_mutex_unlock(&s->lock);
    dlock_redis_wait_fd(fd, POLLOUT, dlock_sooner(a->deadline, dlock_in_ms(STALL_MS)));
    pthread_mutex_lock(&s->lock);
    if (a->line && a->line->unwritten && !a->line->busy)
        dlock_line_write(s, &s->stations[a->server], a->line);
}

static void enqueue(station *k, shared_call *a)
{
    a->is_done = false;
    a->next = NULL;
    *k->end = a;
    k->end = &a->next;
}

/* Of a call in the queue. One of them is enough: if all looked, a crowd of them would leave the
 * processors no time for those who read. */
static dlock_time until_next_look(station *k, shared_call *a)
{
    if (!k->keeper)
        k->keeper = a;
    return k->keeper == a ? dlock_sooner(a->deadline, dlock_in_ms(STALL_MS)) : a->deadline;
}

/* Does what is to be done now. Returns until when to sleep if nobody rouses it. Under the lock,
 * which it releases meanwhile. */
static dlock_time take_part(shared *s, station *k, shared_call *a)
{
    for (;;) {
        if (s->finished)
            dlock_line_tell_finished(s);
        else if (a->is_done) /* another thread tells it */
            return dlock_in_ms(60000);
        else if (a->line && !a->line->led)
            lead(s, a);
        else if (dlock_passed(a->deadline) && !dlock_line_give_up(s, a))
            return dlock_in_ms(1);
        else if (a->line && a->line->unwritten && !a->line->busy)
            go_on_writing(s, a);
        else if (a->line)
            return dlock_sooner(a->deadline, dlock_in_ms(60000));
        else if (!a->is_done && !dlock_shared_push(s, k) && !s->finished && !a->line)
            return until_next_look(k, a);
    }
}

void dlock_shared_ask(shared *s, int server, shared_call *a)
{
    station *k = &s->stations[server];
    a->outcome = DLOCK_REDIS_NOT_SENT;
    if (a->args->failed)
        return;
    a->server = server;
    pthread_mutex_lock(&s->lock);
    enqueue(k, a);
    for (;;) {
        dlock_time until = take_part(s, k, a);
        dlock_sleeper_ready(&a->place);
        pthread_mutex_unlock(&s->lock);
        dlock_sleeper_wait(&a->place, until);
        if (dlock_sleeper_ended(&a->place))
            break;
        pthread_mutex_lock(&s->lock);
    }
    dlock_redis_hear(a->reply && a->reply->type == REDIS_REPLY_ERROR ? a->reply->str
                     : a->said[0]                                    ? a->said
                                                                     : NULL);
}

/* ---- asynchronous calls ---------------------------------------------------------------------- */

void dlock_shared_put(shared *s, int server, shared_call *a)
{
    station *k = &s->stations[server];
    a->server = server;
    pthread_mutex_lock(&s->lock);
    if (a->args->failed || s->stop || dlock_passed(a->deadline) || !dlock_shared_start_thread(s)) {
        dlock_line_settle(s, a, DLOCK_REDIS_NOT_SENT, NULL);
    } else {
        if (a->deadline.us < s->earliest.us) {
            s->earliest = a->deadline;
            dlock_line_poke(s);
        }
        enqueue(k, a);
        while (dlock_shared_push(s, k))
            continue;
    }
    dlock_line_tell_finished(s);
    pthread_mutex_unlock(&s->lock);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void close_unfit(station *k, bool left)
{
    line *l = k->current;
    if (!l || l->busy || l->calls > 0 || (!left && dlock_redis_is_fit(l->conn)))
        return;
    dlock_line_retire(k, l);
    dlock_line_let_go(k, l);
}

void dlock_shared_readmit(shared *s)
{
    pthread_mutex_lock(&s->lock);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++)
        close_unfit(&s->stations[i], false);
    pthread_mutex_unlock(&s->lock);
}

void dlock_shared_leave(shared *s, int server)
{
    pthread_mutex_lock(&s->lock);
    close_unfit(&s->stations[server], true);
    s->stations[server].rtt_us = 0;
    pthread_mutex_unlock(&s->lock);
}

int dlock_shared_in_flight(shared *s, int server)
{
    pthread_mutex_lock(&s->lock);
    const line *l = s->stations[server].current;
    int calls = l ? l->calls : 0;
    pthread_mutex_unlock(&s->lock);
    return calls;
}

int64_t dlock_shared_rtt_us(const shared *s)
{
    return atomic_load_explicit(&s->rtt_us, memory_order_relaxed);
}

shared *dlock_shared_new(dlock_redis *redis)
{
    shared *s = calloc(1, sizeof(*s));
    if (!s)
        return NULL;
    s->redis = redis;
    s->wake_fd = -1;
    s->earliest.us = INT64_MAX;
    s->finished_end = &s->finished;
    pthread_mutex_init(&s->lock, NULL);
    dlock_cond_init(&s->idle);
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        s->stations[i].end = &s->stations[i].first;
        s->stations[i].window = CALLS_MAX;
    }
    return s;
}

/* What is under way has no answer. */
static void end_calls(shared *s)
{
    for (int i = 0; i < DLOCK_SERVERS_MAX; i++) {
        station *k = &s->stations[i];
        dlock_line_fail_queue(s, k, "");
        for (int n = 0; n < LINES_MAX; n++) {
            if (!k->lines[n])
                continue;
            dlock_line_fail(s, k, k->lines[n]);
            dlock_line_let_go(k, k->lines[n]);
        }
    }
    dlock_line_tell_finished(s);
}

void dlock_shared_free(shared *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    dlock_line_poke(s);
    while (s->dialling > 0)
        pthread_cond_wait(&s->idle, &s->lock);
    pthread_mutex_unlock(&s->lock);
    if (s->has_thread)
        pthread_join(s->thread, NULL);
    s->has_thread = false;
    pthread_mutex_lock(&s->lock);
    end_calls(s);
    pthread_mutex_unlock(&s->lock);
    if (s->wake_fd >= 0)
        close(s->wake_fd);
    pthread_cond_destroy(&s->idle);
    pthread_mutex_destroy(&s->lock);
    free(s);
}
