/*
 * quorum.pml - a client that renews its hold of a QUORUM lock, and one that wants the lock, on three
 * servers, as Promela.
 *
 * Time is counted in ticks, a lease is LEASE of them. A question arrives whenever it will, or never,
 * and its answer may be lost; a client goes on whenever it likes, with the answers that it has. A
 * renewal that heals may arrive when nobody waits for it any more; of what else comes so late, an
 * acquire is refused by the moment it carries, and a renewal finds nothing.
 * Votes of a hold that is over are dead: a release takes each back whenever it arrives, or never.
 * Variants are made by -D; tests/model/run has the table of them, and README.md the words.
 *
 *   LEASE     in ticks
 *   AWAY      so long a server that has lost its votes stays away; one does so at a time, any number
 *             of times
 *   COUNTED   what the validity is shorter than a lease, once the answers are there: age[c], since
 *             before the question was sent, or 0
 *   HEAL      which servers a renewal may take a vote from that it does not find: none; lacking,
 *             those that refused this hold's last renewal; all
 *   FREE      whose vote it may take: is_free, or true: somebody else's too
 *   NO_NOT_AFTER   it takes one also when the time is over that its hold had when it was sent
 *   WITNESS   what is to be seen: reaching it is then the violation
 */
#define N           3
#define LATE        2 /* servers at which a renewal may be late; which two makes no difference */
#define bit(s)      (1 << (s))
#define majority(m) ((m) == 3 || (m) >= 5)
#define none        0
#define lacking     lacks
#define all         7
#define is_free     (vote[s] == 0)
#ifdef NO_NOT_AFTER
#define in_time(ticks) true
#else
#define in_time(ticks) (ticks > 0)
#endif
#ifdef WITNESS
#define note(what)  what = true
#else
#define note(what)  skip
#endif

/* A server: whose vote it has given, and for how long; until when it is away. Client 0 has the hold
 * that is renewed. */
#define live(c)     ((c) + 1)
#define dead(c)     ((c) + 3)
#define ORPHAN      5 /* a dead one of client 0 that was taken after the end of its hold */
#define is_dead(c)  (vote[s] == dead(c) || (c) == 0 && vote[s] == ORPHAN)
byte vote[N], ttl[N], away[N];

/* What is on the way to a server: the present question of a client; and a healing renewal for whose
 * answer nobody waits any more, of a hold that lasts or is over. */
bool asked[2 * N];
#define on_way(c)   asked[(c) * N + s]
byte heals, until; /* of client 0's present question: where it heals, and before when */
mtype = { nothing, past, over };
mtype late[N] = nothing;
byte left[N]; /* until it comes too late */

/* A client. */
mtype = { idle, asks, holds, renews };
mtype does[2] = idle;
byte age[2], valid[2]; /* ticks since it asked; ticks of validity, 0 = it has no hold */
byte yes[2], lacks;    /* servers, a bit each */

bool healed, came_late;               /* for witnesses */
bool two_holders, blocked, witness;   /* may not be */

inline put(c, heal, moment) {
    age[c] = 0; yes[c] = 0;
    for (s : 0 .. N - 1) { on_way(c) = true }
    s = 0; heals = (c == 0 -> (heal) : heals);
    until = (c == 0 && heals -> moment : until)
}

/* Nobody waits for the answers that are not there. Of two healing renewals one is lost. */
inline leave(c, how) {
    for (s : 0 .. N - 1) {
        if
        :: c == 0 && on_way(0) && heals & bit(s) && s < LATE && late[s] == nothing -> late[s] = how;
            left[s] = until
        :: else
        fi;
        on_way(c) = false
    }
    s = 0; age[c] = 0; yes[c] = 0;
    heals = (c == 0 -> 0 : heals); until = (c == 0 -> 0 : until)
}

inline conclude(c) {
    leave(c, past); does[c] = holds
}

inline has(c) {
    valid[c] = LEASE - (COUNTED);
    printf("client %d has the lock for %d ticks\n", c, valid[c]);
    two_holders = valid[0] > 0 && valid[1] > 0; assert(!two_holders)
}

/* Its hold, or its try, is over. */
inline finish(c) {
    leave(c, over);
    for (s : 0 .. N - 1) {
        vote[s] = (vote[s] == live(c) -> dead(c) : vote[s]);
        late[s] = (c == 0 && late[s] == past -> over : late[s])
    }
    s = 0; valid[c] = 0; does[c] = idle; lacks = (c == 0 -> 0 : lacks)
}

#define nothing_late (late[0] == nothing && late[1] == nothing && late[2] == nothing && \
                      vote[0] != ORPHAN && vote[1] != ORPHAN && vote[2] != ORPHAN)
proctype client(byte c) {
    byte s;
end: do
    :: d_step { does[c] == idle && (c == 1 || nothing_late) -> put(c, none, 0); does[c] = asks;
        printf("client %d asks\n", c) }
    :: d_step { does[c] == asks && majority(yes[c]) && age[c] < LEASE -> has(c); conclude(c) }
    :: d_step { does[c] == holds && c == 0 -> put(c, HEAL, valid[c]); does[c] = renews;
        printf("client %d renews\n", c) }
    :: d_step { does[c] == renews && majority(yes[c]) -> has(c); conclude(c) }
    :: d_step { does[c] == renews && !majority(yes[c]) -> conclude(c) }
    :: d_step { does[c] != idle -> finish(c); printf("client %d releases\n", c) }
    od
}

#define serves      (away[s] == 0)
#define acquires(c) (vote[s] == 0 && does[c] == asks && age[c] < LEASE)
#define heals_it(c) ((c) == 0 && heals & bit(s) && vote[s] != live(0) && FREE && in_time(until))
#define gives(c)    (vote[s] == live(c) || acquires(c) || heals_it(c))
inline give(c) {
    if
    :: heals_it(c) -> note(healed); printf("a renewal of client 0 takes server %d's vote\n", s)
    :: else
    fi;
    vote[s] = live(c); ttl[s] = LEASE; on_way(c) = false
}

/* Between one client and one server: the answer is heard, or not. */
proctype line(byte c, s) {
end: do
    :: d_step { on_way(c) && serves && gives(c) -> give(c); yes[c] = yes[c] | bit(s);
        lacks = (c == 0 -> lacks & ~bit(s) : lacks) }
    :: d_step { on_way(c) && serves && gives(c) -> give(c) }
    :: d_step { on_way(c) && serves && !gives(c) && does[c] == renews -> on_way(c) = false;
        lacks = lacks | bit(s) }
    :: d_step { is_dead(c) && serves -> vote[s] = 0; ttl[s] = 0 } /* a release */
    od
}

#define its_own     (late[s] == past && vote[s] == live(0) || late[s] == over && is_dead(0))
proctype late_line(byte s) {
end: do
    :: d_step { late[s] != nothing && serves ->
        if
        :: its_own -> ttl[s] = LEASE
        :: !its_own && FREE && in_time(left[s]) -> ttl[s] = LEASE; note(came_late);
            vote[s] = (late[s] == over -> ORPHAN : live(0));
            printf("a late renewal of client 0 takes server %d's vote\n", s);
            blocked = (vote[0] == ORPHAN) + (vote[1] == ORPHAN) + (vote[2] == ORPHAN) > 1;
            assert(!blocked)
        :: else
        fi;
        late[s] = nothing; left[s] = 0 }
    :: d_step { late[s] != nothing -> late[s] = nothing; left[s] = 0 } /* it is lost */
    od
}

proctype world() {
    byte s, c;
end: do
    :: d_step { true -> printf("a tick\n");
        for (s : 0 .. N - 1) {
            ttl[s] = (ttl[s] > 0 -> ttl[s] - 1 : 0); vote[s] = (ttl[s] == 0 -> 0 : vote[s]);
            away[s] = (away[s] > 0 -> away[s] - 1 : 0); left[s] = (left[s] > 0 -> left[s] - 1 : 0)
        }
        s = 0; until = (until > 0 -> until - 1 : 0);
        for (c : 0 .. 1) {
            age[c] = ((does[c] == asks || does[c] == renews) && age[c] < LEASE ->
                age[c] + 1 : age[c]);
            valid[c] = (valid[c] > 0 -> valid[c] - 1 : 0);
            if
            :: (does[c] == holds || does[c] == renews) && valid[c] == 0 -> finish(c);
                printf("client %d's time is over\n", c)
            :: else
            fi
        }
        c = 0 }
    :: atomic { away[0] + away[1] + away[2] == 0 ->
        if :: s = 0 :: s = 1 :: s = 2 fi;
        vote[s] = 0; ttl[s] = 0; away[s] = AWAY; printf("server %d loses its votes\n", s); s = 0 }
#ifdef WITNESS
    :: d_step { WITNESS -> witness = true; assert(!witness) }
#endif
    od
}

init {
    byte c, s;
    atomic {
        run world();
        for (s : 0 .. LATE - 1) { run late_line(s) }
        for (c : 0 .. 1) {
            run client(c);
            for (s : 0 .. N - 1) { run line(c, s) }
        }
        c = 0; s = 0
    }
}
