/* route.c - what is said to a topology's members: commands to where they belong, who is
 * the primary, whether all agree. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "tests/support/redis/topology_private.h"

enum { HOPS_MAX = 8, ARGV_MAX = 6, FAILOVER_MS = 30000 };

/* ---- one command to one member --------------------------------------------------------------- */

/* A command as it goes over the line, and its first words. */
typedef struct command {
    char *line;
    int line_len;
    int argc; /* of the whole command */
    struct {
        const char *text; /* not terminated (borrowed of line) */
        int len;
    } word[ARGV_MAX];
} command;

/* Takes the words of "*N\r\n$LEN\r\nWORD\r\n..." apart. */
static command make(const char *format, va_list args)
{
    command c = {0};
    c.line_len = redisvFormatCommand(&c.line, format, args);
    if (c.line_len <= 0)
        fail_msg("no Redis command: %s", format);
    c.argc = (int)strtol(c.line + 1, NULL, 10);
    char *at = strchr(c.line, '\n') + 1;
    for (int i = 0; i < c.argc && i < ARGV_MAX; i++) {
        c.word[i].len = (int)strtol(at + 1, NULL, 10);
        c.word[i].text = strchr(at, '\n') + 1;
        at = (char *)c.word[i].text + c.word[i].len + 2;
    }
    return c;
}

static bool word_is(const command *c, int word, const char *text)
{
    return word < c->argc && c->word[word].len == (int)strlen(text) &&
           strncasecmp(c->word[word].text, text, strlen(text)) == 0;
}

static redisReply *send_to(fx_topology *t, int member, const command *c)
{
    void *reply = NULL;
    redisContext *ctx = fx_topology_ctx(t, member);
    if (!ctx || redisAppendFormattedCommand(ctx, c->line, (size_t)c->line_len) != REDIS_OK)
        return NULL;
    return redisGetReply(ctx, &reply) == REDIS_OK ? reply : NULL;
}

redisReply *fx_topology_ask(fx_topology *t, int member, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    command c = make(format, args);
    va_end(args);
    redisReply *reply = send_to(t, member, &c);
    redisFreeCommand(c.line);
    return reply;
}

/* Whether the reply is an error that begins with the word. */
static bool is_error(const redisReply *reply, const char *word)
{
    return reply && reply->type == REDIS_REPLY_ERROR &&
           strncmp(reply->str, word, strlen(word)) == 0;
}

/* ---- who is the primary ---------------------------------------------------------------------- */

static int member_at(const fx_topology *t, int port)
{
    for (int i = 0; i < t->size; i++)
        if (t->member[i].port == port)
            return i;
    return -1;
}

static bool is_server(const fx_topology *t, int member)
{
    return !t->member[member].is_sentinel && fx_member_is_there(&t->member[member]);
}

/* "master" or "slave" in word 0 of ROLE; of a replica also whether its link is up. */
static bool has_role(fx_topology *t, int member, const char *role, const char *link)
{
    redisReply *reply = is_server(t, member) ? fx_topology_ask(t, member, "ROLE") : NULL;
    bool yes = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements >= 3 &&
               strcmp(reply->element[0]->str, role) == 0;
    if (yes && link)
        yes = reply->elements >= 4 && strcmp(reply->element[3]->str, link) == 0;
    freeReplyObject(reply);
    return yes;
}

/* A number in a text of lines "name:number", as INFO has it; -1 = none. */
static long long number_in(const redisReply *reply, const char *name)
{
    const char *at = reply && reply->str ? strstr(reply->str, name) : NULL;
    return at && at[strlen(name)] == ':' ? strtoll(at + strlen(name) + 1, NULL, 10) : -1;
}

/* Of those that take themselves for the key's primary the one that was made it last. */
static int primary_of_slot(fx_topology *t, const char *key)
{
    int found = -1;
    long long newest = -1;
    for (int i = 0; i < t->size; i++) {
        if (!has_role(t, i, "master", NULL))
            continue;
        redisReply *exists = fx_topology_ask(t, i, "EXISTS %s", key);
        redisReply *info = fx_topology_ask(t, i, "CLUSTER INFO");
        long long epoch = number_in(info, "cluster_my_epoch");
        if (exists && exists->type == REDIS_REPLY_INTEGER && epoch > newest) {
            newest = epoch;
            found = i;
        }
        freeReplyObject(exists);
        freeReplyObject(info);
    }
    return found;
}

/* The member that this sentinel takes for the primary, -1 = none. */
static int primary_of_sentinel(fx_topology *t, int sentinel)
{
    redisReply *reply = fx_topology_ask(t, sentinel, "SENTINEL GET-MASTER-ADDR-BY-NAME mymaster");
    int port = reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2
                   ? (int)strtol(reply->element[1]->str, NULL, 10)
                   : 0;
    freeReplyObject(reply);
    return member_at(t, port);
}

int fx_topology_primary(fx_topology *t, const char *key)
{
    if (key && strcmp(t->kind, "cluster") == 0)
        return primary_of_slot(t, key);
    bool by_sentinels = strcmp(t->kind, "sentinel") == 0;
    for (int i = 0; i < t->size; i++) {
        if (by_sentinels && !t->member[i].is_sentinel)
            continue;
        int primary = by_sentinels ? primary_of_sentinel(t, i) : i;
        if (primary >= 0 && has_role(t, primary, "master", NULL))
            return primary;
    }
    return -1;
}

typedef struct search {
    fx_topology *t;
    const char *key;
    int old, found;
} search;

static bool has_next_primary(void *arg)
{
    search *s = arg;
    s->found = fx_topology_primary(s->t, s->key);
    return s->found >= 0 && s->found != s->old;
}

int fx_topology_next_primary(fx_topology *t, const char *key, int old, int deadline_ms)
{
    search s = {.t = t, .key = key, .old = old};
    if (!fx_wait_until(has_next_primary, &s, deadline_ms))
        fail_msg("%s: no primary of '%s' but the member %d in %d ms", t->kind, key ? key : "", old,
                 deadline_ms);
    return s.found;
}

/* ---- whether all agree ----------------------------------------------------------------------- */

static bool node_agrees(fx_topology *t, int member)
{
    redisReply *info = fx_topology_ask(t, member, "CLUSTER INFO");
    bool yes = info && info->str && strstr(info->str, "cluster_state:ok") &&
               number_in(info, "cluster_slots_ok") == 16384;
    freeReplyObject(info);
    return yes;
}

/* The replicas that a primary has on line. */
static int online_replicas(fx_topology *t, int member)
{
    int count = 0;
    redisReply *info = fx_topology_ask(t, member, "INFO replication");
    for (const char *at = info ? info->str : NULL; at && (at = strstr(at, "state=online")); at++)
        count++;
    freeReplyObject(info);
    return count;
}

static bool is_settled(void *arg)
{
    fx_topology *t = arg;
    bool is_cluster = strcmp(t->kind, "cluster") == 0;
    int primaries = 0, replicas = 0, online = 0, primary = -1;
    for (int i = 0; i < t->size; i++) {
        if (!is_server(t, i))
            continue;
        if (is_cluster && !node_agrees(t, i))
            return false;
        if (has_role(t, i, "master", NULL)) {
            primaries++;
            primary = i;
            online += online_replicas(t, i);
        } else if (has_role(t, i, "slave", "connected")) {
            replicas++;
        } else {
            return false;
        }
    }
    if (strcmp(t->kind, "quorum") == 0)
        return true;
    for (int i = 0; i < t->size; i++)
        if (t->member[i].is_sentinel && fx_member_is_there(&t->member[i]) &&
            primary_of_sentinel(t, i) != primary)
            return false;
    return primaries == (is_cluster ? 3 : 1) && online == replicas;
}

void fx_topology_settle(fx_topology *t, int deadline_ms)
{
    if (!fx_wait_until(is_settled, t, deadline_ms))
        fail_msg("the members of the %s do not agree within %d ms", t->kind, deadline_ms);
}

/* ---- commands to where they belong ----------------------------------------------------------- */

typedef enum command_scope {
    ONE_KEY,
    ONE_PRIMARY,
    SUM_OF_PRIMARIES,
    ALL_PRIMARIES,
    ALL_SERVERS
} command_scope;

static command_scope scope_of(const command *c)
{
    static const struct {
        const char *name;
        command_scope scope;
    } keyless[] = {
        {"KEYS", ALL_PRIMARIES},   {"DBSIZE", ALL_PRIMARIES}, {"FLUSHALL", ALL_PRIMARIES},
        {"SCRIPT", ALL_PRIMARIES}, {"INFO", ALL_PRIMARIES},   {"CLIENT", ALL_PRIMARIES},
        {"SAVE", ALL_PRIMARIES},   {"BGSAVE", ALL_PRIMARIES}, {"CONFIG", ALL_SERVERS},
        {"ACL", ALL_SERVERS},      {"PING", ONE_PRIMARY},     {"TIME", ONE_PRIMARY},
        {"PUBLISH", ONE_PRIMARY},  {"PUBSUB", ONE_PRIMARY},   {"ROLE", ONE_PRIMARY},
        {"WAIT", ONE_PRIMARY},     {"CLUSTER", ONE_PRIMARY},
    };
    for (size_t i = 0; i < COUNT(keyless); i++)
        if (word_is(c, 0, keyless[i].name))
            return keyless[i].scope;
    bool is_script = word_is(c, 0, "EVAL") || word_is(c, 0, "EVALSHA");
    return c->argc < 2 || (is_script && word_is(c, 2, "0")) ? ONE_PRIMARY : ONE_KEY;
}

/* Adds what another has answered, and frees it: numbers are added up, lists and texts joined; of
 * the rest the last, but an error stays. */
static redisReply *join(redisReply *sum, redisReply *next)
{
    if (!sum || !next || sum->type != next->type) {
        freeReplyObject(next ? sum : NULL);
        return next ? next : sum;
    }
    if (sum->type == REDIS_REPLY_INTEGER) {
        sum->integer += next->integer;
    } else if (sum->type == REDIS_REPLY_STRING) {
        sum->str = realloc(sum->str, sum->len + next->len + 1);
        assert_non_null(sum->str);
        memcpy(sum->str + sum->len, next->str, next->len + 1);
        sum->len += next->len;
    } else if (sum->type == REDIS_REPLY_ARRAY && next->elements > 0) {
        size_t all = sum->elements + next->elements;
        sum->element = realloc(sum->element, all * sizeof(*sum->element));
        assert_non_null(sum->element);
        for (size_t i = 0; i < next->elements; i++) {
            sum->element[sum->elements + i] = next->element[i];
            next->element[i] = NULL;
        }
        sum->elements = all;
    }
    freeReplyObject(next);
    return sum;
}

static redisReply *send_to_all(fx_topology *t, const command *c, command_scope scope)
{
    redisReply *all = NULL;
    for (int i = 0; i < t->size && !is_error(all, ""); i++) {
        if (scope == ALL_SERVERS ? !is_server(t, i) : !has_role(t, i, "master", NULL))
            continue;
        all = join(all, send_to(t, i, c));
    }
    return all;
}

typedef struct errand {
    fx_topology *t;
    const command *command;
    redisReply *reply;
} errand;

/* Follows the members' MOVED and ASK once; true when the one it is led to has done it, or refused
 * it for good. Just after a failover some still lead to the one that is gone. */
static bool is_done(void *arg)
{
    errand *e = arg;
    fx_topology *t = e->t;
    const command *c = e->command;
    int member = fx_topology_primary(t, NULL);
    redisReply *reply = member < 0 ? NULL : send_to(t, member, c);
    for (int hop = 0; hop < HOPS_MAX && (is_error(reply, "MOVED ") || is_error(reply, "ASK "));
         hop++) {
        bool ask = is_error(reply, "ASK ");
        const char *port = strrchr(reply->str, ':');
        member = port ? member_at(t, (int)strtol(port + 1, NULL, 10)) : -1;
        freeReplyObject(reply);
        if (member >= 0 && ask)
            freeReplyObject(fx_topology_ask(t, member, "ASKING"));
        reply = member < 0 ? NULL : send_to(t, member, c);
    }
    bool passes = is_error(reply, "MOVED ") || is_error(reply, "CLUSTERDOWN ") ||
                  is_error(reply, "TRYAGAIN ") || is_error(reply, "READONLY ");
    freeReplyObject(e->reply);
    e->reply = reply;
    return reply && !passes;
}

static redisReply *send_by_key(fx_topology *t, const command *c)
{
    errand e = {.t = t, .command = c};
    fx_wait_until(is_done, &e, FAILOVER_MS);
    return e.reply;
}

redisReply *fx_topology_command(fx_topology *t, const char *format, va_list args)
{
    command c = make(format, args);
    command_scope scope = scope_of(&c);
    redisReply *reply = NULL;
    if (scope == ONE_KEY) {
        reply = send_by_key(t, &c);
    } else if (scope == ONE_PRIMARY) {
        int primary = fx_topology_primary(t, NULL);
        reply = primary < 0 ? NULL : send_to(t, primary, &c);
    } else {
        reply = send_to_all(t, &c, scope);
    }
    if (!reply)
        fail_msg("%s: no member of the %s has answered: %s", format, t->kind, t->url);
    redisFreeCommand(c.line);
    return reply;
}
