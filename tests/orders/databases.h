/*
 * databases.h - the databases that orders go to, for cases that run on each of them.
 *
 *     static void rows_stay(void **state)
 *     {
 *         use_database(*state);
 *         sql_do("INSERT INTO ...");
 *         assert_int_equal(sql_number("SELECT count(*) FROM flashsale_orders"), 1);
 *     }
 *
 *     const struct CMUnitTest tests[] = {ON_EACH_DATABASE(rows_stay)};
 *
 * Each case has an empty one: a file of SQLite, or a database of the program's PostgreSQL, which is
 * started by the first case that needs it. Where PostgreSQL is not installed, its cases are
 * skipped. `base.db` is the case's own connection, beside those of the programs that it starts.
 */
#ifndef TESTS_ORDERS_DATABASES_H
#define TESTS_ORDERS_DATABASES_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/orders/database.h"
#include "tests/support/postgres.h"

enum { SQL_MAX = 4096, ROWS_MAX = 65536, COPY_MS = 90000 };

typedef struct test_base {
    const char *kind; /* "sqlite" or "postgresql" */
    char dir[256];    /* of SQLite's file, and for whatever the case writes */
    char url[512];
    database *db;
} test_base;

static test_base base;
static fx_postgres *postgres; /* NULL: not started as yet */

#define ON(database, test)                                                                         \
    {                                                                                              \
#test "." database, test, NULL, drop_database, (void *)(database)                          \
    }
#define ON_EACH_DATABASE(test) ON("sqlite", test), ON("postgresql", test)

static inline bool is_postgres(void)
{
    return strcmp(base.kind, "postgresql") == 0;
}

/* Another connection to the case's database. */
static inline database *connect_to_base(void)
{
    char err[256];
    database *db = database_new(base.url, true, err, sizeof(err));
    if (!db)
        fail_msg("%s: %s", base.url, err);
    return db;
}

static inline void use_database(const char *kind)
{
    base = (test_base){.kind = kind};
    if (is_postgres() ? !database_postgres : !database_sqlite)
        fx_skip("built without the library of %s", kind);
    if (is_postgres()) {
        fx_only_with_postgres();
        if (postgres)
            fx_postgres_fresh(postgres);
        else
            postgres = fx_postgres_start(NULL);
    }
    fx_dir_make(base.dir, sizeof(base.dir));
    if (is_postgres())
        snprintf(base.url, sizeof(base.url), "%s", fx_postgres_url(postgres));
    else
        snprintf(base.url, sizeof(base.url), "sqlite:%s/orders.db", base.dir);
    base.db = connect_to_base();
}

/* Each case's teardown, also of one that has failed or was skipped. */
static inline int drop_database(void **state)
{
    (void)state;
    database_free(base.db);
    if (base.dir[0] != '\0')
        fx_dir_remove(base.dir);
    base = (test_base){.kind = ""};
    return 0;
}

static inline void stop_postgres(void)
{
    fx_postgres_stop(postgres);
    postgres = NULL;
}

/* ---- SQL ------------------------------------------------------------------------------------- */

typedef struct sql_rows {
    char text[ROWS_MAX];
    size_t len;
} sql_rows;

static inline void keep_row(void *arg, int count, const char *const *values)
{
    sql_rows *rows = arg;
    for (int i = 0; i < count; i++) {
        size_t room = sizeof(rows->text) - rows->len;
        int len = snprintf(rows->text + rows->len, room, "%s%s",
                           i > 0           ? "|"
                           : rows->len > 0 ? "\n"
                                           : "",
                           values[i] ? values[i] : "");
        assert_in_range(len, 0, room - 1);
        rows->len += (size_t)len;
    }
}

/* Runs one statement: its rows a line each, with '|' between the values, until the next call; NULL
 * and base's error when the database refuses. A connection that was lost is made again. */
static inline const char *sql_try(const char *statement)
{
    static sql_rows rows;
    for (int i = 0; i < 2; i++) {
        rows.text[0] = '\0';
        rows.len = 0;
        if (database_run(base.db, statement, NULL, keep_row, &rows, NULL))
            return rows.text;
        database_disconnect(base.db);
    }
    return NULL;
}

/* Likewise as for printf(), and fails the case when the database refuses. */
static inline const char *sql_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline const char *sql_text(const char *format, ...)
{
    char statement[SQL_MAX];
    va_list args;
    va_start(args, format);
    int len = vsnprintf(statement, sizeof(statement), format, args);
    va_end(args);
    assert_in_range(len, 1, sizeof(statement) - 1);
    const char *rows = sql_try(statement);
    if (!rows)
        fail_msg("%s: %s", statement, database_error(base.db));
    return rows;
}

#define sql_do(...)     ((void)sql_text(__VA_ARGS__))
#define sql_number(...) strtoll(sql_text(__VA_ARGS__), NULL, 10)

#endif
