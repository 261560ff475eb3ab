/*
 * family.h - a program that a test has started, and its children, all at the same moment.
 *
 * For servers that fork, and give each child a session of its own, so that no process group has all
 * of them. They are found in /proc, while the parent is stopped and can fork no other.
 */
#ifndef TESTS_SUPPORT_POSTGRES_FAMILY_H
#define TESTS_SUPPORT_POSTGRES_FAMILY_H

#include "tests/support/process.h"

/* SIGSTOP, SIGCONT and their kin. */
void fx_family_signal(fx_process *parent, int signo);

/* SIGKILL; all are gone afterwards, and the process is freed. NULL is allowed. */
void fx_family_kill(fx_process *parent);

#endif
