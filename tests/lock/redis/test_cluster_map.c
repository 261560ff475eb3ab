/* Whose map of a cluster is taken. The nodes are the test's own: threads that answer CLUSTER INFO
 * and CLUSTER SLOTS, and tell of one server that has every slot. */
#include "tests/lock/rig.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lock/redis/conn.h"

enum { NODES = 2, CLIENTS_MAX = 8, SOON_MS = 20000 };

typedef struct node {
    int listener, port;
    pthread_t thread;
    atomic_int epoch, other; /* other: the id and the server are another cluster's */
    atomic_int questions;
    atomic_bool gone;           /* closes every connection */
    atomic_bool no_ids;         /* tells hosts and ports only, as old servers do */
    const char *_Atomic ranges; /* told instead of all this, as RESP */
} node;

static node nodes[NODES];
static atomic_bool stop;

static void answer(node *n, int fd)
{
    char question[1024], info[128], text[512], ids[2][16] = {"", ""};
    ssize_t got = recv(fd, question, sizeof(question) - 1, 0);
    question[got > 0 ? got : 0] = '\0';
    int other = atomic_load(&n->other), port = other ? 2 : 1, words = 2;
    for (int i = 0; i < 2 && !atomic_load(&n->no_ids); i++) {
        snprintf(ids[i], sizeof(ids[i]), "$2\r\n%c%d\r\n", "xy"[i], other);
        words = 3;
    }
    snprintf(info, sizeof(info), "cluster_state:ok\r\ncluster_current_epoch:%d\r\n",
             atomic_load(&n->epoch));
    int len = snprintf(text, sizeof(text),
                       "$%zu\r\n%s\r\n*1\r\n*4\r\n:0\r\n:16383\r\n*%d\r\n$9\r\n127.0.0.1\r\n:%d\r\n"
                       "%s*%d\r\n$9\r\n127.0.0.1\r\n:%d\r\n%s",
                       strlen(info), info, words, port, ids[0], words, nodes[1].port, ids[1]);
    const char *ranges = atomic_load(&n->ranges);
    if (ranges)
        len = snprintf(text, sizeof(text), "$%zu\r\n%s\r\n%s", strlen(info), info, ranges);
    if (strstr(question, "SLOTS"))
        atomic_fetch_add(&n->questions, 1);
    if (got <= 0 || atomic_load(&n->gone) || !strstr(question, "SLOTS") ||
        send(fd, text, (size_t)len, MSG_NOSIGNAL) != len)
        shutdown(fd, SHUT_RDWR);
}

static void *serve(void *arg)
{
    node *n = arg;
    struct pollfd fds[CLIENTS_MAX + 1] = {{.fd = n->listener, .events = POLLIN}};
    int len = 1;
    while (!atomic_load(&stop)) {
        poll(fds, (nfds_t)len, 20);
        for (int i = len - 1; i > 0; i--) {
            char byte;
            if (!fds[i].revents)
                continue;
            if (recv(fds[i].fd, &byte, 1, MSG_PEEK) > 0) {
                answer(n, fds[i].fd);
                continue;
            }
            close(fds[i].fd);
            fds[i] = fds[--len];
        }
        if (fds[0].revents && len <= CLIENTS_MAX)
            fds[len++] = (struct pollfd){.fd = accept4(n->listener, NULL, NULL, SOCK_CLOEXEC),
                                         .events = POLLIN};
    }
    while (--len > 0)
        close(fds[len].fd);
    return NULL;
}

static int setup(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++) {
        node *n = &nodes[i];
        struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t len = sizeof(at);
        n->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        assert_int_equal(bind(n->listener, (struct sockaddr *)&at, len), 0);
        assert_int_equal(listen(n->listener, CLIENTS_MAX), 0);
        assert_int_equal(getsockname(n->listener, (struct sockaddr *)&at, &len), 0);
        n->port = ntohs(at.sin_port);
    }
    for (int i = 0; i < NODES; i++)
        assert_int_equal(pthread_create(&nodes[i].thread, NULL, serve, &nodes[i]), 0);
    return 0;
}

static int all_well(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++) {
        atomic_store(&nodes[i].epoch, 0);
        atomic_store(&nodes[i].other, 0);
        atomic_store(&nodes[i].questions, 0);
        atomic_store(&nodes[i].gone, false);
        atomic_store(&nodes[i].no_ids, false);
        atomic_store(&nodes[i].ranges, NULL);
    }
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    atomic_store(&stop, true);
    for (int i = 0; i < NODES; i++) {
        pthread_join(nodes[i].thread, NULL);
        close(nodes[i].listener);
    }
    return 0;
}

/* The port that the key's server is said to be at; 0: none is known. */
static int leads_to(dlock_redis *redis)
{
    address_host at = {.port = 0};
    unsigned generation;
    int server = dlock_redis_server_of(redis, "k");
    if (server >= 0)
        dlock_topology_address(redis->topology, server, &at, &generation);
    return at.port;
}

static bool leads_somewhere(void *redis)
{
    return leads_to(redis) != 0;
}

static bool leads_elsewhere(void *redis)
{
    return leads_to(redis) == 2;
}

static bool was_asked(void *arg)
{
    (void)arg;
    return atomic_load(&nodes[1].questions) >= 5;
}

/* Node 0 dies, and node 1's address is another cluster's now. */
static dlock_redis *open_and_lose_one(void)
{
    char url[64];
    snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", nodes[0].port);
    dlock_redis *redis = rig_redis(url);
    assert_true(fx_wait_until(leads_somewhere, redis, SOON_MS));
    assert_int_equal(leads_to(redis), 1);
    atomic_store(&nodes[1].other, 1);
    atomic_store(&nodes[1].epoch, 1000);
    atomic_store(&nodes[0].gone, true);
    return redis;
}

static void a_node_of_another_cluster_leads_nowhere(void **state)
{
    (void)state;
    dlock_redis *redis = open_and_lose_one();
    assert_true(fx_wait_until(was_asked, NULL, SOON_MS));
    assert_int_equal(leads_to(redis), 1);
    dlock_redis_close(redis);
}

/* Nobody can tell another cluster's then. */
static void without_ids_whoever_answers_is_believed(void **state)
{
    (void)state;
    for (int i = 0; i < NODES; i++)
        atomic_store(&nodes[i].no_ids, true);
    dlock_redis *redis = open_and_lose_one();
    assert_true(fx_wait_until(leads_elsewhere, redis, SOON_MS));
    dlock_redis_close(redis);
}

static bool was_asked_again(void *arg)
{
    (void)arg;
    return atomic_load(&nodes[0].questions) >= 2;
}

#define HOST     "$9\r\n127.0.0.1\r\n"
#define ALL      "*1\r\n*3\r\n:0\r\n:16383\r\n"
#define AT(port) "*2\r\n" HOST ":" port "\r\n"

/* The slot of "k" is 7629. Port 0: no server has the key. */
static void what_is_told_of_slots_counts_as_far_as_it_can_be(void **state)
{
    (void)state;
    static const struct {
        const char *ranges;
        int port;
    } cases[] = {
        {ALL AT("1"), 1},
        {ALL AT("65535"), 65535},
        {ALL AT("65536"), 0},
        {ALL AT("0"), 0},
        {ALL AT("-1"), 0},
        {"*1\r\n*3\r\n:7629\r\n:7629\r\n" AT("5"), 5},
        {"*1\r\n*3\r\n:0\r\n:7628\r\n" AT("5"), 0},
        {"*1\r\n*3\r\n:7630\r\n:16383\r\n" AT("5"), 0},
        {"*1\r\n*3\r\n:7630\r\n:7628\r\n" AT("5"), 0},
        {"*1\r\n*3\r\n:-1\r\n:16383\r\n" AT("5"), 0},
        {"*1\r\n*3\r\n:0\r\n:16384\r\n" AT("5"), 0},
        {"*1\r\n*2\r\n:0\r\n:16383\r\n", 0},
        {"*1\r\n:7\r\n", 0},
        {"*1\r\n*3\r\n$1\r\n0\r\n:16383\r\n" AT("5"), 0},
        {"*1\r\n*3\r\n:0\r\n$5\r\n16383\r\n" AT("5"), 0},
        {"*2\r\n:7\r\n*3\r\n:0\r\n:16383\r\n" AT("6"), 6},
        {"*2\r\n*3\r\n:0\r\n:7628\r\n" AT("5") "*3\r\n:7629\r\n:16383\r\n" AT("6"), 6},
        {"*2\r\n*3\r\n:0\r\n:7629\r\n" AT("5") "*3\r\n:7630\r\n:16383\r\n" AT("6"), 5},
        {ALL "*2\r\n$0\r\n\r\n:7\r\n", 7},
        {ALL "*2\r\n$-1\r\n:7\r\n", 7},
        {ALL "*2\r\n$1\r\n?\r\n:7\r\n", 0},
        {ALL "*1\r\n" HOST, 0},
        {ALL "*2\r\n" HOST "$1\r\n7\r\n", 0},
        {ALL "$3\r\nabc\r\n", 0},
        {"*0\r\n", 0},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        char url[64];
        atomic_store(&nodes[0].ranges, cases[i].ranges);
        atomic_store(&nodes[0].questions, 0);
        snprintf(url, sizeof(url), "redis+cluster://127.0.0.1:%d", nodes[0].port);
        dlock_redis *redis = rig_redis(url);
        assert_true(
            fx_wait_until(cases[i].port ? leads_somewhere : was_asked_again, redis, SOON_MS));
        if (leads_to(redis) != cases[i].port)
            fail_msg("case %zu leads to %d", i, leads_to(redis));
        dlock_redis_close(redis);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_node_of_another_cluster_leads_nowhere, all_well),
        cmocka_unit_test_setup(what_is_told_of_slots_counts_as_far_as_it_can_be, all_well),
        cmocka_unit_test_setup(without_ids_whoever_answers_is_believed, all_well),
    };
    return cmocka_run_group_tests_name("cluster_map", tests, setup, teardown);
}
