/* replication.c - parses INFO replication and CLUSTER NODES. */
#include "server/store/replication.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"
#include "server/store/store.h"

enum { WORD_LEN = 320 };

/* ---- INFO replication ------------------------------------------------------------------------ */

/* Lines "slaveN:ip=A,port=P,state=online,offset=O,lag=S". */
void replication_read_info(const redisReply *info, replicas_seen *ret)
{
    char own[24];
    memset(ret, 0, sizeof(*ret));
    if (info->type != REDIS_REPLY_STRING)
        return;
    if (text_line_value(info->str, "master_repl_offset", own, sizeof(own)))
        ret->offset = strtoll(own, NULL, 10);
    for (const char *at = info->str; (at = strstr(at, "\nslave")); at++) {
        char host[WORD_LEN], state[32];
        int port = 0;
        replica_seen one = {.offset = -1};
        int words =
            sscanf(at + 1, "slave%*d:ip=%319[^,],port=%d,state=%31[^,],offset=%" SCNd64 ",lag=%d",
                   host, &port, state, &one.offset, &one.lag_s);
        if (words < 1 || (words > 1 && port == 0))
            continue;
        one.in_step = words == 5 && strcmp(state, "online") == 0 && one.lag_s >= 0 &&
                      one.lag_s <= REPLICA_LAG_S;
        if (words == 1 || ret->count == REPLICA_SET_MAX || !replica_name(host, port, one.name)) {
            ret->more = true;
            continue;
        }
        ret->of[ret->count++] = one;
        ret->in_step += one.in_step;
    }
}

/* ---- CLUSTER NODES --------------------------------------------------------------------------- */

/* "ID HOST:PORT@BUS[,NAME...] FLAG,FLAG... MASTER ..." */
typedef struct row {
    char id[64], at[WORD_LEN], flags[128], master[64];
} row;

static bool read_row(const char *line, row *ret)
{
    return sscanf(line, "%63s %319s %127s %63s", ret->id, ret->at, ret->flags, ret->master) == 4;
}

static bool has_flag(const row *r, const char *flag)
{
    size_t len = strlen(flag);
    for (const char *at = r->flags; at; at = strchr(at, ','), at += at != NULL)
        if (strncmp(at, flag, len) == 0 && (at[len] == ',' || at[len] == '\0'))
            return true;
    return false;
}

/* The last colon before the bus's port is the port's: IPv6 addresses come without brackets. "" =
 * the name is too long. False: the row has no address. */
static bool name_row(row *r, char ret[REPLICA_NAME_LEN])
{
    ret[0] = '\0';
    r->at[strcspn(r->at, "@,")] = '\0';
    char *colon = strrchr(r->at, ':');
    long port = colon ? strtol(colon + 1, NULL, 10) : 0;
    if (port <= 0 || port > 65535 || colon == r->at)
        return false;
    *colon = '\0';
    if (!replica_name(r->at, (int)port, ret))
        ret[0] = '\0';
    return true;
}

/* The next line of the text; NULL behind the last. */
static const char *next_line(const char *at)
{
    at = strchr(at, '\n');
    return at && at[1] != '\0' ? at + 1 : NULL;
}

static bool find_myself(const char *text, row *ret)
{
    for (const char *at = text; at; at = next_line(at))
        if (read_row(at, ret) && has_flag(ret, "myself"))
            return true;
    return false;
}

static void note_row(row *r, replica_claims *ret)
{
    replica_claim one = {.barred = has_flag(r, "nofailover"), .lost = true};
    if (!name_row(r, one.name))
        return;
    if (one.name[0] != '\0' && ret->count < REPLICA_SET_MAX)
        ret->of[ret->count++] = one;
    else
        ret->more = true;
}

static int64_t setting(const redisReply *settings, const char *name, int64_t otherwise)
{
    const char *value = store_field(settings, name);
    char *end;
    long long number = strtoll(value, &end, 10);
    return end != value && *end == '\0' && number >= 0 ? number : otherwise;
}

static int64_t rule_ms(const redisReply *settings)
{
    if (!settings || settings->type != REDIS_REPLY_ARRAY)
        return 0;
    int64_t link_s = setting(settings, "repl-timeout", 60);
    int64_t ping_s = setting(settings, "repl-ping-replica-period", 10);
    int64_t timeout_ms = setting(settings, "cluster-node-timeout", 15000);
    int64_t factor = setting(settings, "cluster-replica-validity-factor", 10);
    return factor > 0 ? (link_s + ping_s) * 1000 + timeout_ms * (1 + factor) : 0;
}

void replication_read_nodes(const redisReply *nodes, const redisReply *settings,
                            replica_claims *ret)
{
    row me, r;
    memset(ret, 0, sizeof(*ret));
    ret->by = PROMOTER_CLUSTER;
    ret->untold = !nodes || nodes->type == REDIS_REPLY_ERROR;
    if (ret->untold || nodes->type != REDIS_REPLY_STRING || !find_myself(nodes->str, &me))
        return;
    ret->told = ret->sure = true;
    ret->rule_ms = rule_ms(settings);
    for (const char *at = nodes->str; at; at = next_line(at))
        if (read_row(at, &r) && has_flag(&r, "slave") && strcmp(r.master, me.id) == 0)
            note_row(&r, ret);
    name_row(&me, ret->primary);
}
