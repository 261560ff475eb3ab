/* What a reply is worth, by its shape: one that is shorter than the script's, or has a word for a
 * number, is no answer; and what is just one. */
#include "tests/lock/rig.h"

#include "lock/core/ask.h"
#include "lock/core/client.h"
#include "lock/core/kind.h"
#include "lock/shares/shares.h"

enum { MOST = 5, NO_WORD = -1, LEASE_MS = 10000 };

/* An array of numbers, of which the one at `word` is a word instead. */
static redisReply *list(const int64_t *numbers, size_t count, int word)
{
    static char text[] = "word";
    static redisReply items[MOST], all;
    static redisReply *pointers[MOST];
    for (size_t i = 0; i < count; i++) {
        items[i] = (redisReply){.type = REDIS_REPLY_INTEGER, .integer = numbers[i]};
        if ((int)i == word)
            items[i] = (redisReply){.type = REDIS_REPLY_STRING, .str = text, .len = strlen(text)};
        pointers[i] = &items[i];
    }
    for (size_t i = count; i < MOST; i++)
        pointers[i] = NULL; /* whoever looks there ends here */
    all = (redisReply){.type = REDIS_REPLY_ARRAY, .elements = count, .element = pointers};
    return &all;
}

static void an_acquire_is_read_by_its_shape(void **state)
{
    rig *r = *state;
    static const struct {
        int64_t numbers[MOST];
        size_t count;
        int word;
        dlock_status status;
        answer is;
    } cases[] = {
        {{0}, 0, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{1}, 1, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{1, 7, 5}, 3, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{1, 7, 5, 0}, 4, NO_WORD, DLOCK_OK, {.granted = true, .retry_ms = -1, .fence = 7}},
        {{1, 7, 5, 0, 0}, 5, NO_WORD, DLOCK_OK, {.granted = true, .retry_ms = -1, .fence = 7}},
        {{1, 7, 5, 0}, 4, 0, DLOCK_FAILED, {.retry_ms = -1}},
        {{1, 7, 5, 0}, 4, 1, DLOCK_FAILED, {.retry_ms = -1}},
        {{1, 7, 5, 0}, 4, 2, DLOCK_FAILED, {.retry_ms = -1}},
        {{1, 7, 5, 0}, 4, 3, DLOCK_FAILED, {.retry_ms = -1}},
        {{0}, 1, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{0, 55}, 2, NO_WORD, DLOCK_OK, {.retry_ms = 55}},
        {{0, 55}, 2, 1, DLOCK_FAILED, {.retry_ms = -1}},
        {{0, 55, 9}, 3, NO_WORD, DLOCK_OK, {.retry_ms = 55, .fence = 9}},
        {{0, 55, 9}, 3, 2, DLOCK_OK, {.retry_ms = 55}},
        {{0, 55, 9, 1}, 4, NO_WORD, DLOCK_OK, {.retry_ms = 55, .fence = 9, .foreign = true}},
        {{0, 55, 9, 1}, 4, 3, DLOCK_OK, {.retry_ms = 55, .fence = 9}},
        {{0, 55, 9, 0}, 4, NO_WORD, DLOCK_OK, {.retry_ms = 55, .fence = 9}},
        {{0, 55, 9, 2}, 4, NO_WORD, DLOCK_OK, {.retry_ms = 55, .fence = 9}},
        {{2}, 1, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{2, 5}, 2, NO_WORD, DLOCK_UNAVAILABLE, {.retry_ms = -1}},
        {{3, 5, 5, 5}, 4, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
        {{-1, 5, 5, 5}, 4, NO_WORD, DLOCK_FAILED, {.retry_ms = -1}},
    };
    dlock_lock *lock = rig_lock(r->client, "asked", (dlock_options){0});
    for (size_t i = 0; i < COUNT(cases); i++) {
        answer is;
        const redisReply *reply = list(cases[i].numbers, cases[i].count, cases[i].word);
        dlock_status status = dlock_ask_read_acquired(lock, LEASE_MS, dlock_now(), reply, &is);
        if (status != cases[i].status || is.granted != cases[i].is.granted ||
            is.claimed != is.granted || is.retry_ms != cases[i].is.retry_ms ||
            is.fence != cases[i].is.fence || is.foreign != cases[i].is.foreign)
            fail_msg("case %zu: %s, %d, %d, fence %d", i, dlock_status_text(status), is.granted,
                     (int)is.retry_ms, (int)is.fence);
    }
    dlock_lock_free(lock);
}

static void a_grant_that_is_heard_of_too_late_is_none(void **state)
{
    rig *r = *state;
    static const int64_t granted[] = {1, 7, 5, 0};
    answer is;
    dlock_lock *lock = rig_lock(r->client, "late", (dlock_options){0});
    dlock_time asked = {dlock_now().us - LEASE_MS * INT64_C(1000)};
    const redisReply *reply = list(granted, COUNT(granted), NO_WORD);
    assert_int_equal(dlock_ask_read_acquired(lock, LEASE_MS, asked, reply, &is), DLOCK_UNKNOWN);
    assert_int_equal(dlock_ask_read_acquired(lock, LEASE_MS, asked, NULL, &is), DLOCK_FAILED);
    dlock_lock_free(lock);
}

static void a_release_is_one_number(void **state)
{
    (void)state;
    static const struct {
        int64_t number;
        dlock_status status;
    } cases[] = {{1, DLOCK_OK}, {0, DLOCK_EXPIRED}, {-1, DLOCK_NOT_OWNER}, {2, DLOCK_NOT_OWNER}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        redisReply reply = {.type = REDIS_REPLY_INTEGER, .integer = cases[i].number};
        assert_int_equal(dlock_ask_read_released(&reply), cases[i].status);
        reply.type = REDIS_REPLY_STRING;
        assert_int_equal(dlock_ask_read_released(&reply), DLOCK_FAILED);
    }
    assert_int_equal(dlock_ask_read_released(NULL), DLOCK_FAILED);
}

/* In how many ms the next heartbeat is due: when the lease ends, and after recheck_ms at most. */
static void a_beat_is_read_by_its_shape(void **state)
{
    rig *r = *state;
    static const struct {
        int64_t numbers[2];
        size_t count;
        int word;
        int64_t next_ms;
    } cases[] = {
        {{0}, 0, NO_WORD, 50},   {{0}, 1, NO_WORD, 1},   {{48}, 1, NO_WORD, 49},
        {{49}, 1, NO_WORD, 50},  {{50}, 1, NO_WORD, 50}, {{51}, 1, NO_WORD, 50},
        {{-1}, 1, NO_WORD, 50},  {{0}, 1, 0, 50},        {{7, 7}, 2, 1, 8},
        {{7, 7}, 2, NO_WORD, 8},
    };
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis, .recheck_ms = 50});
    dlock_lock *lock =
        rig_lock(client, "seats", (dlock_options){.kind = DLOCK_SEMAPHORE, .permits = 1});
    for (size_t i = 0; i < COUNT(cases); i++) {
        const redisReply *reply = list(cases[i].numbers, cases[i].count, cases[i].word);
        assert_int_equal(dlock_shares_beaten(lock, dlock_now(), reply), cases[i].next_ms);
    }
    redisReply word = {.type = REDIS_REPLY_STRING};
    assert_int_equal(dlock_shares_beaten(lock, dlock_now(), &word), 50);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

/* A word, and three numbers. */
static void a_fair_beat_is_read_by_its_shape(void **state)
{
    rig *r = *state;
    static const int64_t numbers[MOST] = {0, 3, 7, 0, 0};
    dlock_client *client = rig_client(&(dlock_client_options){.redis = r->redis, .recheck_ms = 50});
    dlock_lock *lock = rig_lock(client, "fair", (dlock_options){.kind = DLOCK_FAIR});
    for (size_t count = 0; count <= MOST; count++) {
        int64_t next_ms = dlock_kind_fair.beaten(lock, dlock_now(), list(numbers, count, 0));
        assert_int_equal(next_ms, count == 4 ? 8 : 50);
    }
    assert_int_equal(dlock_kind_fair.beaten(lock, dlock_now(), list(numbers, 4, NO_WORD)), 50);
    dlock_lock_free(lock);
    dlock_client_free(client);
}

static void a_vote_is_two_numbers(void **state)
{
    rig *r = *state;
    static const int64_t numbers[MOST] = {1, 5, 0};
    dlock_client *client =
        rig_client(&(dlock_client_options){.quorum = &r->redis, .quorum_len = 1});
    dlock_lock *lock = rig_lock(client, "vote", (dlock_options){.kind = DLOCK_QUORUM});
    for (size_t count = 0; count <= 3; count++) {
        for (int word = NO_WORD; word < 2; word++) {
            int64_t vote = -7;
            bool good = dlock_kind_quorum.everywhere->read_vote(lock, 0, dlock_now(),
                                                                list(numbers, count, word), &vote);
            assert_int_equal(good, count == 2 && word == NO_WORD);
            assert_int_equal(vote, good ? 1 : -7);
        }
    }
    dlock_lock_free(lock);
    dlock_client_free(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_acquire_is_read_by_its_shape),
        cmocka_unit_test(a_grant_that_is_heard_of_too_late_is_none),
        cmocka_unit_test(a_release_is_one_number),
        cmocka_unit_test(a_beat_is_read_by_its_shape),
        cmocka_unit_test(a_fair_beat_is_read_by_its_shape),
        cmocka_unit_test(a_vote_is_two_numbers),
    };
    return cmocka_run_group_tests_name("ask", tests, rig_setup_single, rig_teardown);
}
