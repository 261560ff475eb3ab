/* Sentinels that are the tests' own, each a thread: they say what a test has them say. The servers
 * that they name are real. */
#ifndef TESTS_LOCK_REDIS_FAKE_SENTINELS_H
#define TESTS_LOCK_REDIS_FAKE_SENTINELS_H

#include "tests/lock/rig.h"
#include "tests/support/topology.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lock/redis/conn.h"

#define SECRET "s3cret-of-all"

enum { SENTINELS = 4, CLIENTS_MAX = 32, SOON_MS = 20000, TEXT_LEN = 700 };

/* ---- a sentinel ------------------------------------------------------------------------------ */

/* What it says. */
typedef struct story {
    const char *raw;  /* to every question, instead of the rest; "" = nothing at all */
    const char *host; /* NULL = 127.0.0.1 */
    int port;         /* of the master; 0 = knows no such master */
    int epoch;
    const char *id; /* NULL = "id" and its number */
    int tells_of[SENTINELS], tells_of_len;
    const char *flags;   /* of the master; NULL = it does not say more of it than the epoch */
    int down_ms;         /* the master's s-down-time; 0 = it does not say so */
    const char *replica; /* "FLAGS PRIORITY LINK_DOWN_MS S_DOWN_MS" of one at port 7, the last one
                            may be missing; NULL = it lists none */
    bool gone;           /* closes every connection */
} story;

typedef struct fake {
    int number, listener, port;
    pthread_t thread;
    atomic_int clients[CLIENTS_MAX];
    atomic_bool subscribed[CLIENTS_MAX];
    atomic_int clients_len;
    atomic_int questions, connections;
    atomic_bool stop;
} fake;

static fake fakes[SENTINELS];
static story stories[SENTINELS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the stories */
static fx_redis *servers[3]; /* a master, another master, and the first one's replica */

static inline const char *id_of(int number, char *buf, size_t len)
{
    snprintf(buf, len, "id%d", number);
    return stories[number].id ? stories[number].id : buf;
}

static inline int bulk(char *to, size_t len, const char *text)
{
    return snprintf(to, len, "$%zu\r\n%s\r\n", strlen(text), text);
}

static inline int bulk_int(char *to, size_t len, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    return bulk(to, len, text);
}

static inline void say_others(const story *s, char *to, size_t len)
{
    int n = snprintf(to, len, "*%d\r\n", s->tells_of_len);
    for (int i = 0; i < s->tells_of_len; i++) {
        char id[16];
        n += snprintf(to + n, len - (size_t)n,
                      "*6\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n");
        n += bulk_int(to + n, len - (size_t)n, fakes[s->tells_of[i]].port);
        n += snprintf(to + n, len - (size_t)n, "$5\r\nrunid\r\n");
        n += bulk(to + n, len - (size_t)n, id_of(s->tells_of[i], id, sizeof(id)));
    }
}

static inline void say_master(const story *s, char *to, size_t len)
{
    int words = !s->flags ? 2 : s->down_ms > 0 ? 10 : 8;
    int n = snprintf(to, len, "*%d\r\n$12\r\nconfig-epoch\r\n", words);
    n += bulk_int(to + n, len - (size_t)n, s->epoch);
    if (!s->flags)
        return;
    n += snprintf(to + n, len - (size_t)n,
                  "$19\r\nnum-other-sentinels\r\n$1\r\n2\r\n"
                  "$23\r\ndown-after-milliseconds\r\n$4\r\n1000\r\n$5\r\nflags\r\n");
    n += bulk(to + n, len - (size_t)n, s->flags);
    if (s->down_ms == 0)
        return;
    n += snprintf(to + n, len - (size_t)n, "$11\r\ns-down-time\r\n");
    bulk_int(to + n, len - (size_t)n, s->down_ms);
}

static inline void say_replicas(const story *s, char *to, size_t len)
{
    static const char *const names[] = {"flags", "slave-priority", "master-link-down-time",
                                        "s-down-time"};
    int count = 1;
    for (const char *at = s->replica; *at; at++)
        count += *at == ' ';
    const char *word = s->replica;
    int n =
        snprintf(to, len, "*1\r\n*%d\r\n$2\r\nip\r\n$9\r\n127.0.0.1\r\n$4\r\nport\r\n$1\r\n7\r\n",
                 4 + 2 * count);
    for (int i = 0; i < count; i++, word += strcspn(word, " "), word += *word == ' ') {
        char value[32];
        snprintf(value, sizeof(value), "%.*s", (int)strcspn(word, " "), word);
        n += bulk(to + n, len - (size_t)n, names[i]);
        n += bulk(to + n, len - (size_t)n, value);
    }
}

/* What it answers to a question. */
static inline void say(const fake *f, const char *question, char *to, size_t len)
{
    const story *s = &stories[f->number];
    char id[16];
    to[0] = '\0';
    if (s->raw)
        snprintf(to, len, "%s", s->raw);
    else if (strstr(question, "SUBSCRIBE"))
        snprintf(to, len, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n:1\r\n");
    else if (strstr(question, "MYID"))
        bulk(to, len, id_of(f->number, id, sizeof(id)));
    else if (strstr(question, "SENTINELS"))
        say_others(s, to, len);
    else if (strstr(question, "GET-MASTER-ADDR") && s->port == 0)
        snprintf(to, len, "*-1\r\n");
    else if (strstr(question, "GET-MASTER-ADDR")) {
        int n = snprintf(to, len, "*2\r\n");
        n += bulk(to + n, len - (size_t)n, s->host ? s->host : "127.0.0.1");
        bulk_int(to + n, len - (size_t)n, s->port);
    } else if (strstr(question, "REPLICAS") && s->replica)
        say_replicas(s, to, len);
    else if (strstr(question, "REPLICAS"))
        snprintf(to, len, "*0\r\n");
    else
        say_master(s, to, len);
}

static inline void drop_client(fake *f, int i)
{
    close(f->clients[i]);
    f->clients[i] = f->clients[--f->clients_len];
    f->subscribed[i] = f->subscribed[f->clients_len];
}

static inline void answer(fake *f, int i)
{
    char question[1024], text[TEXT_LEN];
    ssize_t got = recv(f->clients[i], question, sizeof(question) - 1, 0);
    pthread_mutex_lock(&lock);
    bool gone = stories[f->number].gone;
    question[got > 0 ? got : 0] = '\0';
    say(f, question, text, sizeof(text));
    pthread_mutex_unlock(&lock);
    atomic_fetch_add(&f->questions, 1);
    f->subscribed[i] = f->subscribed[i] || strstr(question, "SUBSCRIBE");
    if (got <= 0 || gone ||
        send(f->clients[i], text, strlen(text), MSG_NOSIGNAL) != (ssize_t)strlen(text))
        drop_client(f, i);
}

static inline void *serve(void *arg)
{
    fake *f = arg;
    while (!atomic_load(&f->stop)) {
        struct pollfd fds[CLIENTS_MAX + 1] = {{.fd = f->listener, .events = POLLIN}};
        int polled = f->clients_len;
        for (int i = 0; i < polled; i++)
            fds[i + 1] = (struct pollfd){.fd = f->clients[i], .events = POLLIN};
        poll(fds, (nfds_t)polled + 1, 20);
        for (int i = polled - 1; i >= 0; i--)
            if (fds[i + 1].revents)
                answer(f, i);
        if (fds[0].revents && f->clients_len < CLIENTS_MAX) {
            f->subscribed[f->clients_len] = false;
            f->clients[f->clients_len++] = accept4(f->listener, NULL, NULL, SOCK_CLOEXEC);
            atomic_fetch_add(&f->connections, 1);
        }
    }
    while (f->clients_len > 0)
        drop_client(f, 0);
    return NULL;
}

static inline void start_fake(int number)
{
    fake *f = &fakes[number];
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    f->number = number;
    f->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(f->listener, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(f->listener, CLIENTS_MAX), 0);
    assert_int_equal(getsockname(f->listener, (struct sockaddr *)&at, &len), 0);
    f->port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&f->thread, NULL, serve, f), 0);
}

static inline void tell(int number, story s)
{
    pthread_mutex_lock(&lock);
    stories[number] = s;
    pthread_mutex_unlock(&lock);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static inline int port_of(int server)
{
    return fx_redis_port(servers[server]);
}

/* A client of the first `count` sentinels. */
static inline dlock_redis *open_first(int count)
{
    char url[256];
    int n = snprintf(url, sizeof(url), "redis+sentinel://");
    for (int i = 0; i < count; i++)
        n += snprintf(url + n, sizeof(url) - (size_t)n, "%s127.0.0.1:%d", i ? "," : "",
                      fakes[i].port);
    snprintf(url + n, sizeof(url) - (size_t)n, "/mymaster?sentinel_password=" SECRET);
    return rig_redis(url);
}

/* The number of the server that a question goes to; -1: it was not answered. */
static inline int asked_server(dlock_redis *redis, int ms)
{
    redisReply *reply = NULL;
    int server = -1;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "GET");
    dlock_args_text(&args, "who");
    if (dlock_redis_command(redis, "who", &args, dlock_in_ms(ms), &reply) == DLOCK_REDIS_OK)
        server = reply->type == REDIS_REPLY_STRING ? (int)strtol(reply->str, NULL, 10) : -1;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return server;
}

/* Fails unless the client's questions go to this server. */
static inline void assert_leads_to(dlock_redis *redis, int server)
{
    char error[512];
    int is = asked_server(redis, 5000);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (is != server)
        fail_msg("leads to %d, not to %d: %s", is, server, error);
}

typedef struct hope {
    dlock_redis *redis;
    int server;
} hope;

static inline bool leads_to(void *arg)
{
    const hope *h = arg;
    return asked_server(h->redis, 200) == h->server;
}

static inline bool soon_leads_to(dlock_redis *redis, int server)
{
    return fx_wait_until(leads_to, &(hope){redis, server}, SOON_MS);
}

/* Fails unless a question is not sent, and the reason has these words, and no password. */
static inline void assert_fails(dlock_redis *redis, const char *words)
{
    char error[512];
    int is = asked_server(redis, 5000);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (is != -1 || !strstr(error, words) || strstr(error, SECRET))
        fail_msg("leads to %d: %s", is, error);
}

static inline bool fake_is_left(void *arg)
{
    const fake *f = arg;
    return f->clients_len == 0;
}

static inline int setup_all(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        servers[i] = fx_redis_start_single(NULL);
        fx_redis_do(servers[i], "SET who %d", i);
    }
    fx_redis_do(servers[2], "REPLICAOF 127.0.0.1 %d", port_of(0));
    for (int i = 0; i < SENTINELS; i++)
        start_fake(i);
    return 0;
}

static inline int teardown_all(void **state)
{
    (void)state;
    for (int i = 0; i < SENTINELS; i++) {
        atomic_store(&fakes[i].stop, true);
        pthread_join(fakes[i].thread, NULL);
        close(fakes[i].listener);
    }
    for (int i = 0; i < 3; i++)
        fx_redis_stop(servers[i]);
    return 0;
}

/* All tell the truth: server 0 is the master. */
static inline int setup(void **state)
{
    (void)state;
    for (int i = 0; i < SENTINELS; i++) {
        fx_wait_until(fake_is_left, &fakes[i], 2000); /* unless a failed case left it open */
        tell(i, (story){.port = port_of(0), .epoch = 3});
        atomic_store(&fakes[i].connections, 0);
        atomic_store(&fakes[i].questions, 0);
    }
    return 0;
}

#endif
