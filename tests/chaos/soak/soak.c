/*
 * soak.c - a sale a minute, each judged by buycheck when it is at rest.
 *
 * Buyers buy slowly enough that a sale lasts for most of its minute, and every minute sells the
 * same number, so that Redis has the same to keep. When a sale has been judged its keys are
 * deleted, as they would expire a day later. What the servers take is looked at between the faults;
 * the highest of the last minute is held to the highest of the first.
 */
#include "tests/chaos/soak/soak.h"

#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/chaos/crew.h"
#include "tests/chaos/faults/fault.h"
#include "tests/chaos/journal.h"
#include "tests/chaos/judge.h"
#include "tests/chaos/rest.h"
#include "tests/chaos/sampler.h"
#include "tests/chaos/soak/trouble.h"
#include "tests/chaos/soak/usage.h"
#include "tests/chaos/stage.h"
#include "tests/support/crowd.h"

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
    GROWTH_PERCENT = 5,
    USAGE = 64
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
static void forget_old_sales(const cell *c)
{
    char current[64];
    snprintf(current, sizeof(current), ":%s:", fx_current_sale(c->item));
    redisReply *keys = fx_redis_reply(fx.redis, "KEYS fs:{%s*}:*:*", c->item);
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
    cJSON_ArrayForEach(check, cJSON_GetObjectItemCaseSensitive(verdict, "invariants"))
    {
        const char *state = cJSON_GetObjectItemCaseSensitive(check, "state")->valuestring;
        if (strcmp(state, "violated") == 0 || strcmp(state, "unchecked") == 0)
            printf("  %s %s: %s\n", cJSON_GetObjectItemCaseSensitive(check, "name")->valuestring,
                   state, cJSON_GetObjectItemCaseSensitive(check, "first")->valuestring);
    }
}

static bool judge(const cell *c, const char *history, int minute, int troubles,
                  const usage *highest)
{
    cJSON *verdict = judge_cell(c, history, 0);
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
    char history[512];
    usage highest = {0};
    snprintf(history, sizeof(history), "%s/minute-%d.buys", s->out, minute);
    journal_open(history);
    c->landed = 0;
    cell_start_sale(c);
    crew_start(c->item, c->sale, false);
    crew_pace(PACE_MS);
    sampler_start(c);
    int troubles = sell(s, &highest);
    crew_end();
    sampler_end();
    rest_after(c);
    journal("landed count=%lld", c->landed);
    journal_close();
    s->bad += !judge(c, history, minute, troubles, &highest);
    forget_old_sales(c);
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
        fx_start_sale(fx.server[0], c->item, "'stock':%d,'strategy':'%s','durability':'%s'", STOCK,
                      c->row.strategy, durability_word(c->row.durability));
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
    rest_before(&s->cell);
    forget_old_sales(&s->cell);
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

static int usage_error(void)
{
    fputs("usage: matrix soak --minutes N [--seed N] [--row ROW] [--out DIR]\n"
          "  --minutes  1 to 10000\n"
          "  --seed     the same faults again (a new one, which is printed)\n"
          "  --row      what sells (combined:durability=disk)\n"
          "  --out      a directory for the histories (build/soak)\n",
          stderr);
    return USAGE;
}

static bool read_number(const char *text, unsigned long long most, unsigned long long *ret)
{
    char *end_of;
    errno = 0;
    *ret = strtoull(text, &end_of, 10);
    return text[0] >= '0' && text[0] <= '9' && *end_of == '\0' && errno == 0 && *ret <= most;
}

static bool read_options(int argc, char **argv, soak *s)
{
    static const struct option known[] = {{"minutes", required_argument, NULL, 'm'},
                                          {"seed", required_argument, NULL, 's'},
                                          {"row", required_argument, NULL, 'r'},
                                          {"out", required_argument, NULL, 'o'},
                                          {NULL, 0, NULL, 0}};
    bool ok = true;
    unsigned long long number = 0;
    for (int option; ok && (option = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (option == 'm' && (ok = read_number(optarg, 10000, &number)))
            s->minutes = (int)number;
        else if (option == 's' && (ok = read_number(optarg, UINT64_MAX, &number)))
            s->cell.seed = number;
        else if (option == 'r')
            ok = row_read(optarg, &s->cell.row);
        else if (option == 'o')
            s->out = optarg;
        else
            ok = ok && false;
    }
    return ok && optind == argc && s->minutes > 0;
}

int soak_main(int argc, char **argv)
{
    static soak s = {.out = "build/soak"};
    const struct CMUnitTest tests[] = {
        {.name = "soak", .test_func = course, .teardown_func = end, .initial_state = &s}};
    s.cell.fault = &fault_soak;
    s.cell.seed = (uint64_t)time(NULL);
    row_read("combined:durability=disk", &s.cell.row);
    if (!read_options(argc, argv, &s))
        return usage_error();
    if (mkdir(s.out, 0777) != 0 && errno != EEXIST) {
        perror(s.out);
        return 1;
    }
    s.cell.random = s.cell.seed;
    s.cell.stock = STOCK;
    s.cell.lease_ms = LEASE_MS;
    snprintf(s.cell.item, sizeof(s.cell.item), "P0001");
    printf("soak: %s, %d minutes, --seed %llu\n", s.cell.row.name, s.minutes,
           (unsigned long long)s.cell.seed);
    fflush(stdout);
    return cmocka_run_group_tests_name("soak", tests, NULL, NULL) > 0;
}
