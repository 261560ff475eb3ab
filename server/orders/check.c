/* check.c - pages of the feed joined with the rows that should say the same. */
#include "server/orders/check.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/orders/pages.h"
#include "server/orders/say.h"

#define PAGE_EVENTS 1000
#define PATIENCE_MS 5000 /* in all, for what a follower has not written yet */
#define AGAIN_MS    250

typedef struct checker {
    source *from;
    database *db;
    copied_part at;
    const char *what; /* "order", "move" */
    bool prints;
    int64_t found;         /* in this look */
    int64_t orders, moves; /* of the segment when it was looked at first; -1 = it was not */
    int64_t differences, compared, sales;
    int64_t older;      /* orders of sales that Redis does not keep */
    int64_t patient_ms; /* until then */
    bool failed;
    char position[2 * POSITION_MAX_LEN], rows[2 * POSITION_MAX_LEN];
} checker;

/* ---- differences ----------------------------------------------------------------------------- */

static void put_where(checker *c, const char *number)
{
    c->found++;
    if (c->prints)
        printf("%s, sale %s, segment %d, %s %s: ", c->at.item, c->at.sale, c->at.segment, c->what,
               number);
}

static const char *shown(const char *value)
{
    return value ? value : "nothing";
}

/* number, then what Redis has of the rest, then what the database has. */
static void put_difference(void *arg, int count, const char *const *values)
{
    static const char *const order[] = {"epoch",    "order id",  "request", "user",
                                        "quantity", "remaining", "fence",   "instance",
                                        "time_us",  "expires_us"};
    static const char *const move[] = {"epoch",    "what",    "request",
                                       "quantity", "time_us", "expires_us"};
    checker *c = arg;
    const char *const *names = strcmp(c->what, "order") == 0 ? order : move;
    int half = (count - 1) / 2;
    const char *const *ours = values + 1, *const *theirs = ours + half;
    put_where(c, values[0]);
    if (!c->prints)
        return;
    if (!theirs[0]) {
        puts("not in the database, or marked as lost there");
        return;
    }
    for (int i = 0, put = 0; i < half; i++)
        if (strcmp(shown(ours[i]), shown(theirs[i])) != 0)
            printf("%s%s is %s in Redis and %s in the database", put++ > 0 ? ", " : "", names[i],
                   shown(ours[i]), shown(theirs[i]));
    putchar('\n');
}

static void put_extra(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    put_where(c, values[0]);
    if (c->prints)
        printf("in the database (%s), and not in Redis\n", count > 1 ? shown(values[1]) : "");
}

static void ask(checker *c, const char *sql, const char *const *params, database_row *row)
{
    c->failed = c->failed || !database_run(c->db, sql, params, row, c, NULL);
}

static page_status read_feed(checker *c, int limit, told_page *ret)
{
    page_status status = pages_read(c->from, c->db, &c->at, limit, ret);
    if (status == PAGE_READ && ret->why) {
        pages_free(ret);
        status = PAGE_FAILED;
    }
    if (status == PAGE_FAILED)
        say("%s: %s", c->at.item, ret->why ? ret->why : source_error(c->from));
    if (status == PAGE_NOTHING)
        say("%s: Redis has no sale of this item", c->at.item);
    return status;
}

/* ---- a page ---------------------------------------------------------------------------------- */

/* The orders and moves of the page that the ledger had when the segment was looked at first. */
static void compare_page(checker *c, const told_page *got)
{
    static const char *const forms[] = {
        "SELECT e.number, e.epoch, e.\"order\", e.request, e.\"user\", e.quantity, e.remaining,"
        " e.fence, e.instance, e.time_us, e.expires_us, o.epoch, o.order_id, o.request, o.username,"
        " o.quantity, o.remaining, o.fence, o.instance, o.time_us, o.expires_us"
        " FROM %s LEFT JOIN flashsale_orders AS o ON o.item = $2 AND o.sale = $3"
        " AND o.segment = CAST($4 AS BIGINT) AND o.number = e.number AND o.lost_us IS NULL"
        " WHERE e.event = 'order' AND e.number <= CAST($5 AS BIGINT)"
        " AND (o.number IS NULL OR o.epoch <> e.epoch"
        " OR o.order_id <> e.\"order\" OR o.request <> e.request OR o.username <> e.\"user\""
        " OR o.quantity <> e.quantity OR o.remaining <> e.remaining OR o.fence <> e.fence"
        " OR o.instance <> e.instance OR o.time_us <> e.time_us"
        " OR o.expires_us IS DISTINCT FROM e.expires_us)",
        "SELECT e.place, e.epoch, e.event, e.request, e.quantity, e.time_us, e.expires_us, o.epoch,"
        " o.what, o.request, o.quantity, o.time_us, o.expires_us"
        " FROM %s LEFT JOIN flashsale_moves AS o ON o.item = $2 AND o.sale = $3"
        " AND o.segment = CAST($4 AS BIGINT) AND o.place = e.place AND o.lost_us IS NULL"
        " WHERE e.event <> 'order' AND e.place <= CAST($5 AS BIGINT)"
        " AND (o.place IS NULL OR o.epoch <> e.epoch OR o.what <> e.event"
        " OR o.request IS DISTINCT FROM e.request OR o.quantity <> e.quantity"
        " OR o.time_us <> e.time_us OR o.expires_us IS DISTINCT FROM e.expires_us)"};
    char sql[2048], segment[24], most[24];
    snprintf(segment, sizeof(segment), "%d", c->at.segment);
    for (int i = 0; i < 2; i++) {
        c->what = i == 0 ? "order" : "move";
        snprintf(most, sizeof(most), "%lld", (long long)(i == 0 ? c->orders : c->moves));
        snprintf(sql, sizeof(sql), forms[i], database_driver_of(c->db)->events);
        ask(c, sql, PARAMS(got->page.json, c->at.item, c->at.sale, segment, most), put_difference);
    }
}

/* The page behind c->at.position, compared until it agrees or patience ends. */
static page_status check_page(checker *c, told_page *got)
{
    for (;;) {
        page_status status = read_feed(c, PAGE_EVENTS, got);
        if (status != PAGE_READ)
            return status;
        if (c->orders < 0) {
            c->orders = (int64_t)answer_number(&got->answer, "orders");
            c->moves = (int64_t)answer_number(&got->answer, "moves");
        }
        c->prints = now_ms() >= c->patient_ms;
        c->found = 0;
        compare_page(c, got);
        if (c->failed)
            return pages_free(got), PAGE_DATABASE;
        if (c->found == 0 || c->prints)
            break;
        pages_free(got);
        poll(NULL, 0, AGAIN_MS);
    }
    c->differences += c->found;
    c->compared += got->events;
    return PAGE_READ;
}

/* ---- the end of a segment -------------------------------------------------------------------- */

/* The position, and the last order and move that are not lost: of one moment. */
static void keep_ends(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    bool moved = count == 3 && values[2];
    snprintf(c->position, sizeof(c->position), "%s", values[0] ? values[0] : POSITION_START);
    snprintf(c->rows, sizeof(c->rows), "%s%s%s", values[1] ? values[1] : POSITION_START,
             moved ? "." : "", moved ? values[2] : "");
}

/* What the database has beyond the ledger. The database is asked first, as both may grow. */
static page_status check_end(checker *c)
{
    told_page got;
    char segment[24], orders[24], moves[24], last[24], last_move[24];
    snprintf(segment, sizeof(segment), "%d", c->at.segment);
    ask(c,
        "SELECT (SELECT position FROM flashsale_positions WHERE item = $1 AND sale = $2"
        " AND segment = CAST($3 AS BIGINT)), (SELECT number || '-' || epoch FROM flashsale_orders "
        "WHERE item = $1"
        " AND sale = $2 AND segment = CAST($3 AS BIGINT) AND lost_us IS NULL"
        " ORDER BY number DESC LIMIT 1), (SELECT place || '-' || epoch FROM flashsale_moves"
        " WHERE item = $1 AND sale = $2 AND segment = CAST($3 AS BIGINT) AND lost_us IS NULL"
        " ORDER BY place DESC LIMIT 1)",
        PARAMS(c->at.item, c->at.sale, segment), keep_ends);
    page_status status = c->failed ? PAGE_DATABASE : read_feed(c, 1, &got);
    if (status != PAGE_READ)
        return status;
    const char *point = strchr(c->rows, '.');
    snprintf(last, sizeof(last), "%lld", strtoll(c->rows, NULL, 10));
    snprintf(last_move, sizeof(last_move), "%lld", point ? strtoll(point + 1, NULL, 10) : 0);
    snprintf(orders, sizeof(orders), "%.0f", answer_number(&got.answer, "orders"));
    snprintf(moves, sizeof(moves), "%.0f", answer_number(&got.answer, "moves"));
    pages_free(&got);
    c->prints = true;
    c->found = 0;
    c->what = "position";
    if (strcmp(c->position, c->rows) != 0) {
        put_where(c, c->position);
        printf("the rows end with %s\n", c->rows);
    }
    c->what = "order";
    ask(c,
        "SELECT number, order_id FROM flashsale_orders WHERE item = $1 AND sale = $2 AND"
        " lost_us IS NULL AND segment = CAST($3 AS BIGINT) AND number <= CAST($5 AS BIGINT) AND"
        " (number > CAST($4 AS BIGINT) OR number < 1) ORDER BY number",
        PARAMS(c->at.item, c->at.sale, segment, orders, last), put_extra);
    c->what = "move";
    ask(c,
        "SELECT place, what FROM flashsale_moves WHERE item = $1 AND sale = $2 AND"
        " lost_us IS NULL AND segment = CAST($3 AS BIGINT) AND place <= CAST($5 AS BIGINT) AND"
        " (place > CAST($4 AS BIGINT) OR place < 1) ORDER BY place",
        PARAMS(c->at.item, c->at.sale, segment, moves, last_move), put_extra);
    c->differences += c->found;
    return c->failed ? PAGE_DATABASE : PAGE_READ;
}

/* ---- sales, and items ------------------------------------------------------------------------ */

/* All pages of a segment, from its beginning. *next gets the sale behind it, or "". */
static page_status check_segment(checker *c, int *segments, char next[NAME_MAX_LEN + 1])
{
    told_page got;
    snprintf(c->at.position, sizeof(c->at.position), POSITION_START);
    c->orders = -1;
    for (bool more = true; more;) {
        page_status status = check_page(c, &got);
        if (status != PAGE_READ)
            return status;
        more = got.behind > 0;
        *segments = got.page.segments;
        snprintf(c->at.position, sizeof(c->at.position), "%s", got.position);
        snprintf(next, NAME_MAX_LEN + 1, "%s", got.page.next_sale ? got.page.next_sale : "");
        pages_free(&got);
    }
    return check_end(c);
}

static void keep_count(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    if (count == 1 && values[0])
        c->older += strtoll(values[0], NULL, 10);
}

/* All sales of an item, from the oldest that Redis keeps; those before are only counted. */
static void check_item(checker *c, const char *item)
{
    told_page got;
    char next[NAME_MAX_LEN + 1] = "";
    c->at = (copied_part){.segment = 0, .position = POSITION_START};
    snprintf(c->at.item, sizeof(c->at.item), "%s", item);
    page_status status = read_feed(c, 1, &got);
    if (status == PAGE_READ) {
        snprintf(c->at.sale, sizeof(c->at.sale), "%s", got.sale);
        pages_free(&got);
    }
    int64_t older = c->older;
    ask(c,
        "SELECT count(*) FROM flashsale_orders WHERE item = $1 AND lost_us IS NULL"
        " AND (sale < $2 OR $2 = '')",
        PARAMS(item, c->at.sale), keep_count);
    if (status == PAGE_NOTHING && c->older > older) {
        c->differences++;
        printf("%s: the database has orders, and Redis has no sale\n", item);
    }
    while (status == PAGE_READ && c->at.sale[0] != '\0') {
        int segments = 1;
        char after[NAME_MAX_LEN + 1] = "";
        c->sales++;
        for (int k = 0; status == PAGE_READ && k < segments; k++) {
            c->at.segment = k;
            status = check_segment(c, &segments, next);
            if (k == 0)
                snprintf(after, sizeof(after), "%s", next);
        }
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

/* Rows of items, sales and segments that were never copied, so that none is compared. */
static void check_strays(checker *c, const char *item)
{
#define STRAYS(what, number, table)                                                                \
    "SELECT '" what "', item, sale, segment, " number " FROM " table " AS o WHERE lost_us IS NULL" \
    " AND ($1 = '' OR item = $1) AND NOT EXISTS (SELECT 1 FROM flashsale_positions AS p"           \
    " WHERE p.item = o.item AND p.sale = o.sale AND p.segment = o.segment)"
    ask(c,
        STRAYS("order", "number", "flashsale_orders") " UNION ALL " STRAYS(
            "move", "place", "flashsale_moves") " ORDER BY 2, 3, 4, 1, 5",
        PARAMS(item ? item : ""), put_stray);
    if (c->failed)
        say("the database: %s", database_error(c->db));
}

/* Those that Redis has, and those of which the database expects more. */
typedef struct item_names {
    char (*of)[NAME_MAX_LEN + 1];
    int count, room;
    bool failed; /* out of memory */
} item_names;

static void add_name(void *arg, const char *item)
{
    item_names *names = arg;
    for (int i = 0; i < names->count; i++)
        if (strcmp(names->of[i], item) == 0)
            return;
    if (names->count == names->room) {
        names->room = names->room * 2 + 16;
        void *of = realloc(names->of, (size_t)names->room * sizeof(*names->of));
        names->failed = names->failed || !of;
        if (!of)
            return;
        names->of = of;
    }
    snprintf(names->of[names->count++], sizeof(*names->of), "%s", item);
}

static void add_row(void *arg, int count, const char *const *values)
{
    if (count == 1 && values[0])
        add_name(arg, values[0]);
}

static bool find_items(checker *c, const char *item, item_names *ret)
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
    item_names names = {.count = 0};
    /* A database that has not counted its rows as yet would join each event with all of its sale's;
     * whoever may not have them counted only waits longer. */
    database_run(db, "ANALYZE flashsale_orders", NULL, NULL, NULL, NULL);
    database_run(db, "ANALYZE flashsale_moves", NULL, NULL, NULL, NULL);
    c.failed = !find_items(&c, item, &names);
    c.patient_ms = now_ms() + PATIENCE_MS;
    for (int i = 0; i < names.count && !c.failed; i++)
        check_item(&c, names.of[i]);
    free(names.of);
    if (!c.failed)
        check_strays(&c, item);
    if (c.failed)
        return 69;
    if (c.older > 0)
        printf("%lld orders are of sales that Redis does not keep: not compared\n",
               (long long)c.older);
    printf("%lld events of %lld sales compared; %lld differences\n", (long long)c.compared,
           (long long)c.sales, (long long)c.differences);
    return c.differences > 0 ? 1 : 0;
}
