/* dlock semaphore: a command with permits of a semaphore, and the number of these. */
#include "cmd/under_lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char help[] =
    "usage: dlock semaphore [options] N NAME -- COMMAND [ARG...]\n"
    "       dlock semaphore --resize [--redis URL] N NAME\n"
    "\n"
    "The semaphore NAME has N permits. Waits until one is free, holds and renews it while COMMAND\n"
    "and everything that it starts run, then releases it. So at most N commands run at a time, on\n"
    "all machines. Waiters are served in the order of arrival. A dead holder's permit is free\n"
    "when its lease ends. Everything else is as with `dlock run`.\n"
    "\n"
    "Redis keeps the number of permits. N sets it if Redis has none, because nobody has used NAME\n"
    "for a day. If Redis has another number, dlock takes N for a mistake and does not run\n"
    "COMMAND. If Redis has 0, COMMAND waits for more. --resize changes the number.\n"
    "\n"
    "  --take K               take K permits instead of one, all at once. A waiter that wants\n"
    "                         fewer does not overtake\n"
    "  --resize               set the number in Redis to N. Permits that are held stay held.\n"
    "                         Without COMMAND N may be 0: then nobody gets a permit until there\n"
    "                         are more\n" RUN_OPTIONS_HELP COMMAND_REDIS_HELP
    "  -h, --help             show this\n"
    "\n"
    "COMMAND finds in its environment DLOCK_FENCE, a number that rises with every grant of NAME,\n"
    "and DLOCK_OWNER, the token in Redis. The fence does not keep out other holders of a permit.\n"
    "\n"
    "Exit codes:\n"
    "  N        COMMAND's own; 126 or 127 when it can not be started\n"
    "  64       usage, or Redis has another number of permits, or another kind of lock\n"
    "  69       Redis not reached\n"
    "  71       no process, memory or descriptors, no /proc, or the supervisor was killed\n"
    "  75       no permit was obtained\n"
    "  76       the permit was lost, or about to be lost, before COMMAND ended\n"
    "  128 + N  signal N ended COMMAND, or the wait\n"
    "\n"
    "Example, three backups at a time on all machines; the others wait, at most two hours:\n"
    "  0 2 * * * dlock semaphore -w 7200 3 backups -- /usr/local/bin/backup.sh\n";

static int complain_of(const command_session *session, const run_options *options,
                       dlock_status status)
{
    char err[256];
    dlock_last_error(session->client, err, sizeof(err));
    command_complain("the permits of \"%s\": %s: %s", options->name, dlock_status_text(status),
                     err);
    return strstr(err, "WRONGKIND") ? EXIT_USAGE : command_exit_code(status);
}

/* Sets the number of permits, or sees to it that there is no other. 0, or the exit code after a
 * complaint. */
static int agree(const command_session *session, const run_options *options)
{
    dlock_info info = {.permits = -1};
    dlock_status status = options->resize ? dlock_semaphore_set(session->lock, options->permits)
                                          : dlock_inspect(session->lock, &info);
    if (status != DLOCK_OK)
        return complain_of(session, options, status);
    if (info.permits < 0 && !options->resize) /* the first acquire sets it */
        return UNDER_LOCK_UNSETTLED;
    if (info.permits <= 0 || info.permits == options->permits)
        return 0;
    command_complain("the semaphore \"%s\" has %" PRId64 " permit%s, not %" PRId64
                     ": --resize sets their number",
                     options->name, info.permits, info.permits == 1 ? "" : "s", options->permits);
    return EXIT_USAGE;
}

static int resize(const run_options *options)
{
    command_session session;
    dlock_options semaphore = {.kind = DLOCK_SEMAPHORE, .permits = 1}; /* it has a number soon */
    int code = command_session_open(options->url, options->name, &semaphore, &session);
    if (code)
        return code;
    code = agree(&session, options);
    if (code == 0)
        printf("%s has %" PRId64 " permit%s\n", options->name, options->permits,
               options->permits == 1 ? "" : "s");
    command_session_close(&session);
    return code;
}

int command_semaphore(int argc, char **argv)
{
    static const run_form form = {.name = "semaphore", .kind = DLOCK_SEMAPHORE, .help = help};
    run_options options;
    int code = run_options_read(&options, argc, argv, &form);
    if (code >= 0)
        return code;
    return options.command ? under_lock(&options, agree) : resize(&options);
}
