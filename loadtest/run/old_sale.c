/*
 * Two buyers, one after the other; then one key twice at once, and one user who may have one unit
 * twice at once. If a race in the service sells twice, it shows here. And a buyer at each target
 * names an end that has passed, and must be refused as too late.
 */
#include "loadtest/run/old_sale.h"

#include "loadtest/service/evidence.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUYERS      2
#define TRIES       3                /* an answer may be lost */
#define LONG_AGO_US 1000000000000000 /* the earliest possible not_after, in 2001 */
#define LATE_US     3000000          /* more than the judge allows two clocks to be apart */
#define SHARES      (BUYERS + 4)     /* of the stock: for two pairs of clicks, and one is left */

struct lt_old_sale {
    lt_plan plan;      /* the run's, with another stock */
    lt_sale_spec spec; /* likewise, with a limit where there may be one */
    lt_sale sale;
    const char *key_prefix; /* (borrowed) */
    lt_recorder *recorder;
    lt_asker *asker;
};

static void name_request(const lt_old_sale *old, int number, char ret[REQUEST_ID_MAX])
{
    snprintf(ret, REQUEST_ID_MAX, "%s-old-%d", old->key_prefix, number);
}

/* Buys with the request of this number, for a user. False: no answer came. */
static bool ask(lt_old_sale *old, lt_asker *asker, int number, const char *user, int target)
{
    char request[REQUEST_ID_MAX];
    lt_answer answer;
    name_request(old, number, request);
    asker_buy(asker,
              (lt_question){.request = request,
                            .user = user,
                            .quantity = old->plan.quantity,
                            .target = target % old->plan.target_count},
              &answer);
    return answer.came;
}

/* For its own user. */
static bool buy(lt_old_sale *old, int number, int target)
{
    char user[32];
    snprintf(user, sizeof(user), "old-%d", number);
    return ask(old, old->asker, number, user, target);
}

typedef struct lt_click {
    lt_old_sale *old;
    int number, target;
    const char *user;
} lt_click;

static void *click(void *arg)
{
    lt_click *c = arg;
    lt_asker *asker = asker_new(&c->old->plan, c->old->sale.id, c->old->recorder);
    if (asker)
        ask(c->old, asker, c->number, c->user, c->target);
    asker_free(asker);
    return NULL;
}

/* Two requests of one user at once, at two targets; with one number it is the same twice. */
static void click_twice(lt_old_sale *old, int one, int other, const char *user)
{
    lt_click clicks[2] = {{old, one, 0, user}, {old, other, 1, user}};
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, click, &clicks[0]) == 0;
    click(&clicks[1]);
    if (started)
        pthread_join(thread, NULL);
}

/* By the service's clock, if it tells the time. */
static void buy_too_late(lt_old_sale *old, lt_http *http)
{
    char request[REQUEST_ID_MAX], err[256];
    lt_answer answer;
    lt_stock stock;
    bool told = stock_read(http, NULL, &old->plan, 0, true, &stock, err, sizeof(err)) &&
                stock.time_us.form == FORM_GOOD && stock.time_us.value > LONG_AGO_US + LATE_US;
    for (int i = 0; i < old->plan.target_count; i++) {
        name_request(old, SHARES + 2 + i, request);
        asker_buy(old->asker,
                  (lt_question){.request = request,
                                .user = "late",
                                .quantity = old->plan.quantity,
                                .target = i,
                                .not_after_us = told ? stock.time_us.value - LATE_US : LONG_AGO_US},
                  &answer);
    }
}

static void look(lt_old_sale *old, int number, int target)
{
    char request[REQUEST_ID_MAX];
    lt_answer answer;
    name_request(old, number, request);
    asker_look(old->asker, request, target % old->plan.target_count, &answer);
}

static bool hold(lt_old_sale *old, lt_http *http)
{
    char err[768];
    lt_stock stock;
    if (!sale_create(http, &old->plan, &old->spec, &old->sale, err, sizeof(err)) ||
        !sale_wait_everywhere(http, &old->plan, old->sale.id, err, sizeof(err)))
        return false;
    old->asker = asker_new(&old->plan, old->sale.id, old->recorder);
    if (!old->asker)
        return false;
    evidence_terms(asker_pen(old->asker), &old->plan, &old->spec, &old->sale);
    for (int i = 0; i < BUYERS; i++) {
        if (!buy(old, i, 0) || !ask(old, old->asker, i, "other", i)) /* the other: 422 */
            return false;
    }
    click_twice(old, BUYERS, BUYERS, "twice");
    click_twice(old, BUYERS + 1, BUYERS + 2, "pair");
    buy_too_late(old, http);
    if (ledger_read(http, asker_pen(old->asker), &old->plan, old->sale.id, 0, 1, 1000, err,
                    sizeof(err)) == LEDGER_BROKEN)
        return false;
    if (stock_read(http, asker_pen(old->asker), &old->plan, 0, true, &stock, err, sizeof(err)))
        stock_write_rest(asker_pen(old->asker), &stock);
    return true;
}

static lt_old_sale *try_to_hold(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec,
                                const char *key_prefix)
{
    char err[256];
    lt_old_sale *old = calloc(1, sizeof(*old));
    if (!old)
        return NULL;
    old->plan = *plan;
    old->plan.stock = SHARES * plan->quantity;
    old->plan.reserve_s = 0;
    old->spec = *spec;
    if ((spec->per_user_limit == SALE_NOT_GIVEN || plan->reserve_s > 0) && !sale_spec_sharded(spec))
        old->spec.per_user_limit = plan->quantity;
    old->key_prefix = key_prefix;
    old->recorder = recorder_open(NULL, err, sizeof(err));
    if (old->recorder && hold(old, http))
        return old;
    old_sale_free(old);
    return NULL;
}

lt_old_sale *old_sale_hold(lt_http *http, const lt_plan *plan, const lt_sale_spec *spec,
                           const char *key_prefix)
{
    lt_old_sale *old = NULL;
    for (int i = 0; i < TRIES && !old; i++)
        old = try_to_hold(http, plan, spec, key_prefix);
    return old;
}

void old_sale_ask(lt_old_sale *old)
{
    for (int i = 0; i < BUYERS; i++) {
        look(old, i, i + 1);
        buy(old, i, i + 1);
    }
    for (int i = 0; i < 2; i++)
        buy(old, SHARES + i, i); /* 409 sale_closed */
}

const char *old_sale_end(lt_old_sale *old)
{
    asker_free(old->asker);
    old->asker = NULL;
    recorder_end(old->recorder);
    return recorder_path(old->recorder);
}

void old_sale_free(lt_old_sale *old)
{
    if (!old)
        return;
    asker_free(old->asker);
    recorder_free(old->recorder);
    free(old);
}
