/*
 * A table of what was asked for against what was told. The order's id can not be known beforehand:
 * it only has to be there. Units left may be anything from 0 to what the sale itself leaves.
 */
#include "loadtest/load/told.h"

#include "loadtest/base/number.h"
#include "loadtest/load/json_scan.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

void told_read(const char *body, size_t length, lt_told *ret)
{
    const lt_json_member members[] = {
        {"order", ret->order, sizeof(ret->order), false},
        {"request", ret->request, sizeof(ret->request), false},
        {"item", ret->item, sizeof(ret->item), false},
        {"sale", ret->sale, sizeof(ret->sale), false},
        {"user", ret->user, sizeof(ret->user), false},
        {"quantity", ret->quantity, sizeof(ret->quantity), true},
        {"remaining", ret->remaining, sizeof(ret->remaining), true},
    };
    ret->whole = json_members(body, length, members, sizeof(members) / sizeof(members[0]));
}

static lt_told_truth check_remaining(const lt_told *told, const lt_plan *plan)
{
    long remaining;
    if (!number_parse_long(told->remaining, LONG_MIN, LONG_MAX, &remaining))
        return TOLD_LESS;
    return remaining < 0 || remaining > plan->stock - plan->quantity ? TOLD_OTHER : TOLD_AS_ASKED;
}

static lt_told_truth check_text(const char *told, const char *asked)
{
    if (told[0] == '\0')
        return TOLD_LESS;
    return strcmp(told, asked) == 0 ? TOLD_AS_ASKED : TOLD_OTHER;
}

lt_told_truth told_check(const lt_told *told, const lt_run_state *state, int64_t ticket, char *code,
                         size_t code_size)
{
    const lt_plan *plan = state->plan;
    char request[REQUEST_ID_MAX], user[USER_NAME_MAX], quantity[24];
    run_state_request_id(state, ticket, request);
    plan_user_name(plan, ticket, user);
    snprintf(quantity, sizeof(quantity), "%ld", plan->quantity);
    const struct {
        const char *name;
        lt_told_truth truth;
    } members[] = {
        {"order", told->order[0] == '\0' ? TOLD_LESS : TOLD_AS_ASKED},
        {"request", check_text(told->request, request)},
        {"item", check_text(told->item, plan->item)},
        {"sale", check_text(told->sale, state->sale)},
        {"user", check_text(told->user, user)},
        {"quantity", check_text(told->quantity, quantity)},
        {"remaining", check_remaining(told, plan)},
        {"form", told->whole ? TOLD_AS_ASKED : TOLD_LESS},
    };
    lt_told_truth worst = TOLD_AS_ASKED;
    for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
        if (members[i].truth <= worst)
            continue;
        worst = members[i].truth;
        snprintf(code, code_size, "201_%s_%s", worst == TOLD_LESS ? "without" : "other",
                 members[i].name);
    }
    return worst;
}

int64_t told_remaining(const lt_told *told)
{
    long remaining;
    return number_parse_long(told->remaining, 0, LONG_MAX, &remaining) ? remaining : -1;
}
