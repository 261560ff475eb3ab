/*
 * checks.h - the check of each guarantee, by its row in guarantees.c. Each check is linear, except
 * for sorting, and sets the guarantee's state.
 */
#ifndef LOADTEST_CHECKS_H
#define LOADTEST_CHECKS_H

#include "loadtest/judge/judging.h"

void check_oversold(lt_judging *j); /* figures.c */
void check_units(lt_judging *j);
void check_turned_away(lt_judging *j);

void check_range(lt_judging *j);
void check_below_zero(lt_judging *j); /* stock.c */
void check_falling(lt_judging *j);

void check_conserved(lt_judging *j); /* readings.c */

void check_one_order(lt_judging *j); /* ledger.c */
void check_one_request(lt_judging *j);
void check_gaps(lt_judging *j);

void check_agrees(lt_judging *j); /* books.c */
void check_acknowledged(lt_judging *j);

void check_audits(lt_judging *j); /* audits.c */

void check_told_as_asked(lt_judging *j); /* told.c */
void check_same_again(lt_judging *j);
void check_retry_refused(lt_judging *j);
void check_found_stays(lt_judging *j);
void check_other_payload(lt_judging *j);
void check_reused(lt_judging *j);
void check_sale_obeyed(lt_judging *j);

void check_replayed(lt_judging *j); /* headers.c */
void check_location(lt_judging *j);

void check_refused(lt_judging *j); /* refusals.c */
void check_no_stays(lt_judging *j);
void check_resolved(lt_judging *j);
void check_nobody_asked(lt_judging *j);
void check_sold_out(lt_judging *j);
void check_limit(lt_judging *j);
void check_limit_refusals(lt_judging *j);

void check_reasons(lt_judging *j); /* reasons.c */

void check_account(lt_judging *j); /* service.c */
void check_at_rest(lt_judging *j);
void check_same_sale(lt_judging *j);
void check_readings(lt_judging *j);

void check_held(lt_judging *j);            /* held.c */
void check_limit_meanwhile(lt_judging *j); /* of check_limit(), where buys reserve: held.c */

void check_returned(lt_judging *j); /* reservations.c */
void check_fates(lt_judging *j);
void check_lasts(lt_judging *j);

void check_fences(lt_judging *j); /* fences.c */
void check_fenced(lt_judging *j);
void check_locks(lt_judging *j);

void check_order(lt_judging *j); /* order.c */
void check_clock(lt_judging *j);

void check_heals(lt_judging *j); /* heals.c */
void check_ends(lt_judging *j);
void check_left(lt_judging *j);

#endif
