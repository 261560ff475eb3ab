/*
 * server.c - accepts, reads, asks the service, and replies at the time that the script says.
 * One thread: so the log has one order, and a stall stops all of it at once, as it would a server.
 */
#include "tests/tools/stubserver/server.h"

#include "tests/tools/stubserver/request.h"
#include "tests/tools/stubserver/waiting.h"
#include "tests/tools/stubserver/wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#define BUFFER_MAX  8192
#define EVENTS_MAX  256
#define PORTS_MAX   64
#define TICKETS_MAX 65536
#define NS_PER_S    INT64_C(1000000000)
#define HANG_NS     (3600 * NS_PER_S) /* longer than any test */

/* What an epoll event points to. */
struct connection {
    int fd;
    bool listening, is_timer;
    int target;              /* which of the ports, from 1 */
    bool served;             /* counts among serve_connections */
    bool pending;            /* a delayed reply is on its way */
    struct connection *next; /* in the queue of those not served yet, or in the list of the dead */
    size_t length;
    char buffer[BUFFER_MAX];
};

struct server {
    const struct server_options *options;
    struct service *service;
    struct script *script;
    int epoll;
    struct connection listeners[PORTS_MAX];
    struct connection timer;
    struct waiting waiting;
    struct connection *queue_head, **queue_tail;
    struct connection *dead; /* closed, but perhaps still in this batch of events */
    int served;
    int64_t buys, first_buys; /* all; those of the load, each once */
    char run[64];             /* whose requests came last */
    bool seen[TICKETS_MAX];   /* by ticket */
    unsigned pages_dropped;
};

static volatile sig_atomic_t stopped;

static void on_signal(int signo)
{
    (void)signo;
    stopped = 1;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* ---- connections ----------------------------------------------------------------------------- */

static void watch(struct server *server, struct connection *connection)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(server->epoll, EPOLL_CTL_ADD, connection->fd, &event);
}

static void serve_queued(struct server *server)
{
    int limit = server->options->serve_connections;
    while (server->queue_head != NULL && (limit == 0 || server->served < limit)) {
        struct connection *connection = server->queue_head;
        server->queue_head = connection->next;
        if (server->queue_head == NULL)
            server->queue_tail = &server->queue_head;
        connection->served = true;
        server->served++;
        watch(server, connection);
    }
}

static void close_connection(struct server *server, struct connection *connection)
{
    waiting_forget(&server->waiting, connection);
    close(connection->fd);
    connection->fd = -1;
    server->served -= connection->served;
    connection->next = server->dead;
    server->dead = connection;
    serve_queued(server);
}

static void bury_dead(struct server *server)
{
    while (server->dead != NULL) {
        struct connection *connection = server->dead;
        server->dead = connection->next;
        free(connection);
    }
}

static void reset_connection(struct server *server, struct connection *connection)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(connection->fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close_connection(server, connection);
}

static void accept_all(struct server *server, const struct connection *listener)
{
    for (;;) {
        int fd = accept4(listener->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0)
            return;
        int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        struct connection *connection = calloc(1, sizeof(*connection));
        if (connection == NULL) {
            close(fd);
            continue;
        }
        connection->target = listener->target;
        connection->fd = fd;
        *server->queue_tail = connection;
        server->queue_tail = &connection->next;
        serve_queued(server);
    }
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Answers now and writes the buy down in the log. */
static bool answer(struct server *server, int fd, const struct service_request *request,
                   int64_t received)
{
    bool is_buy = strcmp(request->path, "/buy") == 0;
    struct service_reply reply = service_answer(server->service, request);
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    if (reply.reset)
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    bool good = !reply.reset && wire_send(fd, &reply, server->options->style);
    if (is_buy && server->options->log != NULL)
        fprintf(server->options->log, "%s,%" PRId64 ",%" PRId64 "\n", request->key, received,
                now_ns());
    return good;
}

static void arm_timer(struct server *server)
{
    int64_t due = waiting_next(&server->waiting);
    struct itimerspec when = {.it_value = {.tv_sec = due / NS_PER_S, .tv_nsec = due % NS_PER_S}};
    timerfd_settime(server->timer.fd, TFD_TIMER_ABSTIME, &when, NULL);
}

static void answer_due(struct server *server)
{
    uint64_t expirations;
    struct waiting_reply reply;
    if (read(server->timer.fd, &expirations, sizeof(expirations)) < 0 && errno != EAGAIN)
        return;
    while (waiting_pop(&server->waiting, now_ns(), &reply)) {
        struct connection *connection = reply.connection;
        connection->pending = false;
        if (!answer(server, connection->fd, &reply.request, reply.received))
            close_connection(server, connection);
    }
    arm_timer(server);
}

/* Whether a run's load asks for the first time with this key, RUN-TICKET: probes repeat, and others
 * of loadtest's requests have keys of another form. */
static bool is_first_of_load(struct server *server, const char *key)
{
    const char *ticket = strchr(key, '-');
    size_t run = ticket ? (size_t)(ticket - key) : sizeof(server->run);
    if (run >= sizeof(server->run) || ticket != strrchr(key, '-'))
        return false;
    if (strncmp(server->run, key, run) != 0 || server->run[run] != '\0') {
        snprintf(server->run, sizeof(server->run), "%.*s", (int)run, key);
        memset(server->seen, 0, sizeof(server->seen));
    }
    size_t number = strtoul(ticket + 1, NULL, 10) % TICKETS_MAX;
    bool first = !server->seen[number];
    server->seen[number] = true;
    return first;
}

/* Handles one request; false when the connection is gone. */
static bool handle(struct server *server, struct connection *connection,
                   const struct service_request *request)
{
    int64_t received = now_ns(), delay = 0;
    if (strcmp(request->path, "/orders") == 0 &&
        server->pages_dropped < server->options->drop_pages) {
        server->pages_dropped++;
        reset_connection(server, connection);
        return false;
    }
    if (strcmp(request->path, "/buy") == 0) {
        server->buys++;
        bool first = is_first_of_load(server, request->key);
        server->first_buys += first;
        if (first && server->script->reset_every > 0 &&
            server->first_buys % server->script->reset_every == 0) {
            reset_connection(server, connection);
            return false;
        }
        if (!strstr(request->key, "-old-")) /* of the sale before the one that is measured */
            delay = script_delay(server->script, server->buys);
        if (server->options->hang_last && connection->target == server->options->ports)
            delay = HANG_NS;
    }
    if (strcmp(request->path, "/orders") == 0)
        delay = server->options->page_delay_ns;
    if (delay > 0) {
        struct waiting_reply reply = {.due = received + delay,
                                      .received = received,
                                      .connection = connection,
                                      .request = *request};
        connection->pending = true;
        waiting_push(&server->waiting, &reply);
        arm_timer(server);
        return true;
    }
    if (answer(server, connection->fd, request, received))
        return true;
    close_connection(server, connection);
    return false;
}

static void read_connection(struct server *server, struct connection *connection)
{
    size_t room = sizeof(connection->buffer) - 1 - connection->length;
    ssize_t got = recv(connection->fd, connection->buffer + connection->length, room, 0);
    if (got < 0 && errno == EAGAIN)
        return;
    if (got <= 0) {
        close_connection(server, connection);
        return;
    }
    connection->length += (size_t)got;
    connection->buffer[connection->length] = '\0';
    struct service_request request;
    long whole;
    while ((whole = request_read(connection->buffer, connection->length, &request)) > 0) {
        request.target = connection->target;
        if (!handle(server, connection, &request))
            return;
        connection->length -= (size_t)whole;
        memmove(connection->buffer, connection->buffer + whole, connection->length);
    }
    if (whole < 0 || connection->length == sizeof(connection->buffer) - 1)
        close_connection(server, connection);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool listen_on(struct server *server, struct connection *listener)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    listener->listening = true;
    listener->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd < 0 || bind(listener->fd, (struct sockaddr *)&address, length) != 0 ||
        listen(listener->fd, 16384) != 0 ||
        getsockname(listener->fd, (struct sockaddr *)&address, &length) != 0)
        return false;
    watch(server, listener);
    printf("stubserver listening on 127.0.0.1:%d\n", ntohs(address.sin_port));
    fflush(stdout);
    return true;
}

static void dispatch(struct server *server, struct connection *connection)
{
    if (connection->fd < 0)
        return;
    if (connection->listening)
        accept_all(server, connection);
    else if (connection->is_timer)
        answer_due(server);
    else
        read_connection(server, connection);
}

static void loop(struct server *server)
{
    struct epoll_event events[EVENTS_MAX];
    while (!stopped) {
        int count = epoll_wait(server->epoll, events, EVENTS_MAX, 100);
        script_maybe_stall(server->script, now_ns(), server->first_buys > 0);
        for (int i = 0; i < count; i++)
            dispatch(server, events[i].data.ptr);
        bury_dead(server);
    }
}

int server_run(const struct server_options *options, struct service *service, struct script *script)
{
    struct server *server = calloc(1, sizeof(*server));
    struct sigaction action = {.sa_handler = on_signal};
    if (server == NULL)
        return 1;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    server->options = options;
    server->service = service;
    server->script = script;
    server->queue_tail = &server->queue_head;
    server->epoll = epoll_create1(EPOLL_CLOEXEC);
    server->timer.fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    server->timer.is_timer = true;
    watch(server, &server->timer);
    for (int i = 0; i < options->ports; i++) {
        server->listeners[i].target = i + 1;
        if (!listen_on(server, &server->listeners[i])) {
            perror("stubserver: listen");
            free(server);
            return 1;
        }
    }
    loop(server);
    waiting_clear(&server->waiting);
    free(server);
    return 0;
}
