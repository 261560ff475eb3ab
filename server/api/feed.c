/*
 * feed.c - GET /orders with `after`: the events of a sale in order, for programs that copy them
 * into a database (store/feed.h; API.md, "Read the feed").
 *
 * A page may have a thousand events, and a follower reads all of them, so they are written without
 * printf. Words of the ledger need no escapes.
 */
#include "server/api/routes.h"

#include <stdio.h>
#include <string.h>

#include "server/sale/feed_seen.h"
#include "server/store/feed.h"

#define AFTER_FORM "0, or <number>-<epoch> with .<number>-<epoch> behind it where there are moves"

static bool has(const fs_query *query, const char *name)
{
    char value[QUERY_VALUE_MAX + 1];
    return query_word(query, name, NULL, value) != QUERY_ABSENT;
}

bool api_is_feed(const fs_query *query)
{
    return has(query, "after") || has(query, "sale") || has(query, "segment") ||
           has(query, "limit");
}

/* ---- positions ------------------------------------------------------------------------------- */

/* "<orders>[.<moves>]", each "0" or "<number>-<epoch>"; without moves the second is left out. */
static bool read_place(const char *text, size_t len, feed_place *ret)
{
    const char *line = memchr(text, '-', len);
    size_t digits = line ? (size_t)(line - text) : len;
    memset(ret, 0, sizeof(*ret));
    if (!decimal_read(text, digits, &ret->number) || ret->number > FEED_NUMBER_MOST)
        return false;
    if (!line || ret->number == 0)
        return !line && ret->number == 0;
    if (len != digits + 1 + EPOCH_LEN || strspn(line + 1, "0123456789abcdef") < EPOCH_LEN)
        return false;
    memcpy(ret->epoch, line + 1, EPOCH_LEN);
    return true;
}

static bool read_position(const char *text, feed_position *ret)
{
    size_t orders = strcspn(text, ".");
    memset(ret, 0, sizeof(*ret));
    if (!read_place(text, orders, &ret->orders))
        return false;
    const char *moves = text + orders;
    return *moves == '\0' ||
           (read_place(moves + 1, strlen(moves + 1), &ret->moves) && ret->moves.number > 0);
}

static void put_place(fs_text *out, const feed_place *place)
{
    text_add_int(out, place->number);
    if (place->number > 0)
        text_add_all(out, "-", place->epoch);
}

static void put_position(fs_text *out, const feed_position *position)
{
    put_place(out, &position->orders);
    if (position->moves.number > 0) {
        text_add(out, ".");
        put_place(out, &position->moves);
    }
}

/* ---- what is asked --------------------------------------------------------------------------- */

typedef struct feed_asked {
    char sale[IDENT_MAX + 1]; /* "" = the oldest that is kept */
    int64_t segment, limit;
    feed_position after;
} feed_asked;

static bool read_number(const fs_query *query, const char *name, const char *code, int64_t least,
                        int64_t most, int64_t *ret, api_reply *reply)
{
    char form[64];
    query_status status = query_int(query, name, least, most, ret);
    snprintf(form, sizeof(form), "a number from %d to %d", (int)least, (int)most);
    return status == QUERY_ABSENT || api_param_ok(status, code, name, form, reply);
}

static bool read_asked(const fs_query *query, feed_asked *ret, api_reply *reply)
{
    char after[QUERY_VALUE_MAX + 1];
    ret->segment = 0;
    ret->limit = FEED_LIMIT;
    query_status status = query_word(query, "after", NULL, after);
    if (has(query, "cursor")) {
        problem(reply, 400, "bad_after",
                "cursor= goes with none of after=, sale=, segment= and limit=");
        return false;
    }
    if (status == QUERY_OK && !read_position(after, &ret->after))
        status = QUERY_BAD;
    return api_param_ok(status, "bad_after", "after", AFTER_FORM, reply) &&
           api_read_ident(query, "sale", "bad_sale", false, ret->sale, reply) &&
           read_number(query, "segment", "bad_segment", 0, SEGMENTS_MAX - 1, &ret->segment,
                       reply) &&
           read_number(query, "limit", "bad_limit", 1, FEED_LIMIT, &ret->limit, reply);
}

/* The terms of the sale that is asked for. False: refused. */
static bool find_terms(fs_api *api, const open_sale *now, const char *sale, dlock_time deadline,
                       sale_terms *ret, api_reply *reply)
{
    sale_status status = SALE_OK;
    *ret = now->terms;
    if (sale[0] == '\0')
        status = feed_oldest(now->store, "", deadline, ret);
    else if (strcmp(sale, now->terms.id) != 0)
        status = terms_read(now->store, now->terms.item, sale, deadline, ret, NULL, 0);
    bool sure = status != SALE_NONE || now->terms.durability != DURABILITY_REPLICATED ||
                ledger_confirm(now->store, &now->terms, 0, NULL, deadline);
    if (!sure)
        problem_outcome(reply, BUY_NOT_DURABLE,
                        "there is no such sale here, but another server may have it; ask again");
    else if (status == SALE_NONE)
        problem(reply, 404, "no_such_sale", "there is no such sale, or it is not kept any more");
    else if (status != SALE_OK)
        api_no_sale(api, reply, status, now->terms.item);
    return status == SALE_OK;
}

/* ---- the page -------------------------------------------------------------------------------- */

typedef struct feed_writer {
    const sale_terms *terms;
    int segment; /* -1 = the sale is not sharded */
    fs_text *out;
} feed_writer;

static void put_number(fs_text *out, const char *member, int64_t number)
{
    text_add(out, member);
    text_add_int(out, number);
}

static void put_order(void *arg, const char *request, const fs_order *order)
{
    const feed_writer *to = arg;
    fs_text *out = to->out;
    text_next(out, "{\"event\":\"order\",\"number\":");
    text_add_int(out, order->number);
    text_add_all(out, ",\"epoch\":\"", order->epoch, "\",\"order\":\"");
    order_put_id(out, to->terms->id, to->segment, order);
    text_add_all(out, "\",\"request\":\"", request, "\",\"user\":\"", order->user, "\"");
    put_number(out, ",\"quantity\":", order->quantity);
    put_number(out, ",\"remaining\":", order->remaining);
    put_number(out, ",\"fence\":", (int64_t)order->fence);
    text_add_all(out, ",\"instance\":\"", order->instance, "\"");
    put_number(out, ",\"time_us\":", order->time_us);
    if (order->expires_us > 0)
        put_number(out, ",\"expires_us\":", order->expires_us);
    else
        text_add(out, ",\"expires_us\":null");
    text_add(out, "}");
}

static void put_move(void *arg, const feed_move *move)
{
    fs_text *out = ((const feed_writer *)arg)->out;
    bool expired = move->request[0] == '\0';
    text_next(out, "{\"event\":\"");
    text_add_all(out, move->what, "\",\"place\":");
    text_add_int(out, move->place.number);
    text_add_all(out, ",\"epoch\":\"", move->place.epoch, "\",\"request\":");
    text_add_all(out, expired ? "null" : "\"", move->request, expired ? "" : "\"");
    put_number(out, ",\"quantity\":", move->quantity);
    put_number(out, ",\"time_us\":", move->time_us);
    if (expired)
        put_number(out, ",\"expires_us\":", move->expires_us);
    else
        text_add(out, ",\"expires_us\":null");
    text_add(out, "}");
}

static void put_end(fs_text *out, const feed_page *page)
{
    int64_t behind = page->orders - page->end.orders.number + page->moves - page->end.moves.number;
    text_add(out, "],\"after\":\"");
    put_position(out, &page->end);
    text_add(out, "\"");
    text_put(out, NUMBER("orders", page->orders), NUMBER("moves", page->moves),
             NUMBER("behind", behind), NUMBER("time_us", page->time_us), FLAG("end", page->over),
             page->next_sale[0] == '\0' ? AS_IS("next_sale", "null")
                                        : STRING("next_sale", page->next_sale));
}

static void put_rewound(const feed_question *asked, const feed_page *page, api_reply *reply)
{
    problem(reply, 409, "feed_rewound",
            "what this position names is not in the ledger; ask again with what you have at these "
            "numbers");
    text_put(&reply->body, STRING("item", asked->terms->item), STRING("sale", asked->terms->id),
             NUMBER("segment", asked->segment), NUMBER("orders", page->end.orders.number),
             NUMBER("moves", page->end.moves.number));
}

/* Who asks for what comes behind has what is before. */
static void note_reader(fs_sale *sale, const feed_question *asked)
{
    int is_later = strcmp(asked->terms->id, sale->open_sale.terms.id);
    if (is_later == 0)
        sale_saw_feed(sale, asked->segment, asked->after.orders.number);
    else if (is_later < 0)
        sale_saw_feed(sale, FEED_EVERY_SEGMENT, 0); /* it still reads a sale before */
}

/* A damaged sale that is over must not block the reader: the answer names the next sale. */
static void put_failure(fs_api *api, const fs_sale *sale, const feed_question *asked, bool damaged,
                        api_reply *reply)
{
    sale_terms later = sale->open_sale.terms;
    if (!damaged || strcmp(later.id, asked->terms->id) <= 0) {
        api_no_ledger(api, sale, damaged, asked->deadline, reply);
        return;
    }
    api_no_sale(api, reply, SALE_DAMAGED, later.item);
    if (feed_oldest(asked->store, asked->terms->id, asked->deadline, &later) == SALE_OK)
        text_put(&reply->body, STRING("sale", asked->terms->id), STRING("next_sale", later.id));
}

static void put_feed(fs_api *api, fs_sale *sale, const feed_question *asked, api_reply *reply)
{
    feed_page page;
    const sale_terms *terms = asked->terms;
    fs_text *out = reply_json(reply, 200);
    feed_writer writer = {terms, terms->segments > 0 ? asked->segment : -1, out};
    const feed_reader reader = {put_order, put_move, &writer};
    text_put(out, STRING("item", terms->item), STRING("sale", terms->id),
             NUMBER("segment", asked->segment), NUMBER("segments", terms_key_sets(terms)),
             AS_IS("events", "["));
    feed_status status = feed_read(asked, &reader, &page);
    if (status == FEED_OK) {
        note_reader(sale, asked);
        put_end(out, &page);
    } else if (status == FEED_REWOUND) {
        put_rewound(asked, &page, reply);
    } else if (status == FEED_UNCONFIRMED) {
        problem_outcome(reply, BUY_NOT_DURABLE,
                        "there is something to tell, but a failover may undo it as yet; ask again");
    } else {
        put_failure(api, sale, asked, status == FEED_DAMAGED, reply);
    }
}

void api_feed(fs_api *api, const api_request *request, api_reply *reply)
{
    feed_asked asked;
    sale_terms terms;
    if (!read_asked(request->query, &asked, reply))
        return;
    fs_sale *sale = api_find_sale(api, request, NULL, reply);
    if (!sale)
        return;
    if (find_terms(api, &sale->open_sale, asked.sale, request->deadline, &terms, reply)) {
        if (asked.segment < terms_key_sets(&terms))
            put_feed(api, sale,
                     &(feed_question){sale->open_sale.store, &terms, (int)asked.segment,
                                      asked.after, (int)asked.limit, request->deadline},
                     reply);
        else
            problem(reply, 400, "bad_segment", "the sale does not have this segment");
    }
    sale_table_put(sale);
}
