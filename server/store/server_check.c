/* server_check.c - sends a few commands in one pipeline, and interprets the replies. */
#include "server/store/server_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "server/base/text.h"
#include "server/store/probe.lua.h"
#include "server/store/replication.h"
#include "server/store/store.h"

enum { VALUE_MAX = 32 };

#define PROBE_SEND_MS 1000 /* limit for connecting, and for reading what has arrived */
#define PROBE_WAIT_MS 50   /* per look: a server that takes writes mostly answers by then */

static dlock_script script = DLOCK_SCRIPT("probe", "#!lua\n" PROBE_LUA);

/* The user's rights. They are asked for, because Redis logs each refusal. A Redis before 7 does not
 * tell, so it is tried. */
enum { MAY_CONFIG_GET = 1, MAY_WAIT = 2, MAY_ROLE = 4, MAY_CLUSTER_NODES = 8 };
static dlock_script rights =
    DLOCK_SCRIPT("rights", "#!lua flags=no-writes\n"
                           "local may = redis.acl_check_cmd or function() return true end\n"
                           "return (may('CONFIG', 'GET', 'appendfsync') and 1 or 0)\n"
                           "    + (may('WAIT', 0, 0) and 2 or 0)\n"
                           "    + (may('ROLE') and 4 or 0)\n"
                           "    + (may('CLUSTER', 'NODES') and 8 or 0)");

/* The questions up to FIRST are asked at once; the others follow if the user may ask them. */
enum { RIGHTS, PERSISTENCE, MEMORY, REPLICATION, FIRST, CONFIG = FIRST, NODES, QUESTIONS };

static const struct {
    const char *name;
    int type; /* of its answer */
    int right;
    const char *const *words;
} questions[QUESTIONS] = {
    [RIGHTS] = {"the script rights", REDIS_REPLY_INTEGER, 0, NULL},
    [PERSISTENCE] = {"INFO persistence", REDIS_REPLY_STRING, 0, WORDS("INFO", "persistence")},
    [MEMORY] = {"INFO memory", REDIS_REPLY_STRING, 0, WORDS("INFO", "memory")},
    [REPLICATION] = {"INFO replication", REDIS_REPLY_STRING, 0, WORDS("INFO", "replication")},
    [CONFIG] = {"CONFIG GET", REDIS_REPLY_ARRAY, MAY_CONFIG_GET,
                WORDS("CONFIG", "GET", "appendonly", "appendfsync", "no-appendfsync-on-rewrite",
                      REPLICATION_SETTINGS)},
    [NODES] = {"CLUSTER NODES", REDIS_REPLY_STRING, MAY_CLUSTER_NODES, WORDS("CLUSTER", "NODES")},
};

/* ---- complaints ------------------------------------------------------------------------------ */

/* Notes the trouble: with the answer if that is an error, otherwise with this sentence. */
__attribute__((format(printf, 4, 5))) static void
find(server_check *check, store_trouble trouble, const redisReply *answer, const char *format, ...)
{
    va_list args;
    store_complaint *why = &check->why[trouble];
    check->found[trouble] = true;
    va_start(args, format);
    vsnprintf(why->detail, sizeof(why->detail), format, args);
    va_end(args);
    if (answer->type != REDIS_REPLY_ERROR)
        return;
    complain(why, answer->str);
    snprintf(why->detail, sizeof(why->detail), "the server does not tell its settings: %.150s",
             answer->str);
}

static void find_denied(server_check *check, store_trouble trouble, const char *detail)
{
    check->found[trouble] = true;
    complain(&check->why[trouble], detail);
}

/* ---- judging --------------------------------------------------------------------------------- */

static const char *info_value(const redisReply *info, const char *name, char ret[VALUE_MAX])
{
    text_line_value(info->type == REDIS_REPLY_STRING ? info->str : "", name, ret, VALUE_MAX);
    return ret;
}

static bool info_is(const redisReply *info, const char *name, const char *value)
{
    char is[VALUE_MAX];
    return strcmp(info_value(info, name, is), value) == 0;
}

static void judge_disk(server_check *check, const redisReply *config, const redisReply *info,
                       bool had_disk)
{
    bool set = strcmp(store_field(config, "appendonly"), "yes") == 0 &&
               strcmp(store_field(config, "appendfsync"), "always") == 0 &&
               strcmp(store_field(config, "no-appendfsync-on-rewrite"), "no") == 0;
    if (!set)
        find(check, TROUBLE_NO_DISK, config,
             "durability 'disk' needs a Redis with appendonly yes, appendfsync always and "
             "no-appendfsync-on-rewrite no");
    else if (info_is(info, "aof_enabled", "0") || info_is(info, "aof_last_write_status", "err"))
        find(check, TROUBLE_NO_DISK, config,
             "the server's last write to its append-only file failed");
    else if (!had_disk && (info_is(info, "aof_rewrite_in_progress", "1") ||
                           info_is(info, "aof_rewrite_scheduled", "1")))
        find(check, TROUBLE_NO_DISK, config, "the server's append-only file is not whole yet");
}

static void judge_policy(server_check *check, const redisReply *info)
{
    char policy[VALUE_MAX];
    if (!info_is(info, "maxmemory_policy", "noeviction"))
        find(check, TROUBLE_MAY_EVICT, info,
             "the server's maxmemory-policy is '%.30s', which may throw a sale's keys away; it "
             "must be noeviction, or --allow-eviction given",
             info_value(info, "maxmemory_policy", policy));
}

/* INFO counts good replicas only if min-replicas-to-write and -max-lag require some. */
static void judge_replicas(server_check *check, const redisReply *info, int wanted)
{
    check->accepts_alone = info_is(info, "min_slaves_good_slaves", "");
    replication_read_info(info, &check->seen);
    if (check->seen.in_step < wanted)
        find(check, TROUBLE_NO_REPLICAS, info,
             "durability 'replicated' needs %d of the server's replicas online, and it has %d that "
             "acknowledged within %d s: see INFO replication",
             wanted, check->seen.in_step, REPLICA_LAG_S);
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
    check->seen.count = check->seen.in_step = 0;
    find_denied(check, TROUBLE_NO_REPLICAS,
                may(answer, MAY_WAIT)
                    ? "NOPERM this user may not ask for the ROLE, which durability 'replicated' "
                      "needs: grant it +role"
                    : "NOPERM this user may not WAIT, which durability 'replicated' needs: grant "
                      "it +wait");
}

static void judge(server_check *check, redisReply *const answers[QUESTIONS],
                  const server_wish *wish)
{
    const redisReply *config = answers[CONFIG], *mine = answers[RIGHTS];
    bool told = config && config->type != REDIS_REPLY_ERROR;
    if (told)
        judge_disk(check, config, answers[PERSISTENCE], wish->had_disk);
    else if (config || mine->type == REDIS_REPLY_ERROR)
        find(check, TROUBLE_NO_DISK, config ? config : mine, "%s", "");
    else
        find_denied(check, TROUBLE_NO_DISK,
                    "NOPERM this user may not CONFIG GET, which durability 'disk' needs to see "
                    "appendfsync: grant it +config|get where the server's settings hold no "
                    "password");
    judge_policy(check, answers[MEMORY]);
    judge_replicas(check, answers[REPLICATION], wish->min_replicas);
    judge_wait(check, mine);
    if (wish->cluster)
        replication_read_nodes(answers[NODES], config, &check->cluster);
    if (wish->cluster && !told)
        snprintf(check->denied, sizeof(check->denied), "config|get");
}

/* Redis answers everything so while an endless script runs, the settings too. */
static bool is_busy(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, "BUSY ", 5) == 0;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void queue(dlock_redis_conn *conn, int question)
{
    dlock_args args;
    dlock_args_init(&args);
    if (question == RIGHTS)
        dlock_redis_queue_script(conn, &rights, 0, &args, true);
    for (const char *const *word = questions[question].words; word && *word; word++)
        dlock_args_text(&args, *word);
    if (question != RIGHTS)
        dlock_redis_queue(conn, &args);
    dlock_args_free(&args);
}

static bool may_ask(int question, const server_wish *wish, const redisReply *mine)
{
    return question < FIRST ||
           (mine->type != REDIS_REPLY_ERROR && may(mine, questions[question].right) &&
            (question != NODES || wish->cluster));
}

/* Asks the questions from `first` up to `end`. False: an answer is missing, or cannot be one of its
 * command. An error fits every command. */
static bool ask(dlock_redis_conn *conn, int first, int end, const server_wish *wish,
                dlock_time deadline, redisReply *answers[QUESTIONS])
{
    redisReply *got[QUESTIONS] = {NULL};
    int asked[QUESTIONS], count = 0;
    for (int i = first; i < end; i++) {
        if (!may_ask(i, wish, answers[RIGHTS]))
            continue;
        queue(conn, i);
        asked[count++] = i;
    }
    bool good = count == 0 || dlock_redis_answers(conn, deadline, count, got);
    for (int k = 0; good && k < count; k++)
        answers[asked[k]] = got[k];
    for (int k = 0; good && k < count; k++) {
        int i = asked[k];
        bool fits = got[k]->type == REDIS_REPLY_ERROR ||
                    (got[k]->type == questions[i].type && (i != CONFIG || store_is_pairs(got[k])));
        good = dlock_redis_conn_check(conn, questions[i].name, got[k], fits);
    }
    return good;
}

bool server_ask(dlock_redis_conn *conn, const server_wish *wish, dlock_time deadline,
                server_check *ret)
{
    redisReply *answers[QUESTIONS] = {NULL};
    memset(ret, 0, sizeof(*ret));
    bool told = ask(conn, 0, FIRST, wish, deadline, answers) &&
                ask(conn, FIRST, QUESTIONS, wish, deadline, answers);
    for (int i = 0; told && i < QUESTIONS; i++)
        ret->busy = ret->busy || (answers[i] && is_busy(answers[i]));
    if (told && !ret->busy)
        judge(ret, answers, wish);
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

/* Whether the answer, a text or an error, says why the scripts that sell cannot run. */
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

/* Sends the script's text, so it works whatever scripts the server knows. */
static bool send_probe(write_probe *probe, dlock_redis *redis, const fs_node *node, const char *key)
{
    dlock_time deadline = dlock_in_ms(PROBE_SEND_MS);
    if (!node_connect(node, redis, &probe->conn, deadline))
        return false;
    dlock_args args = store_words(WORDS(key));
    dlock_redis_queue_script(probe->conn, &script, 1, &args, true);
    dlock_args_free(&args);
    probe->sent = dlock_now();
    probe->out = dlock_redis_flush(probe->conn, deadline) == DLOCK_REDIS_OK;
    return probe->out;
}

/* Reads what has arrived: an answer, or the connection's end. False: that says nothing. */
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
    write_probe_drop(probe); /* this connection may be dead: the next probe has a new one */
    node_note_pause(
        node, &(store_complaint){.detail = "Redis answers questions, and no write for a second: "
                                           "CLIENT PAUSE ... WRITE, or a failover that is under "
                                           "way; CLIENT UNPAUSE ends it"});
    return true;
}
