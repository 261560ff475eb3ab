/*
 * Leaders that are killed, or stopped for longer than their lease and continued, while each writes
 * under its guard as fast as it can: none of their writes comes after a later leader was elected.
 *
 * The candidates are processes of this program, which lead by dlock_election_campaign() and go on
 * writing until Redis refuses. The list that they write to has fences alone; a marker is put behind
 * them with each new leader, so a fence below one before it in the list is a stale write.
 *
 * ELECTION_KILLS=1000 does it so often. It prints how long nobody led.
 */
#include "tests/lock/pending/candidates.h"

#include <inttypes.h>
#include <signal.h>
#include <sys/prctl.h>

#define NAME    "{kills}"
#define WRITES  "{kills}:writes"
#define REFUSED "{kills}:refused"

enum { CANDIDATES = 3, CASE_LIMIT_MS = 60000 };

/* ---- a candidate's process ------------------------------------------------------------------- */

static void count_refusal(dlock_client *client)
{
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "INCR");
    dlock_args_text(&args, REFUSED);
    if (dlock_redis_command(dlock_client_redis(client), NULL, &args, dlock_in_ms(1000), NULL) !=
        DLOCK_REDIS_OK)
        fputs("a refusal was not counted\n", stderr);
    dlock_args_free(&args);
}

/* Asks nothing but Redis whether it still leads. */
static void write_until_refused(dlock_hold *hold, dlock_guard *guard, dlock_client *client)
{
    dlock_status status = DLOCK_OK;
    while (status != DLOCK_STALE) {
        status = write_fence(hold, guard, WRITES);
        dlock_sleep(dlock_in_ms(1));
    }
    count_refusal(client);
}

static int be_a_candidate(const char *url, const char *lease_ms)
{
    char err[256];
    dlock_client *client;
    dlock_election *e;
    dlock_election_options options = {.lease_ms = strtoll(lease_ms, NULL, 10)};
    dlock_guard *guard = dlock_guard_new("kills", FENCE_TO_LIST);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dlock_client_open(url, NULL, &client, err, sizeof(err)) != DLOCK_OK ||
        dlock_election_new(client, NAME, &options, &e, err, sizeof(err)) != DLOCK_OK) {
        fprintf(stderr, "%s\n", err);
        return 2;
    }
    for (;;) {
        dlock_status status = dlock_election_campaign(e, NULL);
        dlock_hold *hold = dlock_election_hold(e);
        if (status == DLOCK_OK && hold)
            write_until_refused(hold, guard, client);
        else if (status == DLOCK_FAILED || status == DLOCK_INVALID)
            return 3;
    }
}

static fx_process *new_candidate(rig *r, int lease_ms)
{
    char lease[16];
    snprintf(lease, sizeof(lease), "%d", lease_ms);
    return fx_spawn((const char *const[]){"/proc/self/exe", fx_redis_url(r->server), lease, NULL},
                    false);
}

/* ---- who leads ------------------------------------------------------------------------------- */

static void push_fence(rig *r, uint64_t fence)
{
    fx_redis_do(r->server, "RPUSH " WRITES " %llu", (unsigned long long)fence);
}

/* The leader with a fence above `above`, by its process's number. */
static dlock_info next_leader(dlock_election *observer, uint64_t above)
{
    dlock_time give_up = dlock_in_ms(fx_patient_ms(CASE_LIMIT_MS));
    dlock_info info = leader_of(observer);
    while (!(info.held && info.fence > above) && !dlock_passed(give_up)) {
        dlock_sleep(dlock_in_ms(1));
        info = leader_of(observer);
    }
    assert_true(info.held && info.fence > above);
    return info;
}

typedef struct last_write {
    rig *r;
    uint64_t fence;
} last_write;

static bool has_written(void *arg)
{
    last_write *w = arg;
    char text[32];
    return fx_redis_text(w->r->server, text, sizeof(text), "LINDEX " WRITES " -1") &&
           strtoull(text, NULL, 10) == w->fence;
}

static int number_of(fx_process *const *candidates, int64_t pid)
{
    int i = 0;
    while (i < CANDIDATES && fx_process_pid(candidates[i]) != pid)
        i++;
    assert_in_range(i, 0, CANDIDATES - 1);
    return i;
}

/* ---- the judgement --------------------------------------------------------------------------- */

/* How many writes there are; none is below one before it. */
static size_t judge(rig *r)
{
    uint64_t highest = 0;
    size_t stale = 0;
    redisReply *all = fx_redis_reply(r->server, "LRANGE " WRITES " 0 -1");
    assert_int_equal(all->type, REDIS_REPLY_ARRAY);
    size_t writes = all->elements;
    for (size_t i = 0; i < writes; i++) {
        uint64_t fence = strtoull(all->element[i]->str, NULL, 10);
        stale += fence < highest;
        highest = fence > highest ? fence : highest;
    }
    freeReplyObject(all);
    print_message("%zu writes, %zu of them stale\n", writes, stale);
    assert_int_equal(stale, 0);
    return writes;
}

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void print_takeovers(int64_t *ms, int n, int lease_ms)
{
    qsort(ms, (size_t)n, sizeof(*ms), by_size);
    print_message("%d takeovers: p50 %" PRId64 " ms, p95 %" PRId64 " ms, longest %" PRId64
                  " ms; lease + 100 ms is %d ms\n",
                  n, ms[n / 2], ms[n * 95 / 100], ms[n - 1], lease_ms + 100);
}

/* ---- the case -------------------------------------------------------------------------------- */

static void no_write_of_a_former_leader_is_accepted(void **state)
{
    rig *r = *state;
    const char *wanted = getenv("ELECTION_KILLS");
    int rounds = wanted ? (int)strtol(wanted, NULL, 10) : 6, lease_ms = fx_lease_ms(1000);
    int64_t *took_ms = calloc((size_t)rounds, sizeof(*took_ms));
    dlock_election *observer = candidate(r->client, NAME);
    fx_process *candidates[CANDIDATES];
    assert_non_null(took_ms);
    for (int i = 0; i < CANDIDATES; i++)
        candidates[i] = new_candidate(r, lease_ms);

    dlock_info leader = next_leader(observer, 0);
    int stops = 0;
    for (int i = 0; i < rounds; i++) {
        last_write last = {r, leader.fence};
        bool stop = i % 2;
        assert_true(fx_wait_until(has_written, &last, SOON_MS));
        fx_let_pass(i * 37 % 400); /* it writes; its next renewal is nearer or farther */
        int at = number_of(candidates, leader.pid);
        dlock_time since = dlock_now();
        fx_process_signal(candidates[at], stop ? SIGSTOP : SIGKILL);
        leader = next_leader(observer, leader.fence);
        took_ms[i] = (dlock_now().us - since.us) / 1000;
        push_fence(r, leader.fence);
        stops += stop;
        if (stop) {
            fx_process_signal(candidates[at], SIGCONT);
            continue;
        }
        fx_process_free(candidates[at]);
        candidates[at] = new_candidate(r, lease_ms);
    }
    for (int i = 0; i < CANDIDATES; i++)
        fx_process_free(candidates[i]);
    print_takeovers(took_ms, rounds, lease_ms);
    assert_true(judge(r) > (size_t)rounds);
    print_message("%lld leaders were refused, %d had been stopped\n",
                  fx_redis_number(r->server, "GET " REFUSED), stops);
    dlock_election_free(observer);
    free(took_ms);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_write_of_a_former_leader_is_accepted),
    };
    if (argc == 3)
        return be_a_candidate(argv[1], argv[2]);
    return cmocka_run_group_tests_name("leaders that are killed", tests, rig_setup, rig_teardown);
}
