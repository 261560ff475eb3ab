/*
 * What the dlock subcommands share: exit codes, reading options, reaching Redis.
 *
 * A subcommand is a function that takes the words from its own name on and returns the exit code.
 * Complaints go to stderr as one line, "dlock: ...", from the place that knows what they mean.
 */
#ifndef DLOCK_CMD_COMMAND_H
#define DLOCK_CMD_COMMAND_H

#include "dlock.h"

#include <getopt.h>

/* Exit codes besides 0. Those from 64 on are sysexits.h's, as etcdctl and consul users know them.
 */
enum {
    EXIT_FREE = 1,         /* status, release, leader: nobody holds the lock */
    EXIT_BENCH_FAILED = 1, /* bench: an update was lost */
    EXIT_USAGE = 64,
    EXIT_UNREACHABLE = 69,  /* Redis could not be asked */
    EXIT_SYSTEM = 71,       /* out of memory, of processes, ... */
    EXIT_NOT_OBTAINED = 75, /* run, semaphore: not obtained by the end of the wait */
    EXIT_LOST = 76 /* run, semaphore, elect: lost, or about to be, before the command ended */
};

int command_run(int argc, char **argv);
int command_semaphore(int argc, char **argv);
int command_elect(int argc, char **argv);
int command_leader(int argc, char **argv);
int command_status(int argc, char **argv);
int command_release(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_latch(int argc, char **argv);
int command_wait(int argc, char **argv);

__attribute__((format(printf, 1, 2))) void command_complain(const char *format, ...);

/* Says how to get help on a subcommand, NULL: on dlock, and returns EXIT_USAGE. */
int command_usage(const char *subcommand);

/*
 * The next option, as getopt_long() would give it, except that long ones must be spelt out:
 * "--wait" can not be taken for "--wait-ms". '?' after a complaint. In every subcommand 'h' is
 * --help: COMMAND_HELP is its row for `options`.
 */
int command_option(int argc, char **argv, const char *letters, const struct option *options);
#define COMMAND_HELP                                                                               \
    {                                                                                              \
        "help", no_argument, NULL, 'h'                                                             \
    }

/* The lines on --redis for the help of each subcommand. */
#define COMMAND_REDIS_HELP                                                                         \
    "  --redis URL            the server: redis://[[user:]password@]host[:port][/db],\n"           \
    "                         unix:///path/redis.sock, redis+sentinel://host[:port],.../master,\n" \
    "                         redis+cluster://host[:port],..., or rediss... with TLS.\n"           \
    "                         Default: the environment's DLOCK_REDIS, which keeps a\n"             \
    "                         password out of ps; without it redis://127.0.0.1:6379\n"

/* The exit code for an acquisition, or another question to Redis, that ended so. */
int command_exit_code(dlock_status status);

/* Reads a whole number within [min, max]. */
DLOCK_MUST_CHECK bool command_is_number(const char *text, int64_t min, int64_t max, int64_t *ret);

/* The same of an option's; complains, naming it, before it returns false. */
DLOCK_MUST_CHECK bool command_number(const char *option, const char *text, int64_t min, int64_t max,
                                     int64_t *ret);

/* Reads an option's seconds, as in 2.5, up to a year; into ms, rounded up, so that a wait never
 * becomes none. Complains and returns false. */
DLOCK_MUST_CHECK bool command_seconds(const char *option, const char *text, int64_t *ret_ms);

/* Reads an option's duration: seconds, as in 2.5, or with s, m or h behind the number; above 0, up
 * to max_ms; into ms, rounded up. Complains and returns false. */
DLOCK_MUST_CHECK bool command_duration(const char *option, const char *text, int64_t max_ms,
                                       int64_t *ret_ms);

/* One server, the client on it, and a lock of that client, or none. */
typedef struct command_session {
    dlock_redis *redis;
    dlock_client *client;
    dlock_lock *lock;
} command_session;

/* The server's address: `url` if given, else DLOCK_REDIS, else the local default. An empty one is
 * the mistake of a script, and not that default: complains, NULL. */
DLOCK_MUST_CHECK const char *command_redis_url(const char *url);

/* Makes the client, which has this label (NULL: none), and the lock `name` (NULL: none), and asks
 * the server nothing. Complains; returns 0 or the exit code. With 0 the session must be closed. */
DLOCK_MUST_CHECK int command_session_make(const char *url, const char *label, const char *name,
                                          const dlock_options *options, command_session *ret);

/* How long a server may take to answer the first PING, the connect included. */
#define HELLO_MS 3000

/* Whether the server answers, asked once; otherwise why not, and dlock_redis_said(). */
DLOCK_MUST_CHECK bool command_answers(const command_session *session, dlock_time deadline,
                                      char *err, size_t err_len);

/* Asks a server that answers what it is, where the user may ask (INFO). Warns of a
 * maxmemory-policy that may throw locks away. 0, or, after a complaint, the exit code: it is too
 * old. */
DLOCK_MUST_CHECK int command_check_server(const command_session *session);

/* All of it: a session with a server that answers and will do. */
DLOCK_MUST_CHECK int command_session_open(const char *url, const char *name,
                                          const dlock_options *options, command_session *ret);
void command_session_close(command_session *session);

#endif
