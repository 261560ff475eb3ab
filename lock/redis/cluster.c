/*
 * The map of a cluster: which server has which slot.
 *
 * One node is asked once a second, and at once when something speaks against what is known: the
 * one that answered last, then all that are known, then those of the URL. CLUSTER SLOTS is what
 * Redis and Valkey both serve from 7.0 on; CLUSTER SHARDS lists no slots for a primary that failed.
 *
 * A node that is cut off goes on telling an old map. CLUSTER INFO shows it: its state is not "ok",
 * or it has not heard of the latest epoch, which rises with every failover and every slot that has
 * moved. The map of such a node counts only where nobody has a better one.
 *
 * A node of another cluster may have got the address of one of ours. Its map has none of the nodes
 * (by their ids) that the map in force has, and is not taken, unless no node of ours has answered
 * for 30 s: the cluster has been made anew then. The first map, and redirections, are believed.
 *
 * Sources: "Redis cluster specification", the documentation of CLUSTER SLOTS and CLUSTER INFO.
 */
#include "redis/cluster.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/conn.h"
#include "redis/pool.h"

#define ANSWER_MS   500  /* limit for connecting to a node and asking it */
#define PERIOD_MS   1000 /* between two looks, while all is well */
#define RETRY_MS    100  /* the same while nobody answers, or slots have no server */
#define PACE_MS     20   /* between two looks at the least, however many doubts there are */
#define TRYAGAIN_MS 20

#define LOST_MS     30000 /* without an answer of a node of the cluster, until another is taken */

enum { NODES_MAX = 2 * DLOCK_SERVERS_MAX, ID_LEN = 48, UNNUMBERED = -2 };

typedef struct map {
    address_host told;             /* who told it; port 0: there is no map */
    bool well;                     /* the state of that node is "ok" */
    long long epoch;               /* the latest that the node has heard of */
    int16_t slots[SLOTS];          /* places in nodes; NO_SERVER = none */
    address_host nodes[NODES_MAX]; /* that it names: the primaries, then replicas */
    char ids[NODES_MAX][ID_LEN];   /* of the nodes; "" = not told */
    int nodes_len;
} map;

/* Used by the topology's thread only. */
typedef struct cluster {
    map known;              /* in force */
    dlock_redis *asked;     /* the node that was asked last, ... */
    dlock_redis_conn *conn; /* ... the connection to it, NULL unless it answered, ... */
    address_host asked_at;  /* ... and where it is */
    dlock_time next;        /* no look before this */
    dlock_time lost;        /* from then on any cluster's map is taken */
} cluster;

/* ---- what a node says ------------------------------------------------------------------------ */

/* Its place among the nodes; NO_SERVER: they are too many. */
static int note_node(map *m, const address_host *at, const redisReply *id)
{
    for (int i = 0; i < m->nodes_len; i++)
        if (dlock_address_same(&m->nodes[i], at))
            return i;
    if (m->nodes_len == NODES_MAX)
        return NO_SERVER;
    bool told = id && id->type == REDIS_REPLY_STRING;
    snprintf(m->ids[m->nodes_len], ID_LEN, "%s", told ? id->str : "");
    m->nodes[m->nodes_len] = *at;
    return m->nodes_len++;
}

/* {host, port, id, ...}: its place among the nodes, or NO_SERVER. A node without a host is at the
 * address that was asked; "?" is a name that is not known there. */
static int read_node(const redisReply *node, map *m)
{
    address_host at;
    if (node->type != REDIS_REPLY_ARRAY || node->elements < 2 ||
        node->element[1]->type != REDIS_REPLY_INTEGER)
        return NO_SERVER;
    const redisReply *host = node->element[0];
    long long port = node->element[1]->integer;
    bool named = host->type == REDIS_REPLY_STRING && host->len > 0;
    const char *name = named ? host->str : m->told.host;
    if (strcmp(name, "?") == 0 || strlen(name) >= sizeof(at.host) || port < 1 || port > 65535)
        return NO_SERVER;
    snprintf(at.host, sizeof(at.host), "%s", name);
    at.port = (int)port;
    return note_node(m, &at, node->elements > 2 ? node->element[2] : NULL);
}

/* {first slot, last slot, primary, replicas...} */
static bool is_range(const redisReply *range)
{
    return range->type == REDIS_REPLY_ARRAY && range->elements >= 3 &&
           range->element[0]->type == REDIS_REPLY_INTEGER &&
           range->element[1]->type == REDIS_REPLY_INTEGER && range->element[0]->integer >= 0 &&
           range->element[1]->integer < SLOTS;
}

static void read_slots(const redisReply *ranges, map *ret)
{
    ret->nodes_len = 0;
    for (int i = 0; i < SLOTS; i++)
        ret->slots[i] = NO_SERVER;
    for (size_t i = 0; i < ranges->elements; i++) {
        const redisReply *range = ranges->element[i];
        if (!is_range(range))
            continue;
        int primary = read_node(range->element[2], ret);
        for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer;
             slot++)
            ret->slots[slot] = (int16_t)primary;
    }
    for (size_t i = 0; i < ranges->elements; i++)
        for (size_t k = 3; is_range(ranges->element[i]) && k < ranges->element[i]->elements; k++)
            read_node(ranges->element[i]->element[k], ret);
}

static void read_info(const char *info, map *ret)
{
    static const char name[] = "cluster_current_epoch:";
    const char *epoch = strstr(info, name);
    ret->well = strstr(info, "cluster_state:ok");
    ret->epoch = epoch ? strtoll(epoch + strlen(name), NULL, 10) : 0;
}

/* ---- asking one ------------------------------------------------------------------------------ */

static void let_go(cluster *c)
{
    dlock_redis_hang_up(c->conn);
    dlock_pool_free(c->asked);
    c->conn = NULL;
    c->asked = NULL;
}

static bool connect_to(topology *t, cluster *c, const address_host *at, dlock_time deadline)
{
    const address *url = dlock_topology_url(t);
    c->asked = dlock_pool_for_server(t, at, url->user, url->password);
    c->asked_at = *at;
    return c->asked && dlock_redis_dial(c->asked, NULL, deadline, &c->conn) == DLOCK_REDIS_OK;
}

static void queue_question(cluster *c, const char *what)
{
    dlock_args args = {0};
    dlock_args_text(&args, "CLUSTER");
    dlock_args_text(&args, what);
    dlock_redis_queue(c->conn, &args);
    dlock_args_free(&args);
}

static bool ask(cluster *c, dlock_time deadline, map *ret)
{
    redisReply *answers[2];
    queue_question(c, "INFO");
    queue_question(c, "SLOTS");
    if (!dlock_redis_answers(c->conn, deadline, 2, answers))
        return false;
    bool told = dlock_redis_conn_check(c->conn, "CLUSTER INFO", answers[0],
                                       answers[0]->type == REDIS_REPLY_STRING) &&
                dlock_redis_conn_check(c->conn, "CLUSTER SLOTS", answers[1],
                                       answers[1]->type == REDIS_REPLY_ARRAY);
    if (told) {
        ret->told = c->asked_at;
        read_info(answers[0]->str, ret);
        read_slots(answers[1], ret);
    }
    freeReplyObject(answers[0]);
    freeReplyObject(answers[1]);
    return told;
}

static bool ask_at(topology *t, cluster *c, const address_host *at, map *ret)
{
    char why[ERROR_LEN] = "out of memory";
    dlock_time deadline = dlock_in_ms(ANSWER_MS);
    bool same = c->conn && dlock_address_same(at, &c->asked_at);
    if (!same)
        let_go(c);
    if ((same || connect_to(t, c, at, deadline)) && ask(c, deadline, ret))
        return true;
    if (c->asked)
        dlock_redis_last_error(c->asked, why, sizeof(why));
    dlock_topology_complain(t, why);
    let_go(c);
    return false;
}

/* ---- asking until one knows ------------------------------------------------------------------ */

static bool is_better(const map *a, const map *b)
{
    return b->told.port == 0 || a->well > b->well || (a->well == b->well && a->epoch > b->epoch);
}

/* Whether no node of the map in force is in this one: it is of another cluster, which has got an
 * address of ours. */
static bool is_strange(const cluster *c, const map *told)
{
    bool any = false;
    for (int i = 0; i < c->known.nodes_len; i++) {
        any = any || c->known.ids[i][0];
        for (int k = 0; k < told->nodes_len && c->known.ids[i][0]; k++)
            if (strcmp(c->known.ids[i], told->ids[k]) == 0)
                return false;
    }
    return any;
}

/* The one that answered last first, so that the map does not change with who is asked. */
static int list_nodes(const topology *t, const cluster *c, address_host *ret)
{
    const address *url = dlock_topology_url(t);
    int len = 0;
    if (c->conn)
        ret[len++] = c->asked_at;
    memcpy(ret + len, c->known.nodes, (size_t)c->known.nodes_len * sizeof(*ret));
    len += c->known.nodes_len;
    memcpy(ret + len, url->hosts, (size_t)url->hosts_len * sizeof(*ret));
    return len + url->hosts_len;
}

/* Asks the nodes until one has a map that is not old. *ret: the best map of those told. */
static void ask_all(topology *t, cluster *c, map *ret)
{
    map told;
    address_host nodes[1 + NODES_MAX + ADDRESS_HOSTS_MAX];
    int len = list_nodes(t, c, nodes);
    ret->told.port = 0;
    for (int i = 0; i < len && !dlock_topology_stopped(t); i++) {
        if (!ask_at(t, c, &nodes[i], &told))
            continue;
        if (is_strange(c, &told) && !dlock_passed(c->lost)) {
            dlock_topology_complain(t, "a node of another cluster answers");
            continue;
        }
        if (is_better(&told, ret))
            *ret = told;
        if (told.well && told.epoch >= c->known.epoch)
            return;
    }
}

/* Gives the map's servers numbers, and puts it in force. Returns whether each slot has a server. */
static bool adopt(topology *t, cluster *c, const map *m)
{
    int numbers[NODES_MAX];
    int16_t slots[SLOTS];
    bool whole = true;
    for (int i = 0; i < NODES_MAX; i++)
        numbers[i] = UNNUMBERED;
    c->known = *m;
    c->lost = dlock_in_ms(LOST_MS);
    dlock_topology_complain(t, "");
    for (int i = 0; i < SLOTS; i++) {
        int node = m->slots[i];
        if (node != NO_SERVER && numbers[node] == UNNUMBERED)
            numbers[node] = dlock_topology_number(t, m->nodes[node].host, m->nodes[node].port);
        slots[i] = (int16_t)(node != NO_SERVER ? numbers[node] : NO_SERVER);
        whole = whole && slots[i] != NO_SERVER;
    }
    dlock_topology_set_slots(t, slots);
    return whole;
}

static int64_t look(topology *t, void *state)
{
    cluster *c = state;
    map best;
    dlock_sleep(c->next);
    ask_all(t, c, &best);
    bool whole = best.told.port != 0 && adopt(t, c, &best);
    c->next = dlock_in_ms(PACE_MS);
    return whole ? PERIOD_MS : RETRY_MS;
}

/* ---- its life -------------------------------------------------------------------------------- */

static void *start(topology *t)
{
    (void)t;
    return calloc(1, sizeof(cluster));
}

static int news_fd(const topology *t, void *state)
{
    (void)t, (void)state;
    return -1;
}

static void stop(void *state)
{
    let_go(state);
    free(state);
}

/* ---- redirections ---------------------------------------------------------------------------- */

/* "SLOT HOST:PORT". Without a host, it is that of the server that says so. The last colon counts,
 * because IPv6 addresses come without brackets. */
static bool read_target(topology *t, int from, const char *text, int *ret_slot, int *ret_server)
{
    char *space, *end;
    address_host at;
    unsigned generation;
    long slot = strtol(text, &space, 10);
    const char *host = space + 1, *colon = space == text ? NULL : strrchr(space, ':');
    if (*space != ' ' || slot < 0 || slot >= SLOTS || !colon)
        return false;
    long port = strtol(colon + 1, &end, 10);
    size_t host_len = (size_t)(colon - host);
    if (end == colon + 1 || *end || port < 1 || port > 65535 || host_len >= sizeof(at.host) ||
        (host_len == 1 && *host == '?'))
        return false;
    if (host_len > 0)
        snprintf(at.host, sizeof(at.host), "%.*s", (int)host_len, host);
    else if (!dlock_topology_address(t, from, &at, &generation))
        return false;
    *ret_slot = (int)slot;
    *ret_server = dlock_topology_number(t, at.host, (int)port);
    return *ret_server != NO_SERVER;
}

static bool redirect(topology *t, int from, const char *error, redirection *io)
{
    int slot;
    if (strncmp(error, "MOVED ", 6) == 0 && read_target(t, from, error + 6, &slot, &io->server)) {
        dlock_topology_set_slot(t, slot, io->server);
        io->asking = false;
        io->pause_ms = 0;
        return true;
    }
    if (strncmp(error, "ASK ", 4) == 0 && read_target(t, from, error + 4, &slot, &io->server)) {
        io->asking = true;
        io->pause_ms = 0;
        return true;
    }
    if (strncmp(error, "TRYAGAIN", 8) != 0)
        return false;
    io->server = from; /* where the keys will be together, or which knows where they went */
    io->pause_ms = TRYAGAIN_MS;
    return true;
}

const finder dlock_cluster = {
    .cluster = true,
    .start = start,
    .look = look,
    .news_fd = news_fd,
    .stop = stop,
    .redirect = redirect,
};
