/*
 * Sentinels that lie, are out of date, silent or no sentinels at all. They are the test's own, each
 * a thread; the servers that they name are real.
 */
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
    bool gone; /* closes every connection */
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

static const char *id_of(int number, char *buf, size_t len)
{
    snprintf(buf, len, "id%d", number);
    return stories[number].id ? stories[number].id : buf;
}

static int bulk(char *to, size_t len, const char *text)
{
    return snprintf(to, len, "$%zu\r\n%s\r\n", strlen(text), text);
}

static int bulk_int(char *to, size_t len, int number)
{
    char text[16];
    snprintf(text, sizeof(text), "%d", number);
    return bulk(to, len, text);
}

static void say_others(const story *s, char *to, size_t len)
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

/* What it answers to a question. */
static void say(const fake *f, const char *question, char *to, size_t len)
{
    const story *s = &stories[f->number];
    char id[16];
    int n = 0;
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
        n = snprintf(to, len, "*2\r\n");
        n += bulk(to + n, len - (size_t)n, s->host ? s->host : "127.0.0.1");
        bulk_int(to + n, len - (size_t)n, s->port);
    } else {
        n = snprintf(to, len, "*2\r\n$12\r\nconfig-epoch\r\n");
        bulk_int(to + n, len - (size_t)n, s->epoch);
    }
}

static void drop_client(fake *f, int i)
{
    close(f->clients[i]);
    f->clients[i] = f->clients[--f->clients_len];
    f->subscribed[i] = f->subscribed[f->clients_len];
}

static void answer(fake *f, int i)
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

static void *serve(void *arg)
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

static void start_fake(int number)
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

static void tell(int number, story s)
{
    pthread_mutex_lock(&lock);
    stories[number] = s;
    pthread_mutex_unlock(&lock);
}

/* ---- helpers --------------------------------------------------------------------------------- */

static int port_of(int server)
{
    return fx_redis_port(servers[server]);
}

/* A client of the first `count` sentinels. */
static dlock_redis *open_first(int count)
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
static int asked_server(dlock_redis *redis, int ms)
{
    redisReply *reply = NULL;
    int server = -1;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "GET");
    dlock_args_text(&args, "who");
    if (dlock_redis_command(redis, "who", &args, dlock_in_ms(ms), &reply) == DLOCK_REDIS_OK)
        server = reply->type == REDIS_REPLY_STRING ? (int)strtol(reply->str, NULL, 10) : -1;
    if (reply)
        freeReplyObject(reply);
    dlock_args_free(&args);
    return server;
}

/* Fails unless the client's questions go to this server. */
static void assert_leads_to(dlock_redis *redis, int server)
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

static bool leads_to(void *arg)
{
    const hope *h = arg;
    return asked_server(h->redis, 200) == h->server;
}

static bool soon_leads_to(dlock_redis *redis, int server)
{
    return fx_wait_until(leads_to, &(hope){redis, server}, SOON_MS);
}

/* Fails unless a question is not sent, and the reason has these words, and no password. */
static void assert_fails(dlock_redis *redis, const char *words)
{
    char error[512];
    int is = asked_server(redis, 5000);
    dlock_redis_last_error(redis, error, sizeof(error));
    if (is != -1 || !strstr(error, words) || strstr(error, SECRET))
        fail_msg("leads to %d: %s", is, error);
}

static bool fake_is_left(void *arg)
{
    const fake *f = arg;
    return f->clients_len == 0;
}

static int setup_all(void **state)
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

static int teardown_all(void **state)
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
static int setup(void **state)
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

/* ---- lies ------------------------------------------------------------------------------------ */

static void a_liar_is_outvoted_whatever_its_epoch(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1000});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

static void one_sentinel_has_one_vote(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1, .id = "same"});
    tell(1, (story){.port = port_of(1), .epoch = 1, .id = "same"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

/* The id of another, which is in everybody's list, takes that one's vote from nobody. */
static void a_liar_takes_no_vote_from_another(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(1), .epoch = 1000, .id = "id1"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

static void of_two_equals_the_later_failover_counts(void **state)
{
    (void)state;
    tell(1, (story){.port = port_of(1), .epoch = 4});
    dlock_redis *redis = open_first(2);
    assert_leads_to(redis, 1);
    dlock_redis_close(redis);
}

/* Nobody knows one, none is there, or it has become a replica and they do not agree on the new one
 * as yet. */
static void without_a_master_the_reason_is_told(void **state)
{
    (void)state;
    const struct {
        int port;
        const char *why;
    } table[] = {
        {0, "the sentinels know no master called 'mymaster'"},
        {1, "127.0.0.1:1, which the sentinels name as master: can not connect to Redis: "},
        {port_of(2), "which the sentinels name as master, is none"},
    };
    for (size_t k = 0; k < sizeof(table) / sizeof(table[0]); k++) {
        for (int i = 0; i < 3; i++)
            tell(i, (story){.port = table[k].port, .epoch = 4});
        dlock_redis *redis = open_first(3);
        assert_fails(redis, table[k].why);
        for (int i = k ? 0 : 2; i < 3; i++) /* SENTINEL MONITOR, so far on one of them */
            tell(i, (story){.port = port_of(0), .epoch = 5});
        assert_true(soon_leads_to(redis, 0));
        dlock_redis_close(redis);
    }
}

/* Several looks, of which the sentinel with this number is asked. */
static void doubt_often(dlock_redis *redis, int sentinel)
{
    int before = atomic_load(&fakes[sentinel].questions);
    for (int i = 0; i < 20 || atomic_load(&fakes[sentinel].questions) < before + 8; i++) {
        dlock_topology_doubt(redis->topology);
        assert_leads_to(redis, 0);
    }
}

/* The others are gone; this one was cut off before the last failover. */
static void a_minority_leads_forward_but_not_back(void **state)
{
    (void)state;
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    tell(0, (story){.gone = true});
    tell(1, (story){.gone = true});
    tell(2, (story){.port = port_of(1), .epoch = 2});
    doubt_often(redis, 2);
    tell(2, (story){.port = port_of(1), .epoch = 4});
    dlock_topology_doubt(redis->topology);
    assert_true(soon_leads_to(redis, 1));
    dlock_redis_close(redis);
}

/* ---- silence and nonsense -------------------------------------------------------------------- */

/* A silent one that were waited for would cost its whole limit, 1,000 ms. */
static void a_silent_sentinel_costs_little(void **state)
{
    (void)state;
    int64_t best_ms = INT64_MAX;
    tell(0, (story){.raw = ""});
    for (int i = 0; i < 5 && best_ms > 600; i++) {
        dlock_time start = dlock_now();
        dlock_redis *redis = open_first(3);
        assert_leads_to(redis, 0);
        int64_t took_ms = (dlock_now().us - start.us) / 1000;
        best_ms = took_ms < best_ms ? took_ms : best_ms;
        dlock_redis_close(redis);
    }
    print_message("with a silent sentinel: %d ms\n", (int)best_ms);
    assert_true(best_ms <= 600);
}

/* What was asked must have been given up, also by the threads, when close returns. */
static void silent_sentinels_do_not_hold_up_the_end(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        tell(i, (story){.raw = ""});
    dlock_redis *redis = open_first(3);
    assert_fails(redis, "no sentinel answers");
    dlock_time start = dlock_now();
    dlock_redis_close(redis);
    int took_ms = (int)((dlock_now().us - start.us) / 1000);
    print_message("closed after %d ms\n", took_ms);
    assert_true(took_ms < 5000);
}

static void nonsense_is_no_answer(void **state)
{
    (void)state;
    static const char no_sentinel[] =
        "-ERR unknown command 'AUTH', with args beginning with: '" SECRET "'\r\n";
    static char long_host[400];
    memset(long_host, 'h', sizeof(long_host) - 1);
    const char *const raws[] = {
        "+OK\r\n",
        ":1\r\n",
        "*0\r\n",
        "*1\r\n$9\r\n127.0.0.1\r\n",
        "*2\r\n:1\r\n:2\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$3\r\nabc\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$5\r\n65536\r\n",
        "*2\r\n$9\r\n127.0.0.1\r\n$2\r\n-1\r\n",
        "*2\r\n$0\r\n\r\n$4\r\n6379\r\n",
        "*2\r\n*0\r\n*0\r\n",
        "*2\r\n$-1\r\n$-1\r\n",
        "*3\r\n$1\r\na\r\n$1\r\n1\r\n$1\r\n2\r\n",
        no_sentinel,
        "-NOAUTH Authentication required.\r\n",
        "HTTP/1.1 400 Bad Request\r\n\r\n",
        "$99999999999\r\n",
    };
    for (size_t i = 0; i < sizeof(raws) / sizeof(raws[0]); i++) {
        for (int k = 0; k < 3; k++)
            tell(k, (story){.raw = raws[i]});
        dlock_redis *redis = open_first(3);
        assert_fails(redis, "no sentinel answers: 127.0.0.1:");
        tell(1, (story){.port = port_of(0)}); /* one is well again */
        assert_true(soon_leads_to(redis, 0));
        dlock_redis_close(redis);
    }
    for (int k = 0; k < 3; k++)
        tell(k, (story){.host = long_host, .port = 1});
    dlock_redis *redis = open_first(3);
    assert_fails(redis, "no sentinel answers: 127.0.0.1:");
    dlock_redis_close(redis);
}

static void a_master_may_be_named_by_a_host_name(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        tell(i, (story){.host = "localhost", .port = port_of(0)});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    dlock_redis_close(redis);
}

/* ---- news, and further sentinels ------------------------------------------------------------- */

static bool is_watched(void *arg)
{
    const fake *f = arg;
    bool any = false;
    for (int i = 0; i < f->clients_len; i++)
        any = any || f->subscribed[i];
    return any;
}

static void announce(int number)
{
    static const char message[] = "*3\r\n$7\r\nmessage\r\n$14\r\n+switch-master\r\n$3\r\nyes\r\n";
    const fake *f = &fakes[number];
    for (int i = 0; i < f->clients_len; i++)
        if (f->subscribed[i])
            assert_true(send(f->clients[i], message, strlen(message), MSG_NOSIGNAL) > 0);
}

static void assert_news_lead_to(dlock_redis *redis, int server)
{
    assert_true(fx_wait_until(is_watched, &fakes[1], SOON_MS));
    for (int i = 0; i < SENTINELS; i++)
        if (!stories[i].gone)
            tell(i, (story){.port = port_of(server), .epoch = 9});
    dlock_time start = dlock_now();
    announce(1);
    assert_true(soon_leads_to(redis, server));
    print_message("followed after %d ms\n", (int)((dlock_now().us - start.us) / 1000));
}

/* Without the message a look would follow after 5 s; so one of three switches must be sooner. */
static void a_message_is_followed_at_once(void **state)
{
    (void)state;
    bool soon = false;
    for (int i = 0; i < 3 && !soon; i++) {
        for (int k = 0; k < SENTINELS; k++)
            tell(k, (story){.port = port_of(0), .epoch = 3});
        dlock_redis *redis = open_first(3);
        assert_leads_to(redis, 0);
        dlock_time start = dlock_now();
        assert_news_lead_to(redis, 1);
        soon = dlock_now().us - start.us < 2000000;
        dlock_redis_close(redis);
    }
    assert_true(soon);
}

/* The URL names one, which dies; the others are known from it. */
static void further_sentinels_are_learned(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .tells_of = {1, 2}, .tells_of_len = 2});
    dlock_redis *redis = open_first(1);
    assert_leads_to(redis, 0);
    assert_true(fx_wait_until(is_watched, &fakes[1], SOON_MS));
    assert_true(fx_wait_until(is_watched, &fakes[2], SOON_MS));
    tell(0, (story){.gone = true});
    assert_news_lead_to(redis, 1);
    dlock_redis_close(redis);
}

/* Nor while the others of the URL are down. */
static void what_one_of_three_tells_of_is_no_sentinel(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .epoch = 3, .tells_of = {1, 2, 3}, .tells_of_len = 3});
    for (int alone = 0; alone < 2; alone++) {
        for (int i = 1; i < 3 && alone; i++)
            tell(i, (story){.gone = true});
        dlock_redis *redis = open_first(3);
        doubt_often(redis, 0);
        assert_int_equal(atomic_load(&fakes[3].connections), 0);
        dlock_redis_close(redis);
    }
}

/* Two in the URL are one and the same, known by the name that it was found under. */
static void a_sentinel_is_watched_once(void **state)
{
    (void)state;
    tell(0, (story){.port = port_of(0), .tells_of = {3}, .tells_of_len = 1});
    tell(1, (story){.port = port_of(0), .tells_of = {3}, .tells_of_len = 1});
    tell(2, (story){.port = port_of(0), .id = "id3"});
    dlock_redis *redis = open_first(3);
    assert_leads_to(redis, 0);
    doubt_often(redis, 2);
    assert_int_equal(atomic_load(&fakes[3].connections), 0);
    dlock_redis_close(redis);
}

/* A look asks a sentinel four questions, and 20 ms lie between two. */
static void doubts_have_a_pace(void **state)
{
    (void)state;
    dlock_redis *redis = open_first(1);
    assert_leads_to(redis, 0);
    int before = atomic_load(&fakes[0].questions);
    dlock_time start = dlock_now();
    while (!dlock_passed((dlock_time){start.us + 1000000}))
        dlock_topology_doubt(redis->topology);
    int asked = atomic_load(&fakes[0].questions) - before;
    assert_in_range(asked, 4, 4 * ((dlock_now().us - start.us) / 20000 + 2));
    dlock_redis_close(redis);
}

#define CASE(name) cmocka_unit_test_setup(name, setup)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(a_liar_is_outvoted_whatever_its_epoch),
        CASE(one_sentinel_has_one_vote),
        CASE(a_liar_takes_no_vote_from_another),
        CASE(of_two_equals_the_later_failover_counts),
        CASE(without_a_master_the_reason_is_told),
        CASE(a_minority_leads_forward_but_not_back),
        CASE(a_silent_sentinel_costs_little),
        CASE(silent_sentinels_do_not_hold_up_the_end),
        CASE(nonsense_is_no_answer),
        CASE(a_master_may_be_named_by_a_host_name),
        CASE(a_message_is_followed_at_once),
        CASE(further_sentinels_are_learned),
        CASE(what_one_of_three_tells_of_is_no_sentinel),
        CASE(a_sentinel_is_watched_once),
        CASE(doubts_have_a_pace),
    };
    return cmocka_run_group_tests_name("sentinel_lies", tests, setup_all, teardown_all);
}
