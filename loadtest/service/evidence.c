/*
 * Every question and answer is recorded by whoever asks; the judge says what it means. This file
 * only decides what is asked again.
 */
#include "loadtest/service/evidence.h"

#include "loadtest/service/prober.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ASKERS       16    /* questions at a time */
#define UNKNOWN_MOST 20000 /* lookups: the service can make so many final */
#define AGAIN_NS     (200 * NS_PER_MS)
#define SAMPLES_NS   (4 * NS_PER_S)
#define VOIDS        10   /* of the final ones, sent again */
#define OTHERS       20   /* of the sold ones, sent again for somebody else */
#define ORDERS_MORE  1000 /* entries that a ledger may list, beyond four for each request */

/* ---- the terms ------------------------------------------------------------------------------- */

void evidence_terms(lt_pen *pen, const lt_plan *plan, const lt_sale_spec *spec, const lt_sale *sale)
{
    bool sharded = sale_spec_sharded(spec);
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    pen_word(pen, "sale");
    pen_text(pen, "id", sale->id);
    pen_text(pen, "item", plan->item);
    pen_text(pen, "strategy", spec->strategy);
    pen_text(pen, "durability", spec->durability[0] != '\0' ? spec->durability : "memory");
    pen_number(pen, "stock", plan->stock);
    pen_number(pen, "limit", spec->per_user_limit > 0 ? spec->per_user_limit : 0);
    if (plan->reserve_s > 0)
        pen_number(pen, "reserve_us", plan->reserve_s * 1000000);
    pen_number(pen, "segments", sharded ? sale->segments : 0);
    pen_number(pen, "lease_us", sale->lease_ms * 1000);
    pen_number(pen, "wait_us", sale->wait_ms * 1000);
    if (plan->expect_failover)
        pen_number(pen, "failovers", 1);
    pen_number(pen, "wall_us", (int64_t)wall.tv_sec * 1000000 + wall.tv_nsec / 1000);
    pen_time(pen, "at", clock_now());
    pen_line(pen);
}

/* ---- before ---------------------------------------------------------------------------------- */

/* False: no answer came. */
static bool ask_for_sale(lt_asker *asker, const lt_run_state *state, const char *sale, int number)
{
    char request[REQUEST_ID_MAX];
    lt_answer answer;
    snprintf(request, sizeof(request), "%s-sale-%d", state->key_prefix, number);
    asker_buy(asker,
              (lt_question){.request = request,
                            .user = "probe",
                            .asked = sale,
                            .quantity = 1,
                            .target = number % state->plan->target_count},
              &answer);
    return answer.came;
}

void evidence_before(lt_asker *asker, const lt_run_state *state, const lt_sale *sale)
{
    const char *const sales[] = {"no-such-sale", "no-such-sale", sale->previous, sale->previous};
    for (int i = 0; i < 4 && sales[i][0] != '\0'; i++) {
        if (!ask_for_sale(asker, state, sales[i], i))
            return;
    }
}

/* ---- unknown outcomes ------------------------------------------------------------------------ */

typedef struct lt_lookup {
    const lt_run_state *state;
    lt_tickets tickets;
    mono_ns deadline;
    _Atomic size_t next;       /* of this round */
    _Atomic unsigned char *is; /* of each ticket: an lt_fate */
} lt_lookup;

typedef enum lt_fate { FATE_OPEN, FATE_SOLD, FATE_NEVER } lt_fate;

/* Looks up all open requests once. */
static void look_up(lt_asker *asker, void *arg)
{
    lt_lookup *lookup = arg;
    lt_answer answer;
    for (size_t i; (i = lookup->next++) < lookup->tickets.count;) {
        if (lookup->is[i] != FATE_OPEN || clock_now() > lookup->deadline)
            continue;
        probe_ask(asker, lookup->state, FOLLOW_LOOK, lookup->tickets.items[i], (int)(i % 64),
                  &answer);
        if (answer.status == 200 && strcmp(answer.told.state.text, "reserved") != 0)
            lookup->is[i] = FATE_SOLD; /* or cancelled, or expired */
        else if (answer.status == 404 && answer.final)
            lookup->is[i] = FATE_NEVER;
    }
}

static int64_t count_open(const lt_lookup *lookup)
{
    int64_t count = 0;
    for (size_t i = 0; i < lookup->tickets.count; i++)
        count += lookup->is[i] == FATE_OPEN;
    return count;
}

/* Some requests with a final refusal are sent again: they must not buy. */
static void ask_for_void(lt_asker *asker, const lt_run_state *state, const lt_lookup *lookup)
{
    lt_answer answer;
    int asked = 0;
    for (size_t i = 0; i < lookup->tickets.count && asked < VOIDS; i++) {
        if (lookup->is[i] != FATE_NEVER)
            continue;
        probe_ask(asker, state, FOLLOW_RETRY, lookup->tickets.items[i], (int)i, &answer);
        asked++;
    }
}

static void resolve_unknowns(lt_asker *asker, const lt_run_state *state, mono_ns patience)
{
    lt_lookup lookup = {.state = state,
                        .tickets = followups_unknown(state->followups),
                        .deadline = clock_now() + patience};
    if (lookup.tickets.count > UNKNOWN_MOST)
        lookup.tickets.count = UNKNOWN_MOST;
    lookup.is = calloc(lookup.tickets.count + 1, sizeof(lookup.is[0]));
    if (!lookup.is)
        return;
    while (count_open(&lookup) > 0 && clock_now() < lookup.deadline) {
        lookup.next = 0;
        asker_share(asker, ASKERS, look_up, &lookup);
        if (count_open(&lookup) > 0)
            clock_sleep_until(clock_now() + AGAIN_NS);
    }
    ask_for_void(asker, state, &lookup);
    free((void *)lookup.is);
}

/* ---- at rest --------------------------------------------------------------------------------- */

typedef struct lt_samples {
    const lt_run_state *state;
    lt_tickets sold, refused;
    _Atomic size_t next_sold, next_refused;
} lt_samples;

static void ask_share_of_samples(lt_asker *asker, void *arg)
{
    lt_samples *samples = arg;
    lt_answer answer;
    for (size_t i; !asker_is_late(asker) && (i = samples->next_sold++) < samples->sold.count;) {
        lt_followup_kind kind = i % 2 == 0 ? FOLLOW_LOOK : FOLLOW_RETRY;
        probe_ask(asker, samples->state, kind, samples->sold.items[i], (int)(i / 2), &answer);
        if (i < OTHERS)
            probe_ask(asker, samples->state, FOLLOW_OTHER, samples->sold.items[i], (int)i, &answer);
        kind = i % 4 < 2 ? FOLLOW_END : FOLLOW_OTHER_END;
        if (samples->state->plan->reserve_s > 0)
            probe_ask(asker, samples->state, kind, samples->sold.items[i], (int)i, &answer);
    }
    for (size_t i;
         !asker_is_late(asker) && (i = 4 * samples->next_refused++) < samples->refused.count;)
        probe_ask(asker, samples->state, FOLLOW_LOOK, samples->refused.items[i], (int)(i / 4),
                  &answer);
}

/* Asks about a sample of sold and refused requests for a while, a part of it at each target. */
static void ask_samples(lt_asker *asker, const lt_run_state *state)
{
    lt_samples samples = {.state = state,
                          .sold = followups_sold(state->followups),
                          .refused = followups_refused(state->followups)};
    asker_limit(asker, clock_now() + SAMPLES_NS);
    asker_share(asker, ASKERS, ask_share_of_samples, &samples);
    asker_limit(asker, INT64_MAX);
}

static void read_stocks(lt_asker *asker, lt_http *http, const lt_run_state *state, lt_evidence *ret)
{
    lt_stock stock;
    char err[768];
    for (int i = state->plan->target_count - 1; i >= 0; i--) {
        ret->stock_known =
            stock_read(http, asker_pen(asker), state->plan, i, true, &stock, err, sizeof(err));
        if (ret->stock_known && strcmp(stock.sale, state->sale) == 0)
            ret->stock = stock;
        else if (ret->stock_known)
            snprintf(err, sizeof(err), "another sale (%s) replaced this run's", stock.sale);
    }
    ret->stock_known = strcmp(ret->stock.sale, state->sale) == 0;
    if (!ret->stock_known) {
        snprintf(ret->why, sizeof(ret->why), "no stock after the run: %.170s", err);
        return;
    }
    stock_write_rest(asker_pen(asker), &ret->stock);
}

/* Reading number `n`. */
static lt_ledger read_ledger(lt_asker *asker, lt_http *http, const lt_run_state *state, int n,
                             int target, lt_evidence *ret)
{
    char err[160];
    int64_t most = 4 * atomic_load(&state->tickets) + ORDERS_MORE;
    lt_ledger ledger = ledger_read(http, asker_pen(asker), state->plan, state->sale, target, n,
                                   most, err, sizeof(err));
    if (ledger == LEDGER_BROKEN && ret->why[0] == '\0')
        snprintf(ret->why, sizeof(ret->why), "GET /orders: the ledger can not be read: %.150s",
                 err);
    return ledger;
}

void evidence_after(lt_asker *asker, lt_http *http, const lt_run_state *state, mono_ns patience,
                    lt_evidence *ret)
{
    *ret = (lt_evidence){.ledger = LEDGER_BROKEN};
    resolve_unknowns(asker, state, patience);
    ask_samples(asker, state);
    ret->ledger = read_ledger(asker, http, state, 1, 0, ret);
    read_stocks(asker, http, state, ret);
    /* Once more, later, and at each other target. */
    for (int i = 1; ret->ledger == LEDGER_WHOLE && (i < state->plan->target_count || i == 1); i++)
        read_ledger(asker, http, state, i + 1, i % state->plan->target_count, ret);
}
