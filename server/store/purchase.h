/*
 * purchase.h - a buyer's request, the order that records it, and the buyer's answer.
 *
 * An outcome is an answer, not an error: sold; or definitely not bought, so this request id has no
 * order and this try will make none; or unknown, which is never reported as yes or no. Before a
 * write is sent, a failure is definite, and the buyer gets "store unavailable". After that, only an
 * answer is definite; silence means "unknown".
 */
#ifndef FLASHSALE_PURCHASE_H
#define FLASHSALE_PURCHASE_H

#include "server/base/text.h"
#include "server/store/epochs.h"
#include "server/store/outcome.h"
#include "server/store/reservations.h"
#include "server/store/store.h"

/* ---- what a buyer asks ----------------------------------------------------------------------- */

/*
 * A client that a thread other than its own can answer. Otherwise a buyer's thread would be woken
 * to send its order, only to sleep again until the client's next request. Instead it sleeps on the
 * client's socket, and the leader sends the order. For any other answer the leader wakes the
 * buyer's thread.
 */
struct purchase_result;
struct sale_terms;

typedef struct direct_answer {
    int socket; /* the client's: readable when it sends or closes. Only poll it */
    int wakeup; /* an eventfd that only the buyer's thread reads */

    /* The buyer's thread calls this before it sleeps, to fill in the two. False: only its own
     * thread can answer the client. */
    bool (*ready)(struct direct_answer *direct);

    /* Answers the client, without waiting for it. Called at most once, while the buyer's thread
     * waits. False: nothing was sent, and the buyer's thread must answer. */
    bool (*tell)(struct direct_answer *direct, const struct sale_terms *terms,
                 const struct purchase_result *result);
} direct_answer;

/* What is asked: a buy, or a change to an existing order. */
typedef enum purchase_action {
    PURCHASE_BUY = 0,
    PURCHASE_CONFIRM, /* sells a reservation */
    PURCHASE_CANCEL,  /* returns its units */
    PURCHASE_REVOKE   /* the admin's cancel, also of a sold order */
} purchase_action;

typedef struct purchase {
    purchase_action action;
    char user[USER_MAX + 1]; /* "" = the user of the order; not for a buy */
    char request[IDENT_MAX + 1];
    int64_t quantity;
    int64_t reserve_s;     /* buy: reserve the units for so long; 0 = sell them */
    bool keyed;            /* the client gave the request id, so this may be a retry */
    dlock_time received;   /* all limits count from here */
    dlock_time deadline;   /* of the answer: terms_request_ms() after `received` */
    int64_t wanted_by_us;  /* the client wants no order after this; 0 = it sets no limit */
    int64_t not_after_us;  /* by Redis's clock: no script writes beyond it */
    bool own_time;         /* not_after_us is the client's, so "late" is its own limit */
    direct_answer *direct; /* NULL: only the buyer's own thread can answer the client */
} purchase;

/* Sets not_after_us to the deadline by Redis's clock, or to the client's limit if that is sooner;
 * and own_time. */
void purchase_set_not_after(purchase *request, int64_t deadline_us);

/* ---- the order ------------------------------------------------------------------------------- */

/*
 * An order's record in Redis is a line of words, in the hash of orders under the request's id. It
 * has everything that the buyer was told, so a retry gets the very same body:
 *
 *     <number> <user> <quantity> <remaining> <fence> <instance> <time_us> <epoch> <state>
 *
 * Within an epoch (epochs.h) a number is given once, so the two identify the order. The state is
 * "sold"; an order that began as a reservation is "reserved", "confirmed" or "cancelled", followed
 * by the end of the reservation (reservations.h). An order that was sold at once and revoked is
 * just "cancelled". The record of an expired reservation does not change; scripts report it as
 * "expired". The ledger has "<request>" or "<request> reserved" at place <number>. A script that
 * finds a record checks that place, and answers "damaged" if the two contradict each other
 * (state.lua).
 *
 * A record's place can hold a mark instead. ORDER_VOID: a client was told that this request never
 * became an order, so it must not become one; field "#void", which is no request id, counts these.
 * ORDER_ELSEWHERE: this segment of a sharded sale had too few units for the request, which went on
 * to the next segment; it must not return for fewer.
 */
#define ORDER_VOID      "-"
#define ORDER_ELSEWHERE ">"

typedef enum order_state {
    ORDER_SOLD = 0,
    ORDER_RESERVED,
    ORDER_CONFIRMED, /* sold, after it was reserved */
    ORDER_CANCELLED,
    ORDER_EXPIRED
} order_state;

typedef struct fs_order {
    int64_t number; /* 1, 2, 3 ... in the ledger of its segment */
    char user[USER_MAX + 1];
    int64_t quantity;
    int64_t remaining; /* units left after it */
    uint64_t fence;    /* of its lock; 0 = none */
    char instance[IDENT_MAX + 1];
    int64_t time_us; /* Unix time by Redis's clock */
    char epoch[EPOCH_LEN + 1];
    order_state state;
    int64_t expires_us; /* the end of its reservation, past or not; 0 = it was sold at once */
} fs_order;

/* The state as clients see it: a confirmed order is "sold". */
const char *order_state_name(order_state state);

/* Reads a record. False: it is a mark, or damaged. */
bool order_read(const char *record, size_t len, fs_order *ret);

/* Appends the order's id as a buyer is told it. It is unique, even if a failover has undone another
 * order with the same number. `segment` < 0: the sale is not sharded. */
void order_put_id(fs_text *out, const char *sale, int segment, const fs_order *order);

/* ---- what a buyer is told -------------------------------------------------------------------- */

typedef struct purchase_result {
    purchase_outcome outcome;
    bool replayed;     /* sold: the order is from an earlier try */
    bool told;         /* sold: the client was already answered through `direct` */
    bool replicated;   /* sold: the required replicas have the order; the buyer of a replicated sale
                          must not be told before. Sold out: no failover of one server can undo
                          that; the buyer must not go on to the next segment before */
    int segment;       /* that answered; sold: that has the order. 0 unless the sale is sharded */
    fs_order order;    /* sold */
    int64_t remaining; /* units left at the decision; -1 = unknown */
    int64_t reserved;  /* units reserved then; -1 = unknown, or no reservations */
    char redis[24];    /* unavailable: the first word of Redis's error, "" = none */
} purchase_result;

/* Sets `result` to `outcome` and nothing else; unavailable: with Redis's error to this thread. */
void purchase_answer(purchase_result *result, purchase_outcome outcome);

/* The same for a script's answer to one buyer: a record; "+" and a new record; "=" and an earlier
 * record; or a refusal. A successful confirm or cancel is BUY_SOLD with the order. */
void purchase_answer_script(purchase_result *result, const char *answer, size_t len,
                            const purchase *asked);

/* The same for the order of an earlier try, in `segment`. ledger_find() has found it, so the
 * replicas have it. It does not answer a confirm or cancel that was not executed: then `result`
 * stays a refusal. */
void purchase_answer_earlier(purchase_result *result, const fs_order *order, int segment,
                             const purchase *asked);

/* The outcomes of a write that failed (any outcome but OK), of a lock that was not acquired, and of
 * a guarded write that failed (any status but DLOCK_OK). Logged. */
purchase_outcome purchase_write_failed(fs_store *store, dlock_redis_outcome outcome);
purchase_outcome purchase_lock_failed(fs_store *store, dlock_status status);
purchase_outcome purchase_guard_failed(fs_store *store, dlock_status status);

#endif
