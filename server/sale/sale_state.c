/* sale_state.c - the table of states and events, and their names. */
#include "server/sale/sale_state.h"

#include <stdio.h>

#include "server/base/log.h"

static const sale_state after[SALE_STATES][SALE_EVENTS] = {
    /*                 sound       damaged        halted        superseded  lifted */
    [STATE_NONE] = {STATE_OPEN, STATE_DAMAGED, STATE_HALTED, STATE_OVER, STATE_NONE},
    [STATE_OPEN] = {STATE_OPEN, STATE_DAMAGED, STATE_HALTED, STATE_OVER, STATE_OPEN},
    [STATE_DAMAGED] = {STATE_OPEN, STATE_DAMAGED, STATE_HALTED, STATE_OVER, STATE_NONE},
    [STATE_HALTED] = {STATE_OPEN, STATE_DAMAGED, STATE_HALTED, STATE_OVER, STATE_NONE},
    [STATE_OVER] = {STATE_OPEN, STATE_DAMAGED, STATE_HALTED, STATE_OVER, STATE_NONE},
};

static const struct {
    const char *name;
    purchase_outcome outcome;
    log_level level;
    const char *logged; /* when it begins; of an open one, when it was not */
} words[SALE_STATES] = {
    [STATE_NONE] = {"none", BUY_SOLD, LOG_INFO, "sale_dropped"},
    [STATE_OPEN] = {"open", BUY_SOLD, LOG_INFO, "sale_mended"},
    [STATE_DAMAGED] = {"damaged", BUY_DAMAGED, LOG_ERROR, "sale_damaged"},
    [STATE_HALTED] = {"halted", BUY_ROLLED_BACK, LOG_ERROR, "sale_halted"},
    [STATE_OVER] = {"over", BUY_DAMAGED, LOG_INFO, "sale_over"},
};

sale_state sale_state_after(sale_state before, sale_event event)
{
    return after[before][event];
}

const char *sale_state_name(sale_state state)
{
    return words[state].name;
}

purchase_outcome sale_state_outcome(sale_state state)
{
    return words[state].outcome;
}

static void log_halted(const char *item, const char *from, const sale_halt *halt)
{
    char numbers[3][24];
    snprintf(numbers[0], sizeof(numbers[0]), "%lld", (long long)halt->known);
    snprintf(numbers[1], sizeof(numbers[1]), "%lld", (long long)halt->found);
    snprintf(numbers[2], sizeof(numbers[2]), "%lld", (long long)halt_lost_orders(halt));
    log_event(LOG_ERROR, words[STATE_HALTED].logged, "item", item, "sale", halt->sale, "was", from,
              "why", halt->why, "known", numbers[0], "found", numbers[1], "gap", numbers[2], "by",
              halt->instance, NULL);
}

void sale_state_log(const char *item, const char *sale, sale_state before, const item_state *now)
{
    sale_state state = (sale_state)atomic_load(&now->is);
    const char *from = words[before].name;
    if (state == STATE_HALTED)
        log_halted(item, from, &now->halt);
    else
        log_event(words[state].level, words[state].logged, "item", item, "sale", sale, "was", from,
                  "detail", state == STATE_DAMAGED ? now->detail : NULL, NULL);
}
