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

#include "server/store/epochs.h"
#include "tests/chaos/faults/replays.h"
#include "tests/support/hash.h"

enum {
    LEASE_MS = 5000,
    STOCK = 24000,
    ROUNDS = REPLAYS_ROUNDS,
    LIMIT = REPLAYS_LIMIT,
    SOUND_EVERY = 10, /* rounds, as these: */
    SEGMENT_FOR = 8,
    MANY_EVERY = 12,
    TOGETHER_EVERY = 9,
    REVOKE_EVERY = 11,
    DAMAGED_SURELY = 50, /* answers in a row that say so */
    USER = 700000        /* and following: those of no buyer of the crew */
};

static int number, segment; /* of the last name; in which it begins */

void replays_segment(int which)
{
    segment = which;
}

/* It has as many characters as there may be, and differs from the one before in the last ones. */
name replays_name_of(const cell *c, int user, int units)
{
    name n = {.user = user, .units = units};
    do
        snprintf(n.request, sizeof(n.request), "r-%0*d", IDENT_MAX - 2, ++number);
    while (row_is_sharded(&c->row) && fx_hash(n.request) % CELL_SEGMENTS != (unsigned)segment);
    snprintf(n.order, sizeof(n.order), "u%d %d", n.user, units);
    return n;
}

name replays_name(const cell *c, int units)
{
    return replays_name_of(c, USER + number + 1, units);
}

typedef struct question {
    fx_sale *sale;
    const name *of;
    int at, status, damaged;
} question;

/* Asks again after whatever is not known, as a buyer does. No fault here mends a damaged sale, so
 * that answer stands, and the cell goes on to its end: only then can its history be judged. */
static bool is_known(void *arg)
{
    question *q = arg;
    fx_told told = fx_sale_ask(q->sale, q->of->request, q->of->user, q->of->units, q->at);
    q->status = told.status;
    q->damaged = fx_is_damaged(&told) ? q->damaged + 1 : 0;
    return q->damaged >= DAMAGED_SURELY || (q->status != 503 && !fx_is_unknown(q->status));
}

int replays_ask(fx_sale *sale, const name *of, int at)
{
    question q = {.sale = sale, .of = of, .at = at};
    if (!fx_wait_until(is_known, &q, CELL_PATIENCE_MS))
        fail_msg("%s was told %d at last", of->request, q.status);
    return q.status;
}

/* ---- one attack ------------------------------------------------------------------------------ */

bool replays_begins(const char *text, const char *word)
{
    return strncmp(text, word, strlen(word)) == 0;
}

/* Whether the order that is to be settled may be over by now, which is no attack's doing. */
static bool may_be_over(const attacker *a, const shot *s)
{
    return a->want && journal_wall_us() >= a->open_us && replays_begins(s->answers[0], "expired");
}

/* Units may return just now where they are reserved, and then the stock is another. */
void replays_attack(attacker *a, shot *s, const char *what, const char *wanted)
{
    writes_fire(s);
    bool refused = !s->robbed || !s->of->locked || strcmp(wanted, "stale") != 0;
    for (int i = 0; i < s->buyers; i++)
        refused = refused && (replays_begins(s->answers[i], wanted) || may_be_over(a, s));
    refused = refused && !s->changed && (!s->moved || a->c->row.reserves);
    a->attacks++;
    if (!refused)
        cell_got_through(a->c, "%s%s%s: told %.40s, not %s%s%s", a->want ? a->want : "",
                         a->want ? " by " : "", what, s->answers[0], wanted,
                         s->changed || s->moved ? "; units or orders changed" : "",
                         s->robbed ? "; the lock changed" : "");
}

bool replays_let(attacker *a, shot *s, const char *what)
{
    writes_fire(s);
    for (int i = 0; i < s->buyers; i++) {
        if (strcmp(s->answers[i], "sold") == 0)
            continue;
        if (!may_be_over(a, s))
            cell_got_through(a->c, "%s: told %.60s", what, s->answers[i]);
        return false;
    }
    return true;
}

void replays_aim(const attacker *a, shot *s, name *n)
{
    *n = a->want ? *a->settled : replays_name(a->c, 1);
    writes_aim(s, &a->now);
    writes_of(s, (const char *const[]){n->request}, (const char *const[]){n->order}, 1);
    if (a->want)
        writes_set_word(s, W_WANT, a->want);
    else
        writes_set_word(s, W_UNITS, "1");
}

/* ---- the time, the sale, the ledger ---------------------------------------------------------- */

/* By a microsecond, or by up to two seconds. */
static void too_late(attacker *a)
{
    shot s;
    name n;
    int by = cell_random(a->c, 2) ? 1 : 1 + (int)cell_random(a->c, 2000000);
    replays_aim(a, &s, &n);
    snprintf(s.not_after, sizeof(s.not_after), "%lld", (long long)journal_wall_us() - by);
    replays_attack(a, &s, "a write behind its time", "late");
}

/* It is halted; or a later sale has taken its place, and what is left of it expires. Orders of a
 * sale that has ended may be settled. */
static void of_another_sale(attacker *a)
{
    shot s;
    name n;
    char other[96];
    const char *sale = a->now.words[a->now.args + W_SALE];
    for (int halted = 1; halted >= (a->want ? 1 : 0); halted--) {
        replays_aim(a, &s, &n);
        snprintf(other, sizeof(other), halted ? "%s halted" : "f%s", sale + (halted ? 0 : 1));
        s.key = writes_key(&a->now, W_POINTER);
        s.value = other;
        s.expires = a->c->row.reserves && !halted;
        replays_attack(a, &s, halted ? "a halted sale" : "a sale that another has ended", "closed");
    }
}

/* Another than the sender knows; or one more has begun behind the last order. */
static void of_another_epoch(attacker *a)
{
    shot s;
    name n;
    char epochs[512];
    const char *known = a->now.words[a->now.args + W_KNOWN];
    replays_aim(a, &s, &n);
    snprintf(epochs, sizeof(epochs), "%s", known);
    char *at = &epochs[cell_random(a->c, EPOCH_LEN)];
    *at = *at == '1' ? '2' : '1';
    if (a->want || cell_random(a->c, 2))
        snprintf(epochs, sizeof(epochs), "%.*s %lld %s", EPOCH_LEN, "0123456789abcdef",
                 fx_redis_number(fx.redis, "LLEN %s", writes_key(&a->now, W_LEDGER)) + 1, known);
    s.key = writes_key(&a->now, W_EPOCHS);
    s.value = epochs;
    replays_attack(a, &s, "another epoch", "epoch");
}

/* The sender has seen one order more than there are, or a few. */
static void of_a_longer_ledger(attacker *a)
{
    shot s;
    name n;
    char seen[24];
    replays_aim(a, &s, &n);
    long long orders = fx_redis_number(fx.redis, "LLEN %s", writes_key(&a->now, W_LEDGER));
    snprintf(seen, sizeof(seen), "%lld",
             orders + 1 + (cell_random(a->c, 2) ? cell_random(a->c, 3) : 0));
    writes_set_word(&s, W_NUMBER, seen);
    replays_attack(a, &s, "a ledger that is shorter than was seen", "rolled_back");
}

/* ---- requests and limits --------------------------------------------------------------------- */

static bool are_together(const cell *c, int round, int other)
{
    return !row_is_sharded(&c->row) ||
           (round / SEGMENT_FOR - other / SEGMENT_FOR) % CELL_SEGMENTS == 0;
}

/* The very same, and that of an earlier round. */
static void once_more(attacker *a, int round)
{
    shot s;
    int other = round;
    do
        other = (int)cell_random(a->c, (unsigned)round + 1);
    while (!are_together(a->c, round, other));
    const name *earlier = &a->bought[other];
    writes_aim(&s, &a->now);
    replays_attack(a, &s, "the same request", "=");
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){earlier->request}, (const char *const[]){earlier->order},
              1);
    replays_attack(a, &s, "an earlier request", "=");
}

static void note(const fx_sale *sale, const name *n, const char *what, int64_t from_us)
{
    char whose[64] = "", reserve_us[32] = "";
    if (strcmp(what, "ask") == 0)
        snprintf(whose, sizeof(whose), " user=u%d quantity=%d", n->user, n->units);
    if (strcmp(what, "ask") == 0 && n->reserve_s > 0)
        snprintf(reserve_us, sizeof(reserve_us), " reserve_us=%d000000", n->reserve_s);
    journal_write(sale->history, "%s from=%lld to=%lld request=%s%s%s target=0 status=0", what,
                  (long long)from_us, (long long)journal_now_us(), n->request, whose, reserve_us);
}

void replays_note(const name *n, const char *what, int64_t from_us)
{
    note(crew_sale(0), n, what, from_us);
}

void replays_note_at_once(const attacker *a, const fx_sale *sale, const name *n, int64_t from_us)
{
    note(sale, n, "ask", from_us);
    if (a->c->row.reserves)
        note(sale, n, "confirm", from_us);
}

/* With nothing wrong it sells. */
static void sound(attacker *a)
{
    shot s;
    name n;
    replays_aim(a, &s, &n);
    int64_t from_us = journal_now_us();
    writes_fire(&s);
    bool sold = strcmp(s.answers[0], "sold") == 0;
    if (sold)
        replays_note(&n, "ask", from_us), crew_look(n.request, 0);
    else
        cell_note(a->c, "a write with nothing wrong was told %s", s.answers[0]);
    cell_met(a->c, sold);
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Also false: it was refused for good, with all that there is for sale. */
bool replays_buy(attacker *a, int round)
{
    int at = (int)cell_random(a->c, FX_INSTANCES);
    name *n = &a->bought[round];
    *n = replays_name(a->c, a->c->row.reserves ? 2 + (int)cell_random(a->c, LIMIT - 1) : 1);
    writes_free(&a->before);
    a->before = a->now;
    a->now = (overheard){0};
    int status = replays_ask(crew_sale(0), n, at);
    if (writes_overhear(n->request, n->order, &a->now))
        return true;
    cell_got_through(a->c, "a new request was told %d, and no write has its name", status);
    return false;
}

/* Those for which it does not matter whether somebody buys or settles. */
static void wrongs(attacker *a)
{
    if (a->now.locked)
        replays_other_owner(a);
    too_late(a);
    of_another_sale(a);
    of_another_epoch(a);
    of_a_longer_ledger(a);
}

static void go_among_reserved(attacker *a, int round)
{
    replays_open(a, round, wrongs);
    replays_due(a, round);
    if (round % REVOKE_EVERY == 0)
        replays_revoke(a);
    if (round % TOGETHER_EVERY == 0)
        replays_together(a, round / TOGETHER_EVERY % 2);
    replays_bring(a, round);
}

static bool go_round(attacker *a, int round)
{
    replays_segment(round / SEGMENT_FOR % CELL_SEGMENTS);
    if (!replays_buy(a, round))
        return false;
    if (a->now.locked)
        replays_older_fence(a);
    wrongs(a);
    once_more(a, round);
    replays_in_a_batch(a);
    if (!row_is_sharded(&a->c->row) && round % MANY_EVERY == 0)
        replays_many_at_limit(a);
    if (round % SOUND_EVERY == 0)
        sound(a);
    if (a->c->row.reserves)
        go_among_reserved(a, round);
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
        replays_end(&a), replays_sell_out_reserved(&a);
    else if (round == ROUNDS)
        replays_sell_out(&a);
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
    .same_run = true,
    .reservations = RESERVED_TOO,
    .reserve_s = 1, /* so that many end while others are attacked */
    .lease_ms = LEASE_MS,
    .covered = EVERYWHERE,
    .prepare = prepare,
    .inject = replays,
    .clean_up = clean_up,
};
