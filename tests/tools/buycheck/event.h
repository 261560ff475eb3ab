/*
 * event.h - the form of a history of buys, version 1: what the buyers of one sale were told, what
 * was seen meanwhile, and what Redis had of the sale when all was over.
 *
 *     flashsale-history 1
 *     sale id=5f03a1 item=P strategy=atomic durability=memory stock=4 limit=0 segments=0 lease_us=0
 *     ask from=10 to=900 request=r1 user=u1 quantity=1 status=201 order=5f03a1-1 remaining=3
 *     stock at=950 remaining=3 units=1
 *     order number=1 request=r1 user=u1 quantity=1 fence=0
 *     rest remaining=3
 *     left locks=0 waiters=0 threads=0 descriptors=0
 *     end
 *
 * One event a line: a word, then members NAME=VALUE in any order, separated by one blank, without
 * blanks in them. Lines are in any order between the first and the last; those that are empty or
 * begin with # are skipped. "-" is the value of what is not known, for every member that may be
 * left out. A line, word or member that is not described here makes the history unreadable, and so
 * do a missing member, a number that is none or out of range, a second `sale`, a missing `end`.
 *
 * Times are in us of CLOCK_MONOTONIC, so all of it was seen on one machine. Numbers are decimal;
 * none is negative but `remaining`. Members in brackets may be left out.
 *
 * sale id item strategy durability stock limit segments lease_us [fences]
 *
 *     The sale that is judged. limit: units a user may have, 0 = any number; segments: 0 unless it
 *     is sharded; fences=1: every order must have the fence of a lock, fences=0: none has.
 *
 * ask from to request user quantity status [code] [order] [remaining] [fence] [sale] [instance]
 *
 *     One HTTP attempt to buy; a retry is another one with the same request. to=-: it never ended.
 *     status=0: no answer came. code: the problem's. order: the id that was told, as it was told,
 *     SALE-NUMBER or SALE-SEGMENT-NUMBER, or the number alone. sale: the sale that the answer
 *     names; if that is another one, the attempt only counts for I7. instance: who was asked, not
 *     necessarily who sold. A 201 must have its order.
 *
 * look from to request status [found] [final] [order] [quantity] [user]
 *
 *     GET /orders/{request}. found=1: the order is there; found=0 final=1: it is not, and never
 *     will be.
 *
 * stock (at | from to) remaining units [segment] [oversold] [source]
 *
 *     The units left, and those in orders, of a segment or, without it, of the whole sale. `at` is
 *     for one who reads them one after the other. source: who was asked.
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
 * fault at name, heal at [name], landed count
 *
 *     Something begins to go wrong; all is right again, and buys can be expected to succeed; how
 *     often the fault is known to have taken effect.
 *
 * And at rest, when no write can follow any more:
 *
 * order number request user quantity fence [segment] [remaining] [instance]
 *
 *     One for each element of the segment's list of orders, the ledger: a request that stands in it
 *     twice has two lines. instance: who sold it.
 *
 * rest remaining [segment]
 *
 *     The units left there, "-" = the stock can not be read. It says, too, that all orders of the
 *     segment have their lines; a ledger that can not be read has no `rest`.
 *
 * left [locks] [waiters] [threads] [descriptors]
 *
 *     What there is beyond what there was before the sale.
 *
 * end
 *
 * What an attempt means for its request:
 *
 *   - 201: yes;
 *   - 409 sold_out, limit_reached, quantity_above_limit, request_void, sale_closed: no, for good,
 *     also of those attempts whose outcome is unknown;
 *   - 400 to 499 otherwise, and 503: no, of this attempt;
 *   - others (504, 502, 0): unknown.
 *
 * So a request is a yes if it was told one, or was found; a no if it was told one for good, or
 * looked for and final, or each of its attempts was told no; else it is unresolved.
 */
#ifndef BUYCHECK_EVENT_H
#define BUYCHECK_EVENT_H

#define BUYS_FIRST_LINE   "flashsale-history 1"

#define BUYS_SEGMENTS_MAX 64
#define BUYS_UNITS_MAX    1000000000LL          /* stock, quantity, limit */
#define BUYS_NUMBER_MAX   9000000000000000LL    /* order numbers, fences, counts */
#define BUYS_TIME_MAX     4000000000000000000LL /* us */

#endif
