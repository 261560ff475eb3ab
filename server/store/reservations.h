/*
 * reservations.h - how Redis keeps reservations: orders whose units are held for their buyer until
 * they are confirmed or cancelled, or expire.
 *
 * At every moment initial = remaining + reserved + sold; each script that writes checks the sum. A
 * reservation ends at a whole tenth of a second, its *bucket*, and units are counted by bucket. The
 * first script that meets an expired bucket returns all its units to the stock at once and deletes
 * it. So no unit returns twice, and no order is changed. The state of an order follows from its
 * record (purchase.h) and the time. A user's word is corrected when it is next read.
 *
 *     reserved   hash: "units" -> all that are reserved; "now" -> the latest time that was
 *                used for a decision, in us; "settled" -> "<place> <epoch>" of the last confirmed
 *                or cancelled move, "0 -" = none; <bucket> -> its units
 *     buckets    sorted set: <bucket>, scored by itself
 *     moves      list: "<what> <request, or bucket> <units> <time_us> <epoch>", where <what> is
 *                confirmed, cancelled, or expired (a bucket)
 *     users      <user> -> "<units sold>", then " <bucket>:<units>" for each reservation that may
 *                still be live
 *
 * A bucket is named by its end, in tenths of a second since 1970 by Redis's clock. That clock may
 * go back when another server is promoted. So scripts never use a time before "now": a reservation
 * that a write has found expired is never live again, and no bucket returns early. Until the clock
 * has caught up no reservation expires.
 *
 * Instances remember confirms and cancels as they remember orders (known_ledger.h): the last place
 * of such a move in each epoch. If Redis has another move there, or none, it has lost data, and the
 * sale is halted. (If Redis has lost the return of a bucket, the bucket returns again.)
 */
#ifndef FLASHSALE_RESERVATIONS_H
#define FLASHSALE_RESERVATIONS_H

#define BUCKET_US      100000
#define RESERVE_MOST_S (12 * 3600) /* shorter than orders are kept after their sale */

#endif
