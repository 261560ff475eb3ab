/*
 * replays.h - what the attacks on the guard have in common: who attacks, with which write, and when
 * an attack was refused. replays.c goes round; replays_batch.c attacks with many buyers at once and
 * where little is left; replays_reserved.c attacks what is reserved.
 */
#ifndef TESTS_CHAOS_FAULTS_REPLAYS_H
#define TESTS_CHAOS_FAULTS_REPLAYS_H

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/faults/writes.h"

enum {
    REPLAYS_LIMIT = 12,
    REPLAYS_ROUNDS = 250,
    REPLAYS_NAME = 72,
    REPLAYS_ORDER = 32,
    REPLAYS_RECORD = 256
};

typedef struct name {
    char request[REPLAYS_NAME], order[REPLAYS_ORDER];
    int user, units;
    int reserve_s; /* 0: as long as the sale's buyers do */
} name;

typedef struct attacker {
    cell *c;
    overheard now, before; /* the write of this round, and of the one before */
    name bought[REPLAYS_ROUNDS + 1];
    int due; /* the first round whose reservation is not over yet, as far as was looked */
    int attacks;

    /* NULL: the attacks buy. Else they "confirm" or "cancel" ... */
    const char *want;
    const name *settled; /* ... this order, ... */
    int64_t open_us;     /* ... which is open until then */
} attacker;

/* Those of a sharded sale begin in this segment from now on. */
void replays_segment(int which);

/* A request that no other has, of a user of its own, for so many units. */
name replays_name(const cell *c, int units);

/* The same user asks for so many units under another request. */
name replays_name_of(const cell *c, int user, int units);

/* Buys at an instance, and asks again until the answer is known. */
int replays_ask(fx_sale *sale, const name *of, int at);

/* A round's buyer buys, at any instance, and its write is heard. False: none was. */
bool replays_buy(attacker *a, int round);

/* As this round's write, but of somebody new; or of who settles. `*n` is that buyer. */
void replays_aim(const attacker *a, shot *s, name *n);

/* Fires. Each buyer must be told `wanted`, and nothing may have changed. */
void replays_attack(attacker *a, shot *s, const char *what, const char *wanted);

/* Fires what has nothing wrong, and must do it. */
bool replays_let(attacker *a, shot *s, const char *what);

bool replays_begins(const char *text, const char *word);

/* Who wrote that asked for it between then and now, and was told nothing. `what`: "ask", "confirm"
 * or "cancel". */
void replays_note(const name *n, const char *what, int64_t from_us);

/* Who bought at once. To the judge, in a sale whose buyers reserve, that is a reservation and its
 * confirmation. */
void replays_note_at_once(const attacker *a, const fx_sale *sale, const name *n, int64_t from_us);

/* ---- by kind --------------------------------------------------------------------------------- */

void replays_older_fence(attacker *a);   /* after the lock went on to another */
void replays_other_owner(attacker *a);   /* under the last fence */
void replays_in_a_batch(attacker *a);    /* one buyer's limit, exceeded ten times */
void replays_many_at_limit(attacker *a); /* each of thirty takes its limit, and wants more */
void replays_sell_out(attacker *a);      /* more than is left */
void replays_sell_out_reserved(attacker *a);

void replays_open(attacker *a, int round, void (*wrongs)(attacker *a));
void replays_due(attacker *a, int round);
void replays_revoke(attacker *a);
void replays_together(attacker *a, bool apart);

/* Behind this the guard has seen a later fence than that of the round's write. */
void replays_bring(attacker *a, int round);
void replays_end(attacker *a);

#endif
