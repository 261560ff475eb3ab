/*
 * dlock_redis.h - the Redis connection under libdlock, usable on its own.
 *
 * What it promises
 *
 *   - Every call has one deadline, a point of monotonic time, and returns by then. There is no
 *     chain of timeouts to add up.
 *   - Every call ends with an outcome that says whether the command was executed. In particular
 *     DLOCK_REDIS_UNKNOWN means: it was sent, no reply came, so it may have been executed, may
 *     still be executed later, or may be lost. Callers must never read it as yes or no.
 *   - A connection is dropped on any error, and when an answer on it was left unread. A reply can
 *     not reach the wrong caller.
 *   - Signals end no wait.
 *
 * What it does not do
 *
 *   - It never repeats a command whose outcome is unknown, and never repeats a refused one except
 *     after NOSCRIPT, where the script's text follows its missing hash, and where a cluster says
 *     that the keys are elsewhere (MOVED, ASK) or on their way (TRYAGAIN).
 *   - It resolves no host names by a deadline: connecting by name waits for the system's resolver
 *     as long as that takes (resolv.conf: 5 s, twice, unless set otherwise), and only that. Where
 *     deadlines matter, give an address, or a name that a local file or cache answers.
 *   - It does not log, exit, abort or touch signal handlers.
 *     Programs should ignore SIGPIPE.
 *
 * Threads
 *
 *   A dlock_redis may be used by any number of threads at once. A dlock_redis_conn belongs to one
 *   thread at a time. dlock_args is a plain value without locks. After fork() the child must not
 *   use any of them; it may only exec or exit.
 *
 * Addresses
 *
 *     redis://[user:password@]host[:port][/db]
 *     unix://[user:password@]/path/to.sock[?db=N]
 *     redis+sentinel://[user:password@]host[:port],.../master[/db]
 *                      [?sentinel_user=user&sentinel_password=password]
 *     redis+cluster://[user:password@]host[:port],...
 *     rediss://, rediss+sentinel://, rediss+cluster://
 *                      the same through TLS, where the hiredis at build time
 *                      brings it (libhiredis_ssl)
 *
 *   Up to 16 hosts. User, password and master are percent-decoded; a password without a user is the
 *   default user's. No error text ever contains one.
 *
 * Sentinels
 *
 *   The default port is 26379. `user` and `password` are the servers', `sentinel_user` and
 *   `sentinel_password` the sentinels'. All sentinels of the address are asked at once, and those
 *   that most of them tell of; background threads, one for each and one more, listen to
 *   +switch-master, and ask again when a connection fails or a server says that it is no master.
 *   What most of them name is used, after the server itself has said that it is master (ROLE), as
 *   on every new connection. Connections to the machine before are broken then: what was sent on
 *   them and not answered is UNKNOWN. A silent sentinel is not waited for, one that lies or is out
 *   of date is outvoted.
 *
 *   The first connect waits for the first answer. While no sentinel answers, the last master goes
 *   on being used; dlock_redis_last_error() says so once it can not be reached either, as it does
 *   of a name that the sentinels do not know. A master that was cut off from the sentinels together
 *   with its clients goes on accepting their writes, which are lost when it comes back:
 *   dlock_redis_eval_wait() tells them from those that replicas have. Users need the right to role
 *   on the servers; on sentinels to sentinel|get-master-addr-by-name, and should have those to
 *   sentinel|myid, sentinel|master, sentinel|sentinels, sentinel|replicas and to subscribe to
 *   +switch-master. Without sentinel|myid, sentinel|master and sentinel|replicas the sentinels do
 *   not tell which replicas they never promote; see dlock_redis_replicas().
 *   Closing waits for a silent sentinel for 0.8 s at most, and a silent master for 1 s.
 *
 * A cluster
 *
 *   One node of the address that lives is enough; the others are learned. A background thread asks
 *   for the map of slots every second, and at once when something speaks against it, so a failover
 *   is noticed without a call. Commands go to the server of their key, scripts to that of their
 *   first key; all keys of a script must have one slot. While a slot moves key by key, Redis
 *   refuses each script with several keys, unless all of them exist and are together: such a call
 *   is repeated every 20 ms until its deadline, and then REFUSED. A call is sent elsewhere eight
 *   times at most. While the server of a key is down, and until a replica was promoted for it,
 *   calls with that key end as they do where one server is down; those with other servers' keys go
 *   on. The user needs the rights to asking, cluster|info and cluster|slots. Up to 64 servers.
 *
 * TLS
 *
 *   Each server's certificate must be valid, be signed by an authority that is trusted, and name
 *   the host as the address does: its name, or its IP address. (Sentinels and clusters give IP
 *   addresses, unless they announce names.) Nothing is sent before that has been checked, and never
 *   anything without TLS. From the environment, when a dlock_redis is opened:
 *
 *     SSL_CERT_FILE, SSL_CERT_DIR    authorities to trust besides the system's
 *     DLOCK_TLS_CERT, DLOCK_TLS_KEY  files (PEM) with the certificate that is shown
 *                                    to servers that ask for one, as Redis does by
 *                                    default, and with its key
 *
 * Replies and servers
 *
 *   Replies are hiredis's own redisReply trees; the caller frees them with freeReplyObject().
 *   Needs Redis 7.0 or newer, or Valkey (scripts carry a "#!lua" line).
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

/* A point of monotonic time in microseconds. It counts while the machine sleeps
 * (CLOCK_BOOTTIME), because leases in Redis run on meanwhile. A type of its own, so that it can
 * not be mixed up with a duration or with wall-clock time. */
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

/* Waiting against a deadline. dlock_cond_wait() waits for a condition that dlock_cond_init() has
 * made: until it is signalled, until `until` at the latest, or, as with any condition, for no
 * reason; the caller looks again at what it waits for, and at the clock. */
DLOCK_API void dlock_cond_init(pthread_cond_t *cond);
DLOCK_API void dlock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, dlock_time until);

/* Sleeps until then, whatever signals come meanwhile. */
DLOCK_API void dlock_sleep(dlock_time until);

/* ---- outcomes -------------------------------------------------------------------------------- */

typedef enum dlock_redis_outcome {
    DLOCK_REDIS_OK = 0,   /* executed; the reply is there and is not an error */
    DLOCK_REDIS_NOT_SENT, /* not one byte was sent: no connection in time. Not executed. */
    DLOCK_REDIS_REFUSED,  /* the server refused it before execution. Not executed; a later try may
                             succeed (OOM, BUSY, READONLY, LOADING, MOVED, NOREPLICAS, ...) */
    DLOCK_REDIS_ERROR,    /* a definite error of the command itself, WRONGTYPE for one. A script
                             may have made some of its writes before it: scripts do not roll back */
    DLOCK_REDIS_UNKNOWN   /* sent, no (whole) reply by the deadline: executed or not, or later */
} dlock_redis_outcome;

/* The outcome's name, "not sent" for one. Never NULL. */
DLOCK_API const char *dlock_redis_outcome_text(dlock_redis_outcome outcome);

/* The outcome that an error reply's text stands for: REFUSED or ERROR. An error raised inside a
 * script counts as ERROR whatever its code, since earlier lines of the script have run. One that a
 * script returns by itself is told by its first word: it must not be one of those above. */
DLOCK_API dlock_redis_outcome dlock_redis_classify(const char *error_text);

/* ---- the servers behind a URL, and the pools of connections to them -------------------------- */

typedef struct dlock_redis dlock_redis;

/* All-zero means the defaults. */
typedef struct dlock_redis_options {
    const char *url; /* required, unless `beside` is given */
    int pool_max;    /* connections to one server for calls that have one to themselves (commands,
                        scripts with WAIT), 1..32; 0 = 32. Callers beyond them queue. The
                        other scripts share one more, on which 64 at most are under way. */
    int64_t connect_ms; /* limit for one connect, 0 = 1,000 */
    const char *name;   /* CLIENT SETNAME of every connection; NULL = none */

    dlock_redis *beside; /* not NULL: the same servers as this one's, with the same numbers, over
                            connections of its own; `url` is not read */

    /* Pins the connections to a run of the server. A server that was restarted or promoted, or
     * another that has taken over its address, is another run, and may have forgotten what was
     * written. With this, every new connection, pooled or one's own, asks the server for its run
     * (INFO server replication; see dlock_redis_run_of()) before it is used, and `admit` says
     * whether it may be: if not, connecting fails with NOT_SENT and "another run of the server". It
     * is asked again soon, so that whoever lets the new run in need not tell. About the connections
     * that are there already it is asked again after dlock_redis_readmit(). Called from any thread,
     * and from several at once, also while calls are held up: it must not wait for anybody who
     * calls this library. NULL = any run is admitted, and nobody is asked. */
    bool (*admit)(void *arg, int server, const char *run_id);
    void *admit_arg; /* (borrowed) */

    /* Judges who acknowledged a script's writes. With this, ROLE goes out behind each WAIT
     * (dlock_redis_eval_wait() and the guards of dlock.h), on the same connection, in the same
     * round trip. `acknowledged` is what WAIT answered, `role` the answer to ROLE: a list whose
     * first element is a text. It is a master's list of its replicas and of the offset that each
     * has acknowledged. False: the call ends with DLOCK_REDIS_UNKNOWN and the script's reply, as
     * when too few acknowledged. Called from any thread, and from several at once. It must not
     * call this library. NULL = WAIT's number alone counts, and no ROLE is sent. The user needs the
     * right to role. */
    bool (*followed)(void *arg, int server, int acknowledged, const redisReply *role);
    void *followed_arg; /* (borrowed) */

    uint64_t reserved[6]; /* must be zero. See "How this interface grows" in dlock.h */
} dlock_redis_options;

/* Reads the options; does not connect yet, or wait for the threads that do (sentinels, a cluster).
 * 0 and *ret, or -1 and a sentence in err. */
DLOCK_API DLOCK_MUST_CHECK int dlock_redis_open(const dlock_redis_options *options,
                                                dlock_redis **ret, char *err, size_t err_len);

/* A URL may lead to several servers. Each that was met has a number: 0 is the only one, or, behind
 * Sentinel, the master, whichever machine that is; in a cluster each server has its own. After 64
 * the next server gets the number of one that has served no keys for 10 s at least, as if that had
 * been replaced: `admit` hears of another run. How many numbers have been given so far: */
#define DLOCK_SERVERS_MAX 64
DLOCK_API int dlock_redis_servers(dlock_redis *redis);

/* The server that a key is routed to now; -1 = none is known. */
DLOCK_API int dlock_redis_server_of(dlock_redis *redis, const char *key);

/* Whether keys are routed to this server now. */
DLOCK_API bool dlock_redis_serves(const dlock_redis *redis, int server);

DLOCK_API bool dlock_redis_is_cluster(const dlock_redis *redis);

/* ---- the replicas that sentinels could promote ----------------------------------------------- */

/* One of the master's replicas. */
typedef struct dlock_replica {
    char host[256]; /* as the sentinels have it: an address, or a name where they announce names */
    int port;
    int listed; /* sentinels that know of it, whether they agree (below) or not; those that still
                   call it the master count too */
    int barred; /* of those: its priority is 0, they never promote it */
    int fit; /* of those: they might promote it now, or once it is connected. It is neither barred
                nor down, and had no link to its master for DLOCK_PROMOTED_WITHIN times down-after
                at most, as it says itself */
    int fading; /* of those: it would be fit, but is down; for DLOCK_PROMOTED_WITHIN times
                   down-after at most */
    uint64_t reserved[2];
} dlock_replica;

#define DLOCK_REPLICAS_MAX 32

/* A sentinel promotes no replica whose link to the master was down for longer than so many times
 * down-after-milliseconds, and the time that the master itself is down. */
#define DLOCK_PROMOTED_WITHIN 10

/* What the sentinels say. Nothing in it is older than 3 s at the moment `at`. */
typedef struct dlock_replicas {
    dlock_time at;
    int sentinels; /* how many there are, by the one that knows of the most */
    int telling;   /* those that have listed the replicas */
    int agreeing;  /* those of them, told apart by their ids, that name the master that is used, see
                      it up, and fail over nothing at present */
    int64_t down_after_ms; /* the longest down-after-milliseconds of those */
    char master_host[256]; /* that is used */
    int master_port;
    char denied[40]; /* a right that a sentinel's user lacks, "sentinel|replicas" for one; "" */
    bool more;       /* there are more replicas than fit */
    int count;
    dlock_replica replicas[DLOCK_REPLICAS_MAX];
    uint64_t reserved[8];
} dlock_replicas;

/* What was last heard of the replicas. Does not wait: the sentinels are asked anew, about once a
 * second, when this is called that often. While they have named no master all of it is zero. False:
 * the URL names no sentinels. The rule by which a sentinel promotes is that of
 * sentinelSelectReplica() in Redis's sentinel.c. It takes a majority of the sentinels to begin a
 * failover: nothing is sure of a replica unless more than half of `sentinels` are `agreeing`. */
DLOCK_API bool dlock_redis_replicas(dlock_redis *redis, dlock_replicas *ret);

/* ---- closing, and what went wrong ------------------------------------------------------------ */

/* Closes all connections but one's own. No call may be under way. NULL is allowed. */
DLOCK_API void dlock_redis_close(dlock_redis *redis);

/* To be called when `admit` may say "no" where it said "yes": a server that was left may be there
 * still, stopped or cut off, and come back. Every connection, pooled or one's own, is judged by
 * `admit` again before anything more is sent on it. One whose run is no longer admitted is broken:
 * calls on it end with NOT_SENT, and with UNKNOWN those that were sent and whose reply has not been
 * read. Does not wait for the server. */
DLOCK_API void dlock_redis_readmit(dlock_redis *redis);

/* The last failure as a sentence, copied into buf, for one log line. Empty if there was none. */
DLOCK_API void dlock_redis_last_error(dlock_redis *redis, char *buf, size_t buf_len);

/* Overwrites the passwords of all addresses in a text with '*', so that it may be shown. */
DLOCK_API void dlock_redis_hide(char *text);

/* For the start of main(): does so with the words of the program, which ps shows to every user.
 * argv[i] is a copy then, never freed, that still has the password. Until this call it can be
 * seen; an environment variable never is by others. */
DLOCK_API void dlock_redis_hide_words(int argc, char **argv);

/* Whether the text that INFO (or INFO server) answered is that of a server this library works with:
 * Redis 7.0 or newer, or Valkey. False and a sentence in err. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_is_recent(const char *info, char *err, size_t err_len);

/* Which run of a server INFO server replication tells of, as `admit` hears it:
 * "<run id>", and of a server that was promoted "<run id>.<id of the replication that it took
 * over>" (master_replid2). The first changes when the server restarts, the second with each
 * promotion, so a primary that became a replica and is primary again is another run. False: it does
 * not tell, or `ret` is too short; 96 characters are enough. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_run_of(const char *info, char *ret, size_t ret_len);

/* What dlock_redis_said() says where a server is older than that. */
#define DLOCK_TOO_OLD "TOOOLD"

/* What dlock_redis_said() says where the server answers, but `admit` refuses its run. */
#define DLOCK_NOT_ADMITTED "NOTADMITTED"

/* The first word of the error that this thread's last call was answered with, "OOM" for one; ""
 * when it was answered well, or not at all. (borrowed) Valid until the thread's next call. */
DLOCK_API const char *dlock_redis_said(void);

/* ---- arguments ------------------------------------------------------------------------------- */

/* The words of one command, already in the wire's form. Init, add, use any number of times,
 * free. Adding never fails visibly: out of memory makes the call that uses it NOT_SENT. */
typedef struct dlock_args {
    char *buf;
    size_t len, cap;
    int count;
    bool failed;
    uint64_t reserved[4]; /* internal */
} dlock_args;

DLOCK_API void dlock_args_init(dlock_args *args);
DLOCK_API void dlock_args_clear(dlock_args *args); /* empties it and keeps the memory */
DLOCK_API void dlock_args_free(dlock_args *args);
DLOCK_API void dlock_args_bytes(dlock_args *args, const void *bytes, size_t len);
DLOCK_API void dlock_args_text(dlock_args *args, const char *text);
/* `count` words that are in the wire's form already, as in another dlock_args. */
DLOCK_API void dlock_args_wire(dlock_args *args, const char *wire, size_t len, int count);
DLOCK_API void dlock_args_int(dlock_args *args, int64_t number);

/* ---- scripts --------------------------------------------------------------------------------- */

/* A Lua script, called by its hash. Define it once with static storage:
 *
 *     static dlock_script buy = DLOCK_SCRIPT("buy", BUY_LUA);
 *
 * `body` must outlive all calls. The hash is asked of the server (SCRIPT LOAD) at the first call
 * and kept; a server that has forgotten the script (restart, SCRIPT FLUSH, failover) gets the
 * text again. */
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
 * Runs a command on a pooled connection. `args` holds the whole command, its name first. `key`
 * routes it in a cluster (NULL: any server).
 *
 * With DLOCK_REDIS_OK *ret is the reply. With REFUSED and ERROR *ret is the error reply, for its
 * text. Otherwise *ret is NULL. `ret` itself may be NULL when the reply is of no interest.
 */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_command(dlock_redis *redis,
                                                                   const char *key,
                                                                   const dlock_args *args,
                                                                   dlock_time deadline,
                                                                   redisReply **ret);

/* The same for a script, on the connection that all threads share. `args` holds the keys, `keys` of
 * them, then the arguments. A call that is not answered in time takes few others with it: those
 * sent behind it on the connection have the rest of their own time, and where the server stays
 * silent no more calls follow. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_eval(dlock_redis *redis,
                                                                dlock_script *script, int keys,
                                                                const dlock_args *args,
                                                                dlock_time deadline,
                                                                redisReply **ret);

/* The same, and behind it WAIT on the same connection, in the same round trip: OK only if at least
 * `replicas` replicas have acknowledged the script's writes by the deadline; 0: without WAIT.
 * UNKNOWN, with the script's reply in *ret, when fewer did: it was executed, but a failover may
 * undo it; also when `followed` of the options says no. A script that wrote nothing waits for what
 * its connection wrote before. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome
dlock_redis_eval_wait(dlock_redis *redis, dlock_script *script, int keys, const dlock_args *args,
                      int replicas, dlock_time deadline, redisReply **ret);

/* ---- your own connection --------------------------------------------------------------------- */

/* For what does not fit the pool: blocking commands, subscriptions, pipelines. It is outside the
 * pool's limit. A failed call leaves the connection broken: every later call on it fails with
 * NOT_SENT, and the caller closes it. An answer does the same which says that the key is another
 * server's (MOVED, ASK), or the server no primary any more (READONLY, UNBLOCKED): dialling again by
 * the key leads to the right one. */
typedef struct dlock_redis_conn dlock_redis_conn;

/* Connects (and authenticates) by the deadline, to the server that `key` is routed to, as in
 * dlock_redis_command(). On failure *ret is NULL. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_dial(dlock_redis *redis, const char *key,
                                                                dlock_time deadline,
                                                                dlock_redis_conn **ret);

/* The same, to the server with this number; NOT_SENT if no server can have it: -1 for one. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_dial_server(dlock_redis *redis,
                                                                       int server,
                                                                       dlock_time deadline,
                                                                       dlock_redis_conn **ret);

/* Lends a connection of the pool instead, to the server that `key` is routed to, and takes it back:
 * for several commands that belong together. To be given back as it was lent, outside a transaction
 * and watching nothing. It is closed if it is broken, or if a command is queued or an answer unread
 * on it. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_lend(dlock_redis *redis, const char *key,
                                                                dlock_time deadline,
                                                                dlock_redis_conn **ret);
DLOCK_API void dlock_redis_give_back(dlock_redis_conn *conn);

DLOCK_API int dlock_redis_conn_server(const dlock_redis_conn *conn);
DLOCK_API void dlock_redis_hang_up(dlock_redis_conn *conn); /* NULL is allowed */
DLOCK_API bool dlock_redis_broken(const dlock_redis_conn *conn);
DLOCK_API int dlock_redis_fd(const dlock_redis_conn *conn); /* for poll(); (borrowed) */

/* Puts one command, or one script call, behind those already queued. Nothing is sent yet.
 *
 * As many answers are to be read as commands were sent, errors too, before the next is queued: a
 * connection with an unread answer is broken then. (Not one that has subscribed; it hears messages,
 * which are not counted.)
 *
 * A script goes by its hash when that is known, by its text otherwise; after a NOSCRIPT reply the
 * caller repeats it with `by_text`. */
DLOCK_API void dlock_redis_queue(dlock_redis_conn *conn, const dlock_args *args);
DLOCK_API void dlock_redis_queue_script(dlock_redis_conn *conn, dlock_script *script, int keys,
                                        const dlock_args *args, bool by_text);

/* Asks the server for the script's hash, unless it is known; queue_script() then uses it. Nothing
 * may be queued or unread: the reply would be taken for this one's. OK, or why not: the script
 * itself was not sent. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_learn(dlock_redis_conn *conn,
                                                                 dlock_script *script,
                                                                 dlock_time deadline);

/* Sends what is queued. NOT_SENT or OK; UNKNOWN when some of it may have left. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_flush(dlock_redis_conn *conn,
                                                                 dlock_time deadline);

/* Reads the next reply. UNKNOWN when none came by the deadline; the connection is broken then. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_read(dlock_redis_conn *conn,
                                                                dlock_time deadline,
                                                                redisReply **ret);

/* Flush, and a read for each of the `count` commands that are queued. An error is an answer too,
 * and ends nothing. True: all answers are there, for the caller to free. False: ret[] is all NULL;
 * the connection is broken. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_answers(dlock_redis_conn *conn, dlock_time deadline,
                                                    int count, redisReply **ret);

/* Returns `fits`: whether the answer has a form that `command` can be answered in, as its type and
 * the number of its elements tell. Where it has not, and is no error, it may be another command's,
 * and so may the next one be: the connection is broken, and dlock_redis_last_error() tells of
 * `command`, which is a name and nothing secret. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_conn_check(dlock_redis_conn *conn, const char *command,
                                                       const redisReply *reply, bool fits);

/* Likewise of a call on a connection that is not one's own. Which one it was is not known any more,
 * so each that is open now is closed when it comes back, or before it is lent. */
DLOCK_API DLOCK_MUST_CHECK bool dlock_redis_check(dlock_redis *redis, const char *command,
                                                  const redisReply *reply, bool fits);

/* Waits until a reply is there to read, or the connection's end: true. False: neither came by the
 * deadline. Breaks nothing. */
DLOCK_API bool dlock_redis_wait(dlock_redis_conn *conn, dlock_time deadline);

/* Flush and read in one: for a blocking command, `deadline` must lie beyond its own timeout. */
DLOCK_API DLOCK_MUST_CHECK dlock_redis_outcome dlock_redis_call(dlock_redis_conn *conn,
                                                                const dlock_args *args,
                                                                dlock_time deadline,
                                                                redisReply **ret);

#ifdef __cplusplus
}
#endif

#endif
