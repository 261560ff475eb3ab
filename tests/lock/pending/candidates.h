/* What the tests of elections share: candidates, and waiting for what becomes of them. */
#ifndef TESTS_LOCK_PENDING_CANDIDATES_H
#define TESTS_LOCK_PENDING_CANDIDATES_H

#include <poll.h>

#include "tests/lock/rig.h"

#define SOON_MS 20000 /* limit for what should take a moment */

static inline dlock_election *candidate_as(dlock_client *client, const char *name,
                                           const dlock_election_options *options)
{
    char err[256] = "";
    dlock_election *e = NULL;
    if (dlock_election_new(client, name, options, &e, err, sizeof(err)) != DLOCK_OK)
        fail_msg("%s", err);
    return e;
}

/* The longest lease that a test waits for the end of is this one. */
static inline dlock_election *candidate(dlock_client *client, const char *name)
{
    return candidate_as(client, name, &(dlock_election_options){.lease_ms = fx_lease_ms(1000)});
}

static inline bool has_news(const dlock_election *e, int ms)
{
    struct pollfd fd = {.fd = dlock_election_fd(e), .events = POLLIN};
    return poll(&fd, 1, ms) == 1;
}

/* Waits by its descriptor until its status is this one. */
static inline void until_status(dlock_election *e, dlock_status wanted)
{
    dlock_time give_up = dlock_in_ms(fx_patient_ms(SOON_MS));
    dlock_status status = dlock_election_status(e);
    while (status != wanted && !dlock_passed(give_up)) {
        has_news(e, dlock_left_ms(give_up));
        status = dlock_election_status(e);
    }
    if (status != wanted)
        fail_msg("it is \"%s\", not \"%s\"", dlock_status_text(status), dlock_status_text(wanted));
}

static inline dlock_hold *until_elected(dlock_election *e)
{
    until_status(e, DLOCK_OK);
    dlock_hold *hold = dlock_election_hold(e);
    assert_non_null(hold);
    return hold;
}

static inline void start(dlock_election *e)
{
    assert_int_equal(dlock_election_start(e, NULL), DLOCK_OK);
}

/* Asks again where a busy machine did not answer in time. */
static inline dlock_info leader_of(dlock_election *e)
{
    dlock_info info;
    dlock_time give_up = dlock_in_ms(fx_patient_ms(SOON_MS));
    dlock_status status = dlock_election_leader(e, &info);
    while (status == DLOCK_UNKNOWN && !dlock_passed(give_up))
        status = dlock_election_leader(e, &info);
    assert_int_equal(status, DLOCK_OK);
    return info;
}

/* A guarded write: the fence goes to the end of the list. */
#define FENCE_TO_LIST "return redis.call('RPUSH', KEYS[1], fence)"

static inline dlock_status write_fence(dlock_hold *hold, dlock_guard *guard, const char *list)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, list);
    dlock_status status =
        dlock_guard_call(hold, guard, 1, &args, false, dlock_in_ms(SOON_MS), &reply);
    dlock_args_free(&args);
    freeReplyObject(reply);
    return status;
}

#endif
