/*
 * database.h - the database for orders, SQLite or PostgreSQL, behind one function.
 *
 * Both accept the same SQL, with parameters $1, $2, ... as texts; the drivers have the differences.
 * A page of events is sent to the database as the JSON of an instance, and parsed there.
 *
 * For one thread.
 */
#ifndef FLASHSALE_ORDERS_DATABASE_H
#define FLASHSALE_ORDERS_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A row of an answer: texts, NULL where there is no value. (borrowed) */
#define DATABASE_COLUMNS 32 /* at most */
typedef void database_row(void *arg, int count, const char *const *values);

typedef struct database_driver {
    const char *begin;  /* begins a transaction that writes */
    const char *view;   /* creates a view unless it is there */
    const char *events; /* the events of page $1 as rows "e", for FROM */
    void *(*open)(const char *url, bool writes, char *err, size_t err_len);
    void (*close)(void *connection);
    bool (*run)(void *connection, const char *sql, const char *const *params, database_row *row,
                void *arg, int64_t *changed, char *err, size_t err_len);
} database_driver;

/* NULL where the program was built without the library. */
extern const database_driver *const database_sqlite, *const database_postgres;

typedef struct database database;

/* A database at sqlite:FILE or postgresql://...; does not connect. `writes`: a missing file is
 * created. NULL and a sentence in err: no driver, no file name, or out of memory. */
database *database_new(const char *url, bool writes, char *err, size_t err_len);
void database_free(database *db);

const database_driver *database_driver_of(const database *db);

/* Connects, unless it is connected. False: database_error(). */
bool database_connect(database *db);

/* Closes the connection, and so rolls back an open transaction. If COMMIT was already sent, its
 * outcome is unknown. */
void database_disconnect(database *db);

/* Runs one statement. `params` end with NULL; `row` (may be NULL) gets each row of the answer;
 * *changed (may be NULL) is how many rows were written. False: database_error(), and the statement
 * was not executed, or its connection is lost. */
#define PARAMS(...) ((const char *const[]){__VA_ARGS__, NULL})
bool database_run(database *db, const char *sql, const char *const *params, database_row *row,
                  void *arg, int64_t *changed);

/* Why the last call failed, as a sentence. (borrowed) */
const char *database_error(const database *db);

#endif
