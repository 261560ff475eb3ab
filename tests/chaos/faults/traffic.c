/*
 * traffic.c - what buyers themselves bring about: plain load, the same request twice, all at once
 * after a stall; buyers who hang up; and instances that are ended in the ordinary way while they
 * buy.
 */
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/redis.h"
#include "tests/support/raw.h"

/* A lease that does not end while a busy machine lets a holder wait: it is not about leases here.
 */
enum { LEASE_MS = 5000 };

/* ---- load: nothing goes wrong ---------------------------------------------------------------- */

static void load(cell *c)
{
    cell_begin_fault(c);
    crew_pace(0);
    int before = atomic_load(&crew.bought);
    crew_more(&crew.bought, CELL_BEFORE, CELL_PATIENCE_MS);
    cell_landed(c, atomic_load(&crew.bought) - before);
    cell_healed(c);
}

const fault fault_load = {
    .name = "load",
    .says = "nothing but buyers at full speed",
    .counts = "units bought",
    .lease_ms = LEASE_MS,
    .same_run = true,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = load,
};

/* ---- retries: a request comes several times, at once and later, to all instances --------------
 */

enum { REQUESTS = 40, COPIES = 3, COPIES_PACE_MS = 2000 };

static int send_copies(int number)
{
    crew_buyer copies[COPIES];
    char request[32];
    int bought = 0;
    snprintf(request, sizeof(request), "twice-%d", number);
    for (int i = 0; i < COPIES; i++)
        crew_send(&copies[i], request, number, i % FX_INSTANCES);
    for (int i = 0; i < COPIES; i++)
        bought += crew_answer(&copies[i]) == 201;
    return bought;
}

/* What has its order is asked again for more units, by another user, or for another time: that is
 * another request, which has to have another id. */
static void ask_for_something_else(cell *c, int number)
{
    const struct {
        const char *what;
        fx_buy buy;
    } others[] = {{"quantity", {.user = number, .quantity = 2}},
                  {"user", {.user = number + 1, .quantity = 1}},
                  {"time", {.user = number, .quantity = 1, .reserve_s = 1}}};
    for (int i = 0; i < (c->row.reserves ? 3 : 2); i++) {
        fx_buy b = others[i].buy;
        snprintf(b.request, sizeof(b.request), "twice-%d", number);
        int status = fx_sale_buy(crew_sale(0), &b, (number + i) % FX_INSTANCES).status;
        if (status != 422 && status != 503 && !fx_is_unknown(status))
            cell_got_through(c, "a used id with another %s: told %d, not 422", others[i].what,
                             status);
    }
}

static void retries(cell *c)
{
    int at_once = 0, later = 0;
    crew_pace(COPIES_PACE_MS); /* or all is sold before the last has come again */
    cell_begin_fault(c);
    for (int i = 0; i < REQUESTS; i++) {
        int bought = send_copies(i);
        at_once += bought > 1 ? bought - 1 : 0;
    }
    for (int i = 0; i < REQUESTS; i++) {
        bool has_order = send_copies(i) == COPIES;
        later += has_order;
        if (has_order)
            ask_for_something_else(c, i);
    }
    cell_healed(c);
    cell_met(c, at_once > 0);
    cell_met(c, later > 0);
    cell_landed(c, at_once + later - 2);
}

const fault fault_retries = {
    .name = "retries",
    .says =
        "each request comes to all instances at once, and again later, under one id; then another "
        "one under that id",
    .counts = "answers to copies",
    .lease_ms = LEASE_MS,
    .same_run = true,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .inject = retries,
};

/* ---- herd: everybody waits for a stopped server, and goes on at once --------------------------
 */

enum { HERD = 36, HERD_USERS = 4, HERD_LIMIT = 5, STALL_MS = 300 };

/* Its users ask for more than they may have, and their requests meet in a batch. */
static void limit_users(cell *c)
{
    c->limit = HERD_LIMIT;
}

static void signal_redis(const cell *c, int signo)
{
    fx_redis_signal(fx.redis, signo);
    for (int k = 0; k < CELL_LOCK_SERVERS && c->lock_servers[k]; k++)
        fx_redis_signal(c->lock_servers[k], signo);
}

static void signal_instances(const cell *c, int signo)
{
    (void)c;
    for (int i = 0; i < FX_INSTANCES; i++)
        fx_server_signal(fx.server[i], signo);
}

/* Nobody is in a section when the stall begins, so what follows is the herd's doing alone. How many
 * were waiting at its end: on a busy machine the stall is longer, and some have been refused. */
static int stampede(cell *c, void (*signal_to)(const cell *, int), int first)
{
    static crew_buyer herd[HERD];
    int waiting = 0;
    crew_pause();
    cell_begin_fault(c);
    signal_to(c, SIGSTOP);
    for (int i = 0; i < HERD; i++) {
        char request[32];
        cell_name_request(c, "herd", first + i, request, sizeof(request));
        crew_send(&herd[i], request, first + i % HERD_USERS, i % FX_INSTANCES);
    }
    fx_let_pass(STALL_MS);
    for (int i = 0; i < HERD; i++)
        waiting += !atomic_load(&herd[i].done);
    signal_to(c, SIGCONT);
    cell_healed(c);
    for (int i = 0; i < HERD; i++)
        crew_answer(&herd[i]);
    for (int i = 0; i < HERD; i++)
        crew_settle(&herd[i], (i + 1) % FX_INSTANCES, CELL_PATIENCE_MS);
    crew_go_on();
    return waiting;
}

static void herd(cell *c)
{
    cell_met(c, stampede(c, signal_redis, 0) > HERD / 2);
    cell_met(c, stampede(c, signal_instances, HERD) > HERD / 2);
}

const fault fault_herd = {
    .name = "herd",
    .says =
        "buyers pile up before a stopped Redis, then before stopped instances, and all go at once",
    .counts = "herds that mostly were waiting when it went on",
    .buyers = HERD,
    .lease_ms = LEASE_MS,
    .same_run = true,
    .covered = EVERYWHERE,
    .prepare = limit_users,
    .inject = herd,
};

/* ---- hang-up: nobody is there to take the answer -----------------------------------------------
 */

enum { HANG_UPS = 6, HANG_UP_PACE_MS = 500 };

/* Sends its request, hangs up while it is in the section, and asks again elsewhere while it still
 * is. */
static void hang_up(cell *c, int at, int number)
{
    crew_buyer again;
    char request[32], text[512], user[FX_USER_MAX];
    fx_sale_user(crew_sale(0), number, user);
    cell_name_request(c, "gone", number, request, sizeof(request));
    int len = snprintf(text, sizeof(text),
                       "POST /buy?item=%s&user=%s&quantity=1&request=%s&sale=%s HTTP/1.1\r\n"
                       "Host: 127.0.0.1\r\nContent-Length: 0\r\n\r\n",
                       crew_sale(0)->item, user, request, crew_sale(0)->id);
    crew_pause();
    cell_arm(c, at, "in-section");
    int64_t from = journal_now_us();
    int fd = fx_raw_connect(fx_server_port(fx.server[at]), NULL);
    bool sent = fd >= 0 && fx_raw_send(fd, text, (size_t)len);
    bool inside = cell_reached(c, at, "in-section", CELL_PATIENCE_MS);
    close(fd);
    journal_write(crew_sale(0)->history,
                  "ask from=%lld to=%lld request=%s user=%s quantity=1 target=%d status=0",
                  (long long)from, (long long)journal_now_us(), request, user, at);
    crew_send(&again, request, number, (at + 1) % FX_INSTANCES);
    crew_go_on();
    cell_let_go(c, at, "in-section");
    crew_answer(&again);
    cell_met(c, sent && inside && crew_settle(&again, (at + 2) % FX_INSTANCES, CELL_PATIENCE_MS));
}

static void hang_ups(cell *c)
{
    int first = (int)cell_random(c, FX_INSTANCES);
    crew_pace(HANG_UP_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < HANG_UPS; i++)
        hang_up(c, (first + i) % FX_INSTANCES, i);
    cell_healed(c);
}

const fault fault_hang_up = {
    .name = "hang-up",
    .says = "a buyer hangs up while its request is in the section, and asks again elsewhere",
    .counts = "buyers who had hung up, and got a definite answer by asking again",
    .needs = NEEDS_FAIL_POINTS,
    .lease_ms = LEASE_MS,
    .same_run = true,
    .covered = EVERYWHERE,
    .inject = hang_ups,
};

/* ---- sigterm: instances are ended in turn -----------------------------------------------------
 */

enum { STOPPED_BUYS = 3, ENDING_PACE_MS = 500 };

static bool met_it(void *refusals)
{
    return redis_refusals() > *(int *)refusals;
}

/* Nobody is told to go elsewhere: buyers find out. */
static bool ends_orderly(cell *c, int i)
{
    int refusals = redis_refusals();
    fx_process *process = fx_server_process(fx.server[i]);
    fx_server_signal(fx.server[i], SIGTERM);
    int code = fx_process_wait(process, CELL_PATIENCE_MS);
    if (code != 0)
        fail_msg("an instance ended with %d: %s", code, fx_process_stderr(process));
    bool met = fx_wait_until(met_it, &refusals, CELL_PATIENCE_MS);
    cell_start_instance(c, i);
    return crew_more(&crew.bought, STOPPED_BUYS, CELL_PATIENCE_MS) && met;
}

/* Nobody could find the order of an answer that did not come. */
static void give_keys(cell *c)
{
    c->habits.keyless = false;
}

static void sigterm(cell *c)
{
    int first = (int)cell_random(c, FX_INSTANCES);
    crew_pace(ENDING_PACE_MS);
    cell_begin_fault(c);
    for (int i = 0; i < FX_INSTANCES; i++)
        cell_met(c, ends_orderly(c, (first + i) % FX_INSTANCES));
    cell_healed(c);
}

const fault fault_sigterm = {
    .name = "sigterm",
    .says = "SIGTERM of one instance after another under load, and their return",
    .counts = "instances that ended with exit code 0, and whose buyers went elsewhere",
    .lease_ms = LEASE_MS,
    .same_run = true,
    .reservations = RESERVED_TOO,
    .covered = EVERYWHERE,
    .prepare = give_keys,
    .inject = sigterm,
};
