/* replays_batch.c - many buyers in one write; and buyers where little is left. */
#include <stdio.h>

#include "tests/chaos/faults/replays.h"

enum {
    LIMIT = REPLAYS_LIMIT,
    BEYOND = 10, /* buyers of a batch who want more than the limit */
    MANY = 30,   /* who each have a limit of their own */
    SCARCE = 12,
    SCARCE_LEFT = 2,
    SCARCE_SHOTS = 150
};

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
    snprintf(b->late, sizeof(b->late), "%lld", (long long)journal_wall_us() - 1);
    for (int i = 0; i < b->count; i++) {
        name *n = &b->names[i];
        size_t units = strlen(b->units), times = strlen(b->not_after);
        int wants = i < MORE ? LIMIT : 1;
        bool last = i == b->count - 1;
        if (i == 0 || last)
            *n = replays_name(a->c, wants);
        else
            *n = i == AGAIN ? b->names[0] : replays_name_of(a->c, b->names[0].user, wants);
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

void replays_in_a_batch(attacker *a)
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
        if (!replays_begins(s.answers[i], wanted))
            cell_got_through(a->c, "number %d of a batch: told %.40s, not %s", i + 1, s.answers[i],
                             wanted);
        if (sold && i != AGAIN) {
            replays_note(&b.names[i], "ask", from_us);
            crew_look(b.names[i].request, 0);
        }
    }
    cell_met(a->c, strcmp(s.answers[0], "sold") == 0);
}

/* Each buys at once, where it might reserve. */
static void aim_many(attacker *a, shot *s, name names[MANY], const char *units)
{
    const char *requests[MANY], *orders[MANY];
    for (int i = 0; i < MANY; i++) {
        requests[i] = names[i].request;
        orders[i] = names[i].order;
    }
    writes_aim(s, &a->now);
    writes_of(s, requests, orders, MANY);
    writes_set_word(s, W_UNITS, units);
    if (a->c->row.reserves)
        writes_set_word(s, W_WANT, "0");
}

/* Each takes its limit in one batch, and wants one unit more in the next. */
void replays_many_at_limit(attacker *a)
{
    static name first[MANY], more[MANY];
    shot s;
    char limit[12];
    snprintf(limit, sizeof(limit), "%d", LIMIT);
    for (int i = 0; i < MANY; i++)
        first[i] = replays_name(a->c, LIMIT);
    aim_many(a, &s, first, limit);
    int64_t from_us = journal_now_us();
    bool sold = replays_let(a, &s, "a batch of many");
    for (int i = 0; i < MANY; i++) {
        replays_note_at_once(a, crew_sale(0), &first[i], from_us);
        crew_look(first[i].request, 0);
    }
    for (int i = 0; i < MANY; i++)
        more[i] = replays_name_of(a->c, first[i].user, 1);
    aim_many(a, &s, more, "1");
    if (sold)
        replays_attack(a, &s, "a batch of those who have their limit", "limit");
}

/* ---- "sold out" ------------------------------------------------------------------------------ */

static long long scarce_left(const fx_sale *scarce)
{
    char key[192];
    return fx_redis_number(fx.redis, "GET %s", fx_sale_key(scarce, 0, "stock", key, sizeof(key)));
}

static bool buy_scarce(attacker *a, fx_sale *scarce, int at)
{
    name n = replays_name(a->c, 1);
    return replays_ask(scarce, &n, at) == 201 && writes_overhear(n.request, n.order, &a->now);
}

/* More units than are left, hundreds of times; where nothing is left, one. */
static void ask_for_too_many(attacker *a, int left)
{
    for (int i = 0; i < SCARCE_SHOTS; i++) {
        shot s;
        name n;
        char units[12];
        int more = left + 1 + (int)cell_random(a->c, (unsigned)(LIMIT - left));
        replays_aim(a, &s, &n);
        snprintf(units, sizeof(units), "%d", more);
        snprintf(n.order, sizeof(n.order), "u%d %d", n.user, more);
        writes_set_word(&s, W_UNITS, units);
        replays_attack(a, &s, "more units than are left", "sold_out");
    }
}

/* Who wants more than there is does not make the sale sold out for the next, who has no key. */
static void buy_without_key(attacker *a, fx_sale *scarce)
{
    name all = replays_name(a->c, SCARCE);
    fx_buy one = {.user = replays_name(a->c, 1).user, .quantity = 1};
    int status = replays_ask(scarce, &all, 0);
    if (status != 409)
        cell_got_through(a->c, "who asked for %d of %d units was told %d", SCARCE, SCARCE - 1,
                         status);
    else if (fx_sale_buy(scarce, &one, 0).status == 409)
        cell_got_through(a->c, "who asked for one of %d units was told 409", SCARCE - 1);
}

/* Exactly what is left can be bought. */
static bool buy_the_rest(attacker *a, fx_sale *scarce)
{
    name n = replays_name(a->c, SCARCE_LEFT);
    int status = replays_ask(scarce, &n, 0);
    bool bought = status == 201 && scarce_left(scarce) == 0;
    if (!bought)
        cell_got_through(a->c, "who asked for the last %d units was told %d, and %lld are left",
                         SCARCE_LEFT, status, scarce_left(scarce));
    return bought && writes_overhear(n.request, n.order, &a->now);
}

void replays_sell_out(attacker *a)
{
    replays_segment(0);
    fx_sale *scarce = cell_start_one_more(a->c, SCARCE);
    bool bought = buy_scarce(a, scarce, 0);
    if (bought && !row_is_sharded(&a->c->row))
        buy_without_key(a, scarce);
    for (int at = 1; bought && scarce_left(scarce) > SCARCE_LEFT; at++)
        bought = buy_scarce(a, scarce, at % FX_INSTANCES);
    if (bought)
        ask_for_too_many(a, SCARCE_LEFT);
    bought = bought && buy_the_rest(a, scarce);
    if (bought)
        ask_for_too_many(a, 0);
    cell_met(a->c, bought);
}

/* With the write of who has reserved, which goes on to be its sale's last. */
static bool fire_at_scarce(attacker *a, fx_sale *scarce, const name *n, const char *want)
{
    shot s;
    char units[12];
    int64_t from_us = journal_now_us();
    snprintf(units, sizeof(units), "%d", n->units);
    writes_aim(&s, &a->now);
    writes_of(&s, (const char *const[]){n->request}, (const char *const[]){n->order}, 1);
    writes_set_word(&s, W_UNITS, units);
    writes_set_word(&s, W_WANT, want);
    writes_fire(&s);
    replays_note_at_once(a, scarce, n, from_us);
    fx_sale_look(scarce, n->request, 0);
    return strcmp(s.answers[0], "sold") == 0;
}

/* The first reserves, and is confirmed at once: so nothing of it returns meanwhile. Others buy
 * where they might reserve. */
void replays_sell_out_reserved(attacker *a)
{
    fx_sale *scarce = cell_start_one_more(a->c, SCARCE);
    name first = replays_name(a->c, 1), most = replays_name(a->c, SCARCE - 1 - SCARCE_LEFT),
         rest = replays_name(a->c, SCARCE_LEFT);
    bool sold = replays_ask(scarce, &first, 0) == 201 &&
                writes_overhear(first.request, first.order, &a->now) &&
                fire_at_scarce(a, scarce, &first, "confirm") &&
                fire_at_scarce(a, scarce, &most, "0") && scarce_left(scarce) == SCARCE_LEFT;
    cell_met(a->c, sold);
    if (!sold)
        return;
    ask_for_too_many(a, SCARCE_LEFT);
    if (!fire_at_scarce(a, scarce, &rest, "0"))
        cell_got_through(a->c, "who asked for the last %d units was refused", SCARCE_LEFT);
    else
        ask_for_too_many(a, 0);
}
