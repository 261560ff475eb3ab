/*
 * A list that is searched from end to end: there are few kinds of errors. The hints are written for
 * readers of the report, not of this code.
 */
#include "loadtest/stats/errors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static lt_error_entry *entry_for(lt_errors *errors, lt_error_phase phase, const char *code,
                                 int target)
{
    for (int i = 0; i < errors->count; i++) {
        lt_error_entry *entry = &errors->entries[i];
        if (entry->phase == phase && entry->target == target && strcmp(entry->code, code) == 0)
            return entry;
    }
    lt_error_entry *entry = &errors->entries[errors->count];
    if (errors->count == ERRORS_MAX)
        return entry - 1;
    errors->count++;
    *entry = (lt_error_entry){.phase = phase, .target = target};
    snprintf(entry->code, sizeof(entry->code), "%s",
             errors->count == ERRORS_MAX ? "other_kinds" : code);
    return entry;
}

void errors_add(lt_errors *errors, lt_error_phase phase, const char *code, int target)
{
    pthread_mutex_lock(&errors->mutex);
    entry_for(errors, phase, code, target)->count++;
    pthread_mutex_unlock(&errors->mutex);
}

static int by_count(const void *a, const void *b)
{
    int64_t x = ((const lt_error_entry *)a)->count, y = ((const lt_error_entry *)b)->count;
    return (x < y) - (x > y);
}

void errors_sort(lt_errors *errors)
{
    qsort(errors->entries, (size_t)errors->count, sizeof(errors->entries[0]), by_count);
}

const char *error_phase_name(lt_error_phase phase)
{
    static const char *const names[] = {
        [PHASE_WARM_UP] = "warm-up", [PHASE_CONNECT] = "connect", [PHASE_SEND] = "send",
        [PHASE_WAIT] = "wait",       [PHASE_ANSWER] = "answer",
    };
    return names[phase];
}

const char *error_hint(const lt_error_entry *entry)
{
    static const struct {
        const char *code;
        const char *hint;
    } by_code[] = {
        {"refused", "nothing listens there: is the instance running, is the port right?"},
        {"unresolved", "the host name has no address"},
        {"reset", "the server closed the connection hard: did it crash, restart, or run out of "
                  "descriptors or threads?"},
        {"closed_early", "the server closed without an answer: was it stopped while serving?"},
        {"timeout", "no answer in time: more users than server threads, or a lock that waits "
                    "longer than --timeout-ms"},
        {"store_unavailable", "the instance could not reach Redis"},
        {"writes_paused", "Redis took no writes: CLIENT PAUSE ... WRITE, or a failover"},
        {"sale_damaged", "keys of the sale in Redis are missing or not what they were"},
        {"sale_rolled_back", "Redis came back without orders that it had acknowledged"},
        {"unknown", "the write was sent to Redis and its reply was lost: is Redis stalled?"},
        {"not_found", "the item or the path is not known there: another service on this port?"},
        {"too_many_connections", "more users than the instance has threads: fewer users, more "
                                 "instances, or more --threads there"},
        {"too_many_requests", "the service limits its clients: fewer users, or a higher limit"},
    };
    for (size_t i = 0; i < sizeof(by_code) / sizeof(by_code[0]); i++) {
        if (strcmp(entry->code, by_code[i].code) == 0)
            return by_code[i].hint;
    }
    if (entry->phase == PHASE_ANSWER)
        return "an answer outside the contract: look at the instance's log";
    return "a transport failure: look at the instance's log and at the network";
}
