/*
 * replays_reserved.c - attacks on what is reserved: while it is open, at its end, and when it is
 * over for good.
 */
#include <stdio.h>
#include <stdlib.h>

#include "server/store/reservations.h"
#include "tests/chaos/faults/replays.h"

enum { LIMIT = REPLAYS_LIMIT, TOGETHER = 4 };

#define RESERVED " reserved " /* in an order's record, before the bucket in which it ends */

static void aim_to_settle(const attacker *a, shot *s, const name *n, const char *user,
                          const char *want, char order[REPLAYS_ORDER])
{
    snprintf(order, REPLAYS_ORDER, "%s 1", user);
    writes_aim(s, &a->now);
    writes_of(s, (const char *const[]){n->request}, (const char *const[]){order}, 1);
    writes_set_word(s, W_WANT, want);
}

/* A request of the ledger is to be settled, by its user ("u7") or by somebody, and is not. */
static void settle_again(attacker *a, const name *n, const char *user, const char *want,
                         const char *wanted)
{
    shot s;
    char order[REPLAYS_ORDER];
    aim_to_settle(a, &s, n, user, want, order);
    replays_attack(a, &s, want, wanted);
}

static void read_record(const attacker *a, const name *n, char record[REPLAYS_RECORD])
{
    fx_redis_text(fx.redis, record, REPLAYS_RECORD, "HGET %s %s", writes_key(&a->now, W_ORDERS),
                  n->request);
}

/* When an order's time is over by Redis's clock; 0: it is not reserved. */
static int64_t end_of(const attacker *a, const name *n)
{
    char record[REPLAYS_RECORD];
    read_record(a, n, record);
    const char *at = strstr(record, RESERVED);
    return at ? strtoll(at + strlen(RESERVED), NULL, 10) * BUCKET_US : 0;
}

/* ---- while it is open ------------------------------------------------------------------------ */

/* Users whose names are much like its own. */
static void by_strangers(attacker *a, const name *n, int round)
{
    char users[4][24];
    snprintf(users[0], sizeof(users[0]), "u%d", n->user ^ 1);
    snprintf(users[1], sizeof(users[1]), "u%d0", n->user);
    snprintf(users[2], sizeof(users[2]), "u%d", n->user / 10);
    snprintf(users[3], sizeof(users[3]), "U%d", n->user);
    for (int i = 0; i < 4; i++)
        settle_again(a, n, users[i], (round + i) % 2 ? "confirm" : "cancel", "none");
}

/* Its record says meanwhile that its time was over in the last bucket that has passed. */
static void settle_behind_its_end(attacker *a, const name *n, const char *want)
{
    shot s;
    char order[REPLAYS_ORDER], user[24], record[REPLAYS_RECORD], over[REPLAYS_RECORD];
    read_record(a, n, record);
    const char *at = strstr(record, RESERVED);
    if (!at)
        return;
    snprintf(over, sizeof(over), "%.*s%lld", (int)(at - record + (long)strlen(RESERVED)), record,
             (long long)(journal_wall_us() / BUCKET_US));
    snprintf(user, sizeof(user), "u%d", n->user);
    aim_to_settle(a, &s, n, user, want, order);
    s.record = over;
    replays_attack(a, &s, "an order whose time is over is settled", "expired");
}

/* Its sale has ended; its buyer has it all the same, or returns it. */
static void settle_in_an_ended_sale(attacker *a, const name *n, const char *want)
{
    shot s;
    char order[REPLAYS_ORDER], user[24], later[96];
    snprintf(user, sizeof(user), "u%d", n->user);
    aim_to_settle(a, &s, n, user, want, order);
    snprintf(later, sizeof(later), "f%s", a->now.words[a->now.args + W_SALE] + 1);
    s.key = writes_key(&a->now, W_POINTER);
    s.value = later;
    s.expires = true;
    int64_t from_us = journal_now_us();
    a->want = want;
    replays_let(a, &s, "an order of a sale that has ended is settled");
    a->want = NULL;
    replays_note(n, want, from_us);
}

/* Buys at once, as this round's write. */
static bool buy_at_once(attacker *a, const name *n, const char *what)
{
    shot s;
    char units[12];
    snprintf(units, sizeof(units), "%d", n->units);
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){n->request}, (const char *const[]){n->order}, 1);
    writes_set_word(&s, W_UNITS, units);
    writes_set_word(&s, W_WANT, "0");
    int64_t from_us = journal_now_us();
    bool sold = replays_let(a, &s, what);
    replays_note_at_once(a, crew_sale(0), n, from_us);
    return sold;
}

/* This user may have so many units more. */
static void buy_up_to_limit(attacker *a, int user, int units, const char *what)
{
    name n = replays_name_of(a->c, user, units);
    buy_at_once(a, &n, what);
    crew_look(n.request, 0);
}

static void ask_beyond_limit(attacker *a, int user, int units, const char *what)
{
    shot s;
    char text[12];
    name n = replays_name_of(a->c, user, units);
    snprintf(text, sizeof(text), "%d", units);
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){n.request}, (const char *const[]){n.order}, 1);
    writes_set_word(&s, W_UNITS, text);
    replays_attack(a, &s, what, "limit");
}

/* A third is confirmed, and can not be cancelled any more; a third is cancelled; of the others half
 * end. */
void replays_bring(attacker *a, int round)
{
    const name *n = &a->bought[round];
    int at = round % FX_INSTANCES;
    char user[24];
    snprintf(user, sizeof(user), "u%d", n->user);
    if (round % 3 == 2 && round % 2 == 0)
        settle_in_an_ended_sale(a, n, round % 4 ? "confirm" : "cancel");
    if (round % 3 == 2)
        return;
    int status =
        fx_sale_settle(crew_sale(0), round % 3 ? "cancel" : "confirm", n->request, n->user, at)
            .status;
    if (round % 3 == 0 && status == 200) {
        status = fx_sale_settle(crew_sale(0), "cancel", n->request, n->user, at).status;
        if (status == 200)
            cell_got_through(a->c, "who had confirmed %d units has cancelled them", n->units);
    }
}

void replays_open(attacker *a, int round, void (*wrongs)(attacker *a))
{
    const name *n = &a->bought[round];
    a->open_us = end_of(a, n);
    by_strangers(a, n, round / 2);
    settle_behind_its_end(a, n, "confirm");
    settle_behind_its_end(a, n, "cancel");
    a->settled = n;
    a->want = round % 2 ? "confirm" : "cancel";
    wrongs(a);
    a->want = NULL;
}

/* One user has several reservations, and may not have one unit above its limit. They end together,
 * or two by two. It cancels one, which does not count any more, and confirms the others. */
void replays_together(attacker *a, bool apart)
{
    name names[TOGETHER];
    const char *requests[TOGETHER], *orders[TOGETHER];
    shot s;
    int64_t from_us = journal_now_us();
    for (int i = 0; i < TOGETHER; i++) {
        names[i] = i ? replays_name_of(a->c, names[0].user, 1) : replays_name(a->c, 1);
        requests[i] = names[i].request;
        orders[i] = names[i].order;
        names[i].reserve_s = apart ? 1 + i % 2 : 0;
    }
    writes_aim(&s, &a->now);
    writes_of(&s, requests, orders, TOGETHER);
    writes_set_word(&s, W_UNITS, "1");
    if (apart)
        writes_set_word(&s, W_WANT, "1 2 1 2");
    bool done = replays_let(a, &s, "several reservations of a user");
    for (int i = 0; i < TOGETHER; i++)
        replays_note(&names[i], "ask", from_us);
    a->open_us = end_of(a, &names[0]);
    if (done)
        ask_beyond_limit(a, names[0].user, LIMIT + 1 - TOGETHER, "more than the limit");
    for (int i = 0; done && i < TOGETHER; i++) {
        a->want = i == 1 ? "cancel" : "confirm";
        writes_aim(&s, &a->now);
        writes_of(&s, &requests[i], &orders[i], 1);
        writes_set_word(&s, W_WANT, a->want);
        done = replays_let(a, &s, "one of a user's reservations is settled");
        replays_note(&names[i], a->want, from_us);
    }
    a->want = NULL;
    if (done)
        buy_up_to_limit(a, names[0].user, LIMIT + 1 - TOGETHER,
                        "a user who has cancelled one buys up to its limit");
    for (int i = 0; i < TOGETHER; i++)
        crew_look(names[i].request, 0);
}

/* What the admin takes back of a user does not count any more: it may have its limit again, and not
 * one unit above. */
void replays_revoke(attacker *a)
{
    shot s;
    char order[REPLAYS_ORDER];
    name taken = replays_name(a->c, LIMIT);
    if (!buy_at_once(a, &taken, "a user buys its limit"))
        return;
    settle_again(a, &taken, "u1", "revoke", "none");
    aim_to_settle(a, &s, &taken, "*", "revoke", order);
    int64_t from_us = journal_now_us();
    replays_let(a, &s, "a sold order is revoked");
    replays_note(&taken, "cancel", from_us);
    crew_look(taken.request, 0);
    buy_up_to_limit(a, taken.user, LIMIT, "a user whose order was revoked buys its limit");
    ask_beyond_limit(a, taken.user, 1, "more than the limit, after a revocation");
}

/* ---- when it is over ------------------------------------------------------------------------- */

/* Those whose end has just come are confirmed at once: by Redis's clock they are over. */
void replays_due(attacker *a, int round)
{
    char user[24];
    for (; a->due < round; a->due++) {
        const name *n = &a->bought[a->due];
        int64_t end_us = end_of(a, n);
        if (journal_wall_us() < end_us)
            return;
        snprintf(user, sizeof(user), "u%d", n->user);
        if (end_us > 0)
            settle_again(a, n, user, "confirm", "expired");
    }
}

static bool nothing_is_reserved(void *sale)
{
    return fx_sale_look_at_stock(sale, 0) == 0;
}

/* Each is over by now: confirmed, cancelled, or its time has passed. It stays what it is. Who
 * confirmed has had the lock since the last round, so one more buys. */
void replays_end(attacker *a)
{
    static const struct {
        const char *state, *confirm, *cancel;
    } ends[] = {{RESERVED, "expired", "expired"},
                {" cancelled ", "cancelled", "="},
                {" confirmed ", "=", "sold"}};
    cell_met(a->c, fx_wait_until(nothing_is_reserved, crew_sale(0), CELL_PATIENCE_MS));
    if (!replays_buy(a, REPLAYS_ROUNDS))
        return;
    for (int i = 0; i < REPLAYS_ROUNDS; i++) {
        char record[REPLAYS_RECORD], user[24];
        const name *n = &a->bought[i];
        snprintf(user, sizeof(user), "u%d", n->user);
        read_record(a, n, record);
        for (int k = 0; k < 3; k++) {
            if (!strstr(record, ends[k].state))
                continue;
            settle_again(a, n, user, "confirm", ends[k].confirm);
            settle_again(a, n, user, "cancel", ends[k].cancel);
            settle_again(a, n, "u1", "revoke", "none");
            if (k == 0)
                buy_up_to_limit(a, n->user, LIMIT,
                                "a user whose reservation is over buys its limit");
        }
    }
}
