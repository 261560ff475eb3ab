/*
 * crew.h - the buyers of a cell. Each answer goes into the journal.
 *
 * A buyer does what server/API.md tells its users to do: a request has an id of its own, and one
 * that was refused as busy or had no definite answer is asked again under the same id, at another
 * instance, a few times. The crew of a fault is slow (so that the sale outlasts it) and hurries
 * before and after.
 */
#ifndef TESTS_CHAOS_CREW_H
#define TESTS_CHAOS_CREW_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

enum { CREW_BUYERS = 12, CREW_USERS = 100 };

/* Counts of answers, by attempt but `begun`. */
typedef struct crew_counts {
    atomic_int begun;  /* requests, not attempts */
    atomic_int ended;  /* requests whose last attempt was answered, or given up */
    atomic_int bought; /* 201 */
    atomic_int sold_out;
    atomic_int busy;    /* 503 */
    atomic_int unknown; /* 504 or no answer */
    atomic_int other;
} crew_counts;

extern crew_counts crew;

/* From here on it is about this sale. Its buyers begin, unless the caller is `alone`. May be called
 * again behind crew_end(), for another one. */
void crew_start(const char *item, const char *sale, bool alone);

/* The pause of a buyer behind each request; 0 at the start. */
void crew_pace(int pause_ms);

/* The first so many requests of the sale are made without that pause: its units are not to be gone
 * before the caller, on a busy machine, has seen that they are being bought. */
void crew_quick(int requests);

/* Nobody goes to this instance any more (-1: all are there again). */
void crew_avoid(int instance);

/* At most so many attempts are made of a request (default 3). */
void crew_attempts(int most);

/* Nobody begins a request any more, and all are answered, when it returns; and they begin again. */
void crew_pause(void);
void crew_go_on(void);

/* Waits until a count has come so far; false when it has not after deadline_ms. */
bool crew_until(atomic_int *count, int so_far, int deadline_ms);

/* Likewise for so many more than there are now. */
bool crew_more(atomic_int *count, int more, int deadline_ms);

/* Lets each buyer end the request that it is at. May be called twice. */
void crew_end(void);

/* One attempt of the running crew's sale: asks instance `at` to sell, and writes it down. The
 * status, 0 = no answer. Any thread. */
int crew_ask(const char *request, int user, int quantity, int at);

/* A buyer of its own: its request is sent now, and its answer taken later. */
typedef struct crew_buyer {
    char request[32];
    int user, at, status;
    atomic_bool done;
    pthread_t thread;
} crew_buyer;

/* `*buyer` stays where it is until its answer has been taken. */
void crew_send(crew_buyer *buyer, const char *request, int user, int at);

/* Waits for the answer: the status, 0 = there was none. */
int crew_answer(crew_buyer *buyer);

/* Asks again under the same id, at instance `at`, until something definite is known of it. */
bool crew_settle(const crew_buyer *buyer, int at, int deadline_ms);

/* Asks instance `at` about a request of that sale, and writes it down. The status. */
int crew_look(const char *request, int at);

/* Asks an instance, another one at each turn, for the sale's numbers, and writes them down. */
void crew_look_at_stock(int turn);

/* Goes through all requests with an attempt that had no definite answer, by crew_look(), until
 * each is known or deadline_ms has passed. Nobody asks any more. */
void crew_resolve(int deadline_ms);

#endif
