/*
 * Reads page after page by their cursors. A cursor that was seen before, or more pages than there
 * can be orders, is the service's mistake and ends the reading as broken.
 */
#include "loadtest/service/ledger.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MS    10000L
#define CURSOR_MAX 128
#define PAGES_MORE 100 /* more pages than orders: empty ones of a split stock's segments */

typedef struct lt_walk {
    const char *sale, *item;
    char cursor[CURSOR_MAX];  /* of the next page; "" at the start and at the end */
    char (*seen)[CURSOR_MAX]; /* the cursors of the pages asked for */
    size_t pages;             /* asked for */
    size_t room;
    int64_t orders, orders_most;
    lt_pen *pen;
    int n;
    char *err;
    size_t err_len;
} lt_walk;

static bool fail(lt_walk *walk, const char *what)
{
    snprintf(walk->err, walk->err_len, "%s (page %zu)", what, walk->pages);
    return false;
}

/* Notes the cursor of the page that was read. False: it was seen before, or there are too many. */
static bool note_cursor(lt_walk *walk)
{
    size_t before = walk->pages - 1;
    for (size_t i = 0; i < before; i++) {
        if (strcmp(walk->seen[i], walk->cursor) == 0)
            return fail(walk, "its cursor leads back to an earlier page");
    }
    if ((int64_t)walk->pages > walk->orders_most + PAGES_MORE)
        return fail(walk, "its pages never end");
    if (before == walk->room) {
        size_t room = walk->room == 0 ? 64 : walk->room * 2;
        void *seen = realloc(walk->seen, room * sizeof(walk->seen[0]));
        if (!seen)
            return fail(walk, "out of memory");
        walk->seen = seen;
        walk->room = room;
    }
    memcpy(walk->seen[before], walk->cursor, sizeof(walk->seen[before]));
    return true;
}

/* Reads the next page's cursor out of this one; "" when it is the last. */
static bool read_cursor(lt_walk *walk, const cJSON *page)
{
    lt_text next = json_read_id(page, "cursor");
    if (next.form == FORM_OTHER || next.form == FORM_TWICE || strlen(next.text) >= CURSOR_MAX)
        return fail(walk, "its cursor is not valid");
    snprintf(walk->cursor, CURSOR_MAX, "%.*s", CURSOR_MAX - 1, next.text);
    if (strcmp(walk->cursor, "0") == 0)
        walk->cursor[0] = '\0';
    return true;
}

/* Whether the page names this member, or leaves it to its entries. */
static bool is_or_absent(const lt_text *text, const char *value)
{
    return text->form == FORM_ABSENT || (text->form == FORM_GOOD && strcmp(text->text, value) == 0);
}

static bool write_entry(lt_walk *walk, const cJSON *json, const lt_order *page)
{
    lt_order order;
    order_from_json(json, &order);
    if (order.request.form != FORM_GOOD)
        return fail(walk, "an entry is no order");
    pen_word(walk->pen, "order");
    pen_number(walk->pen, "audit", walk->n);
    order_write_listed(walk->pen, &order, page);
    pen_line(walk->pen);
    return true;
}

static bool take_page(lt_walk *walk, const cJSON *json)
{
    const cJSON *orders = cJSON_GetObjectItemCaseSensitive(json, "orders"), *order;
    lt_order page;
    order_from_json(json, &page);
    if (!cJSON_IsArray(orders))
        return fail(walk, "not a page of orders");
    if (!is_or_absent(&page.sale, walk->sale))
        return fail(walk, "it is another sale's");
    if (!is_or_absent(&page.item, walk->item))
        return fail(walk, "it is another item's");
    cJSON_ArrayForEach(order, orders) {
        if (++walk->orders > walk->orders_most)
            return fail(walk, "its pages never end");
        if (!write_entry(walk, order, &page))
            return false;
    }
    return read_cursor(walk, json);
}

/* The status of the reading: 200 when all pages were read; 0 when one makes no sense. */
static long read_pages(lt_walk *walk, lt_http *http, const lt_plan *plan, int target)
{
    do {
        char url[768];
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/orders?item=%s%s%s", plan->targets[target], plan->item,
                 walk->cursor[0] == '\0' ? "" : "&cursor=", walk->cursor);
        http_read(http, url, PAGE_MS, &reply);
        walk->pages++;
        bool none = reply.status == 404 || reply.status == 405;
        if (reply.status != 200) {
            snprintf(walk->err, walk->err_len, "page %zu: status %ld %s", walk->pages, reply.status,
                     reply.error);
            return none && walk->pages > 1 ? 0 : reply.status;
        }
        cJSON *page = json_parse(reply.body, strlen(reply.body));
        bool good = note_cursor(walk) && take_page(walk, page);
        cJSON_Delete(page);
        if (!good)
            return 0;
    } while (walk->cursor[0] != '\0');
    return 200;
}

lt_ledger ledger_read(lt_http *http, lt_pen *pen, const lt_plan *plan, const char *sale, int target,
                      int n, int64_t orders_most, char *err, size_t err_len)
{
    lt_walk walk = {.sale = sale,
                    .item = plan->item,
                    .orders_most = orders_most,
                    .pen = pen,
                    .n = n,
                    .err = err,
                    .err_len = err_len};
    mono_ns from = clock_now();
    err[0] = '\0';
    long status = read_pages(&walk, http, plan, target);
    free(walk.seen);
    pen_word(pen, "audit");
    pen_number(pen, "n", n);
    pen_time(pen, "from", from);
    pen_time(pen, "to", clock_now());
    pen_number(pen, "target", target);
    pen_number(pen, "status", status);
    if (err[0] != '\0')
        pen_text(pen, "why", err);
    pen_line(pen);
    if (status == 404 || status == 405)
        return LEDGER_NONE;
    return status == 200 ? LEDGER_WHOLE : LEDGER_BROKEN;
}
