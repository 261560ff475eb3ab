/*
 * Faults act on whole messages, so a direction passes a message on only when all of it has come in.
 *
 * A TCP connection never loses a message and delivers the next one. Therefore a dropped message
 * silences its direction for good: what follows is swallowed as well, and the client sees what it
 * would see of a dead network, an open connection from which nothing comes.
 */
#include "tests/tools/faultproxy/link.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/tools/faultproxy/expected.h"
#include "tests/tools/faultproxy/flow.h"

#define READ_BYTES (64 * 1024)

typedef enum fp_ending { GOES_ON, ENDS, BREAKS } fp_ending; /* after the last message: FIN or RST */

struct side {
    loop_watch watch; /* fd -1: not dialled yet */
    fp_link *link;
    bool at_end; /* it has sent its FIN */
    bool full;   /* a write to it was cut short */
};

struct way {
    fp_flow flow;
    loop_timer timer; /* when the flow's first message is due */
    fp_link *link;
    bool mute;          /* what still comes in is swallowed */
    fp_ending ending;   /* what happens when the flow is empty ... */
    int64_t end_due_us; /* ... and this time has come */
};

struct fp_link {
    link_world *world;
    fp_link *next, *previous;
    struct side client, server;
    struct way requests, replies;
    fp_expected expected;
    fp_transaction transaction;
    bool held;          /* since a request came in that is not passed on */
    bool stalled, dead; /* dead: unlinked, waits for being freed */
};

static struct side *source_of(struct way *way)
{
    return way == &way->link->requests ? &way->link->client : &way->link->server;
}

static struct side *target_of(struct way *way)
{
    return way == &way->link->requests ? &way->link->server : &way->link->client;
}

/* ---- life and death -------------------------------------------------------------------------- */

static void link_free(void *arg)
{
    fp_link *link = arg;
    flow_free(&link->requests.flow);
    flow_free(&link->replies.flow);
    expected_free(&link->expected);
    free(link);
}

static void side_close(fp_link *link, struct side *side, bool abruptly)
{
    if (side->watch.fd < 0)
        return;
    struct linger linger = {.l_onoff = 1, .l_linger = 0};
    if (abruptly)
        setsockopt(side->watch.fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    loop_set_events(link->world->loop, &side->watch, 0);
    close(side->watch.fd);
    side->watch.fd = -1;
}

static void link_close(fp_link *link, bool abruptly)
{
    if (link->dead)
        return;
    link_world *world = link->world;
    link->dead = true;
    side_close(link, &link->client, abruptly);
    side_close(link, &link->server, abruptly);
    loop_set_timer(world->loop, &link->requests.timer, -1);
    loop_set_timer(world->loop, &link->replies.timer, -1);
    if (link->next)
        link->next->previous = link->previous;
    if (link->previous)
        link->previous->next = link->next;
    else
        world->links = link->next;
    loop_later(world->loop, link_free, link);
}

void link_reset(fp_link *link)
{
    link->world->stats.resets++;
    link_close(link, true);
}

fp_link *link_next(const fp_link *link)
{
    return link->next;
}

/* ---- what epoll has to report ---------------------------------------------------------------- */

static void side_watch(fp_link *link, struct side *side)
{
    if (link->dead || side->watch.fd < 0)
        return;
    uint32_t events = (side->at_end ? 0 : EPOLLIN) | (side->full ? EPOLLOUT : 0);
    loop_set_events(link->world->loop, &side->watch, link->stalled ? 0 : events);
}

static void watch_both(fp_link *link)
{
    side_watch(link, &link->client);
    side_watch(link, &link->server);
}

void link_stall(fp_link *link)
{
    link->world->stats.stalled += !link->stalled;
    link->stalled = true;
    watch_both(link);
    loop_set_timer(link->world->loop, &link->requests.timer, -1);
    loop_set_timer(link->world->loop, &link->replies.timer, -1);
}

/* ---- passing on what is due ------------------------------------------------------------------ */

static void way_end(struct way *way)
{
    fp_link *link = way->link;
    if (way->ending == BREAKS) {
        link_reset(link);
        return;
    }
    /* A client that has sent its last request may still read; a server's end is the end. */
    if (way == &link->requests && !way->mute)
        shutdown(link->server.watch.fd, SHUT_WR);
    else
        link_close(link, false);
    way->ending = GOES_ON;
}

static void way_send(struct way *way, size_t due)
{
    struct side *target = target_of(way);
    ssize_t sent = send(target->watch.fd, way->flow.buf + way->flow.start, due, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        link_close(way->link, false);
        return;
    }
    if (sent > 0)
        flow_sent(&way->flow, (size_t)sent);
    target->full = sent < (ssize_t)due;
    side_watch(way->link, target);
}

static void way_pass(struct way *way)
{
    fp_link *link = way->link;
    if (link->dead || link->stalled)
        return;
    int64_t now_us = way->flow.last_due_us || way->end_due_us ? loop_now_us() : 0;
    size_t due = flow_due(&way->flow, now_us);
    if (due > 0)
        way_send(way, due);
    if (link->dead || target_of(way)->full)
        return;
    int64_t next_us = flow_first_due_us(&way->flow);
    if (next_us < 0 && way->ending != GOES_ON)
        next_us = way->end_due_us;
    if (flow_first_due_us(&way->flow) < 0 && way->ending != GOES_ON && next_us <= now_us)
        way_end(way);
    else if (next_us >= 0)
        loop_set_timer(link->world->loop, &way->timer, next_us);
}

static void on_timer(loop_timer *timer)
{
    way_pass((struct way *)((char *)timer - offsetof(struct way, timer)));
}

/* ---- judging what has come in ---------------------------------------------------------------- */

static int64_t due_of(fp_link *link, const fp_judgement *judgement)
{
    if (judgement->delay_us == 0)
        return 0;
    link->world->stats.delayed++;
    return loop_now_us() + judgement->delay_us;
}

static void way_finish(struct way *way, fp_ending ending, int64_t due_us)
{
    flow_forget(&way->flow);
    way->mute = true;
    way->ending = ending;
    way->end_due_us = due_us > way->flow.last_due_us ? due_us : way->flow.last_due_us;
}

/* Deals with one judged message. False: nothing more may be taken from this way now. */
static bool way_take(struct way *way, size_t len, const fp_judgement *judgement)
{
    link_stats *stats = &way->link->world->stats;
    int64_t due = due_of(way->link, judgement);
    switch (judgement->fault) {
    case FAULT_NONE:
        flow_admit(&way->flow, len, due);
        stats->late += way->link->held;
        way->link->held = false;
        return true;
    case FAULT_DROP:
        stats->dropped++;
        way_finish(way, GOES_ON, 0);
        return false;
    case FAULT_RESET:
        way_finish(way, BREAKS, due);
        return false;
    case FAULT_TRUNCATE:
        stats->truncated++;
        flow_admit(&way->flow, len < judgement->truncate_bytes ? len : judgement->truncate_bytes,
                   due);
        way_finish(way, ENDS, due);
        return false;
    case FAULT_STALL:
        way->link->held = way == &way->link->requests;
        link_stall(way->link);
    }
    return false;
}

static bool take_request(fp_link *link, const char *request, size_t len)
{
    fp_verdict verdict = rules_judge(link->world->rules, &link->transaction, request, len);
    link->world->stats.requests++;
    if (verdict.request.fault == FAULT_NONE)
        expected_add(&link->expected, request, len, &verdict.reply);
    return way_take(&link->requests, len, &verdict.request);
}

static void learn_script(fp_link *link, expected_reply *expected, const char *reply, size_t len)
{
    static const char prefix[] = "$40\r\n";
    size_t prefix_len = sizeof(prefix) - 1;
    if (expected->script && len > prefix_len + SCRIPT_SHA_LEN &&
        memcmp(reply, prefix, prefix_len) == 0)
        scripts_learn(link->world->scripts, reply + prefix_len, expected->script,
                      expected->script_len);
    free(expected->script);
}

static bool take_reply(fp_link *link, const char *reply, size_t len)
{
    expected_reply expected = {0};
    if (resp_is_push(reply, len)) {
        link->world->stats.pushes++;
        expected.judgement = rules_judge_push(link->world->rules, reply, len);
        if (expected.judgement.fault == FAULT_DROP) { /* Redis itself may lose these */
            link->world->stats.dropped++;
            flow_remove(&link->replies.flow, len);
            return true;
        }
    } else {
        link->world->stats.replies++;
        if (expected_take(&link->expected, &expected))
            learn_script(link, &expected, reply, len);
    }
    return way_take(&link->replies, len, &expected.judgement);
}

static void way_judge(struct way *way)
{
    fp_link *link = way->link;
    const char *message;
    ssize_t len = 0;
    bool go_on = !way->mute;
    while (go_on && (len = flow_next(&way->flow, &message)) > 0) {
        go_on = way == &link->requests ? take_request(link, message, (size_t)len)
                                       : take_reply(link, message, (size_t)len);
    }
    if (go_on && len < 0)
        link_reset(link);
}

/* ---- sockets --------------------------------------------------------------------------------- */

static void way_read(struct way *way)
{
    fp_link *link = way->link;
    struct side *source = source_of(way);
    ssize_t len = read(source->watch.fd, flow_room(&way->flow, READ_BYTES), READ_BYTES);
    if (len < 0) { /* a client that is reset takes nothing back that Redis has not read yet */
        if (errno != EAGAIN && errno != EINTR)
            link_close(link, errno == ECONNRESET && source == &link->server);
        return;
    }
    if (len == 0) {
        source->at_end = true;
        side_watch(link, source);
        if (way->ending == GOES_ON) {
            way->ending = ENDS;
            way->end_due_us = way->flow.last_due_us;
        }
    }
    flow_received(&way->flow, (size_t)len);
    if (way->mute)
        flow_forget(&way->flow);
    way_judge(way);
    way_pass(way);
}

static void on_ready(fp_link *link, uint32_t events, struct side *side, struct way *from,
                     struct way *to)
{
    if (events & EPOLLOUT) {
        side->full = false;
        side_watch(link, side);
        way_pass(to);
    }
    bool readable = events & (EPOLLIN | EPOLLHUP | EPOLLERR);
    if (readable && !link->dead && !link->stalled && !side->at_end)
        way_read(from);
    else if ((events & (EPOLLHUP | EPOLLERR)) && side->at_end)
        link_close(link, false);
}

static void client_ready(loop_watch *watch, uint32_t events)
{
    fp_link *link = ((struct side *)watch)->link;
    on_ready(link, events, &link->client, &link->requests, &link->replies);
}

static void server_ready(loop_watch *watch, uint32_t events)
{
    fp_link *link = ((struct side *)watch)->link;
    on_ready(link, events, &link->server, &link->replies, &link->requests);
}

static void link_dial(fp_link *link)
{
    link->server.watch.fd = link->world->dial(link->world->dial_arg);
    if (link->server.watch.fd < 0)
        link_close(link, true);
    else
        watch_both(link);
}

void link_new(link_world *world, int client_fd, bool silent)
{
    fp_link *link = calloc(1, sizeof(*link));
    if (!link)
        abort();
    link->world = world;
    link->client = (struct side){.watch = {.fd = client_fd, .ready = client_ready}, .link = link};
    link->server = (struct side){.watch = {.fd = -1, .ready = server_ready}, .link = link};
    link->requests = (struct way){.timer = {.fire = on_timer}, .link = link};
    link->replies = (struct way){.timer = {.fire = on_timer}, .link = link};
    link->next = world->links;
    if (link->next)
        link->next->previous = link;
    world->links = link;
    world->stats.connections++;
    if (silent)
        link_stall(link);
    else
        link_dial(link);
}

void link_heal(fp_link *link)
{
    if (link->requests.mute || link->replies.mute) {
        link_reset(link);
        return;
    }
    if (!link->stalled)
        return;
    link->stalled = false;
    if (link->server.watch.fd < 0)
        link_dial(link);
    else
        watch_both(link);
    /* A message that was whole when the link stalled is judged now. */
    struct way *ways[] = {&link->requests, &link->replies};
    for (int i = 0; i < 2 && !link->dead; i++) {
        way_judge(ways[i]);
        way_pass(ways[i]);
    }
}
