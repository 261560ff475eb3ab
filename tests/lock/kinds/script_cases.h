/*
 * The lock's scripts one by one, as tables: what stands in Redis before, what the script is asked
 * and replies, and what stands there then. Each condition of a script is a row or two.
 *
 * In all words of a table L is the lock, F its fence counter, Q its queue, B the beats, P the
 * number of permits, W:process what the process was told on its channel, in order; L2 and F2 belong
 * to a second name. @N is the server's clock in ms plus N, $N the same in microseconds, %N,s,p:1
 * the fence N of family s, issued to p:1. In answers * is anything, # a clock of now in
 * microseconds, and ~N a time in ms that began at N, or a little before.
 */
#ifndef TESTS_LOCK_KINDS_SCRIPT_CASES_H
#define TESTS_LOCK_KINDS_SCRIPT_CASES_H

#include "tests/lock/rig.h"

#include "kinds/fair.lua.h"
#include "kinds/fence.lua.h"
#include "kinds/owner.lua.h"
#include "kinds/queue.lua.h"

/* A lease, and a claim window: so long that no stop of the machine makes a difference. */
#define LEASE "1000000"
#define CLAIM "300000"

/* Keeps what is published on the processes' channels, in a list of the channel's name. */
#define HEARD                                                                                      \
    "local real = redis\nlocal redis = setmetatable({pcall = function(command, channel, ...)\n"    \
    "if command == 'PUBLISH' and string.find(channel, ':wake:', 1, true) then\n"                   \
    "real.call('RPUSH', channel, ...) end\n"                                                       \
    "return real.pcall(command, channel, ...) end}, {__index = real})\n"

#define FAIR(text) "#!lua\n" HEARD OWNER_LUA FENCE_LUA QUEUE_LUA FAIR_LUA text

typedef struct script_case {
    const char *given; /* commands, "; " between them */
    const char *argv;
    const char *reply;
    const char *then; /* "COMMAND = ANSWER", "; " between them */
} script_case;

typedef struct script_table {
    const char *name;
    const char *script;
    const char *keys;
    const script_case *cases;
    size_t count;
} script_table;

enum { WORDS_MAX = 100, WORD_LEN = 160, LINE_LEN = 4096, BRIEF_MS = 250, TRIES = 200 };

typedef struct word_list {
    int count;
    char words[WORDS_MAX][WORD_LEN];
} word_list;

static inline int64_t sc_clock_us(fx_redis *server)
{
    redisReply *reply = redisCommand(fx_redis_ctx(server), "TIME");
    assert_non_null(reply);
    int64_t us = strtoll(reply->element[0]->str, NULL, 10) * 1000000 +
                 strtoll(reply->element[1]->str, NULL, 10);
    freeReplyObject(reply);
    return us;
}

/* A word of a table, as it is sent. */
static inline void sc_expand(const char *word, int64_t now_us, char ret[WORD_LEN])
{
    static const struct {
        const char *word, *key;
    } keys[] = {{"L", "{s}"},         {"F", "{s}:fence"}, {"Q", "{s}:queue"},  {"B", "{s}:beats"},
                {"P", "{s}:permits"}, {"L2", "{s}2"},     {"F2", "{s}2:fence"}};
    snprintf(ret, WORD_LEN, "%s", word);
    for (size_t i = 0; i < COUNT(keys); i++)
        if (strcmp(word, keys[i].word) == 0)
            snprintf(ret, WORD_LEN, "%s", keys[i].key);
    if (strncmp(word, "W:", 2) == 0)
        snprintf(ret, WORD_LEN, "{s}:wake:%.40s", word + 2);
    if (word[0] == '%') {
        snprintf(ret, WORD_LEN, "%s", word + 1);
        for (char *comma = ret; (comma = strchr(comma, ','));)
            *comma = ' ';
    }
    if (word[0] == '@')
        snprintf(ret, WORD_LEN, "%lld", (long long)(now_us / 1000) + strtoll(word + 1, NULL, 10));
    if (word[0] == '$')
        snprintf(ret, WORD_LEN, "%lld", (long long)now_us + strtoll(word + 1, NULL, 10));
}

/* The words of a text up to `end`, added to the list. */
static inline void sc_words(const char *text, const char *end, int64_t now_us, word_list *ret)
{
    while (text < end) {
        size_t len = strcspn(text, " ");
        len = len > (size_t)(end - text) ? (size_t)(end - text) : len;
        if (len > 0) {
            char word[WORD_LEN];
            assert_true(ret->count < WORDS_MAX);
            snprintf(word, sizeof(word), "%.*s", (int)len, text);
            sc_expand(word, now_us, ret->words[ret->count++]);
        }
        text += len + 1;
    }
}

static inline redisReply *sc_send(fx_redis *server, const word_list *list)
{
    const char *argv[WORDS_MAX];
    for (int i = 0; i < list->count; i++)
        argv[i] = list->words[i];
    redisReply *reply = redisCommandArgv(fx_redis_ctx(server), list->count, argv, NULL);
    assert_non_null(reply);
    return reply;
}

/* An answer as words; its parts one after the other. */
static inline void sc_flatten(const redisReply *reply, char *line)
{
    size_t at = strlen(line);
    const char *space = at ? " " : "";
    if (reply->type == REDIS_REPLY_INTEGER)
        snprintf(line + at, LINE_LEN - at, "%s%lld", space, reply->integer);
    else if (reply->type == REDIS_REPLY_NIL)
        snprintf(line + at, LINE_LEN - at, "%snil", space);
    else if (reply->type != REDIS_REPLY_ARRAY)
        snprintf(line + at, LINE_LEN - at, "%s%s", space, reply->len ? reply->str : "''");
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        sc_flatten(reply->element[i], line);
}

static inline bool sc_word_matches(const char *wanted, const char *word, int64_t now_us)
{
    int64_t number = strtoll(word, NULL, 10);
    if (strcmp(wanted, "*") == 0)
        return true;
    if (strcmp(wanted, "#") == 0)
        return number > now_us - 60000000 && number < now_us + 60000000;
    if (wanted[0] == '~') {
        int64_t most = strtoll(wanted + 1, NULL, 10);
        return number > 0 && number > most - 100000 && number <= most;
    }
    return strcmp(wanted, word) == 0;
}

static inline bool sc_matches(const char *wanted, const char *line, int64_t now_us)
{
    word_list expected = {0}, found = {0};
    sc_words(wanted, wanted + strlen(wanted), now_us, &expected);
    sc_words(line, line + strlen(line), now_us, &found);
    bool same = expected.count == found.count;
    for (int i = 0; same && i < found.count; i++)
        same = sc_word_matches(expected.words[i], found.words[i], now_us);
    return same;
}

static inline void sc_prepare(fx_redis *server, const char *given, int64_t now_us)
{
    while (*given) {
        const char *end = strstr(given, "; ");
        word_list command = {0};
        end = end ? end : given + strlen(given);
        sc_words(given, end, now_us, &command);
        redisReply *reply = sc_send(server, &command);
        if (reply->type == REDIS_REPLY_ERROR)
            fail_msg("%s: %s", given, reply->str);
        freeReplyObject(reply);
        given = *end ? end + 2 : end;
    }
}

/* The reply, as words, in `line`. */
static inline void sc_run(fx_redis *server, const script_table *t, const char *argv, int64_t now_us,
                          char line[LINE_LEN])
{
    word_list keys = {0}, words = {0};
    const char *all[3 + 2 * WORDS_MAX];
    char count[12];
    sc_words(t->keys, t->keys + strlen(t->keys), now_us, &keys);
    sc_words(argv, argv + strlen(argv), now_us, &words);
    snprintf(count, sizeof(count), "%d", keys.count);
    int n = 0;
    all[n++] = "EVAL";
    all[n++] = t->script;
    all[n++] = count;
    for (int i = 0; i < keys.count; i++)
        all[n++] = keys.words[i];
    for (int i = 0; i < words.count; i++)
        all[n++] = words.words[i];
    redisReply *reply = redisCommandArgv(fx_redis_ctx(server), n, all, NULL);
    assert_non_null(reply);
    line[0] = '\0';
    sc_flatten(reply, line);
    freeReplyObject(reply);
}

static inline void sc_check(fx_redis *server, const script_table *t, const script_case *c,
                            int64_t now_us)
{
    for (const char *then = c->then; *then;) {
        char line[LINE_LEN] = "", wanted[LINE_LEN];
        const char *end = strstr(then, "; "), *middle = strstr(then, " = ");
        end = end ? end : then + strlen(then);
        assert_true(middle && middle < end);
        word_list command = {0};
        sc_words(then, middle, now_us, &command);
        redisReply *reply = sc_send(server, &command);
        sc_flatten(reply, line);
        freeReplyObject(reply);
        snprintf(wanted, sizeof(wanted), "%.*s", (int)(end - middle - 3), middle + 3);
        if (!sc_matches(wanted, line, now_us))
            fail_msg("%s: given \"%s\", asked \"%s\": %.*s, not %s", t->name, c->given, c->argv,
                     (int)(end - then), then, line);
        then = *end ? end + 2 : end;
    }
}

/* Again, where the machine was so slow that the signs of life in the table have aged. */
static inline void sc_try(fx_redis *server, const script_table *t, const script_case *c)
{
    char line[LINE_LEN];
    int64_t now_us, took_us = 0;
    for (int i = 0; i == 0 || (took_us > BRIEF_MS * 1000 && i < TRIES); i++) {
        fx_redis_do(server, "ACL SETUSER default +@all");
        fx_redis_do(server, "FLUSHALL");
        now_us = sc_clock_us(server);
        sc_prepare(server, c->given, now_us);
        sc_run(server, t, c->argv, now_us, line);
        took_us = sc_clock_us(server) - now_us;
    }
    assert_true(took_us <= BRIEF_MS * 1000);
    if (!sc_matches(c->reply, line, now_us))
        fail_msg("%s: given \"%s\", asked \"%s\": replied \"%s\", not \"%s\"", t->name, c->given,
                 c->argv, line, c->reply);
    sc_check(server, t, c, now_us);
}

static inline void sc_try_all(fx_redis *server, const script_table *t)
{
    for (size_t i = 0; i < t->count; i++)
        sc_try(server, t, &t->cases[i]);
}

#define TABLE(title, text, key_words, rows)                                                        \
    ((script_table){title, text, key_words, rows, COUNT(rows)})

static fx_redis *server;

static inline int sc_setup(void **state)
{
    (void)state;
    server = fx_redis_start_single(NULL);
    return 0;
}

static inline int sc_teardown(void **state)
{
    (void)state;
    fx_redis_stop(server);
    return 0;
}

#endif
