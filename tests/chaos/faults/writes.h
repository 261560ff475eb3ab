/*
 * writes.h - the service's own writes, overheard at Redis, so that a fault can send them again.
 *
 * A write is the call of the script that sells, as an instance has sent it: its keys and its words,
 * behind those of the lock's guard where it has one. A fault changes the words, or what is in
 * Redis, and sends it once more: through the same script of the same Redis. All of that is one
 * transaction, which puts back what it changed, so nobody else meets it.
 *
 *     writes_listen();
 *     fx_sale_ask(sale, request, 7, 1, at);
 *     if (writes_overhear(request, "u7 1", &w)) {
 *         writes_aim(&s, &w);
 *         writes_fire(&s);         now s.answers[0] is "=..." : the request has its order already
 *     }
 *
 * The words' order is that of server/selling/sell.lua and reserve.lua.
 */
#ifndef TESTS_CHAOS_FAULTS_WRITES_H
#define TESTS_CHAOS_FAULTS_WRITES_H

#include <stdbool.h>
#include <stdint.h>

enum { WRITE_WORDS = 128, SHOT_BUYERS = 32 };

/* Keys and words of the script that sells, from 0 on. */
enum { W_POINTER, W_STOCK, W_SOLD, W_ORDERS, W_LEDGER, W_USERS, W_EPOCHS, W_MOVES = 9 };
enum { W_SALE, W_LIMIT, W_NUMBER, W_KNOWN, W_UNITS = 7, W_EARLIEST, W_EACH, W_WANT };

typedef struct overheard {
    char *words[WRITE_WORDS];
    int count;
    int keys;  /* where the selling script's keys begin */
    int args;  /* likewise its words */
    int buyer; /* the request; the last word is its "<user> <units>" */
    bool locked;
} overheard;

void writes_listen(void);
void writes_end(void); /* may be called twice */

/* The last write of that one buyer until now. False: none was heard. Frees what was in `ret`. */
bool writes_overhear(const char *request, const char *order, overheard *ret);
void writes_free(overheard *w);

/* The keys and words that it has of the lock: the lock, the fence; its sender's token and fence. */
const char *writes_key(const overheard *w, int key);
const char *writes_lock(const overheard *w);
const char *writes_fence_key(const overheard *w);
const char *writes_token(const overheard *w);
const char *writes_fence(const overheard *w);

/* ---- again ----------------------------------------------------------------------------------- */

/* One more time. */
typedef struct shot {
    const overheard *of;
    const char *words[WRITE_WORDS]; /* (borrowed) as they are sent */
    int count, buyers;
    const char *owner;       /* of the lock; NULL: nobody */
    const char *key, *value; /* another key has this value meanwhile; NULL: none has */
    const char *record;      /* likewise the first request, which has one; NULL: its own */
    char not_after[24];
    bool expires; /* the stock does meanwhile, as that of a sale which a later one has ended */

    /* What came of it. An answer is "sold", of one who has a new order; "stale", of all that the
     * guard refused; or the script's own word, or Redis's error. */
    char answers[SHOT_BUYERS][96];
    bool changed; /* units sold, the ledger's length, or the record that the first request had */
    bool moved;   /* the units left */
    bool robbed;  /* the lock is not as it was before */
} shot;

/* As it was sent, by the lock's owner, and in time. */
void writes_aim(shot *s, const overheard *w);

/* ... but for these buyers: so many requests, and their "<user> <units>". */
void writes_of(shot *s, const char *const requests[], const char *const orders[], int buyers);

void writes_set_word(shot *s, int word, const char *value);

/* Fails the test when Redis does not answer. */
void writes_fire(shot *s);

#endif
