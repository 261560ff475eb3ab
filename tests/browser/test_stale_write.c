/*
 * test_stale_write.c - the write that comes too late, really run and written down step by step:
 *
 *     A takes the lock and is stopped, A's lease ends, B takes the lock and sells, A writes
 *
 * with one unit in stock, once under a lock alone and once with the write guarded. The live page
 * shows the record, server/page/stale.json; `make stale` makes it anew ($STALE_JSON is where to).
 * What it says of lock, fence, stock and orders is what GET /locks and GET /stock answered at B
 * at that moment; B is never stopped for longer than a question takes.
 */
#include <cjson/cJSON.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lock/dlock_redis.h"
#include "tests/support/sale/fail_point.h"
#include "tests/support/service.h"

#define RECORD "server/page/stale.json"

enum { A, B }; /* the two instances */
enum { LEASE_MS = 1000, PATIENCE_MS = 10000, STEPS_MAX = 16, TEXT_MAX = 256 };

static char dir[2][256];

typedef struct step {
    int64_t at_ms; /* since the first */
    const char *who, *does, *lock;
    char text[TEXT_MAX];
    int64_t fence;
    int remaining, orders;
} step;

typedef struct record {
    const char *strategy, *verdict;
    bool guarded;
    char item[16];
    dlock_time from;
    step steps[STEPS_MAX];
    int count;
} record;

static record records[] = {{.strategy = "fair", .guarded = false},
                           {.strategy = "fenced", .guarded = true}};

#define RECORDS ((int)(COUNT(records)))

/* ---- observing ------------------------------------------------------------------------------- */

/* Who holds the lock of the record's sale, by its process; and the last fence that was issued. */
static const char *see_lock(const record *r, int64_t *ret_fence)
{
    const char *who = NULL;
    const cJSON *each;
    cJSON *answer = cJSON_Parse(fx_expect(fx.server[B], 200, "GET /locks"));
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(answer, "locks")) {
        if (strcmp(fx_json_text(each, "item"), r->item) != 0)
            continue;
        pid_t pid = (pid_t)fx_json_number(each, "pid");
        bool by_a = pid == fx_process_pid(fx_server_process(fx.server[A]));
        *ret_fence = (int64_t)fx_json_number(each, "fence");
        who = pid == 0 ? "" : by_a ? "A" : "B";
    }
    cJSON_Delete(answer);
    if (!who)
        fail_msg("no lock of %s", r->item);
    return who;
}

static int see_stock(const record *r, const char *member)
{
    cJSON *stock = cJSON_Parse(fx_expect(fx.server[B], 200, "GET /stock?item=%s", r->item));
    int value = (int)fx_json_number(stock, member);
    cJSON_Delete(stock);
    return value;
}

/* Adds what the service says now. The caller gives the words, which may be of what it says. */
static step *look(record *r, const char *who, const char *does)
{
    assert_true(r->count < STEPS_MAX);
    step *s = &r->steps[r->count++];
    s->at_ms = (dlock_now().us - r->from.us) / 1000;
    s->who = who;
    s->does = does;
    s->lock = see_lock(r, &s->fence);
    s->remaining = see_stock(r, "remaining");
    s->orders = see_stock(r, "orders");
    return s;
}

#define SAY(s, ...) snprintf((s)->text, sizeof((s)->text), __VA_ARGS__)
#define FENCE(s)    ((long long)(s)->fence)

/* ---- the two buyers -------------------------------------------------------------------------- */

typedef struct buyer {
    int at; /* the instance */
    const char *item;
    int status;
    pthread_t thread;
} buyer;

static void *buy(void *arg)
{
    buyer *mine = arg;
    mine->status =
        fx_status(fx.server[mine->at], "POST /buy?item=%s&user=u%d", mine->item, mine->at);
    return NULL;
}

static void reach(int at, const char *point)
{
    if (!fx_point_reached(dir[at], point, PATIENCE_MS))
        fail_msg("%c has not come to \"%s\"", 'A' + at, point);
}

/* Goes on from one point to the next. */
static void step_on(int at, const char *from, const char *to)
{
    fx_point_arm(dir[at], to);
    fx_point_go_on(dir[at], from);
    reach(at, to);
}

/* Somebody comes in, takes the lock, and has looked at the stock where it is looked at apart. */
static void come_in(record *r, buyer *b, const char *name)
{
    fx_point_arm(dir[b->at], "locked");
    assert_int_equal(pthread_create(&b->thread, NULL, buy, b), 0);
    reach(b->at, "locked");
    step *s = look(r, name, "acquire");
    SAY(s, "%s takes the lock, fence %lld.", name, FENCE(s));
    step_on(b->at, "locked", "in-section");
    if (r->guarded)
        return;
    s = look(r, name, "read");
    SAY(s, "%s reads the stock: %d left. It will write %d.", name, s->remaining, s->remaining - 1);
}

/* ---- the schedule ---------------------------------------------------------------------------- */

static bool is_free(void *r)
{
    int64_t fence;
    return see_lock(r, &fence)[0] == '\0';
}

static void end_the_lease(record *r)
{
    fx_server_signal(fx.server[A], SIGSTOP);
    step *s = look(r, "A", "stop");
    SAY(s, "A is stopped, as by a pause of its machine. It can not renew the lock.");
    if (!fx_wait_until(is_free, r, PATIENCE_MS))
        fail_msg("the lease of %s has not ended", r->item);
    s = look(r, "Redis", "expire");
    SAY(s, "The lease of %d ms has ended: the lock is free. A does not know.", LEASE_MS);
}

static void let_b_sell(record *r)
{
    buyer b = {.at = B, .item = r->item};
    come_in(r, &b, "B");
    fx_point_go_on(dir[B], "in-section");
    pthread_join(b.thread, NULL);
    assert_int_equal(b.status, 201);
    step *s = look(r, "B", "write");
    SAY(s, "B writes %d left, records order %d, and gives the lock back.", s->remaining, s->orders);
    s = look(r, "B", "answer");
    SAY(s, "B tells its buyer: sold (%d).", b.status);
}

static void let_a_write(record *r, int64_t fence)
{
    int orders = see_stock(r, "orders");
    fx_point_arm(dir[A], "written");
    fx_server_signal(fx.server[A], SIGCONT);
    step *s = look(r, "A", "continue");
    SAY(s, "A goes on where it was, and still believes that it has the lock.");
    fx_point_go_on(dir[A], "in-section");
    reach(A, "written");
    bool refused = see_stock(r, "orders") == orders;
    s = look(r, refused ? "Redis" : "A", refused ? "refused" : "write");
    if (refused)
        SAY(s, "A's write carries fence %lld; %lld has been issued since. Redis refuses it.",
            (long long)fence, FENCE(s));
    else
        SAY(s, "A writes %d left, as it had computed before, and records order %d of 1 unit.",
            s->remaining, s->orders);
}

static void hear_a(record *r, buyer *a)
{
    fx_point_go_on(dir[A], "written");
    pthread_join(a->thread, NULL);
    step *s = look(r, "A", "answer");
    if (a->status == 201)
        SAY(s, "A tells its buyer: sold (%d). One unit was sold %d times.", a->status, s->orders);
    else
        SAY(s, "A takes the lock anew, finds %d left, and tells its buyer: sold out (%d).",
            s->remaining, a->status);
    assert_int_equal(a->status, s->orders == 1 ? 409 : 201);
}

static void run(record *r)
{
    static int count;
    snprintf(r->item, sizeof(r->item), "STALE%02d", ++count % 100);
    r->count = 0;
    fx_start_sale(fx.server[A], r->item, "'strategy':'%s','stock':1,'lease_ms':%d,'wait_ms':8000",
                  r->strategy, LEASE_MS);
    see_stock(r, "initial"); /* B takes it up */
    buyer a = {.at = A, .item = r->item};
    r->from = dlock_now();
    come_in(r, &a, "A");
    int64_t fence = r->steps[0].fence;
    end_the_lease(r);
    let_b_sell(r);
    let_a_write(r, fence);
    hear_a(r, &a);
    r->verdict = see_stock(r, "oversold") > 0 ? "OVERSOLD" : "SAFE";
}

/* ---- the record ------------------------------------------------------------------------------ */

/* One line a step, so that two records can be compared by eye. The texts need no escapes. */
static void print_record(FILE *out, const record *r, bool last)
{
    fprintf(out,
            "    {\"guarded\": %s, \"strategy\": \"%s\", \"stock\": 1, \"lease_ms\": %d, "
            "\"verdict\": \"%s\", \"steps\": [\n",
            r->guarded ? "true" : "false", r->strategy, LEASE_MS, r->verdict);
    for (int i = 0; i < r->count; i++) {
        const step *s = &r->steps[i];
        fprintf(out,
                "      {\"at_ms\": %lld, \"who\": \"%s\", \"does\": \"%s\", \"lock\": \"%s\", "
                "\"fence\": %lld, \"remaining\": %d, \"orders\": %d, \"text\": \"%s\"}%s\n",
                (long long)s->at_ms, s->who, s->does, s->lock, FENCE(s), s->remaining, s->orders,
                s->text, i + 1 < r->count ? "," : "");
    }
    fprintf(out, "    ]}%s\n", last ? "" : ",");
}

static void redis_version(char *buf, size_t len)
{
    redisReply *info = fx_redis_reply(fx.redis, "INFO server");
    const char *at = strstr(info->str, "redis_version:");
    assert_non_null(at);
    at += strlen("redis_version:");
    snprintf(buf, len, "%.*s", (int)strcspn(at, "\r\n"), at);
    freeReplyObject(info);
}

static void write_records(const char *path)
{
    char day[16], version[32];
    time_t now = time(NULL);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    strftime(day, sizeof(day), "%Y-%m-%d", gmtime(&now));
    redis_version(version, sizeof(version));
    fprintf(out,
            "{\n  \"recorded\": \"%s\", \"by\": \"make stale\", \"redis\": \"%s\",\n"
            "  \"runs\": [\n",
            day, version);
    for (int i = 0; i < RECORDS; i++)
        print_record(out, &records[i], i + 1 == RECORDS);
    fprintf(out, "  ]\n}\n");
    assert_int_equal(fclose(out), 0);
}

/* What does not depend on times: "fair OVERSOLD: A acquire A 1/0, ..." of each run. */
static char *gist(const char *path)
{
    char *text = NULL;
    size_t size;
    const cJSON *each, *s;
    cJSON *json = fx_json_file(path);
    FILE *out = open_memstream(&text, &size);
    cJSON_ArrayForEach(each, cJSON_GetObjectItemCaseSensitive(json, "runs")) {
        fprintf(out, "%s %s:", fx_json_text(each, "strategy"), fx_json_text(each, "verdict"));
        cJSON_ArrayForEach(s, cJSON_GetObjectItemCaseSensitive(each, "steps"))
            fprintf(out, " %s %s %s %d/%d,", fx_json_text(s, "who"), fx_json_text(s, "does"),
                    fx_json_text(s, "lock"), (int)fx_json_number(s, "remaining"),
                    (int)fx_json_number(s, "orders"));
        fputc('\n', out);
    }
    fclose(out);
    cJSON_Delete(json);
    return text;
}

/* ---- cases ----------------------------------------------------------------------------------- */

static void a_lock_alone_lets_a_late_write_through(void **state)
{
    (void)state;
    run(&records[0]);
    assert_string_equal(records[0].verdict, "OVERSOLD");
}

static void the_guard_refuses_it(void **state)
{
    (void)state;
    run(&records[1]);
    assert_string_equal(records[1].verdict, "SAFE");
}

static void the_page_shows_what_happens(void **state)
{
    (void)state;
    char path[512];
    const char *to = getenv("STALE_JSON");
    snprintf(path, sizeof(path), "%s/stale.json", dir[A]);
    write_records(to ? to : path);
    char *kept = gist(RECORD), *found = gist(to ? to : path);
    assert_string_equal(kept, found);
    free(kept);
    free(found);
}

static int setup(void **state)
{
    (void)state;
    fx.redis = fx_redis_start_single(NULL);
    for (int i = A; i <= B; i++) {
        fx_dir_make(dir[i], sizeof(dir[i]));
        fx.server[i] = fx_point_server(fx_redis_url(fx.redis), dir[i], NULL);
    }
    return 0;
}

static int teardown(void **state)
{
    fx_service_stop(state);
    fx_dir_remove(dir[A]);
    fx_dir_remove(dir[B]);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lock_alone_lets_a_late_write_through),
        cmocka_unit_test(the_guard_refuses_it),
        cmocka_unit_test(the_page_shows_what_happens),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
