/* cell.c - the course of a cell. */
#include "tests/chaos/cell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/sampler.h"
#include "tests/chaos/slowness.h"
#include "tests/chaos/stage.h"
#include "tests/support/hash.h"
#include "tests/support/sale/rest.h"

/* ---- for faults ------------------------------------------------------------------------------ */

void cell_begin_fault(cell *c)
{
    crew_write("fault at=%lld name=%s clocks=%d", (long long)journal_now_us(), c->fault->name,
               c->fault->moves_clocks);
}

void cell_healed(cell *c)
{
    c->slowness = 1;
    slowness_begin();
    crew_write("heal at=%lld", (long long)journal_now_us());
}

void cell_landed(cell *c, long long more)
{
    c->landed += more > 0 ? more : 0;
}

void cell_met(cell *c, bool met)
{
    c->landed += met;
    c->missed = c->missed || !met;
}

void cell_got_through(cell *c, const char *format, ...)
{
    va_list args;
    if (c->got_through++ > 0)
        return;
    va_start(args, format);
    vsnprintf(c->first_through, sizeof(c->first_through), format, args);
    va_end(args);
}

void cell_note(cell *c, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(c->note, sizeof(c->note), format, args);
    va_end(args);
}

/* SplitMix64. */
unsigned cell_random(cell *c, unsigned below)
{
    uint64_t z = (c->random += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return (unsigned)((z ^ (z >> 31)) % below);
}

static bool begins_in_segment_0(const char *request)
{
    return fx_hash(request) % CELL_SEGMENTS == 0;
}

void cell_name_request(const cell *c, const char *word, int number, char *buf, size_t len)
{
    int variant = 0;
    do {
        snprintf(buf, len, "%s-%d-%d", word, number, variant++);
    } while (row_is_sharded(&c->row) && !begins_in_segment_0(buf));
}

const char *cell_key(const char *name)
{
    static char key[192];
    return fx_sale_key(crew_sale(0), 0, name, key, sizeof(key));
}

fx_redis *cell_lock_server(const cell *c, int k)
{
    if (c->lock_servers[0])
        return k < CELL_LOCK_SERVERS ? c->lock_servers[k] : NULL;
    return k == 0 ? fx.redis : NULL;
}

bool cell_lock_is_held(cell *c)
{
    return fx_redis_number(cell_lock_server(c, 0), "EXISTS %s", cell_key("lock")) > 0;
}

/* ---- the sales ------------------------------------------------------------------------------- */

/* Who reserves has to have a limit: one that nobody reaches, if the cell has none. */
static int limit_of(const cell *c)
{
    int limit = c->row.reserves && c->limit == 0 ? c->stock : c->limit;
    return row_is_sharded(&c->row) ? 0 : limit;
}

static int reserve_s_of(const cell *c)
{
    int reserve_s = c->fault->reserve_s > 0 ? c->fault->reserve_s : CELL_RESERVE_S;
    return c->row.reserves ? reserve_s : 0;
}

fx_terms cell_terms(const cell *c)
{
    return (fx_terms){
        .item = CELL_ITEM,
        .strategy = c->row.strategy,
        .durability = durability_word(c->row.durability),
        .stock = c->stock,
        .limit = limit_of(c),
        .reserve_s = reserve_s_of(c),
        .segments = row_is_sharded(&c->row) ? CELL_SEGMENTS : 0,
        .lease_ms = c->lease_ms,
        .wait_ms = 8000,
        .same_run = c->fault->same_run,
        .long_users = c->habits.long_names && !c->fault->alone,
        .hold_ms = c->hold_ms,
    };
}

static void start_sale(cell *c, const fx_terms *terms, int buyers)
{
    char *path = c->histories[c->history_count];
    if (c->history_count++ > 0)
        snprintf(path, sizeof(c->histories[0]), "%.500s.%c", c->histories[0],
                 '0' + c->history_count);
    crew_come(fx_sale_start(terms, path), buyers);
}

void cell_start_sales(cell *c, int buyers)
{
    char item[16];
    fx_terms terms = cell_terms(c);
    c->history_count = 0;
    crew_begin(&c->habits);
    crew_quick(CELL_BEFORE);
    crew_pace(CELL_PACE_MS);
    start_sale(c, &terms, buyers);
    terms.stock = CELL_STOCK_MORE;
    for (int k = 1; k < c->items; k++) {
        snprintf(item, sizeof(item), "P%04d", k + 1);
        terms.item = item;
        start_sale(c, &terms, CELL_BUYERS_MORE);
    }
}

fx_sale *cell_start_one_more(cell *c, int stock)
{
    fx_terms terms = cell_terms(c);
    char item[16];
    snprintf(item, sizeof(item), "P%04d", c->items + 1);
    terms.item = item;
    terms.stock = stock;
    assert_false(c->changes);
    start_sale(c, &terms, 0);
    return crew_sale(c->items);
}

/* The admin starts another sale of the second item. Some go on asking in the one before. */
static void change_sale(cell *c)
{
    fx_terms terms = crew_sale(1)->terms;
    if (!crew_until(&crew_counts_of(1)->bought, CELL_BEFORE / 4, CELL_PATIENCE_MS))
        fail_msg("nothing is sold of %s", terms.item);
    start_sale(c, &terms, CELL_BUYERS_MORE);
}

void cell_rest(cell *c)
{
    rest_plan plan = {.more_buyers = c->fault->buyers, .over = c->over};
    if (c->fault->needs & NEEDS_CLUSTER)
        plan.servers = fx_topology_size(fx_redis_topology(fx.redis));
    for (int k = 0; k < CELL_LOCK_SERVERS; k++)
        plan.lock_servers[k] = c->lock_servers[k];
    rest_after(&plan);
    for (int k = 0; crew_sale(k); k++)
        journal_write(crew_sale(k)->history, "landed count=%lld", c->landed);
    crew_close();
}

/* ---- the course ------------------------------------------------------------------------------ */

typedef struct last {
    fx_sale *sale;
    int at;
    bool damaged;
} last;

/* Whether an instance says for certain what became of a buy, or that nothing comes of any. */
static bool answers(void *arg)
{
    last *l = arg;
    char request[32];
    snprintf(request, sizeof(request), "last-%d", l->at);
    fx_told told = fx_sale_ask(l->sale, request, 0, 1, l->at);
    l->damaged = fx_is_damaged(&told);
    return told.status == 201 || told.status == 409 || l->damaged;
}

/* One more at each instance, of each sale. If there never is an answer, the judge says so. */
static void ask_all(cell *c)
{
    for (int k = 0; crew_sale(k); k++) {
        for (int i = 0; i < FX_INSTANCES; i++) {
            last l = {.sale = crew_sale(k), .at = i};
            fx_wait_until(answers, &l, FX_ANSWER_MS);
            c->damaged[k] = l.damaged;
        }
    }
}

/* There is no waiting for a dead one. */
static void expect_alive(cell *c)
{
    for (int i = 0; i < FX_INSTANCES && c->died == 0; i++)
        cell_look_for_death(c, i, false);
    if (c->died > 0)
        fail_msg("%s", c->first_dead);
}

static void sell_out(cell *c)
{
    for (int k = c->fault->alone ? 1 : 0; crew_sale(k); k++) {
        expect_alive(c);
        if (!atomic_load(&crew_sale(k)->replaced))
            crew_sell_out(k, CELL_PATIENCE_MS);
    }
}

/* Whether it is known that nothing is reserved any more. */
static bool is_settled(void *sale)
{
    return fx_sale_look_at_stock(sale, 0) == 0;
}

/* Every reservation is over, and its units are back. If they never are, the judge says so: of a
 * damaged sale none are. */
static void await_returns(const cell *c)
{
    for (int k = 0; c->row.reserves && crew_sale(k); k++) {
        if (!c->damaged[k])
            fx_wait_until(is_settled, crew_sale(k), reserve_s_of(c) * 1000 + CELL_PATIENCE_MS);
    }
}

/* Buyers, the fault, buyers until all is sold. */
static void sell(cell *c)
{
    cell_start_sales(c, c->fault->alone ? 0 : CREW_BUYERS);
    sampler_start(c);
    if (!c->fault->alone && !crew_until(&crew.bought, CELL_BEFORE, CELL_PATIENCE_MS))
        fail_msg("only %d were bought before the fault", atomic_load(&crew.bought));
    if (c->changes)
        change_sale(c);
    c->fault->inject(c);
    if (!c->over && !c->row.reserves && atomic_load(&crew.sold_out) > 0) {
        c->missed = true;
        cell_note(c, "it was sold out before the fault was over");
    }
    crew_go_on();
    crew_pace(0);
    if (!c->over)
        sell_out(c);
    crew_end();
    if (!c->over)
        expect_alive(c);
    for (int n = atomic_load(&crew.let_in); n > 0; n--)
        cell_got_through(c, "a stranger was let in to somebody's order");
    if (!c->over) {
        ask_all(c);
        if (c->slowness > 0)
            c->slowness = slowness_since();
        await_returns(c);
    }
    sampler_end();
}

/* Why there is nothing to do to this row; NULL: there is. */
static const char *why_not(const cell *c)
{
    unsigned needs = c->fault->needs;
    if ((needs & NEEDS_LOCK) && !row_is_locked(&c->row))
        return "it has no lock";
    if ((needs & NEEDS_GUARD) && !row_is_guarded(&c->row))
        return "its write is not guarded";
    if (c->row.durability == ON_REPLICAS && !(needs & (NEEDS_SENTINEL | NEEDS_CLUSTER)))
        return "it happens to one server, and a replicated sale has three";
    return NULL;
}

static void course(void **state)
{
    cell *c = *state;
    const char *unfit = why_not(c);
    if (!unfit) {
        stage_up(c);
        unfit = c->fault->unfit ? c->fault->unfit(c) : NULL;
    }
    fx.plan.instances = FX_INSTANCES;
    if (unfit) {
        c->skipped = true;
        cell_note(c, "%s", unfit);
        return;
    }
    fx_terms terms = cell_terms(c);
    rest_before(&terms);
    sell(c);
    cell_rest(c);
}

static int end(void **state)
{
    cell *c = *state;
    for (int i = 0; i < FX_INSTANCES && c->died == 0; i++)
        cell_look_for_death(c, i, false);
    crew_end();
    sampler_end();
    if (c->fault->clean_up)
        c->fault->clean_up(c);
    stage_down(c);
    return 0;
}

/* Who lost orders without the sale's fault would buy anew when he repeats his request. And where an
 * answer may not come nobody could find the order of who had no key. */
static void draw_habits(cell *c)
{
    bool covered = (c->fault->covered & c->row.durability) != 0;
    c->habits = (crew_habits){.seed = c->seed,
                              .several = true,
                              .looks = true,
                              .repeats = covered,
                              .dated = true,
                              .keyless = c->fault->same_run && c->fault->needs == 0,
                              .long_names = cell_random(c, 2) == 0};
    c->limit = cell_random(c, 3) == 0 ? 5 + (int)cell_random(c, 3) : 0;
    c->changes = cell_random(c, 2) == 0 && !c->row.reserves;
    bool either = row_is_locked(&c->row) && row_is_guarded(&c->row) && cell_random(c, 2) == 0;
    c->hold_ms = either || (c->fault->needs & NEEDS_FAIL_POINTS) ? 1 : 0;
}

int cell_run(cell *c)
{
    const struct CMUnitTest tests[] = {
        {.name = c->fault->name, .test_func = course, .teardown_func = end, .initial_state = c}};
    c->random = c->seed;
    c->items = CELL_ITEMS;
    c->stock = CELL_STOCK;
    draw_habits(c);
    c->lease_ms = c->fault->lease_ms > 0 ? c->fault->lease_ms : CELL_LEASE_MS;
    c->over = c->fault->final;
    cmocka_set_test_filter(NULL); /* FX_CASE is for whoever started us */
    int failed = cmocka_run_group_tests_name(c->row.name, tests, NULL, NULL);
    return failed > 0;
}
