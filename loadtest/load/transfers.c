/*
 * libcurl says which descriptors and which timeout it waits for; this file turns them into an epoll
 * set and a timer descriptor. transfers.h says why a descriptor stays in the set.
 */
#include "loadtest/load/transfers.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS_MAX 256
#define NOW        0
#define LOOK_MS    50

typedef struct lt_watched {
    uint32_t events; /* of this descriptor in the epoll set, 0: not in it */
    bool idle;       /* no transfer waits for it */
    bool connection; /* transfers_forget() will tell when it is closed */
} lt_watched;

struct lt_transfers {
    CURLM *multi;
    int handles; /* that the multi handle has */
    int epoll, timer, wake;
    mono_ns curl_due;    /* when libcurl wants to be called; NOW: at once; MONO_NEVER: not */
    mono_ns armed_for;   /* what the timer is set to; MONO_NEVER: not set */
    lt_watched *watched; /* by descriptor */
    int watched_room;
};

/* ---- what libcurl asks for ------------------------------------------------------------------- */

void transfers_remember(lt_transfers *transfers, int fd)
{
    if (fd >= 0 && fd < transfers->watched_room)
        transfers->watched[fd] = (lt_watched){.connection = true};
}

void transfers_forget(lt_transfers *transfers, int fd)
{
    if (fd < transfers->watched_room)
        transfers->watched[fd] = (lt_watched){0}; /* closing it takes it out of the epoll set */
}

static void take_out(lt_transfers *transfers, int fd)
{
    if (transfers->watched[fd].events != 0)
        epoll_ctl(transfers->epoll, EPOLL_CTL_DEL, fd, NULL);
    transfers->watched[fd].events = 0;
}

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    lt_transfers *transfers = user;
    (void)easy;
    (void)socket_user;
    if (fd >= transfers->watched_room)
        return 0;
    lt_watched *watched = &transfers->watched[fd];
    if (what == CURL_POLL_REMOVE && !watched->connection) {
        take_out(transfers, fd);
        return 0;
    }
    watched->idle = what == CURL_POLL_REMOVE;
    uint32_t events =
        ((what & CURL_POLL_IN) ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0u);
    if (watched->idle || watched->events == events)
        return 0;
    struct epoll_event event = {.events = events, .data.fd = fd};
    int operation = watched->events == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(transfers->epoll, operation, fd, &event) != 0)
        return -1;
    watched->events = events;
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    lt_transfers *transfers = user;
    (void)multi;
    transfers->curl_due = timeout_ms < 0    ? MONO_NEVER
                          : timeout_ms == 0 ? NOW
                                            : clock_now() + timeout_ms * NS_PER_MS;
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static int descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1048576)
        return 1048576;
    return (int)limit.rlim_cur;
}

static bool watch(lt_transfers *transfers, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(transfers->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

lt_transfers *transfers_new(int handles_max)
{
    lt_transfers *transfers = calloc(1, sizeof(*transfers));
    if (!transfers)
        return NULL;
    transfers->curl_due = transfers->armed_for = MONO_NEVER;
    transfers->watched_room = descriptor_limit();
    transfers->watched = calloc((size_t)transfers->watched_room, sizeof(transfers->watched[0]));
    transfers->multi = curl_multi_init();
    transfers->epoll = epoll_create1(EPOLL_CLOEXEC);
    transfers->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    transfers->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!transfers->watched || !transfers->multi || transfers->epoll < 0 ||
        !watch(transfers, transfers->timer) || !watch(transfers, transfers->wake)) {
        transfers_free(transfers);
        return NULL;
    }
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(transfers->multi, CURLMOPT_SOCKETDATA, transfers);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(transfers->multi, CURLMOPT_TIMERDATA, transfers);
    curl_multi_setopt(transfers->multi, CURLMOPT_MAXCONNECTS, (long)handles_max);
    return transfers;
}

void transfers_free(lt_transfers *transfers)
{
    if (!transfers)
        return;
    curl_multi_cleanup(transfers->multi);
    close(transfers->epoll);
    close(transfers->timer);
    close(transfers->wake);
    free(transfers->watched);
    free(transfers);
}

/* ---- transfers ----------------------------------------------------------------------------------
 */

void transfers_start(lt_transfers *transfers, CURL *easy)
{
    curl_multi_add_handle(transfers->multi, easy);
    transfers->handles++;
}

void transfers_abort(lt_transfers *transfers, CURL *easy)
{
    curl_multi_remove_handle(transfers->multi, easy);
    transfers->handles--;
}

/* epoll counts milliseconds, so a timer in the set wakes for what is due to the microsecond. */
static void arm_timer(lt_transfers *transfers, mono_ns when)
{
    if (when == transfers->armed_for)
        return;
    struct itimerspec at = {.it_value = clock_timespec(when)};
    timerfd_settime(transfers->timer, TFD_TIMER_ABSTIME, &at, NULL);
    transfers->armed_for = when;
}

static void drain(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static void on_event(lt_transfers *transfers, const struct epoll_event *event)
{
    int running, fd = event->data.fd, flags = 0;
    if (fd == transfers->timer || fd == transfers->wake) {
        if (fd == transfers->timer)
            transfers->armed_for = MONO_NEVER;
        drain(fd);
        return;
    }
    if (transfers->watched[fd].idle) {
        take_out(transfers, fd);
        return;
    }
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        flags |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT)
        flags |= CURL_CSELECT_OUT;
    curl_multi_socket_action(transfers->multi, fd, flags, &running);
}

/* How long to sleep; libcurl's own timeouts need no more than milliseconds. */
static int sleep_ms(lt_transfers *transfers, mono_ns until)
{
    mono_ns now = clock_now();
    mono_ns end = now + LOOK_MS * NS_PER_MS;
    if (transfers->curl_due < end)
        end = transfers->curl_due;
    if (end <= now || until <= now)
        return 0;
    if (until < end)
        arm_timer(transfers, until);
    return (int)((end - now + NS_PER_MS - 1) / NS_PER_MS);
}

void transfers_wait(lt_transfers *transfers, mono_ns until)
{
    struct epoll_event events[EVENTS_MAX];
    int running = transfers->handles;
    if (transfers->curl_due == NOW || transfers->curl_due <= clock_now()) {
        transfers->curl_due = MONO_NEVER;
        curl_multi_socket_action(transfers->multi, CURL_SOCKET_TIMEOUT, 0, &running);
    }
    /* An answer may arrive while its request is being sent; then epoll reports no event for it. */
    bool ended = running < transfers->handles;
    int count =
        epoll_wait(transfers->epoll, events, EVENTS_MAX, ended ? 0 : sleep_ms(transfers, until));
    for (int i = 0; i < count; i++)
        on_event(transfers, &events[i]);
}

CURL *transfers_done(lt_transfers *transfers, CURLcode *ret)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(transfers->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        *ret = message->data.result;
        transfers_abort(transfers, easy);
        return easy;
    }
    return NULL;
}

void transfers_wake(lt_transfers *transfers)
{
    uint64_t one = 1;
    while (write(transfers->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}
