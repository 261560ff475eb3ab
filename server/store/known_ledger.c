/*
 * known_ledger.c - the known epochs, as a list that only grows.
 *
 * In an epoch this process knows the orders up to `kept`, which the ledger had at the last
 * comparison, and those after `accepted`, which it has seen since. The admin has accepted the
 * orders in between as lost. So each order is counted once, even after another loss:
 *
 *     first ......... kept |  accepted as lost  | accepted ......... number
 */
#include "server/store/known_ledger.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct known_epoch {
    known_epoch *next;
    char name[EPOCH_LEN + 1];
    char *epochs;           /* the text in which it is the newest; NULL = there is none */
    int64_t first;          /* the order number that it begins with */
    _Atomic int64_t number; /* the highest number seen; below `first`: none */
    int64_t marked;         /* `number` when it was marked */
    int64_t kept;           /* the last one in the ledger at the last adoption */
    int64_t accepted;       /* the admin has accepted losses up to here; 0 = none */
    _Atomic int64_t moves;  /* the place of the last move seen; 0 = none */
    int64_t marked_moves;   /* `moves` when it was marked */
};

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

void known_ledger_free(known_ledger *known)
{
    known_epoch *next;
    for (known_epoch *each = atomic_load(&known->all); each; each = next) {
        next = each->next;
        free(each->epochs);
        free(each);
    }
    memset(known, 0, sizeof(*known));
}

const char *known_ledger_epochs(const known_ledger *known, int64_t *ret_number)
{
    const known_epoch *now = atomic_load(&known->now);
    *ret_number = now ? atomic_load(&now->number) : 0;
    return now ? now->epochs : EPOCHS_NONE;
}

static known_epoch *find(const known_ledger *known, const char *epoch)
{
    known_epoch *each = atomic_load(&known->all);
    while (each && strcmp(each->name, epoch) != 0)
        each = each->next;
    return each;
}

static void raise_to(_Atomic int64_t *seen, int64_t number)
{
    int64_t before = atomic_load(seen);
    while (before < number && !atomic_compare_exchange_weak(seen, &before, number)) {
    }
}

static known_epoch *find_newest_first(known_ledger *known, const char *epoch)
{
    known_epoch *now = atomic_load(&known->now);
    return now && strcmp(now->name, epoch) == 0 ? now : find(known, epoch);
}

void known_ledger_saw(known_ledger *known, const char *epoch, int64_t number)
{
    known_epoch *found = find_newest_first(known, epoch);
    if (found)
        raise_to(&found->number, number);
}

void known_ledger_saw_move(known_ledger *known, const char *epoch, int64_t place)
{
    known_epoch *found = find_newest_first(known, epoch);
    if (found)
        raise_to(&found->moves, place);
}

int64_t known_ledger_orders(const known_ledger *known)
{
    int64_t orders = 0;
    for (const known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        int64_t number = atomic_load(&each->number);
        orders = most(orders, number > each->accepted ? number : least(number, each->kept));
    }
    return orders;
}

/* ---- for who compares ------------------------------------------------------------------------ */

/* If this process has seen an order of an epoch, all earlier ones existed. */
static void mark_before(const known_ledger *known, const known_epoch *later)
{
    epoch_row row;
    int64_t last = later->first - 1;
    const char *at = epochs_next(later->epochs, &row);
    for (; at && (at = epochs_next(at, &row)); last = row.first - 1) {
        known_epoch *each = find(known, row.name);
        if (each)
            each->marked = most(each->marked, last);
    }
}

void known_ledger_mark(known_ledger *known, const char *run)
{
    if (!server_run_goes_on(known->run, run))
        atomic_store(&known->now, NULL);
    for (known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        each->marked = atomic_load(&each->number);
        each->marked_moves = atomic_load(&each->moves);
    }
    for (known_epoch *each = atomic_load(&known->all); each; each = each->next)
        if (each->epochs && each->marked >= each->first)
            mark_before(known, each);
}

void known_ledger_put_moves(const known_ledger *known, dlock_args *args)
{
    fs_text moves;
    text_init(&moves);
    for (const known_epoch *each = atomic_load(&known->all); each; each = each->next)
        if (each->marked_moves > 0)
            text_printf(&moves, "%s %lld ", each->name, (long long)each->marked_moves);
    store_put_text(args, &moves);
}

bool known_ledger_contradicts(const known_ledger *known, const char *epochs)
{
    epoch_row row;
    const known_epoch *newest = epochs_next(epochs, &row) ? find(known, row.name) : NULL;
    bool differs = newest && newest->epochs && strcmp(newest->epochs, epochs) != 0;
    for (const char *at = epochs; !differs && (at = epochs_next(at, &row));) {
        const known_epoch *same = find(known, row.name);
        differs = same && same->first != row.first;
    }
    return differs;
}

/* Up to which number the admin has accepted orders of this epoch as lost, and up to which they are
 * noted; -1: they are not noted. */
static void read_lost(const redisReply *lost, const char *name, int64_t *accepted, int64_t *noted)
{
    const char *words = lost ? store_field(lost, name) : "";
    if (sscanf(words, "%" SCNd64 " %" SCNd64, accepted, noted) != 2)
        *accepted = *noted = -1;
}

int64_t known_ledger_accepted(const redisReply *lost, const char *name)
{
    int64_t accepted, noted;
    read_lost(lost, name, &accepted, &noted);
    return accepted;
}

/* How many orders of this epoch are lost, of those behind `left` up to `last`. */
static int64_t count_lost(const seen_ledger *seen, const char *name, int64_t left, int64_t last,
                          dlock_args *ret)
{
    int64_t accepted, noted;
    read_lost(seen->lost, name, &accepted, &noted);
    int64_t told = most(left, seen->halted ? noted : accepted);
    if (last <= told)
        return 0;
    if (ret) {
        dlock_args_text(ret, name);
        dlock_args_int(ret, left);
        dlock_args_int(ret, last);
    }
    return last - told;
}

int64_t known_ledger_lost(const known_ledger *known, const seen_ledger *seen, dlock_args *ret)
{
    int64_t sum = 0;
    for (const known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        char kept[EPOCH_LEN + 2];
        int64_t last = epochs_last(seen->epochs, seen->orders, each->name);
        int64_t here = last >= 0 ? last : each->first - 1;
        int64_t accepted = each->accepted > each->kept ? each->accepted : 0;
        snprintf(kept, sizeof(kept), "%s-", each->name);
        if (accepted > 0)
            sum += count_lost(seen, kept, here, least(each->marked, each->kept), ret);
        sum += count_lost(seen, each->name, most(here, accepted), each->marked, ret);
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

/* What was accepted as lost stays so, until a ledger has it again. */
static void settle(known_epoch *epoch, const seen_ledger *seen)
{
    int64_t accepted, noted;
    int64_t last = epochs_last(seen->epochs, seen->orders, epoch->name);
    read_lost(seen->lost, epoch->name, &accepted, &noted);
    epoch->kept = last >= 0 ? last : epoch->first - 1;
    epoch->accepted = most(epoch->accepted, accepted);
    if (epoch->kept >= epoch->accepted)
        epoch->accepted = 0;
}

/* Forgets the moves that were marked, unless more have come since. */
static void forget_moves(known_epoch *epoch)
{
    atomic_compare_exchange_strong(&epoch->moves, &epoch->marked_moves, 0);
}

bool known_ledger_adopt(known_ledger *known, const seen_ledger *seen, int64_t accepted,
                        bool all_seen)
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
            raise_to(&epoch->number, last);
        newest = newest ? newest : epoch;
    }
    if (newest && !newest->epochs)
        newest->epochs = strdup(seen->epochs);
    if (!newest || !newest->epochs)
        return false;
    for (known_epoch *each = atomic_load(&known->all); each; each = each->next) {
        settle(each, seen);
        if (accepted > known->accepted)
            forget_moves(each);
    }
    known->accepted = accepted;
    snprintf(known->run, sizeof(known->run), "%s", at);
    atomic_store(&known->now, newest);
    return true;
}
