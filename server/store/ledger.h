/*
 * ledger.h - reading what was sold: the numbers, one order, all orders.
 *
 * A buy that timed out may still be on its way to Redis. Two things make "no such order" final, in
 * the sale that was asked: a buy under the same id in the *next* sale is another buy.
 *
 * Time. Every try has a not_after, and no script makes its order later (purchase.h). The asker
 * tells the latest one that its tries have. A second after it, by the clock of the server that
 * would make the order, an order that is not there will not come (LEDGER_PAST), unless that clock
 * goes back by more. Nothing is written, so nobody can exhaust anything. The script that looks is
 * one that may write, although it does not: a server that is not in charge, such as a replica that
 * lags, refuses it. A full one does not.
 *
 * A mark. Without a time a try may be anywhere, even on its way to an instance. The first question
 * is noted. A second one that comes when every request which was under way at the first has run out
 * leaves a mark in the order's place, in every segment (LEDGER_NEVER), by which each selling script
 * refuses (BUY_VOID). Notes and marks cost memory, and anybody may ask, so both are bounded: with
 * the longest ids 30,000 notes take 5 MB, and 60,000 marks 8 MB, four times that in a sale of four
 * segments or more. Beyond that answers stay open until the sale is over.
 *
 * Whoever tells of an order acknowledges it. In a replicated sale (replicas.h) an order that was
 * found, or a mark, is therefore written once more as it is, and waited for until the replicas
 * have it; otherwise it is LEDGER_UNCONFIRMED, or LEDGER_NOT_YET. Pages are not. A primary that was
 * cut off does not know what another one has sold since. So for LEDGER_PAST the stock is written
 * once more, after the time is over: the replicas that acknowledge it have followed nobody else
 * until then. For LEDGER_OVER it is the pointer to the current sale.
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
    int64_t orders;    /* orders, also those that were cancelled or are over */
    int64_t time_us;   /* by Redis's clock, when they were read */
} ledger_numbers;

/* Units ordered beyond the sale's first ones; and units ordered that were not taken from the stock:
 * updates of it that were lost. Neither is below 0. */
static inline int64_t ledger_oversold(int64_t initial, const ledger_numbers *numbers)
{
    return numbers->units > initial ? numbers->units - initial : 0;
}

static inline int64_t ledger_lost(int64_t initial, const ledger_numbers *numbers)
{
    int64_t taken = initial - numbers->remaining;
    return numbers->units > taken ? numbers->units - taken : 0;
}

/* From the surest to the least sure of those that found nothing. */
typedef enum ledger_status {
    LEDGER_FOUND = 0,
    LEDGER_UNCONFIRMED, /* an order, but a failover may undo it: nobody is told of it as yet */
    LEDGER_NEVER,       /* no order, and a marker sees to it that there will be none */
    LEDGER_PAST,        /* no order, and the asker's tries will make none */
    LEDGER_OVER,        /* no order, and none will be written: the sale is not the current one */
    LEDGER_NOT_YET,     /* no order, but there could still be one */
    LEDGER_OLDER,       /* no order in the sales that were asked, but there were older ones */
    LEDGER_DAMAGED,     /* what Redis has of the sale can not be read, or does not fit together */
    LEDGER_UNAVAILABLE  /* Redis did not answer */
} ledger_status;

/* All questions end by the deadline that they are given, and the answer is LEDGER_UNAVAILABLE then;
 * each question to Redis has the time of a read at most (store.h).
 *
 * The sum over the sale's segments; one moment for each of them. With `exact` a segment is damaged
 * whose stock and orders are not what it began with. LEDGER_FOUND, _DAMAGED, _UNAVAILABLE. */
ledger_status ledger_count(fs_store *store, const sale_terms *terms, bool exact,
                           dlock_time deadline, ledger_numbers *ret);

typedef enum ledger_how {
    LEDGER_LOOK, /* changes nothing */
    LEDGER_ASK,  /* notes the question, or answers for ever; see above */
    LEDGER_VOID  /* answers for ever at once */
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

/* The same for an asker none of whose tries makes an order after this moment of Redis's clock.
 * Notes nothing, and leaves no marker. */
ledger_status ledger_find_until(fs_store *store, const sale_terms *terms, const char *request,
                                int64_t not_after_us, dlock_time deadline, ledger_entry *ret);

/* Whether the replicas have what stands in the request's place in segment k (0 unless sharded);
 * request NULL: whether they still follow its server. False: too few have it, or it was not to be
 * found out by the deadline of a read. */
bool ledger_confirm(fs_store *store, const sale_terms *terms, int k, const char *request,
                    dlock_time deadline);

/* What is known of the orders of a sale whose terms could not be read: LEDGER_OLDER, it is not kept
 * any more; _DAMAGED, there may be one; _UNAVAILABLE. */
ledger_status ledger_of_sale(sale_status status);

/* Asks for the order in the item's current sale (these terms) and in the one before it, as
 * LEDGER_ASK, or, if not_after_us is not 0, as ledger_find_until().
 * LEDGER_NEVER, _PAST: in neither of them, and there was no other. LEDGER_OLDER: in neither of
 * them, and the item had others. Never LEDGER_OVER. Where there is no order, Redis executes one
 * command a segment of both, and some ten more; and once, when the request is declared void, eight
 * more a segment. */
ledger_status ledger_find_recent(fs_store *store, const sale_terms *terms, const char *request,
                                 int64_t not_after_us, dlock_time deadline, ledger_entry *ret);

typedef void ledger_each(void *arg, int segment, const char *request, const fs_order *order);

/* Calls `each` for a segment's orders from place `first` to place `last`, counted from 0, or from
 * the end when they are below 0; *ret is their number (NULL: it is not asked for). They are what
 * stands there now, and are not confirmed: a failover may still undo some. LEDGER_FOUND, _DAMAGED,
 * _UNAVAILABLE. */
#define LEDGER_PAGE 100 /* at once */
ledger_status ledger_read(fs_store *store, const sale_terms *terms, int segment, int64_t first,
                          int64_t last, dlock_time deadline, ledger_each *each, void *arg,
                          int *ret);

#endif
