/* victim.c - by the proxy's `halfopen`, which keeps what it stops, and its `heal`. A write is known
 * by the key that it names. */
#include "tests/chaos/faults/victim.h"

#include "tests/chaos/faults/fault.h"

const char *write_of_stock(const cell *c)
{
    return row_is_guarded(&c->row) ? "match write :orders" : "match write :stock not :orders";
}

typedef struct stopped {
    cell *c;
    int64_t more_than;
    const crew_buyer *victim;
} stopped;

static bool is_stopped_or_answered(void *arg)
{
    stopped *s = arg;
    return fx_proxy_count(s->c->proxy, "stalled") > s->more_than || atomic_load(&s->victim->done);
}

bool victim_hold(cell *c, crew_buyer *victim, int at, const char *match)
{
    static int number;
    char request[32];
    stopped s = {c, fx_proxy_count(c->proxy, "stalled"), victim};
    cell_name_request(c, "victim", ++number, request, sizeof(request));
    crew_pause();
    fx_proxy_say(c->proxy, "halfopen 1 %s", match);
    crew_send(victim, request, number, at);
    return fx_wait_until(is_stopped_or_answered, &s, CELL_PATIENCE_MS) &&
           fx_proxy_count(c->proxy, "stalled") > s.more_than;
}

void victim_let_go(cell *c)
{
    fx_proxy_say(c->proxy, "heal");
}
