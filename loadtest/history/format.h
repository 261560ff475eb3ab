/*
 * format.h - the form of a history, version 2: what the buyers of one sale asked and were told,
 * what was seen meanwhile, and what the ledger had when all was over. A history is text, judged
 * alone, on any machine: `loadtest verify FILE`.
 *
 *     flashsale-history 2
 *     sale id=5f03a1 item=P strategy=atomic durability=memory stock=4 limit=0 segments=0 lease_us=0
 *     ask from=10 to=900 request=r1 user=u1 target=0 status=201 order=5f03a1-1 remaining=3 fence=0
 *     look from=910 to=950 request=r1 target=1 status=200 order=5f03a1-1 remaining=3 fence=0
 *     stock from=955 to=960 target=0 remaining=3 units=1 orders=1
 *     order request=r1 user=u1 quantity=1 order=5f03a1-1 remaining=3 fence=0
 *     audit n=1 from=970 to=990 target=0 status=200
 *     end
 *
 * One event a line: a word, then members NAME=VALUE in any order, separated by one blank. Lines
 * are in any order between the first and the last; empty lines and lines that begin with # are
 * skipped. A line, word or member that is not described here makes the history unreadable. A
 * missing required member, a number that is none or out of range, and a second `sale` do too.
 *
 * A history without `end` was cut off: what it proves stays proven, everything else in it is
 * unchecked. So it is after `end truncated=WHY`, with which a recorder says that it lost lines.
 *
 * Values. Times are us of CLOCK_MONOTONIC, so one history is of one machine. Numbers are decimal.
 * A text is written as it is, but blanks, control characters, DEL and % as %HH, and the text "-" as
 * %2D. "NAME=-" is the same as no member: not known, not told. "NAME=" is the empty text. "NAME=?"
 * was told, but not in the form that the contract gives it (a quantity that is a text, say); the
 * text "?" is written %3F.
 *
 * sale id item strategy durability stock limit segments lease_us [reserve_us] [wait_us] [guarded]
 *      [fences] [failovers] [wall_us] [at]
 *
 *     The sale that is judged, as it was asked for. limit: units a user may have, 0 = no limit.
 *     segments: 0 unless sharded. guarded=1: the strategy never gives a unit back, so stock only
 *     falls, but for reservations. reserve_us: each buy reserves for so long; none: each buys at
 *     once. fences=1: every order must have a fence above 0; fences=0: none has one. failovers=1:
 *     the recorder announces failovers, after which what was read may be older; failovers=0: there
 *     is none, no server is started again, and no halted sale goes on, so each segment has one
 *     epoch; and no clock is moved but by a fault that says so. wall_us: us since 1970 by the
 *     recorder's clock at the monotonic instant `at`.
 *
 * ask from to request user target status [quantity] [asked] [keyed] [not_after] [reserve_us]
 *     [sent] [code] [replayed] [location] [body] [unread] and what was told: [order]
 *     [told_request] [told_item] [told_user] [told_quantity] [sale] [remaining] [fence] [instance]
 *     [state] [time_us] [expires_us]
 *
 *     One HTTP attempt to buy; a retry is another one with the same request. to=-: it never ended.
 *     target: who was asked (a number or a name). quantity: 1 unless said. asked: the `sale=` that
 *     was sent, if it is not this sale; "asked=" = none was sent. keyed=0: no key was sent, so that
 *     the request is the service's own, as it was told. not_after: the one that was sent, by the
 *     service's clock. reserve_us: it reserves for so long, if not as the sale says. status=0: no
 *     answer came; sent=0: and nothing had been sent. code: the problem's. replayed: whether
 *     Idempotency-Replayed was true.
 *     location: the header. body: a hash of the body's bytes. unread: why the answer could not be
 *     read, in one word (no-json, twice, cut, redirect, compressed). instance: who sold it, as it
 *     was told. state: sold, reserved, cancelled or expired. expires_us: of what began as a
 *     reservation, us since 1970 by the service's clock.
 *
 * look from to request target status [asked] [not_after] [code] [final] [body] [unread] and what
 *     was told, as above
 *
 *     GET /orders/{request}. 200: the order is there. 404: it is not; final=1: and never will be,
 *     by tries up to not_after if that was sent.
 *
 * confirm, cancel: as look
 *
 *     POST /orders/{request}/confirm, or /cancel, by the order's user. 200: so it is.
 *
 * stock (at | from to) [target] [segment] [source] [status] [remaining] [units] [orders] [initial]
 *     [strategy] [sale] [oversold] [lost_updates] [unordered] [halted] [lost_orders] [reserved]
 *     [sold] [time_us]
 *
 *     The units left, and those in orders (reserved, or sold), of a segment or, without it, of the
 *     whole sale; and the service's own account. `at` is for one who reads them one after the
 *     other. status: 200 unless said; without 200 there are no numbers. halted: why, as told.
 *     source: "redis" or none.
 *
 * lock at key owner fence
 *
 *     Who held a lock of the sale, "-" = nobody, and the fence that was issued last, 0 = none; both
 *     of one moment.
 *
 * stranger from to kept
 *
 *     A lock that was put there by somebody else. kept=0: it was taken from him before its end.
 *
 * fault at name [clocks], heal at [name], landed count
 *
 *     Something begins to go wrong; all is right again, and buys can be expected to succeed; how
 *     often the fault is known to have taken effect. clocks: whether it moves the clock of a
 *     server; left out, nobody knows but where failovers=0.
 *
 * And at rest, when no write can follow any more:
 *
 * order request user quantity (order | number [segment]) [audit] [item] [sale] [remaining] [fence]
 *     [instance] [state] [time_us] [expires_us]
 *
 *     One for each entry of the ledger: a request that stands in it twice has two lines. audit: the
 *     reading it belongs to, 1 unless said. Of a ledger that is read out of Redis, `number` and
 *     `segment` stand for `order`. item and sale: of the entry, or of its page.
 *
 * audit n from to status [target] [why]
 *
 *     A reading of the ledger through the service. status=200: from its first page to its end, and
 *     all its orders have their lines. 404, 405: the service shows none. Other: why it could not be
 *     read; what it showed until then has its lines, and was there. There may be several readings,
 *     one after the other. Orders of a number that has no line are of a reading that was cut off.
 *
 * rest remaining [segment]
 *
 *     The units left there at rest, "-" = the stock can not be read. Where there is no `audit`, the
 *     ledger was read out of Redis, and it also says that all orders of the segment have their
 *     lines (audit 1); nobody else buys from such a recorder's shop. Of a sharded sale, one line
 *     for each segment, or one without for the whole.
 *
 * left [locks] [waiters] [threads] [descriptors]
 *
 *     What there is beyond what there was before the sale.
 *
 * doubt why
 *
 *     A reason not to believe the run: the load generator was saturated, a target was down. Makes
 *     it INVALID, unless something worse is proven.
 *
 * end [truncated]
 *
 * What an attempt means for its request:
 *
 *   - 201: yes;
 *   - 409 sold_out, limit_reached, quantity_above_limit, request_void, sale_closed: no, for good,
 *     also of those attempts whose outcome is unknown; but where buys reserve, or failovers=1, the
 *     first two are no of this attempt, for units come back;
 *   - sent=0; 400 to 499 otherwise, but for 408, 499 and any other without a code that a proxy may
 *     have given; 503 with a code of the contract: no, of this attempt;
 *   - everything else (504, 502, 500, 503 without such a code, 0): unknown.
 *
 * So a request is a yes if it was told one, or was found; a no if it was told one for good, or
 * looked for and final, or each of its attempts was told no; else it is unresolved.
 */
#ifndef LOADTEST_HISTORY_FORMAT_H
#define LOADTEST_HISTORY_FORMAT_H

#define HISTORY_FIRST_LINE   "flashsale-history 2"

#define HISTORY_SEGMENTS_MAX 1024
#define HISTORY_UNITS_MAX    1000000000LL          /* stock, quantity, limit */
#define HISTORY_NUMBER_MAX   9000000000000000LL    /* order numbers, fences, counts */
#define HISTORY_TIME_MAX     4000000000000000000LL /* us */

#endif
