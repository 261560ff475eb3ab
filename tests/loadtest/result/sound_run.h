/*
 * What a sound run counted, made by hand, of which a table changes one figure or a few: 300
 * requests of 20 users for 100 units, all sold, at two targets.
 */
#ifndef TESTS_LOADTEST_RESULT_SOUND_RUN_H
#define TESTS_LOADTEST_RESULT_SOUND_RUN_H

#include "tests/support/fixture.h"

#include "loadtest/result/validity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REQUESTS = 300, USERS = 20, STOCK = 100, CHANGES_MAX = 9 };

/* A figure, and what it is to be. */
typedef struct change {
    enum { IN_NOTHING, IN_RESULT, IN_TALLY, IN_PLAN, IN_SPEC } where;
    size_t at, size;
    bool real;
    double value;
} change;

#define CHANGE(where, type, member, value)                                                         \
    {                                                                                              \
        where, offsetof(type, member), sizeof(((type *)0)->member),                                \
            _Generic(((type *)0)->member, double                                                   \
                     : true, default                                                               \
                     : false),                                                                     \
            value                                                                                  \
    }
#define RESULT(member, value) CHANGE(IN_RESULT, lt_result, member, value)
#define TALLY(member, value)  CHANGE(IN_TALLY, lt_tally, member, value)
#define PLAN(member, value)   CHANGE(IN_PLAN, lt_plan, member, value)
#define SPEC(member, value)   CHANGE(IN_SPEC, lt_sale_spec, member, value)

typedef struct judged_case {
    change changes[CHANGES_MAX];
    const char *words; /* in a reason against the run; NULL: there is none */
} judged_case;

/* The pieces of one run; they point at each other. */
typedef struct sound {
    lt_sale_spec spec;
    lt_plan plan;
    lt_tally *tally;
    lt_result result;
} sound;

static inline void sound_record(lt_histogram_slot *slot, int64_t us, int times)
{
    if (!*slot)
        *slot = histogram_new();
    for (int i = 0; i < times; i++)
        histogram_record(*slot, us);
}

static inline void sound_make(sound *s)
{
    s->spec = (lt_sale_spec){.strategy = "combined", .label = "combined"};
    s->plan = (lt_plan){.item = "P0001",
                        .stock = STOCK,
                        .quantity = 1,
                        .users = USERS,
                        .requests = REQUESTS,
                        .targets = {"http://a", "http://b"},
                        .target_count = 2};
    s->tally = tally_new();
    *s->tally = (lt_tally){.issued = REQUESTS, .completed = REQUESTS};
    s->tally->outcomes[OUT_SOLD] = STOCK;
    s->tally->outcomes[OUT_SOLD_OUT] = REQUESTS - STOCK;
    for (int i = 0; i < 2; i++)
        sound_record(&s->tally->targets[i].latency, 1000, REQUESTS / 2);
    s->result = (lt_result){
        .spec = &s->spec,
        .sale = "s1",
        .stock_asked = STOCK,
        .stop_reason = STOP_REQUESTS,
        .elapsed_s = 2,
        .offered_s = 2,
        .sellout_s = 1,
        .tally = s->tally,
        .all_due = histogram_new(),
        .fairness = {.users = USERS},
        .verdict = VERDICT_SAFE,
        .sold = STOCK,
        .sold_units = STOCK,
        .evidence = {.ledger = LEDGER_WHOLE},
        .health = {.cores = 2, .share = 0.5},
    };
}

static inline void sound_free(sound *s)
{
    result_free(&s->result);
}

static inline void sound_change(sound *s, const change *c)
{
    char *base = c->where == IN_RESULT  ? (char *)&s->result
                 : c->where == IN_TALLY ? (char *)s->tally
                 : c->where == IN_PLAN  ? (char *)&s->plan
                                        : (char *)&s->spec;
    int64_t whole = (int64_t)c->value;
    assert_true(c->size <= sizeof(whole)); /* little endian: the low bytes come first */
    memcpy(base + c->at, c->real ? (const void *)&c->value : (const void *)&whole, c->size);
}

static inline bool sound_says(const lt_result *result, const char *words)
{
    bool said = false;
    for (int i = 0; i < result->reason_count; i++)
        said |= !words || strstr(result->reasons[i], words);
    return said == (words != NULL);
}

static inline void judge_all(const judged_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        sound s;
        sound_make(&s);
        for (int n = 0; n < CHANGES_MAX && cases[i].changes[n].where; n++)
            sound_change(&s, &cases[i].changes[n]);
        validity_check(&s.result, &s.plan);
        if (!sound_says(&s.result, cases[i].words))
            fail_msg("row %zu: %d reasons, \"%s\", not \"%s\"", i, s.result.reason_count,
                     s.result.reasons[0], cases[i].words ? cases[i].words : "");
        sound_free(&s);
    }
}

#endif
