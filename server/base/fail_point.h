/*
 * fail_point.h - named points at which a test can stop this process. For tests only.
 *
 * Compiled in with FAIL_POINTS=1, otherwise nothing. With the environment variable
 * FLASHSALE_FAIL_DIR naming a directory: a thread that reaches FAIL_POINT("in-section") while the
 * file "in-section" exists there takes that file away, so that only one thread stops, makes
 * "in-section.reached", and goes on once the test has made "in-section.go".
 */
#ifndef FLASHSALE_FAIL_POINT_H
#define FLASHSALE_FAIL_POINT_H

#ifdef FAIL_POINTS
void fail_point(const char *name);
#define FAIL_POINT(name) fail_point(name)
#else
#define FAIL_POINT(name) ((void)0)
#endif

#endif
