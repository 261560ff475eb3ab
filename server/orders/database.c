/* database.c - finds the driver, and keeps the connection and its last error. */
#include "server/orders/database.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct database {
    const database_driver *driver;
    void *connection; /* NULL = none */
    char *url;
    bool writes;
    char err[512];
};

static const database_driver *find_driver(const char *url, char *err, size_t err_len)
{
    if (strcmp(url, "sqlite:") == 0 || strcmp(url, "sqlite::memory:") == 0) {
        snprintf(err, err_len, "'%s' names no file", url);
        return NULL;
    }
    static const struct {
        const char *scheme, *library;
        const database_driver *const *driver;
    } all[] = {{"sqlite:", "sqlite3", &database_sqlite},
               {"postgresql://", "libpq", &database_postgres},
               {"postgres://", "libpq", &database_postgres}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
        if (strncmp(url, all[i].scheme, strlen(all[i].scheme)) == 0) {
            if (!*all[i].driver)
                snprintf(err, err_len, "this program was built without %s", all[i].library);
            return *all[i].driver;
        }
    snprintf(err, err_len, "a database is sqlite:FILE or postgresql://...");
    return NULL;
}

database *database_new(const char *url, bool writes, char *err, size_t err_len)
{
    const database_driver *driver = find_driver(url, err, err_len);
    database *db = driver ? calloc(1, sizeof(*db)) : NULL;
    if (db)
        *db = (database){.driver = driver, .url = strdup(url), .writes = writes};
    if (driver && (!db || !db->url))
        snprintf(err, err_len, "out of memory");
    if (db && db->url)
        return db;
    free(db);
    return NULL;
}

void database_free(database *db)
{
    if (!db)
        return;
    database_disconnect(db);
    free(db->url);
    free(db);
}

const database_driver *database_driver_of(const database *db)
{
    return db->driver;
}

bool database_connect(database *db)
{
    if (!db->connection)
        db->connection = db->driver->open(db->url, db->writes, db->err, sizeof(db->err));
    return db->connection != NULL;
}

void database_disconnect(database *db)
{
    if (db->connection)
        db->driver->close(db->connection);
    db->connection = NULL;
}

bool database_run(database *db, const char *sql, const char *const *params, database_row *row,
                  void *arg, int64_t *changed)
{
    int64_t ignored;
    if (!database_connect(db))
        return false;
    return db->driver->run(db->connection, sql, params, row, arg, changed ? changed : &ignored,
                           db->err, sizeof(db->err));
}

const char *database_error(const database *db)
{
    return db->err;
}
