/*
 * purchase.h - what a buyer asks, what is recorded of it (the order), and what the buyer is told.
 *
 * An outcome is an answer, not an error: sold; definitely not bought, so that no order exists under
 * this request id, and none will from this try; or unknown, never reported as yes or no. As long as
 * no write was sent, a failure is definite and the buyer hears "store unavailable". After that,
 * only an answer is definite; silence is "unknown".
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
 * A client that another thread than its own can answer. A buyer's thread that waits for its order
 * would be woken to send it, and would sleep again until the client's next request. So it sleeps on
 * the client's socket instead, and the thread that sells for many tells the client: only of an
 * order. With anything else the buyer's own thread is woken.
 */
struct purchase_result;
struct sale_terms;

typedef struct direct_answer {
    int socket; /* the client's: readable when it asks again or has gone. Only to be polled */
    int wakeup; /* an eventfd that only the buyer's thread reads */

    /* Asked by the buyer's thread before it goes to sleep: fills in the two. False: only its own
     * thread can answer the client. */
    bool (*ready)(struct direct_answer *direct);

    /* Answers the client; never waits for it. Called at most once, while the buyer's thread waits.
     * False: nothing was sent, and the buyer's thread must answer. */
    bool (*tell)(struct direct_answer *direct, const struct sale_terms *terms,
                 const struct purchase_result *result);
} direct_answer;

/* What is asked: to buy, or what is to become of an order that there is. */
typedef enum purchase_action {
    PURCHASE_BUY = 0,
    PURCHASE_CONFIRM, /* a reservation is sold */
    PURCHASE_CANCEL,  /* its units return */
    PURCHASE_REVOKE   /* the same for the admin: also of an order that was sold */
} purchase_action;

typedef struct purchase {
    purchase_action action;
    char user[USER_MAX + 1]; /* "" = whoever has the order; not to buy */
    char request[IDENT_MAX + 1];
    int64_t quantity;
    int64_t reserve_s;     /* to buy: the units are reserved for so long; 0 = they are sold */
    bool keyed;            /* the client gave the request id, so this may be a retry */
    dlock_time received;   /* when it came: its time counts from here */
    dlock_time deadline;   /* by then the buyer is answered, terms_request_ms() after it came */
    int64_t wanted_by_us;  /* no order is to be made after this; 0 = the client sets no time */
    int64_t not_after_us;  /* by Redis's clock: no script writes beyond it */
    bool own_time;         /* that is what the client has set, so "late" is what it asked for */
    direct_answer *direct; /* NULL: only the buyer's own thread can answer the client */
} purchase;

/* Sets not_after_us, its deadline by Redis's clock, or what the client asks for if that is sooner;
 * and own_time. */
void purchase_set_not_after(purchase *request, int64_t deadline_us);

/* ---- the order ------------------------------------------------------------------------------- */

/*
 * Its record in Redis is one line of words under the request's id in the hash of orders. It holds
 * everything that the buyer was told, so that a retry is answered with the very same body:
 *
 *     <number> <user> <quantity> <remaining> <fence> <instance> <time_us> <epoch> <state>
 *
 * A number is given once in an epoch (epochs.h): the two name the order. The state is "sold", or of
 * an order that began as a reservation "reserved", "confirmed" or "cancelled", each with the end of
 * the reservation behind it (reservations.h). An order that was sold at once and revoked is
 * "cancelled" alone. A reservation whose time is over stays as it is, and scripts tell it as
 * "expired". The ledger has "<request>" at place <number>, or "<request> reserved". A script that
 * finds a record looks there, and answers "damaged" when the two do not agree (state.lua).
 *
 * Two markers can stand in a record's place. ORDER_VOID: somebody was told that this request never
 * became an order, so now it must not; "#void", which is no request's id, counts them.
 * ORDER_ELSEWHERE: this segment of a sharded sale had too little for the request, which went on to
 * the next; it must not come back for less.
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
    int64_t remaining; /* units left right after it */
    uint64_t fence;    /* of the lock it was sold under; 0 = none */
    char instance[IDENT_MAX + 1];
    int64_t time_us; /* Unix time by Redis's clock */
    char epoch[EPOCH_LEN + 1];
    order_state state;
    int64_t expires_us; /* when its reservation is, or was to be, over; 0 = it was sold at once */
} fs_order;

/* The state as clients are told it: that of an order that is confirmed is "sold". */
const char *order_state_name(order_state state);

/* Reads a record; false when it is none (a marker, or damaged). */
bool order_read(const char *record, size_t len, fs_order *ret);

/* Appends the order's id as a buyer is told it: no two orders have the same one, also where a
 * failover has undone one of them. `segment` < 0: the sale is not sharded. */
void order_put_id(fs_text *out, const char *sale, int segment, const fs_order *order);

/* ---- what a buyer is told -------------------------------------------------------------------- */

typedef struct purchase_result {
    purchase_outcome outcome;
    bool replayed;     /* sold: the order is from an earlier try */
    bool told;         /* sold: the client has been answered already, through `direct` */
    bool replicated;   /* sold: the replicas that the sale asks for have the order; only then may
                          the buyer of a replicated sale be told. Sold out: no failover of one
                          server undoes that; only then may the buyer go on to the next segment */
    int segment;       /* that answered; sold: that has the order. 0 unless the sale is sharded */
    fs_order order;    /* sold */
    int64_t remaining; /* units left when it was decided; -1 = not known */
    int64_t reserved;  /* units reserved then; -1 = not known, or the sale has no reservations */
    char redis[24];    /* unavailable: the first word of what Redis said, "" = nothing */
} purchase_result;

/* Makes `result` say `outcome` and nothing else; unavailable: what Redis said to this thread. */
void purchase_answer(purchase_result *result, purchase_outcome outcome);

/* The same for a script's answer to one buyer: a record, "+" and one that was just written, "=" and
 * an earlier record, or the words of a refusal. Whoever has confirmed or cancelled is told
 * BUY_SOLD, and the order. */
void purchase_answer_script(purchase_result *result, const char *answer, size_t len,
                            const purchase *asked);

/* The same for the order that the request has from an earlier try, in `segment`: as ledger_find()
 * has found it, so the replicas have it. It is no answer to whoever would confirm or cancel it, and
 * has not: `result` stays a refusal then. */
void purchase_answer_earlier(purchase_result *result, const fs_order *order, int segment,
                             const purchase *asked);

/* The outcomes of a write that was not answered (any outcome but OK), of a lock that was not
 * obtained, and of a guarded write that was not answered (any status but DLOCK_OK). Logged. */
purchase_outcome purchase_write_failed(fs_store *store, dlock_redis_outcome outcome);
purchase_outcome purchase_lock_failed(fs_store *store, dlock_status status);
purchase_outcome purchase_guard_failed(fs_store *store, dlock_status status);

#endif
