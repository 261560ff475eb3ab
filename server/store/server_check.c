/* server_check.c - a few questions in one go, and what their answers mean. */
#include "server/store/server_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/store/probe.lua.h"
#include "server/store/replication.h"
#include "server/store/store.h"

enum { RIGHTS, PERSISTENCE, MEMORY, REPLICATION, CONFIG, NODES, QUESTIONS };
enum { FIRST = CONFIG }; /* so many at once; the others follow where this user may */
enum { VALUE_MAX = 32 };

#define PROBE_SEND_MS 1000 /* for a connection, and for what there is to read */
#define PROBE_WAIT_MS 50   /* at each look: a server that takes writes answers by then mostly */

#define PAUSED_DETAIL                                                                              \
    "Redis answers questions, and no write for a second: CLIENT PAUSE ... WRITE, or a failover "   \
    "that is under way; CLIENT UNPAUSE ends it"

static dlock_script script = DLOCK_SCRIPT("probe", "#!lua\n" PROBE_LUA);

/* What this user may; a Redis before 7 does not say, and is tried. Rather than to try everywhere:
 * Redis would log each refusal. */
enum { MAY_CONFIG_GET = 1, MAY_WAIT = 2, MAY_ROLE = 4, MAY_CLUSTER_NODES = 8 };
static dlock_script rights =
    DLOCK_SCRIPT("rights", "#!lua flags=no-writes\n"
                           "local may = redis.acl_check_cmd or function() return true end\n"
                           "return (may('CONFIG', 'GET', 'appendfsync') and 1 or 0)\n"
                           "    + (may('WAIT', 0, 0) and 2 or 0)\n"
                           "    + (may('ROLE') and 4 or 0)\n"
                           "    + (may('CLUSTER', 'NODES') and 8 or 0)");

static const char *const settings[] = {
    "CONFIG", "GET", "appendonly", "appendfsync", "no-appendfsync-on-rewrite", REPLICATION_SETTINGS,
    NULL};
static const char *const persistence[] = {"INFO", "persistence", NULL};
static const char *const memory[] = {"INFO", "memory", NULL};
static const char *const replication[] = {"INFO", "replication", NULL};
static const char *const nodes[] = {"CLUSTER", "NODES", NULL};

/* ---- complaints ------------------------------------------------------------------------------ */

/* The answer is a refusal, or what it says is `what`. */
static void find(server_check *check, store_trouble trouble, const redisReply *answer,
                 const char *what)
{
    store_complaint *why = &check->why[trouble];
    bool refused = answer->type == REDIS_REPLY_ERROR;
    check->found[trouble] = true;
    snprintf(why->detail, sizeof(why->detail), "%s", what);
    if (refused)
        complain(why, answer->str);
    if (refused)
        snprintf(why->detail, sizeof(why->detail), "the server does not tell its settings: %.150s",
                 answer->str);
}

/* ---- judging --------------------------------------------------------------------------------- */

/* The value behind "name:" in INFO, up to the end of its line; "" = not there. */
static const char *info_value(const redisReply *info, const char *name, char ret[VALUE_MAX])
{
    const char *at = info->type == REDIS_REPLY_STRING ? info->str : "";
    size_t len = strlen(name);
    ret[0] = '\0';
    while ((at = strstr(at, name)) && (at[len] != ':' || (at > info->str && at[-1] != '\n')))
        at += len;
    if (at)
        snprintf(ret, VALUE_MAX, "%.*s", (int)strcspn(at + len + 1, "\r\n"), at + len + 1);
    return ret;
}

/* This user may not CONFIG GET, or the server does not say whether. */
static void find_untold(server_check *check, const redisReply *answer)
{
    if (answer->type == REDIS_REPLY_ERROR) {
        find(check, TROUBLE_NO_DISK, answer, "");
        return;
    }
    check->found[TROUBLE_NO_DISK] = true;
    complain(&check->why[TROUBLE_NO_DISK],
             "NOPERM this user may not CONFIG GET, which durability 'disk' needs to see "
             "appendfsync: grant it +config|get where the server's settings hold no password");
}

static void judge_disk(server_check *check, const redisReply *config, const redisReply *info,
                       bool had_disk)
{
    char value[VALUE_MAX];
    bool set = strcmp(store_field(config, "appendonly"), "yes") == 0 &&
               strcmp(store_field(config, "appendfsync"), "always") == 0 &&
               strcmp(store_field(config, "no-appendfsync-on-rewrite"), "no") == 0;
    bool off = strcmp(info_value(info, "aof_enabled", value), "0") == 0;
    bool failed = strcmp(info_value(info, "aof_last_write_status", value), "err") == 0;
    bool rewrites = strcmp(info_value(info, "aof_rewrite_in_progress", value), "1") == 0 ||
                    strcmp(info_value(info, "aof_rewrite_scheduled", value), "1") == 0;
    if (!set)
        find(check, TROUBLE_NO_DISK, config,
             "durability 'disk' needs a Redis with appendonly yes, appendfsync always and "
             "no-appendfsync-on-rewrite no");
    else if (off || failed)
        find(check, TROUBLE_NO_DISK, config,
             "the server's last write to its append-only file failed");
    else if (rewrites && !had_disk)
        find(check, TROUBLE_NO_DISK, config, "the server's append-only file is not whole yet");
}

static void judge_policy(server_check *check, const redisReply *info)
{
    char detail[200], policy[VALUE_MAX];
    info_value(info, "maxmemory_policy", policy);
    if (strcmp(policy, "noeviction") == 0)
        return;
    snprintf(
        detail, sizeof(detail),
        "the server's maxmemory-policy is '%.30s', which may throw a sale's keys away; it must "
        "be noeviction, or --allow-eviction given",
        policy);
    find(check, TROUBLE_MAY_EVICT, info, detail);
}

/* INFO counts the good replicas only where some are required: min-replicas-to-write and -max-lag.
 */
static void judge_replicas(server_check *check, const redisReply *info, int wanted)
{
    char detail[200], good[VALUE_MAX];
    check->accepts_alone = info_value(info, "min_slaves_good_slaves", good)[0] == '\0';
    replication_read_info(info, &check->seen);
    check->replicas = replication_in_step(&check->seen);
    if (check->replicas >= wanted)
        return;
    snprintf(detail, sizeof(detail),
             "durability 'replicated' needs %d of the server's replicas online, and it has %d that "
             "acknowledged within %d s: see INFO replication",
             wanted, check->replicas, REPLICA_LAG_S);
    find(check, TROUBLE_NO_REPLICAS, info, detail);
}

static bool may(const redisReply *answer, int right)
{
    return answer->type != REDIS_REPLY_INTEGER || (answer->integer & right) != 0;
}

/* Only durability `replicated` needs them. */
static void judge_wait(server_check *check, const redisReply *answer)
{
    if (may(answer, MAY_WAIT) && may(answer, MAY_ROLE))
        return;
    check->replicas = 0;
    check->seen.count = 0;
    check->found[TROUBLE_NO_REPLICAS] = true;
    complain(
        &check->why[TROUBLE_NO_REPLICAS],
        may(answer, MAY_WAIT)
            ? "NOPERM this user may not ask for the ROLE, which durability 'replicated' needs: "
              "grant it +role"
            : "NOPERM this user may not WAIT, which durability 'replicated' needs: grant it +wait");
}

static void judge_settings(server_check *check, redisReply *const answers[QUESTIONS],
                           const server_wish *wish)
{
    const redisReply *config = answers[CONFIG];
    if (!config || config->type == REDIS_REPLY_ERROR)
        find_untold(check, config ? config : answers[RIGHTS]);
    else
        judge_disk(check, config, answers[PERSISTENCE], wish->had_disk);
    judge_policy(check, answers[MEMORY]);
    judge_replicas(check, answers[REPLICATION], wish->min_replicas);
    judge_wait(check, answers[RIGHTS]);
    if (!wish->cluster)
        return;
    replication_read_nodes(answers[NODES], config, &check->cluster);
    if (!config || config->type == REDIS_REPLY_ERROR)
        snprintf(check->denied, sizeof(check->denied), "config|get");
}

/* While a script runs without end everything is answered so, the settings too. */
static bool is_busy(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY ", 5) == 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void queue(dlock_redis_conn *conn, const char *const *words)
{
    dlock_args args;
    dlock_args_init(&args);
    for (; *words; words++)
        dlock_args_text(&args, *words);
    dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

/* Whether each answer is one that its command can have. An error is, too. */
static bool are_ours(dlock_redis_conn *conn, redisReply *const answers[QUESTIONS], int first,
                     int end)
{
    static const struct {
        const char *command;
        int type;
    } each[QUESTIONS] = {
        [RIGHTS] = {"the script rights", REDIS_REPLY_INTEGER},
        [PERSISTENCE] = {"INFO persistence", REDIS_REPLY_STRING},
        [MEMORY] = {"INFO memory", REDIS_REPLY_STRING},
        [REPLICATION] = {"INFO replication", REDIS_REPLY_STRING},
        [CONFIG] = {"CONFIG GET", REDIS_REPLY_ARRAY},
        [NODES] = {"CLUSTER NODES", REDIS_REPLY_STRING},
    };
    bool good = true;
    for (int i = first; good && i < end; i++) {
        if (!answers[i])
            continue;
        int type = answers[i]->type;
        bool fits = type == REDIS_REPLY_ERROR ||
                    (type == each[i].type && (i != CONFIG || store_is_pairs(answers[i])));
        good = dlock_redis_conn_check(conn, each[i].command, answers[i], fits);
    }
    return good;
}

/* What every user may ask. */
static bool ask_first(dlock_redis_conn *conn, dlock_time deadline, redisReply *answers[QUESTIONS])
{
    dlock_args none;
    dlock_args_init(&none);
    dlock_redis_queue_script(conn, &rights, 0, &none, true);
    dlock_args_free(&none);
    queue(conn, persistence);
    queue(conn, memory);
    queue(conn, replication);
    return dlock_redis_answers(conn, deadline, FIRST, answers) && are_ours(conn, answers, 0, FIRST);
}

/* The rest, as far as this user may. */
static bool ask_settings(dlock_redis_conn *conn, const server_wish *wish, dlock_time deadline,
                         redisReply *answers[QUESTIONS])
{
    const redisReply *mine = answers[RIGHTS];
    bool told = mine->type != REDIS_REPLY_ERROR;
    bool ask_config = told && may(mine, MAY_CONFIG_GET);
    bool ask_nodes = told && wish->cluster && may(mine, MAY_CLUSTER_NODES);
    redisReply *asked[2] = {NULL};
    int count = ask_config + ask_nodes;
    if (ask_config)
        queue(conn, settings);
    if (ask_nodes)
        queue(conn, nodes);
    if (count > 0 && !dlock_redis_answers(conn, deadline, count, asked))
        return false;
    answers[CONFIG] = ask_config ? asked[0] : NULL;
    answers[NODES] = ask_nodes ? asked[count - 1] : NULL;
    return are_ours(conn, answers, CONFIG, QUESTIONS);
}

bool server_ask(dlock_redis_conn *conn, const server_wish *wish, dlock_time deadline,
                server_check *ret)
{
    redisReply *answers[QUESTIONS] = {NULL};
    memset(ret, 0, sizeof(*ret));
    bool told = ask_first(conn, deadline, answers) && ask_settings(conn, wish, deadline, answers);
    for (int i = 0; told && i < QUESTIONS; i++)
        ret->busy = ret->busy || (answers[i] && is_busy(answers[i]));
    if (told && !ret->busy)
        judge_settings(ret, answers, wish);
    for (int i = 0; i < QUESTIONS; i++)
        freeReplyObject(answers[i]);
    return told;
}

/* ---- whether it takes writes ----------------------------------------------------------------- */

/* In a cluster: the key is elsewhere, which says nothing against the server. */
static bool is_redirection(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           (strncmp(reply->str, "MOVED ", 6) == 0 || strncmp(reply->str, "ASK ", 4) == 0);
}

/* What the answer, a text or an error, says against the scripts that sell. False: nothing. */
static bool judge_probe(const redisReply *reply, store_complaint *why)
{
    char detail[100];
    if (is_redirection(reply) || reply->len == 0)
        return false;
    snprintf(detail, sizeof(detail),
             "NOPERM this user may not %.20s: grant it what docker/users.acl does", reply->str);
    complain(why, reply->type == REDIS_REPLY_ERROR ? reply->str : detail);
    return true;
}

/* An error, or the name of a command, or nothing. */
static bool is_probed(const redisReply *reply)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return reply->type == REDIS_REPLY_ERROR ||
           (reply->type == REDIS_REPLY_STRING && strspn(reply->str, letters) == reply->len);
}

void write_probe_drop(write_probe *probe)
{
    dlock_redis_hang_up(probe->conn);
    *probe = (write_probe){.conn = NULL};
}

/* By its text, so that it works whatever scripts the server knows. */
static bool send_probe(write_probe *probe, dlock_redis *redis, const fs_node *node, const char *key)
{
    dlock_args args;
    dlock_time deadline = dlock_in_ms(PROBE_SEND_MS);
    if (!node_connect(node, redis, &probe->conn, deadline))
        return false;
    dlock_args_init(&args);
    dlock_args_text(&args, key);
    dlock_redis_queue_script(probe->conn, &script, 1, &args, true);
    dlock_args_free(&args);
    probe->sent = dlock_now();
    probe->out = dlock_redis_flush(probe->conn, deadline) == DLOCK_REDIS_OK;
    return probe->out;
}

/* What there is to read, an answer or the connection's end. False: that says nothing. */
static bool read_probe(write_probe *probe, fs_node *node)
{
    store_complaint why;
    redisReply *reply = NULL;
    probe->out = false;
    dlock_redis_outcome outcome = dlock_redis_read(probe->conn, dlock_in_ms(PROBE_SEND_MS), &reply);
    bool told = outcome != DLOCK_REDIS_UNKNOWN && reply &&
                dlock_redis_conn_check(probe->conn, "the script probe", reply, is_probed(reply));
    if (told) {
        node_note_pause(node, NULL);
        health_note(&node->health, TROUBLE_REFUSES, judge_probe(reply, &why) ? &why : NULL);
    }
    freeReplyObject(reply);
    return told;
}

bool write_probe_look(write_probe *probe, dlock_redis *redis, fs_node *node, const char *key)
{
    if (probe->out && dlock_redis_broken(probe->conn))
        write_probe_drop(probe);
    if (!probe->out && !send_probe(probe, redis, node, key))
        return false;
    if (dlock_redis_wait(probe->conn, dlock_in_ms(PROBE_WAIT_MS)))
        return read_probe(probe, node);
    if (!node_reachable(node) || dlock_now().us - probe->sent.us < PROBE_MS * 1000)
        return false;
    write_probe_drop(probe); /* the next one has a new connection: this one may be dead */
    node_note_pause(node, &(store_complaint){.detail = PAUSED_DETAIL});
    return true;
}
