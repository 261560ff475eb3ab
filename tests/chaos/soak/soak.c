/*
 * soak.c - a sale a minute, each judged when it is at rest.
 *
 * Buyers buy slowly enough that a sale lasts for most of its minute, and every minute sells the
 * same number, so that Redis has the same to keep. When a sale has been judged its keys are
 * deleted, as they would expire a day later. What the servers take is looked at between the faults;
 * the highest of the last minute is held to the highest of the first.
 */
#include "tests/chaos/soak/soak.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/judge.h"
#include "tests/chaos/sampler.h"
#include "tests/chaos/soak/trouble.h"
#include "tests/chaos/soak/usage.h"
#include "tests/chaos/stage.h"
#include "tests/support/crowd.h"
#include "tests/support/sale/rest.h"

enum {
    MINUTE_MS = 60000,
    MINUTE_MOST_MS = 150000, /* until all is sold */
    STOCK = 4000,
    PACE_MS = 80,
    LEASE_MS = 2000, /* a Redis that comes back is compared for a second before it is sold from */
    GAP_MS = 1000,   /* between two faults, and up to as much again */
    LOOK_MS = 250,
    HERD = 56,     /* buyers of each instance, which has 64 threads */
    HERD_MS = 700, /* Redis stands still for so long */
    FILL_SALES = 90,
    SOLD_OUT_ENOUGH = CREW_BUYERS,
    GROWTH_PERCENT = 5
};

typedef struct soak {
    cell cell;
    int minutes;
    const char *out;
    usage first, last;
    int bad; /* minutes that did not hold */
} soak;

static const fault fault_soak = {
    .name = "soak",
    .counts = "faults that took effect",
    .needs = NEEDS_PROXY,
    .covered = EVERYWHERE,
};

/* ---- one minute ------------------------------------------------------------------------------ */

static void let_pass_and_look(int ms, usage *highest)
{
    for (int64_t passed = 0; passed < ms;) {
        passed += fx_let_pass(LOOK_MS);
        usage_look(highest);
    }
}

/* Faults until the minute is over and all is sold. How many. */
static int sell(soak *s, usage *highest)
{
    cell *c = &s->cell;
    int64_t begin = journal_now_us() / 1000, now = begin;
    int troubles = 0, sold_out = atomic_load(&crew.sold_out);
    bool all = false;
    while (now - begin < MINUTE_MS || (!all && now - begin < MINUTE_MOST_MS)) {
        let_pass_and_look(GAP_MS + (int)cell_random(c, GAP_MS), highest);
        trouble_make(c);
        troubles++;
        all = atomic_load(&crew.sold_out) - sold_out >= SOLD_OUT_ENOUGH;
        now = journal_now_us() / 1000;
    }
    let_pass_and_look(GAP_MS + c->lease_ms, highest); /* so that somebody buys behind the last */
    if (!all)
        printf("not all was sold in %d s\n", MINUTE_MOST_MS / 1000);
    return troubles;
}

/* Deletes what all sales but the current one have left in Redis. */
static void forget_old_sales(void)
{
    char current[64];
    snprintf(current, sizeof(current), ":%s:", fx_current_sale(CELL_ITEM));
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:{%s*}:*:*", CELL_ITEM);
    for (size_t i = 0; i < keys->elements; i++) {
        if (!strstr(keys->element[i]->str, current))
            fx_redis_do(fx.redis, "DEL %s", keys->element[i]->str);
    }
    freeReplyObject(keys);
}

static long long figure_of(const cJSON *verdict, const char *name)
{
    const cJSON *figure = cJSON_GetObjectItemCaseSensitive(verdict, name);
    return cJSON_IsNumber(figure) ? (long long)figure->valuedouble : -1;
}

/* Prints what does not hold. */
static void print_findings(const cJSON *verdict)
{
    const cJSON *check;
    cJSON_ArrayForEach(check, cJSON_GetObjectItemCaseSensitive(verdict, "guarantees")) {
        const char *state = cJSON_GetObjectItemCaseSensitive(check, "state")->valuestring;
        if (strcmp(state, "violated") == 0 || strcmp(state, "unchecked") == 0)
            printf("  %s %s: %s\n", cJSON_GetObjectItemCaseSensitive(check, "name")->valuestring,
                   state, cJSON_GetObjectItemCaseSensitive(check, "first")->valuestring);
    }
}

static bool judge(const cell *c, int minute, int troubles, const usage *highest)
{
    cJSON *verdict = judge_cell(c, 0);
    const char *word = cJSON_GetObjectItemCaseSensitive(verdict, "verdict")->valuestring;
    bool held = strcmp(word, "HELD") == 0;
    printf("minute %d: %s, %lld units sold in %lld attempts, %d faults, %lld took effect; %s\n",
           minute, word, figure_of(verdict, "sold"), figure_of(verdict, "attempts"), troubles,
           c->landed, usage_text(highest));
    print_findings(verdict);
    fflush(stdout);
    cJSON_Delete(verdict);
    return held;
}

static void pass_minute(soak *s, int minute)
{
    cell *c = &s->cell;
    usage highest = {0};
    snprintf(c->histories[0], sizeof(c->histories[0]), "%s/minute-%d.buys", s->out, minute);
    c->landed = 0;
    c->hold_ms = minute % 2; /* in the other minutes most sections are one script */
    cell_start_sales(c, CREW_BUYERS);
    crew_quick(0);
    crew_pace(PACE_MS);
    sampler_start(c);
    int troubles = sell(s, &highest);
    crew_end();
    sampler_end();
    cell_rest(c);
    s->bad += !judge(c, minute, troubles, &highest);
    forget_old_sales();
    s->last = highest;
    if (minute == 1)
        s->first = highest;
}

/* ---- before the first ------------------------------------------------------------------------ */

/* Each instance has more buyers at once than ever again, while one sale follows another, and then
 * while Redis stands still: so all threads and connections have had work, and malloc()'s arenas
 * have the sizes that they keep. Otherwise an instance would grow for an hour, by less and less. */
static void fill_up(const cell *c)
{
    fx_crowd *herds[FX_INSTANCES];
    for (int turn = 0; turn < FILL_SALES; turn++) {
        fx_start_sale(fx.server[0], CELL_ITEM, "'stock':%d,'strategy':'%s','durability':'%s'",
                      STOCK, c->row.strategy, durability_word(c->row.durability));
        for (int i = 0; i < FX_INSTANCES; i++) {
            if (turn == 0)
                herds[i] = fx_crowd_start(fx_server_url(fx.server[i]), HERD);
            if (!fx_crowd_sells(herds[i], HERD, CELL_PATIENCE_MS))
                fail_msg("instance %d does not sell", i);
        }
    }
    fx_redis_signal(fx.redis, SIGSTOP);
    fx_let_pass(HERD_MS);
    fx_redis_signal(fx.redis, SIGCONT);
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_crowd_stop(herds[i]);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void course(void **state)
{
    soak *s = *state;
    stage_up(&s->cell);
    fx.plan.instances = FX_INSTANCES;
    fill_up(&s->cell);
    fx_terms terms = cell_terms(&s->cell);
    rest_before(&terms);
    forget_old_sales();
    for (int minute = 1; minute <= s->minutes; minute++)
        pass_minute(s, minute);
    bool grown = s->minutes > 1 && !usage_compare(&s->first, &s->last, GROWTH_PERCENT);
    if (s->bad > 0 || grown)
        fail_msg("%d of %d minutes did not hold%s", s->bad, s->minutes,
                 grown ? "; something grows" : "");
}

static int end(void **state)
{
    soak *s = *state;
    crew_end();
    sampler_end();
    stage_down(&s->cell);
    return 0;
}

int soak_run(const matrix_options *options)
{
    static soak s;
    const struct CMUnitTest tests[] = {
        {.name = "soak", .test_func = course, .teardown_func = end, .initial_state = &s}};
    s.minutes = options->minutes;
    s.out = options->out;
    s.cell.fault = &fault_soak;
    s.cell.seed = s.cell.random = options->seed;
    s.cell.items = 1;
    s.cell.stock = STOCK;
    s.cell.lease_ms = LEASE_MS;
    row_read(options->rows ? options->rows : "combined:durability=disk", &s.cell.row);
    if (mkdir(s.out, 0777) != 0 && errno != EEXIST) {
        perror(s.out);
        return 1;
    }
    printf("soak: %s, %d minutes, --seed %llu\n", s.cell.row.name, s.minutes,
           (unsigned long long)s.cell.seed);
    fflush(stdout);
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL) > 0;
}
