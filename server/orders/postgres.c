/* postgres.c - writes orders into PostgreSQL, by libpq. */
#include "server/orders/database.h"

#ifdef ORDERS_POSTGRES

#include <libpq-fe.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define ANSWER_MS 30000

/* A server that vanishes silently is noticed within about half a minute. */
#define LIMITS                                                                                     \
    "connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count",               \
        "tcp_user_timeout"
#define LIMIT_VALUES "5", "10", "5", "3", "30000"

/* libpq's sentences end with a line break, and may have several lines. */
static void set_error(PGconn *server, char *err, size_t err_len)
{
    snprintf(err, err_len, "PostgreSQL: %s", server ? PQerrorMessage(server) : "out of memory");
    for (char *at = err; *at != '\0'; at++)
        if (*at == '\n')
            *at = at[1] == '\0' ? '\0' : ' ';
}

static void be_silent(void *arg, const char *text)
{
    (void)arg;
    (void)text;
}

static void close_server(void *connection)
{
    PQfinish(connection);
}

static void give(const PGresult *result, database_row *row, void *arg)
{
    const char *values[DATABASE_COLUMNS];
    int count = PQnfields(result);
    for (int i = 0; i < count && i < DATABASE_COLUMNS; i++)
        values[i] = PQgetisnull(result, 0, i) ? NULL : PQgetvalue(result, 0, i);
    row(arg, count, values);
}

/* False: the server is there, but silent. */
static bool answers(PGconn *server)
{
    struct pollfd from = {.fd = PQsocket(server), .events = POLLIN};
    int ready = 1;
    while (PQisBusy(server) && ready != 0) {
        ready = poll(&from, 1, ANSWER_MS); /* a signal may end it */
        if (ready > 0 && !PQconsumeInput(server))
            break;
    }
    return ready != 0;
}

/* Rows come one by one, however many there are. */
static bool run(void *connection, const char *sql, const char *const *params, database_row *row,
                void *arg, int64_t *changed, char *err, size_t err_len)
{
    PGconn *server = connection;
    PGresult *result;
    bool done = true;
    int count = 0;
    while (params && params[count])
        count++;
    if (!PQsendQueryParams(server, sql, count, NULL, params, NULL, NULL, 0) ||
        !PQsetSingleRowMode(server)) {
        set_error(server, err, err_len);
        return false;
    }
    while (answers(server)) {
        if (!(result = PQgetResult(server)))
            return done;
        ExecStatusType status = PQresultStatus(result);
        if (status == PGRES_SINGLE_TUPLE && row)
            give(result, row, arg);
        else if (status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK)
            *changed = strtoll(PQcmdTuples(result), NULL, 10);
        else if (status != PGRES_SINGLE_TUPLE && done) {
            done = false;
            set_error(server, err, err_len);
        }
        PQclear(result);
    }
    snprintf(err, err_len, "PostgreSQL: no answer within %d s", ANSWER_MS / 1000);
    return false;
}

/* The first statements of a session. A follower that is paused in a transaction loses it, so that
 * it does not block others; and a statement does not wait for a lock beyond its time limit. */
static bool begin_session(PGconn *server, bool writes, char *err, size_t err_len)
{
    int64_t changed;
    return !writes || run(server,
                          "SELECT set_config('idle_in_transaction_session_timeout', '10s', false),"
                          " set_config('lock_timeout', '20s', false),"
                          " set_config('statement_timeout', '25s', false)",
                          NULL, NULL, NULL, &changed, err, err_len);
}

static void *open_server(const char *url, bool writes, char *err, size_t err_len)
{
    const char *const names[] = {LIMITS, "fallback_application_name", "dbname", NULL};
    const char *const values[] = {LIMIT_VALUES, "flashsale-orders", url, NULL};
    PGconn *server = PQconnectdbParams(names, values, 1);
    bool connected = PQstatus(server) == CONNECTION_OK;
    PQsetNoticeProcessor(server, be_silent, NULL); /* "already exists, skipping" */
    if (connected && begin_session(server, writes, err, err_len))
        return server;
    if (!connected)
        set_error(server, err, err_len);
    PQfinish(server);
    return NULL;
}

static const database_driver driver = {
    .begin = "BEGIN",
    .view = "CREATE OR REPLACE VIEW",
    .events = "json_to_recordset(CAST($1 AS json) -> 'events') AS e(event text, number bigint,"
              " place bigint, epoch text, \"order\" text, request text, \"user\" text,"
              " quantity bigint, remaining bigint, fence bigint, instance text, time_us bigint,"
              " expires_us bigint)",
    .open = open_server,
    .close = close_server,
    .run = run,
};

const database_driver *const database_postgres = &driver;
#else
const database_driver *const database_postgres = NULL;
#endif
