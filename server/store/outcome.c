/* outcome.c - the table. */
#include "server/store/outcome.h"

#include <stddef.h>

const outcome_words outcome_table[BUY_OUTCOMES] = {
    [BUY_SOLD] = {"sold", 201, NULL, AGAIN_NO, true, ""},
    [BUY_SOLD_OUT] = {"sold_out", 409, "sold_out", AGAIN_NO, true,
                      "fewer units are left than asked for"},
    [BUY_LIMIT_REACHED] = {"limit_reached", 409, "limit_reached", AGAIN_NO, true,
                           "the user would have more than this sale allows"},
    [BUY_CONFLICT] = {"conflict", 422, "request_reused", AGAIN_NO, true,
                      "this request id has an order with another user, quantity or reserve_s"},
    [BUY_VOID] = {"void", 409, "request_void", AGAIN_NO, true,
                  "this request id was declared final as not bought; use a new one"},
    [BUY_TOO_LATE] = {"too_late", 409, "too_late", AGAIN_NO, false,
                      "not_after has passed; this try bought nothing"},
    [BUY_BUSY] = {"busy", 503, "busy", AGAIN_YES, false,
                  "the lock was not to be had in time; nothing was bought"},
    [BUY_UNAVAILABLE] = {"store_unavailable", 503, "store_unavailable", AGAIN_YES, false,
                         "Redis did not answer; nothing was bought"},
    [BUY_DAMAGED] = {"damaged", 503, "sale_damaged", AGAIN_YES, false,
                     "the sale's data in Redis are damaged; this try bought nothing"},
    [BUY_ROLLED_BACK] = {"rolled_back", 503, "sale_rolled_back", AGAIN_ADMIN, false,
                         "Redis has lost orders of this sale; this try bought nothing"},
    [BUY_MAY_EVICT] = {"may_evict", 503, "store_may_evict", AGAIN_YES, false,
                       "Redis may throw the sale's data away; this try bought nothing"},
    [BUY_NOT_DURABLE] = {"not_durable", 503, "durability_lost", AGAIN_YES, false,
                         "Redis does not keep orders now as this sale promises, on disk or on its "
                         "replicas; this try bought nothing"},
    [BUY_WRITES_PAUSED] =
        {"writes_paused", 503, "writes_paused", AGAIN_YES, false,
         "Redis answers, and takes no writes at present; this try bought nothing"},
    [BUY_STALE] = {"stale", 503, "busy", AGAIN_YES, false, "the lock was lost; nothing was bought"},
    [BUY_CLOSED] = {"closed", 409, "sale_closed", AGAIN_NO, false,
                    "this sale is over; the item has a newer one"},
    [BUY_UNKNOWN] = {"unknown", 504, "unknown", AGAIN_ASK, false,
                     "bought or not: ask GET /orders/{request} with item= and sale=, or repeat "
                     "with the same Idempotency-Key and sale="},
    [BUY_NOT_OFFERED] = {"not_offered", 400, "reservation_not_offered", AGAIN_NO, true,
                         "the sale has no reservations, or none for so long"},
    [BUY_RESERVED] = {"reserved", 201, NULL, AGAIN_NO, true, ""},
    [BUY_CONFIRMED] = {"confirmed", 200, NULL, AGAIN_NO, true, ""},
    [BUY_CANCELLED] = {"cancelled", 200, NULL, AGAIN_NO, true, ""},
    [BUY_NO_ORDER] = {"no_order", 404, "no_such_order", AGAIN_NO, false,
                      "there is no such order, or it is another user's"},
    [BUY_EXPIRED] = {"expired", 409, "reservation_expired", AGAIN_NO, true,
                     "the reservation is over, and its units are for sale again"},
    [BUY_WAS_CANCELLED] = {"was_cancelled", 409, "order_cancelled", AGAIN_NO, true,
                           "the order was cancelled"},
    [BUY_WAS_SOLD] = {"was_sold", 409, "order_sold", AGAIN_NO, true,
                      "the order is sold; only the admin cancels it"},
};
