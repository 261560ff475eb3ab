/*
 * The walk from cursor to cursor. It ends: a cursor that was seen before, and more pages than there
 * can be orders, are the service's mistakes, and end it as such.
 */
#include "loadtest/service/ledger.h"

#include "loadtest/stats/tally.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MS    10000L
#define CURSOR_MAX 128
#define PAGES_MORE 100 /* than orders: empty ones, of the segments of a stock that is split */

typedef struct lt_walk {
    const char *sale, *item;
    char cursor[CURSOR_MAX]; /* of the next page; "" at the start and at the end */
    uint64_t *seen;          /* hashes of the cursors of the pages asked for */
    size_t pages;            /* asked for */
    size_t room;
    int64_t orders, orders_most;
    lt_ledger_entry *entry;
    void *arg;
    char *err;
    size_t err_len;
} lt_walk;

static bool fail(lt_walk *walk, const char *what)
{
    snprintf(walk->err, walk->err_len, "%s (page %zu)", what, walk->pages);
    return false;
}

/* Notes the cursor of the page that was read. False: it was there before, or there are too many. */
static bool note_cursor(lt_walk *walk)
{
    uint64_t cursor = receipt_hash(walk->cursor);
    size_t before = walk->pages - 1;
    for (size_t i = 0; i < before; i++) {
        if (walk->seen[i] == cursor)
            return fail(walk, "its cursor leads back to an earlier page");
    }
    if ((int64_t)walk->pages > walk->orders_most + PAGES_MORE)
        return fail(walk, "it has no end");
    if (before == walk->room) {
        size_t room = walk->room == 0 ? 64 : walk->room * 2;
        uint64_t *seen = realloc(walk->seen, room * sizeof(*seen));
        if (!seen)
            return fail(walk, "out of memory");
        walk->seen = seen;
        walk->room = room;
    }
    walk->seen[before] = cursor;
    return true;
}

/* Reads the next page's cursor out of this one; "" when it is the last. */
static bool read_cursor(lt_walk *walk, const cJSON *page)
{
    const cJSON *next = cJSON_GetObjectItemCaseSensitive(page, "cursor");
    int length = 0;
    walk->cursor[0] = '\0';
    if (cJSON_IsString(next))
        length = snprintf(walk->cursor, CURSOR_MAX, "%s", next->valuestring);
    else if (cJSON_IsNumber(next))
        length = snprintf(walk->cursor, CURSOR_MAX, "%.0f", next->valuedouble);
    else if (next && !cJSON_IsNull(next))
        return fail(walk, "its cursor is none");
    if (length >= CURSOR_MAX)
        return fail(walk, "its cursor is too long");
    if (strcmp(walk->cursor, "0") == 0)
        walk->cursor[0] = '\0';
    return true;
}

/* Whether a page names this, or leaves it to its entries. */
static bool is_or_absent(const cJSON *page, const char *name, const char *value)
{
    const cJSON *member = cJSON_GetObjectItemCaseSensitive(page, name);
    return !member || (cJSON_IsString(member) && strcmp(member->valuestring, value) == 0);
}

static bool take_page(lt_walk *walk, const cJSON *page)
{
    const cJSON *orders = cJSON_GetObjectItemCaseSensitive(page, "orders"), *order;
    if (!cJSON_IsArray(orders))
        return fail(walk, "not a page of orders");
    if (!is_or_absent(page, "sale", walk->sale))
        return fail(walk, "it is another sale's");
    if (!is_or_absent(page, "item", walk->item))
        return fail(walk, "it is another item's");
    cJSON_ArrayForEach(order, orders)
    {
        if (++walk->orders > walk->orders_most)
            return fail(walk, "it has no end");
        if (!walk->entry(walk->arg, page, order))
            return fail(walk, "an entry is no order");
    }
    return read_cursor(walk, page);
}

static lt_ledger read_pages(lt_walk *walk, lt_http *http, const lt_plan *plan)
{
    char url[768];
    do {
        lt_http_reply reply;
        snprintf(url, sizeof(url), "%s/orders?item=%s%s%s", plan->targets[0], plan->item,
                 walk->cursor[0] == '\0' ? "" : "&cursor=", walk->cursor);
        http_read(http, url, PAGE_MS, &reply);
        walk->pages++;
        if (walk->pages == 1 && (reply.status == 404 || reply.status == 405))
            return LEDGER_NONE;
        if (reply.status != 200) {
            snprintf(walk->err, walk->err_len, "page %zu: status %ld %s", walk->pages, reply.status,
                     reply.error);
            return LEDGER_BROKEN;
        }
        cJSON *page = cJSON_ParseWithOpts(reply.body, NULL, 1);
        bool good = note_cursor(walk) && take_page(walk, page);
        cJSON_Delete(page);
        if (!good)
            return LEDGER_BROKEN;
    } while (walk->cursor[0] != '\0');
    return LEDGER_WHOLE;
}

lt_ledger ledger_read(lt_http *http, const lt_plan *plan, const char *sale, int64_t orders_most,
                      lt_ledger_entry *entry, void *arg, char *err, size_t err_len)
{
    lt_walk walk = {.sale = sale,
                    .item = plan->item,
                    .orders_most = orders_most,
                    .entry = entry,
                    .arg = arg,
                    .err = err,
                    .err_len = err_len};
    lt_ledger ledger = read_pages(&walk, http, plan);
    free(walk.seen);
    return ledger;
}
