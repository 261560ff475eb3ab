/*
 * fail_point.h - stopping an instance at a named point (server/base/fail_point.h).
 *
 * An instance that was started with a directory waits at a point from the moment that a thread
 * reaches it while it is armed, until it may go on. Only one thread waits: the point is not armed
 * any more then. One directory an instance; fx_dir_make() makes it.
 */
#ifndef TESTS_SUPPORT_SALE_FAIL_POINT_H
#define TESTS_SUPPORT_SALE_FAIL_POINT_H

#include "tests/support/fixture.h"

/* Starts an instance of the build with fail points, or of $FLASHSALE_PROGRAM where that is set. */
fx_server *fx_point_server(const char *redis_url, const char *dir, const char *const *extra_args);

/* The next thread that comes there is to stop; what was left there by an earlier one is forgotten.
 */
void fx_point_arm(const char *dir, const char *point);

/* Waits until one has; false when none does. */
bool fx_point_reached(const char *dir, const char *point, int deadline_ms);

void fx_point_go_on(const char *dir, const char *point);

/* Nobody is to stop there any more. */
void fx_point_forget(const char *dir, const char *point);

#endif
