/* crew.c - buyers, each a thread. */
#include "tests/support/sale/crew.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum {
    AGAIN_MS = 25,     /* behind an answer that is worth another try */
    LOOK_EVERY = 7,    /* requests; a look for one of them */
    ALL_REFUSED = 200, /* in a row: also whoever has bought least */
    REPEAT_EVERY = 9,  /* likewise; one of them is sent once more */
    CANCEL_EVERY = 3,  /* confirmed orders; one of them is cancelled, and refused; and likewise: */
    STRANGER_EVERY = 3,
    KEYLESS_EVERY = 6, /* buyers; who sits there has no keys: */
    KEYLESS_SEAT = 2,
    CLOSED_ENOUGH = 24 /* refusals, and a sale that is over is left alone */
};

typedef struct group {
    fx_sale *sale;
    crew_counts *counts;
    int number, came, present; /* of its buyers, present are not ended yet */
    atomic_int seated;
    pthread_t buyers[CREW_BUYERS];
} group;

crew_counts crew;

static crew_counts further[CREW_SALES - 1];
static group groups[CREW_SALES];
static atomic_int group_count;
static atomic_bool over, paused;
static atomic_int inside; /* buyers with a request under way */
static atomic_int pause_ms, quick, allowed, avoided, attempts;
static atomic_bool reserved[FX_INSTANCES];
static atomic_int further_at[FX_INSTANCES]; /* buyers of further sales with a request there */
static _Atomic int64_t mark_us;

/* ---- where ----------------------------------------------------------------------------------- */

/* The instance for a turn, which is one that runs, and is free for this group; leave() it. */
static int enter(const group *g, int turn)
{
    for (int at = turn % FX_INSTANCES;; at = (at + 1) % FX_INSTANCES) {
        if (at == atomic_load(&avoided))
            continue;
        if (g->number == 0)
            return at;
        atomic_fetch_add(&further_at[at], 1);
        if (!atomic_load(&reserved[at]))
            return at;
        atomic_fetch_sub(&further_at[at], 1);
        fx_let_pass(1);
    }
}

static void leave(const group *g, int at)
{
    if (g->number > 0)
        atomic_fetch_sub(&further_at[at], 1);
}

static bool nobody_is_there(void *instance)
{
    return atomic_load((atomic_int *)instance) == 0;
}

void crew_reserve(int instance)
{
    atomic_store(&reserved[instance], true);
    if (!fx_wait_until(nobody_is_there, &further_at[instance], 4 * FX_ANSWER_MS))
        fail_msg("buyers of other sales are still waiting for instance %d", instance);
}

void crew_release(int instance)
{
    atomic_store(&reserved[instance], false);
}

int crew_instance(int turn)
{
    int at = turn % FX_INSTANCES;
    return at == atomic_load(&avoided) ? (at + 1) % FX_INSTANCES : at;
}

void crew_avoid(int instance)
{
    atomic_store(&avoided, instance);
}

/* ---- one request ----------------------------------------------------------------------------- */

static void count(crew_counts *c, const fx_told *told, int quantity, int at, int64_t from)
{
    bool of_sale = strncmp(told->code, "sale_", 5) == 0;
    if (told->status == 201) {
        atomic_fetch_add(&c->since[at], from >= atomic_load(&mark_us));
        atomic_fetch_add(&c->bought, 1);
        atomic_store(&c->in_a_row, 0);
    } else if (told->status == 409) {
        bool sold_out = strcmp(told->code, "sold_out") == 0 && quantity == 1;
        bool closed = strcmp(told->code, "sale_closed") == 0;
        atomic_fetch_add(&c->in_a_row, 1);
        atomic_fetch_add(sold_out ? &c->sold_out : closed ? &c->closed : &c->refused, 1);
    } else if (told->status == 503) {
        atomic_fetch_add(&c->halted[at], of_sale);
        atomic_fetch_add(&c->in_a_row, fx_is_damaged(told));
        atomic_fetch_add(&c->busy, 1);
    } else {
        atomic_fetch_add(fx_is_unknown(told->status) ? &c->unknown : &c->other, 1);
    }
}

static fx_told try_once(const group *g, const fx_buy *b, int turn)
{
    int at = enter(g, turn);
    int64_t from = journal_now_us();
    fx_told told = fx_sale_buy(g->sale, b, at);
    leave(g, at);
    count(g->counts, &told, b->quantity, at, from);
    return told;
}

/* The same request again, when others have come and gone: the same answer, also if its time is
 * over. */
static void repeat(const group *g, fx_buy earlier, int turn)
{
    int at = enter(g, turn);
    earlier.anew = true;
    fx_sale_buy(g->sale, &earlier, at);
    leave(g, at);
}

static void look(const group *g, const fx_buy *b, int64_t not_after_us, int turn)
{
    int at = enter(g, turn);
    fx_sale_look_until(g->sale, b->request, not_after_us, at);
    leave(g, at);
}

static fx_told settle_once(const group *g, const char *what, const fx_buy *b, int turn)
{
    int at = enter(g, turn);
    fx_told told = fx_sale_settle(g->sale, what, b->request, b->user, at);
    leave(g, at);
    return told;
}

/* Another user, whose name may be different in case only. */
static void let_a_stranger_try(const group *g, const char *what, const fx_buy *b, int turn)
{
    int at = enter(g, turn);
    fx_told told = fx_sale_settle_for_another(g->sale, what, b->request, b->user ^ 1, at);
    leave(g, at);
    atomic_fetch_add(&crew.let_in, told.status == 200 || told.status == 409);
}

/* In a sale with reservations: most are confirmed, some cancelled, and some left to end. Who lost
 * the confirmation without the sale's fault could cancel, so that is tried like a repetition. */
static void settle(const group *g, const fx_buy *b, int number)
{
    unsigned drawn = crew_drawn(number + CREW_DRAW_APART, 100);
    const char *what = drawn < 60 ? "confirm" : "cancel";
    if (g->sale->terms.reserve_s == 0)
        return;
    if (number % STRANGER_EVERY == 0)
        let_a_stranger_try(g, what, b, number);
    for (int i = 1; drawn < 75 && i <= atomic_load(&attempts); i++) {
        fx_told told = settle_once(g, what, b, number + i);
        if (told.status == 200 && drawn < 60 && crew_like.repeats && number % CANCEL_EVERY == 0)
            settle_once(g, "cancel", b, number + i + 1);
        if (told.status != 503 && !fx_is_unknown(told.status))
            return;
        fx_let_pass(AGAIN_MS);
    }
}

/* All attempts of a request. Who has no key stays at one instance, which is to make more of them
 * than it fetches at a time. */
static fx_told try_all(const group *g, fx_buy *b, int number, int turn)
{
    fx_told told;
    bool again, late, first = b->request[0] != '\0' && crew_looks_first(number);
    int tries = 0;
    if (first)
        look(g, b, b->not_after_us, turn + 1);
    do {
        if (tries > 0)
            fx_let_pass(AGAIN_MS);
        told = try_once(g, b, turn + tries);
        if (b->request[0] == '\0' && strcmp(told.request, "-") != 0)
            memcpy(b->request, told.request, sizeof(b->request));
        late = strcmp(told.code, "too_late") == 0 && !first;
        if (late)
            b->not_after_us = 0;
        again = late || told.status == 503 || fx_is_unknown(told.status);
    } while (again && ++tries < atomic_load(&attempts));
    return told;
}

/* One request of the buyer on a seat. `*earlier`: one that was told yes, without a name = none. */
static void buy(const group *g, int number, int seat, fx_buy *earlier)
{
    fx_buy b = crew_draw(&g->sale->terms, number);
    bool keyless = crew_like.keyless && seat % KEYLESS_EVERY == KEYLESS_SEAT;
    if (keyless)
        b.request[0] = '\0';
    fx_told told = try_all(g, &b, number, keyless ? seat : number);
    bool named = b.request[0] != '\0';
    if (told.status == 201 && named)
        settle(g, &b, number);
    if (crew_like.looks && number % LOOK_EVERY == 0 && named &&
        (told.status == 201 || told.status == 409))
        look(g, &b, 0, number + 1);
    if (crew_like.repeats && number % REPEAT_EVERY == 0 && earlier->request[0] != '\0') {
        repeat(g, *earlier, number + 1);
        earlier->request[0] = '\0';
    }
    if (told.status == 201 && earlier->request[0] == '\0')
        *earlier = b;
}

static bool begins(const group *g, int *number)
{
    *number = atomic_load(&g->counts->begun);
    return !atomic_load(&paused) && *number < atomic_load(&allowed) &&
           atomic_compare_exchange_strong(&g->counts->begun, number, *number + 1);
}

static void *buy_on_and_on(void *arg)
{
    group *g = arg;
    fx_buy earlier = {.request = ""};
    int number, seat = atomic_fetch_add(&g->seated, 1);
    while (!atomic_load(&over) && atomic_load(&g->counts->closed) < CLOSED_ENOUGH) {
        atomic_fetch_add(&inside, 1);
        bool begun = begins(g, &number);
        if (begun) {
            buy(g, number, seat, &earlier);
            atomic_fetch_add(&g->counts->ended, 1);
        }
        atomic_fetch_sub(&inside, 1);
        if (!begun)
            fx_let_pass(1);
        else if (number >= atomic_load(&quick) / (g->number > 0 ? 3 : 1))
            fx_let_pass(atomic_load(&pause_ms) * (g->number > 0 ? 2 : 1));
    }
    return NULL;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void crew_begin(const crew_habits *like)
{
    crew_close();
    crew_like = *like;
    memset(&crew, 0, sizeof(crew)); /* nobody counts any more */
    memset(further, 0, sizeof(further));
    for (int i = 0; i < FX_INSTANCES; i++)
        atomic_store(&reserved[i], false);
    atomic_store(&avoided, -1);
    atomic_store(&attempts, 3);
    atomic_store(&allowed, INT_MAX);
    atomic_store(&mark_us, INT64_MAX);
    atomic_store(&pause_ms, 0);
    atomic_store(&quick, 0);
    atomic_store(&paused, false);
    atomic_store(&over, false);
}

void crew_come(fx_sale *sale, int buyers)
{
    int number = atomic_load(&group_count);
    assert_true(number < CREW_SALES);
    group *g = &groups[number];
    *g = (group){.sale = sale, .number = number};
    g->counts = number == 0 ? &crew : &further[number - 1];
    for (int k = 0; k < number; k++) {
        if (strcmp(groups[k].sale->item, sale->item) == 0)
            atomic_store(&groups[k].sale->replaced, true);
    }
    atomic_fetch_add(&group_count, 1);
    for (; g->present < buyers; g->present++)
        assert_int_equal(pthread_create(&g->buyers[g->present], NULL, buy_on_and_on, g), 0);
    g->came = buyers;
}

fx_sale *crew_sale(int k)
{
    return k < atomic_load(&group_count) ? groups[k].sale : NULL;
}

crew_counts *crew_counts_of(int k)
{
    return groups[k].counts;
}

int crew_size(void)
{
    int size = 0;
    for (int k = 0; crew_sale(k); k++)
        size += groups[k].came;
    return size;
}

void crew_write(const char *format, ...)
{
    char line[256];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    for (int k = 0; crew_sale(k); k++) {
        if (!atomic_load(&groups[k].sale->replaced))
            journal_write(groups[k].sale->history, "%s", line);
    }
}

void crew_pace(int ms)
{
    atomic_store(&pause_ms, ms);
}

void crew_quick(int requests)
{
    atomic_store(&quick, requests);
}

void crew_let_in(int requests)
{
    atomic_store(&allowed, requests);
}

void crew_attempts(int most)
{
    atomic_store(&attempts, most);
}

void crew_mark(void)
{
    for (int i = 0; i < FX_INSTANCES; i++)
        atomic_store(&crew.since[i], 0);
    atomic_store(&mark_us, journal_now_us());
}

typedef struct last_units {
    crew_counts *counts;
    int sold_out, in_a_row;
} last_units;

static bool are_sold(void *arg)
{
    const last_units *l = arg;
    return atomic_load(&l->counts->sold_out) >= l->sold_out ||
           atomic_load(&l->counts->in_a_row) >= l->in_a_row;
}

bool crew_sell_out(int k, int deadline_ms)
{
    const group *g = &groups[k];
    atomic_store(&g->counts->in_a_row, 0); /* it may have been damaged, and mended */
    last_units l = {g->counts, atomic_load(&g->counts->sold_out) + 2 * g->came, ALL_REFUSED};
    return fx_wait_until(are_sold, &l, deadline_ms);
}

void crew_pause(void)
{
    atomic_store(&paused, true);
    if (!fx_wait_until(nobody_is_there, &inside, 4 * FX_ANSWER_MS))
        fail_msg("buyers are still waiting for their answers");
}

void crew_go_on(void)
{
    atomic_store(&paused, false);
}

void crew_end(void)
{
    for (int i = 0; i < FX_INSTANCES; i++)
        crew_release(i); /* or some would wait for one forever */
    atomic_store(&over, true);
    for (int k = 0; crew_sale(k); k++) {
        while (groups[k].present > 0)
            pthread_join(groups[k].buyers[--groups[k].present], NULL);
    }
}

void crew_close(void)
{
    crew_end();
    int number = atomic_exchange(&group_count, 0);
    for (int k = 0; k < number; k++)
        fx_sale_end(groups[k].sale);
}
