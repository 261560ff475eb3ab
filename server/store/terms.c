/*
 * terms.c - the terms of a sale: their form in Redis, and what follows from them.
 *
 * The hash names its schema. A program with another schema refuses the sale, so programs that use
 * the same keys in different ways never sell together.
 */
#include "server/store/terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"

#define SCHEMA          "3"
#define SCHEMA_RESERVES "4"  /* of a sale with reservations: others do not know its keys */
#define WAIT_RESERVE_MS 1000 /* beyond the longest wait, for the write itself */
#define DIGEST_LEN      16
#define CHUNK           256 /* questions sent in one go */
#define HOLD_RESERVE_MS 500 /* beyond the section, for the lock and the write */

/* `accepted` is a time of the server's clock, after the sale's start and not in the future. This is
 * the tolerance, for clocks that were set and servers that differ. */
#define ACCEPTED_SLACK_US (24 * 3600 * INT64_C(1000000))

static const char *const durability_names[DURABILITY_LEVELS] = {"memory", "replicated", "disk"};

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
    ret->reserves = terms->reserve_max_s > 0;
}

int64_t terms_units(const sale_terms *terms, int segment)
{
    if (terms->segments == 0)
        return terms->initial;
    return terms->initial / terms->segments + (segment < terms->initial % terms->segments);
}

fs_node *terms_node(fs_store *store, const char *item)
{
    sale_keys keys;
    keys_name(&keys, item, SEGMENT_NONE, "");
    return store_node(store, keys.current);
}

/* ---- in Redis -------------------------------------------------------------------------------- */

static bool is_of_get(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL ||
           reply->type == REDIS_REPLY_ERROR;
}

/* SALE_OK, _HALTED, _NONE or _DAMAGED, and *ret; _UNAVAILABLE: there is no answer. */
static sale_status read_pointer(const redisReply *reply, sale_current *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (reply->type == REDIS_REPLY_NIL)
        return SALE_NONE;
    bool refused =
        reply->type == REDIS_REPLY_ERROR && dlock_redis_classify(reply->str) == DLOCK_REDIS_REFUSED;
    if (!is_of_get(reply) || refused)
        return SALE_UNAVAILABLE;
    if (reply->type != REDIS_REPLY_STRING || reply->len > POINTER_MAX) /* e.g. a list */
        return SALE_DAMAGED;
    memcpy(ret->text, reply->str, reply->len);
    bool halted = halt_read(ret->text, &ret->halt);
    if (!halted && !sale_id_ok(reply->str, reply->len))
        return SALE_DAMAGED;
    snprintf(ret->id, sizeof(ret->id), "%.*s", IDENT_MAX, halted ? ret->halt.sale : ret->text);
    return halted ? SALE_HALTED : SALE_OK;
}

sale_status terms_in_force(fs_store *store, const char *item, int segment, dlock_time deadline,
                           sale_current *ret)
{
    sale_keys keys;
    redisReply *reply = NULL;
    keys_name(&keys, item, segment, "");
    dlock_redis_outcome outcome =
        store_command(store, store_read_deadline(deadline), WORDS("GET", keys.current), &reply);
    bool told = reply && dlock_redis_check(store->redis, "GET", reply, is_of_get(reply));
    sale_status status = told ? read_pointer(reply, ret) : SALE_UNAVAILABLE;
    if (status == SALE_UNAVAILABLE)
        store_log_failure(store, "read", dlock_redis_outcome_text(outcome));
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
    redisReply *answers[CHUNK];
    bool good = dlock_redis_answers(conn, deadline, count, answers);
    for (int i = 0; good && i < count; i++) {
        sale_current current;
        pointers[i].status = read_pointer(answers[i], &current);
        memcpy(pointers[i].id, current.id, sizeof(current.id));
        good = dlock_redis_conn_check(conn, "GET", answers[i], is_of_get(answers[i])) &&
               pointers[i].status != SALE_UNAVAILABLE;
    }
    for (int i = 0; i < count; i++)
        freeReplyObject(answers[i]);
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

static void put_number(dlock_args *args, const char *name, int64_t value)
{
    dlock_args_text(args, name);
    dlock_args_int(args, value);
}

/* A digest of all terms that never change. Without it an instance that opens a sale with a damaged
 * term would sell by it, and later take the mended terms for damaged ones. */
static void make_digest(const sale_terms *terms, char ret[DIGEST_LEN + 1])
{
    char text[512], reserves[40] = "";
    bool replicated = terms->durability == DURABILITY_REPLICATED;
    if (terms->reserve_max_s > 0) /* without it, older programs get the same digest */
        snprintf(reserves, sizeof(reserves), " %lld", (long long)terms->reserve_max_s);
    snprintf(text, sizeof(text), "%s %s %s %d %lld %lld %lld %lld %lld %d %d%s", terms->strategy,
             durability_name(terms->durability), terms->previous,
             replicated ? terms->min_replicas : 0, (long long)terms->initial,
             (long long)terms->per_user_limit, (long long)terms->lease_ms,
             (long long)terms->wait_ms, (long long)terms->hold_ms, terms->segments,
             terms->previous_segments, reserves);
    snprintf(ret, DIGEST_LEN + 1, "%016llx", (unsigned long long)text_hash_64(text));
}

static const char *schema_of(const sale_terms *terms)
{
    return terms->reserve_max_s > 0 ? SCHEMA_RESERVES : SCHEMA;
}

void terms_put(dlock_args *args, const sale_terms *terms)
{
    char digest[DIGEST_LEN + 1];
    make_digest(terms, digest);
    store_put(args,
              WORDS("digest", digest, "schema", schema_of(terms), "strategy", terms->strategy,
                    "durability", durability_name(terms->durability), "previous", terms->previous));
    if (terms->durability == DURABILITY_REPLICATED)
        put_number(args, "min_replicas", terms->min_replicas);
    if (terms->reserve_max_s > 0)
        put_number(args, "reserve_max_s", terms->reserve_max_s);
    put_number(args, "initial", terms->initial);
    put_number(args, "per_user_limit", terms->per_user_limit);
    put_number(args, "lease_ms", terms->lease_ms);
    put_number(args, "wait_ms", terms->wait_ms);
    put_number(args, "hold_ms", terms->hold_ms);
    put_number(args, "segments", terms->segments);
    put_number(args, "previous_segments", terms->previous_segments);
    put_number(args, "segments_started", terms->segments_started);
    put_number(args, "accepted", terms->accepted);
}

int terms_put_keys(dlock_args *args, const sale_keys *keys)
{
    int count = store_put(args, WORDS(keys->current, keys->stock, keys->sold, keys->orders,
                                      keys->ledger, keys->users, keys->epochs));
    if (keys->reserves)
        count += store_put(args, WORDS(keys->reserved, keys->buckets, keys->moves));
    return count;
}

void terms_put_caller(dlock_args *args, const sale_terms *terms, const char *epochs, int64_t known)
{
    dlock_args_text(args, terms->id);
    dlock_args_int(args, terms->per_user_limit);
    dlock_args_int(args, known);
    dlock_args_text(args, epochs);
}

int terms_put_segment(dlock_args *args, const sale_terms *terms, int k)
{
    sale_keys keys;
    terms_keys(terms, k, &keys);
    dlock_args_init(args);
    int count = terms_put_keys(args, &keys);
    terms_put_caller(args, terms, "", 0);
    return count;
}

void terms_log_damage(const sale_terms *terms, const char *what)
{
    LOG_SOME(LOG_ERROR, "sale_damaged", "item", terms->item, "sale", terms->id, "detail", what,
             NULL);
}

/* False: not a number as terms_put() writes it, or not one from `least` to `most`. */
static bool number(const redisReply *hash, const char *name, int64_t least, int64_t most,
                   int64_t *ret)
{
    char again[24];
    const char *text = store_field(hash, name);
    *ret = strtoll(text, NULL, 10);
    snprintf(again, sizeof(again), "%lld", (long long)*ret);
    return strcmp(text, again) == 0 && *ret >= least && *ret <= most;
}

static bool read_numbers(const redisReply *hash, sale_terms *ret)
{
    int64_t segments = 0, before = 0, started = 0, replicas = 0;
    bool good = number(hash, "initial", 0, INT64_MAX, &ret->initial) &&
                number(hash, "per_user_limit", 0, INT64_MAX, &ret->per_user_limit) &&
                number(hash, "lease_ms", 0, INT64_MAX, &ret->lease_ms) &&
                number(hash, "wait_ms", 0, INT64_MAX, &ret->wait_ms) &&
                number(hash, "hold_ms", 0, INT64_MAX, &ret->hold_ms) &&
                number(hash, "segments", 0, SEGMENTS_MAX, &segments) &&
                number(hash, "previous_segments", 0, SEGMENTS_MAX, &before) &&
                number(hash, "segments_started", 0, 1, &started) &&
                number(hash, "accepted", 0, INT64_MAX, &ret->accepted) &&
                (store_field(hash, "reserve_max_s")[0] == '\0' ||
                 number(hash, "reserve_max_s", 1, RESERVE_MOST_S, &ret->reserve_max_s)) &&
                (ret->durability != DURABILITY_REPLICATED ||
                 number(hash, "min_replicas", 1, REPLICAS_MAX, &replicas));
    ret->min_replicas = (int)replicas;
    ret->segments = (int)segments;
    ret->previous_segments = (int)before;
    ret->segments_started = started == 1;
    return good;
}

/* A time at which no admin can have accepted anything is damage. If it were remembered, the sale
 * would be halted when it is mended. */
static bool accepted_ok(const sale_terms *terms, int64_t now_us)
{
    int64_t started_us = strtoll(terms->id, NULL, 16);
    return terms->accepted == 0 || (terms->accepted >= started_us - ACCEPTED_SLACK_US &&
                                    terms->accepted - ACCEPTED_SLACK_US <= now_us);
}

sale_status terms_from(const redisReply *hash, const char *item, const char *id, int64_t now_us,
                       sale_terms *ret, char *err, size_t err_len)
{
    const char *schema = store_field(hash, "schema"), *strategy = store_field(hash, "strategy");
    const char *level = store_field(hash, "durability"), *previous = store_field(hash, "previous");
    const char *written = store_field(hash, "digest"); /* "" = by a program that wrote none */
    char digest[DIGEST_LEN + 1];
    memset(ret, 0, sizeof(*ret));
    snprintf(ret->item, sizeof(ret->item), "%s", item);
    snprintf(ret->id, sizeof(ret->id), "%s", id);
    if (schema[0] != '\0' && strcmp(schema, SCHEMA) != 0 && strcmp(schema, SCHEMA_RESERVES) != 0) {
        snprintf(err, err_len,
                 "the sale has schema '%s', this program knows " SCHEMA " and " SCHEMA_RESERVES,
                 schema);
        return SALE_UNREADABLE;
    }
    bool level_known = durability_find(level, &ret->durability);
    if (schema[0] == '\0' || strategy[0] == '\0' || !read_numbers(hash, ret) ||
        strcmp(schema, schema_of(ret)) != 0 || !accepted_ok(ret, now_us) ||
        (previous[0] != '\0' && !ident_ok(previous, strlen(previous)))) {
        snprintf(err, err_len, "the sale's terms are missing or damaged");
        return SALE_DAMAGED;
    }
    if (strlen(strategy) > STRATEGY_NAME_MAX || !level_known) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'", strategy, level);
        return SALE_UNREADABLE;
    }
    memcpy(ret->strategy, strategy, strlen(strategy) + 1);
    snprintf(ret->previous, sizeof(ret->previous), "%s", previous);
    make_digest(ret, digest);
    if (written[0] != '\0' && strcmp(written, digest) != 0) {
        snprintf(err, err_len, "the sale's terms are not those that it was started with");
        return SALE_DAMAGED;
    }
    return SALE_OK;
}

bool terms_same(const sale_terms *a, const sale_terms *b)
{
    return strcmp(a->item, b->item) == 0 && strcmp(a->id, b->id) == 0 &&
           strcmp(a->strategy, b->strategy) == 0 && strcmp(a->previous, b->previous) == 0 &&
           a->initial == b->initial && a->per_user_limit == b->per_user_limit &&
           a->reserve_max_s == b->reserve_max_s && a->lease_ms == b->lease_ms &&
           a->wait_ms == b->wait_ms && a->hold_ms == b->hold_ms && a->durability == b->durability &&
           a->min_replicas == b->min_replicas && a->segments == b->segments &&
           a->previous_segments == b->previous_segments;
}

/* Whether there is a stock of the sale, the item's own or a segment's. */
static sale_status look_for_remains(fs_store *store, const char *item, const char *id,
                                    dlock_time deadline)
{
    sale_status status = SALE_NONE;
    for (int k = SEGMENT_NONE; status == SALE_NONE && k <= 0; k++) {
        sale_keys keys;
        keys_name(&keys, item, k, id);
        redisReply *reply = store_read(store, deadline, WORDS("EXISTS", keys.stock));
        bool told =
            reply && dlock_redis_check(store->redis, "EXISTS", reply, store_is_number(reply));
        status = !told ? SALE_UNAVAILABLE : reply->integer > 0 ? SALE_DAMAGED : SALE_NONE;
        freeReplyObject(reply);
    }
    return status;
}

sale_status terms_read(fs_store *store, const char *item, const char *id, dlock_time deadline,
                       sale_terms *ret, char *err, size_t err_len)
{
    sale_keys keys;
    keys_name(&keys, item, SEGMENT_NONE, id);
    const fs_node *node = terms_node(store, item);
    bool timed = atomic_load(&node->clock.known);
    redisReply *reply = store_read(store, deadline, WORDS("HGETALL", keys.cfg));
    bool told = reply && dlock_redis_check(store->redis, "HGETALL", reply, store_is_pairs(reply));
    sale_status status = SALE_UNAVAILABLE;
    snprintf(err, err_len, "Redis did not answer");
    if (told && reply->elements > 0) {
        status = terms_from(reply, item, id, timed ? node_redis_us(node, dlock_now()) : INT64_MAX,
                            ret, err, err_len);
    } else if (told) {
        status = look_for_remains(store, item, id, deadline);
        if (status != SALE_UNAVAILABLE)
            snprintf(err, err_len, "the sale's terms are missing");
    }
    freeReplyObject(reply);
    return status;
}
