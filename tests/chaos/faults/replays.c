/*
 * replays.c - the guard is attacked hundreds of times: each write of the service comes again, with
 * one thing wrong.
 *
 * A defect that shows in one of fifty attempts is not found by five of them. So each round buys
 * once, as any buyer does, and overhears the write (writes.h). The grant before is then really
 * overtaken, by a later one of an instance's; what else may be wrong is made wrong for the length
 * of a transaction. Whatever came again has to be refused in the right words, and to leave stock,
 * ledger and lock as they were. What was let through is counted (cell_got_through()), whether or
 * not its order is seen at rest, where nobody has asked for it.
 *
 * Now and then a write comes with nothing wrong, and must sell: who refuses everything refuses no
 * attack.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/store/epochs.h"
#include "server/store/reservations.h"
#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/writes.h"
#include "tests/support/hash.h"

enum {
    LEASE_MS = 5000,
    STOCK = 6000, /* a sharded sale's buyers all come to its first segment */
    LIMIT = 5,
    ROUNDS = 250,
    SOUND_EVERY = 10, /* rounds */
    BEYOND = 10,      /* buyers of a batch who want more than the limit */
    SCARCE = 12,
    SCARCE_LEFT = 2,
    SCARCE_SHOTS = 150,
    USER = 700000, /* and following: those of no buyer of the crew */
    NAME_MAX_LEN = 72,
    ORDER_MAX = 32
};

typedef struct name {
    char request[NAME_MAX_LEN], order[ORDER_MAX];
    int user;
} name;

typedef struct attacker {
    cell *c;
    overheard now, before; /* the write of this round, and of the one before */
    name bought[ROUNDS + 1];
    int due; /* the first round whose reservation is not over yet, as far as was looked */
    int attacks;
} attacker;

#define RESERVED " reserved " /* in an order's record, before the bucket in which it ends */

/* A request that no other has, of a user of its own. It has as many characters as there may be, and
 * differs from the one before in the last ones. A sharded sale sells it in its first segment. */
static name new_name(const cell *c)
{
    static int number;
    name n = {.user = USER + ++number};
    do
        snprintf(n.request, sizeof(n.request), "r-%0*d", IDENT_MAX - 2, number);
    while (row_is_sharded(&c->row) && fx_hash(n.request) % CELL_SEGMENTS != 0 && ++number);
    snprintf(n.order, sizeof(n.order), "u%d 1", n.user);
    return n;
}

typedef struct question {
    fx_sale *sale;
    const name *of;
    int at, status;
} question;

/* Asks again after whatever is not known, as a buyer does. */
static bool is_known(void *arg)
{
    question *q = arg;
    q->status = fx_sale_ask(q->sale, q->of->request, q->of->user, 1, q->at).status;
    return q->status != 503 && !fx_is_unknown(q->status);
}

static int ask(fx_sale *sale, const name *of, int at)
{
    question q = {sale, of, at, 0};
    if (!fx_wait_until(is_known, &q, CELL_PATIENCE_MS))
        fail_msg("%s was told %d at last", of->request, q.status);
    return q.status;
}

/* ---- one attack ------------------------------------------------------------------------------ */

static bool begins_with(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Fires. Each buyer must be told `wanted`, and nothing may have changed. */
static void attack(attacker *a, shot *s, const char *what, const char *wanted)
{
    writes_fire(s);
    bool refused = !s->robbed || !s->of->locked || strcmp(wanted, "stale") != 0;
    for (int i = 0; i < s->buyers; i++)
        refused = refused && begins_with(s->answers[i], wanted);
    refused = refused && (!s->changed || a->c->row.reserves); /* where units may return just now */
    a->attacks++;
    if (!refused)
        cell_got_through(a->c, "%s: told %.40s, not %s%s%s", what, s->answers[0], wanted,
                         s->changed ? "; units or orders changed" : "",
                         s->robbed ? "; the lock changed" : "");
}

/* As this round's write, but of somebody new. */
static void aim_anew(const attacker *a, shot *s, name *n)
{
    *n = new_name(a->c);
    writes_aim(s, &a->now);
    writes_of(s, (const char *const[]){n->request}, (const char *const[]){n->order}, 1);
}

/* ---- the lock -------------------------------------------------------------------------------- */

/* The holder before was overtaken. Its lock seems to be its own again; or is gone; or is the new
 * holder's. */
static void of_an_older_fence(attacker *a)
{
    shot s;
    if (a->before.count == 0)
        return;
    assert_string_not_equal(writes_fence(&a->before), writes_fence(&a->now));
    const char *owners[] = {writes_token(&a->before), NULL, writes_token(&a->now)};
    for (int i = 0; i < 3; i++) {
        name n = new_name(a->c);
        writes_aim(&s, &a->before);
        writes_of(&s, (const char *const[]){n.request}, (const char *const[]){n.order}, 1);
        s.owner = owners[i];
        attack(a, &s, "an older fence", "stale");
    }
}

/* Its fence is the last, and the lock is a stranger's, or nobody's; or the fence was issued to one.
 */
static void of_another_owner(attacker *a)
{
    shot s;
    name n;
    char issued[128], stranger[96];
    aim_anew(a, &s, &n);
    snprintf(stranger, sizeof(stranger), "%sx", writes_token(&a->now));
    s.owner = stranger;
    attack(a, &s, "another owner", "stale");
    aim_anew(a, &s, &n);
    snprintf(issued, sizeof(issued), "%s s %s", writes_fence(&a->now), stranger);
    s.key = writes_fence_key(&a->now);
    s.value = issued;
    attack(a, &s, "a fence that was issued to another", "stale");
    aim_anew(a, &s, &n);
    s.owner = NULL;
    attack(a, &s, "a lock that has ended", "stale");
}

/* ---- the time, the sale, the ledger ---------------------------------------------------------- */

/* By a microsecond, or by up to two seconds. */
static void too_late(attacker *a)
{
    shot s;
    name n;
    int by = cell_random(a->c, 2) ? 1 : 1 + (int)cell_random(a->c, 2000000);
    aim_anew(a, &s, &n);
    snprintf(s.not_after, sizeof(s.not_after), "%lld", (long long)writes_now_us() - by);
    attack(a, &s, "a write behind its time", "late");
}

/* It is halted; or a later sale has taken its place. Who does that sees to it that what is left of
 * the one before expires, its moves too: not done here, so where units may be reserved it is only
 * halted. */
static void of_another_sale(attacker *a)
{
    shot s;
    name n;
    char other[96];
    const char *sale = a->now.words[a->now.args + W_SALE];
    for (int halted = 1; halted >= (a->c->row.reserves ? 1 : 0); halted--) {
        aim_anew(a, &s, &n);
        snprintf(other, sizeof(other), halted ? "%s halted" : "f%s", sale + (halted ? 0 : 1));
        s.key = writes_key(&a->now, W_POINTER);
        s.value = other;
        attack(a, &s, halted ? "a halted sale" : "a sale that another has ended", "closed");
    }
}

static void of_another_epoch(attacker *a)
{
    shot s;
    name n;
    char epochs[512];
    aim_anew(a, &s, &n);
    snprintf(epochs, sizeof(epochs), "%s", a->now.words[a->now.args + W_KNOWN]);
    char *at = &epochs[cell_random(a->c, EPOCH_LEN)];
    *at = *at == '1' ? '2' : '1';
    s.key = writes_key(&a->now, W_EPOCHS);
    s.value = epochs;
    attack(a, &s, "another epoch", "epoch");
}

/* The sender has seen one order more than there are, or a few. */
static void of_a_longer_ledger(attacker *a)
{
    shot s;
    name n;
    char seen[24];
    aim_anew(a, &s, &n);
    long long orders = fx_redis_number(fx.redis, "LLEN %s", writes_key(&a->now, W_LEDGER));
    snprintf(seen, sizeof(seen), "%lld",
             orders + 1 + (cell_random(a->c, 2) ? cell_random(a->c, 3) : 0));
    writes_set_word(&s, W_NUMBER, seen);
    attack(a, &s, "a ledger that is shorter than was seen", "rolled_back");
}

/* ---- requests and limits --------------------------------------------------------------------- */

/* The very same, and that of an earlier round. */
static void once_more(attacker *a, int round)
{
    shot s;
    const name *earlier = &a->bought[cell_random(a->c, (unsigned)round + 1)];
    writes_aim(&s, &a->now);
    attack(a, &s, "the same request", "=");
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){earlier->request}, (const char *const[]){earlier->order},
              1);
    attack(a, &s, "an earlier request", "=");
}

/* Whoever wrote that asked for it, and was told nothing. */
static void note_asked(const name *n, int units, int64_t from_us)
{
    journal_write(crew_sale(0)->history,
                  "ask from=%lld to=%lld request=%s user=u%d quantity=%d target=0 status=0",
                  (long long)from_us, (long long)journal_now_us(), n->request, n->user, units);
    crew_look(n->request, 0);
}

/* One batch: a buyer takes its limit; the same request; the same user, who wants still more, where
 * there is a limit; and, at last, one that is late. Only the first is sold to. */
enum { AGAIN = 1, MORE, BATCH = MORE + BEYOND + 1 };

typedef struct batch {
    int count;
    name names[BATCH];
    const char *requests[BATCH], *orders[BATCH];
    char units[4 * BATCH], not_after[24 * BATCH], late[24];
} batch;

static void put_batch(const attacker *a, batch *b, shot *s)
{
    b->count = row_is_sharded(&a->c->row) ? MORE + 1 : BATCH;
    b->units[0] = b->not_after[0] = '\0';
    snprintf(b->late, sizeof(b->late), "%lld", (long long)writes_now_us() - 1);
    for (int i = 0; i < b->count; i++) {
        name *n = &b->names[i];
        size_t units = strlen(b->units), times = strlen(b->not_after);
        int wants = i < MORE ? LIMIT : 1;
        bool last = i == b->count - 1;
        *n = i == AGAIN ? b->names[0] : new_name(a->c);
        n->user = last ? n->user : b->names[0].user;
        snprintf(n->order, sizeof(n->order), "u%d %d", n->user, wants);
        b->requests[i] = n->request;
        b->orders[i] = n->order;
        snprintf(b->units + units, sizeof(b->units) - units, "%s%d", i ? " " : "", wants);
        snprintf(b->not_after + times, sizeof(b->not_after) - times, "%s%s", i ? " " : "",
                 last ? b->late : s->not_after);
    }
    writes_of(s, b->requests, b->orders, b->count);
    writes_set_word(s, W_UNITS, b->units);
    writes_set_word(s, W_EARLIEST, b->late);
    writes_set_word(s, W_EACH, b->not_after);
}

static void in_a_batch(attacker *a)
{
    static batch b;
    shot s;
    writes_aim(&s, &a->now);
    put_batch(a, &b, &s);
    int64_t from_us = journal_now_us();
    writes_fire(&s);
    for (int i = 0; i < b.count; i++) {
        bool last = i == b.count - 1, sold = strcmp(s.answers[i], "sold") == 0;
        const char *wanted = i == 0 ? "sold" : i == AGAIN ? "=" : last ? "late" : "limit";
        a->attacks += i > 0;
        if (!begins_with(s.answers[i], wanted))
            cell_got_through(a->c, "number %d of a batch: told %.40s, not %s", i + 1, s.answers[i],
                             wanted);
        if (sold && i != AGAIN)
            note_asked(&b.names[i], i == 0 ? LIMIT : 1, from_us);
    }
    cell_met(a->c, strcmp(s.answers[0], "sold") == 0);
}

/* With nothing wrong it sells. */
static void sound(attacker *a)
{
    shot s;
    name n;
    aim_anew(a, &s, &n);
    int64_t from_us = journal_now_us();
    writes_fire(&s);
    bool sold = strcmp(s.answers[0], "sold") == 0;
    if (sold)
        note_asked(&n, 1, from_us);
    else
        cell_note(a->c, "a write with nothing wrong was told %s", s.answers[0]);
    cell_met(a->c, sold);
}

/* ---- "sold out" ------------------------------------------------------------------------------ */

static long long scarce_left(const fx_sale *scarce)
{
    char key[192];
    return fx_redis_number(fx.redis, "GET %s", fx_sale_key(scarce, 0, "stock", key, sizeof(key)));
}

static bool buy_scarce(attacker *a, fx_sale *scarce, int at)
{
    name n = new_name(a->c);
    return ask(scarce, &n, at) == 201 && writes_overhear(n.request, n.order, &a->now);
}

/* More units than are left, hundreds of times; where nothing is left, one. */
static void ask_for_too_many(attacker *a, int left)
{
    for (int i = 0; i < SCARCE_SHOTS; i++) {
        shot s;
        name n;
        char units[12];
        int more = left + 1 + (int)cell_random(a->c, (unsigned)(LIMIT - left));
        aim_anew(a, &s, &n);
        snprintf(units, sizeof(units), "%d", more);
        snprintf(n.order, sizeof(n.order), "u%d %d", n.user, more);
        writes_set_word(&s, W_UNITS, units);
        attack(a, &s, "more units than are left", "sold_out");
    }
}

static void sell_out(attacker *a)
{
    fx_sale *scarce = cell_start_one_more(a->c, SCARCE);
    bool bought = true;
    int at = 0;
    while (bought && scarce_left(scarce) > SCARCE_LEFT)
        bought = buy_scarce(a, scarce, at++ % FX_INSTANCES);
    if (bought)
        ask_for_too_many(a, SCARCE_LEFT);
    while (bought && scarce_left(scarce) > 0)
        bought = buy_scarce(a, scarce, at++ % FX_INSTANCES);
    if (bought)
        ask_for_too_many(a, 0);
    cell_met(a->c, bought);
}

/* ---- a round's buyer --------------------------------------------------------------------------
 */

/* Buys, at any instance, and hears the write. False: it was told that it is sold to, and no write
 * is its own, or it was refused for good, with all that there is for sale. */
static bool buy(attacker *a, int round)
{
    int at = (int)cell_random(a->c, FX_INSTANCES);
    name *n = &a->bought[round];
    *n = new_name(a->c);
    writes_free(&a->before);
    a->before = a->now;
    a->now = (overheard){0};
    int status = ask(crew_sale(0), n, at);
    if (writes_overhear(n->request, n->order, &a->now))
        return true;
    cell_got_through(a->c, "a new request was told %d, and no write has its name", status);
    return false;
}

/* ---- what was reserved ----------------------------------------------------------------------- */

static bool nothing_is_reserved(void *sale)
{
    return fx_sale_look_at_stock(sale, 0) == 0;
}

/* A request of the ledger is to be settled, by its user ("u7") or by somebody. */
static void settle_again(attacker *a, const name *n, const char *user, const char *want,
                         const char *wanted)
{
    shot s;
    char order[ORDER_MAX];
    snprintf(order, sizeof(order), "%s 1", user);
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){n->request}, (const char *const[]){order}, 1);
    writes_set_word(&s, W_WANT, want);
    attack(a, &s, want, wanted);
}

/* Those whose end has just come are confirmed at once: by Redis's clock they are over. */
static void settle_the_due(attacker *a, int round)
{
    char record[256], user[24];
    for (; a->due < round; a->due++) {
        const name *n = &a->bought[a->due];
        fx_redis_text(fx.redis, record, sizeof(record), "HGET %s %s", writes_key(&a->now, W_ORDERS),
                      n->request);
        const char *at = strstr(record, RESERVED);
        if (at && writes_now_us() < strtoll(at + strlen(RESERVED), NULL, 10) * BUCKET_US)
            return;
        snprintf(user, sizeof(user), "u%d", n->user);
        if (at)
            settle_again(a, n, user, "confirm", "expired");
    }
}

/* Each is over by now: confirmed, cancelled, or its time has passed. It stays what it is. Who
 * confirmed has had the lock since the last round, so one more buys. */
static void settle_all_again(attacker *a)
{
    static const struct {
        const char *state, *confirm, *cancel;
    } ends[] = {{RESERVED, "expired", "expired"},
                {" cancelled ", "cancelled", "="},
                {" confirmed ", "=", "sold"}};
    cell_met(a->c, fx_wait_until(nothing_is_reserved, crew_sale(0), CELL_PATIENCE_MS));
    if (!buy(a, ROUNDS))
        return;
    for (int i = 0; i < ROUNDS; i++) {
        char record[256], user[24];
        const name *n = &a->bought[i];
        snprintf(user, sizeof(user), "u%d", n->user);
        fx_redis_text(fx.redis, record, sizeof(record), "HGET %s %s", writes_key(&a->now, W_ORDERS),
                      n->request);
        for (int k = 0; k < 3; k++) {
            if (!strstr(record, ends[k].state))
                continue;
            settle_again(a, n, user, "confirm", ends[k].confirm);
            settle_again(a, n, user, "cancel", ends[k].cancel);
            settle_again(a, n, "u1", "revoke", "none");
        }
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Where it reserves, a third confirm and a third cancel. */
static bool go_round(attacker *a, int round)
{
    if (!buy(a, round))
        return false;
    if (a->now.locked) {
        of_an_older_fence(a);
        of_another_owner(a);
    }
    too_late(a);
    of_another_sale(a);
    of_another_epoch(a);
    of_a_longer_ledger(a);
    once_more(a, round);
    in_a_batch(a);
    if (a->c->row.reserves)
        settle_the_due(a, round);
    if (round % SOUND_EVERY == 0)
        sound(a);
    if (a->c->row.reserves && round % 3 < 2)
        fx_sale_settle(crew_sale(0), round % 3 ? "cancel" : "confirm", a->bought[round].request,
                       a->bought[round].user, round % FX_INSTANCES);
    return true;
}

static void replays(cell *c)
{
    static attacker a;
    a = (attacker){.c = c};
    cell_begin_fault(c);
    writes_listen();
    int round = 0;
    while (round < ROUNDS && go_round(&a, round))
        round++;
    if (round == ROUNDS && row_is_locked(&c->row) != a.now.locked)
        fail_msg("the writes that were heard are not those of its lock");
    if (round == ROUNDS && c->row.reserves)
        settle_all_again(&a);
    else if (round == ROUNDS)
        sell_out(&a);
    writes_end();
    writes_free(&a.now);
    writes_free(&a.before);
    cell_healed(c);
    cell_landed(c, a.attacks);
    crew_ask("after", 1, 1, 0);
}

/* Nobody else buys what it attacks, so there is enough for all of its rounds. */
static void prepare(cell *c)
{
    c->stock = STOCK;
    c->limit = LIMIT;
    c->changes = false;
}

static void clean_up(cell *c)
{
    (void)c;
    writes_end();
}

const fault fault_replays = {
    .name = "replays",
    .says = "writes come again by the hundred: of an older fence, another owner, sale or epoch, "
            "late, twice, beyond limit or stock",
    .counts = "writes that came with something wrong",
    .needs = NEEDS_FAIL_POINTS | NEEDS_GUARD,
    .alone = true,
    .reservations = RESERVED_TOO,
    .reserve_s = 1, /* so that many end while others are attacked */
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .prepare = prepare,
    .inject = replays,
    .clean_up = clean_up,
};
