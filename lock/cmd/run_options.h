/* What `dlock run` is asked to do: its options, read and checked. */
#ifndef DLOCK_CMD_RUN_OPTIONS_H
#define DLOCK_CMD_RUN_OPTIONS_H

#include <stdint.h>

typedef struct run_options {
    const char *url, *name; /* url NULL: not given */
    char **command;
    int64_t wait_ms; /* DLOCK_FOREVER: none was given */
    int64_t lease_ms, grace_ms;
    int64_t busy_code; /* the exit code when another held the lock for the whole wait */
} run_options;

/* Reads the words behind `dlock`. -1, or the exit code: help was shown, or an error. */
int run_options_read(run_options *ret, int argc, char **argv);

#endif
