/*
 * sale.pml - buyers who sell one item under one lock, as Promela, for every order of their steps.
 *
 * A step is what Redis does in one command or script. Between two steps of a buyer anything may
 * happen: other buyers' steps, the end of the lease, a failover; so a pause of any length is in it.
 * Variants are made by -D; tests/model/run has the table of them, and README.md the words.
 *
 *   BUYERS, STOCK, TRIES   how many buyers, units, attempts a buyer
 *   GUARD     what the write checks first, in its own step; see below
 *   FROM      where the write has the stock from: seen[i], read before, as who calls dlock_guard()
 *             may have it, or primary.stock, read in the same step, as sell.lua does
 *   RELEASE   what the release checks first: mine, or true
 *   NO_LOCK, NO_EXPIRY     without the lock; with a lock that never ends
 *   ROLLBACK, REPEAT       the fence counter goes back; an acquire that was sent twice comes late
 *   REPLICAS, ACK          how many follow; what has to be true before a buyer is told yes
 *   NO_CONFIRM             a retry is told of its order without writing it once more (confirm.lua)
 *   LATE      (with NO_LOCK and TRIES=1) a write may come after its sender gave up, in time or not;
 *             with NO_NOT_AFTER also when its sender has been told that there is no order
 *   WITNESS   what is to be seen: reaching it is then the violation
 */
#define bit(i)      (1 << (i))
#define mine        (primary.lock == token[i])     /* the lock has this very grant's token */
#define last_issued (primary.fence == fence[i])    /* no later fence was issued */
#define not_below   (fence[i] >= primary.written)  /* the textbook: no later fence has written */
#define both        (mine && last_issued)          /* guard.lua */
#define at_once     (true)                         /* the primary's word is enough */
#define by_one      (missing[i] < ALL)             /* WAIT 1 */
#define by_all      (missing[i] == 0)              /* WAIT for all, see replicas.h */
#define ALL         (bit(REPLICAS) - 1)
#define FORGOTTEN   128 /* in missing[]: written to a server that is not the primary any more */
#ifdef NO_NOT_AFTER
#define in_time     true
#else
#define in_time     (!over[i])
#endif
#ifdef WITNESS
#define note(what)  what = true
#else
#define note(what)  skip
#endif

mtype = { none, sold, had, sold_out, refused };
typedef server { byte lock, fence, written, stock, count, orders }; /* orders: a bit a request */
server primary;
#if REPLICAS
server replica[REPLICAS];
byte missing[BUYERS]; /* which replicas do not have this buyer's last write yet, a bit each */
#endif
byte token[BUYERS], fence[BUYERS], seen[BUYERS]; /* what each buyer knows */
bool gone[BUYERS], sent[BUYERS], over[BUYERS], repeated[BUYERS], failed_over;
byte killed;             /* one buyer lives on: were all killed, nobody would be stuck */
byte told, told_no, yes; /* a bit a request; how many were told yes */
byte leased;             /* the token whose lease still runs */
bool lapsed, stale, rolled_back, came_late, retold, came_again;             /* for witnesses */
bool two_holders, oversold, lost_update, acked_lost, refused_sold, witness; /* may not be */

/* string_acquire.lua with fence.lua; the lock is free. */
inline take(i) {
    primary.lock = token[i]; primary.fence++;
#if REPLICAS == 0 /* a failover forgets locks */
    two_holders = leased != 0; assert(!two_holders);
    leased = token[i];
#endif
    printf("buyer %d has the lock, fence %d\n", i, primary.fence)
}

inline release(i) {
    if
    :: RELEASE -> printf("buyer %d frees the lock\n", i);
        leased = (mine -> 0 : leased); primary.lock = 0
    :: else
    fi;
    seen[i] = 0;
#ifndef REPEAT /* a command that was sent twice still knows it */
    token[i] = 0; fence[i] = 0
#endif
}

/* The write, one script: guard.lua around the body, and the order with it. */
inline write(i, ret) {
    if
    :: !(GUARD) || !in_time -> ret = refused; note(stale);
        printf("buyer %d's write is refused\n", i)
    :: else -> if
        :: primary.orders & bit(i) -> ret = had
        :: else -> if
            :: FROM == 0 -> ret = sold_out
            :: else -> ret = sold; printf("buyer %d's write leaves %d\n", i, FROM - 1);
                primary.stock = FROM - 1; primary.count++;
                primary.orders = primary.orders | bit(i);
                primary.written = (fence[i] > primary.written -> fence[i] : primary.written);
#if REPLICAS
                missing[i] = ALL;
#endif
                oversold = primary.count > STOCK; assert(!oversold);
                lost_update = primary.stock + primary.count != STOCK; assert(!lost_update);
                refused_sold = (told_no & bit(i)) != 0; assert(!refused_sold)
            fi
        fi
    fi
}

/* The order of an earlier attempt was found, and is to be told. */
inline confirm(i) {
    note(retold);
#if REPLICAS && !defined(NO_CONFIRM)
    if :: primary.orders & bit(i) -> missing[i] = ALL :: else -> missing[i] = FORGOTTEN fi
#elif REPLICAS
    missing[i] = 0 /* WAIT on a connection that wrote nothing waits for nothing */
#endif
}

inline tell(i) {
    printf("buyer %d is told yes\n", i);
    told = told | bit(i); yes++;
    oversold = yes > STOCK; assert(!oversold);
    acked_lost = (told & ~primary.orders) != 0; assert(!acked_lost)
}

proctype buyer(byte i) {
    byte tries; mtype answer = none; bool finished;
    {   do
        :: tries == TRIES || finished -> break
        :: else -> tries++; answer = none;
#ifndef NO_LOCK
            d_step { primary.lock == 0 -> token[i] = i * TRIES + tries; take(i);
                fence[i] = primary.fence };
#endif
            d_step { seen[i] = primary.stock; printf("buyer %d reads %d\n", i, seen[i]) };
            if
            :: d_step { write(i, answer) }
#ifdef LATE
            :: sent[i] = true /* and no answer: it comes late, or never */
#endif
            fi;
            if :: d_step { answer == had -> confirm(i) } :: answer != had fi;
            if
            :: d_step { (answer == sold || answer == had) && ACK -> tell(i); finished = true }
            :: answer == sold || answer == had || answer == none -> skip /* unknown: once more */
            :: answer == refused -> skip
            :: answer == sold_out -> finished = true
            fi;
#ifndef NO_LOCK
            d_step { release(i) }
#endif
        od;
#ifdef LATE
        if
        :: d_step { !finished && over[i] && !(primary.orders & bit(i)) ->
            told_no = told_no | bit(i); printf("buyer %d is told that there is no order\n", i) }
        :: true
        fi;
#endif
        gone[i] = true
    } unless { d_step { gone[i] -> tries = 0; answer = none; finished = false; seen[i] = 0 } }
}

/* What may befall one buyer at any moment. */
proctype fate(byte i) {
    mtype nobody_hears = none;
end: do
    :: d_step { !gone[i] && killed < BUYERS - 1 -> gone[i] = true; killed++;
        printf("buyer %d dies\n", i) }
#ifdef LATE
    :: d_step { !over[i] -> over[i] = true; printf("buyer %d's not_after passes\n", i) }
    :: d_step { sent[i] -> sent[i] = false; note(came_late); write(i, nobody_hears);
        nobody_hears = none }
#endif
#ifdef REPEAT
    :: d_step { token[i] && !repeated[i] && primary.lock == 0 -> repeated[i] = true;
        note(came_again); printf("an acquire comes once more: "); take(i) }
#endif
    od
}

/* What may befall the server. */
proctype world() {
end: do
    :: false
#ifndef NO_EXPIRY
    :: d_step { primary.lock -> leased = (leased == primary.lock -> 0 : leased); primary.lock = 0;
        note(lapsed); printf("the lease ends\n") }
    :: d_step { leased && leased != primary.lock -> leased = 0 }
#endif
#ifdef ROLLBACK
    :: d_step { primary.fence -> primary.fence = 0; note(rolled_back);
        printf("the fence goes back\n") }
#endif
#ifdef WITNESS
    :: d_step { WITNESS -> witness = true; assert(!witness) }
#endif
    od
}

#if REPLICAS
#define copy(to, from) to.lock = from.lock; to.fence = from.fence; to.written = from.written; \
    to.stock = from.stock; to.count = from.count; to.orders = from.orders

/* A replica has what the primary had at some moment, and may take its place: once in all. */
proctype follower(byte r) {
    byte k;
end: do
    :: d_step { !failed_over -> copy(replica[r], primary); printf("replica %d catches up\n", r);
        for (k : 0 .. BUYERS - 1) { missing[k] = missing[k] & ~bit(r) } k = 0 }
    :: d_step { !failed_over -> copy(primary, replica[r]); failed_over = true;
        for (k : 0 .. BUYERS - 1) { missing[k] = FORGOTTEN } k = 0;
        printf("replica %d becomes the primary\n", r);
        acked_lost = (told & ~primary.orders) != 0; assert(!acked_lost) }
    od
}
#endif

init {
    byte i;
    atomic {
        primary.stock = STOCK;
#if REPLICAS
        for (i : 0 .. REPLICAS - 1) { replica[i].stock = STOCK; run follower(i) }
#endif
        run world();
        for (i : 0 .. BUYERS - 1) { run buyer(i); run fate(i) }
    }
}
