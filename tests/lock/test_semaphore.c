/* Semaphores: how many permits are out at a time, who gets them in which order, and how many there
 * are. What one with a single permit does as every lock does is tested by test_kinds.c. */
#include "tests/lock/guests.h"

#include <sched.h>

#define NAME  "seats"
#define QUEUE "dlock:{seats}:queue"

typedef struct house {
    rig *r;
    dlock_client *other;
    dlock_lock *seats, *other_seats;
} house;

static house begin(void **state, int64_t permits)
{
    house h = {.r = *state};
    dlock_options options = {.kind = DLOCK_SEMAPHORE, .permits = permits};
    rig_ask(h.r, "DEL %s", "dlock:{seats}:permits");
    h.other = rig_client(&(dlock_client_options){.redis = h.r->redis});
    h.seats = rig_lock(h.r->client, NAME, options);
    h.other_seats = rig_lock(h.other, NAME, options);
    return h;
}

static void end(house *h)
{
    dlock_lock_free(h->seats);
    dlock_lock_free(h->other_seats);
    dlock_client_free(h->other);
    assert_int_equal(rig_ask(h->r, "EXISTS %s", NAME), 0);
    assert_int_equal(rig_ask(h->r, "EXISTS %s", QUEUE), 0);
}

static dlock_hold *take(dlock_lock *lock, int64_t permits)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.permits = permits}, &hold), DLOCK_OK);
    return hold;
}

static void check_busy(dlock_lock *lock, int64_t permits)
{
    dlock_hold *none;
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.permits = permits}, &none), DLOCK_BUSY);
}

/* ---- taking and giving back ------------------------------------------------------------------ */

static void no_more_are_taken_than_there_are(void **state)
{
    house h = begin(state, 5);
    dlock_hold *three = take(h.seats, 3), *one = take(h.other_seats, 0);
    check_busy(h.seats, 2);
    check_busy(h.other_seats, 2);
    check_busy(h.seats, 5);
    dlock_hold *last = take(h.seats, 1); /* the same thread's: each takes more */
    assert_ptr_not_equal(last, three);
    check_busy(h.seats, 1);
    assert_int_equal(dlock_release(three), DLOCK_OK);
    dlock_hold *two = take(h.other_seats, 2);
    check_busy(h.other_seats, 2);
    assert_int_equal(dlock_release(one), DLOCK_OK);
    assert_int_equal(dlock_release(two), DLOCK_OK);
    assert_int_equal(dlock_release(last), DLOCK_OK);
    dlock_hold *all = take(h.seats, 5);
    check_busy(h.other_seats, 1);
    assert_int_equal(dlock_release(all), DLOCK_OK);
    end(&h);
}

static void each_grant_has_a_fence_of_its_own(void **state)
{
    house h = begin(state, 3);
    uint64_t last = 0;
    dlock_hold *holds[3];
    for (int i = 0; i < 3; i++) {
        holds[i] = take(i == 1 ? h.other_seats : h.seats, 1);
        assert_true(dlock_fence(holds[i]) > last);
        last = dlock_fence(holds[i]);
    }
    for (int i = 0; i < 3; i++)
        assert_int_equal(dlock_release(holds[i]), DLOCK_OK);
    end(&h);
}

static void they_are_had_in_the_order_of_arrival(void **state)
{
    house h = begin(state, 4);
    guest many = {.wait.permits = 4}, few = {.wait.permits = 1}, two = {.wait.permits = 3};
    dlock_hold *first = take(h.seats, 2), *second = take(h.seats, 1);
    guest_queue(&many, h.other_seats, h.r, QUEUE, 1);
    guest_queue(&few, h.seats, h.r, QUEUE, 2); /* one is free, but not its turn */
    guest_queue(&two, h.other_seats, h.r, QUEUE, 3);
    check_busy(h.seats, 1);
    assert_int_equal(dlock_release(first), DLOCK_OK);
    check_busy(h.seats, 1);
    assert_false(many.in || few.in || two.in);
    assert_int_equal(dlock_release(second), DLOCK_OK);
    guest_until_in(&many);
    assert_false(few.in || two.in);
    assert_int_equal(guest_leave(&many), DLOCK_OK);
    guest_until_in(&few);
    guest_until_in(&two);
    assert_int_equal(guest_leave(&few), DLOCK_OK);
    assert_int_equal(guest_leave(&two), DLOCK_OK);
    end(&h);
}

static void a_dead_holders_permits_come_back(void **state)
{
    house h = begin(state, 3);
    dlock_options brief = {.kind = DLOCK_SEMAPHORE,
                           .permits = 3,
                           .lease_ms = fx_lease_ms(300),
                           .renew_ms = DLOCK_NEVER};
    dlock_lock *dies = rig_lock(h.other, NAME, brief);
    dlock_hold *dead = take(dies, 2), *alive = take(h.seats, 1);
    guest next = {.wait.permits = 2}, last = {.wait.permits = 1};
    guest_queue(&next, h.seats, h.r, QUEUE, 1);
    guest_queue(&last, h.other_seats, h.r, QUEUE, 2);
    guest_until_in(&next);
    assert_true(dlock_held(alive));
    assert_false(dlock_held(dead) || last.in);
    assert_int_equal(dlock_release(dead), DLOCK_EXPIRED); /* and gives back nothing more */
    check_busy(h.seats, 1);
    assert_int_equal(dlock_release(alive), DLOCK_OK);
    guest_until_in(&last);
    assert_int_equal(guest_leave(&next), DLOCK_OK);
    assert_int_equal(guest_leave(&last), DLOCK_OK);
    dlock_lock_free(dies);
    end(&h);
}

/* Who gives up makes room as one who gives back. */
static void one_who_wanted_many_gives_up(void **state)
{
    house h = begin(state, 3);
    guest many = {.wait = {.permits = 3, .cancel = dlock_cancel_new()}}, one = {0};
    dlock_hold *hold = take(h.seats, 1);
    guest_queue(&many, h.seats, h.r, QUEUE, 1);
    guest_queue(&one, h.other_seats, h.r, QUEUE, 2);
    dlock_cancel_now(many.wait.cancel);
    assert_int_equal(guest_leave(&many), DLOCK_CANCELLED);
    guest_until_in(&one);
    assert_int_equal(guest_leave(&one), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_cancel_free(many.wait.cancel);
    end(&h);
}

/* ---- how many there are ---------------------------------------------------------------------- */

static void more_permits_are_handed_on_at_once(void **state)
{
    house h = begin(state, 1);
    guest guests[3] = {0};
    dlock_hold *hold = take(h.seats, 1);
    for (int i = 0; i < 3; i++)
        guest_queue(&guests[i], i % 2 ? h.seats : h.other_seats, h.r, QUEUE, i + 1);
    assert_int_equal(dlock_semaphore_set(h.seats, 3), DLOCK_OK);
    guest_until_in(&guests[0]);
    guest_until_in(&guests[1]);
    assert_false(guests[2].in);
    assert_int_equal(dlock_semaphore_set(h.other_seats, 4), DLOCK_OK);
    guest_until_in(&guests[2]);
    for (int i = 0; i < 3; i++)
        assert_int_equal(guest_leave(&guests[i]), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    end(&h);
}

static void fewer_permits_than_are_held_let_nobody_in(void **state)
{
    house h = begin(state, 3);
    guest next = {0};
    dlock_hold *holds[3];
    for (int i = 0; i < 3; i++)
        holds[i] = take(h.seats, 1);
    assert_int_equal(dlock_semaphore_set(h.other_seats, 1), DLOCK_OK);
    guest_queue(&next, h.other_seats, h.r, QUEUE, 1);
    for (int i = 0; i < 3; i++) {
        assert_true(dlock_held(holds[i])); /* those that are held stay so */
        assert_false(next.in);
        assert_int_equal(dlock_release(holds[i]), DLOCK_OK);
    }
    guest_until_in(&next);
    check_busy(h.seats, 1);
    assert_int_equal(guest_leave(&next), DLOCK_OK);
    end(&h);
}

static void one_who_wants_more_than_there_are_is_passed_over(void **state)
{
    house h = begin(state, 2);
    guest giant = {.wait.permits = 5}, one = {0}, two = {.wait.permits = 2};
    dlock_hold *hold = take(h.seats, 2);
    guest_queue(&giant, h.seats, h.r, QUEUE, 1);
    guest_queue(&one, h.other_seats, h.r, QUEUE, 2);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    guest_until_in(&one);
    assert_false(giant.in);
    hold = take(h.seats, 1); /* nor does it stop one who tries once */
    guest_queue(&two, h.seats, h.r, QUEUE, 2);
    assert_int_equal(dlock_semaphore_set(h.seats, 5), DLOCK_OK);
    assert_int_equal(guest_leave(&one), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    guest_until_in(&giant); /* it has kept its place */
    assert_false(two.in);
    assert_int_equal(guest_leave(&giant), DLOCK_OK);
    guest_until_in(&two);
    assert_int_equal(guest_leave(&two), DLOCK_OK);
    end(&h);
}

static void the_number_is_what_redis_says(void **state)
{
    house h = begin(state, 2);
    dlock_options ten = {.kind = DLOCK_SEMAPHORE, .permits = 10};
    dlock_lock *thinks_ten = rig_lock(h.other, NAME, ten);
    dlock_hold *hold = take(h.seats, 1);
    assert_true(rig_ask(h.r, "PTTL %s", "dlock:{seats}:permits") > 86400000);
    check_busy(thinks_ten, 2);
    assert_int_equal(dlock_release(take(thinks_ten, 1)), DLOCK_OK);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    rig_ask(h.r, "DEL %s", "dlock:{seats}:permits"); /* as after a day without a use */
    assert_int_equal(dlock_release(take(thinks_ten, 10)), DLOCK_OK);
    check_busy(h.seats, 11);
    assert_int_equal(dlock_semaphore_set(h.seats, 0), DLOCK_OK);
    check_busy(thinks_ten, 1);
    dlock_lock_free(thinks_ten);
    end(&h);
}

/* Whoever waits knows a number, and sets it again; so it is with all keys and scripts. */
static void a_lost_number_is_set_again(void **state)
{
    static const char *const losses[] = {"PING", "SET dlock:{seats}:permits many",
                                         "HSET dlock:{seats}:permits f 1", "FLUSHALL"};
    house h = begin(state, 1);
    for (size_t i = 0; i < COUNT(losses); i++) {
        guest next = {0};
        dlock_hold *hold = take(h.seats, 1);
        guest_queue(&next, h.other_seats, h.r, QUEUE, 1);
        fx_redis_do(h.r->server, "SCRIPT FLUSH");
        fx_redis_do(h.r->server, "DEL dlock:{seats}:permits");
        fx_redis_do(h.r->server, losses[i]);
        dlock_release(hold);
        guest_until_in(&next);
        assert_int_equal(fx_redis_number(h.r->server, "GET dlock:{seats}:permits"), 1);
        assert_int_equal(guest_leave(&next), DLOCK_OK);
    }
    end(&h);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void wrong_numbers_are_refused(void **state)
{
    static const struct {
        dlock_options options;
        const char *says;
    } wrong[] = {
        {{.kind = DLOCK_SEMAPHORE}, "needs permits"},
        {{.kind = DLOCK_SEMAPHORE, .permits = -1}, "needs permits"},
        {{.kind = DLOCK_SEMAPHORE, .permits = 1000000001}, "1,000,000,000"},
        {{.kind = DLOCK_SEMAPHORE, .permits = 1, .cohort_max = 1}, "cohort_max"},
        {{.kind = DLOCK_READ, .cohort_max = 1}, "cohort_max"},
        {{.kind = DLOCK_READ, .permits = 1}, "SEMAPHORE only"},
        {{.kind = DLOCK_STRING, .permits = 1}, "SEMAPHORE only"},
        {{.kind = (dlock_kind)(DLOCK_SEMAPHORE + 1)}, "no such kind"},
    };
    house h = begin(state, 1000000000);
    dlock_lock *none;
    dlock_hold *hold;
    char err[256] = "";
    for (size_t i = 0; i < COUNT(wrong); i++) {
        assert_int_equal(
            dlock_lock_new(h.r->client, "no", &wrong[i].options, &none, err, sizeof(err)),
            DLOCK_INVALID);
        assert_non_null(strstr(err, wrong[i].says));
    }
    dlock_lock *fair = rig_lock(h.r->client, "fair", (dlock_options){.kind = DLOCK_FAIR});
    for (int64_t n = -1; n <= 1; n += 2)
        assert_int_equal(dlock_acquire(fair, &(dlock_wait){.permits = n}, &hold), DLOCK_INVALID);
    static const int64_t counts[] = {-1, 1000000001, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < COUNT(counts); i++) {
        dlock_wait wait = {.permits = counts[i]};
        assert_int_equal(dlock_acquire(h.seats, &wait, &hold), DLOCK_INVALID);
        assert_int_equal(dlock_semaphore_set(h.seats, counts[i]), DLOCK_INVALID);
    }
    assert_int_equal(dlock_semaphore_set(fair, 1), DLOCK_INVALID);
    assert_int_equal(dlock_release(take(h.seats, 1000000000)), DLOCK_OK);
    dlock_lock_free(fair);
    end(&h);
}

/* ---- many at once ---------------------------------------------------------------------------- */

enum { SEATS = 4, VISITORS = 8, VISITS = 60 };

typedef struct visitor {
    dlock_lock *lock;
    atomic_int *out, *most; /* permits that are out, as the holders themselves count */
    unsigned seed;
} visitor;

static void *visit_often(void *arg)
{
    visitor *v = arg;
    for (int i = 0; i < VISITS; i++) {
        dlock_wait wait = {.wait_ms = 60000, .permits = 1 + rand_r(&v->seed) % 3};
        dlock_hold *hold;
        assert_int_equal(dlock_acquire(v->lock, &wait, &hold), DLOCK_OK);
        int now = atomic_fetch_add(v->out, (int)wait.permits) + (int)wait.permits;
        int most = atomic_load(v->most);
        while (now > most && !atomic_compare_exchange_weak(v->most, &most, now)) {
        }
        sched_yield();
        atomic_fetch_sub(v->out, (int)wait.permits);
        assert_int_equal(dlock_release(hold), DLOCK_OK);
    }
    return NULL;
}

static void many_visitors_never_hold_too_many(void **state)
{
    house h = begin(state, SEATS);
    atomic_int out = 0, most = 0;
    visitor visitors[VISITORS];
    pthread_t threads[VISITORS];
    for (int i = 0; i < VISITORS; i++) {
        dlock_lock *lock = i % 2 ? h.seats : h.other_seats;
        visitors[i] = (visitor){lock, &out, &most, (unsigned)i + 1};
        pthread_create(&threads[i], NULL, visit_often, &visitors[i]);
    }
    for (int i = 0; i < VISITORS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(out, 0);
    assert_true(most <= SEATS);
    assert_true(most > 1); /* several were let in together */
    end(&h);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_more_are_taken_than_there_are),
        cmocka_unit_test(each_grant_has_a_fence_of_its_own),
        cmocka_unit_test(they_are_had_in_the_order_of_arrival),
        cmocka_unit_test(a_dead_holders_permits_come_back),
        cmocka_unit_test(one_who_wanted_many_gives_up),
        cmocka_unit_test(more_permits_are_handed_on_at_once),
        cmocka_unit_test(fewer_permits_than_are_held_let_nobody_in),
        cmocka_unit_test(one_who_wants_more_than_there_are_is_passed_over),
        cmocka_unit_test(the_number_is_what_redis_says),
        cmocka_unit_test(a_lost_number_is_set_again),
        cmocka_unit_test(wrong_numbers_are_refused),
        cmocka_unit_test(many_visitors_never_hold_too_many),
    };
    return cmocka_run_group_tests_name("semaphore", tests, rig_setup, rig_teardown);
}
