/* writes.c - hears by MONITOR, and sends by EVALSHA in a transaction. */
#include "tests/chaos/faults/writes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/sale/journal.h"
#include "tests/support/service.h"

enum {
    FIRST_KEY = 3, /* behind EVALSHA, the digest, and the number of keys */
    STATE_KEYS = 7,
    RESERVED_KEYS = 3, /* and so many more where units may be reserved */
    BUYERS_AT = 10,    /* words before the requests, and one more there */
    GUARD_WORDS = 5,
    GUARD_KEYS = 5,
    HEARD_S = 5,
    HELD_MS = 30000,
    EXPIRES_MS = 3600000
};

static redisContext *monitor;

/* ---- hearing --------------------------------------------------------------------------------- */

void writes_listen(void)
{
    monitor = redisConnect("127.0.0.1", fx_redis_port(fx.redis));
    assert_non_null(monitor);
    redisSetTimeout(monitor, (struct timeval){.tv_sec = HEARD_S});
    redisReply *reply = redisCommand(monitor, "MONITOR");
    if (!reply || reply->type != REDIS_REPLY_STATUS)
        fail_msg("Redis can not be listened to: %s", monitor->errstr);
    freeReplyObject(reply);
}

void writes_end(void)
{
    redisFree(monitor);
    monitor = NULL;
}

void writes_free(overheard *w)
{
    for (int i = 0; i < w->count; i++)
        free(w->words[i]);
    *w = (overheard){0};
}

/* The words of a line, `"EVALSHA" "..." ...`. What is escaped in it is none of ours. */
static bool split(const char *line, overheard *ret)
{
    *ret = (overheard){0};
    for (const char *at = strstr(line, "] \""); at && *at; at++) {
        if (*at != '"')
            continue;
        size_t len = strcspn(at + 1, "\"");
        if (ret->count == WRITE_WORDS)
            break;
        ret->words[ret->count++] = strndup(at + 1, len);
        at += len + 1;
        if (*at == '\0')
            break;
    }
    return ret->count > FIRST_KEY && strcasecmp(ret->words[0], "EVALSHA") == 0;
}

/* A selling script's call has nobody behind this one buyer, and says where its parts are. */
static bool is_write_of(overheard *w, const char *request, const char *order)
{
    w->buyer = w->count - 2;
    if (strcmp(w->words[w->count - 1], order) != 0 || strcmp(w->words[w->buyer], request) != 0)
        return false;
    int keys = (int)strtol(w->words[2], NULL, 10);
    for (int reserves = 0; reserves < 2; reserves++) {
        int before = keys - STATE_KEYS - reserves * RESERVED_KEYS;
        w->locked = before == GUARD_KEYS;
        w->keys = FIRST_KEY + before;
        w->args = FIRST_KEY + keys + (w->locked ? GUARD_WORDS : 0);
        if ((before == 0 || w->locked) && w->args + BUYERS_AT + reserves == w->buyer)
            return true;
    }
    return false;
}

/* Redis tells of what it does in its order: so of the write before that of this word. */
bool writes_overhear(const char *request, const char *order, overheard *ret)
{
    static int number;
    char word[32];
    bool heard = false, end = false;
    snprintf(word, sizeof(word), "heard-until-%d", ++number);
    fx_redis_do(fx.redis, "ECHO %s", word);
    while (!end) {
        redisReply *line = NULL;
        if (redisGetReply(monitor, (void **)&line) != REDIS_OK)
            fail_msg("Redis does not tell any more what it does: %s", monitor->errstr);
        overheard w;
        end = strstr(line->str, word) != NULL;
        if (!end && strstr(line->str, request) && split(line->str, &w)) {
            if (is_write_of(&w, request, order)) {
                writes_free(ret);
                *ret = w;
                w.count = 0;
                heard = true;
            }
        }
        freeReplyObject(line);
    }
    return heard;
}

/* ---- its parts ------------------------------------------------------------------------------- */

const char *writes_key(const overheard *w, int key)
{
    return w->words[w->keys + key];
}

const char *writes_lock(const overheard *w)
{
    return w->words[FIRST_KEY];
}

const char *writes_fence_key(const overheard *w)
{
    return w->words[FIRST_KEY + 1];
}

const char *writes_token(const overheard *w)
{
    return w->words[w->args - GUARD_WORDS];
}

const char *writes_fence(const overheard *w)
{
    return w->words[w->args - GUARD_WORDS + 1];
}

/* ---- again ----------------------------------------------------------------------------------- */

void writes_set_word(shot *s, int word, const char *value)
{
    s->words[s->of->args + word] = value;
}

void writes_aim(shot *s, const overheard *w)
{
    *s = (shot){.of = w, .count = w->count, .buyers = 1};
    memcpy(s->words, w->words, sizeof(s->words));
    s->owner = w->locked ? writes_token(w) : NULL;
    snprintf(s->not_after, sizeof(s->not_after), "%lld",
             (long long)journal_wall_us() + HELD_MS * 1000LL);
    writes_set_word(s, W_EARLIEST, s->not_after);
    writes_set_word(s, W_EACH, s->not_after);
}

void writes_of(shot *s, const char *const requests[], const char *const orders[], int buyers)
{
    s->buyers = buyers;
    s->count = s->of->buyer;
    for (int i = 0; i < buyers; i++)
        s->words[s->count++] = requests[i];
    for (int i = 0; i < buyers; i++)
        s->words[s->count++] = orders[i];
}

static int queued;

__attribute__((format(printf, 1, 2))) static void queue(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    redisvAppendCommand(fx_redis_ctx(fx.redis), format, args);
    va_end(args);
    queued++;
}

/* Of `seen`, when all has been queued twice, with the shot between. */
enum { SEEN_LEFT, SEEN_SOLD, SEEN_RECORD, SEEN_LEDGER, SEEN_LOCK, SEEN };

static void queue_record(const shot *s, const char *record)
{
    queue("HSET %s %s %s", writes_key(s->of, W_ORDERS), s->words[s->of->buyer], record);
}

static void queue_look(const shot *s)
{
    queue("GET %s", writes_key(s->of, W_STOCK));
    queue("GET %s", writes_key(s->of, W_SOLD));
    queue("HGET %s %s", writes_key(s->of, W_ORDERS), s->words[s->of->buyer]);
    queue("LLEN %s", writes_key(s->of, W_LEDGER));
    queue("GET %s", s->of->locked ? writes_lock(s->of) : "nobody");
}

/* The transaction's answers: of what was queued between MULTI and EXEC. */
static redisReply *answers_of_all(void)
{
    redisReply *reply = NULL;
    for (; queued > 0; queued--) {
        freeReplyObject(reply);
        reply = NULL;
        if (redisGetReply(fx_redis_ctx(fx.redis), (void **)&reply) != REDIS_OK)
            fail_msg("Redis does not answer: %s", fx_redis_ctx(fx.redis)->errstr);
    }
    if (!reply || reply->type != REDIS_REPLY_ARRAY)
        fail_msg("the transaction was not executed: %s", reply && reply->str ? reply->str : "?");
    return reply;
}

/* Where the buyers' answers begin: {left, time, ...}, or {left, reserved, place, ...}. */
static void read_answers(shot *s, const redisReply *said)
{
    const redisReply *body = said;
    bool stale = false;
    if (s->of->locked && said->type == REDIS_REPLY_ARRAY && said->elements > 0) {
        stale = said->elements == 1;
        body = stale ? NULL : said->element[1];
    }
    size_t from = s->of->buyer - s->of->args > BUYERS_AT ? 3 : 2;
    for (int i = 0; i < s->buyers; i++) {
        const char *text = said->str ? said->str : "no answer";
        const redisReply *one = NULL;
        if (body && body->type == REDIS_REPLY_ARRAY && body->elements > from + (size_t)i)
            one = body->element[from + (size_t)i];
        if (stale)
            text = "stale";
        else if (one)
            text = one->type == REDIS_REPLY_INTEGER || (one->str && one->str[0] == '+') ? "sold"
                   : one->str                                                           ? one->str
                                                                                        : "?";
        snprintf(s->answers[i], sizeof(s->answers[i]), "%s", text);
    }
}

static bool same(const redisReply *a, const redisReply *b)
{
    bool alike = a->type == b->type && a->integer == b->integer && a->elements == b->elements &&
                 strcmp(a->str ? a->str : "", b->str ? b->str : "") == 0;
    for (size_t i = 0; alike && i < a->elements; i++)
        alike = same(a->element[i], b->element[i]);
    return alike;
}

void writes_fire(shot *s)
{
    redisReply *kept = s->key ? fx_redis_reply(fx.redis, "GET %s", s->key) : NULL;
    redisReply *own = s->record
                          ? fx_redis_reply(fx.redis, "HGET %s %s", writes_key(s->of, W_ORDERS),
                                           s->words[s->of->buyer])
                          : NULL;
    queued = 0;
    queue("MULTI");
    if (s->owner)
        queue("SET %s %s PX %d", writes_lock(s->of), s->owner, HELD_MS);
    if (s->key)
        queue("SET %s %s KEEPTTL", s->key, s->value);
    if (s->record)
        queue_record(s, s->record);
    if (s->expires)
        queue("PEXPIRE %s %d", writes_key(s->of, W_STOCK), EXPIRES_MS);
    int at = queued - 1;
    queue_look(s);
    redisAppendCommandArgv(fx_redis_ctx(fx.redis), s->count, s->words, NULL);
    queued++;
    queue_look(s);
    for (int i = 0; s->expires && i < 2; i++)
        queue("PERSIST %s", writes_key(s->of, i ? W_MOVES : W_STOCK));
    if (s->key)
        queue("SET %s %s KEEPTTL", s->key, kept->str);
    if (s->record)
        queue_record(s, own->str);
    if (s->of->locked)
        queue("DEL %s", writes_lock(s->of));
    queue("EXEC");
    redisReply *all = answers_of_all();
    redisReply **seen = all->element + at;
    redisReply **then = seen + SEEN + 1;
    read_answers(s, seen[SEEN]);
    s->moved = !same(seen[SEEN_LEFT], then[SEEN_LEFT]);
    s->robbed = !same(seen[SEEN_LOCK], then[SEEN_LOCK]);
    s->changed = !same(seen[SEEN_SOLD], then[SEEN_SOLD]) ||
                 !same(seen[SEEN_LEDGER], then[SEEN_LEDGER]) ||
                 (seen[SEEN_RECORD]->str && !same(seen[SEEN_RECORD], then[SEEN_RECORD]));
    freeReplyObject(all);
    freeReplyObject(kept);
    freeReplyObject(own);
}
