/* known_ledger.c - the known epochs, as a list that only grows. */
#include "server/store/known_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_epoch {
    known_epoch *next;
    char name[EPOCH_LEN + 1];
    int64_t first;          /* the order number that it begins with */
    _Atomic int64_t number; /* the highest that was seen; below `first`: none */
    int64_t marked;         /* the same, when it was marked */
    int64_t accepted;       /* up to here the admin has accepted that they are lost */
};

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void known_ledger_free(known_ledger *known)
{
    known_epoch *next;
    for (known_epoch *each = atomic_load(&known->all); each; each = next) {
        next = each->next;
        free(each);
    }
    memset(known, 0, sizeof(*known));
}

const char *known_ledger_epoch(const known_ledger *known, int64_t *ret_number)
{
    const known_epoch *now = atomic_load(&known->now);
    *ret_number = now ? atomic_load(&now->number) : 0;
    return now ? now->name : "-";
}

static known_epoch *find(const known_ledger *known, const char *epoch)
{
    known_epoch *each = atomic_load(&known->all);
    while (each && strcmp(each->name, epoch) != 0)
        each = each->next;
    return each;
}

static void raise_to(known_epoch *epoch, int64_t number)
{
    int64_t before = atomic_load(&epoch->number);
    while (before < number && !atomic_compare_exchange_weak(&epoch->number, &before, number)) {
    }
}

void known_ledger_saw(known_ledger *known, const char *epoch, int64_t number)
{
    known_epoch *found = atomic_load(&known->now);
    if (!found || strcmp(found->name, epoch) != 0)
        found = find(known, epoch);
    if (found)
        raise_to(found, number);
}

int64_t known_ledger_orders(const known_ledger *known)
{
    int64_t orders = 0;
    for (const known_epoch *each = atomic_load(&known->all); each; each = each->next)
        orders = most(orders, atomic_load(&each->number));
    return orders;
}

/* ---- for who compares ------------------------------------------------------------------------ */

void known_ledger_mark(known_ledger *known, const char *run)
{
    if (strcmp(known->run, run) != 0)
        atomic_store(&known->now, NULL);
    for (known_epoch *each = atomic_load(&known->all); each; each = each->next)
        each->marked = atomic_load(&each->number);
}

/* Up to which number the orders of this name have been accepted as lost, and noted; -1: they are
 * not noted at all. */
static void read_lost(const redisReply *lost, const char *name, int64_t *accepted, int64_t *noted)
{
    const char *words = lost ? store_field(lost, name) : "";
    if (sscanf(words, "%" SCNd64 " %" SCNd64, accepted, noted) != 2)
        *accepted = *noted = -1;
}

int64_t known_ledger_lost(const known_ledger *known, const seen_ledger *seen, dlock_args *ret)
{
    int64_t sum = 0;
    for (const known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        int64_t accepted, noted, last = epochs_last(seen->epochs, seen->orders, each->name);
        int64_t left = most(last >= 0 ? last : each->first - 1, each->accepted);
        read_lost(seen->lost, each->name, &accepted, &noted);
        int64_t told = most(left, seen->halted ? noted : accepted);
        if (each->marked <= told)
            continue;
        sum += each->marked - told;
        if (!ret)
            continue;
        dlock_args_text(ret, each->name);
        dlock_args_int(ret, left);
        dlock_args_int(ret, each->marked);
    }
    return sum;
}

/* NULL: out of memory. */
static known_epoch *find_or_add(known_ledger *known, const epoch_row *row)
{
    known_epoch *epoch = find(known, row->name);
    if (epoch || !(epoch = calloc(1, sizeof(*epoch))))
        return epoch;
    memcpy(epoch->name, row->name, sizeof(epoch->name));
    epoch->first = row->first;
    epoch->next = atomic_load(&known->all);
    atomic_store(&known->all, epoch);
    return epoch;
}

bool known_ledger_adopt(known_ledger *known, const seen_ledger *seen, bool all_seen)
{
    epoch_row row;
    int64_t last = seen->orders;
    known_epoch *newest = NULL;
    const char *at = seen->epochs, *next;
    for (; (next = epochs_next(at, &row)); at = next, last = row.first - 1) {
        known_epoch *epoch = find_or_add(known, &row);
        if (!epoch)
            return false;
        if (all_seen && last >= row.first)
            raise_to(epoch, last);
        newest = newest ? newest : epoch;
    }
    for (known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        int64_t accepted, noted;
        read_lost(seen->lost, each->name, &accepted, &noted);
        each->accepted = most(each->accepted, accepted);
    }
    snprintf(known->run, sizeof(known->run), "%s", at);
    atomic_store(&known->now, newest);
    return newest;
}
