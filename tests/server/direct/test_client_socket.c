/*
 * test_client_socket.c - the socket under a connection: found by both its ends, used only when the
 * client waits for one answer, and never waited for.
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

static int find(const char *peer, int peer_port, const char *own, int own_port)
{
    client_socket socket;
    const client_end there = {peer, peer_port}, here = {own, own_port};
    client_socket_init(&socket);
    client_socket_find(&socket, &there, &here);
    int fd = socket.fd;
    assert_int_equal(socket.wakeup >= 0, fd >= 0);
    client_socket_free(&socket);
    return fd;
}

static void a_socket_is_found_by_both_its_ends(void **state)
{
    (void)state;
    int listener = new_listener();
    pair p[PAIRS];
    p[0] = connect_pair(listener, 0, 1);
    p[1] = connect_pair(listener, p[0].client_port, 2);
    p[2] = connect_pair(listener, 0, 2);
    for (int i = 0; i < PAIRS; i++) {
        const char *own = i == 0 ? "127.0.0.1" : "127.0.0.2";
        int there = p[i].client_port, here = p[i].server_port;
        assert_int_equal(find("127.0.0.1", there, own, here), p[i].server);
        assert_int_equal(find(own, here, "127.0.0.1", there), p[i].client);
        assert_int_equal(find("127.0.0.3", there, own, here), -1);
        assert_int_equal(find("127.0.0.1", there, "127.0.0.3", here), -1);
        assert_int_equal(find("127.0.0.1", there, own, here + 1), -1);
        assert_int_equal(find("127.0.0.1", 1, own, here), -1);
        assert_int_equal(find("127.0.0.1", there, "", here), -1);
    }
    for (int i = 0; i < PAIRS; i++)
        close_pair(&p[i]);
    close(listener);
}

static client_sought sought(int peer_port, int own_port)
{
    return (client_sought){.there = {"127.0.0.1", peer_port}, .port = own_port};
}

/* Our own address is not known then: two connections from one port to two addresses of ours are
 * both left alone, and the one that is left when the other has ended is found. */
static void several_are_found_at_once(void **state)
{
    (void)state;
    int listener = new_listener();
    pair p[PAIRS];
    p[0] = connect_pair(listener, 0, 1);
    p[1] = connect_pair(listener, p[0].client_port, 2);
    p[2] = connect_pair(listener, 0, 1);
    for (int twins = 1; twins >= 0; twins--) {
        client_sought all[] = {sought(p[0].client_port, p[0].server_port),
                               sought(p[2].client_port, p[2].server_port),
                               sought(p[2].client_port, p[2].server_port + 1), sought(1, 1)};
        size_t count = sizeof(all) / sizeof(all[0]);
        client_sockets_find(all, (int)count);
        for (size_t i = 0; i < count; i++) {
            int expected = -1;
            if (all[i].there.port == p[0].client_port && !twins)
                expected = p[0].server;
            else if (all[i].there.port == p[2].client_port && all[i].port == p[2].server_port)
                expected = p[2].server;
            assert_int_equal(all[i].fd, expected);
        }
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
    assert_int_equal(find("127.0.0.1", p.client_port, "127.0.0.1", p.server_port), p.server);
    close(p.server);
    assert_int_equal(find("127.0.0.1", p.client_port, "127.0.0.1", p.server_port), -1);
    p.server = FAR_AWAY;
    close_pair(&p);
    close(listener);
}

static void the_address_is_read_out_of_a_link(void **state)
{
    (void)state;
    static const struct {
        const char *link, *address; /* NULL: none */
    } links[] = {
        {"http://127.0.0.1:7000/buy", "127.0.0.1"},
        {"http://127.0.0.1/buy", "127.0.0.1"},
        {"http://[::1]:7000/buy?x=]", "::1"},
        {"http://[::ffff:1.2.3.4]/", "::ffff:1.2.3.4"},
        {"http://1234567890123456789/", NULL},
        {"https://127.0.0.1:7000/buy", NULL},
        {"127.0.0.1:7000", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        char address[16];
        assert_int_equal(client_end_in_link(links[i].link, address, sizeof(address)),
                         links[i].address != NULL);
        if (links[i].address)
            assert_string_equal(address, links[i].address);
    }
}

/* Both ends of a connection of the case's own, the server's found. */
static client_socket open_found(pair *p)
{
    client_socket socket;
    int listener = new_listener();
    *p = connect_pair(listener, 0, 1);
    close(listener);
    const client_end there = {"127.0.0.1", p->client_port}, here = {"127.0.0.1", p->server_port};
    client_socket_init(&socket);
    client_socket_find(&socket, &there, &here);
    assert_int_equal(socket.fd, p->server);
    return socket;
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

/* Whether they have been read makes no difference: civetweb may have read more than the request. */
static void the_socket_is_looked_for_once_from_the_second_request_on(void **state)
{
    (void)state;
    client_socket socket;
    const client_end nobody = {"127.0.0.1", 1};
    client_socket_init(&socket);
    assert_false(client_socket_sought(&socket));
    client_socket_count(&socket, 10);
    assert_false(client_socket_sought(&socket));
    client_socket_count(&socket, 10);
    client_socket_count(&socket, 10);
    assert_true(client_socket_sought(&socket));
    client_socket_find(&socket, &nobody, &nobody);
    assert_false(client_socket_sought(&socket));
    assert_false(client_socket_ready(&socket));
    client_socket_free(&socket);
}

static void who_has_sent_more_than_one_request_is_not_ready(void **state)
{
    (void)state;
    pair p;
    client_socket socket = open_found(&p);
    arrived ten = {.pair = &p, .wanted = 10};
    assert_true(client_socket_ready(&socket));
    assert_int_equal(send(p.client, "0123456789", 10, 0), 10);
    assert_true(fx_wait_until(have_come, &ten, PATIENT_MS));
    client_socket_count(&socket, 4);
    assert_false(client_socket_ready(&socket));
    assert_int_equal(recv(p.server, ten.bytes, 10, 0), 10);
    assert_false(client_socket_ready(&socket));
    client_socket_count(&socket, 5);
    assert_false(client_socket_ready(&socket));
    client_socket_count(&socket, 1);
    assert_true(client_socket_ready(&socket));
    client_socket_count(&socket, 1); /* more than has come: not to be believed */
    assert_false(client_socket_ready(&socket));
    client_socket_free(&socket);
    close_pair(&p);
}

static void who_was_not_found_is_not_ready(void **state)
{
    (void)state;
    client_socket socket;
    client_socket_init(&socket);
    assert_false(client_socket_ready(&socket));
    client_socket_free(&socket);
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
    pair p;
    char got[8] = "";
    client_socket socket = open_found(&p);
    assert_true(client_socket_send(&socket, "answer", 6));
    assert_int_equal(recv(p.client, got, sizeof(got), 0), 6);
    assert_string_equal(got, "answer");
    assert_int_equal(send(p.client, "next", 4, MSG_NOSIGNAL), 4); /* it is not cut off */
    assert_int_equal(recv(p.server, got, 4, MSG_WAITALL), 4);
    client_socket_free(&socket);
    close_pair(&p);
}

static void who_takes_half_an_answer_is_cut_off(void **state)
{
    (void)state;
    pair p;
    char *much = calloc(1, MUCH);
    client_socket socket = open_found(&p);
    assert_non_null(much);
    assert_true(client_socket_send(&socket, much, MUCH));
    long got = read_to_end(p.client, PATIENT_MS);
    assert_in_range(got, 1, MUCH - 1);
    assert_false(client_socket_send(&socket, "more", 4));
    client_socket_free(&socket);
    close_pair(&p);
    free(much);
}

static void who_takes_nothing_is_left_to_its_own_thread(void **state)
{
    (void)state;
    pair p;
    char *much = calloc(1, MUCH);
    client_socket socket = open_found(&p);
    assert_non_null(much);
    long filled = -6;
    do { /* what is acknowledged meanwhile makes room again */
        filled += 6;
        for (ssize_t sent; (sent = send(p.server, much, MUCH, MSG_DONTWAIT)) > 0;)
            filled += sent;
    } while (client_socket_send(&socket, "answer", 6));
    shutdown(p.server, SHUT_WR);
    assert_int_equal(read_to_end(p.client, PATIENT_MS), filled); /* so it was not cut off */
    client_socket_free(&socket);
    close_pair(&p);
    free(much);
}

static void who_has_gone_is_sent_nothing(void **state)
{
    (void)state;
    pair p;
    client_socket socket = open_found(&p);
    struct linger at_once = {.l_onoff = 1};
    setsockopt(p.client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
    close(p.client);
    assert_int_equal(read_to_end(p.server, PATIENT_MS), 0);
    assert_false(client_socket_send(&socket, "answer", 6)); /* and no SIGPIPE */
    client_socket_free(&socket);
    close(p.server);
}

static void nothing_is_left_open(void **state)
{
    (void)state;
    int before = fx_descriptors_open();
    pair p;
    client_socket socket = open_found(&p);
    client_socket_free(&socket);
    client_socket_free(&socket);
    assert_int_equal(fx_descriptors_open(), before + 2); /* the connection is not ours to close */
    close_pair(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_socket_is_found_by_both_its_ends),
        cmocka_unit_test(several_are_found_at_once),
        cmocka_unit_test(the_search_ends_behind_many_unused_descriptors),
        cmocka_unit_test(the_address_is_read_out_of_a_link),
        cmocka_unit_test(the_socket_is_looked_for_once_from_the_second_request_on),
        cmocka_unit_test(who_has_sent_more_than_one_request_is_not_ready),
        cmocka_unit_test(who_was_not_found_is_not_ready),
        cmocka_unit_test(an_answer_goes_out_whole),
        cmocka_unit_test(who_takes_half_an_answer_is_cut_off),
        cmocka_unit_test(who_takes_nothing_is_left_to_its_own_thread),
        cmocka_unit_test(who_has_gone_is_sent_nothing),
        cmocka_unit_test(nothing_is_left_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
