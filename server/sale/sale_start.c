/*
 * sale_start.c - one script decides, and the segments follow.
 *
 * A sharded sale has its terms under the item's own tag, and its stock under the segments' tags,
 * which may be on other servers. One script under the item's tag decides; the segments follow from
 * the terms there. Every instance that opens the sale starts missing segments, so the starter may
 * fail at any point.
 */
#include "server/sale/sale_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_start.lua.h"
#include "server/sale/segments_started.lua.h"
#include "server/store/items.h"
#include "server/store/purchase.h"
#include "server/store/replicas.h"

#define TRIES 5 /* of starters that interfere with each other */

static dlock_script start = DLOCK_SCRIPT("start", "#!lua\n" SALE_START_LUA);
static dlock_script started = DLOCK_SCRIPT("segments_started", "#!lua\n" SEGMENTS_STARTED_LUA);

/* ---- the server ------------------------------------------------------------------------------ */

/* Whether the key's server may sell on these terms. Later the keeper checks that. */
static start_status check_server(fs_store *store, const char *key, const sale_terms *terms,
                                 dlock_time deadline, char *err, size_t err_len)
{
    server_check check;
    dlock_redis_conn *conn = NULL;
    fs_node *node = store_node(store, key);
    store_trouble found = TROUBLES;
    deadline = store_read_deadline(deadline);
    bool told = dlock_redis_dial(store->redis, key, deadline, &conn) == DLOCK_REDIS_OK &&
                replicas_ask(store, node, conn, terms->min_replicas, deadline, &check);
    dlock_redis_hang_up(conn);
    if (!told || check.busy)
        return START_UNAVAILABLE;
    if (!node_takes_writes(node)) {
        snprintf(err, err_len, "Redis takes no writes at present; nothing was started");
        return START_PAUSED;
    }
    if (check.found[TROUBLE_MAY_EVICT] && !store->allow_eviction)
        found = TROUBLE_MAY_EVICT;
    else if (check.found[TROUBLE_NO_DISK] && terms->durability == DURABILITY_DISK)
        found = TROUBLE_NO_DISK;
    else if (check.found[TROUBLE_NO_REPLICAS] && terms->durability == DURABILITY_REPLICATED)
        found = TROUBLE_NO_REPLICAS;
    if (found == TROUBLES)
        return START_OK;
    snprintf(err, err_len, "%s", check.why[found].detail);
    return found == TROUBLE_MAY_EVICT ? START_MAY_EVICT : START_REFUSED;
}

/* Checks the item's server and those of the segments, each once. */
static start_status check_servers(fs_store *store, const sale_terms *terms, dlock_time deadline,
                                  char *err, size_t err_len)
{
    bool checked[STORE_NODES] = {false};
    start_status status = START_OK;
    for (int k = SEGMENT_NONE; status == START_OK && k < terms->segments; k++) {
        sale_keys keys;
        keys_name(&keys, terms->item, k, "");
        int node = store_node(store, keys.current)->server + 1;
        if (!checked[node])
            status = check_server(store, keys.current, terms, deadline, err, err_len);
        checked[node] = true;
    }
    return status;
}

/* ---- one tag --------------------------------------------------------------------------------- */

static start_status call_start(fs_store *store, int keys, dlock_args *args, int replicas,
                               dlock_time deadline, char in_force[POINTER_MAX + 1])
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(store->redis, &start, keys, args, replicas, deadline, &reply);
    dlock_args_free(args);
    start_status status = START_OK;
    if (outcome != DLOCK_REDIS_OK)
        status = purchase_write_failed(store, outcome) == BUY_UNKNOWN ? START_UNKNOWN
                                                                      : START_UNAVAILABLE;
    else if (strcmp(reply->str, "late") == 0)
        status = START_UNAVAILABLE;
    else if (strcmp(reply->str, "damaged") == 0)
        status = START_DAMAGED;
    else if (strcmp(reply->str, "lost") == 0)
        status = START_HALTED;
    else
        snprintf(in_force, POINTER_MAX + 1, "%s", reply->str);
    freeReplyObject(reply);
    return status;
}

/* Starts the terms' sale in one tag, after what is there. `units` < 0: no stock here. `in_force`
 * gets what is there then. START_OK, _HALTED, _UNAVAILABLE, _UNKNOWN. */
static start_status start_tag(fs_store *store, const sale_terms *terms, int segment,
                              const sale_current *follows, int64_t units, dlock_time deadline,
                              char in_force[POINTER_MAX + 1])
{
    sale_keys now, old;
    char epochs[EPOCHS_FIRST_MAX];
    keys_name(&now, terms->item, segment, terms->id);
    keys_name(&old, terms->item, segment, follows->id);
    if (!epochs_first(store, now.current, epochs))
        return START_UNAVAILABLE;

    dlock_args args =
        store_words(WORDS(now.current, now.cfg, now.stock, now.sold, now.orders, now.ledger,
                          now.users, now.epochs, now.reserved, now.buckets, now.moves, now.latest));
    if (follows->id[0] != '\0')
        keys_put_leftovers(&args, &old);
    int keys = args.count;
    store_put(&args, WORDS(terms->id, follows->text));
    store_put_number(&args, units >= 0, units);
    dlock_args_int(&args, TERMS_KEPT_S);
    dlock_args_int(&args, node_redis_us(store_node(store, now.current), deadline));
    store_put(&args,
              WORDS(terms->accepted > 0 ? "1" : "0", epochs, terms->reserve_max_s > 0 ? "1" : "0"));
    terms_put(&args, terms);
    int replicas = replicas_needed(store, terms, &now);
    return call_start(store, keys, &args, replicas, deadline, in_force);
}

/* ---- a sale ---------------------------------------------------------------------------------- */

/* SALE_OK also if the segment already has this sale, or a later one. A replicated sale is written
 * once more, because its writer may not have reached the replicas. If two sales are taken up at the
 * same time, the later one goes on until it is in force. */
static sale_status start_segment(fs_store *store, const sale_terms *terms, int k,
                                 dlock_time deadline)
{
    int64_t units = k < terms->segments ? terms_units(terms, k) : -1;
    for (int i = 0; i < TRIES; i++) {
        sale_current follows;
        char in_force[POINTER_MAX + 1];
        sale_status found = terms_in_force(store, terms->item, k, deadline, &follows);
        if (found == SALE_UNAVAILABLE || found == SALE_DAMAGED)
            return found;
        int later = strcmp(follows.id, terms->id);
        if (later > 0 || (later == 0 && terms->durability != DURABILITY_REPLICATED))
            return SALE_OK;
        start_status status = start_tag(store, terms, k, &follows, units, deadline, in_force);
        if (status == START_HALTED)
            return SALE_HALTED;
        if (status != START_OK)
            return status == START_DAMAGED ? SALE_DAMAGED : SALE_UNAVAILABLE;
        if (strcmp(in_force, terms->id) >= 0)
            return SALE_OK;
    }
    return SALE_UNAVAILABLE;
}

static int most_segments(const sale_terms *terms)
{
    return terms->segments > terms->previous_segments ? terms->segments : terms->previous_segments;
}

/* A replicated sale sells nothing before its terms are on the replicas too. */
static sale_status note_started(fs_store *store, const sale_terms *terms, dlock_time deadline)
{
    sale_keys keys;
    redisReply *reply = NULL;
    keys_name(&keys, terms->item, SEGMENT_NONE, terms->id);
    int replicas = replicas_needed(store, terms, &keys);
    dlock_args args = store_words(WORDS(keys.cfg));
    dlock_redis_outcome outcome =
        dlock_redis_eval_wait(store->redis, &started, 1, &args, replicas, deadline, &reply);
    sale_status status = outcome != DLOCK_REDIS_OK ? SALE_UNAVAILABLE
                         : reply->integer == 1     ? SALE_OK
                                                   : SALE_DAMAGED;
    freeReplyObject(reply);
    dlock_args_free(&args);
    return status;
}

/* Also ends any sale in the segments of all earlier sales, because nobody may have taken up those
 * in between. Where nothing can be read, nothing can be sold. A late process finds this sale, or a
 * later one: ids rise. */
sale_status sale_start_segments(fs_store *store, const sale_terms *terms, dlock_time deadline)
{
    sale_status status = SALE_OK;
    if (most_segments(terms) == 0 || terms->segments_started)
        return SALE_OK;
    for (int k = 0; status == SALE_OK && k < most_segments(terms); k++) {
        status = start_segment(store, terms, k, deadline);
        if (k >= terms->segments && (status == SALE_HALTED || status == SALE_DAMAGED))
            status = SALE_OK;
    }
    return status == SALE_OK ? note_started(store, terms, deadline) : status;
}

/* A sale's id is the moment of its start in the time of its item's server, fixed width, later than
 * `previous`. */
static void make_id(fs_store *store, sale_terms *terms)
{
    int64_t now = node_redis_us(terms_node(store, terms->item), dlock_now());
    int64_t previous = strtoll(terms->previous, NULL, 16);
    snprintf(terms->id, sizeof(terms->id), "%014llx",
             (unsigned long long)(now > previous ? now : previous + 1));
}

/* Makes the terms follow the sale that was found, whose own terms say which segments to close. If
 * they cannot be read, all possible ones. */
static start_status follow(fs_store *store, const char *id, dlock_time deadline, sale_terms *terms)
{
    sale_terms previous;
    sale_status found = terms_read(store, terms->item, id, deadline, &previous, NULL, 0);
    memcpy(terms->previous, id, sizeof(terms->previous));
    terms->previous_segments = found == SALE_OK ? most_segments(&previous) : SEGMENTS_MAX;
    return found == SALE_UNAVAILABLE ? START_UNAVAILABLE : START_OK;
}

/* Makes the terms follow the item's current sale. START_OK, or why the sale cannot be started. */
static start_status follow_current(fs_store *store, sale_terms *terms, bool only_if_none,
                                   dlock_time deadline, sale_current *found)
{
    terms->previous[0] = '\0';
    terms->previous_segments = 0;
    terms->accepted = 0;
    switch (terms_in_force(store, terms->item, SEGMENT_NONE, deadline, found)) {
    case SALE_NONE:
        return START_OK;
    case SALE_OK:
        if (terms->replaces[0] != '\0')
            return START_NOT_HALTED;
        if (!only_if_none)
            return follow(store, found->id, deadline, terms);
        memcpy(terms->id, found->id, sizeof(terms->id));
        return START_JOINED;
    case SALE_HALTED:
        if (only_if_none || strcmp(terms->replaces, found->id) != 0)
            return START_HALTED;
        terms->accepted = node_redis_us(terms_node(store, terms->item), dlock_now());
        return follow(store, found->id, deadline, terms);
    case SALE_DAMAGED:
        return START_DAMAGED;
    default:
        return START_UNAVAILABLE;
    }
}

static void explain(start_status status, const sale_terms *terms, const sale_current *found,
                    char *err, size_t err_len)
{
    if (status == START_HALTED && terms->replaces[0] != '\0' && found->id[0] != '\0')
        snprintf(err, err_len, "another sale is halted: 'replaces' must name %s", found->id);
    else if (status == START_HALTED)
        snprintf(
            err, err_len,
            "the item's sale is halted, for Redis has lost something of it: let it go on (POST "
            "/sales/resume), or start another with 'replaces'; nothing was started");
    else if (status == START_NOT_HALTED)
        snprintf(err, err_len, "'replaces' is for a halted sale, and this item's is not");
    else if (status == START_DAMAGED)
        snprintf(err, err_len,
                 "what is stored as the item's current sale is none; nothing was started");
}

start_status sale_start(fs_store *store, sale_terms *terms, bool only_if_none, dlock_time deadline,
                        char *err, size_t err_len)
{
    snprintf(err, err_len, "Redis did not answer in time; nothing was started");
    if (!atomic_load(&terms_node(store, terms->item)->clock.known))
        return START_UNAVAILABLE;
    start_status status = check_servers(store, terms, deadline, err, err_len);
    if (status != START_OK)
        return status;

    for (int i = 0; i < TRIES; i++) {
        sale_current found;
        char in_force[POINTER_MAX + 1];
        dlock_time soon = dlock_sooner(deadline, dlock_in_ms(START_MS));
        status = follow_current(store, terms, only_if_none, soon, &found);
        if (status != START_OK) {
            explain(status, terms, &found, err, err_len);
            return status;
        }
        soon = dlock_sooner(deadline, dlock_in_ms(START_MS));
        if (!items_add(store, terms->item, soon))
            return START_UNAVAILABLE;
        make_id(store, terms);
        int64_t units = terms->segments > 0 ? -1 : terms->initial;
        soon = dlock_sooner(deadline, dlock_in_ms(START_MS));
        status = start_tag(store, terms, SEGMENT_NONE, &found, units, soon, in_force);
        if (status == START_HALTED)
            explain(status, terms, &found, err, err_len);
        if (status != START_OK || strcmp(in_force, terms->id) == 0)
            return status;
    }
    snprintf(err, err_len, "too many others start sales of this item");
    return START_UNAVAILABLE;
}
