/* dlock status, leader and release --force: who holds a lock, or leads, and taking it away. */
#include "cmd/command.h"
#include "cmd/inspection.h"
#include "cmd/plain.h"

#include <stdio.h>

static const char status_help[] =
    "usage: dlock status [options] NAME\n"
    "\n"
    "Shows who holds the lock NAME, whatever its kind: owner, process, host, label, since when,\n"
    "how long it lasts without a renewal, the last fence, how many wait in its queue. For readers\n"
    "and for a semaphore it shows a line for each holder, sorted by the end of their leases, and\n"
    "how many permits are taken. The label, in the owner before \"@\", is the name of COMMAND for\n"
    "`dlock run`. A semaphore with 0 permits is closed. For a latch it shows how many count-downs\n"
    "are left; an open latch is free. If the process has ended, --at-least of `dlock run` keeps\n"
    "the name.\n"
    "\n"
    "  --json                 as one JSON object, \"schema\": 1; times in its _us (since 1970)\n"
    "                         and _ms. Its mode is free, exclusive, writer, readers, semaphore,\n"
    "                         latch, or other: a key that is none of these. If there are several\n"
    "                         holders, owner, label, host, pid and ttl_ms are those of the "
    "first\n" COMMAND_REDIS_HELP "  -h, --help             show this\n"
    "\n"
    "Exit codes:\n"
    "  0   it is held, or closed\n"
    "  1   it is free\n"
    "  64  usage\n"
    "  69  Redis not reached; dlock asks once, for 3 s at most\n"
    "\n"
    "Example: dlock status nightly-report\n";

static const char release_help[] =
    "usage: dlock release --force [options] NAME\n"
    "\n"
    "Takes the lock NAME away from all its holders, raises its fence, and hands the lock on or\n"
    "wakes the waiters. A holder notices that at its next renewal, at most a third of its lease\n"
    "later. Until then it works beside the next holder, unless its writes are guarded or fenced.\n"
    "\n"
    "  --force                required, because normally only the holder releases a "
    "lock\n" COMMAND_REDIS_HELP "  -h, --help             show this\n"
    "\n"
    "Exit codes:\n"
    "  0   it was held\n"
    "  1   it was free\n"
    "  64  usage, or NAME is a latch\n"
    "  69  Redis not reached; dlock asks once, for 3 s at most\n"
    "\n"
    "Example: dlock release --force nightly-report\n";

static const char leader_help[] =
    "usage: dlock leader [options] NAME\n"
    "\n"
    "Shows who leads in the election NAME: owner, process and host, since when, how long that\n"
    "lasts without a renewal, the fence, how many candidates wait. A dead candidate counts for a\n"
    "minute or two. A holder by `dlock run NAME` is shown like a leader.\n"
    "\n"
    "  --json                 as one JSON object, \"schema\": 1; times in its _us (since 1970)\n"
    "                         and _ms\n" COMMAND_REDIS_HELP "  -h, --help             show this\n"
    "\n"
    "Exit codes:\n"
    "  0   somebody leads\n"
    "  1   nobody leads\n"
    "  64  usage, or the holder of NAME is no candidate\n"
    "  69  Redis not reached; dlock asks once, for 3 s at most\n"
    "\n"
    "Example: dlock leader scheduler\n";

typedef struct lock_query {
    const char *url, *name;
    bool json, force;
    command_session session;
} lock_query;

/* -1, or the exit code: help was shown, or an error. `word` is --json or --force. */
static int read_options(lock_query *query, const char *command, int argc, char **argv,
                        struct option word, const char *help)
{
    const struct option options[] = {
        {"redis", required_argument, NULL, 'r'}, word, COMMAND_HELP, {NULL, 0, NULL, 0}};
    for (int c; (c = command_option(argc, argv, "h", options)) != -1;) {
        if (c == '?')
            return command_usage(command);
        if (c == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (c == 'r')
            query->url = optarg;
        query->json |= c == 'j';
        query->force |= c == 'f';
    }
    if (argc - optind != 1) {
        command_complain("%s: one NAME is needed", command);
        return command_usage(command);
    }
    query->name = argv[optind];
    return -1;
}

/* 0, or the exit code after a complaint. */
static int open_lock(lock_query *query)
{
    /* Looks at a lock of any kind; a release of this kind also hands on, if anybody queues. */
    dlock_options options = {.kind = DLOCK_FAIR};
    return command_session_open(query->url, query->name, &options, &query->session);
}

static int complain_of(lock_query *query, dlock_status status)
{
    char err[256];
    dlock_last_error(query->session.client, err, sizeof(err));
    command_complain("%s: %s", dlock_status_text(status), err);
    return command_exit_code(status);
}

int command_status(int argc, char **argv)
{
    lock_query query = {0};
    const struct option json = {"json", no_argument, NULL, 'j'};
    int code = read_options(&query, "status", argc, argv, json, status_help);
    if (code >= 0)
        return code;
    code = open_lock(&query);
    if (code)
        return code;
    inspection seen;
    dlock_status status = inspection_look(&query.session, query.name, &seen);
    if (status != DLOCK_OK) {
        code = complain_of(&query, status);
    } else {
        code = inspection_is_free(&seen) ? EXIT_FREE : 0;
        if (query.json)
            inspection_print_json(&seen, query.name);
        else
            inspection_print_text(&seen, query.name);
        inspection_free(&seen);
    }
    command_session_close(&query.session);
    return code;
}

/* Shows a leader, if it is one. The exit code. */
static int show_leader(const lock_query *query, const dlock_info *info)
{
    if (info->held && !inspection_may_lead(info)) {
        command_complain("\"%s\" is held by what is no candidate: see dlock status", query->name);
        return EXIT_USAGE;
    }
    if (query->json)
        inspection_print_leader_json(info, query->name);
    else
        inspection_print_leader_text(info, query->name);
    return info->held ? 0 : EXIT_FREE;
}

int command_leader(int argc, char **argv)
{
    lock_query query = {0};
    dlock_info info;
    const struct option json = {"json", no_argument, NULL, 'j'};
    int code = read_options(&query, "leader", argc, argv, json, leader_help);
    if (code >= 0)
        return code;
    code = open_lock(&query);
    if (code)
        return code;
    dlock_status status = dlock_inspect(query.session.lock, &info);
    code = status == DLOCK_OK ? show_leader(&query, &info) : complain_of(&query, status);
    command_session_close(&query.session);
    return code;
}

int command_release(int argc, char **argv)
{
    lock_query query = {0};
    const struct option force = {"force", no_argument, NULL, 'f'};
    int code = read_options(&query, "release", argc, argv, force, release_help);
    if (code >= 0)
        return code;
    if (!query.force) {
        command_complain("a lock is released by its holder; --force takes it away from it");
        return command_usage("release");
    }
    code = open_lock(&query);
    if (code)
        return code;
    int64_t left;
    dlock_status status = inspection_latch(&query.session, query.name, &left);
    bool latch = status == DLOCK_OK;
    if (!latch)
        status = dlock_force_release(query.session.lock);
    if (latch) {
        command_complain("\"%s\" is a latch: it is counted down, not released", query.name);
        code = EXIT_USAGE;
    } else if (status == DLOCK_OK) {
        plain_put(stdout, query.name);
        puts(" is released");
    } else if (status == DLOCK_NOT_OWNER) {
        plain_put(stdout, query.name);
        puts(" was free");
        code = EXIT_FREE;
    } else {
        code = complain_of(&query, status);
    }
    command_session_close(&query.session);
    return code;
}
