/*
 * test_batch_round.c - who answers a client, its own thread or the leader: one of them, and once.
 *
 * Without Redis. A client is a pair of sockets whose other end this program has.
 */
#include "tests/support/fixture.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/selling/batch.h"

enum { PATIENT_MS = 60000, REGULARS = 8, VISITS = 500 };

static const open_sale sale;
static const open_sale replicated_sale = {.terms.durability = DURABILITY_REPLICATED};

/* ---- a client -------------------------------------------------------------------------------- */

typedef struct test_client {
    direct_answer direct; /* first: tell() is given it */
    int far_end;
    bool refuses;     /* its send buffer is full, say */
    bool asks_again;  /* at once when it is told */
    atomic_bool gate; /* tell() waits for it */
    atomic_int tries, tells;
} test_client;

static bool gate_is_open(void *client)
{
    return atomic_load(&((test_client *)client)->gate);
}

static bool tell(direct_answer *direct, const sale_terms *terms, const purchase_result *result)
{
    test_client *client = (test_client *)direct;
    atomic_fetch_add(&client->tries, 1);
    if (!fx_wait_until(gate_is_open, client, PATIENT_MS) || !terms || result->outcome != BUY_SOLD)
        return false;
    if (client->refuses)
        return false;
    atomic_fetch_add(&client->tells, 1);
    return !client->asks_again || write(client->far_end, "?", 1) == 1;
}

static bool is_ready(direct_answer *direct)
{
    return direct->socket >= 0;
}

static void open_client(test_client *client)
{
    int ends[2];
    memset(client, 0, sizeof(*client));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    client->direct = (direct_answer){ends[0], eventfd(0, EFD_CLOEXEC), is_ready, tell};
    client->far_end = ends[1];
    atomic_init(&client->gate, true);
    assert_true(client->direct.wakeup >= 0);
}

static void close_client(test_client *client)
{
    close(client->direct.socket);
    close(client->direct.wakeup);
    if (client->far_end >= 0)
        close(client->far_end);
}

static bool is_readable(int fd)
{
    struct pollfd ready = {fd, POLLIN, 0};
    return poll(&ready, 1, 0) == 1;
}

/* ---- a buyer in a round of its own ----------------------------------------------------------- */

typedef struct test_buyer {
    test_client client;
    batch_round round;
    batch_place *place;
    bool answered;
    pthread_t thread;
} test_buyer;

static void *wait_patiently(void *arg)
{
    test_buyer *buyer = arg;
    buyer->answered = round_wait_answer(&buyer->round, buyer->place, dlock_in_ms(PATIENT_MS));
    return NULL;
}

static void *answer_round(void *arg)
{
    test_buyer *buyer = arg;
    round_answer(&buyer->round, &sale);
    return NULL;
}

/* In a place, with an outcome, and nobody waiting yet. */
static void seat(test_buyer *buyer, bool directly, purchase_outcome outcome)
{
    purchase request = {.direct = directly ? &buyer->client.direct : NULL};
    round_init(&buyer->round);
    buyer->place = round_add(&buyer->round, &request, request.direct);
    purchase_answer(&buyer->place->result, outcome);
}

static void start(pthread_t *thread, void *(*run)(void *), test_buyer *buyer)
{
    assert_int_equal(pthread_create(thread, NULL, run, buyer), 0);
}

/* Answers the round of a buyer who waits for it, and of one who comes only then. */
static void answer(test_buyer *buyer, bool waits, const open_sale *of)
{
    if (waits)
        start(&buyer->thread, wait_patiently, buyer);
    round_answer(&buyer->round, of);
    if (!waits)
        start(&buyer->thread, wait_patiently, buyer);
    pthread_join(buyer->thread, NULL);
    assert_true(buyer->answered);
    assert_false(is_readable(buyer->client.direct.wakeup)); /* or the next wait would not sleep */
}

static bool has_turn(test_buyer *buyer, batch_turn turn)
{
    return atomic_load(&buyer->place->turn) == (int)turn;
}

static bool is_awake(void *buyer)
{
    return has_turn(buyer, TURN_AWAKE);
}

static bool is_being_told(void *buyer)
{
    return has_turn(buyer, TURN_TELLING);
}

/* ---- one buyer ------------------------------------------------------------------------------- */

static void who_sleeps_on_its_socket_is_told_by_the_leader(void **state)
{
    (void)state;
    test_buyer buyer;
    open_client(&buyer.client);
    for (int i = 0; i < 4; i++) {
        seat(&buyer, true, BUY_SOLD);
        answer(&buyer, i % 2 == 0, &sale);
        assert_true(buyer.place->result.told);
        assert_int_equal(atomic_load(&buyer.client.tells), i + 1);
    }
    close_client(&buyer.client);
}

/* What the leader has for each, and whether it may tell. */
static const struct {
    const open_sale *sale;
    purchase_outcome outcome;
    bool replicated, refuses, told;
} cases[] = {
    {&sale, BUY_SOLD, false, false, true},
    {&sale, BUY_SOLD, false, true, false},
    {&sale, BUY_SOLD_OUT, false, false, false},
    {&sale, BUY_CONFLICT, false, false, false},
    {&sale, BUY_UNKNOWN, false, false, false},
    {&sale, BUY_STALE, false, false, false},
    {&sale, BUY_UNAVAILABLE, false, false, false},
    {&replicated_sale, BUY_SOLD, false, false, false},
    {&replicated_sale, BUY_SOLD, true, true, false},
    {&replicated_sale, BUY_SOLD, true, false, true},
    {&replicated_sale, BUY_SOLD_OUT, true, false, false},
};

static void what_may_not_be_told_is_handed_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * COUNT(cases); i++) {
        test_buyer buyer;
        open_client(&buyer.client);
        buyer.client.refuses = cases[i / 2].refuses;
        seat(&buyer, true, cases[i / 2].outcome);
        buyer.place->result.replicated = cases[i / 2].replicated;
        answer(&buyer, i % 2 == 0, cases[i / 2].sale);
        assert_int_equal(buyer.place->result.told, cases[i / 2].told);
        assert_int_equal(buyer.place->result.outcome, cases[i / 2].outcome);
        assert_int_equal(atomic_load(&buyer.client.tells), cases[i / 2].told);
        close_client(&buyer.client);
    }
}

/* What the client does while its order is under way. */
static void send_a_request(test_buyer *buyer)
{
    assert_int_equal(write(buyer->client.far_end, "POST", 4), 4);
}

static void say_that_no_request_follows(test_buyer *buyer)
{
    shutdown(buyer->client.far_end, SHUT_WR);
}

static void go(test_buyer *buyer)
{
    close(buyer->client.far_end);
    buyer->client.far_end = -1;
}

static void who_is_asked_something_else_meanwhile_answers_itself(void **state)
{
    (void)state;
    static void (*const disturb[])(test_buyer *) = {send_a_request, say_that_no_request_follows,
                                                    go};
    for (int i = 0; i < 6; i++) {
        test_buyer buyer;
        open_client(&buyer.client);
        seat(&buyer, true, BUY_SOLD);
        if (i >= 3)
            disturb[i % 3](&buyer); /* before it sleeps, else while it does */
        start(&buyer.thread, wait_patiently, &buyer);
        if (i < 3)
            disturb[i](&buyer);
        assert_true(fx_wait_until(is_awake, &buyer, PATIENT_MS));
        round_answer(&buyer.round, &sale);
        pthread_join(buyer.thread, NULL);
        assert_true(buyer.answered);
        assert_false(buyer.place->result.told);
        assert_int_equal(atomic_load(&buyer.client.tries), 0);
        assert_false(is_readable(buyer.client.direct.wakeup));
        close_client(&buyer.client);
    }
}

static void who_has_no_socket_to_sleep_on_is_woken(void **state)
{
    (void)state;
    test_buyer buyer;
    open_client(&buyer.client);
    for (int i = 0; i < 2; i++) {
        seat(&buyer, false, BUY_SOLD);
        answer(&buyer, i == 0, &sale);
        assert_false(buyer.place->result.told);
    }
    assert_int_equal(atomic_load(&buyer.client.tries), 0);
    close_client(&buyer.client);
}

/* ---- deadlines ------------------------------------------------------------------------------- */

static void nobody_is_told_after_giving_up(void **state)
{
    (void)state;
    test_buyer buyer;
    open_client(&buyer.client);
    seat(&buyer, true, BUY_SOLD);
    assert_false(round_wait_answer(&buyer.round, buyer.place, dlock_in_ms(1)));
    assert_true(round_give_up(buyer.place));
    assert_true(round_give_up(buyer.place));
    round_answer(&buyer.round, &sale);
    assert_int_equal(atomic_load(&buyer.client.tries), 0);
    assert_false(is_readable(buyer.client.direct.wakeup));
    close_client(&buyer.client);
}

static void who_is_being_told_can_not_give_up(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        test_buyer buyer;
        pthread_t leader;
        open_client(&buyer.client);
        buyer.client.refuses = i == 1;
        atomic_store(&buyer.client.gate, false);
        seat(&buyer, true, BUY_SOLD);
        start(&leader, answer_round, &buyer);
        assert_true(fx_wait_until(is_being_told, &buyer, PATIENT_MS));
        for (int again = 0; again < 3; again++) {
            assert_false(round_wait_answer(&buyer.round, buyer.place, dlock_in_ms(again)));
            assert_false(round_give_up(buyer.place));
        }
        atomic_store(&buyer.client.gate, true);
        assert_true(round_wait_answer(&buyer.round, buyer.place, dlock_in_ms(PATIENT_MS)));
        assert_int_equal(buyer.place->result.told, i == 0);
        pthread_join(leader, NULL);
        assert_int_equal(atomic_load(&buyer.client.tries), 1);
        assert_false(is_readable(buyer.client.direct.wakeup));
        close_client(&buyer.client);
    }
}

static void who_has_left_is_not_told(void **state)
{
    (void)state;
    test_buyer buyer;
    open_client(&buyer.client);
    seat(&buyer, true, BUY_SOLD);
    buyer.place->left = true;
    round_answer(&buyer.round, &sale);
    assert_int_equal(atomic_load(&buyer.client.tries), 0);
    close_client(&buyer.client);
}

static void a_dropped_round_is_over_for_who_waits_for_it(void **state)
{
    (void)state;
    test_buyer buyer;
    open_client(&buyer.client);
    seat(&buyer, false, BUY_BUSY);
    start(&buyer.thread, wait_patiently, &buyer);
    round_end(&buyer.round);
    pthread_join(buyer.thread, NULL);
    assert_true(buyer.answered);
    assert_false(round_let_go(&buyer.round)); /* the buyer, and whoever dropped it */
    assert_true(round_let_go(&buyer.round));
    close_client(&buyer.client);
}

/* ---- many ------------------------------------------------------------------------------------ */

typedef struct test_regular {
    fs_batch *batch;
    unsigned seed;
    test_client client;
    int told, own, without; /* answers by the leader, by itself, and none in time */
    pthread_t thread;
} test_regular;

/* Nobody is served alone. */
static bool join(void *arg, const purchase *request, purchase_result *result)
{
    (void)arg, (void)request, (void)result;
    return false;
}

/* Takes now and then about as long as the buyers' deadlines are. */
static void sell_to_round(void *arg, fs_batch *batch)
{
    unsigned *seed = arg;
    batch_taken taken;
    batch_take(batch, &taken);
    if (rand_r(seed) % 4 == 0)
        fx_let_pass(rand_r(seed) % 3);
    for (int i = 0; i < taken.count; i++)
        purchase_answer(taken.buyers[i].result, BUY_SOLD);
    batch_answer(batch, &taken);
}

static void drain(int fd)
{
    char bytes[64];
    while (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
    }
}

static bool never(direct_answer *direct, const sale_terms *terms, const purchase_result *result)
{
    (void)direct, (void)terms, (void)result;
    abort(); /* told of something that it does not wait for any more */
}

/* Its place in memory is used again for the next buy, as a thread's stack is. */
static void visit(test_regular *regular)
{
    test_client *client = &regular->client;
    purchase request = {.deadline = dlock_in_ms(rand_r(&regular->seed) % 4),
                        .direct = &client->direct};
    purchase_result result = {.told = true};
    int before = atomic_load(&client->tells);
    client->refuses = rand_r(&regular->seed) % 4 == 0;
    client->direct.tell = tell;
    if (rand_r(&regular->seed) % 8 == 0)
        assert_int_equal(write(client->far_end, "!", 1), 1);
    batch_buy(regular->batch, 10, &request, &result);
    client->direct.tell = never;
    int tells = atomic_load(&client->tells) - before;
    bool sold = result.outcome == BUY_SOLD;
    if (tells != (sold && result.told) || is_readable(client->direct.wakeup) ||
        (!sold && result.told) ||
        (!sold && result.outcome != BUY_BUSY && result.outcome != BUY_UNKNOWN))
        abort();
    regular->told += tells;
    regular->own += sold && !result.told;
    regular->without += !sold;
    drain(client->direct.socket);
}

static void *visit_often(void *arg)
{
    test_regular *regular = arg;
    for (int i = 0; i < VISITS; i++)
        visit(regular);
    return NULL;
}

static void everybody_is_answered_once_whatever_the_deadline(void **state)
{
    (void)state;
    static test_regular regulars[REGULARS];
    unsigned seed = 2026;
    int told = 0, own = 0, without = 0;
    fs_batch *batch = batch_open(&sale, join, sell_to_round, &seed);
    for (int i = 0; i < REGULARS; i++) {
        regulars[i] = (test_regular){.batch = batch, .seed = (unsigned)i};
        open_client(&regulars[i].client);
        regulars[i].client.asks_again = true;
        assert_int_equal(pthread_create(&regulars[i].thread, NULL, visit_often, &regulars[i]), 0);
    }
    for (int i = 0; i < REGULARS; i++) {
        pthread_join(regulars[i].thread, NULL);
        told += regulars[i].told;
        own += regulars[i].own;
        without += regulars[i].without;
    }
    batch_close(batch);
    for (int i = 0; i < REGULARS; i++)
        close_client(&regulars[i].client);
    print_message("%d told by the leader, %d by themselves, %d by none\n", told, own, without);
    assert_int_equal(told + own + without, REGULARS * VISITS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_sleeps_on_its_socket_is_told_by_the_leader),
        cmocka_unit_test(what_may_not_be_told_is_handed_back),
        cmocka_unit_test(who_is_asked_something_else_meanwhile_answers_itself),
        cmocka_unit_test(who_has_no_socket_to_sleep_on_is_woken),
        cmocka_unit_test(nobody_is_told_after_giving_up),
        cmocka_unit_test(who_is_being_told_can_not_give_up),
        cmocka_unit_test(who_has_left_is_not_told),
        cmocka_unit_test(a_dropped_round_is_over_for_who_waits_for_it),
        cmocka_unit_test(everybody_is_answered_once_whatever_the_deadline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
