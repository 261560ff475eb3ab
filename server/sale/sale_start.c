/*
 * sale_start.c - one script that decides, and the segments that follow.
 *
 * A sharded sale has its terms under the item's own tag and its stock under the segments' tags,
 * which may lie on other servers. The item's tag decides, in one script; the segments follow from
 * the terms there. Every instance that takes up the sale starts those that are missing, so it does
 * not matter where a starter dies.
 */
#include "server/sale/sale_start.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_start.lua.h"
#include "server/store/purchase.h"
#include "server/store/server_check.h"

#define TRIES 5 /* of starters that come in each other's way */

static dlock_script start = DLOCK_SCRIPT("start", "#!lua\n" SALE_START_LUA);

/* ---- the server ------------------------------------------------------------------------------ */

/* Whether it is one to sell from on these terms. The keeper goes on looking while it sells. */
static start_status check_server(fs_store *store, const sale_terms *terms, char *err,
                                 size_t err_len)
{
    server_check check;
    dlock_redis_conn *conn = NULL;
    dlock_time deadline = dlock_in_ms(STORE_READ_MS);
    bool had_disk = !health_has(&store->health, TROUBLE_NO_DISK);
    bool told =
        store_connect(store, &conn, deadline) && server_ask(conn, had_disk, deadline, &check);
    dlock_redis_hang_up(conn);
    if (!told)
        return START_UNAVAILABLE;
    if (check.found[TROUBLE_MAY_EVICT] && !store->allow_eviction) {
        snprintf(err, err_len, "%s", check.why[TROUBLE_MAY_EVICT].detail);
        return START_MAY_EVICT;
    }
    if (check.found[TROUBLE_NO_DISK] && terms->durability == DURABILITY_DISK) {
        snprintf(err, err_len, "%s", check.why[TROUBLE_NO_DISK].detail);
        return START_REFUSED;
    }
    return START_OK;
}

/* ---- one tag --------------------------------------------------------------------------------- */

/* The keys that the sale before leaves in this slot. Its lock ends by its own lease. */
static int put_leftovers(dlock_args *args, const sale_keys *old)
{
    char fence[KEY_MAX + 8];
    snprintf(fence, sizeof(fence), "%s:fence", old->base);
    const char *const keys[] = {old->cfg,    old->stock, old->sold, old->orders,
                                old->ledger, old->users, fence};
    int count = (int)(sizeof(keys) / sizeof(keys[0]));
    for (int i = 0; i < count; i++)
        dlock_args_text(args, keys[i]);
    return count;
}

/* Runs the script and frees its words. */
static start_status call_start(fs_store *store, int keys, dlock_args *args, dlock_time deadline,
                               char in_force[IDENT_MAX + 1])
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_eval(store->redis, &start, keys, args, deadline, &reply);
    dlock_args_free(args);
    start_status status = START_OK;
    if (outcome != DLOCK_REDIS_OK)
        status = purchase_write_failed(store, outcome) == BUY_UNKNOWN ? START_UNKNOWN
                                                                      : START_UNAVAILABLE;
    else if (strcmp(reply->str, "late") == 0 || strcmp(reply->str, "damaged") == 0)
        status = START_UNAVAILABLE;
    else
        snprintf(in_force, IDENT_MAX + 1, "%s", reply->str);
    freeReplyObject(reply);
    return status;
}

/* Starts the terms' sale in one tag, after the sale `follows`. `units` < 0: no stock here. What
 * then is the tag's current sale goes into `in_force`. START_OK, _UNAVAILABLE, _UNKNOWN. */
static start_status start_tag(fs_store *store, const sale_terms *terms, int segment,
                              const char *follows, int64_t units, dlock_time deadline,
                              char in_force[IDENT_MAX + 1])
{
    sale_keys now, old;
    keys_name(&now, terms->item, segment, terms->id);
    keys_name(&old, terms->item, segment, follows);

    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, now.current);
    dlock_args_text(&args, now.cfg);
    dlock_args_text(&args, now.stock);
    dlock_args_text(&args, now.sold);
    int keys = 4 + (follows[0] != '\0' ? put_leftovers(&args, &old) : 0);
    dlock_args_text(&args, terms->id);
    dlock_args_text(&args, follows);
    if (units < 0)
        dlock_args_text(&args, "");
    else
        dlock_args_int(&args, units);
    dlock_args_int(&args, TERMS_KEPT_S);
    dlock_args_int(&args, store_redis_us(store, deadline));
    terms_put(&args, terms);
    return call_start(store, keys, &args, deadline, in_force);
}

/* ---- a sale ---------------------------------------------------------------------------------- */

/* Also ends the sale before in all segments that it had. Who comes late finds this sale, or a later
 * one: ids rise. */
sale_status sale_start_segments(fs_store *store, const sale_terms *terms, dlock_time deadline)
{
    int count =
        terms->segments > terms->previous_segments ? terms->segments : terms->previous_segments;
    for (int k = 0; k < count; k++) {
        char follows[IDENT_MAX + 1] = "", in_force[IDENT_MAX + 1];
        int64_t units = k < terms->segments ? terms_units(terms, k) : -1;
        if (terms_in_force(store, terms->item, k, deadline, follows) == SALE_UNAVAILABLE)
            return SALE_UNAVAILABLE;
        if (strcmp(follows, terms->id) < 0 &&
            start_tag(store, terms, k, follows, units, deadline, in_force) != START_OK)
            return SALE_UNAVAILABLE;
    }
    return SALE_OK;
}

/* A sale's id is the moment of its start in Redis's time, fixed width, later than `previous`. */
static void make_id(const fs_store *store, sale_terms *terms)
{
    int64_t now = store_redis_us(store, dlock_now());
    int64_t previous = strtoll(terms->previous, NULL, 16);
    snprintf(terms->id, sizeof(terms->id), "%014llx",
             (unsigned long long)(now > previous ? now : previous + 1));
}

/* Lets the terms follow the item's current sale. START_OK, _JOINED, _UNAVAILABLE. */
static start_status follow_current(fs_store *store, sale_terms *terms, bool only_if_none)
{
    char id[IDENT_MAX + 1];
    dlock_time deadline = dlock_in_ms(START_MS);
    sale_status found = terms_in_force(store, terms->item, SEGMENT_NONE, deadline, id);
    terms->previous[0] = '\0';
    terms->previous_segments = 0;
    if (found != SALE_OK)
        return found == SALE_NONE ? START_OK : START_UNAVAILABLE;
    if (only_if_none) {
        memcpy(terms->id, id, sizeof(id));
        return START_JOINED;
    }
    char err[256];
    sale_terms previous;
    found = terms_read(store, terms->item, id, deadline, &previous, err, sizeof(err));
    memcpy(terms->previous, id, sizeof(id));
    terms->previous_segments = found == SALE_OK ? previous.segments : 0;
    return found == SALE_UNAVAILABLE ? START_UNAVAILABLE : START_OK;
}

start_status sale_start(fs_store *store, sale_terms *terms, bool only_if_none, char *err,
                        size_t err_len)
{
    snprintf(err, err_len, "Redis did not answer in time; nothing was started");
    if (!atomic_load(&store->clock.known))
        return START_UNAVAILABLE;
    start_status status = check_server(store, terms, err, err_len);
    if (status != START_OK)
        return status;

    for (int i = 0; i < TRIES; i++) {
        char in_force[IDENT_MAX + 1];
        status = follow_current(store, terms, only_if_none);
        if (status != START_OK)
            return status;
        make_id(store, terms);
        int64_t units = terms->segments > 0 ? -1 : terms->initial;
        status = start_tag(store, terms, SEGMENT_NONE, terms->previous, units,
                           dlock_in_ms(START_MS), in_force);
        if (status != START_OK || strcmp(in_force, terms->id) == 0)
            return status;
    }
    snprintf(err, err_len, "too many others start sales of this item");
    return START_UNAVAILABLE;
}
