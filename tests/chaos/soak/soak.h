/*
 * soak.h - three instances under load, with a random fault every few seconds, for minutes: do the
 * invariants hold, and does anything grow?
 */
#ifndef TESTS_CHAOS_SOAK_SOAK_H
#define TESTS_CHAOS_SOAK_SOAK_H

/* The command `soak`, with its own arguments from argv[1] on. The exit code. */
int soak_main(int argc, char **argv);

#endif
