/*
 * dlock_redis.h - the Redis connection under libdlock, usable on its own.
 *
 * What it promises
 *
 *   - Every call has one deadline, a point of monotonic time, and returns by then.
 *   - Every call has an outcome that says whether Redis executed the command. DLOCK_REDIS_UNKNOWN
 *     means that it was sent and no reply came: it may have been executed, may still be executed
 *     later, or may be lost. Never read that as yes or no.
 *   - A connection that fails is closed, and so is one with an unread reply. A reply cannot reach
 *     the wrong caller.
 *   - A signal does not end a wait.
 *
 * What it does not do
 *
 *   - It never repeats a command whose outcome is unknown. It repeats a refused one in two cases
 *     only: after NOSCRIPT, with the script's text instead of its hash; and when a cluster says
 *     that the keys are elsewhere (MOVED, ASK) or on their way (TRYAGAIN).
 *   - It does not limit name resolution, which takes as long as the system's resolver does
 *     (resolv.conf: 5 s, twice, by default). Nothing else exceeds a deadline. If deadlines matter,
 *     use an IP address, or a name that a local file or cache resolves.
 *   - It does not log, exit, abort or touch signal handlers. Programs should ignore SIGPIPE.
 *
 * Threads
 *
 *   Any number of threads may use a dlock_redis. Only one at a time may use a dlock_redis_conn.
 *   dlock_args is a plain value without locks. After fork() the child must not use any of them; it
 *   may only exec or exit.
 *
 * Addresses
 *
 *     redis://[user:password@]host[:port][/db]
 *     unix://[user:password@]/path/to.sock[?db=N]
 *     redis+sentinel://[user:password@]host[:port],.../master[/db]
 *                      [?sentinel_user=user&sentinel_password=password]
 *     redis+cluster://[user:password@]host[:port],...
 *     rediss://, rediss+sentinel://, rediss+cluster://
 *                      the same over TLS, if the hiredis at build time has it
 *                      (libhiredis_ssl)
 *
 *   An address has up to 16 hosts. User, password and master are percent-decoded. A password
 *   without a user is the default user's. No error text ever contains a password.
 *
 * Sentinels
 *
 *   The default port is 26379. `user` and `password` are for the servers, `sentinel_user` and
 *   `sentinel_password` for the sentinels. The library asks all sentinels of the address at once,
 *   and those that most of them name. Background threads, one for each sentinel and one more,
 *   listen to +switch-master. They ask again when a connection fails, or a server says that it is
 *   no master. The library uses the master that most sentinels name, once the server itself has
 *   said so (ROLE); every new connection asks that too. When the master changes, it breaks the
 *   connections to the previous one: what was sent on them without a reply is UNKNOWN. It does not
 *   wait for a silent sentinel, and outvotes one that lies or is out of date.
 *
 *   The first connect waits for the first answer. While no sentinel answers, the last master stays
 *   in use. If that cannot be reached either, dlock_redis_last_error() says that no sentinel
 *   answers. It also reports a name that the sentinels do not know. A master that is cut off from
 *   the sentinels together with its clients still accepts their writes, and loses them when it
 *   comes back. dlock_redis_eval_wait() distinguishes these from writes that replicas have.
 *
 *   A server's user needs the right to role. A sentinel's user needs the right to
 *   sentinel|get-master-addr-by-name. It should also have those to sentinel|myid, sentinel|master,
 *   sentinel|sentinels, sentinel|replicas, and to subscribe to +switch-master. Without
 *   sentinel|myid, sentinel|master and sentinel|replicas the library cannot tell which replicas are
 *   never promoted; see dlock_redis_replicas(). Closing waits for a silent sentinel for 0.8 s at
 *   most, and for a silent master for 1 s.
 *
 * A cluster
 *
 *   One live node of the address is enough; the library learns the others from it. A background
 *   thread asks for the map of slots every second, and at once when there is a sign that the map is
 *   wrong. So it notices a failover without a call. A command goes to the server of its key, a
 *   script to that of its first key. All keys of a script must have one slot. While a slot moves
 *   key by key, Redis refuses each script with several keys, unless all of them exist and are
 *   together. The library repeats such a call every 20 ms until its deadline; then it is REFUSED.
 *   It sends a call elsewhere eight times at most. While a key's server is down and has no promoted
 *   replica, calls with that key end as they do if a single server is down. Calls with other
 *   servers' keys go on. The user needs the rights to asking, cluster|info and cluster|slots. Up to
 *   64 servers.
 *
 * TLS
 *
 *   Each server's certificate must be valid, be signed by a trusted authority, and name the host as
 *   the address does: its name, or its IP address. (Sentinels and clusters give IP addresses,
 *   unless they announce names.) Nothing is sent before this check, and nothing ever without TLS.
 *   dlock_redis_open() reads these environment variables:
 *
 *     SSL_CERT_FILE, SSL_CERT_DIR    authorities to trust besides the system's
 *     DLOCK_TLS_CERT, DLOCK_TLS_KEY  PEM files with the client's certificate and its
 *                                    key, for servers that ask for one, as Redis
 *                                    does by default
 *
 * Replies and servers
 *
 *   Replies are hiredis's redisReply trees; the caller frees them with freeReplyObject().
 *   Needs Redis 7.0 or newer, or Valkey, because scripts have a "#!lua" line.
 */
#ifndef DLOCK_REDIS_H
#define DLOCK_REDIS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define DLOCK_API        __attribute__((visibility("default")))
#define DLOCK_MUST_CHECK __attribute__((warn_unused_result))
#else
#define DLOCK_API
#define DLOCK_MUST_CHECK
#endif

/* ---- time ------------------------------------------------------------------------------------ */

/* A point of monotonic time in microseconds. Its clock, CLOCK_BOOTTIME, also runs while the machine
 * sleeps, as leases in Redis do. A type of its own cannot be mixed up with a duration or with
 * wall-clock time. */
typedef struct dlock_time {
    int64_t us;
} dlock_time;

DLOCK_API dlock_time dlock_now(void);

/* The deadline `ms` milliseconds from now; ms < 0 means never. */
DLOCK_API dlock_time dlock_in_ms(int64_t ms);

/* Milliseconds until `deadline`, rounded up, never below 0; at most INT32_MAX. */
DLOCK_API int dlock_left_ms(dlock_time deadline);

DLOCK_API bool dlock_passed(dlock_time deadline);

/* The earlier of two deadlines. */
DLOCK_API dlock_time dlock_sooner(dlock_time a, dlock_time b);

/* Waits for a condition that dlock_cond_init() has made, until it is signalled, or `until`. As with
 * any condition, the wait may also end for no reason: the caller checks again what it waits for,
 * and the clock. */
DLOCK_API void dlock_cond_init(pthread_cond_t *cond);
DLOCK_API void dlock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, dlock_time until);

/* Sleeps until then, in spite of signals. */
DLOCK_API void dlock_sleep(dlock_time until);

/* ---- outcomes -------------------------------------------------------------------------------- */

typedef enum dlock_redis_outcome {
    DLOCK_REDIS_OK = 0,   /* executed; the reply is not an error */
    DLOCK_REDIS_NOT_SENT, /* not executed: no connection in time, and not one byte was sent */
    DLOCK_REDIS_REFUSED,  /* not executed: the server refused to execute it. A later try may succeed
                             (OOM, BUSY, READONLY, LOADING, MOVED, NOREPLICAS, ...) */
    DLOCK_REDIS_ERROR,    /* the command itself failed, with WRONGTYPE for example. A script may
                             have written something before it failed: scripts do not roll back */
    DLOCK_REDIS_UNKNOWN   /* sent, no (whole) reply by the deadline: executed, or later, or not */
} dlock_redis_outcome;

/* The outcome in words, for example "not sent". Never NULL. */
DLOCK_API const char *dlock_redis_outcome_text(dlock_redis_outcome outcome);

/* The outcome of an error reply, by its text: REFUSED or ERROR. An error raised inside a script is
 * ERROR whatever its code, because earlier lines of the script have run. An error that a script
 * returns itself is judged by its first word, which must not be one of those above. */
DLOCK_API dlock_redis_outcome dlock_redis_classify(const char *error_text);

/* ---- the servers behind a URL, and the pools of connections to them -------------------------- */

typedef struct dlock_redis dlock_redis;

/* All-zero means the defaults. */
typedef struct dlock_redis_options {
    const char *url; /* required, unless `beside` is given */
    int pool_max;    /* connections to one server for calls that need one to themselves (commands,
                        scripts with WAIT), 1..32; 0 = 32. Further callers queue. All other
                        scripts share one more connection, at most 64 of them at a time. */
    int64_t connect_ms; /* limit for one connect, 0 = 1,000 */
    const char *name;   /* CLIENT SETNAME of every connection; NULL = none */

    dlock_redis *beside; /* not NULL: uses the servers of this one, with the same numbers, over
                            connections of its own; `url` is not read */

    /* Pins the connections to a run of the server. A server that was restarted or promoted, or that
     * has taken over the address, is another run, and may have lost what was written. Every new
     * connection, pooled or your own, asks the server for its run before it is used (INFO server
     * replication; see dlock_redis_run_of()). If `admit` returns false, connecting fails with
     * NOT_SENT and "another run of the server". It is soon asked again, so you need not tell when
     * it admits the new run. After dlock_redis_readmit() it also judges the connections that exist.
     * Called from any thread, from several at once, and while calls wait for it: it must not wait
     * for anybody who calls this library. NULL = every run is admitted, without a question. */
    bool (*admit)(void *arg, int server, const char *run_id);
    void *admit_arg; /* (borrowed) */

    /* Judges which replicas have acknowledged a script's writes. ROLE follows each WAIT
     * (dlock_redis_eval_wait() and the guards of dlock.h), on the same connection, in the same
     * round trip. `acknowledged` is the reply to WAIT. `role` is the reply to ROLE, a list whose
     * first element is a text; a master lists its replicas, and the offset that each has
     * acknowledged. False: the call ends with DLOCK_REDIS_UNKNOWN and the script's reply, as if too
     * few had acknowledged. Called from any thread, and from several at once; it must not call this
     * library. NULL = WAIT's number alone counts, and ROLE is not sent. The user needs the right to
     * role. */
    bool (*followed)(void *arg, int server, int acknowledged, const redisReply *role);
    void *followed_arg; /* (borrowed) */

    uint64_t reserved[6]; /* must be zero. See "How this interface grows" in dlock.h */
} dlock_redis_options;

/* Reads the options. Does not connect yet, nor wait for the threads that do (sentinels, a cluster).
 * 0 and *ret, or -1 and a sentence in err. */
DLOCK_API DLOCK_MUST_CHECK int dlock_redis_open(const dlock_redis_options *options,
                                                dlock_redis **ret, char *err, size_t err_len);

/* How many servers have a number so far. Number 0 is the only server's, or, behind Sentinel, the
 * current master's. In a cluster each server that was met has a number of its own. After 64 the
 * next server takes over the number of one that has served no keys for at least 10 s: `admit` then
 * sees another run. */
#define DLOCK_SERVERS_MAX 64
DLOCK_API int dlock_redis_servers(dlock_redis *redis);

/* The number of the server that a key is routed to now; -1 = none is known. */
DLOCK_API int dlock_redis_server_of(dlock_redis *redis, const char *key);

/* Whether keys are routed to this server now. */
DLOCK_API bool dlock_redis_serves(const dlock_redis *redis, int server);

DLOCK_API bool dlock_redis_is_cluster(const dlock_redis *redis);

/* ---- the replicas that sentinels could promote ----------------------------------------------- */

/* One of the master's replicas. */
typedef struct dlock_replica {
    char host[256]; /* as the sentinels have it: an address, or the name that they announce */
    int port;
    int listed; /* sentinels that know of it, agreeing (see below) or not; those that still call it
                   the master count too */
    int barred; /* of those: its priority is 0, so they never promote it */
    int fit; /* of those: they might promote it now, or once it is connected. It is neither barred
                nor down, and says that its link to the master has been down for at most
                DLOCK_PROMOTED_WITHIN times down-after */
    int fading; /* of those: it would be fit, but is down, for at most DLOCK_PROMOTED_WITHIN times
                   down-after */
    uint64_t reserved[2];
} dlock_replica;

#define DLOCK_REPLICAS_MAX 32

/* A sentinel does not promote a replica whose link to the master was down for longer than so many
 * times down-after-milliseconds plus the time for which the master itself has been down. */
#define DLOCK_PROMOTED_WITHIN 10

/* What the sentinels say. At the time `at` nothing in it is older than 3 s. */
typedef struct dlock_replicas {
    dlock_time at;
    int sentinels; /* how many there are, according to the one that knows the most */
    int telling;   /* how many have listed the replicas */
    int agreeing;  /* how many of these, with different ids, name the master in use, see it up, and
                      have no failover in progress */
    int64_t down_after_ms; /* the longest down-after-milliseconds of those that agree */
    char master_host[256]; /* of the master in use */
    int master_port;
    char denied[40]; /* a right that a sentinel's user lacks, as "sentinel|replicas"; or "" */
    bool more;       /* there are more replicas than fit */
    int count;
    dlock_replica replicas[DLOCK_REPLICAS_MAX];
    uint64_t reserved[8];
} dlock_replicas;

/* The latest that is known of the replicas. Does not wait: if you call it that often, the sentinels
 * are asked again about once a second. All of it is zero while they have named no master. False:
 * the URL names no sentinels. The rule of promotion is sentinelSelectReplica() in Redis's
 * sentinel.c. Only a majority of the sentinels begins a failover, so nothing is certain about a
 * replica unless more than half of `sentinels` are `agreeing`. */
DLOCK_API bool dlock_redis_replicas(dlock_redis *redis, dlock_replicas *ret);

/* ---- closing, and what went wrong ------------------------------------------------------------ */

/* Closes all connections but your own. No call may be under way. NULL is allowed. */
DLOCK_API void dlock_redis_close(dlock_redis *redis);

/* Call this when `admit` may refuse what it has admitted: a server that was left may still exist,
 * stopped or cut off, and come back. `admit` judges every connection, pooled or your own, again
 * before anything more is sent on it. A connection whose run is no longer admitted is broken: a
 * call on it is NOT_SENT, or UNKNOWN if it was sent and its reply was not read. Does not wait for
 * the server. */
DLOCK_API void dlock_redis_readmit(dlock_redis *redis);

/* The last failure as a sentence for a log, copied into buf; empty if there was none. */
DLOCK_API void dlock_redis_last_error(dlock_redis *redis, char *buf, size_t buf_len);

/* Overwrites the passwords of all addresses in a text with '*', so that it can be shown. */
DLOCK_API void dlock_redis_hide(char *text);

/* For the start of main(): hides them in the program's arguments, which ps shows to every user.
 * argv[i] then is a copy, never freed, that still has the password. Until this call other users can
 * see the password. They never see an environment variable. */
DLOCK_API void dlock_redis_hide_words(int argc, char **argv);

/* Whether this library works with the server whose reply to INFO (or INFO server) this is: Redis
 * 7.0 or newer, or Valkey. If not, false and a sentence in err. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_is_recent(const char *info, char *err, size_t err_len);

/* The run of the server whose reply to INFO server replication this is, as `admit` gets it:
 * "<run id>", or for a promoted server "<run id>.<id of the replication that it took over>"
 * (master_replid2). A restart changes the first, each promotion the second. So a primary that
 * became a replica and is primary again is another run. False: the text does not say, or `ret` is
 * too short; 96 characters are enough. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_run_of(const char *info, char *ret, size_t ret_len);

/* dlock_redis_said() returns this if the server is too old for this library. */
#define DLOCK_TOO_OLD "TOOOLD"

/* dlock_redis_said() returns this if the server answers, but `admit` refuses its run. */
#define DLOCK_NOT_ADMITTED "NOTADMITTED"

/* The first word of the error reply to this thread's last call, for example "OOM"; "" if the reply
 * was no error, or there was none. (borrowed) Valid until the thread's next call. */
DLOCK_API const char *dlock_redis_said(void);

/* ---- arguments ------------------------------------------------------------------------------- */

/* The words of one command, in wire format. Init, add, use any number of times, free. Adding
 * reports no failure: if memory runs out, the call that uses it is NOT_SENT. */
typedef struct dlock_args {
    char *buf;
    size_t len, cap;
    int count;
    bool failed;
    uint64_t reserved[4]; /* internal */
} dlock_args;

DLOCK_API void dlock_args_init(dlock_args *args);
DLOCK_API void dlock_args_free(dlock_args *args);

/* Removes the words, and keeps the memory. */
DLOCK_API void dlock_args_clear(dlock_args *args);

/* Each adds one word: these bytes, the text up to its NUL, the number in decimal digits. */
DLOCK_API void dlock_args_bytes(dlock_args *args, const void *bytes, size_t len);
DLOCK_API void dlock_args_text(dlock_args *args, const char *text);
DLOCK_API void dlock_args_int(dlock_args *args, int64_t number);

/* `count` words in wire format, as another dlock_args has them. */
DLOCK_API void dlock_args_wire(dlock_args *args, const char *wire, size_t len, int count);

/* ---- scripts --------------------------------------------------------------------------------- */

/* A Lua script, called by its hash. Define it once, in static storage:
 *
 *     static dlock_script buy = DLOCK_SCRIPT("buy", BUY_LUA);
 *
 * `body` must outlive all calls. The first call asks the server for the hash (SCRIPT LOAD), and
 * keeps it. A server that has forgotten the script (restart, SCRIPT FLUSH, failover) gets the text
 * again. */
typedef struct dlock_script {
    const char *name;
    const char *body;
    int ready; /* internal, as the rest */
    char sha[41];
    void *reserved;
} dlock_script;

#define DLOCK_SCRIPT(script_name, script_body)                                                     \
    {                                                                                              \
        (script_name), (script_body), 0, "", NULL                                                  \
    }

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * Runs a command on a pooled connection. `args` has the whole command, its name first. `key` routes
 * it in a cluster (NULL: any server).
 *
 * OK: *ret is the reply. REFUSED, ERROR: *ret is the error reply. Otherwise *ret is NULL. `ret` may
 * be NULL if the reply is of no interest.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_command(dlock_redis *redis,
                                                                   const char *key,
                                                                   const dlock_args *args,
                                                                   dlock_time deadline,
                                                                   redisReply **ret);

/* The same for a script, on the connection that all threads share. `args` has `keys` keys, then the
 * arguments. A call without a reply in time harms few others: those sent behind it on the
 * connection keep the rest of their own time, and no more follow while the server is silent. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_eval(dlock_redis *redis,
                                                                dlock_script *script, int keys,
                                                                const dlock_args *args,
                                                                dlock_time deadline,
                                                                redisReply **ret);

/* The same, then WAIT on the same connection, in the same round trip; 0 replicas: without WAIT.
 * OK: at least `replicas` replicas have acknowledged the script's writes by the deadline. UNKNOWN
 * with the script's reply in *ret: it was executed, but a failover may undo it, because fewer have
 * acknowledged, or `followed` of the options says no. If the script wrote nothing, WAIT is for what
 * its connection wrote before. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome
dlock_redis_eval_wait(dlock_redis *redis, dlock_script *script, int keys, const dlock_args *args,
                      int replicas, dlock_time deadline, redisReply **ret);

/* ---- your own connection --------------------------------------------------------------------- */

/* For what does not fit the pool: blocking commands, subscriptions, pipelines. It is outside the
 * pool's limit. A failed call breaks the connection: every later call on it is NOT_SENT, and the
 * caller closes it. A reply breaks it too if it says that the key is another server's (MOVED, ASK),
 * or that the server is no longer primary (READONLY, UNBLOCKED). To dial again by the key leads to
 * the right server. */
typedef struct dlock_redis_conn dlock_redis_conn;

/* Connects (and authenticates) by the deadline, to the server that `key` is routed to, as in
 * dlock_redis_command(). On failure *ret is NULL. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_dial(dlock_redis *redis, const char *key,
                                                                dlock_time deadline,
                                                                dlock_redis_conn **ret);

/* The same, to the server with this number. NOT_SENT if no server can have it, as with -1. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_dial_server(dlock_redis *redis,
                                                                       int server,
                                                                       dlock_time deadline,
                                                                       dlock_redis_conn **ret);

/* Lends a pooled connection to the server that `key` is routed to, and takes it back: for several
 * commands that belong together. Give it back as it was lent, outside a transaction and watching no
 * key. It is closed if it is broken, or if a command is queued or a reply unread on it. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_lend(dlock_redis *redis, const char *key,
                                                                dlock_time deadline,
                                                                dlock_redis_conn **ret);
DLOCK_API void dlock_redis_give_back(dlock_redis_conn *conn);

DLOCK_API int dlock_redis_conn_server(const dlock_redis_conn *conn);
DLOCK_API void dlock_redis_hang_up(dlock_redis_conn *conn); /* NULL is allowed */
DLOCK_API bool dlock_redis_broken(const dlock_redis_conn *conn);
DLOCK_API int dlock_redis_fd(const dlock_redis_conn *conn); /* for poll(); (borrowed) */

/* Queues one command, or one script call, behind the others. Nothing is sent yet.
 *
 * After a flush, read one reply for each command, errors too, before you queue the next: an unread
 * reply breaks the connection. (Not one that has subscribed: its messages are not counted.)
 *
 * A script goes by its hash if that is known, otherwise by its text. After a NOSCRIPT reply the
 * caller repeats it with `by_text`. */
DLOCK_API void dlock_redis_queue(dlock_redis_conn *conn, const dlock_args *args);
DLOCK_API void dlock_redis_queue_script(dlock_redis_conn *conn, dlock_script *script, int keys,
                                        const dlock_args *args, bool by_text);

/* Asks the server for the script's hash, unless it is known; queue_script() then uses it. Nothing
 * may be queued or unread, or its reply would be taken for the hash. OK, or why there is no hash;
 * the script itself was not sent. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_learn(dlock_redis_conn *conn,
                                                                 dlock_script *script,
                                                                 dlock_time deadline);

/* Sends what is queued. OK, or NOT_SENT; UNKNOWN if some of it may have been sent. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_flush(dlock_redis_conn *conn,
                                                                 dlock_time deadline);

/* Reads the next reply. UNKNOWN if none came by the deadline; then the connection is broken. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_read(dlock_redis_conn *conn,
                                                                dlock_time deadline,
                                                                redisReply **ret);

/* Flushes, then reads a reply for each of the `count` queued commands; an error is a reply too.
 * True: ret[] has all of them, and the caller frees them. False: ret[] is all NULL, and the
 * connection is broken. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_answers(dlock_redis_conn *conn, dlock_time deadline,
                                                    int count, redisReply **ret);

/* Returns `fits`: whether `command` can have this reply, judged by its type and number of elements.
 * If not, and the reply is no error, it may be another command's, and so may the next one. Then the
 * connection is broken, and dlock_redis_last_error() names `command`, which must not be secret. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_conn_check(dlock_redis_conn *conn, const char *command,
                                                       const redisReply *reply, bool fits);

/* The same for a call on a connection that is not your own. Which one that was is not known any
 * more, so each that is open now is closed when it comes back, or before it is lent. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_check(dlock_redis *redis, const char *command,
                                                  const redisReply *reply, bool fits);

/* Waits for a reply. True: one can be read, or the connection has ended. False: neither by the
 * deadline; the connection is not broken by that. */
DLOCK_API bool dlock_redis_wait(dlock_redis_conn *conn, dlock_time deadline);

/* Queues, flushes and reads. For a blocking command `deadline` must be later than its timeout. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_call(dlock_redis_conn *conn,
                                                                const dlock_args *args,
                                                                dlock_time deadline,
                                                                redisReply **ret);

#ifdef __cplusplus
}
#endif

#endif
