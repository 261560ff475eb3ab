/*
 * docker/users.acl on a cluster and behind sentinels, and docker/sentinel.acl on these: they grant
 * what the service needs there, and nothing that it does not need.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"
#include "tests/support/topology.h"

#define SECRET          "3c9f1d7e5b8a2640"
#define SENTINEL_SECRET "77aa40c6e1b2d983"

enum { SOON_MS = 60000 };

static fx_topology *servers;

/* ---- helpers --------------------------------------------------------------------------------- */

/* "SETUSER flashsale on >secret ...": the service's line of a file in docker/. */
static void read_user(const char *file, const char *secret, char *ret, size_t ret_len)
{
    char line[2048], path[64];
    snprintf(path, sizeof(path), "docker/%s", file);
    FILE *from = fopen(path, "r");
    assert_non_null(from);
    ret[0] = '\0';
    while (fgets(line, sizeof(line), from)) {
        char *at = strstr(line, "@PASSWORD@");
        if (at)
            snprintf(ret, ret_len, "ACL SETUSER %.*s>%s%.*s", (int)(at - line - 5), line + 5,
                     secret, (int)strcspn(at + 10, "\n"), at + 10);
    }
    fclose(from);
    assert_string_not_equal(ret, "");
}

/* One member's answer to a command, which must be no error. */
static redisReply *tell(int member, const char *command)
{
    redisReply *reply = fx_topology_ask(servers, member, command);
    assert_non_null(reply);
    if (reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply->str);
    return reply;
}

static void tell_all(bool sentinels, const char *command)
{
    for (int i = 0; i < fx_topology_size(servers); i++)
        if (fx_topology_is_sentinel(servers, i) == sentinels)
            freeReplyObject(tell(i, command));
}

/* The topology's URL with the service's user, and `query` behind it. */
static void write_url(const char *query, char *ret, size_t ret_len)
{
    const char *url = fx_topology_url(servers);
    int scheme = (int)(strstr(url, "://") + 3 - url);
    int need =
        snprintf(ret, ret_len, "%.*sflashsale:" SECRET "@%s%s", scheme, url, url + scheme, query);
    assert_true(need < (int)ret_len);
}

static void assert_nothing_was_denied(void)
{
    for (int i = 0; i < fx_topology_size(servers); i++) {
        redisReply *log = tell(i, "ACL LOG");
        for (size_t k = 0; log->elements > 0 && k + 1 < log->element[0]->elements; k += 2)
            if (log->element[0]->element[k + 1]->type == REDIS_REPLY_STRING)
                print_message("%s %s\n", log->element[0]->element[k]->str,
                              log->element[0]->element[k + 1]->str);
        if (log->elements > 0)
            fail_msg("member %d of %s denied something", i, fx_topology_kind(servers));
        freeReplyObject(log);
    }
}

static bool sells(void *server)
{
    return fx_status(server, "POST /buy?item=P0001&user=u1") == 201;
}

static void sell_with_every_strategy(fx_server *server)
{
    for (const fx_strategy *each = fx_strategies(); each->name[0] != '\0'; each++) {
        fx_expect(server, 201, "POST /sales {'item':'P0001','stock':20,'strategy':'%s'}",
                  each->name);
        if (!fx_wait_until(sells, server, SOON_MS))
            fail_msg("%s sells nothing", each->name);
    }
}

static void *buyer(void *server)
{
    return (void *)(intptr_t)sells(server);
}

/* Some wait for the lock of a strategy that is woken by a channel. */
static void sell_to_a_crowd(fx_server *server)
{
    enum { BUYERS = 6 };
    pthread_t threads[BUYERS];
    fx_expect(server, 201,
              "POST /sales {'item':'P0001','stock':20,'strategy':'pubsub',"
              "'hold_ms':50}");
    for (int i = 0; i < BUYERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, buyer, server), 0);
    for (int i = 0; i < BUYERS; i++)
        pthread_join(threads[i], NULL);
}

/* ---- a cluster ------------------------------------------------------------------------------- */

/* Has the slot of an item that nobody knows moved half way, and asks for the item. */
static void ask_in_a_moving_slot(fx_server *server)
{
    static const char key[] = "fs:{moving}:sale";
    char from_id[64], to_id[64], command[128];
    int from = fx_topology_primary(servers, key), to = from == 0 ? 1 : 0;
    redisReply *reply = tell(from, "CLUSTER MYID");
    snprintf(from_id, sizeof(from_id), "%s", reply->str);
    freeReplyObject(reply);
    reply = tell(to, "CLUSTER MYID");
    snprintf(to_id, sizeof(to_id), "%s", reply->str);
    freeReplyObject(reply);
    snprintf(command, sizeof(command), "CLUSTER KEYSLOT %s", key);
    reply = tell(from, command);
    int slot = (int)reply->integer;
    freeReplyObject(reply);
    snprintf(command, sizeof(command), "CLUSTER SETSLOT %d IMPORTING %s", slot, from_id);
    freeReplyObject(tell(to, command));
    snprintf(command, sizeof(command), "CLUSTER SETSLOT %d MIGRATING %s", slot, to_id);
    freeReplyObject(tell(from, command));
    fx_expect(server, 404, "GET /stock?item=moving");
    snprintf(command, sizeof(command), "CLUSTER SETSLOT %d STABLE", slot);
    freeReplyObject(tell(to, command));
    freeReplyObject(tell(from, command));
}

static bool was_called(const char *command)
{
    char line[64];
    bool called = false;
    snprintf(line, sizeof(line), "cmdstat_%s:calls=", command);
    for (int i = 0; i < fx_topology_size(servers); i++) {
        redisReply *stats = tell(i, "INFO commandstats");
        called = called || strstr(stats->str, line);
        freeReplyObject(stats);
    }
    return called;
}

static void a_cluster_needs_these_rights(void **state)
{
    (void)state;
    static const char *const needed[] = {"asking", "cluster|info", "cluster|nodes", "cluster|slots",
                                         "ssubscribe"};
    char user[2048], url[512];
    servers = fx_topology_start("cluster", NULL);
    read_user("users.acl", SECRET, user, sizeof(user));
    tell_all(false, user);
    tell_all(false, "CONFIG RESETSTAT");
    write_url("", url, sizeof(url));
    fx_server *server = fx.server[0] = fx_server_start(url, NULL);
    sell_with_every_strategy(server);
    sell_to_a_crowd(server);
    ask_in_a_moving_slot(server);
    assert_nothing_was_denied();
    for (size_t i = 0; i < COUNT(needed); i++)
        if (!was_called(needed[i]))
            fail_msg("docker/users.acl grants +%s, but nobody used it", needed[i]);
    assert_int_equal(fx_server_stop(server), 0);
    fx.server[0] = NULL;
    fx_topology_stop(servers);
}

/* docker/redis-start with the container's files in `dir`, as a node on this port. */
static fx_process *start_node(const char *dir, int port)
{
    char script[2048];
    snprintf(script, sizeof(script),
             "cd \"$1\" && mkdir run own data etc run/redis run/cluster && here=$OLDPWD/docker &&"
             "for file in redis-start redis.conf users.acl; do"
             "  sed \"s#/run/flashsale#$1/run#; s#/run/redis#$1/own#; s#/etc/flashsale#$1/etc#;"
             "    s#^dir .*#dir $1/data#; s#^bind .*#bind 127.0.0.1#;"
             "    s#exec redis-server#exec ${REDIS_SERVER:-redis-server}#; s#^port .*#port "
             "%d\\ncluster-port %d#\""
             "    $here/$file >etc/$file || exit 1;"
             "done; exec sh etc/redis-start cluster",
             port, fx_free_port());
    return fx_spawn((const char *const[]){"sh", "-c", script, "sh", dir, NULL}, true);
}

static redisContext *log_in(int port, const char *dir, const char *user, const char *file)
{
    char path[300], password[128] = "";
    snprintf(path, sizeof(path), "%s/run/%s/password", dir, file);
    FILE *from = fopen(path, "r");
    redisContext *conn = redisConnect("127.0.0.1", port);
    redisReply *reply = NULL;
    if (from && fgets(password, sizeof(password), from) && conn && !conn->err)
        reply = redisCommand(conn, "AUTH %s %s", user, password);
    bool in = reply && reply->type != REDIS_REPLY_ERROR;
    freeReplyObject(reply);
    if (from)
        fclose(from);
    if (in)
        return conn;
    if (conn)
        redisFree(conn);
    return NULL;
}

typedef struct stack_node {
    int port;
    char dir[256];
    redisContext *conn; /* of the service's user */
} stack_node;

static bool is_logged_in(void *arg)
{
    stack_node *node = arg;
    node->conn = log_in(node->port, node->dir, "flashsale", "redis");
    return node->conn != NULL;
}

/* A node has the password of all nodes in its settings, which the service must not read. */
static void the_service_does_not_read_the_password_of_the_nodes(void **state)
{
    (void)state;
    static const char *const questions[] = {"CONFIG GET masterauth", "CONFIG GET *",
                                            "CONFIG GET appendfsync"};
    stack_node node = {.port = fx_free_port()};
    fx_dir_make(node.dir, sizeof(node.dir));
    fx_process *redis = start_node(node.dir, node.port);
    if (!fx_wait_until(is_logged_in, &node, SOON_MS))
        fail_msg("%s%s", fx_process_stdout(redis), fx_process_stderr(redis));
    for (size_t i = 0; i < COUNT(questions); i++) {
        redisReply *reply = redisCommand(node.conn, questions[i]);
        if (reply->type != REDIS_REPLY_ERROR || strncmp(reply->str, "NOPERM", 6) != 0)
            fail_msg("%s is answered", questions[i]);
        freeReplyObject(reply);
    }
    redisFree(node.conn);
    redisContext *other = log_in(node.port, node.dir, "cluster", "cluster");
    assert_non_null(other); /* the password is there */
    redisFree(other);
    fx_process_free(redis);
    fx_dir_remove(node.dir);
}

/* ---- sentinels ------------------------------------------------------------------------------- */

static bool is_denied(void *member)
{
    redisReply *log = tell((int)(intptr_t)member, "ACL LOG");
    bool denied = log->elements > 0;
    freeReplyObject(log);
    return denied;
}

/* Takes one right after the other away from the service's user, and waits until it is missed. */
static void assert_all_needed(int member, const char *user)
{
    char rights[2048], command[128], *save = NULL;
    snprintf(rights, sizeof(rights), "%s", user);
    for (char *word = strtok_r(rights, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        if (*word != '+' && *word != '&')
            continue;
        if (*word == '+')
            snprintf(command, sizeof(command), "ACL SETUSER flashsale -%s", word + 1);
        else
            snprintf(command, sizeof(command), "ACL SETUSER flashsale resetchannels");
        freeReplyObject(tell(member, "ACL LOG RESET"));
        freeReplyObject(tell(member, command));
        freeReplyObject(tell(member, "CLIENT KILL USER flashsale"));
        if (!fx_wait_until(is_denied, (void *)(intptr_t)member, SOON_MS))
            fail_msg("%s is granted, but nobody misses it", word);
        snprintf(command, sizeof(command), "ACL SETUSER flashsale %s", word);
        freeReplyObject(tell(member, command));
    }
}

static void sentinels_need_these_rights(void **state)
{
    (void)state;
    char user[2048], url[512];
    servers = fx_topology_start("sentinel", NULL);
    read_user("users.acl", SECRET, user, sizeof(user));
    tell_all(false, user);
    read_user("sentinel.acl", SENTINEL_SECRET, user, sizeof(user));
    tell_all(true, user);
    tell_all(false, "CONFIG RESETSTAT");
    write_url("?sentinel_user=flashsale&sentinel_password=" SENTINEL_SECRET, url, sizeof(url));
    fx_server *server = fx.server[0] = fx_server_start(url, NULL);
    sell_with_every_strategy(server);
    assert_nothing_was_denied();
    assert_true(was_called("role"));
    int sentinel = 0;
    while (!fx_topology_is_sentinel(servers, sentinel))
        sentinel++;
    assert_all_needed(sentinel, user);
    assert_true(sells(server)); /* the other sentinels are enough */
    assert_int_equal(fx_server_stop(server), 0);
    fx.server[0] = NULL;
    fx_topology_stop(servers);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_cluster_needs_these_rights),
        cmocka_unit_test(the_service_does_not_read_the_password_of_the_nodes),
        cmocka_unit_test(sentinels_need_these_rights),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
