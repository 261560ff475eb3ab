/*
 * test_stop.c - POST /locks/stop: the process that holds the lock stands still, and goes on
 * whatever becomes of the instance that was asked. Nobody else is stopped, and nobody at all where
 * it is no demonstration.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/support/crowd.h"
#include "tests/support/service.h"

enum { WAIT_MS = 60000, STOPPED_S = 15 };

typedef struct holder {
    const char *item;
    int at; /* instance */
    pthread_t buyer;
} holder;

static pid_t pid_of(int i)
{
    return fx_process_pid(fx_server_process(fx.server[i]));
}

/* ---- what is so ------------------------------------------------------------------------------ */

static bool is_stopped(void *pid)
{
    return fx_pid_state(*(pid_t *)pid) == 'T';
}

static bool goes_on(void *pid)
{
    return !is_stopped(pid);
}

/* Neither a guard nor what is left of one. */
static bool has_no_children(void *pid)
{
    char words[64];
    snprintf(words, sizeof(words), ") [A-Z] %d ", (int)*(pid_t *)pid);
    return fx_shell("! cat /proc/[0-9]*/stat 2>/dev/null | grep -q \"$1\"", words, WAIT_MS) == 0;
}

static bool has_lock(void *arg)
{
    const holder *h = arg;
    char item[64], pid[32];
    snprintf(item, sizeof(item), "\"item\":\"%s\"", h->item);
    snprintf(pid, sizeof(pid), "\"pid\":%d,", (int)pid_of(h->at));
    const char *lock = strstr(fx_expect(fx.server[0], 200, "GET /locks"), item);
    return lock && strncmp(strstr(lock, "\"pid\":"), pid, strlen(pid)) == 0;
}

/* ---- what is done ---------------------------------------------------------------------------- */

static void *buy(void *arg)
{
    const holder *h = arg;
    fx_status(fx.server[h->at], "POST /buy?item=%s&user=u1", h->item);
    return NULL;
}

/* Starts a sale, whose lock the instance then holds. */
static void hold(holder *h)
{
    fx_wait_in_force(h->item,
                     fx_start_sale(fx.server[0], h->item,
                                   "'stock':9,'strategy':'fair','hold_ms':16000,'wait_ms':60000"));
    pthread_create(&h->buyer, NULL, buy, h);
    if (!fx_wait_until(has_lock, h, WAIT_MS))
        fail_msg("instance %d does not hold the lock of %s", h->at, h->item);
}

/* Asks an instance, which may not have heard of the holder yet, to stop it. */
static void stop(const holder *h, fx_server *asked)
{
    char name[65], request[64], part[256];
    pid_t pid = pid_of(h->at);
    fx_copy_member(fx_expect(fx.server[h->at], 200, "GET /dashboard?item=%s", h->item), "instance",
                   name, sizeof(name));
    snprintf(request, sizeof(request), "POST /locks/stop?item=%s", h->item);
    snprintf(part, sizeof(part),
             "\"sale\":\"%s\",\"instance\":\"%s\",\"pid\":%d,\"fence\":", fx_current_sale(h->item),
             name, (int)pid);
    fx_await(asked, request, 200, part, WAIT_MS);
    assert_true(fx_wait_until(is_stopped, &pid, WAIT_MS));
    assert_true(has_lock((void *)h));
}

/* ---- the cases ------------------------------------------------------------------------------- */

static void what_can_not_be_stopped_is_said(void **state)
{
    (void)state;
    static const char *const table[][3] = {
        {"Free", "'stock':9", "nobody holds the lock"},
        {"Bare", "'stock':9,'strategy':'none'", "has no lock"},
        {"Parts", "'stock':9,'strategy':'sharded'", "one for each segment"},
        {"Foreign", "'stock':9,'strategy':'setnx'", "no instance of this service"},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const char *item = table[i][0],
                   *sale = fx_start_sale(fx.server[0], item, "%s", table[i][1]);
        if (strcmp(item, "Foreign") == 0) /* this process has the lock, not as an instance */
            fx_redis_do(fx.redis, "SET fs:{%s}:%s:lock host/%d/0123456789abcdef:1 PX 600000", item,
                        sale, (int)getpid());
        fx_has(fx_refused(fx.server[0], 409, "not_stopped", "POST /locks/stop?item=%s", item),
               table[i][2]);
    }
    fx_has(fx_refused(fx.server[0], 409, "not_stopped", "POST /locks/stop?item=none"), "no sale");
    fx_refused(fx.server[0], 400, "bad_item", "POST /locks/stop");
}

static void only_a_demonstration_stops_anybody(void **state)
{
    (void)state;
    fx_server *plain = fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001));
    fx_refused(plain, 404, "not_found", "POST /locks/stop?item=P0001");
    fx_refused(plain, 404, "not_found", "GET /locks/stop");
    fx_has(fx_expect(plain, 200, "GET /dashboard"), "\"demo\":false");
    fx_has(fx_expect(fx.server[0], 200, "GET /dashboard"), "\"demo\":true");
    fx_server_kill(plain);
}

static int64_t now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec;
}

/* Also when the one that was asked is killed, and when it is the holder. */
static void a_stopped_holder_goes_on(void **state)
{
    (void)state;
    holder other = {.item = "Other", .at = 1}, own = {.item = "Own", .at = 2};
    pid_t pids[] = {pid_of(1), pid_of(2)};
    fx_server *asked = fx_server_start(fx_redis_url(fx.redis), FX_ARGS(FX_P0001, "--demo", "yes"));
    hold(&other);
    hold(&own);
    int64_t from_s = now_s();
    fx_expect(asked, 200, "GET /stock?item=%s", other.item); /* so that it knows the sale */
    stop(&other, asked);
    fx_has(fx_refused(asked, 409, "not_stopped", "POST /locks/stop?item=%s", other.item),
           "stopped already");
    stop(&own, fx.server[2]);
    fx_server_kill(asked);
    for (int i = 0; i < 2; i++)
        assert_true(fx_wait_until(goes_on, &pids[i], WAIT_MS));
    assert_true(now_s() - from_s >= STOPPED_S - 1);
    assert_true(fx_wait_until(has_no_children, &pids[1], WAIT_MS));
    pthread_join(other.buyer, NULL);
    pthread_join(own.buyer, NULL);
}

/* Each hold lasts for about a millisecond. */
static void a_short_hold_is_caught(void **state)
{
    (void)state;
    const holder h = {.item = "P0001", .at = 1};
    fx_sell("'stock':1000000,'strategy':'fair'");
    fx_crowd *crowd = fx_crowd_start(fx_server_url(fx.server[1]), 16);
    assert_true(fx_crowd_sells(crowd, 20, WAIT_MS));
    for (int i = 0; i < 10; i++) {
        stop(&h, fx.server[0]);
        fx_server_signal(fx.server[1], SIGCONT);
        assert_true(fx_crowd_sells(crowd, 1, WAIT_MS));
    }
    fx_crowd_stop(crowd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_can_not_be_stopped_is_said),
        cmocka_unit_test(only_a_demonstration_stops_anybody),
        cmocka_unit_test(a_stopped_holder_goes_on),
        cmocka_unit_test(a_short_hold_is_caught), /* last: its guards live on for 15 s */
    };
    return fx_run(tests, .instances = 3, .args = FX_ARGS(FX_P0001, "--demo", "yes"));
}
