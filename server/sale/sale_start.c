/*
 * sale_start.c - see sale_start.h.
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
#include "server/selling/strategy.h"
#include "server/store/command.h"
#include "server/store/outcome.h"

#define SCHEMA "1"
#define TRIES  5 /* of starters that come in each other's way */

static dlock_script start = DLOCK_SCRIPT("start", "#!lua\n" SALE_START_LUA);

static start_status find_in(fs_store *store, const char *key, char id[IDENT_MAX + 1])
{
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        asking(store, dlock_in_ms(STORE_READ_MS), &reply, ASKING("GET", key));

    start_status status = START_NONE;
    if (outcome != DLOCK_REDIS_OK) {
        outcome_of_read(store, outcome);
        status = START_UNAVAILABLE;
    } else if (reply->type == REDIS_REPLY_STRING && ident_ok(reply->str, reply->len)) {
        snprintf(id, IDENT_MAX + 1, "%s", reply->str);
        status = START_OK;
    }
    freeReplyObject(reply);
    return status;
}

start_status start_find(fs_store *store, const char *item, char id[IDENT_MAX + 1])
{
    fs_shelf main;
    shelf_name(&main, item, SHELF_WHOLE, "");
    return find_in(store, main.current, id);
}

/* ---- terms ----------------------------------------------------------------------------------- */

static const char *field(const redisReply *hash, const char *name)
{
    for (size_t i = 0; i + 1 < hash->elements; i += 2)
        if (strcmp(hash->element[i]->str, name) == 0)
            return hash->element[i + 1]->str;
    return "";
}

static int64_t number(const redisReply *hash, const char *name)
{
    return strtoll(field(hash, name), NULL, 10);
}

static int segments(const redisReply *hash, const char *name)
{
    int64_t count = number(hash, name);
    return count < 0 || count > SEGMENTS_MAX ? 0 : (int)count;
}

static start_status read_fields(const redisReply *hash, sale_terms *ret, char *err, size_t err_len)
{
    if (strcmp(field(hash, "schema"), SCHEMA) != 0) {
        snprintf(err, err_len, "the sale has schema '%s', this program knows " SCHEMA,
                 field(hash, "schema"));
        return START_UNREADABLE;
    }
    ret->strategy = strategy_find(field(hash, "strategy"));
    if (!ret->strategy || !durability_find(field(hash, "durability"), &ret->durability)) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'",
                 field(hash, "strategy"), field(hash, "durability"));
        return START_UNREADABLE;
    }
    ret->initial = number(hash, "initial");
    ret->per_user_limit = number(hash, "per_user_limit");
    ret->lease_ms = number(hash, "lease_ms");
    ret->wait_ms = number(hash, "wait_ms");
    ret->hold_ms = number(hash, "hold_ms");
    ret->segments = segments(hash, "segments");
    snprintf(ret->previous, sizeof(ret->previous), "%s", field(hash, "previous"));
    ret->previous_segments = segments(hash, "previous_segments");
    return START_OK;
}

start_status start_read_terms(fs_store *store, const char *item, const char *id, sale_terms *ret,
                              char *err, size_t err_len)
{
    fs_shelf main;
    shelf_name(&main, item, SHELF_WHOLE, id);
    memset(ret, 0, sizeof(*ret));
    snprintf(ret->item, sizeof(ret->item), "%s", item);
    snprintf(ret->id, sizeof(ret->id), "%s", id);
    ret->store = store;

    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        asking(store, dlock_in_ms(STORE_READ_MS), &reply, ASKING("HGETALL", main.cfg));

    start_status status = START_UNAVAILABLE;
    snprintf(err, err_len, "Redis did not answer");
    if (outcome != DLOCK_REDIS_OK)
        outcome_of_read(store, outcome);
    else if (reply->type == REDIS_REPLY_ARRAY)
        status = read_fields(reply, ret, err, err_len);
    freeReplyObject(reply);
    return status;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* "disk" is a promise that only a server with an append-only file synced at every write keeps. */
static start_status check_durability(fs_store *store, const sale_terms *terms, char *err,
                                     size_t err_len)
{
    if (terms->durability != DURABILITY_DISK)
        return START_OK;
    dlock_args args;
    dlock_args_init(&args);
    const char *const words[] = {"CONFIG", "GET", "append*"};
    for (int i = 0; i < 3; i++)
        dlock_args_text(&args, words[i]);
    redisReply *reply = NULL;
    dlock_redis_outcome outcome =
        dlock_redis_command(store->redis, NULL, &args, dlock_in_ms(STORE_READ_MS), &reply);
    dlock_args_free(&args);

    start_status status = START_REFUSED;
    if (outcome != DLOCK_REDIS_OK) {
        status = outcome == DLOCK_REDIS_ERROR ? START_REFUSED : START_UNAVAILABLE;
        snprintf(err, err_len, "could not read the server's configuration");
    } else if (strcmp(field(reply, "appendonly"), "yes") != 0 ||
               strcmp(field(reply, "appendfsync"), "always") != 0) {
        snprintf(err, err_len,
                 "durability 'disk' needs a Redis with appendonly yes and appendfsync always");
    } else {
        status = START_OK;
    }
    freeReplyObject(reply);
    return status;
}

static void put_pair(dlock_args *args, const char *name, int64_t value)
{
    dlock_args_text(args, name);
    dlock_args_int(args, value);
}

static void put_terms(dlock_args *args, const sale_terms *terms)
{
    const char *const words[] = {
        "schema",     SCHEMA,
        "strategy",   terms->strategy->name,
        "durability", durability_name(terms->durability),
        "previous",   terms->previous,
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        dlock_args_text(args, words[i]);
    put_pair(args, "initial", terms->initial);
    put_pair(args, "per_user_limit", terms->per_user_limit);
    put_pair(args, "lease_ms", terms->lease_ms);
    put_pair(args, "wait_ms", terms->wait_ms);
    put_pair(args, "hold_ms", terms->hold_ms);
    put_pair(args, "segments", terms->segments);
    put_pair(args, "previous_segments", terms->previous_segments);
}

/* The keys that the sale before leaves in this slot. Its lock ends by its own lease. */
static int put_leftovers(dlock_args *args, const fs_shelf *old)
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
        status =
            outcome_of_write(store, outcome) == BUY_UNKNOWN ? START_UNKNOWN : START_UNAVAILABLE;
    else if (strcmp(reply->str, "late") == 0)
        status = START_UNAVAILABLE;
    else
        snprintf(in_force, IDENT_MAX + 1, "%s", reply->str);
    freeReplyObject(reply);
    return status;
}

/* Starts the terms' sale in one tag, after the sale `follows`. `units` < 0: no stock here. What
 * then is the tag's current sale goes into `in_force`. START_OK, _UNAVAILABLE, _UNKNOWN. */
static start_status start_tag(const sale_terms *terms, int segment, const char *follows,
                              int64_t units, char in_force[IDENT_MAX + 1])
{
    fs_shelf now, old;
    shelf_name(&now, terms->item, segment, terms->id);
    shelf_name(&old, terms->item, segment, follows);

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
    dlock_time deadline = dlock_in_ms(START_MS);
    dlock_args_int(&args, store_redis_us(terms->store, deadline));
    put_terms(&args, terms);
    return call_start(terms->store, keys, &args, deadline, in_force);
}

/* Also ends the sale before in all segments that it had. Who comes late finds this sale, or a later
 * one: ids rise. */
start_status start_segments(const sale_terms *terms)
{
    int count =
        terms->segments > terms->previous_segments ? terms->segments : terms->previous_segments;
    for (int k = 0; k < count; k++) {
        char follows[IDENT_MAX + 1] = "", in_force[IDENT_MAX + 1];
        fs_shelf shelf;
        shelf_name(&shelf, terms->item, k, terms->id);
        int64_t units = k < terms->segments ? terms_units(terms, k) : -1;
        if (find_in(terms->store, shelf.current, follows) == START_UNAVAILABLE)
            return START_UNAVAILABLE;
        if (strcmp(follows, terms->id) < 0 &&
            start_tag(terms, k, follows, units, in_force) != START_OK)
            return START_UNAVAILABLE;
    }
    return START_OK;
}

/* A sale's id is the moment of its start in Redis's time, fixed width, later than `previous`. */
static void make_id(sale_terms *terms)
{
    int64_t now = store_redis_us(terms->store, dlock_now());
    int64_t previous = strtoll(terms->previous, NULL, 16);
    snprintf(terms->id, sizeof(terms->id), "%014llx",
             (unsigned long long)(now > previous ? now : previous + 1));
}

static start_status follow_current(fs_store *store, sale_terms *terms, bool only_if_none)
{
    char id[IDENT_MAX + 1];
    start_status found = start_find(store, terms->item, id);
    terms->previous[0] = '\0';
    terms->previous_segments = 0;
    if (found != START_OK)
        return found;
    if (only_if_none) {
        memcpy(terms->id, id, sizeof(id));
        return START_JOINED;
    }
    char err[256];
    sale_terms previous;
    found = start_read_terms(store, terms->item, id, &previous, err, sizeof(err));
    memcpy(terms->previous, id, sizeof(id));
    terms->previous_segments = found == START_OK ? previous.segments : 0;
    return found == START_UNAVAILABLE ? START_UNAVAILABLE : START_OK;
}

start_status start_sale(fs_store *store, sale_terms *terms, bool only_if_none, char *err,
                        size_t err_len)
{
    terms->store = store;
    snprintf(err, err_len, "Redis did not answer in time; nothing was started");
    if (!store_sync_clock(store))
        return START_UNAVAILABLE;
    start_status status = check_durability(store, terms, err, err_len);
    if (status != START_OK)
        return status;

    for (int i = 0; i < TRIES; i++) {
        char in_force[IDENT_MAX + 1];
        status = follow_current(store, terms, only_if_none);
        if (status == START_JOINED || status == START_UNAVAILABLE)
            return status;
        make_id(terms);
        int64_t units = terms->segments > 0 ? -1 : terms->initial;
        status = start_tag(terms, SHELF_WHOLE, terms->previous, units, in_force);
        if (status != START_OK || strcmp(in_force, terms->id) == 0)
            return status;
    }
    snprintf(err, err_len, "too many others start sales of this item");
    return START_UNAVAILABLE;
}
