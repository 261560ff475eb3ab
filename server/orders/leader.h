/*
 * leader.h - one of several followers leads: by a lock of libdlock, whose fence the database
 * checks. Two that believe to lead do no harm; they would do the same work twice.
 */
#ifndef FLASHSALE_ORDERS_LEADER_H
#define FLASHSALE_ORDERS_LEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct leader leader;

/* NULL and a sentence in err: the URL or the name is none. */
leader *leader_new(const char *redis_url, const char *name, char *err, size_t err_len);
void leader_free(leader *lead); /* gives the lock up; NULL is allowed */

/* Whether this process leads now; waits up to half a second to. */
bool leader_leads(leader *lead);

/* Gives the lock up, for the database knows of a later one. */
void leader_resign(leader *lead);

/* Of the present lead; 0 = none. */
uint64_t leader_fence(const leader *lead);

/* Why Redis did not make it the leader; "" = another one leads. */
const char *leader_error(leader *lead);

#endif
