/*
 * feed.h - one who reads the feed as API.md tells it: keeps what it is told, with its epoch, and
 * goes back as far as it must when Redis has forgotten something.
 */
#ifndef TESTS_SERVER_FEED_H
#define TESTS_SERVER_FEED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/service.h"

enum { READER_EVENTS = 1200, READER_WORD = 80 };

/* What it has of one segment. */
typedef struct feed_copy {
    char item[40], sale[READER_WORD];
    int segment, limit; /* limit 0 = not said */
    int orders, moves;
    char order_epoch[READER_EVENTS + 1][16], move_epoch[READER_EVENTS + 1][16];
    char request[READER_EVENTS + 1][READER_WORD];   /* of orders, by number */
    char order[READER_EVENTS + 1][READER_WORD];     /* the ids */
    char move[READER_EVENTS + 1][READER_WORD + 16]; /* "<what> <request>" */
    int rewound;                                    /* answers that made it go back */
    /* of the last page */
    int events, behind;
    bool end;
    char after[READER_WORD], next_sale[READER_WORD];
} feed_copy;

/* Begins with the sale, "" = the oldest that is kept. */
static inline void copy_begin(feed_copy *copy, const char *item, const char *sale, int segment)
{
    memset(copy, 0, sizeof(*copy));
    snprintf(copy->item, sizeof(copy->item), "%s", item);
    snprintf(copy->sale, sizeof(copy->sale), "%s", sale);
    copy->segment = segment;
    snprintf(copy->after, sizeof(copy->after), "0");
}

static inline int feed_int(const cJSON *json, const char *name)
{
    return (int)fx_json_number(json, name);
}

/* The position behind so many orders and moves that it has. */
static inline void copy_go_to(feed_copy *copy, int orders, int moves)
{
    char first[32] = "0", second[32] = "";
    if (orders > 0)
        snprintf(first, sizeof(first), "%d-%s", orders, copy->order_epoch[orders]);
    if (moves > 0)
        snprintf(second, sizeof(second), ".%d-%s", moves, copy->move_epoch[moves]);
    snprintf(copy->after, sizeof(copy->after), "%s%s", first, second);
    copy->orders = orders;
    copy->moves = moves;
}

/* The next number, and no order behind a move. */
static inline void copy_take(feed_copy *copy, const cJSON *event)
{
    const char *what = fx_json_text(event, "event"), *epoch = fx_json_text(event, "epoch");
    const cJSON *request = cJSON_GetObjectItemCaseSensitive(event, "request");
    if (strcmp(what, "order") == 0) {
        int number = ++copy->orders;
        assert_in_range(number, 1, READER_EVENTS);
        assert_int_equal(feed_int(event, "number"), number);
        snprintf(copy->order_epoch[number], 16, "%s", epoch);
        snprintf(copy->request[number], READER_WORD, "%s", request->valuestring);
        snprintf(copy->order[number], READER_WORD, "%s", fx_json_text(event, "order"));
        assert_null(cJSON_GetObjectItemCaseSensitive(event, "state"));
    } else {
        int place = ++copy->moves;
        assert_in_range(place, 1, READER_EVENTS);
        assert_int_equal(feed_int(event, "place"), place);
        snprintf(copy->move_epoch[place], 16, "%s", epoch);
        snprintf(copy->move[place], sizeof(copy->move[0]), "%s %s", what,
                 cJSON_IsString(request) ? request->valuestring : "-");
    }
}

static inline void copy_take_page(feed_copy *copy, const cJSON *page)
{
    const cJSON *event, *events = cJSON_GetObjectItemCaseSensitive(page, "events");
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "next_sale");
    int moves = copy->moves;
    char before[READER_WORD], due[READER_WORD];
    snprintf(before, sizeof(before), "%s", copy->after);
    assert_string_equal(fx_json_text(page, "item"), copy->item);
    assert_int_equal(feed_int(page, "segment"), copy->segment);
    cJSON_ArrayForEach(event, events) {
        bool move = strcmp(fx_json_text(event, "event"), "order") != 0;
        if (!move && copy->moves > moves)
            fail_msg("an order comes behind a move");
        if (move && copy->orders != feed_int(page, "orders"))
            fail_msg("a move comes before orders that there are");
        copy_take(copy, event);
    }
    copy->events = cJSON_GetArraySize(events);
    copy->behind = feed_int(page, "behind");
    assert_int_equal(copy->behind, feed_int(page, "orders") - copy->orders +
                                       feed_int(page, "moves") - copy->moves);
    copy->end = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(page, "end"));
    snprintf(copy->next_sale, READER_WORD, "%s", cJSON_IsString(next) ? next->valuestring : "");
    snprintf(copy->sale, READER_WORD, "%s", fx_json_text(page, "sale"));
    snprintf(due, sizeof(due), "%s", fx_json_text(page, "after"));
    copy_go_to(copy, copy->orders, copy->moves);
    assert_string_equal(due, copy->after);
    if (copy->events == 0)
        assert_string_equal(due, before);
}

/* Goes back to where both may agree, which is less than it had. */
static inline void copy_go_back(feed_copy *copy, const cJSON *problem)
{
    int orders = feed_int(problem, "orders"), moves = feed_int(problem, "moves");
    assert_string_equal(fx_json_text(problem, "code"), "feed_rewound");
    assert_string_equal(fx_json_text(problem, "item"), copy->item);
    assert_int_equal(feed_int(problem, "segment"), copy->segment);
    if (orders > copy->orders || moves > copy->moves ||
        (orders == copy->orders && moves == copy->moves))
        fail_msg("%s goes back to %d and %d", copy->after, orders, moves);
    copy->rewound++;
    copy_go_to(copy, orders, moves);
}

/* Asks once. The status, 200 or 409; any other fails the test. */
static inline int copy_ask(feed_copy *copy, fx_server *server)
{
    fx_reply reply;
    char limit[24] = "";
    if (copy->limit > 0)
        snprintf(limit, sizeof(limit), "&limit=%d", copy->limit);
    int status = fx_ask(server, &reply, "GET /orders?item=%s&after=%s&segment=%d%s%s%s", copy->item,
                        copy->after, copy->segment, limit, copy->sale[0] != '\0' ? "&sale=" : "",
                        copy->sale);
    cJSON *json = cJSON_Parse(reply.body);
    if (status == 200)
        copy_take_page(copy, json);
    else if (status == 409)
        copy_go_back(copy, json);
    else
        fail_msg("%s: %d %s", copy->after, status, reply.body);
    cJSON_Delete(json);
    fx_reply_free(&reply);
    return status;
}

/* Asks until there is nothing more. The pages that had events. */
static inline int copy_follow(feed_copy *copy, fx_server *server)
{
    int pages = 0;
    while (copy_ask(copy, server) != 200 || copy->events > 0)
        pages += copy->events > 0;
    assert_int_equal(copy->behind, 0);
    return pages;
}

#endif
