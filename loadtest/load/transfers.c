/*
 * libcurl says which descriptors and which timeout it waits for; here they become an epoll set and
 * a timer descriptor. See transfers.h for why a descriptor is left in the set.
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
#define NEVER      INT64_MAX

struct lt_transfers {
    CURLM *multi;
    int epoll, timer, wake;
    mono_ns curl_due;  /* when libcurl wants to be called; NEVER: not */
    mono_ns armed_for; /* what the timer is set to; NEVER: not set */
    uint32_t *wanted;  /* by descriptor: its events in the epoll set, 0: not in it */
    int wanted_room;
};

/* ---- what libcurl asks for ------------------------------------------------------------------- */

static int on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    lt_transfers *transfers = user;
    (void)easy;
    (void)socket_user;
    if (what == CURL_POLL_REMOVE || fd >= transfers->wanted_room)
        return 0;
    uint32_t events =
        EPOLLET | ((what & CURL_POLL_IN) ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0u);
    /* Wanting to read only, while registered for more, costs nothing but a spare event. */
    if ((transfers->wanted[fd] & events) == events)
        return 0;
    struct epoll_event event = {.events = events, .data.fd = fd};
    int operation = transfers->wanted[fd] == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(transfers->epoll, operation, fd, &event) != 0)
        return -1;
    transfers->wanted[fd] = events;
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    lt_transfers *transfers = user;
    (void)multi;
    transfers->curl_due = timeout_ms < 0 ? NEVER : clock_now() + timeout_ms * NS_PER_MS;
    return 0;
}

void transfers_forget(lt_transfers *transfers, int fd)
{
    if (fd < transfers->wanted_room)
        transfers->wanted[fd] = 0; /* closing it takes it out of the epoll set */
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
    transfers->curl_due = transfers->armed_for = NEVER;
    transfers->wanted_room = descriptor_limit();
    transfers->wanted = calloc((size_t)transfers->wanted_room, sizeof(transfers->wanted[0]));
    transfers->multi = curl_multi_init();
    transfers->epoll = epoll_create1(EPOLL_CLOEXEC);
    transfers->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    transfers->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!transfers->wanted || !transfers->multi || transfers->epoll < 0 ||
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
    free(transfers->wanted);
    free(transfers);
}

/* ---- transfers ----------------------------------------------------------------------------------
 */

void transfers_start(lt_transfers *transfers, CURL *easy)
{
    curl_multi_add_handle(transfers->multi, easy);
}

void transfers_abort(lt_transfers *transfers, CURL *easy)
{
    curl_multi_remove_handle(transfers->multi, easy);
}

static void run_timeouts(lt_transfers *transfers)
{
    int running;
    if (transfers->curl_due > clock_now())
        return;
    transfers->curl_due = NEVER;
    curl_multi_socket_action(transfers->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* epoll counts in ms; a timer descriptor in the set makes it wake to the microsecond. */
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
            transfers->armed_for = NEVER;
        drain(fd);
        return;
    }
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        flags |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT)
        flags |= CURL_CSELECT_OUT;
    curl_multi_socket_action(transfers->multi, fd, flags, &running);
}

void transfers_wait(lt_transfers *transfers, mono_ns until)
{
    struct epoll_event events[EVENTS_MAX];
    run_timeouts(transfers);
    if (transfers->curl_due < until)
        until = transfers->curl_due;
    bool may_sleep = until > clock_now();
    if (may_sleep)
        arm_timer(transfers, until);
    int count = epoll_wait(transfers->epoll, events, EVENTS_MAX, may_sleep ? -1 : 0);
    for (int i = 0; i < count; i++)
        on_event(transfers, &events[i]);
    run_timeouts(transfers);
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
        curl_multi_remove_handle(transfers->multi, easy);
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
