/*
 * test_client_socket.c - the socket under a connection: found by its client's end, looked at,
 * written to without waiting, and taken away.
 */
#include "tests/support/fixture.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/client_socket.h"

enum { PAIRS = 3, PATIENT_MS = 60000, MUCH = 32 << 20, FAR_AWAY = 3000 };

/* A connection within this program. */
typedef struct pair {
    int client, server;
    int client_port, server_port;
} pair;

static struct sockaddr_in address(int last, int port)
{
    return (struct sockaddr_in){.sin_family = AF_INET,
                                .sin_port = htons((in_port_t)port),
                                .sin_addr.s_addr = htonl(0x7f000000u + (unsigned)last)};
}

static int port_of(int fd)
{
    struct sockaddr_in own;
    socklen_t len = sizeof(own);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&own, &len), 0);
    return ntohs(own.sin_port);
}

static int new_socket(int last, int port)
{
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in own = address(last, port);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
    return fd;
}

/* From this port of 127.0.0.1 (0 = any) to the listener, by its address 127.0.0.`host`. */
static pair connect_pair(int listener, int from, int host)
{
    pair p = {.server_port = port_of(listener)};
    struct sockaddr_in to = address(host, p.server_port);
    p.client = new_socket(1, from);
    assert_int_equal(connect(p.client, (struct sockaddr *)&to, sizeof(to)), 0);
    p.server = accept(listener, NULL, NULL);
    assert_true(p.server >= 0);
    p.client_port = port_of(p.client);
    return p;
}

static int new_listener(void)
{
    struct sockaddr_in any = {.sin_family = AF_INET};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

static void close_pair(const pair *p)
{
    close(p->client);
    close(p->server);
}

static int find(const char *host, int port)
{
    client_sought sought;
    assert_true(client_sought_init(&sought, host, port));
    client_sockets_find(&sought, 1);
    return sought.fd;
}

static void a_socket_is_found_by_its_clients_end(void **state)
{
    (void)state;
    int listener = new_listener();
    pair p = connect_pair(listener, 0, 1);
    assert_int_equal(find("127.0.0.1", p.client_port), p.server);
    assert_int_equal(find("127.0.0.1", p.server_port), p.client);
    assert_true(find("127.0.0.3", p.client_port) < 0);
    assert_true(find("127.0.0.1", 1) < 0);
    assert_true(find("::ffff:127.0.0.1", p.client_port) < 0);
    close_pair(&p);
    close(listener);
}

static void a_client_has_an_address_in_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *host;
        int family; /* AF_UNSPEC: it is none */
    } hosts[] = {{"127.0.0.1", AF_INET},    {"::1", AF_INET6},        {"::ffff:1.2.3.4", AF_INET6},
                 {"fe80::1%lo", AF_INET6},  {"localhost", AF_UNSPEC}, {"", AF_UNSPEC},
                 {"1.2.3.4:80", AF_UNSPEC}, {"[::1]", AF_UNSPEC}};
    for (size_t i = 0; i < COUNT(hosts); i++) {
        client_sought sought;
        bool known = client_sought_init(&sought, hosts[i].host, 7000);
        if (known != (hosts[i].family != AF_UNSPEC) ||
            (known && sought.peer.ss_family != hosts[i].family))
            fail_msg("'%s'", hosts[i].host);
    }
}

/* Two connections from one port to two addresses of ours are both left alone, and the one that is
 * left when the other has ended is found. */
static void several_are_found_at_once(void **state)
{
    (void)state;
    int listener = new_listener();
    pair p[PAIRS];
    p[0] = connect_pair(listener, 0, 1);
    p[1] = connect_pair(listener, p[0].client_port, 2);
    p[2] = connect_pair(listener, 0, 1);
    for (int twins = 1; twins >= 0; twins--) {
        client_sought all[PAIRS];
        assert_true(client_sought_init(&all[0], "127.0.0.1", p[0].client_port));
        assert_true(client_sought_init(&all[1], "127.0.0.1", 1));
        assert_true(client_sought_init(&all[2], "127.0.0.1", p[2].client_port));
        client_sockets_find(all, PAIRS);
        assert_int_equal(all[0].fd < 0 ? -1 : all[0].fd, twins ? -1 : p[0].server);
        assert_true(all[1].fd < 0);
        assert_int_equal(all[2].fd, p[2].server);
        if (twins)
            close_pair(&p[1]);
    }
    close_pair(&p[0]);
    close_pair(&p[2]);
    close(listener);
}

/* To look at all that there could be costs milliseconds. */
static void the_search_ends_behind_many_unused_descriptors(void **state)
{
    (void)state;
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur <= FAR_AWAY)
        fx_skip("so many descriptors are not allowed here");
    int listener = new_listener();
    pair p = connect_pair(listener, 0, 1);
    assert_int_equal(dup2(p.server, FAR_AWAY), FAR_AWAY);
    assert_int_equal(find("127.0.0.1", p.client_port), p.server);
    close(p.server);
    assert_true(find("127.0.0.1", p.client_port) < 0);
    p.server = FAR_AWAY;
    close_pair(&p);
    close(listener);
}

static pair open_pair(void)
{
    int listener = new_listener();
    pair p = connect_pair(listener, 0, 1);
    close(listener);
    return p;
}

typedef struct arrived {
    const pair *pair;
    char bytes[64];
    size_t wanted;
} arrived;

static bool have_come(void *arg)
{
    arrived *a = arg;
    ssize_t len = recv(a->pair->server, a->bytes, sizeof(a->bytes), MSG_PEEK | MSG_DONTWAIT);
    return len == (ssize_t)a->wanted;
}

static uint64_t received(int fd)
{
    client_look look;
    assert_true(client_socket_look(fd, &look));
    return look.received;
}

/* Whether it has been read makes no difference: civetweb may have read more than the request. */
static void what_has_come_is_counted(void **state)
{
    (void)state;
    pair p = open_pair();
    arrived ten = {.pair = &p, .wanted = 10};
    assert_true(received(p.server) == 0);
    assert_int_equal(send(p.client, "0123456789", 10, 0), 10);
    assert_true(fx_wait_until(have_come, &ten, PATIENT_MS));
    assert_true(received(p.server) == 10);
    assert_int_equal(recv(p.server, ten.bytes, 10, 0), 10);
    assert_true(received(p.server) == 10);
    close_pair(&p);
}

static void what_is_no_connection_is_not_looked_at(void **state)
{
    (void)state;
    client_look look;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_false(client_socket_look(ends[0], &look));
    assert_false(client_socket_look(-1, &look));
    close(ends[0]);
    close(ends[1]);
}

/* How much there is to read until the peer ends the connection; -1: it does not. */
static long read_to_end(int fd, int patience_ms)
{
    static char bytes[1 << 16];
    long all = 0;
    struct pollfd ready = {fd, POLLIN, 0};
    while (poll(&ready, 1, patience_ms) == 1) {
        ssize_t len = recv(fd, bytes, sizeof(bytes), 0);
        if (len <= 0)
            return all;
        all += len;
    }
    return -1;
}

static void an_answer_goes_out_whole(void **state)
{
    (void)state;
    pair p = open_pair();
    char got[8] = "";
    assert_true(client_socket_send(p.server, "answer", 6));
    assert_int_equal(recv(p.client, got, sizeof(got), 0), 6);
    assert_string_equal(got, "answer");
    assert_int_equal(send(p.client, "next", 4, MSG_NOSIGNAL), 4); /* it is not cut off */
    assert_int_equal(recv(p.server, got, 4, MSG_WAITALL), 4);
    close_pair(&p);
}

static void who_takes_half_an_answer_is_cut_off(void **state)
{
    (void)state;
    pair p = open_pair();
    char *much = calloc(1, MUCH);
    assert_non_null(much);
    assert_true(client_socket_send(p.server, much, MUCH));
    long got = read_to_end(p.client, PATIENT_MS);
    assert_in_range(got, 1, MUCH - 1);
    assert_false(client_socket_send(p.server, "more", 4));
    close_pair(&p);
    free(much);
}

static void who_takes_nothing_is_left_to_its_own_thread(void **state)
{
    (void)state;
    pair p = open_pair();
    char *much = calloc(1, MUCH);
    assert_non_null(much);
    long filled = -6;
    do { /* what is acknowledged meanwhile makes room again */
        filled += 6;
        for (ssize_t sent; (sent = send(p.server, much, MUCH, MSG_DONTWAIT)) > 0;)
            filled += sent;
    } while (client_socket_send(p.server, "answer", 6));
    shutdown(p.server, SHUT_WR);
    assert_int_equal(read_to_end(p.client, PATIENT_MS), filled); /* so it was not cut off */
    close_pair(&p);
    free(much);
}

static void who_has_gone_is_sent_nothing(void **state)
{
    (void)state;
    pair p = open_pair();
    struct linger at_once = {.l_onoff = 1};
    setsockopt(p.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(p.client);
    assert_int_equal(read_to_end(p.server, PATIENT_MS), 0);
    assert_false(client_socket_send(p.server, "answer", 6)); /* and no SIGPIPE */
    close(p.server);
}

/* What civetweb has then is at its end, and the client notices nothing. */
static void a_socket_can_be_taken_away(void **state)
{
    (void)state;
    char got[8] = "";
    pair p = open_pair();
    int before = fx_descriptors_open(), own = client_socket_take(p.server);
    assert_true(own >= 0);
    assert_int_equal(fx_descriptors_open(), before + 1);
    assert_int_equal(recv(p.server, got, 1, 0), 0);
    close(p.server);
    assert_true(client_socket_send(own, "answer", 6));
    assert_int_equal(recv(p.client, got, sizeof(got), 0), 6);
    close(own);
    close(p.client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_found_by_its_clients_end),
        cmocka_unit_test(a_client_has_an_address_in_numbers),
        cmocka_unit_test(several_are_found_at_once),
        cmocka_unit_test(the_search_ends_behind_many_unused_descriptors),
        cmocka_unit_test(what_has_come_is_counted),
        cmocka_unit_test(what_is_no_connection_is_not_looked_at),
        cmocka_unit_test(an_answer_goes_out_whole),
        cmocka_unit_test(who_takes_half_an_answer_is_cut_off),
        cmocka_unit_test(who_takes_nothing_is_left_to_its_own_thread),
        cmocka_unit_test(who_has_gone_is_sent_nothing),
        cmocka_unit_test(a_socket_can_be_taken_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
