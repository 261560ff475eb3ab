/*
 * terms.c - the terms of a sale: their one form in Redis, and what follows from them.
 *
 * The hash names its schema. A program that knows another one refuses the sale, so that programs
 * which mean different things by the same keys never sell side by side.
 */
#include "server/store/terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCHEMA          "2"
#define REQUEST_MS      10000
#define WAIT_RESERVE_MS 1000 /* beyond the longest wait, for the write itself */
#define CHUNK           256  /* questions sent in one go */
#define HOLD_RESERVE_MS 500  /* beyond the section, for the lock and the write */

static const char *const durability_names[DURABILITY_LEVELS] = {"memory", "disk"};

const char *durability_name(durability level)
{
    return durability_names[level];
}

bool durability_find(const char *name, durability *ret)
{
    for (int i = 0; i < DURABILITY_LEVELS; i++) {
        if (strcmp(name, durability_names[i]) == 0) {
            *ret = (durability)i;
            return true;
        }
    }
    return false;
}

/* ---- what follows from them ------------------------------------------------------------------ */

int64_t terms_request_ms(const sale_terms *terms)
{
    return terms->wait_ms <= REQUEST_MS ? REQUEST_MS : terms->wait_ms + WAIT_RESERVE_MS;
}

int64_t terms_hold_most_ms(const sale_terms *terms)
{
    return terms_request_ms(terms) - HOLD_RESERVE_MS;
}

int terms_key_sets(const sale_terms *terms)
{
    return terms->segments > 0 ? terms->segments : 1;
}

void terms_keys(const sale_terms *terms, int k, sale_keys *ret)
{
    keys_name(ret, terms->item, terms->segments > 0 ? k : SEGMENT_NONE, terms->id);
}

int64_t terms_units(const sale_terms *terms, int segment)
{
    if (terms->segments == 0)
        return terms->initial;
    return terms->initial / terms->segments + (segment < terms->initial % terms->segments);
}

/* A sale's id is the moment of its start, which ended the one before. */
bool terms_keep_previous(const sale_terms *terms, const fs_store *store)
{
    int64_t age_us = store_redis_us(store, dlock_now()) - strtoll(terms->id, NULL, 16);
    return terms->previous[0] != '\0' && age_us < TERMS_KEPT_S * INT64_C(1000000);
}

/* ---- in Redis -------------------------------------------------------------------------------- */

/* SALE_OK and the id, or SALE_NONE. */
static sale_status read_pointer(const redisReply *reply, char ret[IDENT_MAX + 1])
{
    if (reply->type != REDIS_REPLY_STRING || !ident_ok(reply->str, reply->len))
        return SALE_NONE;
    snprintf(ret, IDENT_MAX + 1, "%s", reply->str);
    return SALE_OK;
}

sale_status terms_in_force(fs_store *store, const char *item, int segment, dlock_time deadline,
                           char ret[IDENT_MAX + 1])
{
    sale_keys keys;
    keys_name(&keys, item, segment, "");
    redisReply *reply = store_read(store, deadline, WORDS("GET", keys.current));
    sale_status status = reply ? read_pointer(reply, ret) : SALE_UNAVAILABLE;
    freeReplyObject(reply);
    return status;
}

static bool read_chunk(dlock_redis_conn *conn, sale_pointer *pointers, int count,
                       dlock_time deadline)
{
    dlock_args args;
    dlock_args_init(&args);
    for (int i = 0; i < count; i++) {
        sale_keys keys;
        keys_name(&keys, pointers[i].item, SEGMENT_NONE, "");
        dlock_args_clear(&args);
        dlock_args_text(&args, "GET");
        dlock_args_text(&args, keys.current);
        dlock_redis_queue(conn, &args);
    }
    dlock_args_free(&args);
    bool good = dlock_redis_flush(conn, deadline) == DLOCK_REDIS_OK;
    for (int i = 0; good && i < count; i++) {
        redisReply *reply = NULL;
        good = dlock_redis_read(conn, deadline, &reply) != DLOCK_REDIS_UNKNOWN && reply;
        if (good)
            pointers[i].status = read_pointer(reply, pointers[i].id);
        freeReplyObject(reply);
    }
    return good;
}

bool terms_in_force_all(dlock_redis_conn *conn, sale_pointer *pointers, int count,
                        dlock_time deadline)
{
    bool good = true;
    for (int i = 0; good && i < count; i += CHUNK)
        good = read_chunk(conn, pointers + i, count - i < CHUNK ? count - i : CHUNK, deadline);
    return good;
}

static void put_text(dlock_args *args, const char *name, const char *value)
{
    dlock_args_text(args, name);
    dlock_args_text(args, value);
}

static void put_number(dlock_args *args, const char *name, int64_t value)
{
    dlock_args_text(args, name);
    dlock_args_int(args, value);
}

void terms_put(dlock_args *args, const sale_terms *terms)
{
    put_text(args, "schema", SCHEMA);
    put_text(args, "strategy", terms->strategy);
    put_text(args, "durability", durability_name(terms->durability));
    put_text(args, "previous", terms->previous);
    put_number(args, "initial", terms->initial);
    put_number(args, "per_user_limit", terms->per_user_limit);
    put_number(args, "lease_ms", terms->lease_ms);
    put_number(args, "wait_ms", terms->wait_ms);
    put_number(args, "hold_ms", terms->hold_ms);
    put_number(args, "segments", terms->segments);
    put_number(args, "previous_segments", terms->previous_segments);
}

void terms_put_state(dlock_args *args, const sale_terms *terms, const sale_keys *keys,
                     int64_t known)
{
    const char *const words[] = {keys->current, keys->stock, keys->sold, keys->orders,
                                 keys->ledger,  keys->users, terms->id};
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        dlock_args_text(args, words[i]);
    dlock_args_int(args, terms->per_user_limit);
    dlock_args_int(args, known);
}

static int64_t number(const redisReply *hash, const char *name)
{
    return strtoll(store_field(hash, name), NULL, 10);
}

static int segments(const redisReply *hash, const char *name)
{
    int64_t count = number(hash, name);
    return count < 0 || count > SEGMENTS_MAX ? 0 : (int)count;
}

static sale_status read_fields(const redisReply *hash, sale_terms *ret, char *err, size_t err_len)
{
    const char *schema = store_field(hash, "schema"), *strategy = store_field(hash, "strategy");
    const char *level = store_field(hash, "durability");
    if (strcmp(schema, SCHEMA) != 0) {
        snprintf(err, err_len, "the sale has schema '%s', this program knows " SCHEMA, schema);
        return SALE_UNREADABLE;
    }
    if (strlen(strategy) > STRATEGY_NAME_MAX || !durability_find(level, &ret->durability)) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'", strategy, level);
        return SALE_UNREADABLE;
    }
    memcpy(ret->strategy, strategy, strlen(strategy) + 1);
    ret->initial = number(hash, "initial");
    ret->per_user_limit = number(hash, "per_user_limit");
    ret->lease_ms = number(hash, "lease_ms");
    ret->wait_ms = number(hash, "wait_ms");
    ret->hold_ms = number(hash, "hold_ms");
    ret->segments = segments(hash, "segments");
    snprintf(ret->previous, sizeof(ret->previous), "%s", store_field(hash, "previous"));
    ret->previous_segments = segments(hash, "previous_segments");
    return SALE_OK;
}

sale_status terms_read(fs_store *store, const char *item, const char *id, dlock_time deadline,
                       sale_terms *ret, char *err, size_t err_len)
{
    sale_keys keys;
    keys_name(&keys, item, SEGMENT_NONE, id);
    memset(ret, 0, sizeof(*ret));
    snprintf(ret->item, sizeof(ret->item), "%s", item);
    snprintf(ret->id, sizeof(ret->id), "%s", id);

    redisReply *reply = store_read(store, deadline, WORDS("HGETALL", keys.cfg));
    sale_status status = SALE_UNAVAILABLE;
    snprintf(err, err_len, "Redis did not answer");
    if (reply && reply->type == REDIS_REPLY_ARRAY)
        status = read_fields(reply, ret, err, err_len);
    freeReplyObject(reply);
    return status;
}
