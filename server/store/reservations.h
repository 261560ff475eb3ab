/*
 * reservations.h - how a sale keeps what is reserved: an order whose units are kept for its buyer
 * until it is confirmed, cancelled, or its time is over.
 *
 * At every moment the sale's first units are those left, reserved and sold; each script that writes
 * checks the sum. A reservation ends at a whole tenth of a second, its *bucket*, and units are
 * counted by bucket. So whoever meets a bucket that is over returns all of its units to the stock
 * at once, and it is gone: no unit returns twice, and no order is touched. An order's own state
 * follows from its record (purchase.h) and the time. A user's word is put right when it is asked.
 *
 *     reserved   hash: "units" -> all that are reserved; "now" -> the latest moment by which
 *                anything was decided, in us; "settled" -> "<place> <epoch>" of the last move that
 *                is confirmed or cancelled, "0 -" = none is; <bucket> -> its units
 *     buckets    sorted set: <bucket>, by itself
 *     moves      list: "<what> <request, or bucket> <units> <time_us> <epoch>", where <what> is
 *                confirmed, cancelled, or expired (a bucket)
 *     users      <user> -> "<units sold>", then " <bucket>:<units>" for each reservation that may
 *                not be over
 *
 * A bucket is named by its end: tenths of a second since 1970 by Redis's clock. That clock may go
 * back when another server is promoted. So the time is never before "now": what a write has found
 * to be over is never live again, and no bucket returns before its time. Until the clock is there
 * again no reservation ends.
 *
 * What was confirmed or cancelled is remembered as orders are (known_ledger.h): the last place of
 * such a move under each epoch. A Redis that has another move there, or none, has forgotten, and
 * the sale is halted. (A bucket whose return was forgotten returns again.)
 */
#ifndef FLASHSALE_RESERVATIONS_H
#define FLASHSALE_RESERVATIONS_H

#define BUCKET_US      100000
#define RESERVE_MOST_S (12 * 3600) /* orders are kept for longer than that after their sale */

#endif
