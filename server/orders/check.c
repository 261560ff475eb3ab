/* check.c - finds the items and sales to compare, and rows that belong to none. */
#include "server/orders/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "server/orders/compare.h"
#include "server/orders/say.h"

/* ---- names of items and sales ---------------------------------------------------------------- */

typedef struct names {
    char (*of)[NAME_MAX_LEN + 1];
    int count, room;
    bool failed; /* out of memory */
} names;

static void add_name(void *arg, const char *item)
{
    names *to = arg;
    for (int i = 0; i < to->count; i++)
        if (strcmp(to->of[i], item) == 0)
            return;
    if (to->count == to->room) {
        to->room = to->room * 2 + 16;
        void *of = realloc(to->of, (size_t)to->room * sizeof(*to->of));
        to->failed = to->failed || !of;
        if (!of)
            return;
        to->of = of;
    }
    snprintf(to->of[to->count++], sizeof(*to->of), "%s", item);
}

static void add_row(void *arg, int count, const char *const *values)
{
    if (count == 1 && values[0])
        add_name(arg, values[0]);
}

/* ---- sales, and items ------------------------------------------------------------------------ */

static void keep_count(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    if (count == 1 && values[0])
        c->older += strtoll(values[0], NULL, 10);
}

/* Checks all segments of the sale at c->at. `after` gets the next sale, or "". */
static page_status check_sale(checker *c, char after[NAME_MAX_LEN + 1])
{
    int segments = 1;
    char next[NAME_MAX_LEN + 1] = "";
    page_status status = PAGE_READ;
    after[0] = '\0';
    for (int k = 0; status == PAGE_READ && k < segments; k++) {
        c->at.segment = k;
        status = compare_segment(c, &segments, next);
        if (k == 0)
            snprintf(after, NAME_MAX_LEN + 1, "%s", next);
    }
    c->sales += status == PAGE_READ;
    return status;
}

/* A place p of a sale that Redis keeps at this time, $3. */
#define KEPT "p.ended <> 2 AND p.kept_us > CAST($3 AS BIGINT)"

/* Checks sales before the oldest that leads to the present one: Redis may still keep them. */
static page_status check_older(checker *c, const char *oldest, const char *now)
{
    names sales = {.count = 0};
    char after[NAME_MAX_LEN + 1];
    page_status status = PAGE_READ;
    checker_ask(c,
                "SELECT DISTINCT sale FROM flashsale_positions AS p WHERE item = $1"
                " AND (sale < $2 OR $2 = '') AND " KEPT,
                PARAMS(c->at.item, oldest, now), add_row, &sales);
    for (int i = 0; i < sales.count && (status == PAGE_READ || status == PAGE_GONE); i++) {
        snprintf(c->at.sale, sizeof(c->at.sale), "%s", sales.of[i]);
        status = check_sale(c, after);
    }
    free(sales.of);
    return status == PAGE_GONE ? PAGE_READ : status;
}

/* Checks all sales of an item, from the oldest that Redis keeps; earlier ones are only counted. */
static void check_item(checker *c, const char *item)
{
    told_page got;
    char oldest[NAME_MAX_LEN + 1] = "", now[24];
    c->at = (copied_part){.segment = 0, .position = POSITION_START};
    snprintf(c->at.item, sizeof(c->at.item), "%s", item);
    page_status status = checker_read(c, 1, &got);
    if (status == PAGE_READ) {
        snprintf(oldest, sizeof(oldest), "%s", got.sale);
        pages_free(&got);
    }
    int64_t older = c->older;
    snprintf(now, sizeof(now), "%lld", (long long)unix_us());
    checker_ask(c,
                "SELECT count(*) FROM flashsale_orders AS o WHERE item = $1 AND lost_us IS NULL"
                " AND ($2 = '' OR (sale < $2 AND NOT EXISTS (SELECT 1 FROM flashsale_positions AS p"
                " WHERE p.item = o.item AND p.sale = o.sale AND " KEPT ")))",
                PARAMS(item, oldest, now), keep_count, c);
    if (status == PAGE_NOTHING && c->older > older) {
        c->differences++;
        printf("%s: the database has orders, and Redis has no sale\n", item);
    }
    if (status == PAGE_READ)
        status = check_older(c, oldest, now);
    snprintf(c->at.sale, sizeof(c->at.sale), "%s", oldest);
    while (status == PAGE_READ && c->at.sale[0] != '\0') {
        char after[NAME_MAX_LEN + 1];
        status = check_sale(c, after);
        snprintf(c->at.sale, sizeof(c->at.sale), "%s", after);
    }
    c->failed = c->failed || status == PAGE_FAILED || status == PAGE_DATABASE;
    if (status == PAGE_DATABASE)
        say("the database: %s", database_error(c->db));
}

static void put_stray(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    c->differences++;
    if (count == 5)
        printf(
            "%s, sale %s, segment %s, %s %s: in the database, which has copied no such segment\n",
            values[1], values[2], values[3], values[0], values[4]);
}

/* Counts rows of items, sales and segments that were never copied, and so are not compared. */
static void check_strays(checker *c, const char *item)
{
#define STRAYS(what, number, table)                                                                \
    "SELECT '" what "', item, sale, segment, " number " FROM " table " AS o WHERE lost_us IS NULL" \
    " AND ($1 = '' OR item = $1) AND NOT EXISTS (SELECT 1 FROM flashsale_positions AS p"           \
    " WHERE p.item = o.item AND p.sale = o.sale AND p.segment = o.segment)"
    checker_ask(c,
                STRAYS("order", "number", "flashsale_orders") " UNION ALL " STRAYS(
                    "move", "place", "flashsale_moves") " ORDER BY 2, 3, 4, 1, 5",
                PARAMS(item ? item : ""), put_stray, c);
    if (c->failed)
        say("the database: %s", database_error(c->db));
}

/* The items that Redis has, and those of which the database expects more. */
static bool find_items(checker *c, const char *item, names *ret)
{
    if (item)
        add_name(ret, item);
    else if (!pages_items(c->from, add_name, ret))
        say("%s", source_error(c->from));
    else if (!database_run(c->db, "SELECT DISTINCT item FROM flashsale_positions WHERE ended = 0",
                           NULL, add_row, ret, NULL))
        say("the database: %s", database_error(c->db));
    else
        return !ret->failed;
    return item && !ret->failed;
}

int check(source *from, database *db, const char *item)
{
    checker c = {.from = from, .db = db};
    names items = {.count = 0};
    /* Without statistics the database would join each event with all events of its sale. If the
     * user may not run ANALYZE, the check only takes longer. */
    database_run(db, "ANALYZE flashsale_orders", NULL, NULL, NULL, NULL);
    database_run(db, "ANALYZE flashsale_moves", NULL, NULL, NULL, NULL);
    c.failed = !find_items(&c, item, &items);
    for (int i = 0; i < items.count && !c.failed; i++)
        check_item(&c, items.of[i]);
    free(items.of);
    if (!c.failed)
        check_strays(&c, item);
    if (c.failed)
        return EX_UNAVAILABLE;
    if (c.older > 0)
        printf("%lld orders are of sales that Redis does not keep: not compared\n",
               (long long)c.older);
    printf("%lld events of %lld sales compared; %lld differences\n", (long long)c.compared,
           (long long)c.sales, (long long)c.differences);
    return c.differences > 0 ? 1 : 0;
}
