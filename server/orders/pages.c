/* pages.c - asks, and reads all but the events, which the database parses. */
#include "server/orders/pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEGMENTS_MOST 16
#define KEPT_US       (INT64_C(24) * 3600 * 1000000) /* a sale, after the next one has begun */

bool pages_copy_word(char *to, size_t room, const char *text)
{
    return text && text[0] != '\0' &&
           strspn(text, "0123456789abcdefghijklmnopqrstuvwxyz"
                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ_-.") == strlen(text) &&
           (size_t)snprintf(to, room, "%s", text) < room;
}

static void ask_path(const copied_part *place, const char *position, int limit, char *ret,
                     size_t room)
{
    size_t len = (size_t)snprintf(ret, room, "/orders?item=%s&after=%s&limit=%d", place->item,
                                  position, limit);
    if (place->sale[0] != '\0' && len < room)
        snprintf(ret + len, room - len, "&sale=%s&segment=%d", place->sale, place->segment);
}

void pages_position(const char *position, int64_t *orders, int64_t *moves)
{
    const char *point = strchr(position, '.');
    *orders = strtoll(position, NULL, 10);
    *moves = point ? strtoll(point + 1, NULL, 10) : 0;
}

static bool read_page(told_page *ret)
{
    const answer *from = &ret->answer;
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(from->json, "events");
    const char *next = answer_text(from, "next_sale");
    const cJSON *last =
        events && events->child ? events->child->prev : NULL; /* a ring, backwards */
    if (!cJSON_IsArray(events) ||
        !pages_copy_word(ret->position, sizeof(ret->position), answer_text(from, "after")) ||
        !pages_copy_word(ret->sale, sizeof(ret->sale), answer_text(from, "sale")) ||
        (next && !pages_copy_word(ret->next_sale, sizeof(ret->next_sale), next)))
        return false;
    ret->events = cJSON_GetArraySize(events);
    ret->behind = (int64_t)answer_number(from, "behind");
    const answer event = {.json = (cJSON *)last};
    ret->moment_us = last ? (int64_t)answer_number(&event, "time_us") : 0;
    ret->page.json = from->body;
    ret->page.position = ret->position;
    ret->page.next_sale = next ? ret->next_sale : NULL;
    ret->page.segments = (int)answer_number(from, "segments");
    ret->page.end = answer_is(from, "end");
    ret->page.time_us = (int64_t)answer_number(from, "time_us");
    /* A sale's id is the time when it began, in us. */
    ret->page.kept_us = KEPT_US + (next ? strtoll(next, NULL, 16) : ret->page.time_us);
    return ret->page.segments >= 1 && ret->page.segments <= SEGMENTS_MOST;
}

static page_status failed(told_page *ret, const char *why)
{
    ret->why = why;
    pages_free(ret);
    return PAGE_FAILED;
}

/* The sale is damaged and over, so the follower goes on with the next one. */
static page_status skip(const copied_part *place, told_page *ret)
{
    ret->page = (copy_page){.json = "{}",
                            .position = ret->position,
                            .next_sale = ret->next_sale,
                            .segments = 1,
                            .kept_us = -1};
    ret->why = "data of the sale are missing from Redis or make no sense";
    snprintf(ret->position, sizeof(ret->position), "%s", place->position);
    return pages_copy_word(ret->sale, sizeof(ret->sale), answer_text(&ret->answer, "sale")) &&
                   pages_copy_word(ret->next_sale, sizeof(ret->next_sale),
                                   answer_text(&ret->answer, "next_sale"))
               ? PAGE_READ
               : failed(ret, ret->why);
}

/* Writes into `position` what both may have, as the instance says: a position of the database
 * before the one in the question. */
static page_status step_back(database *db, const copied_part *place, told_page *ret, char *position)
{
    int64_t orders, moves;
    pages_position(position, &orders, &moves);
    bool known = records_position(db, place, (int64_t)answer_number(&ret->answer, "orders"),
                                  (int64_t)answer_number(&ret->answer, "moves"), position);
    pages_free(ret);
    if (!known)
        return PAGE_DATABASE;
    ret->page.rewound = true;
    pages_position(position, &ret->page.orders, &ret->page.moves);
    if (ret->page.orders + ret->page.moves >= orders + moves)
        return failed(ret, "an instance takes no position that the database has");
    return PAGE_READ;
}

page_status pages_read(source *from, database *db, const copied_part *place, int limit,
                       told_page *ret)
{
    char path[512], position[POSITION_MAX_LEN + 1];
    *ret = (told_page){.events = 0};
    snprintf(position, sizeof(position), "%s", place->position);
    for (;;) {
        ask_path(place, position, limit, path, sizeof(path));
        if (!source_get(from, path, &ret->answer))
            return PAGE_FAILED;
        const char *code = answer_text(&ret->answer, "code");
        if (ret->answer.status == 200)
            return read_page(ret) ? PAGE_READ : failed(ret, "an instance answers something else");
        if (code && strcmp(code, "sale_damaged") == 0)
            return skip(place, ret);
        page_status status = PAGE_FAILED;
        if (code && strcmp(code, "no_such_sale") == 0)
            status = PAGE_GONE;
        else if (code && strcmp(code, "no_such_item") == 0)
            status = PAGE_NOTHING;
        if (status != PAGE_FAILED)
            return pages_free(ret), status;
        if (!code || strcmp(code, "feed_rewound") != 0)
            return failed(ret, "an instance refuses what is asked: is it of an older version?");
        status = step_back(db, place, ret, position);
        if (status != PAGE_READ)
            return status;
    }
}

void pages_free(told_page *got)
{
    cJSON_Delete(got->answer.json);
    got->answer.json = NULL;
}

bool pages_items(source *from, void (*each)(void *arg, const char *item), void *arg)
{
    char path[128] = "/items", name[NAME_MAX_LEN + 1], last[NAME_MAX_LEN + 1] = "";
    for (bool more = true; more;) {
        answer items;
        if (!source_get(from, path, &items))
            return false;
        const cJSON *item;
        cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(items.json, "items")) {
            const answer member = {.json = (cJSON *)item};
            if (pages_copy_word(name, sizeof(name), answer_text(&member, "item")))
                each(arg, name);
        }
        more = pages_copy_word(name, sizeof(name), answer_text(&items, "after")) &&
               strcmp(name, last) > 0;
        snprintf(last, sizeof(last), "%s", name);
        snprintf(path, sizeof(path), "/items?after=%s", name);
        cJSON_Delete(items.json);
    }
    return true;
}
