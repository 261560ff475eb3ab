/*
 * test_server_check.c - what a server says of itself, and what is held against it. The server is
 * the test's own: it says what a real one would have to be brought to say.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/store/server_check.h"
#include "tests/support/fixture.h"

enum { SOON_MS = 20000, REPLY_MAX = 2048 };

#define REFUSAL "-NOPERM this user has no permissions"
#define BUSY    "-BUSY Redis is busy running a script"

/* What it answers; NULL = as a good server does. One that begins with "-" is an error, with ":" an
 * integer. */
typedef struct story {
    const char *appendonly, *appendfsync, *on_rewrite;
    const char *config; /* instead of these */
    const char *rights; /* 1 CONFIG GET, 2 WAIT, 4 ROLE, 8 CLUSTER NODES */
    const char *persistence, *memory, *replication, *probe;
    bool cluster; /* it is asked as a node of one */
} story;

static const story *told; /* by the server, to one connection after the other */
static int listener;
static char url[64];

/* ---- the server ------------------------------------------------------------------------------ */

static int put_text(char *to, const char *text)
{
    if (strchr("-:*", text[0]) && text[0] != '\0')
        return snprintf(to, REPLY_MAX, "%s\r\n", text);
    return snprintf(to, REPLY_MAX, "$%zu\r\n%s\r\n", strlen(text), text);
}

static const char *or_good(const char *text, const char *good)
{
    return text ? text : good;
}

static int put_config(char *to)
{
    const char *const pairs[] = {"appendonly",
                                 or_good(told->appendonly, "yes"),
                                 "appendfsync",
                                 or_good(told->appendfsync, "always"),
                                 "no-appendfsync-on-rewrite",
                                 or_good(told->on_rewrite, "no")};
    if (told->config)
        return put_text(to, told->config);
    int len = snprintf(to, REPLY_MAX, "*6\r\n");
    for (int i = 0; i < 6; i++)
        len += put_text(to + len, pairs[i]);
    return len;
}

static int put_answer(const redisReply *asked, char *to)
{
    const char *command = asked->element[0]->str;
    const char *about = asked->elements > 1 ? asked->element[1]->str : "";
    if (strcmp(command, "CONFIG") == 0)
        return put_config(to);
    if (strcmp(command, "CLUSTER") == 0)
        return put_text(to, "");
    if (strcmp(about, "persistence") == 0)
        return put_text(to, or_good(told->persistence,
                                    "# Persistence\r\naof_enabled:1\r\naof_rewrite_in_progress:0"
                                    "\r\naof_rewrite_scheduled:0\r\n"
                                    "aof_last_write_status:ok\r\n"));
    if (strcmp(about, "memory") == 0)
        return put_text(to, or_good(told->memory, "maxmemory_policy:noeviction\r\n"));
    if (strcmp(about, "replication") == 0)
        return put_text(to, or_good(told->replication,
                                    "role:master\r\nslave0:ip=a,port=1,state=online,offset=7,"
                                    "lag=0\r\n"));
    if (strncmp(command, "EVAL", 4) != 0)
        return snprintf(to, REPLY_MAX, "+OK\r\n");
    if (strcmp(asked->element[2]->str, "0") == 0) /* keys */
        return put_text(to, or_good(told->rights, ":7"));
    return put_text(to, or_good(told->probe, ""));
}

static void serve_one(int fd)
{
    char in[4096], out[2 * REPLY_MAX];
    redisReader *reader = redisReaderCreate();
    for (ssize_t got; (got = read(fd, in, sizeof(in))) > 0;) {
        void *asked = NULL;
        redisReaderFeed(reader, in, (size_t)got);
        while (redisReaderGetReply(reader, &asked) == REDIS_OK && asked) {
            int len = put_answer(asked, out);
            freeReplyObject(asked);
            if (send(fd, out, (size_t)len, MSG_NOSIGNAL) != len)
                break;
        }
    }
    redisReaderFree(reader);
    close(fd);
}

static void *serve(void *arg)
{
    (void)arg;
    for (int fd; (fd = accept(listener, NULL, NULL)) >= 0;)
        serve_one(fd);
    return NULL;
}

static pthread_t server;

static int setup(void **state)
{
    (void)state;
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t len = sizeof(address);
    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(listener, (struct sockaddr *)&address, len) != 0 || listen(listener, 8) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &len) != 0)
        return -1;
    snprintf(url, sizeof(url), "redis://127.0.0.1:%d", ntohs(address.sin_port));
    return pthread_create(&server, NULL, serve, NULL);
}

static int teardown(void **state)
{
    (void)state;
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);
    return 0;
}

/* What is found of a server with this story: by its settings, and by the probe. */
static server_check check(const story *says, bool had_disk, int min_replicas)
{
    fs_node node;
    write_probe probe = {.conn = NULL};
    char err[256];
    dlock_redis *redis = NULL;
    dlock_redis_conn *conn = NULL;
    server_check found;
    server_wish wish = {
        .had_disk = had_disk, .min_replicas = min_replicas, .cluster = says->cluster};
    told = says;
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url}, &redis, err, sizeof(err)),
                     0);
    assert_int_equal(dlock_redis_dial(redis, "k", dlock_in_ms(SOON_MS), &conn), DLOCK_REDIS_OK);
    assert_true(server_ask(conn, &wish, dlock_in_ms(SOON_MS), &found));
    dlock_redis_hang_up(conn);
    assert_true(node_init(&node, 0));
    while (!write_probe_look(&probe, redis, &node, "k"))
        assert_false(node_reachable(&node));
    assert_false(health_has(&node.health, TROUBLE_WRITES_PAUSED));
    found.found[TROUBLE_REFUSES] =
        health_why(&node.health, TROUBLE_REFUSES, &found.why[TROUBLE_REFUSES]);
    write_probe_drop(&probe);
    node_free(&node);
    dlock_redis_close(redis);
    return found;
}

/* ---- cases ----------------------------------------------------------------------------------- */

/* As bits, by the trouble's number. */
#define REFUSES     (1 << TROUBLE_REFUSES)
#define MAY_EVICT   (1 << TROUBLE_MAY_EVICT)
#define NO_DISK     (1 << TROUBLE_NO_DISK)
#define NO_REPLICAS (1 << TROUBLE_NO_REPLICAS)

#define AOF(enabled, status, in_progress, scheduled)                                               \
    "aof_enabled:" enabled "\r\nno_aof_last_write_status:err\r\naof_last_write_status_:err\r\n"    \
    "aof_last_write_status:" status "\r\naof_rewrite_in_progress:" in_progress                     \
    "\r\naof_rewrite_scheduled:" scheduled "\r\n"
#define POLICY(name) "x:1\r\nmaxmemory_policy:" name "\r\n"
#define SLAVE(number, state, lag)                                                                  \
    "slave" number ":ip=127.0.0.1,port=1,state=" state ",offset=9,lag=" lag "\r\n"

static const struct {
    const char *what;
    story story;
    bool had_disk;
    int min_replicas, troubles, replicas;
    const char *detail; /* of the trouble, when there is one */
} cases[] = {
    {"a good one", {NULL}, false, 1, 0, 1, ""},
    {"no file", {.appendonly = "no"}, false, 1, NO_DISK, 1, "appendonly yes"},
    {"a second", {.appendfsync = "everysec"}, true, 1, NO_DISK, 1, "appendfsync always"},
    {"no sync in a rewrite", {.on_rewrite = "yes"}, true, 1, NO_DISK, 1, "on-rewrite no"},
    {"file off", {.persistence = AOF("0", "ok", "0", "0")}, true, 1, NO_DISK, 1, "failed"},
    {"a write failed", {.persistence = AOF("1", "err", "0", "0")}, true, 1, NO_DISK, 1, "failed"},
    {"first rewrite", {.persistence = AOF("1", "ok", "1", "0")}, false, 1, NO_DISK, 1, "whole"},
    {"rewrite to come", {.persistence = AOF("1", "ok", "0", "1")}, false, 1, NO_DISK, 1, "whole"},
    {"another rewrite", {.persistence = AOF("1", "ok", "1", "0")}, true, 1, 0, 1, ""},
    {"nothing of the file", {.persistence = "-NOPERM info"}, true, 1, 0, 1, ""},
    {"evicts", {.memory = POLICY("allkeys-lru")}, false, 1, MAY_EVICT, 1, "'allkeys-lru'"},
    {"evicts what expires",
     {.memory = POLICY("volatile-ttl")},
     false,
     1,
     MAY_EVICT,
     1,
     "'volatile-ttl'"},
    {"no memory", {.memory = REFUSAL}, false, 1, MAY_EVICT, 1, "does not tell its settings: NOP"},
    {"no right to the settings", {.rights = ":6"}, true, 1, NO_DISK, 1, "grant it +config|get"},
    {"no settings", {.config = REFUSAL}, true, 1, NO_DISK, 1, "does not tell its settings: NOP"},
    {"no word of the right",
     {.rights = REFUSAL},
     true,
     1,
     NO_DISK,
     1,
     "does not tell its settings"},
    {"no right, and evicts",
     {.rights = ":6", .memory = POLICY("allkeys-lfu")},
     false,
     1,
     NO_DISK | MAY_EVICT,
     1,
     ""},
    {"no replica", {.replication = "role:master\r\n"}, false, 1, NO_REPLICAS, 0, "1 of the serv"},
    {"two of three",
     {.replication = "role:master\r\n" SLAVE("0", "online", "3") SLAVE("1", "online", "4")
          SLAVE("2", "online", "0")},
     false,
     2,
     0,
     2,
     ""},
    {"one of two",
     {.replication = "role:master\r\n" SLAVE("0", "send_bulk", "0") SLAVE("1", "online", "1")},
     false,
     2,
     NO_REPLICAS,
     1,
     "needs 2 of the server's replicas online, and it has 1"},
    {"no replication", {.replication = REFUSAL}, false, 1, NO_REPLICAS, 0, "does not tell"},
    {"no wait", {.rights = ":5"}, true, 1, NO_REPLICAS, 0, "+wait"},
    {"no role", {.rights = ":3"}, true, 1, NO_REPLICAS, 0, "+role"},
    {"no right", {.probe = "HSET"}, false, 1, REFUSES, 1, "may not HSET"},
    {"refuses", {.probe = "-READONLY a replica"}, false, 1, REFUSES, 1, ""},
    {"busy",
     {.rights = BUSY,
      .config = BUSY,
      .persistence = BUSY,
      .memory = BUSY,
      .replication = BUSY,
      .probe = BUSY},
     false,
     1,
     REFUSES,
     0,
     "BUSY Redis is busy"},
    {"moved", {.probe = "-MOVED 1 127.0.0.1:1"}, false, 1, 0, 1, ""},
    {"asks", {.probe = "-ASK 1 127.0.0.1:1"}, false, 1, 0, 1, ""},
};

static void each_fault_is_found_and_no_other(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        server_check found = check(&cases[i].story, cases[i].had_disk, cases[i].min_replicas);
        int troubles = 0;
        for (int t = 0; t < TROUBLES; t++)
            troubles |= found.found[t] << t;
        if (troubles != cases[i].troubles || found.seen.in_step != cases[i].replicas)
            fail_msg("%s: troubles %x, %d replicas", cases[i].what, (unsigned)troubles,
                     found.seen.in_step);
        for (int t = 0; t < TROUBLES; t++)
            if (cases[i].troubles == 1 << t && !strstr(found.why[t].detail, cases[i].detail))
                fail_msg("%s: %s", cases[i].what, found.why[t].detail);
    }
}

/* Only where INFO counts the good replicas a server that was cut off takes no writes. */
static void what_takes_writes_alone_is_told(void **state)
{
    (void)state;
    static const struct {
        story story;
        bool alone;
    } servers[] = {{{NULL}, true},
                   {{.replication = "role:master\r\nmin_slaves_good_slaves:0\r\n"}, false},
                   {{.replication = "role:master\r\nmin_slaves_good_slaves:2\r\n"}, false},
                   {{.rights = ":6", .replication = "min_slaves_good_slaves:1\r\n"}, false},
                   {{.replication = REFUSAL}, true}};
    for (size_t i = 0; i < COUNT(servers); i++)
        assert_int_equal(check(&servers[i].story, false, 1).accepts_alone, servers[i].alone);
}

/* Who could be promoted stands in a cluster's settings and nodes; elsewhere nobody asks for them.
 */
static void a_right_that_only_a_cluster_needs_is_missed_there(void **state)
{
    (void)state;
    static const struct {
        story story;
        const char *denied;
        bool untold;
    } servers[] = {{{.rights = ":6"}, "", false},
                   {{.config = REFUSAL}, "", false},
                   {{.rights = ":15", .cluster = true}, "", false},
                   {{.rights = ":14", .cluster = true}, "config|get", false},
                   {{.rights = ":15", .cluster = true, .config = REFUSAL}, "config|get", false},
                   {{.rights = ":7", .cluster = true}, "", true}};
    for (size_t i = 0; i < COUNT(servers); i++) {
        server_check found = check(&servers[i].story, false, 1);
        assert_string_equal(found.denied, servers[i].denied);
        assert_int_equal(found.cluster.untold, servers[i].untold);
        assert_int_equal(found.cluster.by == PROMOTER_CLUSTER, servers[i].story.cluster);
    }
}

/* It may be another command's answer, and says nothing of the server. */
static void assert_no_finding_but(const story *of, const char *expected)
{
    char err[256];
    server_check found;
    fs_node node;
    dlock_redis *redis;
    write_probe probe = {.conn = NULL};
    server_wish wish = {.min_replicas = 1};
    told = of;
    assert_int_equal(dlock_redis_open(&(dlock_redis_options){.url = url}, &redis, err, sizeof(err)),
                     0);
    assert_true(node_init(&node, 0));
    bool refuses = health_has(&node.health, TROUBLE_REFUSES); /* as long as nothing is known */
    if (of->probe) {
        do
            assert_false(write_probe_look(&probe, redis, &node, "k"));
        while (!dlock_redis_broken(probe.conn));
    } else {
        assert_int_equal(dlock_redis_dial(redis, "k", dlock_in_ms(SOON_MS), &probe.conn),
                         DLOCK_REDIS_OK);
        assert_false(server_ask(probe.conn, &wish, dlock_in_ms(SOON_MS), &found));
        assert_true(dlock_redis_broken(probe.conn));
    }
    assert_true(health_has(&node.health, TROUBLE_REFUSES) == refuses);
    dlock_redis_last_error(redis, err, sizeof(err));
    assert_non_null(strstr(err, expected));
    write_probe_drop(&probe);
    node_free(&node);
    dlock_redis_close(redis);
}

static void assert_no_finding(const story *of, const char *command)
{
    char expected[96];
    snprintf(expected, sizeof(expected), "%s was answered with an integer", command);
    assert_no_finding_but(of, expected);
}

static void an_answer_of_a_wrong_form_is_no_finding(void **state)
{
    (void)state;
    assert_no_finding_but(&(story){.rights = "yes"}, "the script rights was answered with a text");
    assert_no_finding(&(story){.config = ":1"}, "CONFIG GET");
    assert_no_finding(&(story){.persistence = ":1"}, "INFO persistence");
    assert_no_finding(&(story){.memory = ":1"}, "INFO memory");
    assert_no_finding(&(story){.replication = ":1"}, "INFO replication");
    assert_no_finding(&(story){.probe = ":1"}, "the script probe");
}

/* An answer of its command's type may be another's, too. */
static void an_answer_of_other_words_is_no_finding(void **state)
{
    (void)state;
    assert_no_finding_but(&(story){.probe = "# Memory"}, "the script probe was answered with");
    assert_no_finding_but(&(story){.config = "*2\r\n:1\r\n:2"}, "CONFIG GET was answered with");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_fault_is_found_and_no_other),
        cmocka_unit_test(what_takes_writes_alone_is_told),
        cmocka_unit_test(a_right_that_only_a_cluster_needs_is_missed_there),
        cmocka_unit_test(an_answer_of_a_wrong_form_is_no_finding),
        cmocka_unit_test(an_answer_of_other_words_is_no_finding),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
