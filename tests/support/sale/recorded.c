/* recorded.c - buyers that record what they are told, and the orders that it is held to. */
#include "tests/support/sale/recorded.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    PAUSE_MS = 5,    /* of a buyer behind each answer: a connection each must not fill the kernel */
    REFUSED_MS = 25, /* behind a 503 */
    DEADLINE_MS = 60000
};

/* What buyers were told, beside the status. */
enum { NOT_YET = 0, NO_ANSWER = 1 };

recorded_sale recorded;

static pthread_t buyers[RECORDED_BUYERS];

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- the sale, and who buys of it ------------------------------------------------------------ */

static bool is_dead(int at)
{
    return at == atomic_load(&recorded.dead);
}

static int ask_to_buy(int number, int at, fx_reply *reply)
{
    return fx_ask(fx.server[at], reply, "POST /buy?item=%s&user=u%d&request=r-%d", recorded.item,
                  number % 100, number);
}

static void note_bought(int number)
{
    long long now = now_ms(), none = 0, gap = now - atomic_exchange(&recorded.last_ms, now);
    if (gap > atomic_load(&recorded.gap_ms))
        atomic_store(&recorded.gap_ms, gap);
    if (number >= atomic_load(&recorded.watched))
        atomic_compare_exchange_strong(&recorded.first_ms, &none, now);
    atomic_fetch_add(&recorded.bought, 1);
}

/* The first of them. */
static void note_wrong(int status, const fx_reply *reply)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&recorded.wrong))
        snprintf(recorded.words, sizeof(recorded.words), "%d %.200s", status, reply->body);
    atomic_store(&recorded.wrong, true);
    pthread_mutex_unlock(&lock);
}

static void note(int number, int status, const fx_reply *reply)
{
    atomic_store(&recorded.outcome[number], status == 0 ? NO_ANSWER : status);
    if (status == 201)
        note_bought(number);
    else if (status == 409)
        atomic_fetch_add(&recorded.refused, 1);
    else if (status == 503 && !strstr(reply->body, "\"code\":\"sale_"))
        atomic_fetch_add(&recorded.unavailable, 1);
    else if (status == 0 || status == 504)
        atomic_fetch_add(&recorded.unknown, 1);
    else
        note_wrong(status, reply);
    atomic_fetch_add(&recorded.done, 1);
}

static void *buy_on_and_on(void *arg)
{
    (void)arg;
    while (!atomic_load(&recorded.over)) {
        int status = 0;
        int number = atomic_load(&recorded.next), at = number % FX_INSTANCES;
        if (number < atomic_load(&recorded.allowed) &&
            atomic_compare_exchange_strong(&recorded.next, &number, number + 1)) {
            fx_reply reply;
            status = ask_to_buy(number, is_dead(at) ? (at + 1) % FX_INSTANCES : at, &reply);
            note(number, status, &reply);
            fx_reply_free(&reply);
        }
        fx_let_pass(status == 503 ? REFUSED_MS : PAUSE_MS);
    }
    return NULL;
}

void recorded_open(const char *item, int stock, int segments, const char *terms)
{
    for (int i = 0; i < RECORDED_MOST; i++)
        atomic_store(&recorded.outcome[i], NOT_YET);
    atomic_int *const zero[] = {&recorded.next,   &recorded.allowed, &recorded.done,
                                &recorded.bought, &recorded.refused, &recorded.unavailable,
                                &recorded.unknown};
    for (size_t i = 0; i < sizeof(zero) / sizeof(zero[0]); i++)
        atomic_store(zero[i], 0);
    snprintf(recorded.item, sizeof(recorded.item), "%s", item);
    recorded.stock = stock;
    recorded.segments = segments;
    recorded.words[0] = '\0';
    atomic_store(&recorded.wrong, false);
    atomic_store(&recorded.dead, -1);
    atomic_store(&recorded.over, false);
    atomic_store(&recorded.watched, RECORDED_MOST);
    atomic_store(&recorded.first_ms, 0);
    atomic_store(&recorded.gap_ms, 0);
    snprintf(recorded.id, sizeof(recorded.id), "%s",
             fx_start_sale(fx.server[0], item, "'stock':%d,%s", stock, terms));
    atomic_store(&recorded.last_ms, now_ms());
    for (int i = 0; i < RECORDED_BUYERS; i++)
        assert_int_equal(pthread_create(&buyers[i], NULL, buy_on_and_on, NULL), 0);
    recorded.open = true;
}

void recorded_let_in(int more)
{
    assert_true(atomic_load(&recorded.allowed) + more <= RECORDED_MOST);
    atomic_fetch_add(&recorded.allowed, more);
}

typedef struct counter {
    atomic_int *of;
    int until;
} counter;

static bool has_come(void *arg)
{
    counter *c = arg;
    return atomic_load(c->of) >= c->until || atomic_load(&recorded.wrong);
}

void recorded_until(atomic_int *count, int so_far)
{
    counter c = {count, so_far};
    if (!fx_wait_until(has_come, &c, DEADLINE_MS) || atomic_load(&recorded.wrong))
        fail_msg("%s: %d instead of %d after %d answers (%d bought, %d 409, %d 503, %d unknown) %s",
                 recorded.item, atomic_load(count), so_far, atomic_load(&recorded.done),
                 atomic_load(&recorded.bought), atomic_load(&recorded.refused),
                 atomic_load(&recorded.unavailable), atomic_load(&recorded.unknown),
                 recorded.words);
}

void recorded_pause(void)
{
    atomic_store(&recorded.allowed, 0);
    for (int begun; (begun = atomic_load(&recorded.next)) != atomic_load(&recorded.done);)
        recorded_until(&recorded.done, begun);
}

void recorded_let_in_again(int more)
{
    atomic_store(&recorded.allowed, atomic_load(&recorded.next));
    recorded_let_in(more);
}

void recorded_end(void)
{
    atomic_store(&recorded.over, true);
    for (int i = 0; i < RECORDED_BUYERS; i++)
        pthread_join(buyers[i], NULL);
    recorded.open = false;
}

int recorded_close(void **state)
{
    (void)state;
    if (recorded.open)
        recorded_end();
    return 0;
}

void recorded_sell_out(int refusals)
{
    recorded_let_in_again(RECORDED_MOST - atomic_load(&recorded.next));
    recorded_until(&recorded.refused, atomic_load(&recorded.refused) + refusals);
    recorded_end();
}

void recorded_tell(const char *what)
{
    print_message("%s %s: %d buys: %d x 201, %d x 409, %d x 503, %d unknown; longest without a 201 "
                  "%lld ms\n",
                  recorded.item, what, atomic_load(&recorded.done), atomic_load(&recorded.bought),
                  atomic_load(&recorded.refused), atomic_load(&recorded.unavailable),
                  atomic_load(&recorded.unknown), atomic_load(&recorded.gap_ms));
}

/* ---- the ledger ------------------------------------------------------------------------------ */

/* Segment k's keys, or the sale's. */
static const char *tag_of(int k)
{
    static char tag[64];
    if (recorded.segments == 0)
        snprintf(tag, sizeof(tag), "{%s}", recorded.item);
    else
        snprintf(tag, sizeof(tag), "{%s#%d}", recorded.item, k);
    return tag;
}

static int key_sets(void)
{
    return recorded.segments == 0 ? 1 : recorded.segments;
}

static int number_of(const char *request)
{
    assert_true(strncmp(request, "r-", 2) == 0);
    int number = (int)strtol(request + 2, NULL, 10);
    assert_in_range(number, 0, RECORDED_MOST - 1);
    return number;
}

const char *recorded_key(int k)
{
    static char key[96];
    snprintf(key, sizeof(key), "fs:%s:sale", tag_of(k));
    return key;
}

/* Counts the orders under one tag, by their buys' numbers. */
static int read_orders(int k, int orders[RECORDED_MOST])
{
    int count = 0;
    redisReply *all = fx_redis_reply(fx.redis, "HGETALL fs:%s:%s:orders", tag_of(k), recorded.id);
    assert_int_equal(all->type, REDIS_REPLY_ARRAY);
    for (size_t i = 0; i + 1 < all->elements; i += 2) {
        const char *request = all->element[i]->str, *record = all->element[i + 1]->str;
        if (request[0] == '#' || record[0] == '-' || record[0] == '>')
            continue;
        orders[number_of(request)]++;
        count++;
    }
    freeReplyObject(all);
    return count;
}

int recorded_check_units(int orders[RECORDED_MOST])
{
    int left = 0, sold = 0;
    memset(orders, 0, RECORDED_MOST * sizeof(orders[0]));
    for (int k = 0; k < key_sets(); k++) {
        int count = read_orders(k, orders);
        assert_int_equal(fx_redis_number(fx.redis, "LLEN fs:%s:%s:ledger", tag_of(k), recorded.id),
                         count);
        assert_int_equal(fx_redis_number(fx.redis, "GET fs:%s:%s:sold", tag_of(k), recorded.id),
                         count);
        left += (int)fx_redis_number(fx.redis, "GET fs:%s:%s:stock", tag_of(k), recorded.id);
        sold += count;
    }
    if (left < 0 || left + sold != recorded.stock)
        fail_msg("%s: %d units of %d are left, %d are ordered", recorded.item, left, recorded.stock,
                 sold);
    return left;
}

void recorded_check_answers(const int orders[RECORDED_MOST])
{
    int lost = 0, unasked = 0, twice = 0;
    for (int i = 0; i < atomic_load(&recorded.next); i++) {
        int outcome = atomic_load(&recorded.outcome[i]);
        lost += outcome == 201 && orders[i] == 0;
        unasked += outcome != 201 && orders[i] > 0;
        twice += orders[i] > 1;
        if (outcome != 201 && outcome != 409 && outcome != 503)
            fail_msg("%s: r-%d was told %d", recorded.item, i, outcome);
    }
    if (lost + unasked + twice > 0)
        fail_msg("%s: %d acknowledged orders lost, %d orders of who was told no, %d twice",
                 recorded.item, lost, unasked, twice);
}

/* What is left of doubt: the same request again, to another instance, until it is answered. */
typedef struct doubt {
    int number;
    bool buys; /* it may buy now; else it is only asked about */
} doubt;

static bool is_resolved(void *arg)
{
    doubt *d = arg;
    fx_reply reply;
    int status, at = is_dead(0) ? 1 : 0;
    if (d->buys)
        status = ask_to_buy(d->number, at, &reply);
    else
        status = fx_ask(fx.server[at], &reply, "GET /orders/r-%d?item=%s&sale=%s", d->number,
                        recorded.item, recorded.id);
    bool yes = status == 201 || status == 200;
    bool no = status == 409 || (status == 404 && strstr(reply.body, "\"final\":true"));
    if (yes || no)
        atomic_store(&recorded.outcome[d->number], yes ? 201 : 409);
    fx_reply_free(&reply);
    return yes || no;
}

void recorded_resolve(bool buys)
{
    for (int i = 0; i < atomic_load(&recorded.next); i++) {
        int outcome = atomic_load(&recorded.outcome[i]);
        doubt d = {.number = i, .buys = buys};
        if ((outcome == NO_ANSWER || outcome == 504) &&
            !fx_wait_until(is_resolved, &d, DEADLINE_MS))
            fail_msg("%s: nobody knows what became of r-%d", recorded.item, i);
    }
}

/* The instances agree with that, and none has found fault with the sale. */
static bool all_is_well(void *arg)
{
    bool well = true;
    for (int at = 0; well && at < FX_INSTANCES; at++) {
        fx_reply stock, ready;
        fx_ask(fx.server[at], &stock, "GET /stock?item=%s", recorded.item);
        fx_ask(fx.server[at], &ready, "GET /readyz");
        well = stock.status == 200 && ready.status == 200 && strstr(stock.body, "\"oversold\":0") &&
               strstr(stock.body, "\"lost_updates\":0") && strstr(stock.body, "\"unordered\":0") &&
               !strstr(stock.body, "halted") && !strstr(ready.body, "not sold");
        if (!well)
            snprintf(arg, 512, "%.300s %.200s", stock.body, ready.body);
        fx_reply_free(&stock);
        fx_reply_free(&ready);
    }
    return well;
}

void recorded_check_service(void)
{
    char words[512] = "";
    if (!fx_wait_until(all_is_well, words, DEADLINE_MS))
        fail_msg("%s: %s", recorded.item, words);
}

void recorded_check_sold_out(void)
{
    static int orders[RECORDED_MOST];
    recorded_check_service();
    assert_int_equal(recorded_check_units(orders), 0);
    recorded_check_answers(orders);
}
