/*
 * plan.h - what to run: the sales, and the load on each of them.
 *
 * The command line fills it; nothing changes it afterwards.
 */
#ifndef LOADTEST_PLAN_H
#define LOADTEST_PLAN_H

#include "loadtest/base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLAN_TARGETS_MAX 64
#define PLAN_TARGET_MAX  256 /* letters of a target */
#define PLAN_SALES_MAX   32
#define PLAN_USERS_MAX   60000

typedef enum lt_model {
    MODEL_CLOSED, /* each user: think, buy, wait for the answer, again */
    MODEL_OPEN,   /* requests start on a schedule, whether or not answers come */
    MODEL_FLASH   /* every user at once, connections open beforehand, no think time */
} lt_model;

const char *model_name(lt_model model);

#define SALE_NOT_GIVEN (-1L) /* the service's default */

/* One sale, as POST /sales takes it. Times in ms. */
typedef struct lt_sale_spec {
    char label[160];   /* as written by the user: "setnx:wait_ms=0"; identifies the row */
    char strategy[64]; /* "setnx" */
    char durability[32];
    long lease_ms;
    long wait_ms;
    long hold_ms;
    long per_user_limit;
    long segments;
    bool expect_unsafe; /* a declared negative control: expected to break an invariant */
} lt_sale_spec;

/* Whether its stock is split into segments: what a buyer, or a sale, may expect differs then. */
static inline bool sale_spec_sharded(const lt_sale_spec *spec)
{
    return strcmp(spec->strategy, "sharded") == 0;
}

typedef enum lt_preset { PRESET_NONE, PRESET_CONTENDED, PRESET_REFERENCE } lt_preset;

const char *preset_name(lt_preset preset);

typedef struct lt_plan {
    lt_sale_spec specs[PLAN_SALES_MAX]; /* they take turns, under the same load */
    int spec_count;
    int runs;           /* of each sale */
    mono_ns run_length; /* of each, see plan_turns(); 0: until the requests are used up */
    lt_preset preset;
    bool accept_counts; /* a service without a ledger may be judged by its counts */
    bool needs_control; /* an unlocked run must go wrong, or the comparison proves nothing */
    const char *redis_info[PLAN_TARGETS_MAX]; /* addresses for INFO */
    int redis_count;

    char targets[PLAN_TARGETS_MAX][PLAN_TARGET_MAX + 1]; /* base URLs without a trailing slash */
    int target_count;
    const char *admin_token; /* of the service, or NULL */
    const char *item;
    long stock;
    long quantity;          /* units a request asks for */
    long reserve_s;         /* buys reserve for this long; 0: they buy at once */
    double confirm, cancel; /* shares of the reserved orders that end so, 0..1 */

    lt_model model;
    int users;
    int64_t requests; /* 0: no limit */
    mono_ns duration; /* 0: no limit */
    bool until_sold_out;
    mono_ns think;
    double rate;  /* open model: requests a second, over all targets */
    bool poisson; /* exponential gaps instead of equal ones */
    uint64_t seed;

    bool rotate;     /* each request to the next target instead of one target a user */
    bool same_names; /* one name per user (in an open model: plan->users of them, in turn) instead
                        of one per request */
    long timeout_ms; /* of one attempt */
    long retries;    /* further attempts after an unknown outcome, with the same key */
    double replay;   /* share of sold requests that are sent again, 0..1 */
    bool expect_failover; /* the service may fail over meanwhile: what was read may grow older */
    int workers;          /* threads that the users share */
} lt_plan;

/*
 * With a run length each sale is held once as planned, and then plan->runs times for that long:
 * users ask until the time is over, without shares. The stock is half of the answers that are
 * expected in that time, so the sale sells for one half of the time and refuses for the other. Thus
 * strategies that differ by a factor of twenty are measured for the same time under the same load,
 * and each run still shows whether the last unit was sold once. plan_turns() is the number of runs
 * in all.
 */
static inline int plan_turns(const lt_plan *plan)
{
    return plan->runs + (plan->run_length > 0);
}

/* Turns the plan into that of a timed run, for a sale that had so many answers a second as
 * planned. Leaves it unchanged if there were none. */
void plan_limit_time(lt_plan *plan, double throughput_rps);

/*
 * Tickets are the numbers of a run's requests. In a closed or flash model they belong to the users:
 * user u has u, u + users, u + 2 users, ... With N requests every user has a share of N / users,
 * the first ones one more, and no user can use up another's share. In an open model tickets are
 * taken in the order due and belong to no user.
 */
static inline int plan_user_of(const lt_plan *plan, int64_t ticket)
{
    return (int)(ticket % plan->users);
}

#define USER_NAME_MAX 32

/* The name under which the request of a ticket buys. */
void plan_user_name(const lt_plan *plan, int64_t ticket, char ret[USER_NAME_MAX]);

/*
 * Parses "NAME[:option=value]..." over `defaults` (whose strategy is ignored). False, with a
 * sentence in `err`, when the text is not of that form or an option is unknown.
 */
bool sale_spec_parse(const char *text, const lt_sale_spec *defaults, lt_sale_spec *ret, char *err,
                     size_t err_len);

/* A spec in which nothing is given. */
lt_sale_spec sale_spec_none(void);

/* Whether this request belongs to the share that is sent again once sold; the same for the same
 * seed. */
bool plan_replays(const lt_plan *plan, int64_t ticket);

/* What the user does with this request's reserved order: "confirm", "cancel", or NULL, nothing;
 * the same for the same seed. */
const char *plan_ending(const lt_plan *plan, int64_t ticket);

#endif
