/*
 * Every order of steps that a few readers and writers, or takers of permits, can make in a small
 * world, by the lock's own scripts on a real Redis: walk.lua takes one state each step further, and
 * says what is wrong with where that leads; here new states are found and walked on,
 * nearest first. A state is what is in Redis, by its age and not by its date, and what each client
 * knows.
 *
 * Time is the walk's own. The scripts' text runs as it is, with `redis` as a name for a table that
 * has the clock stand still through a step and passes all else on: a clock preloaded into the
 * server, as tests/tools/shims has one, could not be set between two of fifty thousand steps.
 *
 * WALK_STATES: so many states of each world are walked at most, 0: all of them. (`make test`: all
 * of the first two worlds, some thousands of the others.)
 */
#include "tests/support/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kinds/fence.lua.h"
#include "kinds/queue.lua.h"
#include "shares/rw_downgrade.lua.h"
#include "shares/semaphore_set.lua.h"
#include "shares/shares.lua.h"
#include "shares/shares_acquire.lua.h"
#include "shares/shares_beat.lua.h"
#include "shares/shares_decline.lua.h"
#include "shares/shares_leave.lua.h"
#include "shares/shares_release.lua.h"
#include "shares/shares_renew.lua.h"
#include "tests/support/hash.h"

enum { AT_A_TIME = 16, WITNESSES = 16 };

static const struct {
    const char *name, *text;
} scripts[] = {
    {"acquire", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_ACQUIRE_LUA},
    {"beat", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_BEAT_LUA},
    {"decline", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_DECLINE_LUA},
    {"leave", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_LEAVE_LUA SHARES_RELEASE_LUA},
    {"release", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_RELEASE_LUA},
    {"renew", FENCE_LUA QUEUE_LUA SHARES_LUA SHARES_RENEW_LUA},
    {"downgrade", FENCE_LUA QUEUE_LUA SHARES_LUA RW_DOWNGRADE_LUA},
    {"set", FENCE_LUA QUEUE_LUA SHARES_LUA SEMAPHORE_SET_LUA},
};
#define SCRIPTS (COUNT(scripts))

/* Leases of 600 ms and claim windows of 300; so a process that gave no sign of life for 600 ms is
 * suspect, and after a long time taken for dead. */
#define TIMES "\"lease\":600,\"claim\":300,\"tick\":300,\"oldest\":2250,\"rounds\":12,"

typedef struct small_world {
    const char *name;
    const char *json;
    int keys;      /* 6: a semaphore */
    size_t states; /* so many are walked in make test; 0: all of them */
    const char *must[WITNESSES];
} small_world;

#define READERS     "\"reads\":{},\"tokens\":[\"p:1\",\"q:1\",\"p:2*w\"],"
#define WRITERS     "\"reads\":{},\"tokens\":[\"p:1*w\",\"q:1*w\",\"q:2\"],"
#define PERMITS     "\"reads\":{},\"permits\":2,\"tokens\":[\"p:1\",\"q:1*2\",\"q:2\"],"
#define SETS        "\"sets\":[1,2],"
#define DOWN        "\"reads\":{\"p:1*w\":\"p:9\"},"
#define READS_ON    DOWN "\"tokens\":[\"p:1*w\",\"q:1\",\"q:2*w\",\"p:9\"],"
#define BY_ONES     "\"by_ones\":true,"
#define LOSSES      "\"losses\":1,"
#define ORDERS      "\"late\":0,\"tries\":0,\"long\":0,\"dies\":false"
#define FAULTS      "\"late\":1,\"tries\":1,\"long\":1,\"dies\":true"
#define WORLD(what) "{" TIMES "\"processes\":[\"p\",\"q\"]," what "}"

/* In the first ones everybody comes, goes, beats or does not, and time passes. In the others
 * questions also come late or never, processes die, and permits are set. */
static const small_world worlds[] = {
    {"two readers and a writer",
     WORLD(READERS ORDERS),
     5,
     0,
     {"several hold", "handed on", "after a lapse", "queued again"}},
    {"two writers and a reader",
     WORLD(WRITERS ORDERS),
     5,
     0,
     {"handed on", "after a lapse", "queued again"}},
    {"two permits", WORLD(PERMITS ORDERS), 6, 3000, {"several hold", "handed on", "queued again"}},
    {"two readers and a writer, let in one by one",
     WORLD(READERS BY_ONES ORDERS),
     5,
     3000,
     {"several hold", "handed on", "after a lapse", "queued again"}},
    {"a writer that reads on", WORLD(READS_ON ORDERS), 5, 3000, {"several hold", "handed on"}},
    {"a writer that reads on, faults",
     WORLD(READS_ON FAULTS),
     5,
     1500,
     {"several hold", "handed on"}},
    {"two readers and a writer, faults",
     WORLD(READERS FAULTS),
     5,
     4000,
     {"several hold", "handed on", "after a lapse", "dead skipped", "queued again"}},
    {"two writers and a reader, keys that vanish",
     WORLD(WRITERS LOSSES ORDERS),
     5,
     1500,
     {"handed on", "after a lapse", "queued again"}},
    {"two writers and a reader, faults",
     WORLD(WRITERS FAULTS),
     5,
     4000,
     {"handed on", "after a lapse", "dead skipped", "queued again"}},
    {"two permits, faults",
     WORLD(PERMITS SETS FAULTS),
     6,
     1500,
     {"several hold", "handed on", "queued again", "lowered below what is taken", "passed over"}},
};
#define WORLDS (COUNT(worlds))

/* A state, and the step by which it was first reached. */
typedef struct place {
    char *text, *step;
    size_t from;
    int depth;
} place;

typedef struct walk {
    const small_world *world;
    fx_redis *redis;
    char sha[64];
    place *places; /* in the order in which they were reached */
    size_t len, cap, walked;
    size_t *index; /* hash table: place + 1; 0: empty */
    size_t index_cap;
    size_t steps, limit;
    struct {
        char name[48];
        size_t times;
    } seen[WITNESSES];
    char wrong[256]; /* what was found; empty: nothing */
    char way[2048];  /* to the state in which it was */
} walk;

/* ---- places ---------------------------------------------------------------------------------- */

static void *grown(void *array, size_t count, size_t size)
{
    void *ret = realloc(array, count * size);
    if (!ret)
        fail_msg("out of memory");
    return ret;
}

static size_t *slot_of(walk *w, const char *text)
{
    for (size_t at = fx_hash(text);; at++) {
        size_t *slot = &w->index[at & (w->index_cap - 1)];
        if (*slot == 0 || strcmp(w->places[*slot - 1].text, text) == 0)
            return slot;
    }
}

static void make_room(walk *w)
{
    if (w->len < w->cap)
        return;
    w->cap = w->cap ? 2 * w->cap : 1024;
    w->index_cap = 4 * w->cap;
    w->places = grown(w->places, w->cap, sizeof(*w->places));
    w->index = grown(w->index, w->index_cap, sizeof(*w->index));
    memset(w->index, 0, w->index_cap * sizeof(*w->index));
    for (size_t i = 0; i < w->len; i++)
        *slot_of(w, w->places[i].text) = i + 1;
}

static void reach(walk *w, const char *text, const char *step, size_t from)
{
    make_room(w);
    size_t *slot = slot_of(w, text);
    if (*slot)
        return;
    w->places[w->len] =
        (place){strdup(text), strdup(step), from, w->len ? w->places[from].depth + 1 : 0};
    *slot = ++w->len;
}

/* ---- one state's steps ----------------------------------------------------------------------- */

static void witness(walk *w, const char *name)
{
    int i = 0;
    while (i < WITNESSES - 1 && w->seen[i].times > 0 && strcmp(w->seen[i].name, name) != 0)
        i++;
    snprintf(w->seen[i].name, sizeof(w->seen[i].name), "%s", name);
    w->seen[i].times++;
}

/* The way to a place, step by step. */
static void tell_way(const walk *w, size_t to, char *ret, size_t len)
{
    if (w->places[to].from != to)
        tell_way(w, w->places[to].from, ret, len);
    size_t at = strlen(ret);
    snprintf(ret + at, len - at, "%s; ", w->places[to].step);
}

static void read_steps(walk *w, size_t at, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements == 0)
        fail_msg("%s: %s", w->places[at].text, reply->type == REDIS_REPLY_ERROR ? reply->str : "?");
    if (reply->element[0]->len > 0)
        snprintf(w->wrong, sizeof(w->wrong), "%s", reply->element[0]->str);
    for (size_t i = 1; i < reply->elements && !w->wrong[0]; i++) {
        redisReply **found = reply->element[i]->element;
        w->steps++;
        if (found[2]->len > 0)
            snprintf(w->wrong, sizeof(w->wrong), "%s: %s", found[0]->str, found[2]->str);
        for (size_t k = 3; k < reply->element[i]->elements; k++)
            witness(w, found[k]->str);
        reach(w, found[1]->str, found[0]->str, at);
    }
}

static void send_state(walk *w, const char *text)
{
    static const char *const keys[] = {"{w}",
                                       "dlock:{w}:fence",
                                       "dlock:{w}:queue",
                                       "dlock:{w}:beats",
                                       "dlock:{w}:wake:",
                                       "dlock:{w}:permits"};
    const char *argv[12] = {"EVALSHA", w->sha, w->world->keys == 6 ? "6" : "5"};
    int argc = 3;
    for (int i = 0; i < w->world->keys; i++)
        argv[argc++] = keys[i];
    argv[argc++] = w->world->json;
    argv[argc++] = text;
    redisAppendCommandArgv(fx_redis_ctx(w->redis), argc, argv, NULL);
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void walk_on(walk *w)
{
    size_t count = w->len - w->walked < AT_A_TIME ? w->len - w->walked : AT_A_TIME;
    size_t first = w->walked;
    for (size_t i = 0; i < count; i++)
        send_state(w, w->places[first + i].text);
    for (size_t i = 0; i < count; i++) {
        redisReply *reply = NULL;
        if (redisGetReply(fx_redis_ctx(w->redis), (void **)&reply) != REDIS_OK)
            fail_msg("Redis is gone");
        w->walked++;
        if (!w->wrong[0]) {
            read_steps(w, first + i, reply);
            if (w->wrong[0])
                tell_way(w, first + i, w->way, sizeof(w->way));
        }
        freeReplyObject(reply);
    }
}

/* The lock's scripts as Lua functions. */
static char *compose(void)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    assert_non_null(out);
    fprintf(out, "local body = {}\n");
    for (size_t i = 0; i < SCRIPTS; i++)
        fprintf(out, "function body.%s(redis, KEYS, ARGV)\n%s\nend\n", scripts[i].name,
                scripts[i].text);
    fclose(out);
    return text;
}

/* `text` with `with` wherever `plant` stands; freed. */
static char *replace(char *text, const char *plant, const char *with)
{
    char *planted = NULL;
    size_t len;
    FILE *out = open_memstream(&planted, &len);
    assert_non_null(out);
    const char *at = text, *found;
    for (; (found = strstr(at, plant)); at = found + strlen(plant))
        fprintf(out, "%.*s%s", (int)(found - at), at, with);
    if (at == text)
        fail_msg("\"%s\" does not stand in the scripts: plant it anew", plant);
    fputs(at, out);
    fclose(out);
    free(text);
    return planted;
}

/* A crowd that is let in bit by bit is two of them where each bit is one. */
static char *scripts_of(const small_world *world)
{
    bool by_ones = strstr(world->json, "by_ones");
    return by_ones ? replace(compose(), "HAND_MAX = 32", "HAND_MAX = 1") : compose();
}

/* The scripts, and walk.lua behind them. */
static char *with_walk(char *text)
{
    char *all = NULL;
    size_t len;
    FILE *out = open_memstream(&all, &len), *rest = fopen("tests/lock/shares/walk.lua", "r");
    assert_true(out && rest);
    fputs(text, out);
    for (int c; (c = fgetc(rest)) != EOF;)
        fputc(c, out);
    fclose(rest);
    fclose(out);
    free(text);
    return all;
}

static void begin(walk *w, const small_world *world, fx_redis *redis, char *scripts_text)
{
    char *text = with_walk(scripts_text);
    const char *limit = getenv("WALK_STATES");
    *w = (walk){.world = world, .redis = redis};
    w->limit = limit ? strtoull(limit, NULL, 10) : world->states;
    redisReply *reply = redisCommand(fx_redis_ctx(redis), "SCRIPT LOAD %s", text);
    assert_non_null(reply);
    if (reply->type != REDIS_REPLY_STRING)
        fail_msg("%s", reply->str);
    snprintf(w->sha, sizeof(w->sha), "%s", reply->str);
    freeReplyObject(reply);
    free(text);
    reach(w, "", "nothing", 0);
}

static void walk_all(walk *w)
{
    while (!w->wrong[0] && w->walked < w->len && (w->limit == 0 || w->walked < w->limit))
        walk_on(w);
}

static void end(walk *w)
{
    for (size_t i = 0; i < w->len; i++) {
        free(w->places[i].text);
        free(w->places[i].step);
    }
    free(w->places);
    free(w->index);
}

static size_t times_seen(const walk *w, const char *name)
{
    for (int i = 0; i < WITNESSES; i++)
        if (strcmp(w->seen[i].name, name) == 0)
            return w->seen[i].times;
    return 0;
}

/* ---- the cases ------------------------------------------------------------------------------- */

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void nothing_goes_wrong(void **state)
{
    fx_redis *redis = *state;
    for (size_t i = 0; i < WORLDS; i++) {
        walk w;
        double start = now_s();
        begin(&w, &worlds[i], redis, scripts_of(&worlds[i]));
        walk_all(&w);
        print_message("%s: %zu states walked, %d steps deep, %zu known, %zu steps, %.1f s\n",
                      worlds[i].name, w.walked, w.places[w.walked - 1].depth, w.len, w.steps,
                      now_s() - start);
        for (int k = 0; k < WITNESSES && w.seen[k].times > 0; k++)
            print_message("    %s: %zu\n", w.seen[k].name, w.seen[k].times);
        if (w.wrong[0])
            fail_msg("%s: after %s%s", worlds[i].name, w.way, w.wrong);
        for (int k = 0; k < WITNESSES && worlds[i].must[k]; k++)
            if (times_seen(&w, worlds[i].must[k]) == 0)
                fail_msg("%s: never seen: %s", worlds[i].name, worlds[i].must[k]);
        end(&w);
    }
}

/* Defects, each of which the walk must notice, and what it may say. */
static const struct {
    const char *what, *world;
    const char *plant, *with;
    const char *found[2];
} defects[] = {
    {"a writer is let in beside readers",
     "two readers and a writer",
     "if want == math.huge then return used == 0 end",
     "if want == math.huge then return used < math.huge end",
     {"a writer beside another holder"}},
    {"a reader is let in beside a writer",
     "two readers and a writer",
     "return used < math.huge and used + want <= capacity",
     "return true",
     {"a writer beside another holder"}},
    {"who does not fit is overtaken by who does",
     "two readers and a writer",
     "return true\nelse",
     "at = at + 1\nelse",
     {"overtook"}},
    {"who comes overtakes those who wait",
     "two readers and a writer",
     "if not got and in_queue('LLEN') == 0 then",
     "if not got then",
     {"overtook"}},
    {"what was not taken up does not end",
     "two writers and a reader",
     "redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now_ms)",
     "{}",
     {"was forgotten", "all wait forever"}},
    {"permits are counted as one",
     "two permits",
     "return tonumber(string.match(token, '%*(%d+)$') or 1)",
     "return 1",
     {"more permits than there are"}},
    {"the lowered number is not looked at",
     "two permits, faults",
     "capacity = tonumber(ARGV[1])",
     "capacity = math.huge",
     {"more permits than there are"}},
    {"a question queues its token again",
     "two readers and a writer, faults",
     "if in_beats('HEXISTS', token) == 0 then enqueue(token) end",
     "enqueue(token)",
     {"twice in the queue"}},
    {"a renewal creates the share",
     "two readers and a writer, faults",
     "if not ends or tonumber(ends) <= now_ms then return 0 end",
     "",
     {"a writer beside another holder", "overtook"}},
    {"a writer gets the last one's fence",
     "two writers and a reader",
     "if known and known.token == token then",
     "if known then",
     {"a wrong fence"}},
    {"the last key's end is the first share's",
     "two readers and a writer",
     "redis.call('PEXPIREAT', KEYS[1], lease_end(-1))",
     "redis.call('PEXPIREAT', KEYS[1], lease_end(0))",
     {"the key does not end after the last share"}},
    {"a downgrade leaves the writer's share",
     "a writer that reads on",
     "redis.call('ZREM', KEYS[1], ARGV[1]) == 0",
     "not has(ARGV[1])",
     {"a writer beside another holder"}},
    {"nobody is woken",
     "two readers and a writer",
     "redis.pcall('PUBLISH', KEYS[5] .. who, token)",
     "",
     {"was not woken"}},
};

static const small_world *world_called(const char *name)
{
    size_t i = 0;
    while (i < WORLDS - 1 && strcmp(worlds[i].name, name) != 0)
        i++;
    assert_string_equal(worlds[i].name, name);
    return &worlds[i];
}

static void a_defect_is_noticed(void **state)
{
    for (size_t i = 0; i < COUNT(defects); i++) {
        walk w;
        begin(&w, world_called(defects[i].world), *state,
              replace(compose(), defects[i].plant, defects[i].with));
        walk_all(&w);
        bool named = false;
        for (int k = 0; k < 2 && defects[i].found[k]; k++)
            named = named || strstr(w.wrong, defects[i].found[k]);
        if (!named)
            fail_msg("%s: after %zu states \"%s\"", defects[i].what, w.walked, w.wrong);
        end(&w);
    }
}

static int setup(void **state)
{
    *state = fx_redis_start_single(NULL);
    return 0;
}

static int teardown(void **state)
{
    fx_redis_stop(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_goes_wrong),
        cmocka_unit_test(a_defect_is_noticed),
    };
    return cmocka_run_group_tests_name("walk of the shared queue", tests, setup, teardown);
}
