/*
 * postgres.h - a private PostgreSQL for tests: started, asked, killed, started again.
 *
 * It is Debian's own server, of the newest version below /usr/lib/postgresql, with its data in a
 * fresh directory, on a free port of 127.0.0.1 and on a Unix socket in that directory. No cluster
 * of the machine is touched, and any number of test programs can have one each. Commits are synced
 * to the disk (fsync on), as in production.
 *
 * PostgreSQL refuses to run as root: a test of root's starts it as `nobody`, with the one
 * capability that it needs to reach a directory below root's own. The password of its user is
 * random. It is in the environment (PGPASSWORD) and so known to the programs that the test starts,
 * and in no URL.
 *
 *     static void rows_survive(void **state)
 *     {
 *         (void)state;
 *         fx_postgres *pg = fx_postgres_start(NULL);
 *         fx_postgres_do(pg, "CREATE TABLE t AS SELECT %d AS n", 7);
 *         fx_postgres_kill(pg);
 *         fx_postgres_restart(pg);
 *         assert_int_equal(fx_postgres_number(pg, "SELECT n FROM t"), 7);
 *         fx_postgres_stop(pg);
 *     }
 *
 * As in fixture.h: what can not be done fails the running case, all of it is for the main thread
 * (the accessors for any), and a server that a case did not stop ends with the test program.
 */
#ifndef TESTS_SUPPORT_POSTGRES_H
#define TESTS_SUPPORT_POSTGRES_H

#include "tests/support/fixture.h"

typedef struct fx_postgres fx_postgres;

/* Whether there is a PostgreSQL to start. */
bool fx_postgres_installed(void);

/* Skips the case, with the reason, where there is none: for programs whose setup starts one if it
 * is installed. */
#define fx_only_with_postgres()                                                                    \
    do {                                                                                           \
        if (!fx_postgres_installed())                                                              \
            fx_skip("PostgreSQL is not installed (package postgresql)");                           \
    } while (0)

/* Makes a server and waits until it takes connections; it has an empty database. `settings` are
 * lines of postgresql.conf ("max_connections=20"), ending with NULL, or NULL. Where PostgreSQL is
 * not installed it skips the running case, so a setup asks fx_postgres_installed() first. */
fx_postgres *fx_postgres_start(const char *const *settings);
void fx_postgres_stop(fx_postgres *pg); /* ends it, removes its directory. NULL is allowed */

/* SIGKILL to all its processes at the same moment; they are gone afterwards. The address stays. */
void fx_postgres_kill(fx_postgres *pg);
void fx_postgres_remove_segment(int segment); /* of one that was killed, with its test */
void fx_postgres_restart(fx_postgres *pg);    /* kills it if it runs; on the same data and address;
                                                 waits until it has recovered */

/* SIGSTOP, SIGCONT to all its processes: a database that is there and does not answer. */
void fx_postgres_signal(fx_postgres *pg, int signo);

/* Makes another empty database, which the URLs and questions are about from now on: one for each
 * case, where a program has one server. */
void fx_postgres_fresh(fx_postgres *pg);

/* (borrowed) Valid until fx_postgres_fresh(). */
const char *fx_postgres_url(const fx_postgres *pg);        /* postgresql://USER@127.0.0.1:PORT/DB */
const char *fx_postgres_socket_url(const fx_postgres *pg); /* postgresql://USER@/DB?host=... */
int fx_postgres_port(const fx_postgres *pg);
const char *fx_postgres_log(fx_postgres *pg); /* what it has logged since its last start */

/* Asks in SQL, by psql; takes printf's arguments. Fails the case when PostgreSQL refuses.
 *   _do      is not interested in the answer; may be several statements
 *   _text    the answer's rows a line each, columns with '|' between; (owned) until the next call
 *   _number  the answer, read as a number */
void fx_postgres_do(fx_postgres *pg, const char *sql, ...) __attribute__((format(printf, 2, 3)));
const char *fx_postgres_text(fx_postgres *pg, const char *sql, ...)
    __attribute__((format(printf, 2, 3)));
long long fx_postgres_number(fx_postgres *pg, const char *sql, ...)
    __attribute__((format(printf, 2, 3)));

#endif
