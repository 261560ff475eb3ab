/* Read/write locks: who shares the lock, in which order, and the way from writing to reading.
 * What they do as every lock does is tested by test_kinds.c. */
#include "tests/lock/guests.h"
#include "tests/support/proxy.h"

#include <poll.h>

#define NAME  "book"
#define QUEUE "dlock:{book}:queue"

/* The two sides in two processes: each client is one to Redis. */
typedef struct sides {
    rig *r;
    dlock_client *other;
    dlock_lock *read, *write;             /* this client's */
    dlock_lock *other_read, *other_write; /* the other one's */
} sides;

static sides begin(void **state)
{
    sides s = {.r = *state};
    s.other = rig_client(&(dlock_client_options){.redis = s.r->redis});
    s.read = rig_lock(s.r->client, NAME, (dlock_options){.kind = DLOCK_READ});
    s.write = rig_lock(s.r->client, NAME, (dlock_options){.kind = DLOCK_WRITE});
    s.other_read = rig_lock(s.other, NAME, (dlock_options){.kind = DLOCK_READ});
    s.other_write = rig_lock(s.other, NAME, (dlock_options){.kind = DLOCK_WRITE});
    return s;
}

static void end(sides *s)
{
    dlock_lock_free(s->read);
    dlock_lock_free(s->write);
    dlock_lock_free(s->other_read);
    dlock_lock_free(s->other_write);
    dlock_client_free(s->other);
    assert_int_equal(rig_ask(s->r, "EXISTS %s", NAME), 0);
    assert_int_equal(rig_ask(s->r, "EXISTS %s", QUEUE), 0);
}

/* Who tries once; and another one. */
static const dlock_wait stranger = {.context = 98}, guest_reader = {.context = 99};

static void check_busy(dlock_lock *lock)
{
    dlock_hold *none;
    assert_int_equal(dlock_acquire(lock, &stranger, &none), DLOCK_BUSY);
}

static dlock_hold *take(dlock_lock *lock)
{
    dlock_hold *hold = NULL;
    assert_int_equal(dlock_acquire(lock, &(dlock_wait){.wait_ms = GUEST_SOON_MS}, &hold), DLOCK_OK);
    return hold;
}

/* ---- who is let in --------------------------------------------------------------------------- */

static void readers_read_together_and_writers_write_alone(void **state)
{
    sides s = begin(state);
    dlock_hold *first = take(s.read), *second = NULL;
    assert_int_equal(dlock_acquire(s.other_read, &guest_reader, &second), DLOCK_OK);
    check_busy(s.write);
    check_busy(s.other_write);
    assert_int_equal(dlock_release(first), DLOCK_OK);
    check_busy(s.write);
    assert_int_equal(dlock_release(second), DLOCK_OK);
    dlock_hold *writer = take(s.write);
    check_busy(s.read);
    check_busy(s.other_read);
    check_busy(s.other_write);
    assert_int_equal(dlock_release(writer), DLOCK_OK);
    end(&s);
}

static void a_waiting_writer_stops_later_readers(void **state)
{
    sides s = begin(state);
    guest writer = {0}, late = {0};
    dlock_hold *reader = take(s.read);
    guest_queue(&writer, s.other_write, s.r, QUEUE, 1);
    check_busy(s.read);
    check_busy(s.other_read);
    guest_queue(&late, s.read, s.r, QUEUE, 2);
    assert_int_equal(dlock_release(reader), DLOCK_OK);
    guest_until_in(&writer);
    assert_false(late.in);
    assert_int_equal(guest_leave(&writer), DLOCK_OK);
    guest_until_in(&late);
    assert_int_equal(guest_leave(&late), DLOCK_OK);
    assert_true(late.fence == writer.fence);
    end(&s);
}

static void readers_between_two_writers_come_in_together(void **state)
{
    sides s = begin(state);
    guest readers[3] = {0}, writer = {0}, last = {0};
    dlock_lock *const of[3] = {s.read, s.other_read, s.read};
    dlock_hold *first = take(s.write);
    for (int i = 0; i < 3; i++)
        guest_queue(&readers[i], of[i], s.r, QUEUE, i + 1);
    guest_queue(&writer, s.write, s.r, QUEUE, 4);
    guest_queue(&last, s.other_read, s.r, QUEUE, 5);
    assert_int_equal(dlock_release(first), DLOCK_OK);
    for (int i = 0; i < 3; i++)
        guest_until_in(&readers[i]); /* all, although none has gone yet */
    for (int i = 0; i < 3; i++) {
        assert_false(writer.in || last.in);
        assert_int_equal(guest_leave(&readers[i]), DLOCK_OK);
    }
    guest_until_in(&writer);
    assert_false(last.in);
    assert_int_equal(guest_leave(&writer), DLOCK_OK);
    guest_until_in(&last);
    assert_int_equal(guest_leave(&last), DLOCK_OK);
    end(&s);
}

/* More than are let in by one script: each lets in another. */
static void a_crowd_of_readers_comes_in_together(void **state)
{
    enum { CROWD = 100 };
    static guest readers[CROWD];
    sides s = begin(state);
    dlock_hold *writer = take(s.write);
    for (int i = 0; i < CROWD; i++)
        guest_queue(&readers[i], i % 2 ? s.read : s.other_read, s.r, QUEUE, i + 1);
    assert_int_equal(dlock_release(writer), DLOCK_OK);
    for (int i = 0; i < CROWD; i++)
        guest_until_in(&readers[i]);
    assert_int_equal(rig_ask(s.r, "ZCARD %s", NAME), CROWD);
    for (int i = 0; i < CROWD; i++)
        assert_int_equal(guest_leave(&readers[i]), DLOCK_OK);
    end(&s);
}

/* Who gives up makes room as one who goes. */
static void a_writer_that_gives_up_lets_in_those_behind_it(void **state)
{
    sides s = begin(state);
    guest writer = {.wait.cancel = dlock_cancel_new()}, behind = {0};
    dlock_hold *reader = take(s.read);
    guest_queue(&writer, s.write, s.r, QUEUE, 1);
    guest_queue(&behind, s.other_read, s.r, QUEUE, 2);
    dlock_cancel_now(writer.wait.cancel);
    assert_int_equal(guest_leave(&writer), DLOCK_CANCELLED);
    guest_until_in(&behind);
    assert_true(dlock_held(reader));
    assert_int_equal(guest_leave(&behind), DLOCK_OK);
    assert_int_equal(dlock_release(reader), DLOCK_OK);
    dlock_cancel_free(writer.wait.cancel);
    end(&s);
}

static void a_dead_readers_share_ends_with_its_lease(void **state)
{
    sides s = begin(state);
    dlock_options brief = {
        .kind = DLOCK_READ, .lease_ms = fx_lease_ms(300), .renew_ms = DLOCK_NEVER};
    dlock_lock *dies = rig_lock(s.other, NAME, brief);
    dlock_hold *dead = take(dies), *alive = take(s.read);
    guest writer = {0};
    guest_queue(&writer, s.other_write, s.r, QUEUE, 1);
    struct pollfd lost = {.fd = dlock_lost_fd(dead), .events = POLLIN};
    assert_int_equal(poll(&lost, 1, GUEST_SOON_MS), 1);
    assert_true(dlock_held(alive));
    assert_false(writer.in);
    assert_int_equal(dlock_release(alive), DLOCK_OK);
    guest_until_in(&writer);
    assert_int_equal(guest_leave(&writer), DLOCK_OK);
    assert_int_equal(dlock_release(dead), DLOCK_EXPIRED);
    dlock_lock_free(dies);
    end(&s);
}

/* All that Redis knew is gone, and the scripts too: who waits is queued again. */
static void waiters_survive_the_loss_of_every_key(void **state)
{
    sides s = begin(state);
    guest writer = {0}, reader = {0};
    dlock_hold *lost = take(s.write);
    guest_queue(&writer, s.other_write, s.r, QUEUE, 1);
    guest_queue(&reader, s.read, s.r, QUEUE, 2);
    fx_redis_do(s.r->server, "SCRIPT FLUSH");
    fx_redis_do(s.r->server, "FLUSHALL");
    while (!writer.in && !reader.in)
        fx_let_pass(1);
    assert_false(writer.in && reader.in);
    guest *first = writer.in ? &writer : &reader, *second = writer.in ? &reader : &writer;
    assert_int_equal(guest_leave(first), DLOCK_OK);
    guest_until_in(second);
    assert_int_equal(guest_leave(second), DLOCK_OK);
    assert_int_not_equal(dlock_release(lost), DLOCK_OK);
    end(&s);
}

/* ---- contexts and fences --------------------------------------------------------------------- */

static void who_writes_may_read_and_who_reads_may_not_write(void **state)
{
    sides s = begin(state);
    dlock_hold *reader = take(s.read), *again = take(s.read), *none;
    assert_ptr_equal(reader, again);
    const dlock_wait long_wait = {.wait_ms = DLOCK_FOREVER};
    assert_int_equal(dlock_acquire(s.write, &long_wait, &none), DLOCK_INVALID);
    assert_int_equal(rig_ask(s.r, "EXISTS %s", QUEUE), 0);
    assert_int_equal(dlock_release(again), DLOCK_OK);
    assert_int_equal(dlock_release(reader), DLOCK_OK);

    dlock_hold *writer = take(s.write), *reads = take(s.read), *writes = take(s.write);
    assert_ptr_equal(writer, reads);
    assert_ptr_equal(writer, writes);
    check_busy(s.read);
    for (int i = 0; i < 3; i++)
        assert_int_equal(dlock_release(writer), DLOCK_OK);
    end(&s);
}

/* A hold whose time is over blocks nobody. */
static void who_has_lost_its_read_hold_may_write(void **state)
{
    sides s = begin(state);
    dlock_options brief = {
        .kind = DLOCK_READ, .lease_ms = fx_lease_ms(100), .renew_ms = DLOCK_NEVER};
    dlock_lock *read = rig_lock(s.r->client, NAME, brief);
    dlock_hold *lost = take(read);
    struct pollfd p = {.fd = dlock_lost_fd(lost), .events = POLLIN};
    assert_int_equal(poll(&p, 1, GUEST_SOON_MS), 1);
    dlock_hold *writer = take(s.write);
    assert_int_equal(dlock_release(lost), DLOCK_EXPIRED);
    assert_int_equal(dlock_release(writer), DLOCK_OK);
    dlock_lock_free(read);
    end(&s);
}

/* Whether it waits or not. */
static void refuses(rig *r, dlock_lock *lock, const char *in_use_as)
{
    const dlock_wait waits[] = {{0}, {.wait_ms = 2000}};
    for (size_t i = 0; i < COUNT(waits); i++) {
        dlock_hold *none;
        char why[256];
        assert_int_equal(dlock_acquire(lock, &waits[i], &none), DLOCK_FAILED);
        dlock_last_error(r->client, why, sizeof(why));
        if (!strstr(why, "WRONGKIND") || !strstr(why, in_use_as))
            fail_msg("not \"%s\": %s", in_use_as, why);
    }
}

/* Locks of other kinds are refused by the name's holder, and are not re-entered. */
static void other_kinds_of_the_name_are_no_re_entry(void **state)
{
    sides s = begin(state);
    static const dlock_kind others[] = {DLOCK_STRING, DLOCK_HASH, DLOCK_FAIR};
    for (size_t i = 0; i < COUNT(others); i++) {
        dlock_lock *other = rig_lock(s.r->client, NAME, (dlock_options){.kind = others[i]});
        dlock_hold *hold = take(other);
        refuses(s.r, s.read, others[i] == DLOCK_HASH ? "kind HASH" : "kind STRING or FAIR");
        refuses(s.r, s.write, others[i] == DLOCK_HASH ? "kind HASH" : "kind STRING or FAIR");
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        hold = take(s.read);
        refuses(s.r, other, "a read/write lock");
        assert_int_equal(dlock_release(hold), DLOCK_OK);
        dlock_lock_free(other);
    }
    end(&s);
}

static uint64_t fence_of(dlock_lock *lock)
{
    dlock_hold *hold = take(lock);
    uint64_t fence = dlock_fence(hold);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    return fence;
}

static void only_writers_issue_fences(void **state)
{
    sides s = begin(state);
    rig_ask(s.r, "DEL %s", "dlock:{book}:fence");
    assert_int_equal(fence_of(s.read), 0);
    uint64_t first = fence_of(s.write);
    assert_true(first > 0);
    assert_int_equal(fence_of(s.read), first);
    assert_int_equal(fence_of(s.other_read), first);
    uint64_t second = fence_of(s.other_write);
    assert_true(second > first);
    assert_int_equal(fence_of(s.read), second);
    end(&s);
}

/* ---- downgrade ------------------------------------------------------------------------------- */

static void a_downgrade_lets_in_readers_and_no_writer(void **state)
{
    sides s = begin(state);
    guest beside = {0}, writer = {0}, last = {0};
    dlock_hold *hold = take(s.write), *reads, *none;
    uint64_t fence = dlock_fence(hold);
    guest_queue(&beside, s.other_read, s.r, QUEUE, 1);
    guest_queue(&writer, s.other_write, s.r, QUEUE, 2);
    guest_queue(&last, s.read, s.r, QUEUE, 3);
    assert_int_equal(dlock_downgrade(hold, s.read, &reads), DLOCK_OK);
    assert_true(dlock_held(reads));
    assert_true(dlock_validity_ms(reads) > 5000);
    assert_true(dlock_fence(reads) == fence);
    guest_until_in(&beside);
    assert_true(beside.fence == fence);
    assert_int_equal(guest_leave(&beside), DLOCK_OK);
    assert_false(writer.in || last.in);
    assert_int_equal(dlock_acquire(s.write, NULL, &none), DLOCK_INVALID); /* it reads now */
    assert_ptr_equal(take(s.read), reads);
    assert_int_equal(dlock_release(reads), DLOCK_OK);
    assert_int_equal(dlock_release(reads), DLOCK_OK);
    guest_until_in(&writer);
    assert_true(writer.fence > fence);
    assert_false(last.in);
    assert_int_equal(guest_leave(&writer), DLOCK_OK);
    guest_until_in(&last);
    assert_int_equal(guest_leave(&last), DLOCK_OK);
    end(&s);
}

static void a_downgrade_of_something_else_is_refused(void **state)
{
    sides s = begin(state);
    dlock_lock *elsewhere = rig_lock(s.r->client, "else", (dlock_options){.kind = DLOCK_READ});
    dlock_hold *hold = take(s.write), *none;
    dlock_lock *const wrong[] = {elsewhere, s.other_read, s.write};
    for (size_t i = 0; i < COUNT(wrong); i++)
        assert_int_equal(dlock_downgrade(hold, wrong[i], &none), DLOCK_INVALID);
    assert_ptr_equal(take(s.write), hold);
    assert_int_equal(dlock_downgrade(hold, s.read, &none), DLOCK_INVALID); /* re-entered */
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    assert_true(dlock_held(hold));
    check_busy(s.read);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    hold = take(s.read);
    assert_int_equal(dlock_downgrade(hold, s.read, &none), DLOCK_INVALID);
    assert_int_equal(dlock_release(hold), DLOCK_OK);
    dlock_lock_free(elsewhere);
    end(&s);
}

static void a_downgrade_that_comes_too_late_gives_nothing(void **state)
{
    sides s = begin(state);
    dlock_options brief = {
        .kind = DLOCK_WRITE, .lease_ms = fx_lease_ms(100), .renew_ms = DLOCK_NEVER};
    dlock_lock *write = rig_lock(s.r->client, NAME, brief);
    dlock_hold *hold = take(write), *none;
    struct pollfd p = {.fd = dlock_lost_fd(hold), .events = POLLIN};
    assert_int_equal(poll(&p, 1, GUEST_SOON_MS), 1);
    assert_int_equal(dlock_downgrade(hold, s.read, &none), DLOCK_EXPIRED);
    hold = take(s.write); /* what it is taken from without its knowing */
    rig_ask(s.r, "DEL %s", NAME);
    assert_int_equal(dlock_downgrade(hold, s.read, &none), DLOCK_EXPIRED);
    hold = take(s.write);
    rig_ask(s.r, "DEL %s", NAME);
    dlock_hold *another = take(s.other_write);
    assert_int_equal(dlock_downgrade(hold, s.read, &none), DLOCK_NOT_OWNER);
    assert_true(dlock_held(another));
    assert_int_equal(dlock_release(another), DLOCK_OK);
    dlock_lock_free(write);
    end(&s);
}

/* Each for a reason of its own: the request never arrives, the reply is lost. Nobody is kept out
 * until the lease ends, which is a minute away. */
static void a_downgrade_without_an_answer_is_given_back(void **state)
{
    fx_only_single("a fault proxy stands before it");
    static const char *const faults[] = {"drop request 1 match *w", "drop reply 1"};
    sides s = begin(state);
    fx_proxy *proxy = fx_proxy_start(fx_redis_url(s.r->server));
    dlock_redis *redis = rig_redis(fx_proxy_url(proxy));
    dlock_client *client = rig_client(&(dlock_client_options){.redis = redis, .io_ms = 300});
    dlock_options longer = {.kind = DLOCK_WRITE, .lease_ms = 60000};
    dlock_lock *write = rig_lock(client, NAME, longer);
    longer.kind = DLOCK_READ;
    dlock_lock *read = rig_lock(client, NAME, longer);
    for (size_t i = 0; i < COUNT(faults); i++) {
        dlock_hold *hold = take(write), *reads = NULL;
        assert_int_equal(dlock_downgrade(hold, read, &reads), DLOCK_OK); /* the script is known */
        assert_int_equal(dlock_release(reads), DLOCK_OK);
        hold = take(write);
        fx_proxy_say(proxy, "%s", faults[i]);
        assert_int_equal(dlock_downgrade(hold, read, &reads), DLOCK_UNKNOWN);
        fx_proxy_say(proxy, "heal");
        assert_int_equal(dlock_release(take(s.other_write)), DLOCK_OK);
    }
    dlock_lock_free(write);
    dlock_lock_free(read);
    dlock_client_free(client);
    dlock_redis_close(redis);
    fx_proxy_stop(proxy);
    end(&s);
}

/* It needs no more memory than the write hold had. */
static void a_downgrade_needs_no_memory(void **state)
{
    sides s = begin(state);
    dlock_hold *hold = take(s.write), *reads = NULL;
    fx_redis_do(s.r->server, "CONFIG SET maxmemory 1");
    dlock_status status = dlock_downgrade(hold, s.read, &reads);
    fx_redis_do(s.r->server, "CONFIG SET maxmemory 0");
    assert_int_equal(status, DLOCK_OK);
    assert_int_equal(dlock_release(reads), DLOCK_OK);
    end(&s);
}

/* Nobody of the cohort gets the grant that is exchanged; they ask Redis, and wait there. */
static void a_downgrade_passes_its_cohort_nothing(void **state)
{
    sides s = begin(state);
    dlock_options together = {.kind = DLOCK_WRITE, .cohort_max = 8, .cohort_ms = 10000};
    dlock_lock *write = rig_lock(s.r->client, NAME, together);
    dlock_hold *hold = take(write), *reads;
    guest next = {0};
    dlock_stats stats;
    guest_come(&next, write);
    do
        dlock_client_stats(s.r->client, &stats);
    while (stats.waiting_now == 0);
    fx_let_pass(20); /* it may be in line by now, or not: both must go well */
    assert_int_equal(dlock_downgrade(hold, s.read, &reads), DLOCK_OK);
    dlock_time give_up = dlock_in_ms(GUEST_SOON_MS);
    while (rig_ask(s.r, "LLEN %s", QUEUE) == 0 && !dlock_passed(give_up))
        fx_let_pass(1);
    assert_false(next.in);
    check_busy(s.other_read);
    assert_int_equal(dlock_release(reads), DLOCK_OK);
    guest_until_in(&next);
    assert_int_equal(guest_leave(&next), DLOCK_OK);
    dlock_lock_free(write);
    end(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_read_together_and_writers_write_alone),
        cmocka_unit_test(a_waiting_writer_stops_later_readers),
        cmocka_unit_test(readers_between_two_writers_come_in_together),
        cmocka_unit_test(a_crowd_of_readers_comes_in_together),
        cmocka_unit_test(a_writer_that_gives_up_lets_in_those_behind_it),
        cmocka_unit_test(a_dead_readers_share_ends_with_its_lease),
        cmocka_unit_test(waiters_survive_the_loss_of_every_key),
        cmocka_unit_test(who_writes_may_read_and_who_reads_may_not_write),
        cmocka_unit_test(who_has_lost_its_read_hold_may_write),
        cmocka_unit_test(other_kinds_of_the_name_are_no_re_entry),
        cmocka_unit_test(only_writers_issue_fences),
        cmocka_unit_test(a_downgrade_lets_in_readers_and_no_writer),
        cmocka_unit_test(a_downgrade_of_something_else_is_refused),
        cmocka_unit_test(a_downgrade_that_comes_too_late_gives_nothing),
        cmocka_unit_test(a_downgrade_without_an_answer_is_given_back),
        cmocka_unit_test(a_downgrade_needs_no_memory),
        cmocka_unit_test(a_downgrade_passes_its_cohort_nothing),
    };
    return cmocka_run_group_tests_name("read_write", tests, rig_setup, rig_teardown);
}
