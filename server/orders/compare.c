/* compare.c - the database compares: it joins its rows with a page as a table. */
#include "server/orders/compare.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "server/orders/say.h"

#define PAGE_EVENTS 1000
#define PATIENCE_MS 3000 /* per segment, for what a follower has not written yet */
#define AGAIN_MS    250

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

/* The columns: number, Redis's values, the database's values. */
static void put_difference(void *arg, int count, const char *const *values)
{
    static const char *const order[] = {"epoch",    "order id",  "request", "user",
                                        "quantity", "remaining", "fence",   "instance",
                                        "time_us",  "expires_us"};
    static const char *const move[] = {"epoch",    "what",    "request",
                                       "quantity", "time_us", "expires_us"};
    checker *c = arg;
    const char *const *members = strcmp(c->what, "order") == 0 ? order : move;
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
            printf("%s%s is %s in Redis and %s in the database", put++ > 0 ? ", " : "", members[i],
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

void checker_ask(checker *c, const char *sql, const char *const *params, database_row *row,
                 void *arg)
{
    c->failed = c->failed || !database_run(c->db, sql, params, row, arg, NULL);
}

page_status checker_read(checker *c, int limit, told_page *ret)
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

/* Compares the page's orders and moves that the ledger had at the first look at the segment. */
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
        checker_ask(c, sql, PARAMS(got->page.json, c->at.item, c->at.sale, segment, most),
                    put_difference, c);
    }
}

/* Compares the page behind c->at.position until it agrees or patience ends. */
static page_status check_page(checker *c, told_page *got)
{
    for (;;) {
        page_status status = checker_read(c, PAGE_EVENTS, got);
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

/* Keeps the position, and the last order and move that are not lost, as of one moment. */
static void keep_ends(void *arg, int count, const char *const *values)
{
    checker *c = arg;
    bool moved = count == 3 && values[2];
    snprintf(c->position, sizeof(c->position), "%s", values[0] ? values[0] : POSITION_START);
    snprintf(c->rows, sizeof(c->rows), "%s%s%s", values[1] ? values[1] : POSITION_START,
             moved ? "." : "", moved ? values[2] : "");
}

/* Finds what the database has beyond the ledger. Asks the database first, because both may grow. */
static page_status check_end(checker *c)
{
    told_page got;
    char segment[24], orders[24], moves[24], last[24], last_move[24];
    snprintf(segment, sizeof(segment), "%d", c->at.segment);
    checker_ask(
        c,
        "SELECT (SELECT position FROM flashsale_positions WHERE item = $1 AND sale = $2"
        " AND segment = CAST($3 AS BIGINT)), (SELECT number || '-' || epoch FROM flashsale_orders"
        " WHERE item = $1 AND sale = $2 AND segment = CAST($3 AS BIGINT) AND lost_us IS NULL"
        " ORDER BY number DESC LIMIT 1), (SELECT place || '-' || epoch FROM flashsale_moves"
        " WHERE item = $1 AND sale = $2 AND segment = CAST($3 AS BIGINT) AND lost_us IS NULL"
        " ORDER BY place DESC LIMIT 1)",
        PARAMS(c->at.item, c->at.sale, segment), keep_ends, c);
    page_status status = c->failed ? PAGE_DATABASE : checker_read(c, 1, &got);
    if (status != PAGE_READ)
        return status;
    int64_t number, place;
    pages_position(c->rows, &number, &place);
    snprintf(last, sizeof(last), "%lld", (long long)number);
    snprintf(last_move, sizeof(last_move), "%lld", (long long)place);
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
    checker_ask(
        c,
        "SELECT number, order_id FROM flashsale_orders WHERE item = $1 AND sale = $2 AND"
        " lost_us IS NULL AND segment = CAST($3 AS BIGINT) AND number <= CAST($5 AS BIGINT) AND"
        " (number > CAST($4 AS BIGINT) OR number < 1) ORDER BY number",
        PARAMS(c->at.item, c->at.sale, segment, orders, last), put_extra, c);
    c->what = "move";
    checker_ask(
        c,
        "SELECT place, what FROM flashsale_moves WHERE item = $1 AND sale = $2 AND"
        " lost_us IS NULL AND segment = CAST($3 AS BIGINT) AND place <= CAST($5 AS BIGINT) AND"
        " (place > CAST($4 AS BIGINT) OR place < 1) ORDER BY place",
        PARAMS(c->at.item, c->at.sale, segment, moves, last_move), put_extra, c);
    c->differences += c->found;
    return c->failed ? PAGE_DATABASE : PAGE_READ;
}

/* ---- all of it ------------------------------------------------------------------------------- */

page_status compare_segment(checker *c, int *segments, char next[NAME_MAX_LEN + 1])
{
    told_page got;
    snprintf(c->at.position, sizeof(c->at.position), POSITION_START);
    c->orders = -1;
    c->patient_ms = now_ms() + PATIENCE_MS;
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
