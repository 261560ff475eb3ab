/* provoke.h - the cases of test_openapi.c, by what they bring an instance to answer; and what they
 * share. All of it with the service of tests/support/service.h around. */
#ifndef TESTS_SERVER_OPENAPI_PROVOKE_H
#define TESTS_SERVER_OPENAPI_PROVOKE_H

#include "tests/server/openapi/document.h"
#include "tests/server/openapi/walk.h"

enum { PROVOKE_MS = 60000 }; /* for what comes about by itself; the machine may be busy */

/* Asks again and again until it is refused with this code. */
void provoke_await(fx_server *server, const char *code, const char *request);

/* Asks again and again until the answer has this text. */
void provoke_await_text(fx_server *server, const char *text, const char *request);

/* Sends "METHOD TARGET HTTP/1.1", Host, Connection: close, and `rest`, which ends the head and may
 * have a body; then reads the refusal and holds it to the document. */
void provoke_raw(int port, const char *method, const char *target, const char *rest,
                 const char *code);

/* Likewise for each operation that documents the code. Fails when none does. */
void provoke_each(int port, const char *rest, const char *code);

/* Confirms and cancels the order k1 of the item, and is refused so. */
void provoke_settling(fx_server *server, int status, const char *code, const char *item);

/* Buyers and admins of a service that is well (people.c). */
void what_buyers_hear(void **state);
void what_is_malformed_is_told_how(void **state);
void what_admins_hear(void **state);
void who_is_no_admin_hears(void **state);
void what_another_site_asks_is_refused(void **state);
void who_has_no_token_of_the_user_hears(void **state);
void who_is_in_a_hurry_hears(void **state);
void each_parameter_is_taken_where_it_is_documented(void **state);
void what_a_browser_has_is_not_sent_again(void **state);
void who_watches_hears_again_and_again(void **state);
void a_head_is_answered_without_a_body(void **state);

/* Requests that are none, and instances without room (transport.c). */
void what_can_not_be_read_is_refused(void **state);
void bodies_that_do_not_come_are_refused(void **state);
void heads_that_come_slowly_are_refused(void **state);
void who_finds_no_thread_hears(void **state);
void a_starting_instance_says_so(void **state);
void a_draining_instance_says_so(void **state);

/* Redis away, forgetful, or set as it must not be (troubles.c). */
void a_redis_that_is_away_is_named(void **state);
void a_redis_that_is_full_is_named(void **state);
void locks_that_are_away_are_no_trouble_of_redis(void **state);
void a_halt_that_can_not_be_read_is_said(void **state);
void a_redis_that_forgets_halts_its_sales(void **state);
void what_is_damaged_is_not_sold(void **state);
void another_version_is_not_read(void **state);
void a_redis_that_may_lose_orders_is_refused(void **state);
void an_order_that_no_replica_has_is_not_told(void **state);
void what_is_unanswered_is_unknown(void **state);

/* Who reserves, confirms and cancels (reservations.c). */
void who_reserves_hears(void **state);
void a_redis_that_is_away_settles_nothing(void **state);
void what_is_settled_unanswered_is_unknown(void **state);

/* Requests that nobody thought of (crawl.c). */
void odd_requests_get_documented_answers(void **state);

#endif
