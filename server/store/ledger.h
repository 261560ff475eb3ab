/*
 * ledger.h - reads what was sold: the numbers, one order, all orders.
 *
 * A buy that timed out may still be on its way to Redis. "No such order" can become final in two
 * ways. It is final for the sale that was asked: a buy with the same id in the *next* sale is
 * another buy.
 *
 * By time. Every try has a not_after, and no script makes its order later (purchase.h). The asker
 * names the latest not_after of its tries. One second after that, by the clock of the server that
 * would make the order, a missing order can no longer appear (LEDGER_PAST), unless that clock goes
 * back by more than a second. Nothing is written, so there is nothing to exhaust. The script is
 * declared as one that may write: so a server that must not decide, such as a lagging replica,
 * refuses it. A full server does not.
 *
 * By a mark. Without a time, a try may be anywhere, even on its way to an instance. The first
 * question is noted. If a second question comes after all requests that were in flight at the first
 * have timed out, it writes a mark in the order's place, in every segment (LEDGER_NEVER). Every
 * selling script refuses a marked request (BUY_VOID). Notes and marks cost memory, and anybody may
 * ask, so both are bounded: with the longest ids 30,000 notes take 5 MB, and 60,000 marks take 8
 * MB, or four times that in a sale of four segments or more. Beyond that, answers stay open until
 * the sale is over.
 *
 * To tell of an order is to acknowledge it. So in a replicated sale (replicas.h) an order or mark
 * that was found is written again unchanged, and the call waits until the replicas have it; if they
 * do not, the answer is LEDGER_UNCONFIRMED or LEDGER_NOT_YET. Pages are not confirmed. A primary
 * that was cut off does not know what another one has sold since. So for LEDGER_PAST the stock is
 * written again after the time has passed: replicas that acknowledge it followed this primary until
 * then. For LEDGER_OVER the pointer to the current sale is written.
 */
#ifndef FLASHSALE_LEDGER_H
#define FLASHSALE_LEDGER_H

#include "server/store/purchase.h"
#include "server/store/terms.h"

typedef struct ledger_numbers {
    int64_t remaining; /* units left */
    int64_t sold;      /* units sold */
    int64_t reserved;  /* units reserved */
    int64_t units;     /* both */
    int64_t orders;    /* orders, including cancelled and expired ones */
    int64_t time_us;   /* by Redis's clock, when they were read */
} ledger_numbers;

/* Units ordered beyond the sale's initial units; and units ordered but never taken from the stock
 * (lost updates). Neither is below 0. */
static inline int64_t ledger_oversold(int64_t initial, const ledger_numbers *numbers)
{
    return numbers->units > initial ? numbers->units - initial : 0;
}

static inline int64_t ledger_lost(int64_t initial, const ledger_numbers *numbers)
{
    int64_t taken = initial - numbers->remaining;
    return numbers->units > taken ? numbers->units - taken : 0;
}

/* Of those without an order, the surest comes first. */
typedef enum ledger_status {
    LEDGER_FOUND = 0,
    LEDGER_UNCONFIRMED, /* an order that a failover may still undo: it must not be told yet */
    LEDGER_NEVER,       /* no order, and a mark prevents one for good */
    LEDGER_PAST,        /* no order, and the asker's tries can make none */
    LEDGER_OVER,        /* no order, and none will be written: the sale is not the current one */
    LEDGER_NOT_YET,     /* no order yet */
    LEDGER_OLDER,       /* no order in the sales that were asked, but there were older ones */
    LEDGER_DAMAGED,     /* the sale's data in Redis can not be read, or contradict each other */
    LEDGER_UNAVAILABLE  /* Redis did not answer */
} ledger_status;

/* All functions return by their deadline, with LEDGER_UNAVAILABLE if need be; each call to Redis is
 * also limited as a read (store.h).
 *
 * Sums the numbers of the sale's segments; each segment is read at one moment. With `exact`, a
 * segment whose stock and orders do not add up to its initial units is damaged. LEDGER_FOUND,
 * _DAMAGED, _UNAVAILABLE. */
ledger_status ledger_count(fs_store *store, const sale_terms *terms, bool exact,
                           dlock_time deadline, ledger_numbers *ret);

typedef enum ledger_how {
    LEDGER_LOOK, /* changes nothing */
    LEDGER_ASK,  /* notes the question, or makes the answer final; see above */
    LEDGER_VOID  /* makes the answer final at once */
} ledger_how;

typedef struct ledger_entry {
    char sale[IDENT_MAX + 1];
    bool sharded; /* the order's number counts within its segment */
    int segment;
    fs_order order;
} ledger_entry;

/* The order of a request in one sale, current or not. All segments are looked at before the request
 * is declared void in any. */
ledger_status ledger_find(fs_store *store, const sale_terms *terms, const char *request,
                          ledger_how how, dlock_time deadline, ledger_entry *ret);

/*
 * A buyer is refused, as `result` says: what does the ledger say of its request? `how` is
 * LEDGER_LOOK, or LEDGER_VOID, which settles the request. The one rule, whoever refuses:
 *
 *     ledger                a look                                      settled
 *     an order              the order                                   the order
 *     an order, in doubt    unknown                                     unknown
 *     void                  void                                        the refusal
 *     the sale is over      the refusal; closed if it is for good       the refusal
 *     no order so far       the refusal                                 unknown
 *     damaged               the refusal; damaged if it is for good      damaged
 *     no answer             the refusal; unavailable if it is for good  unknown
 */
ledger_status ledger_answer(fs_store *store, const sale_terms *terms, const purchase *request,
                            ledger_how how, purchase_result *result);

/* The same for an asker whose tries make no order after this moment of Redis's clock. Writes no
 * note and no mark. */
ledger_status ledger_find_until(fs_store *store, const sale_terms *terms, const char *request,
                                int64_t not_after_us, dlock_time deadline, ledger_entry *ret);

/* Whether the replicas have the request's order or mark in segment k (0 unless sharded); request
 * NULL: whether they still follow the segment's server. False: too few do, or there was no answer
 * within the time of a read. */
bool ledger_confirm(fs_store *store, const sale_terms *terms, int k, const char *request,
                    dlock_time deadline);

/* What is known of an order when the sale's terms could not be read: LEDGER_OLDER, the sale is no
 * longer kept; _DAMAGED, there may be an order; _UNAVAILABLE. */
ledger_status ledger_of_sale(sale_status status);

/* Looks for the order in the item's current sale (these terms) and in the one before, as LEDGER_ASK
 * does, or as ledger_find_until() if not_after_us is not 0. LEDGER_NEVER, _PAST: neither sale has
 * it, and there was no other. LEDGER_OLDER: neither has it, and the item had older sales. Never
 * LEDGER_OVER. Without an order this costs Redis about ten commands, and one per segment of both
 * sales; and once, when the request is declared void, eight more per segment. */
ledger_status ledger_find_recent(fs_store *store, const sale_terms *terms, const char *request,
                                 int64_t not_after_us, dlock_time deadline, ledger_entry *ret);

typedef void ledger_each(void *arg, int segment, const char *request, const fs_order *order);

/* Calls `each` for a segment's orders from place `first` to place `last`, counted from 0, or from
 * the end if negative; *ret (NULL is allowed) is their number. They are not confirmed: a failover
 * may still undo some. LEDGER_FOUND, _DAMAGED, _UNAVAILABLE. */
#define LEDGER_PAGE 100 /* orders per page */
ledger_status ledger_read(fs_store *store, const sale_terms *terms, int segment, int64_t first,
                          int64_t last, dlock_time deadline, ledger_each *each, void *arg,
                          int *ret);

#endif
