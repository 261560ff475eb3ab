/* What dlock run, semaphore and elect are asked to do: their options, read and checked. */
#ifndef DLOCK_CMD_RUN_OPTIONS_H
#define DLOCK_CMD_RUN_OPTIONS_H

#include "dlock.h"

typedef struct run_options {
    const char *url, *name; /* url NULL: not given */
    char **command;         /* NULL: none (semaphore --resize) */
    dlock_kind kind;
    int64_t wait_ms; /* DLOCK_FOREVER: none was given */
    int64_t lease_ms, grace_ms;
    int64_t busy_code;     /* the exit code when the wait was over without the lock */
    int64_t permits, take; /* semaphore: how many there are, and are taken; otherwise 0 */
    bool resize;           /* semaphore: set their number */
    int64_t at_least_ms;   /* run: how long the name stays taken, from the grant on; 0: as it is */
    int64_t once_per_ms;   /* run: not again so soon after a run that succeeded; 0: always */
} run_options;

/* A subcommand that runs a command under a lock. */
typedef struct run_form {
    const char *name;
    dlock_kind kind; /* SEMAPHORE: N stands before NAME; FAIR: an election */
    const char *help;
} run_form;

/* Reads the words from the subcommand's name on. -1, or the exit code: help was shown, or an
 * error. */
int run_options_read(run_options *ret, int argc, char **argv, const run_form *form);

/* The lines on the options that all have, and those that an election has not. */
#define RUN_LEASE_HELP                                                                             \
    "  --lease-ms N           how long the lock outlives a crash of this machine. It is renewed\n" \
    "                         after each third of that. 100 to 86400000. Default 10000\n"          \
    "  --grace-ms N           time from SIGTERM to SIGKILL when dlock ends COMMAND; more than a\n" \
    "                         third of the lease counts as a third. Default: a fifth of it\n"
#define RUN_OPTIONS_HELP                                                                           \
    "  -w, --wait SECONDS     give up after so long, as in 2.5; 0 to 31536000 (a year).\n"         \
    "                         Default: no limit\n"                                                 \
    "  --wait-ms N            the same in ms\n"                                                    \
    "  -n, --nonblock         one try only, as --wait 0\n"                                         \
    "  -E, --conflict-exit-code N\n"                                                               \
    "                         exit code if not obtained by then, 0 to 255; 0 says\n"               \
    "                         nothing either. Default 75\n" RUN_LEASE_HELP

#endif
