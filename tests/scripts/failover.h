/*
 * failover.h - scripts/failover behind sentinels or on a cluster, for its test programs: each has
 * servers of its own.
 *
 * The command waits two seconds for an answer, and holds writes for a part of the time after which
 * sentinels take a primary for down. On a crowded machine its questions take longer, so both are as
 * many times as long there (failover_times()), and the command is a copy, otherwise the same.
 */
#ifndef TESTS_SCRIPTS_FAILOVER_H
#define TESTS_SCRIPTS_FAILOVER_H

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/patience.h"
#include "tests/support/service.h"
#include "tests/support/topology.h"

enum {
    DONE = 0,
    UNCHANGED = 1,
    DOUBT = 2,
    BAD_WORDS = 64,
    LIMIT_S = 60, /* the command's, until there is doubt */
    DOWN_MS = 5000,
    FAILOVER_MS = 5000, /* a sentinel's, for a step of it; as scripts/redis-topology has it */
    TIMES_MOST = 12,
    BEHIND_MS = 600000, /* until it is told CLIENT UNPAUSE */
    LIMIT_MS = 60000,
};

/* Where it is to succeed. Sentinels have to be as patient. */
#define PATIENTLY "--drain", "30"
#define PATIENT   "SENTINEL SET mymaster down-after-milliseconds 60000"

static char dir[256];
static const char *cli; /* redis-cli, or valkey-cli where that is alone */
static fx_topology *redis;

/* ---- before and after ------------------------------------------------------------------------ */

static inline int failover_setup(const char *kind, int instances, void **state)
{
    unsetenv("FLASHSALE_REDIS");
    cli = fx_shell("command -v redis-cli >/dev/null", NULL, LIMIT_MS) == 0 ? "redis-cli"
                                                                           : "valkey-cli";
    fx_dir_make(dir, sizeof(dir));
    setenv("FX_REDIS", kind, 1);
    fx.plan = (fx_plan){.instances = instances};
    fx_service_start(state);
    redis = fx_redis_topology(fx.redis);
    return 0;
}

/* Sentinels and servers; no instance. */
static inline int failover_servers(void **state)
{
    return failover_setup("sentinel", 0, state);
}

static inline int failover_teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir);
    unsetenv("REDIS_CLI");
    memset(fx.server, 0, sizeof(fx.server));
    fx.redis = NULL;
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

/* How many times as long: as there are threads that want a processor. */
static inline int failover_times(void)
{
    double crowding = fx_crowding();
    return crowding < TIMES_MOST ? (int)crowding : TIMES_MOST;
}

/* Its path, or that of a copy in `buf`: one that is in doubt after limit_s, or one that waits
 * longer for each answer, as many times as its sentinels do (begin_failure()). */
static inline const char *failover_command(int limit_s, char *buf, size_t len)
{
    char script[512];
    int more = failover_times(), lines = (more > 1 ? 4 : 0) + (limit_s != LIMIT_S);
    if (lines == 0)
        return "scripts/failover";
    snprintf(buf, len, "%s/failover", dir);
    snprintf(script, sizeof(script),
             "sed -e 's/^limit_s=%d /limit_s=%d /' -e 's/patience=2\\b/patience=%d/'"
             " -e 's/await 15000 /await %d /'"
             " -e 's,10000 ? down_ms / 5 : 2000,%d ? down_ms / 5 : %d,'"
             " scripts/failover >\"$1\" && chmod +x \"$1\" &&"
             " [ \"$(diff scripts/failover \"$1\" | grep -c '^>')\" = %d ]",
             LIMIT_S, limit_s, 2 * more, 15000 * more, 10000 * more, 2000 * more, lines);
    assert_int_equal(fx_shell(script, buf, LIMIT_MS), 0);
    return buf;
}

static inline fx_process *begin(int limit_s, const char *const *words)
{
    char program[300];
    const char *argv[8] = {failover_command(limit_s, program, sizeof(program))};
    for (int i = 0; words[i]; i++)
        argv[i + 1] = words[i];
    return fx_spawn(argv, true);
}

/* Waits for its end, which must be this one, with this in what it says. */
static inline void finish(fx_process *command, int code, const char *said)
{
    int ended = fx_process_wait(command, LIMIT_MS);
    if (ended != code || !strstr(fx_process_stderr(command), said))
        fail_msg("ended with %d, not %d and \"%s\": %s%s", ended, code, said,
                 fx_process_stdout(command), fx_process_stderr(command));
    fx_process_free(command);
}

static inline void run(int code, const char *said, const char *const *words)
{
    finish(begin(LIMIT_S, words), code, said);
}

/* ---- what the servers say -------------------------------------------------------------------- */

/* Asks again where a member, made a primary or a replica just then, has closed the connection. */
static inline void tell(int member, const char *command)
{
    redisReply *reply = fx_topology_ask(redis, member, command);
    if (!reply)
        reply = fx_topology_ask(redis, member, command);
    if (!reply || reply->type == REDIS_REPLY_ERROR)
        fail_msg("%s: %s", command, reply ? reply->str : "no answer");
    freeReplyObject(reply);
}

static inline void tell_sentinels(const char *command)
{
    for (int i = 0; i < fx_topology_size(redis); i++)
        if (fx_topology_is_sentinel(redis, i))
            tell(i, command);
}

static inline bool says(int member, const char *command, const char *part)
{
    redisReply *reply = fx_topology_ask(redis, member, command);
    bool said = reply && reply->str && strstr(reply->str, part);
    freeReplyObject(reply);
    return said;
}

static inline bool was_held(void *member)
{
    return says(*(int *)member, "INFO commandstats", "cmdstat_client|pause:");
}

static inline int primary_now(void)
{
    return fx_topology_primary(redis, NULL);
}

/* All is well, and nothing has been held: the primary. The command holds writes for half of the
 * time after which sentinels take it for down, and for three quarters when it can not end that. */
static inline int begin_failure(void)
{
    char words[80];
    int times = failover_times();
    unsetenv("REDIS_CLI");
    snprintf(words, sizeof(words), "SENTINEL SET mymaster down-after-milliseconds %d",
             times * DOWN_MS);
    tell_sentinels(words);
    snprintf(words, sizeof(words), "SENTINEL SET mymaster failover-timeout %d",
             times * FAILOVER_MS);
    tell_sentinels(words);
    fx_topology_settle(redis, LIMIT_MS);
    int primary = primary_now();
    tell(primary, "CONFIG RESETSTAT");
    assert_false(was_held(&primary));
    return primary;
}

static inline bool takes_writes(void *member)
{
    return says(*(int *)member, "SET after v", "OK");
}

/* It is the primary still, and writes are held no longer than a pause of begin_failure() lasts. */
static inline void assert_goes_on(int member)
{
    assert_true(says(member, "INFO replication", "role:master"));
    assert_true(fx_wait_until(takes_writes, &member, 4 * DOWN_MS));
}

static inline int a_sentinel(void)
{
    int i = 0;
    while (!fx_topology_is_sentinel(redis, i))
        i++;
    return i;
}

/* A redis-cli that does `first` before the first CLIENT of this word. */
static inline void meddle(const char *word, const char *first)
{
    char program[300];
    snprintf(program, sizeof(program), "%s/meddler", dir);
    FILE *to = fopen(program, "w");
    assert_non_null(to);
    fprintf(to,
            "#!/bin/sh\n"
            "case \"$*\" in *' client %s'*) rm \"$0.first\" && (%s) ;; esac >/dev/null 2>&1\n"
            "exec %s \"$@\"\n",
            word, first, cli);
    fclose(to);
    assert_int_equal(fx_shell("chmod +x \"$1\" && touch \"$1.first\"", program, LIMIT_MS), 0);
    setenv("REDIS_CLI", program, 1);
}

/* The replica stays behind from when writes are held. */
static inline void meddle_behind(int primary, int replica)
{
    char first[300];
    snprintf(first, sizeof(first), "%s -p %d client pause %d write; %s -p %d set behind v", cli,
             fx_topology_port(redis, replica), BEHIND_MS, cli, fx_topology_port(redis, primary));
    meddle("pause", first);
}

#endif
