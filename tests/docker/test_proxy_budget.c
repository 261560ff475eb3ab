/*
 * test_proxy_budget.c - the memory of the proxy: README.md's "Memory of the proxy" holds when every
 * limit of docker/haproxy.cfg is filled at once, and nobody gets round the limits by HTTP/2.
 *
 * The proxy has docker/haproxy.cfg with minutes for seconds: all limits are to be filled before it
 * lets go of the first that fills them, and how long that takes here is up to the machine.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/support/docker/front.h"
#include "tests/support/patience.h"
#include "tests/support/raw.h"

enum { WAIT_MS = 60000, CONNECTIONS = 3000, STREAMS = 750, BEYOND = 100 };

/* An entry of a stick-table: 256 to 290 bytes. */
enum { ENTRY_BYTES = 320 };

static char dir[256];

/* A proxy that waits patiently takes the place of the usual one. */
static int replace_proxy(void)
{
    char config[300];
    snprintf(config, sizeof(config), "%s/haproxy.cfg", dir);
    if (fx_shell("sed 's/^\\( *timeout [a-z-]* [0-9]*\\)s$/\\1m/' docker/haproxy.cfg >\"$1\" &&"
                 " ! grep -q 'timeout .*[0-9]s$' \"$1\"",
                 config, WAIT_MS) != 0)
        return -1;
    fx_process_free(fx_front_proxy);
    fx_front_proxy = fx_spawn(FX_ARGS("haproxy", "-db", "-f", config), true);
    return fx_wait_until(fx_front_is_ready, NULL, WAIT_MS) ? 0 : -1;
}

static int setup(void **state)
{
    struct rlimit files;
    getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
    fx_dir_make(dir, sizeof(dir));
    return fx_front_start(state) != 0 || (fx_front_proxy && replace_proxy() != 0) ? -1 : 0;
}

/* ---- HTTP/2 ---------------------------------------------------------------------------------- */

#define PREFACE  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
#define SETTINGS "\0\0\0\4\0\0\0\0\0"

static void http2_is_refused_and_http1_goes_on(void **state)
{
    (void)state;
    fx_front_need();
    static const char preface[] = PREFACE SETTINGS;
    char reply[4096];
    int fd = fx_raw_connect(fx_front_port, NULL);
    assert_true(fx_raw_send(fd, preface, sizeof(preface) - 1));
    fx_raw_read(fd, reply, sizeof(reply), WAIT_MS, NULL);
    close(fd);
    assert_memory_equal(reply, "HTTP/1.1 400", 12);
    assert_true(fx_front_is_ready(NULL));
}

/* POST /buy with a header of 10,000 bytes, and without its end. */
static size_t put_request(unsigned char *frame, int stream)
{
    enum { VALUE = 10000 };
    static const unsigned char block[] = "\x83\x86\x04\x04/buy\x01\x01"
                                         "a\x00\x01p\x7f\x91\x4d";
    size_t head = sizeof(block) - 1, len = head + VALUE;
    memcpy(frame,
           (unsigned char[]){0, (unsigned char)(len >> 8), len & 0xff, 1, 4, 0, 0, 0,
                             (unsigned char)stream},
           9);
    memcpy(frame + 9, block, head);
    memset(frame + 9 + head, 'v', VALUE);
    return 9 + len;
}

enum { MULTIPLEXED = 475 };

/* A hundred requests on each connection, of each 10 KB. */
static void multiplex(int *fd)
{
    static unsigned char bytes[100 * 10100];
    size_t len = sizeof(PREFACE SETTINGS) - 1;
    memcpy(bytes, PREFACE SETTINGS, len);
    for (int i = 0; i < 100; i++)
        len += put_request(bytes + len, 2 * i + 1);
    for (int i = 0; i < MULTIPLEXED; i++) {
        char from[32];
        snprintf(from, sizeof(from), "127.1.0.%d", 1 + i % 25);
        fd[i] = fx_raw_connect(fx_front_port, from);
        assert_true(fd[i] >= 0);
        fx_raw_send(fd[i], (const char *)bytes, len); /* or is let go meanwhile */
    }
}

/* ---- every limit at once --------------------------------------------------------------------- */

/* 10 KB of an unfinished request. */
static void put_unfinished(char *bytes, size_t len, const char *first)
{
    int have = snprintf(bytes, len, "%sPOST /buy?item=P0001&user=u HTTP/1.1\r\nHost: localhost\r\n",
                        first);
    for (int i = 0; i < 10; i++)
        have += snprintf(bytes + have, len - (size_t)have, "X-Fill: %01000d\r\n", i);
}

/* From an address of its own. What comes back is not read. */
static int send_from(int number, const char *bytes)
{
    char address[32];
    snprintf(address, sizeof(address), "127.2.%d.%d", 1 + number / 250, 1 + number % 250);
    int fd = fx_raw_connect_small(fx_front_port, address);
    assert_true(fd >= 0);
    fx_raw_send(fd, bytes, strlen(bytes));
    return fd;
}

static void fill(int *fd, int from, int to, const char *first)
{
    static char bytes[32768];
    put_unfinished(bytes, sizeof(bytes), first);
    for (int i = from; i < to; i++)
        fd[i] = send_from(i, bytes);
}

/* One after the other: an instance that many streams come to at once refuses some. */
static void fill_with_streams(int *fd, int from, int to)
{
    static char bytes[32768];
    put_unfinished(bytes, sizeof(bytes),
                   "GET /dashboard?item=P0001 HTTP/1.1\r\nHost: localhost\r\n"
                   "Accept: text/event-stream\r\n\r\n");
    for (int i = from; i < to; i++) {
        fd[i] = send_from(i, bytes);
        struct pollfd answered = {.fd = fd[i], .events = POLLIN};
        assert_int_equal(poll(&answered, 1, fx_patient_ms(WAIT_MS)), 1);
    }
}

static bool is_full(void *unused)
{
    (void)unused;
    return fx_front_metric("haproxy_frontend_max_sessions{proxy=\"public\"}") == CONNECTIONS &&
           fx_front_metric("haproxy_backend_max_sessions{proxy=\"viewers\"}") == STREAMS;
}

/* The most that the proxy's processes have had resident, in KiB. */
static long peak_kib(void)
{
    char script[256], sum[32];
    snprintf(script, sizeof(script),
             "cat /proc/[0-9]*/status 2>/dev/null | awk '/^Pid:/ { pid = $2 }"
             " /^PPid:/ { ours = pid == %d || $2 == %d } /^VmHWM:/ && ours { sum += $2 }"
             " END { print sum + 0 }'",
             (int)fx_process_pid(fx_front_proxy), (int)fx_process_pid(fx_front_proxy));
    assert_int_equal(fx_shell_output(script, sum, sizeof(sum)), 0);
    return strtol(sum, NULL, 10);
}

/* What the tables would take if they were full, in KiB. */
static long tables_left_kib(void)
{
    static const char *const tables[] = {"public", "viewers"};
    double entries = 0;
    for (int i = 0; i < 2; i++) {
        char size[80], used[80];
        snprintf(size, sizeof(size), "haproxy_sticktable_size{name=\"%s\",type=\"ipv6\"}",
                 tables[i]);
        snprintf(used, sizeof(used), "haproxy_sticktable_used{name=\"%s\",type=\"ipv6\"}",
                 tables[i]);
        entries += fx_front_metric(size) - fx_front_metric(used);
    }
    assert_true(entries > 0);
    return (long)(entries * ENTRY_BYTES / 1024);
}

/* The other half is for the kernel's buffers. */
static long half_of_the_limit_kib(void)
{
    char limit[32];
    assert_int_equal(fx_shell_output("sed -n 's/^  mem_limit: \\([0-9]*\\)m$/\\1/p'"
                                     " docker/compose.yaml",
                                     limit, sizeof(limit)),
                     0);
    assert_true(strtol(limit, NULL, 10) > 0);
    return strtol(limit, NULL, 10) * 1024 / 2;
}

static void fill_all(int *fd)
{
    static char answers[12000];
    for (size_t len = 0; len + 64 < sizeof(answers); len = strlen(answers))
        snprintf(answers + len, sizeof(answers) - len,
                 "GET /page/page.css HTTP/1.1\r\nHost: localhost\r\n\r\n");
    fill(fd, 0, 1500, answers);
    fill_with_streams(fd, 1500, 2300);
    fill(fd, 2300, CONNECTIONS + BEYOND, "");
}

static void its_memory_is_bounded_when_every_limit_is_reached(void **state)
{
    (void)state;
    fx_front_need();
    static int multiplexed[MULTIPLEXED], fd[CONNECTIONS + BEYOND];
    multiplex(multiplexed);
    fill_all(fd);
    bool full = fx_wait_until(is_full, NULL, WAIT_MS);
    long peak = peak_kib(), left = tables_left_kib(), most = half_of_the_limit_kib();
    print_message("at most %ld MiB, %ld MiB more with full tables; allowed %ld MiB\n", peak / 1024,
                  left / 1024, most / 1024);
    assert_true(peak > 30 * 1024); /* it is the right process */
    assert_true(peak + left <= most);
    assert_true(full);
    for (int i = 0; i < CONNECTIONS + BEYOND; i++)
        close(fd[i]);
    for (int i = 0; i < MULTIPLEXED; i++)
        close(multiplexed[i]);
    assert_true(fx_wait_until(fx_front_is_ready, NULL, WAIT_MS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(http2_is_refused_and_http1_goes_on),
        cmocka_unit_test(its_memory_is_bounded_when_every_limit_is_reached),
    };
    return cmocka_run_group_tests(tests, setup, fx_front_stop);
}
