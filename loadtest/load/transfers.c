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

struct flight {
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
    struct flight *flight = user;
    (void)easy;
    (void)socket_user;
    if (what == CURL_POLL_REMOVE || fd >= flight->wanted_room)
        return 0;
    uint32_t events =
        EPOLLET | ((what & CURL_POLL_IN) ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) ? EPOLLOUT : 0u);
    /* Wanting to read only, while registered for more, costs nothing but a spare event. */
    if ((flight->wanted[fd] & events) == events)
        return 0;
    struct epoll_event event = {.events = events, .data.fd = fd};
    int operation = flight->wanted[fd] == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD;
    if (epoll_ctl(flight->epoll, operation, fd, &event) != 0)
        return -1;
    flight->wanted[fd] = events;
    return 0;
}

static int on_timer(CURLM *multi, long timeout_ms, void *user)
{
    struct flight *flight = user;
    (void)multi;
    flight->curl_due = timeout_ms < 0 ? NEVER : clock_now() + timeout_ms * NS_PER_MS;
    return 0;
}

void flight_forget(struct flight *flight, int fd)
{
    if (fd < flight->wanted_room)
        flight->wanted[fd] = 0; /* closing it takes it out of the epoll set */
}

/* ---- life ------------------------------------------------------------------------------------ */

static int descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur > 1048576)
        return 1048576;
    return (int)limit.rlim_cur;
}

static bool watch(struct flight *flight, int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    return fd >= 0 && epoll_ctl(flight->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

struct flight *flight_new(int handles_max)
{
    struct flight *flight = calloc(1, sizeof(*flight));
    if (!flight)
        return NULL;
    flight->curl_due = flight->armed_for = NEVER;
    flight->wanted_room = descriptor_limit();
    flight->wanted = calloc((size_t)flight->wanted_room, sizeof(flight->wanted[0]));
    flight->multi = curl_multi_init();
    flight->epoll = epoll_create1(EPOLL_CLOEXEC);
    flight->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    flight->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (!flight->wanted || !flight->multi || flight->epoll < 0 || !watch(flight, flight->timer) ||
        !watch(flight, flight->wake)) {
        flight_free(flight);
        return NULL;
    }
    curl_multi_setopt(flight->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    curl_multi_setopt(flight->multi, CURLMOPT_SOCKETDATA, flight);
    curl_multi_setopt(flight->multi, CURLMOPT_TIMERFUNCTION, on_timer);
    curl_multi_setopt(flight->multi, CURLMOPT_TIMERDATA, flight);
    curl_multi_setopt(flight->multi, CURLMOPT_MAXCONNECTS, (long)handles_max);
    return flight;
}

void flight_free(struct flight *flight)
{
    if (!flight)
        return;
    curl_multi_cleanup(flight->multi);
    close(flight->epoll);
    close(flight->timer);
    close(flight->wake);
    free(flight->wanted);
    free(flight);
}

/* ---- flying ---------------------------------------------------------------------------------- */

void flight_start(struct flight *flight, CURL *easy)
{
    curl_multi_add_handle(flight->multi, easy);
}

void flight_abort(struct flight *flight, CURL *easy)
{
    curl_multi_remove_handle(flight->multi, easy);
}

static void run_timeouts(struct flight *flight)
{
    int running;
    if (flight->curl_due > clock_now())
        return;
    flight->curl_due = NEVER;
    curl_multi_socket_action(flight->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

/* epoll counts in ms; a timer descriptor in the set makes it wake to the microsecond. */
static void arm_timer(struct flight *flight, mono_ns when)
{
    if (when == flight->armed_for)
        return;
    struct itimerspec at = {.it_value = {.tv_sec = when / NS_PER_S, .tv_nsec = when % NS_PER_S}};
    timerfd_settime(flight->timer, TFD_TIMER_ABSTIME, &at, NULL);
    flight->armed_for = when;
}

static void drain(int fd)
{
    uint64_t count;
    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static void on_event(struct flight *flight, const struct epoll_event *event)
{
    int running, fd = event->data.fd, flags = 0;
    if (fd == flight->timer) {
        flight->armed_for = NEVER;
        drain(fd);
        return;
    }
    if (fd == flight->wake) {
        drain(fd);
        return;
    }
    if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        flags |= CURL_CSELECT_IN;
    if (event->events & EPOLLOUT)
        flags |= CURL_CSELECT_OUT;
    curl_multi_socket_action(flight->multi, fd, flags, &running);
}

void flight_wait(struct flight *flight, mono_ns until)
{
    struct epoll_event events[EVENTS_MAX];
    run_timeouts(flight);
    if (flight->curl_due < until)
        until = flight->curl_due;
    bool may_sleep = until > clock_now();
    if (may_sleep)
        arm_timer(flight, until);
    int count = epoll_wait(flight->epoll, events, EVENTS_MAX, may_sleep ? -1 : 0);
    for (int i = 0; i < count; i++)
        on_event(flight, &events[i]);
    run_timeouts(flight);
}

CURL *flight_landed(struct flight *flight, CURLcode *ret_code)
{
    int left;
    CURLMsg *message;
    while ((message = curl_multi_info_read(flight->multi, &left))) {
        if (message->msg != CURLMSG_DONE)
            continue;
        CURL *easy = message->easy_handle;
        *ret_code = message->data.result;
        curl_multi_remove_handle(flight->multi, easy);
        return easy;
    }
    return NULL;
}

void flight_wake(struct flight *flight)
{
    uint64_t one = 1;
    while (write(flight->wake, &one, sizeof(one)) < 0 && errno == EINTR)
        ;
}
