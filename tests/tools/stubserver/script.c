/*
 * script.c - reads the options that say when to be slow and when to fail, and answers for the
 * nth buy.
 */
#include "tests/tools/stubserver/script.h"

#include <stdlib.h>
#include <time.h>

#define NS_PER_S  INT64_C(1000000000)
#define NS_PER_MS INT64_C(1000000)

bool script_delays(struct script *script, const char *text)
{
    while (*text != '\0') {
        char *end;
        long long us = strtoll(text, &end, 10);
        long times = *end == 'x' ? strtol(end + 1, &end, 10) : 1;
        if (end == text || us < 0 || times < 1 || (*end != ',' && *end != '\0'))
            return false;
        for (; times > 0; times--) {
            if (script->delay_count == SCRIPT_DELAYS_MAX)
                return false;
            script->delays_us[script->delay_count++] = us;
        }
        text = end + (*end == ',');
    }
    return script->delay_count > 0;
}

bool script_stall(struct script *script, const char *text)
{
    char *end;
    script->stall_every_ns = strtoll(text, &end, 10) * NS_PER_MS;
    if (*end != ':')
        return false;
    script->stall_ns = strtoll(end + 1, &end, 10) * NS_PER_MS;
    return *end == '\0' && script->stall_every_ns > 0 && script->stall_ns > 0;
}

int64_t script_delay(const struct script *script, int64_t number)
{
    if (script->delay_count == 0)
        return 0;
    return script->delays_us[(number - 1) % script->delay_count] * 1000;
}

void script_maybe_stall(struct script *script, int64_t now, bool any_buy)
{
    if (script->stall_ns == 0 || !any_buy)
        return;
    if (script->next_stall == 0)
        script->next_stall = now + script->stall_every_ns;
    if (now < script->next_stall)
        return;
    int64_t until = script->next_stall + script->stall_ns;
    struct timespec wake = {.tv_sec = until / NS_PER_S, .tv_nsec = until % NS_PER_S};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wake, NULL);
    script->next_stall += script->stall_every_ns;
}
