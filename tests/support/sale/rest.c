/* rest.c - counts what is left of the crew's sales, and reads their orders out of Redis. */
#include "tests/support/sale/rest.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/sale/verdict.h"

enum {
    WARM_BUYS = 5,  /* at each instance */
    GONE_MS = 5000, /* what a lease keeps is gone so long behind its end */
    RESOLVED_MS = 20000,
    UNKNOWN = -1 /* of a count */
};

static int threads_before, descriptors_before; /* of all instances */

/* ---- closing --------------------------------------------------------------------------------- */

static bool close_sale(const char *item, const char *durability)
{
    return fx_status(fx.server[0],
                     "POST /sales {'item':'%s','stock':0,'strategy':'atomic','durability':'%s'}",
                     item, durability) == 201;
}

static bool is_closed(void *arg)
{
    const fx_sale *s = arg;
    return close_sale(s->item, s->terms.durability);
}

static void close_and_resolve(fx_sale *s)
{
    for (int at = 0; at < FX_INSTANCES; at++)
        fx_sale_look_at_stock(s, at);
    if (!atomic_load(&s->replaced) && !fx_wait_until(is_closed, s, RESOLVED_MS))
        fail_msg("no other sale can be started, so that this one would be closed");
    atomic_store(&s->replaced, true);
    fx_sale_resolve(s, 0, RESOLVED_MS);
    for (int yes = 0; yes < 2; yes++) {
        for (size_t i = 0; i < s->told_count[yes] && i < FX_TOLD_KEPT; i++) {
            for (int at = 0; at < FX_INSTANCES; at++)
                fx_sale_look(s, s->told[yes][i], at);
        }
    }
}

/* ---- the instances --------------------------------------------------------------------------- */

int rest_entries(pid_t pid, const char *what)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, what);
    int count = fx_entries(path);
    return count > 0 ? count : 0;
}

/* UNKNOWN: one of them does not run, and whatever it had left went with it. */
static long long in_instances(const char *what)
{
    long long count = 0;
    for (int i = 0; i < FX_INSTANCES; i++) {
        int more = rest_entries(fx_process_pid(fx_server_process(fx.server[i])), what);
        if (more == 0)
            return UNKNOWN;
        count += more;
    }
    return count;
}

void rest_before(const fx_terms *terms)
{
    const char *durability = terms->durability ? terms->durability : "memory";
    fx_sell("'stock':%d,'strategy':'%s','durability':'%s','wait_ms':8000", FX_INSTANCES * WARM_BUYS,
            terms->strategy, durability);
    for (int i = 0; i < FX_INSTANCES * WARM_BUYS; i++)
        fx_status(fx.server[i % FX_INSTANCES], "POST /buy?item=P0001&user=u%d", i);
    close_sale("P0001", durability);
    threads_before = (int)in_instances("task");
    descriptors_before = (int)in_instances("fd");
    assert_true(threads_before > 0 && descriptors_before > 0);
}

/* ---- what is left ---------------------------------------------------------------------------- */

typedef struct left {
    const rest_plan *plan;
    long long locks[CREW_SALES], waiters[CREW_SALES], threads, descriptors;
} left;

/* Adds what an integer command says of a key; UNKNOWN when it does not say it. */
static void add_number(long long *count, fx_redis *redis, const char *command, const fx_sale *s,
                       int segment, const char *name)
{
    char key[192];
    redisReply *reply =
        fx_redis_reply(redis, command, fx_sale_key(s, segment, name, key, sizeof(key)));
    if (reply->type != REDIS_REPLY_INTEGER)
        *count = UNKNOWN;
    else if (*count != UNKNOWN)
        *count += reply->integer;
    freeReplyObject(reply);
}

/* Servers that an instance has connections to and renews locks on. */
static int servers(const rest_plan *plan)
{
    return (plan->servers > 0 ? plan->servers : 1) + (plan->lock_servers[0] ? REST_SERVERS : 0);
}

/* Threads that come when they are first needed, and stay: an instance has one that repeats failed
 * releases, two for its waiters, and one that reads answers for each server that it asks. */
static int late_threads(const rest_plan *plan)
{
    return FX_INSTANCES * (4 + servers(plan));
}

/* An instance keeps a connection to each server for each buyer that it has ever had at once, which
 * may be all of them and the test itself; and the test keeps one to each instance. */
static int kept_connections(const rest_plan *plan)
{
    int buyers = 1 + crew_size() + plan->more_buyers;
    return FX_INSTANCES * (buyers * servers(plan) + 1);
}

/* What is more than what may stay. */
static long long beyond(long long count, int before, int may_stay)
{
    long long more = count - before - may_stay;
    return count == UNKNOWN ? UNKNOWN : more > 0 ? more : 0;
}

static bool nothing_is_left(void *arg)
{
    left *l = arg;
    const rest_plan *plan = l->plan;
    bool nothing = true;
    for (int k = 0; crew_sale(k); k++) {
        const fx_sale *s = crew_sale(k);
        l->locks[k] = l->waiters[k] = 0;
        for (int segment = 0; segment < fx_sale_key_sets(s); segment++) {
            add_number(&l->locks[k], fx.redis, "EXISTS %s", s, segment, "lock");
            add_number(&l->waiters[k], fx.redis, "LLEN %s", s, segment, "queue");
        }
        for (int i = 0; i < REST_SERVERS && plan->lock_servers[i]; i++)
            add_number(&l->locks[k], plan->lock_servers[i], "EXISTS %s", s, 0, "lock");
        nothing = nothing && l->locks[k] == 0 && l->waiters[k] == 0;
    }
    l->threads = beyond(in_instances("task"), threads_before, late_threads(plan));
    l->descriptors = beyond(in_instances("fd"), descriptors_before, kept_connections(plan));
    return nothing && l->threads == 0 && l->descriptors == 0;
}

/* As the history has it. */
static const char *count_text(long long count, char buf[24])
{
    snprintf(buf, 24, count == UNKNOWN ? "-" : "%lld", count);
    return buf;
}

static void write_left(const rest_plan *plan)
{
    left l = {.plan = plan};
    char locks[24], waiters[24], threads[24], descriptors[24];
    fx_wait_until(nothing_is_left, &l, crew_sale(0)->terms.lease_ms + GONE_MS);
    for (int k = 0; crew_sale(k); k++)
        journal_write(crew_sale(k)->history, "left locks=%s waiters=%s threads=%s descriptors=%s",
                      count_text(l.locks[k], locks), count_text(l.waiters[k], waiters),
                      count_text(l.threads, threads), count_text(l.descriptors, descriptors));
}

/* ---- the orders ------------------------------------------------------------------------------ */

/* What an order is, by the state in its record and the end of its reservation. Of one whose time
 * is over the record does not know. */
static const char *state_of(const char *word, long long bucket)
{
    redisReply *now = fx_redis_reply(fx.redis, "TIME");
    bool over = now->type == REDIS_REPLY_ARRAY &&
                strtoll(now->element[0]->str, NULL, 10) * 10 +
                        strtoll(now->element[1]->str, NULL, 10) / 100000 >=
                    bucket;
    freeReplyObject(now);
    return strcmp(word, "confirmed") == 0          ? "sold"
           : strcmp(word, "reserved") == 0 && over ? "expired"
                                                   : word;
}

/* Writes down the order that a record is of, if it is one. server/store/purchase.h has the form. */
static void write_order(const fx_sale *s, int segment, const char *request, const char *record)
{
    long long number, quantity, remaining, fence, time_us, bucket = 0;
    char user[FX_USER_MAX], instance[80], epoch[32], state[16], expires[32] = "-";
    char of_segment[16] = "";
    if (sscanf(record, "%lld %135s %lld %lld %lld %79s %lld %31s %15s %lld", &number, user,
               &quantity, &remaining, &fence, instance, &time_us, epoch, state, &bucket) < 9)
        return;
    if (s->terms.segments > 0)
        snprintf(of_segment, sizeof(of_segment), "%d-", segment);
    if (bucket > 0)
        snprintf(expires, sizeof(expires), "%lld", bucket * 100000);
    journal_write(s->history,
                  "order order=%s-%s%s-%lld request=%s user=%s quantity=%lld fence=%lld "
                  "remaining=%lld instance=%s state=%s time_us=%lld expires_us=%s",
                  s->id, of_segment, epoch, number, request, user, quantity, fence, remaining,
                  instance, bucket > 0 ? state_of(state, bucket) : state, time_us, expires);
}

/* Whether an entry of the ledger, "<request>" or "<request> reserved", is the request's. */
static bool is_entry_of(const char *entry, const char *request)
{
    size_t len = strlen(request);
    return strncmp(entry, request, len) == 0 && (entry[len] == '\0' || entry[len] == ' ');
}

/* An element of the ledger without a record is an order of no buyer: its units are missing, and
 * what its buyer was told. A record without an element is an order, too. */
static void write_orders(const fx_sale *s, int segment, const redisReply *ledger,
                         const redisReply *records)
{
    for (size_t i = 0; i < ledger->elements; i++) {
        const char *entry = ledger->element[i]->str, *request = NULL, *record = NULL;
        for (size_t k = 0; k + 1 < records->elements; k += 2) {
            if (is_entry_of(entry, records->element[k]->str)) {
                request = records->element[k]->str;
                record = records->element[k + 1]->str;
            }
        }
        if (record)
            write_order(s, segment, request, record);
    }
    for (size_t k = 0; k + 1 < records->elements; k += 2) {
        bool listed = false;
        for (size_t i = 0; !listed && i < ledger->elements; i++)
            listed = is_entry_of(ledger->element[i]->str, records->element[k]->str);
        if (!listed)
            write_order(s, segment, records->element[k]->str, records->element[k + 1]->str);
    }
}

static void write_segment(const fx_sale *s, int segment)
{
    char key[192], stock[64];
    redisReply *ledger = fx_redis_reply(fx.redis, "LRANGE %s 0 -1",
                                        fx_sale_key(s, segment, "ledger", key, sizeof(key)));
    redisReply *records =
        fx_redis_reply(fx.redis, "HGETALL %s", fx_sale_key(s, segment, "orders", key, sizeof(key)));
    redisReply *left_there =
        fx_redis_reply(fx.redis, "GET %s", fx_sale_key(s, segment, "stock", key, sizeof(key)));
    snprintf(stock, sizeof(stock), "%s",
             left_there->type == REDIS_REPLY_STRING ? left_there->str : "-");
    bool readable = ledger->type == REDIS_REPLY_ARRAY && records->type == REDIS_REPLY_ARRAY;
    if (readable)
        write_orders(s, segment, ledger, records);
    char *end;
    long long remaining = strtoll(stock, &end, 10);
    if (end == stock || *end != '\0')
        snprintf(stock, sizeof(stock), "-");
    else
        snprintf(stock, sizeof(stock), "%lld", remaining);
    if (readable)
        journal_write(s->history, "rest segment=%d remaining=%s", segment, stock);
    freeReplyObject(ledger);
    freeReplyObject(records);
    freeReplyObject(left_there);
}

/* ---- all of it ------------------------------------------------------------------------------- */

void rest_after(const rest_plan *plan)
{
    crew_end();
    for (int k = 0; !plan->over && crew_sale(k); k++)
        close_and_resolve(crew_sale(k));
    write_left(plan);
    for (int k = 0; crew_sale(k); k++) {
        for (int segment = 0; segment < fx_sale_key_sets(crew_sale(k)); segment++)
            write_segment(crew_sale(k), segment);
    }
}

void rest_expect_undisturbed(const char *history)
{
    assert_int_equal(atomic_load(&crew.other), 0);
    for (int i = 0; i < FX_INSTANCES; i++)
        assert_int_equal(atomic_load(&crew.halted[i]), 0);
    rest_after(&(rest_plan){0});
    crew_close();
    verdict_expect_safe(history);
}
