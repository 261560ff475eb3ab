/* batch_round.c - sleeps on a word or on a socket, and wakes. */
#include "server/selling/batch_round.h"

#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* A buyer's thread whose client has been told and is silent goes back to its server after so long,
 * which looks for the end of the process, for one. */
#define SILENCE_MS 100

void round_init(batch_round *round)
{
    round->next = NULL;
    atomic_init(&round->answered, 0);
    atomic_init(&round->users, 1);
    round->count = round->gone = 0;
    round->stage = QUEUED;
}

batch_place *round_add(batch_round *round, const purchase *request, bool direct)
{
    batch_place *place = &round->places[round->count++];
    place->left = place->in_doubt = false;
    place->request = *request;
    atomic_init(&place->turn, direct ? TURN_ASLEEP : TURN_AWAKE);
    atomic_fetch_add(&round->users, 1);
    return place;
}

bool round_let_go(batch_round *round)
{
    return atomic_fetch_sub(&round->users, 1) == 1;
}

/* ---- the buyer's side ------------------------------------------------------------------------ */

bool round_wait(batch_round *round, dlock_time until)
{
    while (atomic_load(&round->answered) == 0) {
        int64_t left_us = until.us - dlock_now().us;
        if (left_us <= 0)
            return false;
        struct timespec left = {.tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000};
        syscall(SYS_futex, &round->answered, FUTEX_WAIT_PRIVATE, 0, &left, NULL, 0);
    }
    return true;
}

static bool change_turn(batch_place *place, batch_turn from, batch_turn to)
{
    int expected = from;
    return atomic_compare_exchange_strong(&place->turn, &expected, to);
}

bool round_give_up(batch_place *place)
{
    return atomic_load(&place->turn) == TURN_AWAKE || change_turn(place, TURN_ASLEEP, TURN_AWAKE);
}

/* Sleeps on the client's socket. What arrives there before the answer is a request behind this one,
 * or its end: the buyer then waits as everybody else does. */
static void sleep_on_socket(batch_place *place, dlock_time until)
{
    const direct_answer *direct = place->request.direct;
    struct pollfd fds[] = {{direct->socket, POLLIN | POLLRDHUP, 0}, {direct->wakeup, POLLIN, 0}};
    while (atomic_load(&place->turn) == TURN_ASLEEP) {
        int64_t left_ms = dlock_left_ms(until);
        if (left_ms <= 0)
            return;
        int ready = poll(fds, 2, left_ms < SILENCE_MS ? (int)left_ms : SILENCE_MS);
        if (ready > 0 && fds[0].revents)
            change_turn(place, TURN_ASLEEP, TURN_AWAKE);
    }
}

/* The leader has woken this thread, or is about to. Consume the event, or a later wait would find
 * it. */
static void take_wakeup(const direct_answer *direct)
{
    uint64_t calls;
    while (read(direct->wakeup, &calls, sizeof(calls)) < 0) {
    }
}

bool round_wait_answer(batch_round *round, batch_place *place, dlock_time until)
{
    if (atomic_load(&place->turn) == TURN_ASLEEP)
        sleep_on_socket(place, until);
    int turn = atomic_load(&place->turn);
    if (turn == TURN_ASLEEP)
        return false;
    if ((turn == TURN_AWAKE || turn == TURN_TELLING) && !round_wait(round, until))
        return false;
    turn = atomic_load(&place->turn);
    if (turn == TURN_HANDED)
        take_wakeup(place->request.direct);
    place->result.told = turn == TURN_TOLD;
    return true;
}

/* ---- the leader's side ----------------------------------------------------------------------- */

void round_end(batch_round *round)
{
    atomic_store(&round->answered, 1);
    syscall(SYS_futex, &round->answered, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* Until the turn is TOLD or HANDED the buyer does not go, so its `direct` is there. */
static void tell(batch_place *place, const open_sale *sale)
{
    static const uint64_t call = 1;
    direct_answer *direct = place->request.direct;
    if (sale_may_tell(sale, &place->result) && direct->tell(direct, &sale->terms, &place->result)) {
        atomic_store(&place->turn, TURN_TOLD);
        return;
    }
    while (write(direct->wakeup, &call, sizeof(call)) < 0) {
    }
    atomic_store(&place->turn, TURN_HANDED);
}

void round_answer(batch_round *round, const open_sale *sale)
{
    for (int i = 0; i < round->count; i++) {
        batch_place *place = &round->places[i];
        if (!place->left && change_turn(place, TURN_ASLEEP, TURN_TELLING))
            tell(place, sale);
    }
    round_end(round);
}
