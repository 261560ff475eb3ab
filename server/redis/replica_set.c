/* replica_set.c - which replicas join and leave the set, and whether a ROLE confirms all of them.
 */
#include "server/redis/replica_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/base/text.h"

#define FORGOTTEN_MS 3000 /* so old may the list be in which it is missing */
#define STANDS_MS    (REPLICA_LAG_S * 1000)
#define SLACK_MS     500 /* beyond the rule's time: two clocks, and the way of an answer */

bool replica_name(const char *host, int port, char ret[REPLICA_NAME_LEN])
{
    const char *format = strchr(host, ':') ? "[%s]:%d" : "%s:%d";
    return snprintf(ret, REPLICA_NAME_LEN, format, host, port) < REPLICA_NAME_LEN;
}

/* ---- members --------------------------------------------------------------------------------- */

/* Names of hosts do not tell upper from lower case. */
static bool is_named(const char *a, const char *b)
{
    return strcasecmp(a, b) == 0;
}

static replica_member *find(replica_set *set, const char *name)
{
    for (int i = 0; i < set->count; i++)
        if (is_named(set->members[i].name, name))
            return &set->members[i];
    return NULL;
}

/* The member of this name; made now if there is none. NULL: there are too many, which is noted. */
static replica_member *meet(replica_set *set, const char *name, dlock_time now, bool required)
{
    replica_member *m = find(set, name);
    if (m)
        return m;
    if (set->count == REPLICA_SET_MAX) {
        set->more = true;
        return NULL;
    }
    m = &set->members[set->count++];
    *m = (replica_member){.since = now, .listed_at = now, .required = required};
    snprintf(m->name, sizeof(m->name), "%s", name);
    return m;
}

static void drop(replica_set *set, replica_member *m)
{
    *m = set->members[--set->count];
}

/* ---- its life -------------------------------------------------------------------------------- */

void replica_set_init(replica_set *set)
{
    memset(set, 0, sizeof(*set));
    pthread_mutex_init(&set->lock, NULL);
    replica_set_forget(set);
}

void replica_set_free(replica_set *set)
{
    pthread_mutex_destroy(&set->lock);
}

void replica_set_forget(replica_set *set)
{
    pthread_mutex_lock(&set->lock);
    set->known = false;
    set->count = 0;
    set->primary[0] = '\0';
    atomic_store(&set->in_step, 0);
    atomic_store(&set->missing, true);
    pthread_mutex_unlock(&set->lock);
}

/* ---- a look ---------------------------------------------------------------------------------- */

static void require(replica_member *m, bool required, const char *why, replica_changes *changes)
{
    if (m->required == required)
        return;
    m->required = required;
    if (changes->count == REPLICA_SET_MAX)
        return;
    replica_change *c = &changes->of[changes->count++];
    *c = (replica_change){.joined = required, .why = why};
    snprintf(c->name, sizeof(c->name), "%s", m->name);
}

/* After a failover the primary before is a replica, or will be when it is back. Whom it had as
 * excused may have followed another one since. */
static void note_primary(replica_set *set, const replica_claims *claims, dlock_time now,
                         replica_changes *changes)
{
    char before[REPLICA_NAME_LEN];
    if (claims->primary[0] == '\0' || is_named(claims->primary, set->primary))
        return;
    memcpy(before, set->primary, sizeof(before));
    memcpy(set->primary, claims->primary, sizeof(set->primary));
    replica_member *m = find(set, set->primary);
    if (m)
        drop(set, m);
    if (before[0] == '\0' || claims->by != PROMOTER_SENTINEL)
        return;
    m = meet(set, before, now, false);
    if (m)
        m->since = now;
    for (int i = 0; i < set->count; i++)
        require(&set->members[i], true, "the primary is another one", changes);
}

/* A paused replica acknowledges on, and always the same offset. By looks of ours: a server whose
 * own offset is the replica's has written nothing that it lacks. */
static void note_offset(replica_member *m, int64_t offset, int64_t primary, dlock_time now)
{
    if (offset < 0 || offset >= primary)
        m->stands_at = (dlock_time){0};
    else if (offset != m->offset || m->stands_at.us == 0)
        m->stands_at = now;
    m->offset = offset;
}

/* The last acknowledgement is lag_s old, rounded. */
static void note_seen(replica_set *set, const replicas_seen *seen, dlock_time now)
{
    for (int i = 0; i < set->count; i++)
        set->members[i].in_step = set->members[i].stands = set->members[i].connected = false;
    for (int i = 0; i < seen->count; i++) {
        const replica_seen *one = &seen->of[i];
        replica_member *m = meet(set, one->name, now, false);
        if (!m)
            continue;
        note_offset(m, one->offset, seen->offset, now);
        m->connected = true;
        m->stands = one->in_step && m->stands_at.us > 0 &&
                    now.us - m->stands_at.us > STANDS_MS * INT64_C(1000);
        m->in_step = one->in_step && !m->stands;
        int64_t ago_us = one->lag_s > 0 ? (one->lag_s - 1) * INT64_C(1000000) : 0;
        if (one->in_step)
            m->since.us = now.us - ago_us;
    }
}

/* Takes in what one list says of it; until the set is known each that is listed is required. */
static void note_claim(replica_member *m, const replica_claim *one, bool known)
{
    m->required = m->required || !known;
    m->listed = true;
    m->freed = m->barred && !one->barred;
    m->barred = one->barred;
    m->fit = one->fit;
    m->lost = one->lost;
}

static void note_listed(replica_set *set, const replica_claims *claims, dlock_time now)
{
    for (int i = 0; claims->told && i < set->count; i++) {
        replica_member *m = &set->members[i];
        m->listed = m->fit = m->freed = m->lost = false;
    }
    for (int i = 0; claims->told && i < claims->count; i++) {
        const replica_claim *one = &claims->of[i];
        replica_member *m =
            is_named(one->name, set->primary) ? NULL : meet(set, one->name, now, false);
        if (m)
            note_claim(m, one, set->known);
    }
    for (int i = 0; i < set->count; i++) {
        replica_member *m = &set->members[i];
        m->barred = m->barred && m->listed;
        if (m->listed || !claims->told || !claims->sure)
            m->listed_at = now;
    }
}

/* Why a required member leaves the set; NULL: it stays. */
static const char *may_leave(const replica_member *m, const replica_claims *claims, dlock_time now)
{
    int64_t away_ms = (now.us - m->since.us) / 1000;
    if (claims->by == PROMOTER_NONE)
        return m->in_step ? NULL : "it is out of step, and nothing promotes it automatically";
    if (!claims->told || claims->untold)
        return NULL;
    if ((now.us - m->listed_at.us) / 1000 > FORGOTTEN_MS)
        return "what promotes replicas does not know it";
    if (!m->in_step && m->lost && claims->rule_ms > 0 && away_ms > claims->rule_ms + SLACK_MS)
        return "it was away too long to be promoted";
    return NULL;
}

/* Whether the missing replicas may be in step under names that are not listed. */
static bool names_differ(const replica_set *set)
{
    int missing = 0, unlisted = 0;
    for (int i = 0; i < set->count; i++) {
        const replica_member *m = &set->members[i];
        missing += m->required && !m->in_step;
        unlisted += m->in_step && !m->listed;
    }
    return set->known && set->by != PROMOTER_NONE && unlisted > 0 && unlisted <= missing;
}

static void judge_member(replica_member *m, const replica_claims *claims, bool differ,
                         dlock_time now, replica_changes *changes)
{
    const char *leaves = differ && m->listed ? NULL : may_leave(m, claims, now);
    bool known = m->listed || !claims->told || !claims->sure;
    if (m->barred)
        require(m, false, "its priority is 0: it is never promoted", changes);
    else if (leaves)
        require(m, false, leaves, changes);
    else if (m->in_step && known)
        require(m, true, "it is in step", changes);
    else if (m->fit || m->freed || (m->stands && known))
        require(m, true, "it may be promoted", changes);
}

static void judge(replica_set *set, const replica_claims *claims, dlock_time now,
                  replica_changes *changes)
{
    int in_step = 0;
    bool missing = !set->known || set->more, differ = names_differ(set);
    for (int i = set->count - 1; i >= 0; i--) {
        replica_member *m = &set->members[i];
        judge_member(m, claims, differ, now, changes);
        in_step += m->in_step;
        missing = missing || (m->required && !m->in_step);
        if (!m->required && !m->connected && !m->listed)
            drop(set, m);
    }
    atomic_store_explicit(&set->in_step, in_step, memory_order_release);
    atomic_store_explicit(&set->missing, missing, memory_order_release);
}

void replica_set_note(replica_set *set, const replicas_seen *seen, const replica_claims *claims,
                      dlock_time now, replica_changes *ret)
{
    ret->count = 0;
    pthread_mutex_lock(&set->lock);
    set->more = seen->more || claims->more;
    set->by = claims->by;
    if (claims->told && claims->sure)
        set->rule_ms = claims->rule_ms;
    note_primary(set, claims, now, ret);
    note_seen(set, seen, now);
    note_listed(set, claims, now);
    set->known = set->known || claims->by == PROMOTER_NONE || (claims->told && claims->sure);
    judge(set, claims, now, ret);
    pthread_mutex_unlock(&set->lock);
}

/* ---- for people ------------------------------------------------------------------------------ */

static void name_one(const replica_set *set, const replica_member *m, dlock_time now, fs_text *out)
{
    int64_t away_ms = (now.us - m->since.us) / 1000;
    bool over = set->by == PROMOTER_SENTINEL && away_ms > set->rule_ms + SLACK_MS;
    text_add(out, m->name);
    if (names_differ(set)) /* it is not away */
        return;
    if (m->stands) {
        text_add(out, " (paused? It applies nothing; may be promoted)");
        return;
    }
    text_printf(out, " (away for %lld s; may be promoted", (long long)away_ms / 1000);
    if (set->rule_ms > 0)
        text_printf(out,
                    over ? " until most sentinels see it down or unlinked for %lld s"
                         : " until away for %lld s",
                    (long long)(set->rule_ms + 999) / 1000);
    text_add(out, ")");
}

static void name_all(const replica_set *set, dlock_time now, fs_text *out)
{
    const char *comma = "";
    if (set->more) {
        text_printf(out, "of more than %d replicas, or of too long names", REPLICA_SET_MAX);
        return;
    }
    if (!set->known) {
        text_add(out, "it is not known yet which replicas may be promoted");
        return;
    }
    if (names_differ(set))
        text_add(out, "names differ (set replica-announce-ip, or sentinel announce-hostnames): ");
    for (int i = 0; i < set->count; i++) {
        const replica_member *m = &set->members[i];
        if (!m->required || m->in_step)
            continue;
        text_add(out, comma);
        name_one(set, m, now, out);
        comma = ", ";
    }
}

void replica_set_name_missing(replica_set *set, dlock_time now, char *buf, size_t buf_len)
{
    fs_text names;
    text_init(&names);
    pthread_mutex_lock(&set->lock);
    name_all(set, now, &names);
    pthread_mutex_unlock(&set->lock);
    snprintf(buf, buf_len, "%s", text_bytes(&names));
    if (names.len >= buf_len && buf_len > 4)
        memcpy(buf + buf_len - 4, "...", 4);
    text_free(&names);
}

/* ---- ROLE ------------------------------------------------------------------------------------ */

typedef struct followers {
    int count;
    char names[REPLICA_SET_MAX][REPLICA_NAME_LEN];
    long long offsets[REPLICA_SET_MAX];
} followers;

static bool read_number(const redisReply *reply, long long *ret)
{
    char *end = NULL;
    if (reply->type == REDIS_REPLY_STRING)
        *ret = strtoll(reply->str, &end, 10);
    return end && end != reply->str && *end == '\0';
}

/* {"master", offset, {{host, port, offset}, ...}}, all texts. A client that only reads the stream
 * (redis-cli --replica) has port 0: it is never promoted. */
static bool read_role(const redisReply *role, followers *ret)
{
    ret->count = 0;
    if (role->type != REDIS_REPLY_ARRAY || role->elements != 3 || !role->element[0]->str ||
        strcmp(role->element[0]->str, "master") != 0 ||
        role->element[2]->type != REDIS_REPLY_ARRAY || role->element[2]->elements > REPLICA_SET_MAX)
        return false;
    for (size_t i = 0; i < role->element[2]->elements; i++) {
        const redisReply *one = role->element[2]->element[i];
        long long port, *offset = &ret->offsets[ret->count];
        if (one->type != REDIS_REPLY_ARRAY || one->elements != 3 ||
            one->element[0]->type != REDIS_REPLY_STRING || !read_number(one->element[1], &port) ||
            !read_number(one->element[2], offset) ||
            !replica_name(one->element[0]->str, (int)port, ret->names[ret->count]))
            return false;
        ret->count += port != 0;
    }
    return true;
}

/* Whether number i of the list is among the `acknowledged` with the highest offsets. */
static bool is_sure(const followers *list, int i, int acknowledged)
{
    int above = 0;
    for (int k = 0; k < list->count; k++)
        above += list->offsets[k] > list->offsets[i];
    return above < acknowledged;
}

bool replica_set_followed(replica_set *set, int acknowledged, const redisReply *role)
{
    followers list;
    if (!read_role(role, &list))
        return false;
    int required = 0, found = 0;
    bool sure = true;
    pthread_mutex_lock(&set->lock);
    for (int i = 0; i < set->count; i++)
        required += set->members[i].required;
    for (int i = 0; sure && i < list.count; i++) {
        const replica_member *m = find(set, list.names[i]);
        found += m && m->required;
        sure = (m && !m->required) || is_sure(&list, i, acknowledged);
    }
    sure = sure && found == required && set->known && !set->more;
    pthread_mutex_unlock(&set->lock);
    return sure;
}
