/*
 * feed.c - reads the feed: the events of a page, its end, and what of it may be told.
 *
 * A script reads the state of the segment. Then plain commands read the orders that the script has
 * counted: in a script each order would cost Redis twice as much.
 */
#include "server/store/feed.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/log.h"
#include "server/store/feed.lua.h"
#include "server/store/ledger.h"
#include "server/store/state.lua.h"

#define WINDOW 1000 /* events to go back at once if two histories differ */

static dlock_script feed = DLOCK_SCRIPT("feed", "#!lua flags=no-writes\n" STATE_LUA FEED_LUA);

/* ---- the script ------------------------------------------------------------------------------ */

enum { CURRENT, EPOCHS, ORDERS, MOVES, SECONDS, MICROSECONDS, MOVED, PARTS };

static bool is_feed(const redisReply *reply)
{
    static const int types[PARTS] = {
        [CURRENT] = REDIS_REPLY_STRING, [EPOCHS] = REDIS_REPLY_STRING,
        [ORDERS] = REDIS_REPLY_INTEGER, [MOVES] = REDIS_REPLY_INTEGER,
        [SECONDS] = REDIS_REPLY_STRING, [MICROSECONDS] = REDIS_REPLY_STRING,
        [MOVED] = REDIS_REPLY_ARRAY,
    };
    if (reply->type == REDIS_REPLY_STRING)
        return true;
    bool fits = reply->type == REDIS_REPLY_ARRAY && reply->elements == PARTS;
    for (int i = 0; fits && i < PARTS; i++)
        fits = reply->element[i]->type == types[i];
    return fits && store_all_are(reply->element[MOVED], 0, REDIS_REPLY_STRING);
}

static redisReply *ask(const feed_question *question, const feed_position *after, int limit)
{
    dlock_args args;
    int keys = terms_put_segment(&args, question->terms, question->segment);
    dlock_args_int(&args, after->orders.number);
    dlock_args_int(&args, after->moves.number);
    dlock_args_int(&args, limit);
    return store_read_script(question->store, question->deadline, &feed, keys, &args, is_feed);
}

/* `count` entries of a list, behind the first ones. NULL: Redis did not answer. */
static redisReply *read_list(const feed_question *question, const char *key, int64_t first,
                             int64_t count)
{
    char from[24], to[24];
    snprintf(from, sizeof(from), "%lld", (long long)first);
    snprintf(to, sizeof(to), "%lld", (long long)(first + count - 1));
    redisReply *reply =
        store_read(question->store, question->deadline, WORDS("LRANGE", key, from, to));
    if (reply && reply->type == REDIS_REPLY_ARRAY && store_all_are(reply, 0, REDIS_REPLY_STRING))
        return reply;
    freeReplyObject(reply);
    return NULL;
}

/* A reader asks again every second, also for a damaged sale that is over. So damage is logged when
 * it begins or changes: each slot has hashes of a segment and of the damage that was logged. */
static _Atomic uint64_t *logged_damage(const feed_question *question, uint32_t *segment)
{
    static _Atomic uint64_t slots[64];
    *segment = text_hash(question->terms->id) + (uint32_t)question->segment;
    return &slots[*segment % 64];
}

static feed_status damage(const feed_question *question, const char *what)
{
    static log_gate gate;
    uint32_t segment;
    char left_out[24];
    _Atomic uint64_t *logged = logged_damage(question, &segment);
    uint64_t now = (uint64_t)segment << 32 | text_hash(what);
    if (atomic_load(logged) != now && log_gate_open(&gate, left_out, sizeof(left_out))) {
        atomic_store(logged, now);
        log_event(LOG_ERROR, "sale_damaged", "left_out", left_out, "item", question->terms->item,
                  "sale", question->terms->id, "detail", what, NULL);
    }
    return FEED_DAMAGED;
}

static void note_sound(const feed_question *question)
{
    uint32_t segment;
    _Atomic uint64_t *logged = logged_damage(question, &segment);
    uint64_t before = atomic_load(logged);
    if (before >> 32 == segment)
        atomic_compare_exchange_strong(logged, &before, 0);
}

/* ---- where ledger and asker agree ------------------------------------------------------------ */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t window_before(int64_t number)
{
    return number > WINDOW ? number - WINDOW : 0;
}

/* The place's number if the ledger has it in this epoch; otherwise a smaller one. */
static int64_t agreed_order(const char *epochs, int64_t orders, const feed_place *place)
{
    epoch_row row;
    int64_t last = orders;
    for (const char *at = epochs; (at = epochs_next(at, &row)); last = row.first - 1)
        if (strcmp(row.name, place->epoch) == 0 && place->number >= row.first)
            return least(place->number, last);
    return place->number > 0 ? window_before(least(place->number, orders)) : 0;
}

static bool is_of_epoch(const redisReply *move, const char *epoch)
{
    const char *last = strrchr(move->str, ' ');
    return last && strcmp(last + 1, epoch) == 0;
}

/* The last move of the epoch among those up to the place, if Redis answers. */
static bool search_move(const feed_question *question, int64_t moves, const feed_place *place,
                        int64_t *ret)
{
    sale_keys keys;
    int64_t end = least(place->number, moves), first = window_before(end);
    terms_keys(question->terms, question->segment, &keys);
    *ret = 0;
    if (end == 0)
        return true;
    redisReply *reply = read_list(question, keys.moves, first, end - first);
    size_t at = reply ? reply->elements : 0;
    while (at > 0 && !is_of_epoch(reply->element[at - 1], place->epoch))
        at--;
    *ret = first + (int64_t)at;
    freeReplyObject(reply);
    return reply;
}

/* FEED_OK: the ledger has what the reader has. FEED_REWOUND: it has less; sets the numbers.
 * FEED_UNAVAILABLE. */
static feed_status compare(const feed_question *question, const feed_position *after,
                           const redisReply *reply, feed_page *ret)
{
    const redisReply *moved = reply->element[MOVED];
    const feed_place *move = &after->moves;
    bool has_move =
        move->number == 0 || (moved->elements > 0 && is_of_epoch(moved->element[0], move->epoch));
    int64_t order = agreed_order(reply->element[EPOCHS]->str, ret->orders, &after->orders);
    ret->end = *after;
    if (order == after->orders.number && has_move)
        return FEED_OK;
    ret->end.orders.number = order;
    if (!has_move && !search_move(question, ret->moves, move, &ret->end.moves.number))
        return FEED_UNAVAILABLE;
    return FEED_REWOUND;
}

/* ---- events ---------------------------------------------------------------------------------- */

/* An entry of the ledger is "<request>" or "<request> reserved": leaves only the request. */
static bool cut_request(redisReply *entry)
{
    size_t len = strcspn(entry->str, " ");
    bool good = ident_ok(entry->str, len) &&
                (entry->len == len || strcmp(entry->str + len, " reserved") == 0);
    entry->str[len] = '\0';
    return good;
}

static bool is_reserved(const redisReply *entry)
{
    return entry->str[0] != '\0' && entry->len > strlen(entry->str);
}

/* The records of the entries. NULL: Redis did not answer. */
static redisReply *read_records(const feed_question *question, const char *key,
                                redisReply *const *entries, size_t count)
{
    const char *words[FEED_LIMIT + 3] = {"HMGET", key};
    for (size_t i = 0; i < count; i++)
        words[i + 2] = entries[i]->str;
    redisReply *reply = store_read(question->store, question->deadline, words);
    if (reply && reply->type == REDIS_REPLY_ARRAY && reply->elements == count)
        return reply;
    freeReplyObject(reply);
    return NULL;
}

/* False: a record does not belong to its place. */
static bool tell_records(const redisReply *entries, const redisReply *records, const char *epochs,
                         const feed_reader *reader, feed_page *page)
{
    int64_t last = 0; /* of the epoch of the order before */
    for (size_t i = 0; i < records->elements; i++) {
        fs_order order;
        feed_place *place = &page->end.orders;
        const redisReply *entry = entries->element[i], *record = records->element[i];
        if (record->type != REDIS_REPLY_STRING || !order_read(record->str, record->len, &order) ||
            order.number != place->number + 1 || is_reserved(entry) != (order.expires_us > 0))
            return false;
        bool same = order.number <= last && strcmp(order.epoch, place->epoch) == 0;
        place->number = order.number;
        memcpy(place->epoch, order.epoch, sizeof(place->epoch));
        if (!same && agreed_order(epochs, page->orders, place) != order.number)
            return false;
        if (!same)
            last = epochs_last(epochs, page->orders, order.epoch);
        reader->order(reader->arg, entry->str, &order);
    }
    return true;
}

/* Tells only orders that the script has counted: moves of later ones would not be known. Since then
 * only their state can have changed; or Redis has just lost some, which counts as damage until
 * somebody looks. */
static feed_status tell_orders(const feed_question *question, int limit, const char *epochs,
                               const feed_reader *reader, feed_page *page)
{
    sale_keys keys;
    int64_t count = least(limit, page->orders - page->end.orders.number);
    if (count <= 0)
        return FEED_OK;
    terms_keys(question->terms, question->segment, &keys);
    redisReply *records = NULL,
               *entries = read_list(question, keys.ledger, page->end.orders.number, count);
    if (!entries)
        return FEED_UNAVAILABLE;
    bool whole = entries->elements == (size_t)count;
    for (size_t i = 0; whole && i < entries->elements; i++)
        whole = cut_request(entries->element[i]);
    if (whole)
        records = read_records(question, keys.orders, entries->element, entries->elements);
    feed_status status = whole && !records ? FEED_UNAVAILABLE : FEED_OK;
    if (!whole || (records && !tell_records(entries, records, epochs, reader, page)))
        status = damage(question, "damaged orders");
    freeReplyObject(records);
    freeReplyObject(entries);
    return status;
}

static bool read_move(const redisReply *entry, feed_move *ret)
{
    static const char *const kinds[] = {"confirmed", "cancelled", "expired"};
    const char *text = entry->str, *end = text + entry->len;
    char what[16];
    int64_t bucket = 0;
    int kind = 0;
    if (!text_take_word(&text, end, what, sizeof(what)))
        return false;
    while (kind < 3 && strcmp(kinds[kind], what) != 0)
        kind++;
    if (kind == 3)
        return false;
    bool expired = kind == 2;
    memset(ret, 0, sizeof(*ret));
    ret->what = kinds[kind];
    bool whole = (expired ? text_take_number(&text, end, &bucket) && bucket > 0 &&
                                bucket <= INT64_MAX / BUCKET_US
                          : text_take_word(&text, end, ret->request, sizeof(ret->request)) &&
                                ident_ok(ret->request, strlen(ret->request))) &&
                 text_take_number(&text, end, &ret->quantity) &&
                 text_take_number(&text, end, &ret->time_us) &&
                 text_take_word(&text, end, ret->place.epoch, sizeof(ret->place.epoch));
    ret->expires_us = bucket * BUCKET_US;
    return whole && text == end && strlen(ret->place.epoch) == EPOCH_LEN;
}

/* Without a reader the question asked for none. */
static bool tell_moves(const redisReply *moved, const feed_reader *reader, feed_page *page)
{
    for (size_t i = page->end.moves.number > 0; i < moved->elements; i++) {
        feed_move move;
        if (!reader || !read_move(moved->element[i], &move))
            return false;
        move.place.number = page->end.moves.number + 1;
        reader->move(reader->arg, &move);
        page->end.moves = move.place;
    }
    return true;
}

/* ---- a page ---------------------------------------------------------------------------------- */

sale_status feed_oldest(fs_store *store, const char *than, dlock_time deadline, sale_terms *terms)
{
    sale_terms before;
    sale_status status = SALE_OK;
    while (status == SALE_OK && strcmp(terms->previous, than) > 0 &&
           strcmp(terms->previous, terms->id) < 0) {
        status = terms_read(store, terms->item, terms->previous, deadline, &before, NULL, 0);
        if (status == SALE_OK)
            *terms = before;
    }
    return status == SALE_UNAVAILABLE ? status : SALE_OK;
}

/* Once a later sale is in force or halted under the segment's pointer, no order comes any more.
 * That sale tells which one is next, because this process may not know it. */
static feed_status look_ahead(const feed_question *question, const char *pointer, feed_page *page)
{
    char id[IDENT_MAX + 1];
    sale_terms later;
    const sale_terms *terms = question->terms;
    size_t len = strcspn(pointer, " ");
    snprintf(id, sizeof(id), "%.*s", (int)least((int64_t)len, IDENT_MAX), pointer);
    page->over = false;
    page->next_sale[0] = '\0';
    if (!sale_id_ok(id, len) || strcmp(id, terms->id) <= 0 ||
        page->end.orders.number < page->orders)
        return FEED_OK;
    sale_status status =
        terms_read(question->store, terms->item, id, question->deadline, &later, NULL, 0);
    if (status == SALE_OK)
        status = feed_oldest(question->store, terms->id, question->deadline, &later);
    if (status == SALE_UNAVAILABLE)
        return FEED_UNAVAILABLE;
    if (status == SALE_OK) { /* otherwise the later sale is gone, and the next one is unknown */
        memcpy(page->next_sale, later.id, sizeof(later.id));
        page->over = terms->reserve_max_s == 0;
    }
    return FEED_OK;
}

static feed_status read_page(const feed_question *question, const feed_position *after, int limit,
                             const redisReply *reply, const feed_reader *reader, feed_page *ret)
{
    if (reply->type == REDIS_REPLY_STRING)
        return damage(question, reply->str);
    const char *epochs = reply->element[EPOCHS]->str;
    ret->orders = reply->element[ORDERS]->integer;
    ret->moves = reply->element[MOVES]->integer;
    ret->time_us = strtoll(reply->element[SECONDS]->str, NULL, 10) * 1000000 +
                   strtoll(reply->element[MICROSECONDS]->str, NULL, 10);
    if (!epochs_ok(epochs, ret->orders))
        return damage(question, EPOCHS_DAMAGED);
    feed_status status = compare(question, after, reply, ret);
    if (status == FEED_OK)
        status = tell_orders(question, limit, epochs, reader, ret);
    if (status != FEED_OK)
        return status;
    if (!tell_moves(reply->element[MOVED], reader, ret))
        return damage(question, "damaged moves");
    return look_ahead(question, reply->element[CURRENT]->str, ret);
}

static feed_status ask_page(const feed_question *question, const feed_position *after, int limit,
                            const feed_reader *reader, feed_page *ret)
{
    redisReply *reply = ask(question, after, limit);
    feed_status status =
        reply ? read_page(question, after, limit, reply, reader, ret) : FEED_UNAVAILABLE;
    freeReplyObject(reply);
    return status;
}

/* What may be told of a page, or of a position that the ledger lacks; see feed.h. */
static feed_status to_tell(const feed_question *question, feed_status found, feed_page *page)
{
    feed_page again;
    const feed_position *after = found == FEED_OK ? &page->end : &question->after;
    if (!ledger_confirm(question->store, question->terms, question->segment, NULL,
                        question->deadline))
        return FEED_UNCONFIRMED;
    feed_status now = ask_page(question, after, 0, NULL, &again);
    if (now == FEED_REWOUND && found == FEED_REWOUND)
        *page = again;
    if (now == FEED_OK && found == FEED_OK && strcmp(again.next_sale, page->next_sale) != 0) {
        page->over = false; /* it has changed meanwhile: a later page tells */
        page->next_sale[0] = '\0';
    }
    return now == found || now > FEED_UNCONFIRMED ? now : FEED_UNCONFIRMED;
}

feed_status feed_read(const feed_question *question, const feed_reader *reader, feed_page *ret)
{
    const feed_position *after = &question->after;
    feed_status found = ask_page(question, after, question->limit, reader, ret);
    if (found == FEED_OK)
        note_sound(question);
    if (found > FEED_REWOUND || question->terms->durability != DURABILITY_REPLICATED)
        return found;
    bool tells = found == FEED_REWOUND || ret->next_sale[0] != '\0' ||
                 ret->end.orders.number > after->orders.number ||
                 ret->end.moves.number > after->moves.number;
    return tells ? to_tell(question, found, ret) : found;
}
