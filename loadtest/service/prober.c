/* One thread asks one question at a time during the load: 200 a second are no load. */
#include "loadtest/service/prober.h"

#include "loadtest/load/followups.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define REST_ASKERS  16 /* for what is left when the load is over */
#define PAUSE_NS     (2 * NS_PER_MS)
#define TRIES        50
#define TRY_AGAIN    (2 * NS_PER_MS) /* after an attempt that said nothing of the order */
#define CHEAP_TRIES  5               /* without a pause */
#define SILENT_TRIES 2               /* that got no answer */

struct lt_prober {
    const lt_run_state *state;
    lt_asker *asker;
    pthread_t thread;
    _Atomic int stop;
    _Atomic int64_t retries;
};

static int other_target(const lt_plan *plan, int target)
{
    return (target + 1) % plan->target_count;
}

/* Whether it says something of the order: "busy", or no answer, does not. */
static bool tells(const lt_answer *answer)
{
    return answer->status == 200 || answer->status == 201 ||
           (answer->status >= 400 && answer->status < 500 && answer->status != 408 &&
            answer->status != 429);
}

void probe_ask(lt_asker *asker, const lt_run_state *state, lt_followup_kind kind, int64_t ticket,
               int target, lt_answer *ret)
{
    char request[REQUEST_ID_MAX], user[USER_NAME_MAX];
    run_state_request_id(state, ticket, request);
    plan_user_name(state->plan, ticket, user);
    target = other_target(state->plan, target);
    if (kind == FOLLOW_LOOK) {
        asker_look(asker, request, target, ret);
        return;
    }
    const char *ending = plan_ending(state->plan, ticket);
    bool confirm = (!ending || ending[1] == 'o') == (kind == FOLLOW_END);
    bool ends = kind == FOLLOW_END || kind == FOLLOW_OTHER_END;
    bool other = kind == FOLLOW_OTHER, more = other && ticket % 2 == 1;
    lt_question question = {.request = request,
                            .user = other && !more ? "probe" : user,
                            .ending = !ends     ? NULL
                                      : confirm ? "confirm"
                                                : "cancel",
                            .quantity = state->plan->quantity + more};
    int silent = 0;
    for (int i = 0; i < TRIES && silent < SILENT_TRIES && !asker_is_late(asker); i++) {
        question.target = (target + i) % state->plan->target_count;
        (ends ? asker_end : asker_buy)(asker, question, ret);
        if (tells(ret) || run_state_is_cut((lt_run_state *)state))
            return;
        silent += ret->status == 0;
        if (i >= CHEAP_TRIES)
            clock_sleep_until(clock_now() + TRY_AGAIN);
    }
}

static void follow_up(lt_prober *prober, lt_asker *asker, const lt_followup *item)
{
    lt_answer answer;
    bool expires = item->kind >= FOLLOW_END && !plan_ending(prober->state->plan, item->ticket);
    probe_ask(asker, prober->state, expires ? FOLLOW_LOOK : item->kind, item->ticket, item->target,
              &answer);
    prober->retries += item->kind == FOLLOW_RETRY;
}

static void *prober_main(void *arg)
{
    lt_prober *prober = arg;
    lt_followup item;
    while (!prober->stop) {
        if (followups_take(prober->state->followups, false, &item))
            follow_up(prober, prober->asker, &item);
        else
            clock_sleep_until(clock_now() + PAUSE_NS);
    }
    return NULL;
}

/* Asks what is left after the load. */
static void work_off(lt_asker *asker, void *arg)
{
    lt_prober *prober = arg;
    lt_followup item;
    while (!asker_is_late(asker) && followups_take(prober->state->followups, true, &item))
        follow_up(prober, asker, &item);
}

lt_prober *prober_start(const lt_run_state *state)
{
    lt_prober *prober = calloc(1, sizeof(*prober));
    if (!prober)
        return NULL;
    prober->state = state;
    prober->asker = asker_new(state->plan, state->sale, state->recorder);
    if (prober->asker && pthread_create(&prober->thread, NULL, prober_main, prober) == 0)
        return prober;
    asker_free(prober->asker);
    free(prober);
    return NULL;
}

int64_t prober_stop(lt_prober *prober, mono_ns deadline)
{
    prober->stop = 1;
    pthread_join(prober->thread, NULL);
    asker_limit(prober->asker, deadline);
    asker_share(prober->asker, REST_ASKERS, work_off, prober);
    int64_t retries = prober->retries;
    asker_free(prober->asker);
    free(prober);
    return retries;
}
