/*
 * reservations.c - what happens to reservations: confirmed at their end, met at their end by
 * everybody at once, and by an instance or a primary that dies while one is confirmed.
 *
 * Whoever ends one is a thread of its own, which repeats what it asked until the answer is known.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/failover.h"
#include "tests/chaos/faults/fault.h"

enum {
    LEASE_MS = 5000,
    PACE_MS = 2000, /* or all is sold before the fault is over */
    AIM_US = 5000,
    USER = 900000 /* and following: those of no buyer of the crew */
};

/* ---- who reserves, and ends it --------------------------------------------------------------- */

typedef struct ender {
    fx_sale *sale;
    char request[32];
    int user, at;
    const char *what; /* "confirm", "cancel", or "buy" for who reserves */
    int64_t due_us;   /* by the machine's clock, which is Redis's; 0 = now */
    int64_t went_us;
    fx_told first, told;  /* the first answer, and the one that is known */
    atomic_bool answered; /* the first */
    pthread_t thread;
} ender;

/* A request that no other has, of a user of its own, for instance `at`. */
static ender new_one(fx_sale *sale, const char *what, int at)
{
    static int number;
    ender e = {.sale = sale, .at = at % FX_INSTANCES, .what = what, .user = USER + ++number};
    snprintf(e.request, sizeof(e.request), "ended-%d", number);
    return e;
}

static fx_told attempt(const ender *e, int at)
{
    return strcmp(e->what, "buy") == 0 ? fx_sale_ask(e->sale, e->request, e->user, 1, at)
                                       : fx_sale_settle(e->sale, e->what, e->request, e->user, at);
}

static bool is_known(const fx_told *told)
{
    return told->status != 503 && !fx_is_unknown(told->status);
}

static bool comes_to_know(void *arg)
{
    ender *e = arg;
    e->at = crew_instance(e->at + 1);
    e->told = attempt(e, e->at);
    return is_known(&e->told);
}

static void *go(void *arg)
{
    ender *e = arg;
    for (int64_t left_us = e->due_us - journal_wall_us(); left_us > 0;
         left_us = e->due_us - journal_wall_us())
        fx_let_pass(left_us > 1000 ? (int)(left_us / 1000) : 1);
    e->went_us = journal_wall_us();
    e->first = e->told = attempt(e, e->at);
    atomic_store(&e->answered, true);
    if (!is_known(&e->told))
        fx_wait_until(comes_to_know, e, 2 * CELL_PATIENCE_MS);
    return NULL;
}

static void send_off(ender *e)
{
    atomic_store(&e->answered, false);
    assert_int_equal(pthread_create(&e->thread, NULL, go, e), 0);
}

/* Whether it came to know. */
static bool come_back(ender *e)
{
    pthread_join(e->thread, NULL);
    return is_known(&e->told);
}

/* Reserves at once. False: it was refused, as when all is sold or reserved. */
static bool reserve(ender *e)
{
    e->what = "buy";
    send_off(e);
    return come_back(e) && e->told.status == 201;
}

/* The one who is to end what `of` has reserved. */
static ender to_end(const ender *of, const char *what, int at)
{
    ender e = *of;
    e.what = what;
    e.at = at % FX_INSTANCES;
    e.due_us = 0;
    return e;
}

/* ---- late-confirm: within 5 ms of the end, at three instances ---------------------------------
 */

enum { ROUNDS = 8, TOGETHER = 4, ENDERS = TOGETHER * FX_INSTANCES };

/* How many confirmations went out within AIM_US of the end. All of one order are told the same. */
static int confirm_late(cell *c)
{
    ender orders[TOGETHER], all[ENDERS];
    int count = 0, aimed = 0;
    for (int i = 0; i < TOGETHER; i++) {
        orders[i] = new_one(crew_sale(0), "buy", i);
        if (!reserve(&orders[i]))
            continue;
        for (int at = 0; at < FX_INSTANCES; at++) {
            all[count] = to_end(&orders[i], "confirm", at);
            all[count++].due_us =
                orders[i].told.expires_us - AIM_US + (int64_t)cell_random(c, 2 * AIM_US);
        }
    }
    for (int i = 0; i < count; i++)
        send_off(&all[i]);
    for (int i = 0; i < count; i++) {
        bool known = come_back(&all[i]);
        aimed += llabs(all[i].went_us - all[i].due_us) <= AIM_US;
        int first = i - i % FX_INSTANCES;
        if (!known || all[i].told.status != all[first].told.status)
            fail_msg("%s: confirmed at once, and told %d and %d", all[i].request,
                     all[first].told.status, all[i].told.status);
    }
    return aimed;
}

static void late_confirm(cell *c)
{
    crew_pace(PACE_MS);
    for (int i = 0; i < ROUNDS; i++)
        cell_landed(c, confirm_late(c));
    cell_met(c, c->landed > 0);
}

const fault fault_late_confirm = {
    .name = "late-confirm",
    .says = "reservations are confirmed within 5 ms of their end, at three instances at once",
    .counts = "confirmations sent in that time",
    .reservations = RESERVED_ONLY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = late_confirm,
};

/* ---- double-expiry: all meet the same end ---------------------------------------------------- */

enum { SCARCE = 16, CROWD = 30, EXPIRIES = 6 };

/* Each bucket that has returned; fails when one has done so twice. */
static int buckets_returned(const fx_sale *s)
{
    char key[192];
    int count = 0;
    redisReply *moves =
        fx_redis_reply(fx.redis, "LRANGE %s 0 -1", fx_sale_key(s, 0, "moves", key, sizeof(key)));
    for (size_t i = 0; i < moves->elements; i++) {
        const char *one = moves->element[i]->str, *bucket = strchr(one, ' ');
        if (strncmp(one, "expired ", 8) != 0)
            continue;
        count++;
        for (size_t k = 0; k < i; k++)
            if (strncmp(one, moves->element[k]->str, 9 + strcspn(bucket + 1, " ")) == 0)
                fail_msg("a bucket has returned twice: %s, %s", moves->element[k]->str, one);
    }
    freeReplyObject(moves);
    return count;
}

/* All units are reserved; when they are over, more buyers than there are units come at once. */
static void expire_once(cell *c, fx_sale *scarce)
{
    static ender all[CROWD];
    int64_t end_us = 0;
    for (int i = 0; i < SCARCE; i++) {
        ender e = new_one(scarce, "buy", i);
        if (reserve(&e) && e.told.expires_us > end_us)
            end_us = e.told.expires_us;
    }
    for (int i = 0; i < CROWD; i++) {
        all[i] = new_one(scarce, "buy", i);
        all[i].due_us = end_us - AIM_US + (int64_t)cell_random(c, 2 * AIM_US);
        send_off(&all[i]);
    }
    int bought = 0;
    for (int i = 0; i < CROWD; i++) {
        come_back(&all[i]);
        bought += all[i].told.status == 201;
    }
    if (bought > SCARCE)
        fail_msg("%d units were reserved at a time, of %d", bought, SCARCE);
}

static bool is_free_again(void *sale)
{
    return fx_sale_look_at_stock(sale, 1) == 0;
}

static void double_expiry(cell *c)
{
    fx_sale *scarce = cell_start_one_more(c, SCARCE);
    crew_pace(PACE_MS);
    for (int i = 0; i < EXPIRIES; i++) {
        expire_once(c, scarce);
        cell_met(c, fx_wait_until(is_free_again, scarce, CELL_PATIENCE_MS));
    }
    cell_landed(c, buckets_returned(scarce));
}

const fault fault_double_expiry = {
    .name = "double-expiry",
    .says = "when all units' reservations end, buyers come to all instances at that moment",
    .counts = "ends that were met so, and buckets that returned",
    .buyers = CROWD,
    .reservations = RESERVED_ONLY,
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .inject = double_expiry,
};

/* ---- kill-between: an instance dies between the reservation and its end, or within -------------
 */

enum { KILLS = 2, KILLED_PACE_MS = 700, KILLED_LEASE_MS = 2000 };

/* Instance `at` has reserved, and dies before the confirmation comes, which another hears. */
static bool dies_in_between(cell *c, int at)
{
    ender order = new_one(crew_sale(0), "buy", at);
    bool reserved = reserve(&order);
    cell_kill_instance(c, at);
    ender last = to_end(&order, "confirm", at + 1);
    send_off(&last);
    bool known = come_back(&last);
    cell_start_instance(c, at);
    return reserved && known;
}

/* It dies while it confirms or cancels, before or behind its write. Then another is asked the same.
 */
static bool dies_within(cell *c, int at, const char *what, const char *point)
{
    ender order = new_one(crew_sale(0), "buy", at + 1);
    crew_pause();
    bool reserved = reserve(&order);
    cell_arm(c, at, point);
    ender last = to_end(&order, what, at);
    send_off(&last);
    bool reached = cell_reached(c, at, point, CELL_PATIENCE_MS);
    cell_kill_instance(c, at);
    bool known = come_back(&last);
    cell_start_instance(c, at);
    crew_go_on();
    return reserved && reached && known && fx_is_unknown(last.first.status);
}

static void kill_between(cell *c)
{
    static const char *const points[] = {"locked", "in-section", "written"};
    crew_pace(KILLED_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < KILLS; i++)
        cell_met(c, dies_in_between(c, (int)cell_random(c, FX_INSTANCES)));
    for (int i = row_is_locked(&c->row) ? 0 : 1; i < 3; i++) {
        cell_met(c, dies_within(c, (int)cell_random(c, FX_INSTANCES), "confirm", points[i]));
        cell_met(c, dies_within(c, (int)cell_random(c, FX_INSTANCES), "cancel", points[i]));
    }
    cell_healed(c);
}

const fault fault_kill_between = {
    .name = "kill-between",
    .says = "an instance is killed between a reservation and its end, and while it ends one",
    .counts = "instances killed so, and another one told what became of it",
    .needs = NEEDS_FAIL_POINTS,
    .reservations = RESERVED_ONLY,
    .reserve_s = 20,
    .lease_ms = KILLED_LEASE_MS,
    .covered = EVERYWHERE,
    .inject = kill_between,
};

/* ---- confirm-at-failover: the primary dies with a confirmation that no replica has ------------
 */

enum { KEPT = 8, LET_GO_MS = 25000 /* as in failover.c */ };

static bool is_told(void *arg)
{
    return atomic_load(&((ender *)arg)->answered);
}

/* What the primary of now has of the order is this. */
typedef struct wanted {
    const ender *of;
    const char *state;
} wanted;

static bool is_written(void *arg)
{
    const wanted *w = arg;
    char key[192], record[256] = "";
    fx_redis_text(fx.redis, record, sizeof(record), "HGET %s %s",
                  fx_sale_key(w->of->sale, 0, "orders", key, sizeof(key)), w->of->request);
    return strstr(record, w->state) != NULL;
}

/* One is confirmed on the primary alone. Its buyer is not told so. */
static bool confirm_alone(cell *c, ender *last)
{
    cell_arm(c, last->at, "in-section");
    send_off(last);
    bool inside = cell_reached(c, last->at, "in-section", CELL_PATIENCE_MS);
    failover_cut_replicas_off(fx_redis_topology(fx.redis));
    cell_let_go(c, last->at, "in-section");
    return inside && fx_wait_until(is_written, &(wanted){last, " confirmed "}, CELL_PATIENCE_MS) &&
           !is_told(last);
}

static void confirm_at_failover(cell *c)
{
    ender orders[KEPT], all[KEPT];
    fx_topology *t = fx_redis_topology(fx.redis);
    crew_pace(PACE_MS);
    crew_pause();
    bool reserved = true;
    for (int i = 0; i < KEPT; i++) {
        orders[i] = new_one(crew_sale(0), "buy", i);
        reserved = reserve(&orders[i]) && reserved;
        all[i] = to_end(&orders[i], i % 2 ? "cancel" : "confirm", i);
    }
    send_off(&all[1]); /* told before it, and never undone */
    bool known = come_back(&all[1]);
    cell_begin_fault(c);
    cell_met(c, confirm_alone(c, &all[0]));
    failover_kill_primary(t);
    bool undone = is_written(&(wanted){&all[0], " reserved "});
    for (int i = 2; i < KEPT; i++)
        send_off(&all[i]);
    crew_go_on();
    for (int i = 0; i < KEPT; i++)
        known = (i == 1 || come_back(&all[i])) && known;
    fx_topology_settle(t, CELL_PATIENCE_MS);
    cell_healed(c);
    cell_met(c, reserved && known);
    cell_met(c, undone);
}

const fault fault_confirm_at_failover = {
    .name = "confirm-at-failover",
    .says = "the primary dies with a confirmation that its replicas do not have; all goes on",
    .counts = "steps that came about: it was written there alone, was undone, and all are known",
    .needs = NEEDS_SENTINEL | NEEDS_FAIL_POINTS,
    .reservations = RESERVED_ONLY,
    .reserve_s = 40,
    .lease_ms = 2000,
    .recovery_ms = LET_GO_MS,
    .covered = ON_REPLICAS,
    .cover = "durability=replicated",
    .inject = confirm_at_failover,
};
