/*
 * leader.h - elects one of several followers, by a lock of libdlock whose fence the database
 * checks. Two followers that both believe to lead do no harm, but the same work twice.
 */
#ifndef FLASHSALE_ORDERS_LEADER_H
#define FLASHSALE_ORDERS_LEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct leader leader;

/* NULL and a sentence in err: the URL or the name is not valid. */
leader *leader_new(const char *redis_url, const char *name, char *err, size_t err_len);
void leader_free(leader *lead); /* releases the lock; NULL is allowed */

/* Whether this process leads; waits up to half a second for the lock. */
bool leader_leads(leader *lead);

/* Releases the lock, because the database knows of a later leader. */
void leader_resign(leader *lead);

/* Of the current leadership; 0 = none. */
uint64_t leader_fence(const leader *lead);

/* Why Redis did not grant the lock; "" = another follower leads. */
const char *leader_error(leader *lead);

#endif
