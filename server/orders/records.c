/* records.c - the SQL, the same for both databases except for the parts in the driver. */
#include "server/orders/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY    "item = $2 AND sale = $3 AND segment = CAST($4 AS BIGINT)"
#define NUMBER 24           /* a number as text */
#define MARGIN "3600000000" /* us by which clocks may differ */

/* A place in a statement: $2, $3, $4. $1 is the page, or "". */
typedef struct place_words {
    const char *item, *sale;
    char segment[NUMBER];
} place_words;

static place_words words_of(const copied_part *place)
{
    place_words words = {place->item, place->sale, ""};
    snprintf(words.segment, sizeof(words.segment), "%d", place->segment);
    return words;
}

/* ---- the tables ------------------------------------------------------------------------------ */

#define COLUMNS "item TEXT NOT NULL, sale TEXT NOT NULL, segment INTEGER NOT NULL, "
#define EVENT_COLUMNS                                                                              \
    "quantity BIGINT NOT NULL, time_us BIGINT NOT NULL, expires_us BIGINT, lost_us BIGINT, "

static const char *const tables[] = {
    "CREATE TABLE IF NOT EXISTS flashsale_orders (" COLUMNS
    "number BIGINT NOT NULL, epoch TEXT NOT NULL, order_id TEXT NOT NULL, request TEXT NOT NULL,"
    " username TEXT NOT NULL, remaining BIGINT NOT NULL, fence BIGINT NOT NULL,"
    " instance TEXT NOT NULL, " EVENT_COLUMNS "PRIMARY KEY (item, sale, segment, number, epoch))",
    "CREATE UNIQUE INDEX IF NOT EXISTS flashsale_orders_kept"
    " ON flashsale_orders (item, sale, segment, number) WHERE lost_us IS NULL",
    "CREATE TABLE IF NOT EXISTS flashsale_moves (" COLUMNS
    "place BIGINT NOT NULL, epoch TEXT NOT NULL, what TEXT NOT NULL, request TEXT, " EVENT_COLUMNS
    "PRIMARY KEY (item, sale, segment, place, epoch))",
    "CREATE INDEX IF NOT EXISTS flashsale_moves_request ON flashsale_moves (request)",
    "CREATE INDEX IF NOT EXISTS flashsale_moves_expired"
    " ON flashsale_moves (item, sale, expires_us) WHERE what = 'expired'",
    "CREATE TABLE IF NOT EXISTS flashsale_positions (" COLUMNS
    "position TEXT NOT NULL, ended INTEGER NOT NULL, kept_us BIGINT NOT NULL,"
    " PRIMARY KEY (item, sale, segment))",
    "CREATE TABLE IF NOT EXISTS flashsale_leader (id INTEGER PRIMARY KEY, fence BIGINT NOT NULL)",
    "INSERT INTO flashsale_leader (id, fence) VALUES (1, 0) ON CONFLICT (id) DO NOTHING",
};

/* The last move of an order counts; an expired bucket is a move of all that ended with it. */
#define VIEW                                                                                       \
    " flashsale_order_states AS SELECT o.item, o.sale, o.segment, o.number, o.epoch, o.order_id,"  \
    " o.request, o.username, o.quantity, CASE WHEN o.lost_us IS NOT NULL THEN 'lost'"              \
    " WHEN o.expires_us IS NULL AND m.what IS NULL THEN 'sold'"                                    \
    " WHEN m.what = 'confirmed' THEN 'sold' WHEN m.what IS NOT NULL THEN m.what"                   \
    " WHEN EXISTS (SELECT 1 FROM flashsale_moves AS x WHERE x.item = o.item AND x.sale = o.sale"   \
    " AND x.what = 'expired' AND x.expires_us = o.expires_us AND x.segment = o.segment"            \
    " AND x.lost_us IS NULL) THEN 'expired' ELSE 'reserved' END AS state, o.remaining, o.fence,"   \
    " o.instance, o.time_us, o.expires_us, o.lost_us FROM flashsale_orders AS o"                   \
    " LEFT JOIN flashsale_moves AS m ON m.item = o.item AND m.sale = o.sale"                       \
    " AND m.segment = o.segment AND m.request = o.request AND m.lost_us IS NULL"                   \
    " AND NOT EXISTS (SELECT 1 FROM flashsale_moves AS n WHERE n.request = m.request"              \
    " AND n.item = m.item AND n.sale = m.sale AND n.segment = m.segment AND n.place > m.place"     \
    " AND n.lost_us IS NULL)"

bool records_create(database *db)
{
    char view[2048];
    if (!database_connect(db))
        return false;
    if (database_run(db, "SELECT 1 FROM flashsale_order_states LIMIT 0", NULL, NULL, NULL, NULL))
        return true; /* created last; a user who may not create anything will do */
    const database_driver *driver = database_driver_of(db);
    snprintf(view, sizeof(view), "%s" VIEW, driver->view);
    bool created = database_run(db, driver->begin, NULL, NULL, NULL, NULL);
    for (size_t i = 0; created && i < sizeof(tables) / sizeof(tables[0]); i++)
        created = database_run(db, tables[i], NULL, NULL, NULL, NULL);
    created = created && database_run(db, view, NULL, NULL, NULL, NULL) &&
              database_run(db, "COMMIT", NULL, NULL, NULL, NULL);
    if (!created)
        database_disconnect(db);
    return created;
}

/* ---- transactions ---------------------------------------------------------------------------- */

/* Begins a transaction, unless the database has a later fence, which a later leader has written. */
static write_status begin(database *db, uint64_t fence)
{
    char text[NUMBER];
    int64_t leads = 1;
    snprintf(text, sizeof(text), "%llu", (unsigned long long)fence);
    if (!database_run(db, database_driver_of(db)->begin, NULL, NULL, NULL, NULL) ||
        (fence != 0 && !database_run(db,
                                     "UPDATE flashsale_leader SET fence = CAST($1 AS BIGINT)"
                                     " WHERE id = 1 AND fence <= CAST($1 AS BIGINT)",
                                     PARAMS(text), NULL, NULL, &leads)))
        return WRITE_FAILED;
    return leads == 1 ? WRITE_OK : WRITE_NOT_LEADING;
}

/* Ends a transaction, whose statements ended with `status`. */
static write_status finish(database *db, write_status status)
{
    if (status == WRITE_OK && !database_run(db, "COMMIT", NULL, NULL, NULL, NULL))
        status = WRITE_FAILED;
    if (status != WRITE_OK) /* a statement that has failed may have left it open */
        database_disconnect(db);
    return status;
}

/* A place that was given up is read again from its beginning; then its rows lose their marks. */
static bool add_place(database *db, const char *item, const char *sale, int segment)
{
    char number[NUMBER];
    snprintf(number, sizeof(number), "%d", segment);
    return database_run(db,
                        "INSERT INTO flashsale_positions"
                        " (item, sale, segment, position, ended, kept_us)"
                        " VALUES ($1, $2, CAST($3 AS BIGINT), '" POSITION_START "', 0, 0)"
                        " ON CONFLICT (item, sale, segment) DO UPDATE SET ended = 0, position ="
                        " CASE WHEN flashsale_positions.ended = 2 THEN '" POSITION_START "'"
                        " ELSE flashsale_positions.position END",
                        PARAMS(item, sale, number), NULL, NULL, NULL);
}

write_status records_begin(database *db, const char *item, const char *sale, int segments,
                           uint64_t fence)
{
    write_status status = begin(db, fence);
    for (int k = 0; status == WRITE_OK && k < segments; k++)
        status = add_place(db, item, sale, k) ? WRITE_OK : WRITE_FAILED;
    return finish(db, status);
}

static write_status move_on(database *db, const copied_part *place, const char *position,
                            const char *ended, int64_t kept_us)
{
    int64_t changed;
    char kept[NUMBER];
    place_words words = words_of(place);
    snprintf(kept, sizeof(kept), "%lld", (long long)kept_us);
    if (!database_run(
            db,
            "UPDATE flashsale_positions SET position = $1, ended = CAST($6 AS INTEGER),"
            " kept_us = CASE WHEN CAST($7 AS BIGINT) < 0 THEN kept_us"
            " ELSE CAST($7 AS BIGINT) END WHERE " KEY " AND position = $5",
            PARAMS(position, words.item, words.sale, words.segment, place->position, ended, kept),
            NULL, NULL, &changed))
        return WRITE_FAILED;
    return changed == 1 ? WRITE_OK : WRITE_ELSEWHERE;
}

/* Has the item's sales before this one asked once more. */
static bool reopen_before(database *db, const copied_part *place, const char *unless)
{
    char sql[512];
    snprintf(sql, sizeof(sql),
             "UPDATE flashsale_positions SET ended = 0"
             " WHERE item = $1 AND sale < $2 AND ended = 1%s",
             unless);
    return database_run(db, sql, PARAMS(place->item, place->sale), NULL, NULL, NULL);
}

/* Marks what is behind the last order and move that Redis and the database both have; what the page
 * has of it loses the mark. */
static bool mark_lost(database *db, const copied_part *place, const copy_page *page)
{
    static const char *const forms[] = {
        "UPDATE flashsale_orders SET lost_us = CAST($1 AS BIGINT) WHERE " KEY
        " AND number > CAST($5 AS BIGINT) AND lost_us IS NULL",
        "UPDATE flashsale_moves SET lost_us = CAST($1 AS BIGINT) WHERE " KEY
        " AND place > CAST($5 AS BIGINT) AND lost_us IS NULL"};
    place_words words = words_of(place);
    char now[NUMBER], last[NUMBER];
    bool marked = true;
    snprintf(now, sizeof(now), "%lld", (long long)page->time_us);
    for (int i = 0; marked && i < 2; i++) {
        snprintf(last, sizeof(last), "%lld", (long long)(i == 0 ? page->orders : page->moves));
        marked =
            database_run(db, forms[i], PARAMS(now, words.item, words.sale, words.segment, last),
                         NULL, NULL, NULL);
    }
    return marked && reopen_before(db, place, "");
}

static void keep_number(void *arg, int count, const char *const *values)
{
    if (count == 1 && values[0])
        *(int64_t *)arg = strtoll(values[0], NULL, 10);
}

/* How many orders and moves of the place were marked at that time. */
static bool count_lost(database *db, const copied_part *place, int64_t time_us, int64_t *ret)
{
    place_words words = words_of(place);
    char time[NUMBER];
    snprintf(time, sizeof(time), "%lld", (long long)time_us);
    return database_run(db,
                        "SELECT (SELECT count(*) FROM flashsale_orders WHERE " KEY
                        " AND lost_us = CAST($1 AS BIGINT)) + (SELECT count(*) FROM"
                        " flashsale_moves WHERE " KEY " AND lost_us = CAST($1 AS BIGINT))",
                        PARAMS(time, words.item, words.sale, words.segment), keep_number, ret,
                        NULL);
}

/* An event that the database already has was marked as lost, but is not lost. (In a sale that is
 * over another move may have replaced a lost one under the same key.) */
static bool insert(database *db, const copied_part *place, const copy_page *page)
{
    static const char *const forms[] = {
        "INSERT INTO flashsale_orders (item, sale, segment, number, epoch, order_id, request,"
        " username, quantity, remaining, fence, instance, time_us, expires_us)"
        " SELECT $2, $3, CAST($4 AS BIGINT), e.number, e.epoch, e.\"order\", e.request, e.\"user\","
        " e.quantity, e.remaining, e.fence, e.instance, e.time_us, e.expires_us"
        " FROM %s WHERE e.event = 'order'"
        " ON CONFLICT (item, sale, segment, number, epoch) DO UPDATE SET lost_us = NULL",
        "INSERT INTO flashsale_moves (item, sale, segment, place, epoch, what, request, quantity,"
        " time_us, expires_us)"
        " SELECT $2, $3, CAST($4 AS BIGINT), e.place, e.epoch, e.event, e.request, e.quantity,"
        " e.time_us, e.expires_us FROM %s WHERE e.event <> 'order'"
        " ON CONFLICT (item, sale, segment, place, epoch) DO UPDATE SET lost_us = NULL,"
        " what = excluded.what, request = excluded.request, quantity = excluded.quantity,"
        " time_us = excluded.time_us, expires_us = excluded.expires_us"};
    char sql[2048];
    place_words words = words_of(place);
    bool done = true;
    for (size_t i = 0; done && i < 2; i++) {
        snprintf(sql, sizeof(sql), forms[i], database_driver_of(db)->events);
        done = database_run(db, sql, PARAMS(page->json, words.item, words.sale, words.segment),
                            NULL, NULL, NULL);
    }
    return done;
}

write_status records_write(database *db, const copied_part *place, const copy_page *page,
                           uint64_t fence, int64_t *lost)
{
    *lost = 0;
    bool at_start = strcmp(place->position, POSITION_START) == 0 && place->segment == 0;
    write_status status = begin(db, fence);
    if (status == WRITE_OK)
        status = move_on(db, place, page->position, page->end ? "1" : "0", page->kept_us);
    bool done = status != WRITE_OK ||
                ((!page->rewound || mark_lost(db, place, page)) && insert(db, place, page) &&
                 (!page->rewound || count_lost(db, place, page->time_us, lost)) &&
                 (!page->next_sale || add_place(db, place->item, page->next_sale, 0)));
    for (int k = 1; status == WRITE_OK && done && at_start && k < page->segments; k++)
        done = add_place(db, place->item, place->sale, k);
    return finish(db, done ? status : WRITE_FAILED);
}

write_status records_give_up(database *db, const copied_part *place, int64_t now_us, uint64_t fence,
                             int64_t *lost)
{
    char now[NUMBER];
    place_words words = words_of(place);
    snprintf(now, sizeof(now), "%lld", (long long)now_us);
    write_status status = begin(db, fence);
    *lost = 0;
    if (status == WRITE_OK)
        status = move_on(db, place, place->position, "2", -1);
    if (status == WRITE_OK &&
        !(database_run(
              db,
              "UPDATE flashsale_orders SET lost_us = CAST($1 AS BIGINT) WHERE " KEY
              " AND lost_us IS NULL AND EXISTS (SELECT 1 FROM flashsale_positions WHERE " KEY
              " AND kept_us > CAST($1 AS BIGINT) + " MARGIN ")",
              PARAMS(now, words.item, words.sale, words.segment), NULL, NULL, lost) &&
          reopen_before(db, place,
                        " AND NOT EXISTS (SELECT 1 FROM flashsale_positions AS later"
                        " WHERE later.item = $1 AND later.sale > $2)")))
        status = WRITE_FAILED;
    return finish(db, status);
}

/* ---- where to go on -------------------------------------------------------------------------- */

typedef struct places {
    void (*each)(void *arg, const copied_part *place);
    void *arg;
} places;

static void give_place(void *arg, int count, const char *const *values)
{
    places *to = arg;
    copied_part found = {.segment = 0};
    if (count != 4 || !values[0] || !values[1] || !values[2] || !values[3])
        return;
    snprintf(found.item, sizeof(found.item), "%s", values[0]);
    snprintf(found.sale, sizeof(found.sale), "%s", values[1]);
    found.segment = (int)strtol(values[2], NULL, 10);
    snprintf(found.position, sizeof(found.position), "%s", values[3]);
    to->each(to->arg, &found);
}

bool records_places(database *db, void (*each)(void *arg, const copied_part *place), void *arg)
{
    places to = {each, arg};
    return database_run(db,
                        "SELECT item, sale, segment, position FROM flashsale_positions"
                        " WHERE ended = 0 ORDER BY item, sale, segment",
                        NULL, give_place, &to, NULL);
}

static void give_position(void *arg, int count, const char *const *values)
{
    char *text = arg;
    size_t len = strlen(text);
    if (count == 2 && values[0] && values[1])
        snprintf(text + len, POSITION_MAX_LEN + 1 - len, "%s%s-%s", len > 0 ? "." : "", values[0],
                 values[1]);
}

bool records_position(database *db, const copied_part *place, int64_t orders, int64_t moves,
                      char ret[POSITION_MAX_LEN + 1])
{
    char number[NUMBER];
    place_words words = words_of(place);
    ret[0] = '\0';
    snprintf(number, sizeof(number), "%lld", (long long)orders);
    if (!database_run(db,
                      "SELECT number, epoch FROM flashsale_orders WHERE " KEY
                      " AND number <= CAST($1 AS BIGINT) AND lost_us IS NULL"
                      " ORDER BY number DESC LIMIT 1",
                      PARAMS(number, words.item, words.sale, words.segment), give_position, ret,
                      NULL))
        return false;
    if (ret[0] == '\0') {
        snprintf(ret, POSITION_MAX_LEN + 1, POSITION_START);
        return true;
    }
    snprintf(number, sizeof(number), "%lld", (long long)moves);
    return database_run(db,
                        "SELECT place, epoch FROM flashsale_moves WHERE " KEY
                        " AND place <= CAST($1 AS BIGINT) AND lost_us IS NULL"
                        " ORDER BY place DESC LIMIT 1",
                        PARAMS(number, words.item, words.sale, words.segment), give_position, ret,
                        NULL);
}
