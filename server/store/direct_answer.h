/*
 * direct_answer.h - a client that another thread than its own can answer.
 *
 * A buyer's thread that waits for its order would be woken to send it, and would sleep again until
 * the client's next request. So it sleeps on the client's socket instead, and the thread that sells
 * for many tells the client: only of an order. With anything else the buyer's own thread is woken.
 */
#ifndef FLASHSALE_DIRECT_ANSWER_H
#define FLASHSALE_DIRECT_ANSWER_H

#include <stdbool.h>

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

#endif
