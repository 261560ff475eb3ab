/*
 * A thread that is one user: thinks, buys, waits for the answer, again. What it works on is its
 * buyer alone.
 */
#include "loadtest/load/buyer.h"
#include "loadtest/load/driver.h"

static void *user_make(lt_run_state *state, int number, int count)
{
    (void)count;
    return buyer_new(state, &state->tallies.items[number], NULL, number);
}

static void user_free(void *work)
{
    buyer_free(work);
}

static void *user_main(void *work)
{
    lt_buyer *buyer = work;
    lt_run_state *state = buyer_state(buyer);
    int64_t ticket;

    buyer_warm_up(buyer);
    buyer_warmed_up(buyer, curl_easy_perform(buyer_easy(buyer)));
    run_state_wait_for_start(state);
    mono_ns due = state->started_at;
    while (clock_sleep_unless(&state->stop_reason, due) &&
           run_state_ticket(state, buyer_user(buyer), &ticket)) {
        buyer_take(buyer, ticket, due);
        while (buyer_settle(buyer, curl_easy_perform(buyer_easy(buyer))))
            ;
        due = clock_now() + state->plan->think;
    }
    buyer_leave(buyer);
    run_state_finish(state);
    return NULL;
}

static void user_wake(void *work)
{
    buyer_break(work);
}

const lt_driver driver_user_thread = {user_make, user_free, user_main, user_wake};
