/*
 * sqlite.c - writes orders into a file, by SQLite.
 *
 * The journal is a write-ahead log, so readers and the follower do not block each other. Each
 * transaction is synced before it counts as committed (synchronous FULL).
 */
#include "server/orders/database.h"

#ifdef ORDERS_SQLITE

#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#define BUSY_MS 5000 /* limit of the wait for another process's write */

static void set_error(sqlite3 *file, char *err, size_t err_len)
{
    snprintf(err, err_len, "SQLite: %s", sqlite3_errmsg(file));
}

static void *open_file(const char *url, bool writes, char *err, size_t err_len)
{
    sqlite3 *file = NULL;
    const char *name = url + strlen("sqlite:");
    int flags = writes ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY;
    if (sqlite3_open_v2(name, &file, flags, NULL) == SQLITE_OK &&
        sqlite3_busy_timeout(file, BUSY_MS) == SQLITE_OK &&
        (!writes || sqlite3_exec(file, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL", NULL,
                                 NULL, NULL) == SQLITE_OK))
        return file;
    snprintf(err, err_len, "SQLite: %s: %s", name, file ? sqlite3_errmsg(file) : "out of memory");
    sqlite3_close(file);
    return NULL;
}

static void close_file(void *connection)
{
    sqlite3_close(connection);
}

static bool bind(sqlite3_stmt *statement, const char *const *params)
{
    bool bound = true;
    for (int i = 0; bound && params && params[i]; i++) {
        char name[16];
        snprintf(name, sizeof(name), "$%d", i + 1);
        int at = sqlite3_bind_parameter_index(statement, name);
        bound =
            at == 0 || sqlite3_bind_text(statement, at, params[i], -1, SQLITE_STATIC) == SQLITE_OK;
    }
    return bound;
}

static void give(sqlite3_stmt *statement, database_row *row, void *arg)
{
    const char *values[DATABASE_COLUMNS];
    int count = sqlite3_column_count(statement);
    for (int i = 0; i < count && i < DATABASE_COLUMNS; i++)
        values[i] = (const char *)sqlite3_column_text(statement, i);
    row(arg, count, values);
}

static bool run(void *connection, const char *sql, const char *const *params, database_row *row,
                void *arg, int64_t *changed, char *err, size_t err_len)
{
    sqlite3 *file = connection;
    sqlite3_stmt *statement = NULL;
    int status = SQLITE_ERROR, before = sqlite3_total_changes(file);
    if (sqlite3_prepare_v2(file, sql, -1, &statement, NULL) == SQLITE_OK && bind(statement, params))
        while ((status = sqlite3_step(statement)) == SQLITE_ROW)
            if (row)
                give(statement, row, arg);
    if (status != SQLITE_DONE)
        set_error(file, err, err_len);
    *changed = sqlite3_total_changes(file) - before;
    sqlite3_finalize(statement);
    return status == SQLITE_DONE;
}

static const database_driver driver = {
    .begin = "BEGIN IMMEDIATE",
    .view = "CREATE VIEW IF NOT EXISTS",
    .events = "(SELECT value ->> 'event' AS event, value ->> 'number' AS number,"
              " value ->> 'place' AS place, value ->> 'epoch' AS epoch,"
              " value ->> 'order' AS \"order\", value ->> 'request' AS request,"
              " value ->> 'user' AS \"user\", value ->> 'quantity' AS quantity,"
              " value ->> 'remaining' AS remaining, value ->> 'fence' AS fence,"
              " value ->> 'instance' AS instance, value ->> 'time_us' AS time_us,"
              " value ->> 'expires_us' AS expires_us FROM json_each($1, '$.events')) AS e",
    .open = open_file,
    .close = close_file,
    .run = run,
};

const database_driver *const database_sqlite = &driver;
#else
const database_driver *const database_sqlite = NULL;
#endif
