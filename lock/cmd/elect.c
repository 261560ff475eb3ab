/* dlock elect: its manual. */
#include "cmd/under_lock.h"

static const char help[] =
    "usage: dlock elect [options] NAME -- COMMAND [ARG...]\n"
    "\n"
    "Campaigns for the leadership NAME, and runs COMMAND while this process leads. One candidate\n"
    "leads at a time, on all machines; the others follow in the order of arrival: at once when it\n"
    "resigns, after its lease when it dies. When COMMAND ends by itself dlock resigns, and ends "
    "with\n"
    "its exit code.\n"
    "\n" RUN_LEASE_HELP COMMAND_REDIS_HELP "  -h, --help             this\n"
    "\n"
    "When leadership is lost, or about to be, COMMAND and all that it started are ended, as\n"
    "`dlock run --help` tells: by SIGTERM, and SIGKILL before the lease is over; at once by "
    "SIGKILL\n"
    "if it was taken away. Then dlock campaigns again. It waits without a limit, also for a\n"
    "Redis that does not answer; at the start for 5 s.\n"
    "\n"
    "COMMAND finds in its environment DLOCK_FENCE, a number that rises with every leader, and\n"
    "DLOCK_OWNER, the token in Redis. Pass the fence to what you write to, and refuse lower ones\n"
    "there: that keeps out a leader whose machine stood still for longer than its lease.\n"
    "\n"
    "Signals to dlock are passed on to COMMAND, as by `dlock run`: SIGTERM ends it, and with it "
    "the\n"
    "leadership. Without a COMMAND that runs TERM, INT, HUP and QUIT end dlock.\n"
    "\n"
    "Exit codes:\n"
    "  N        COMMAND's own; 126 or 127 when it can not be started\n"
    "  64       usage, or NAME is in use with another kind of lock\n"
    "  69       Redis not reached at the start, or it answered with an error\n"
    "  71       no process, memory or descriptors, no /proc, or the supervisor was killed\n"
    "  76       leadership was lost after TERM, INT or QUIT, or unnoticed before COMMAND's end\n"
    "  128 + N  signal N ended COMMAND, or the campaign; for systemd: SuccessExitStatus=143\n"
    "\n"
    "Example, a scheduler on one of several machines, on another one when that dies:\n"
    "  dlock elect --lease-ms 5000 scheduler -- /usr/local/bin/scheduler\n";

int command_elect(int argc, char **argv)
{
    static const run_form form = {.name = "elect", .kind = DLOCK_FAIR, .help = help};
    run_options options;
    int code = run_options_read(&options, argc, argv, &form);
    return code >= 0 ? code : under_lock(&options, NULL);
}
