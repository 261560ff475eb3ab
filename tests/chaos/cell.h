/*
 * cell.h - one cell, once: a row under a fault, on servers of its own.
 *
 *     Redis <- (fault proxy) <- three instances <- crew     three items are sold
 *     some units are bought at full speed                   in some cells P0002's sale is replaced
 *     fault->inject(): the crew is slow meanwhile           cell_begin_fault(), cell_healed()
 *     the crew hurries until all is sold, on each instance
 *     doubt is resolved, all comes to rest                  rest.h
 *     each sale's history is judged                         judge.h
 *
 * What a fault does by script (fail points, a buyer held back, a lock taken away) is done to the
 * first item. The two others are sold along, also where the fault is `alone`: their buyers keep
 * away from instances with an armed fail point. How many units a buyer takes, limits, long names of
 * requests and the change of a sale are drawn by the seed.
 *
 * Runs in a process of its own as one cmocka test, so that whatever fails in it ends with it, and
 * any number of cells can run at a time. Its directory is the process's.
 */
#ifndef TESTS_CHAOS_CELL_H
#define TESTS_CHAOS_CELL_H

#include <stdint.h>

#include "tests/chaos/row.h"
#include "tests/support/proxy.h"
#include "tests/support/sale/crew.h"
#include "tests/support/service.h"

struct fault;

enum {
    CELL_ITEMS = 3,
    CELL_STOCK = 420,      /* of the first item */
    CELL_STOCK_MORE = 120, /* of each other */
    CELL_BUYERS_MORE = 3,
    CELL_LEASE_MS = 500,
    CELL_BEFORE = 60,         /* units bought before the fault */
    CELL_PACE_MS = 100,       /* pause of a buyer during the fault */
    CELL_SEGMENTS = 3,        /* of a sharded sale */
    CELL_RESERVE_S = 2,       /* of a sale whose buyers reserve */
    CELL_PATIENCE_MS = 30000, /* deadline of every wait */
    CELL_LOCK_SERVERS = 3     /* of redlock */
};

/* The first item, which faults are about. */
#define CELL_ITEM "P0001"

/* The value of a lock that is not the service's. */
#define CELL_STRANGER "9000000000000000"

typedef struct cell {
    const struct fault *fault;
    row row;
    uint64_t seed;
    uint64_t random; /* cell_random()'s state */
    fx_proxy *proxy; /* NULL: none */
    fx_redis *lock_servers[CELL_LOCK_SERVERS];
    char fail_dir[FX_INSTANCES][256]; /* "" = no fail points */
    int items;                        /* that are sold: P0001, P0002, ... */
    int stock, lease_ms, limit;
    int hold_ms; /* a section that lasts has a lock that others see; 0: it may be one script */
    crew_habits habits;
    bool changes;                    /* the second item's sale is replaced while it is on */
    char histories[CREW_SALES][512]; /* of each sale; the first name is given, further ones end
                                        on .2, .3 */
    int history_count;
    bool instances_preload; /* LD_PRELOAD is for them, too */
    long long landed;
    long long got_through; /* attacks that were not refused; the first one is told */
    char first_through[160];
    int died; /* instances that ended though nobody had told them to; the first one is told */
    char first_dead[256];
    bool missed;      /* a part of the fault did not land */
    bool over;        /* what was done can not be undone: the sale is over, as of a `final` fault */
    double slowness;  /* of the machine behind the last heal (slowness.h); 0: not measured */
    bool failed_over; /* and since then ... */
    long long told_lost[CREW_SALES]; /* ... the instances say that so many orders were lost */
    bool damaged[CREW_SALES];        /* at last an instance said so of this sale */
    bool skipped;                    /* does not fit; the reason is the note */
    char note[256];                  /* what its reader should know */
} cell;

/* ---- the life of a cell ---------------------------------------------------------------------- */

/* Runs it, and leaves its histories. 0, or 1 when something in it could not be done: the words are
 * on stderr, and the histories say what was seen until then. */
int cell_run(cell *c);

/* For who has a course of his own: the terms of its sales; the sales, whose buyers begin, the first
 * one's if there are to be any; all is brought to rest and written down. */
fx_terms cell_terms(const cell *c);
void cell_start_sales(cell *c, int buyers);
void cell_rest(cell *c);

/* A sale of one more item, which nobody buys but who is sent there. Not where a sale is replaced.
 */
fx_sale *cell_start_one_more(cell *c, int stock);

/* ---- for faults ------------------------------------------------------------------------------ */

void cell_begin_fault(cell *c);            /* notes the moment */
void cell_healed(cell *c);                 /* from now on a buy must succeed soon */
void cell_landed(cell *c, long long more); /* adds to what has landed */
void cell_met(cell *c, bool met);          /* adds one; without it the cell is inconclusive */
/* An attack that had to be refused was not: the cell is BROKEN, whatever else is found. */
void cell_got_through(cell *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cell_note(cell *c, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A number from 0 to below - 1, by the seed. */
unsigned cell_random(cell *c, unsigned below);

/* A key of the sale (of segment 0), "lock" for fs:{P0001}:<id>:lock; valid until the next call. */
const char *cell_key(const char *name);

/* A name for a request, "WORD-NUMBER-…". In a sharded sale its way begins at segment 0. */
void cell_name_request(const cell *c, const char *word, int number, char *buf, size_t len);

/* The k-th server that has the strategy's lock, from 0 on; NULL behind the last. */
fx_redis *cell_lock_server(const cell *c, int k);

/* The strategy's lock, held by somebody. False when its key is not there. */
bool cell_lock_is_held(cell *c);

/* ---- instances ------------------------------------------------------------------------------- */

/* Starts instance i (again) as the cell's are started. */
void cell_start_instance(cell *c, int i);

/* SIGKILL, and nobody goes there any more, until it is started. */
void cell_kill_instance(cell *c, int i);

/* Counts instance i if it has died: unless it was killed, or ended with 0 as told. Before another
 * one takes its place, and when all end. */
void cell_look_for_death(cell *c, int i, bool told_to_end);

/* Fail points: instance i stops the next thread that comes to `point`; waits until one has; lets
 * it go on. server/base/fail_point.h */
void cell_arm(cell *c, int i, const char *point);
bool cell_reached(cell *c, int i, const char *point, int deadline_ms);
void cell_let_go(cell *c, int i, const char *point);

#endif
