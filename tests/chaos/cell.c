/* cell.c - the course of a cell. */
#include "tests/chaos/cell.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/journal.h"
#include "tests/chaos/rest.h"
#include "tests/chaos/sampler.h"
#include "tests/chaos/stage.h"

enum { SOLD_OUT_ENOUGH = 2 * CREW_BUYERS, ANSWER_MS = 15000 };

/* ---- for faults ------------------------------------------------------------------------------ */

void cell_begin_fault(cell *c)
{
    journal("fault at=%lld name=%s", (long long)journal_now_us(), c->fault->name);
}

void cell_healed(cell *c)
{
    (void)c;
    journal("heal at=%lld", (long long)journal_now_us());
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

/* The service's hash of a request's name, FNV-1a, says in which segment its way begins. */
static bool begins_in_segment_0(const char *request)
{
    uint32_t hash = 2166136261U;
    for (const char *at = request; *at != '\0'; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619U;
    return hash % CELL_SEGMENTS == 0;
}

void cell_name_request(const cell *c, const char *word, int number, char *buf, size_t len)
{
    int variant = 0;
    do {
        snprintf(buf, len, "%s-%d-%d", word, number, variant++);
    } while (row_is_sharded(&c->row) && !begins_in_segment_0(buf));
}

static const char *tag(const cell *c)
{
    static char buf[64];
    snprintf(buf, sizeof(buf), row_is_sharded(&c->row) ? "{%s#0}" : "{%s}", c->item);
    return buf;
}

const char *cell_key(const cell *c, const char *name)
{
    static char key[192];
    snprintf(key, sizeof(key), "fs:%s:%s:%s", tag(c), c->sale, name);
    return key;
}

const char *cell_pointer(const cell *c)
{
    static char key[96];
    snprintf(key, sizeof(key), "fs:%s:sale", tag(c));
    return key;
}

fx_redis *cell_lock_server(const cell *c, int k)
{
    if (c->lock_servers[0])
        return k < CELL_LOCK_SERVERS ? c->lock_servers[k] : NULL;
    return k == 0 ? fx.redis : NULL;
}

bool cell_lock_is_held(cell *c)
{
    return fx_redis_number(cell_lock_server(c, 0), "EXISTS %s", cell_key(c, "lock")) > 0;
}

/* ---- the course ------------------------------------------------------------------------------ */

void cell_start_sale(cell *c)
{
    bool sharded = row_is_sharded(&c->row);
    char segments[32] = "";
    if (sharded)
        snprintf(segments, sizeof(segments), ",'segments':%d", CELL_SEGMENTS);
    /* A section that lasts, so that whoever is stopped in it has a lock that others see. */
    const char *hold = c->fault->needs & NEEDS_FAIL_POINTS ? ",'hold_ms':1" : "";
    snprintf(
        c->sale, sizeof(c->sale), "%s",
        fx_sell("'stock':%d,'strategy':'%s','durability':'%s','lease_ms':%d,'wait_ms':8000%s%s",
                c->stock, c->row.strategy, durability_word(c->row.durability), c->lease_ms,
                segments, hold));
    journal("sale id=%s item=%s strategy=%s durability=%s stock=%d limit=0 segments=%d lease_us=%d "
            "fences=%s",
            c->sale, c->item, c->row.strategy, durability_word(c->row.durability), c->stock,
            sharded ? CELL_SEGMENTS : 0, c->lease_ms * 1000,
            row_is_locked(&c->row) && row_is_guarded(&c->row) ? "1" : "-");
}

/* Whether an instance says for certain what became of a buy. */
static bool answers(void *arg)
{
    int at = *(int *)arg;
    char request[32];
    snprintf(request, sizeof(request), "last-%d", at);
    int status = crew_ask(request, 0, 1, at);
    return status == 201 || status == 409;
}

/* Buyers, the fault, buyers until all is sold, and one more at each instance. */
static void sell(cell *c)
{
    crew_quick(CELL_BEFORE);
    crew_pace(CELL_PACE_MS);
    crew_start(c->item, c->sale, c->fault->alone);
    sampler_start(c);
    if (c->fault->alone) {
        c->fault->inject(c);
        return;
    }
    if (!crew_until(&crew.bought, CELL_BEFORE, CELL_PATIENCE_MS))
        fail_msg("only %d were bought before the fault", atomic_load(&crew.bought));
    c->fault->inject(c);
    if (!c->over && atomic_load(&crew.sold_out) > 0) {
        c->missed = true;
        cell_note(c, "it was sold out before the fault was over");
    }
    crew_go_on();
    crew_pace(0);
    if (!c->over)
        crew_more(&crew.sold_out, SOLD_OUT_ENOUGH, CELL_PATIENCE_MS);
    crew_end();
    for (int i = 0; !c->over && i < FX_INSTANCES; i++)
        fx_wait_until(answers, &i, ANSWER_MS); /* if it never does, buycheck says so */
}

static void course(void **state)
{
    cell *c = *state;
    stage_up(c);
    fx.plan.instances = FX_INSTANCES;
    const char *unfit = c->fault->unfit ? c->fault->unfit(c) : NULL;
    if (!unfit && (c->fault->needs & NEEDS_LOCK) && !row_is_locked(&c->row))
        unfit = "it has no lock";
    if (unfit) {
        c->skipped = true;
        cell_note(c, "%s", unfit);
        return;
    }
    rest_before(c);
    cell_start_sale(c);
    sell(c);
    sampler_end();
    rest_after(c);
}

static int end(void **state)
{
    cell *c = *state;
    crew_end();
    sampler_end();
    if (c->fault->clean_up)
        c->fault->clean_up(c);
    stage_down(c);
    return 0;
}

int cell_run(cell *c, const char *history)
{
    const struct CMUnitTest tests[] = {
        {.name = c->fault->name, .test_func = course, .teardown_func = end, .initial_state = c}};
    c->random = c->seed;
    snprintf(c->item, sizeof(c->item), "P0001");
    c->stock = CELL_STOCK;
    c->lease_ms = c->fault->lease_ms > 0 ? c->fault->lease_ms : CELL_LEASE_MS;
    c->over = c->fault->final;
    journal_open(history);
    cmocka_set_test_filter(NULL); /* FX_CASE is for whoever started us */
    int failed = cmocka_run_group_tests_name(c->row.name, tests, NULL, NULL);
    journal("landed count=%lld", c->landed);
    journal_close();
    return failed > 0;
}
