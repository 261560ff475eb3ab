/* test_batch.c - the combining engine, without Redis. */
#include "tests/support/fixture.h"

#include <pthread.h>
#include <string.h>

#include "server/selling/batch.h"

#define BUYERS          40
#define REGULARS        3
#define VISITS          3000

#define WITHOUT_THREADS "--without-threads"

/* A leader that takes a batch, waits at a gate, and answers each with its arrival number; or, while
 * it has no lock, refuses them. */
typedef struct test_shop {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    bool open; /* the gate */
    bool refuses;
    int batches, largest, alone;
    int64_t sold, hold_ms;
} test_shop;

static const open_sale sale; /* in memory; nobody here asks Redis */

/* Nobody is served alone, but where a case says so. */
static bool join(void *arg, const purchase *request, purchase_result *result)
{
    (void)arg, (void)request, (void)result;
    return false;
}

static void serve(void *arg, fs_batch *batch)
{
    test_shop *shop = arg;
    batch_taken taken;
    pthread_mutex_lock(&shop->lock);
    int64_t hold_ms = shop->hold_ms;
    bool refuses = shop->refuses;
    pthread_mutex_unlock(&shop->lock);
    if (refuses) {
        batch_refuse(batch, BUY_UNAVAILABLE);
        return;
    }
    if (hold_ms > 0 && !batch_call(batch, hold_ms))
        return;
    batch_take(batch, &taken);
    pthread_mutex_lock(&shop->lock);
    shop->batches++;
    shop->largest = taken.count > shop->largest ? taken.count : shop->largest;
    pthread_cond_broadcast(&shop->moved);
    while (!shop->open)
        pthread_cond_wait(&shop->moved, &shop->lock);
    for (int i = 0; i < taken.count; i++) {
        purchase_answer(taken.buyers[i].result, BUY_SOLD);
        taken.buyers[i].result->order.number = ++shop->sold;
    }
    pthread_mutex_unlock(&shop->lock);
    batch_answer(batch, &taken);
}

static void set_gate(test_shop *shop, bool open)
{
    pthread_mutex_lock(&shop->lock);
    shop->open = open;
    pthread_cond_broadcast(&shop->moved);
    pthread_mutex_unlock(&shop->lock);
}

static void wait_batches(test_shop *shop, int batches)
{
    pthread_mutex_lock(&shop->lock);
    while (shop->batches < batches)
        pthread_cond_wait(&shop->moved, &shop->lock);
    pthread_mutex_unlock(&shop->lock);
}

typedef struct test_buyer {
    fs_batch *batch;
    purchase request;
    purchase_result result;
    int64_t wait_ms;
    pthread_t thread;
} test_buyer;

static void *buy(void *arg)
{
    test_buyer *buyer = arg;
    batch_buy(buyer->batch, buyer->wait_ms, &buyer->request, &buyer->result);
    return NULL;
}

static void start_buyer(test_buyer *buyer, fs_batch *batch, int64_t wait_ms, int64_t deadline_ms)
{
    memset(buyer, 0, sizeof(*buyer));
    buyer->batch = batch;
    buyer->wait_ms = wait_ms;
    buyer->request.deadline = dlock_in_ms(deadline_ms);
    assert_int_equal(pthread_create(&buyer->thread, NULL, buy, buyer), 0);
}

static test_shop new_shop(bool open)
{
    return (test_shop){
        .lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER, .open = open};
}

static void everybody_gets_an_answer_of_their_own(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    static test_buyer buyers[BUYERS];
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    for (int i = 0; i < BUYERS; i++)
        start_buyer(&buyers[i], batch, 60000, 60000);
    wait_batches(&shop, 1);
    set_gate(&shop, true);
    bool seen[BUYERS + 1] = {false};
    for (int i = 0; i < BUYERS; i++) {
        pthread_join(buyers[i].thread, NULL);
        assert_int_equal(buyers[i].result.outcome, BUY_SOLD);
        int64_t number = buyers[i].result.order.number;
        assert_in_range(number, 1, BUYERS);
        assert_false(seen[number]);
        seen[number] = true;
    }
    assert_true(shop.batches <= BUYERS);
    batch_close(batch);
}

/* Lets a crowd come while the leader is at the gate. True when a batch had several of them; those
 * who have not come by then are served later. */
static bool many_share_a_batch(void *arg)
{
    test_shop *shop = arg;
    static test_buyer buyers[BUYERS];
    fs_batch *batch = batch_open(&sale, join, serve, shop);
    set_gate(shop, false);
    for (int i = 0; i < BUYERS; i++)
        start_buyer(&buyers[i], batch, 60000, 60000);
    set_gate(shop, true);
    for (int i = 0; i < BUYERS; i++)
        pthread_join(buyers[i].thread, NULL);
    batch_close(batch);
    return shop->largest > 1;
}

static void who_waits_shares_a_batch(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    assert_true(fx_wait_until(many_share_a_batch, &shop, 60000));
}

/* As after an outage: who asks meanwhile is refused at once, who asks then is sold to. */
static void selling_goes_on_after_a_refusal(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    test_buyer buyer;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    for (int i = 0; i < 6; i++) {
        pthread_mutex_lock(&shop.lock);
        shop.refuses = i % 2 == 0;
        pthread_mutex_unlock(&shop.lock);
        start_buyer(&buyer, batch, 60000, 60000);
        pthread_join(buyer.thread, NULL);
        assert_int_equal(buyer.result.outcome, i % 2 == 0 ? BUY_UNAVAILABLE : BUY_SOLD);
    }
    batch_close(batch);
    assert_int_equal(shop.sold, 3);
}

static void who_gives_up_in_the_queue_leaves_no_trace(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer first, late;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    wait_batches(&shop, 1); /* the leader is at the gate with the first */
    start_buyer(&late, batch, 0, 60000);
    pthread_join(late.thread, NULL);
    assert_int_equal(late.result.outcome, BUY_BUSY);
    set_gate(&shop, true);
    pthread_join(first.thread, NULL);
    assert_int_equal(first.result.outcome, BUY_SOLD);
    assert_int_equal(shop.sold, 1);
    batch_close(batch);
}

static void who_was_taken_and_not_answered_is_left_in_doubt(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer buyer;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    /* One that the leader has not come to take by its deadline proves nothing. */
    for (int deadline_ms = 100; shop.batches == 0; deadline_ms *= 2) {
        start_buyer(&buyer, batch, 10000, deadline_ms);
        pthread_join(buyer.thread, NULL);
        pthread_mutex_lock(&shop.lock);
        assert_int_equal(buyer.result.outcome, shop.batches == 0 ? BUY_BUSY : BUY_UNKNOWN);
        pthread_mutex_unlock(&shop.lock);
    }
    set_gate(&shop, true); /* the leader answers a place that nobody waits at any more */
    batch_close(batch);
    assert_int_equal(shop.sold, 1);
}

/* Buys without a thread: with no time at all, so as to join a round and leave it. */
static purchase_outcome come_and_go(fs_batch *batch)
{
    purchase request = {.deadline = dlock_now()};
    purchase_result result;
    batch_buy(batch, 0, &request, &result);
    return result.outcome;
}

static void rounds_that_all_have_left_are_not_served(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer first, last;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    wait_batches(&shop, 1); /* the leader is at the gate with the first */
    for (int i = 0; i < 3 * SELL_MAX + 1; i++)
        assert_int_equal(come_and_go(batch), BUY_BUSY);
    start_buyer(&last, batch, 60000, 60000);
    set_gate(&shop, true);
    pthread_join(first.thread, NULL);
    pthread_join(last.thread, NULL);
    assert_int_equal(last.result.outcome, BUY_SOLD);
    batch_close(batch);
    assert_int_equal(shop.batches, 2);
}

static void who_was_called_does_not_give_up(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    test_buyer buyer;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    /* The call must come while the buyer still queues: on a busy machine it needs more time. */
    for (int wait_ms = 200; shop.sold == 0 && wait_ms < 30000; wait_ms *= 3) {
        pthread_mutex_lock(&shop.lock);
        shop.hold_ms = 2 * wait_ms;
        pthread_mutex_unlock(&shop.lock);
        start_buyer(&buyer, batch, wait_ms, 600000);
        pthread_join(buyer.thread, NULL);
    }
    assert_int_equal(buyer.result.outcome, BUY_SOLD);
    batch_close(batch);
}

static void a_call_ends_when_nobody_is_left(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    test_buyer buyer;
    shop.hold_ms = 3600000; /* never, as far as this program can wait */
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&buyer, batch, 0, 300);
    pthread_join(buyer.thread, NULL);
    assert_int_equal(buyer.result.outcome, BUY_BUSY); /* not in doubt: it was not taken */
    batch_close(batch);
    assert_int_equal(shop.batches, 0);
}

static void *buy_again_and_again(void *arg)
{
    fs_batch *batch = arg;
    long sold = 0;
    for (int i = 0; i < VISITS; i++) {
        purchase request = {.deadline = dlock_in_ms(60000)};
        purchase_result result;
        batch_buy(batch, 60000, &request, &result);
        sold += result.outcome == BUY_SOLD;
    }
    return (void *)sold;
}

/* So few buyers that the leader often goes while one comes. */
static void who_comes_while_the_leader_goes_is_served(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    pthread_t regulars[REGULARS];
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    for (int i = 0; i < REGULARS; i++)
        assert_int_equal(pthread_create(&regulars[i], NULL, buy_again_and_again, batch), 0);
    for (int i = 0; i < REGULARS; i++) {
        void *sold;
        pthread_join(regulars[i], &sold);
        assert_int_equal((long)sold, VISITS);
    }
    batch_close(batch);
    assert_int_equal(shop.sold, REGULARS * VISITS);
}

/* What a new thread's stack must have; its old value. */
static size_t set_stack_size(size_t size)
{
    pthread_attr_t attr;
    size_t before;
    pthread_getattr_default_np(&attr);
    pthread_attr_getstacksize(&attr, &before);
    assert_int_equal(pthread_attr_setstacksize(&attr, size), 0);
    assert_int_equal(pthread_setattr_default_np(&attr), 0);
    pthread_attr_destroy(&attr);
    return before;
}

/* In a program of its own, for it must not have a leader left from another case. */
static int buy_without_threads(void)
{
    test_shop shop = new_shop(true);
    purchase request = {.deadline = dlock_in_ms(60000)};
    purchase_result refused, sold;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    size_t usual = set_stack_size((size_t)1 << 46); /* more than there are addresses */
    batch_buy(batch, 60000, &request, &refused);
    set_stack_size(usual);
    batch_buy(batch, 60000, &request, &sold);
    batch_close(batch);
    return refused.outcome == BUY_UNAVAILABLE && sold.outcome == BUY_SOLD && shop.sold == 1 ? 0 : 1;
}

static void without_a_thread_for_a_leader_nothing_is_sold(void **state)
{
    (void)state;
    fx_process *alone =
        fx_spawn((const char *const[]){"/proc/self/exe", WITHOUT_THREADS, NULL}, false);
    assert_int_equal(fx_process_wait(alone, 60000), 0);
    fx_process_free(alone);
}

/* ---- put back -------------------------------------------------------------------------------- */

/* The first two times nothing can be done for those who were taken. */
static void serve_at_third_try(void *arg, fs_batch *batch)
{
    test_shop *shop = arg;
    batch_taken taken;
    batch_take(batch, &taken);
    pthread_mutex_lock(&shop->lock);
    bool puts_back = shop->batches++ < 2;
    pthread_cond_broadcast(&shop->moved);
    while (!shop->open)
        pthread_cond_wait(&shop->moved, &shop->lock);
    for (int i = 0; !puts_back && i < taken.count; i++) {
        purchase_answer(taken.buyers[i].result, BUY_SOLD);
        taken.buyers[i].result->order.number = ++shop->sold;
    }
    pthread_mutex_unlock(&shop->lock);
    if (puts_back)
        batch_put_back(batch, &taken);
    else
        batch_answer(batch, &taken);
}

static void who_is_put_back_is_served_before_those_behind(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer first, others[SELL_MAX];
    fs_batch *batch = batch_open(&sale, join, serve_at_third_try, &shop);
    start_buyer(&first, batch, 60000, 60000);
    wait_batches(&shop, 1);
    for (int i = 0; i < SELL_MAX; i++)
        start_buyer(&others[i], batch, 60000, 60000);
    set_gate(&shop, true);
    pthread_join(first.thread, NULL);
    assert_int_equal(first.result.outcome, BUY_SOLD);
    assert_int_equal(first.result.order.number, 1);
    for (int i = 0; i < SELL_MAX; i++) {
        pthread_join(others[i].thread, NULL);
        assert_int_equal(others[i].result.outcome, BUY_SOLD);
    }
    assert_int_equal(shop.sold, SELL_MAX + 1);
    batch_close(batch);
}

/* Its deadline comes while it is with the leader; those behind are served all the same. */
static void who_goes_while_it_is_taken_and_put_back_is_in_nobodys_way(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer leaver, patient;
    fs_batch *batch = batch_open(&sale, join, serve_at_third_try, &shop);
    start_buyer(&leaver, batch, 0, 300);
    wait_batches(&shop, 1);
    pthread_join(leaver.thread, NULL);
    assert_int_equal(leaver.result.outcome, BUY_UNKNOWN); /* it was taken then */
    start_buyer(&patient, batch, 60000, 60000);
    set_gate(&shop, true);
    pthread_join(patient.thread, NULL);
    assert_int_equal(patient.result.outcome, BUY_SOLD);
    batch_close(batch);
}

/* The lock may stay somebody else's: the leader does not ask for it when nobody waits. */
static void a_leader_goes_when_all_have_gone_that_it_puts_back(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer leavers[2];
    fs_batch *batch = batch_open(&sale, join, serve_at_third_try, &shop);
    start_buyer(&leavers[0], batch, 0, 300);
    wait_batches(&shop, 1);
    start_buyer(&leavers[1], batch, 0, 300);
    for (int i = 0; i < 2; i++)
        pthread_join(leavers[i].thread, NULL);
    assert_int_equal(leavers[0].result.outcome, BUY_UNKNOWN); /* it was taken then */
    assert_int_equal(leavers[1].result.outcome, BUY_BUSY);
    set_gate(&shop, true);
    batch_close(batch);
    assert_int_equal(shop.batches, 1);
    assert_int_equal(shop.sold, 0);
}

/* ---- alone ----------------------------------------------------------------------------------- */

/* Serves one buyer on its own thread, when the gate is open. */
static bool serve_one(void *arg, const purchase *request, purchase_result *result)
{
    test_shop *shop = arg;
    (void)request;
    pthread_mutex_lock(&shop->lock);
    shop->alone++;
    pthread_cond_broadcast(&shop->moved);
    while (!shop->open)
        pthread_cond_wait(&shop->moved, &shop->lock);
    bool serves = !shop->refuses;
    if (serves) {
        purchase_answer(result, BUY_SOLD);
        result->order.number = ++shop->sold;
    }
    pthread_mutex_unlock(&shop->lock);
    return serves;
}

static void a_buyer_that_nobody_is_with_is_served_at_once(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    test_buyer buyer;
    fs_batch *batch = batch_open(&sale, serve_one, serve, &shop);
    for (int i = 1; i <= 3; i++) {
        start_buyer(&buyer, batch, 60000, 60000);
        pthread_join(buyer.thread, NULL);
        assert_int_equal(buyer.result.outcome, BUY_SOLD);
        assert_int_equal(buyer.result.order.number, i);
    }
    assert_int_equal(shop.alone, 3);
    assert_int_equal(shop.batches, 0);
    batch_close(batch);
}

static void who_comes_meanwhile_gets_a_leader(void **state)
{
    (void)state;
    test_shop shop = new_shop(false);
    test_buyer first, others[BUYERS];
    fs_batch *batch = batch_open(&sale, serve_one, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    pthread_mutex_lock(&shop.lock);
    while (shop.alone < 1)
        pthread_cond_wait(&shop.moved, &shop.lock);
    pthread_mutex_unlock(&shop.lock);
    for (int i = 0; i < BUYERS; i++)
        start_buyer(&others[i], batch, 60000, 60000);
    set_gate(&shop, true);
    pthread_join(first.thread, NULL);
    assert_int_equal(first.result.outcome, BUY_SOLD);
    for (int i = 0; i < BUYERS; i++) {
        pthread_join(others[i].thread, NULL);
        assert_int_equal(others[i].result.outcome, BUY_SOLD);
    }
    assert_int_equal(shop.sold, BUYERS + 1);
    assert_true(shop.batches >= 1 || shop.alone == BUYERS + 1);
    batch_close(batch);
}

/* Its shop refuses to serve it alone, as when somebody else has the lock. */
static void who_can_not_be_served_alone_joins(void **state)
{
    (void)state;
    test_shop shop = new_shop(true);
    test_buyer buyer;
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&buyer, batch, 60000, 60000);
    pthread_join(buyer.thread, NULL);
    assert_int_equal(buyer.result.outcome, BUY_SOLD);
    assert_int_equal(shop.batches, 1);
    batch_close(batch);
}

/* ---- what is counted ------------------------------------------------------------------------- */

enum { QUEUE = 10 };

static bool queue_is_seen(void *arg)
{
    batch_counts now;
    (void)arg;
    batch_count(&now);
    return now.waiting == QUEUE;
}

/* One at the gate, and a queue behind it; then one alone; then one who is refused. */
static void batches_and_who_waits_are_counted(void **state)
{
    (void)state;
    batch_counts before, after;
    test_shop shop = new_shop(false);
    test_buyer first, queue[QUEUE];
    batch_count(&before);
    assert_int_equal(before.waiting, 0);
    fs_batch *batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    wait_batches(&shop, 1);
    for (int i = 0; i < QUEUE; i++)
        start_buyer(&queue[i], batch, 60000, 60000);
    assert_true(fx_wait_until(queue_is_seen, NULL, 60000));
    set_gate(&shop, true);
    pthread_join(first.thread, NULL);
    for (int i = 0; i < QUEUE; i++)
        pthread_join(queue[i].thread, NULL);
    batch_close(batch);

    batch = batch_open(&sale, serve_one, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    pthread_join(first.thread, NULL);
    batch_close(batch);
    shop.refuses = true;
    batch = batch_open(&sale, join, serve, &shop);
    start_buyer(&first, batch, 60000, 60000);
    pthread_join(first.thread, NULL);
    batch_close(batch);

    batch_count(&after); /* what was closed counts too */
    assert_int_equal(after.buyers - before.buyers, 1 + QUEUE + 1);
    assert_int_equal(after.batches - before.batches, 1 + 1 + 1);
    assert_true(after.largest >= QUEUE);
    assert_int_equal(after.waiting, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], WITHOUT_THREADS) == 0)
        return buy_without_threads();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_an_answer_of_their_own),
        cmocka_unit_test(who_is_put_back_is_served_before_those_behind),
        cmocka_unit_test(who_goes_while_it_is_taken_and_put_back_is_in_nobodys_way),
        cmocka_unit_test(a_leader_goes_when_all_have_gone_that_it_puts_back),
        cmocka_unit_test(a_buyer_that_nobody_is_with_is_served_at_once),
        cmocka_unit_test(who_comes_meanwhile_gets_a_leader),
        cmocka_unit_test(who_can_not_be_served_alone_joins),
        cmocka_unit_test(batches_and_who_waits_are_counted),
        cmocka_unit_test(who_waits_shares_a_batch),
        cmocka_unit_test(selling_goes_on_after_a_refusal),
        cmocka_unit_test(who_gives_up_in_the_queue_leaves_no_trace),
        cmocka_unit_test(who_was_taken_and_not_answered_is_left_in_doubt),
        cmocka_unit_test(rounds_that_all_have_left_are_not_served),
        cmocka_unit_test(who_was_called_does_not_give_up),
        cmocka_unit_test(a_call_ends_when_nobody_is_left),
        cmocka_unit_test(who_comes_while_the_leader_goes_is_served),
        cmocka_unit_test(without_a_thread_for_a_leader_nothing_is_sold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
