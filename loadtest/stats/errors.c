#include "loadtest/stats/errors.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error_book {
    pthread_mutex_t mutex; /* errors are rare: one lock for all is no cost that counts */
    int count;
    struct error_entry entries[ERRORS_MAX];
};

struct error_book *error_book_new(void)
{
    struct error_book *book = calloc(1, sizeof(*book));
    if (book)
        pthread_mutex_init(&book->mutex, NULL);
    return book;
}

void error_book_free(struct error_book *book)
{
    if (!book)
        return;
    pthread_mutex_destroy(&book->mutex);
    free(book);
}

static struct error_entry *entry_for(struct error_book *book, enum error_phase phase,
                                     const char *code, int target)
{
    for (int i = 0; i < book->count; i++) {
        struct error_entry *entry = &book->entries[i];
        if (entry->phase == phase && entry->target == target && strcmp(entry->code, code) == 0)
            return entry;
    }
    struct error_entry *entry = &book->entries[book->count];
    if (book->count == ERRORS_MAX)
        return entry - 1;
    book->count++;
    *entry = (struct error_entry){.phase = phase, .target = target};
    snprintf(entry->code, sizeof(entry->code), "%s",
             book->count == ERRORS_MAX ? "other_kinds" : code);
    return entry;
}

void error_book_add(struct error_book *book, enum error_phase phase, const char *code, int target)
{
    pthread_mutex_lock(&book->mutex);
    entry_for(book, phase, code, target)->count++;
    pthread_mutex_unlock(&book->mutex);
}

static int by_count(const void *a, const void *b)
{
    uint64_t x = ((const struct error_entry *)a)->count, y = ((const struct error_entry *)b)->count;
    return (x < y) - (x > y);
}

int error_book_list(struct error_book *book, struct error_entry *entries, int max)
{
    pthread_mutex_lock(&book->mutex);
    int count = book->count < max ? book->count : max;
    qsort(book->entries, (size_t)book->count, sizeof(book->entries[0]), by_count);
    memcpy(entries, book->entries, (size_t)count * sizeof(entries[0]));
    pthread_mutex_unlock(&book->mutex);
    return count;
}

const char *error_phase_name(enum error_phase phase)
{
    static const char *const names[] = {
        [PHASE_WARM_UP] = "warm-up", [PHASE_CONNECT] = "connect", [PHASE_SEND] = "send",
        [PHASE_WAIT] = "wait",       [PHASE_ANSWER] = "answer",
    };
    return names[phase];
}

const char *error_hint(const struct error_entry *entry)
{
    static const struct {
        const char *code;
        const char *hint;
    } by_code[] = {
        {"refused", "nobody listens there: is the instance running, is the port right?"},
        {"unresolved", "the host name has no address"},
        {"reset", "the server closed the connection hard: did it crash, restart, or run out of "
                  "descriptors or threads?"},
        {"closed_early", "the server closed without an answer: was it stopped while serving?"},
        {"timeout", "no answer in time: more users than server threads, or a lock that waits "
                    "longer than --timeout-ms"},
        {"store_unavailable", "the instance could not reach Redis"},
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
