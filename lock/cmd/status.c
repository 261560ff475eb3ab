/* dlock status and dlock release --force: who holds a lock, and taking it away from its holder. */
#include "cmd/command.h"
#include "cmd/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

static const char status_help[] =
    "usage: dlock status [options] NAME\n"
    "\n"
    "Shows who holds the lock NAME, whatever its kind: owner, process and host, since when, for "
    "how\n"
    "long without a renewal, the last fence, how many wait in its queue.\n"
    "\n"
    "  --json                 as one JSON object, \"schema\": 1; times in its _us (since 1970) "
    "and\n"
    "                         _ms\n" COMMAND_REDIS_HELP "  -h, --help             this\n"
    "\n"
    "Exit codes:\n"
    "  0   it is held\n"
    "  1   it is free\n"
    "  64  usage\n"
    "  69  Redis not reached; it is asked once, for 3 s at most\n"
    "\n"
    "Example: dlock status nightly-report\n";

static const char release_help[] =
    "usage: dlock release --force [options] NAME\n"
    "\n"
    "Takes the lock NAME away from whoever has it, raises its fence, and hands it on or wakes who\n"
    "waits. Its holder learns of that at its next renewal, after a third of its lease at most, "
    "and\n"
    "works on until then beside the next one, unless its writes are guarded or fenced.\n"
    "\n"
    "  --force                must be given: a lock is released by its holder\n" COMMAND_REDIS_HELP
    "  -h, --help             this\n"
    "\n"
    "Exit codes:\n"
    "  0   it was held\n"
    "  1   it was free\n"
    "  64  usage\n"
    "  69  Redis not reached; it is asked once, for 3 s at most\n"
    "\n"
    "Example: dlock release --force nightly-report\n";

typedef struct lock_query {
    const char *url, *name;
    bool json, force;
    command_session session;
} lock_query;

/* -1, or the exit code: help was shown, or an error. `word` is --json or --force. */
static int read_options(lock_query *query, int argc, char **argv, struct option word,
                        const char *help)
{
    const struct option options[] = {
        {"redis", required_argument, NULL, 'r'}, word, COMMAND_HELP, {NULL, 0, NULL, 0}};
    const char *command = word.val == 'j' ? "status" : "release";
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

static void print_json(const char *name, const dlock_info *info)
{
    json_writer json = {.file = stdout};
    json_open(&json, NULL, '{');
    json_int(&json, "schema", 1);
    json_text(&json, "name", name);
    json_bool(&json, "held", info->held);
    json_text(&json, "owner", info->owner);
    json_text(&json, "host", info->host);
    json_int(&json, "pid", info->pid);
    json_int(&json, "since_us", info->since_us);
    json_int(&json, "ttl_ms", info->ttl_ms);
    json_int(&json, "fence", (int64_t)info->fence);
    json_int(&json, "waiters", info->waiters);
    json_close(&json, '}');
}

static void print_since(int64_t since_us)
{
    char text[64];
    struct tm tm;
    struct timespec now;
    time_t since_s = since_us / 1000000;
    clock_gettime(CLOCK_REALTIME, &now);
    if (localtime_r(&since_s, &tm) && strftime(text, sizeof(text), "%F %T", &tm))
        printf("  since    %s (%.1f s ago)\n", text,
               (double)now.tv_sec - (double)since_us / 1e6 + (double)now.tv_nsec / 1e9);
}

static void print_text(const char *name, const dlock_info *info)
{
    printf("%s is %s\n", name, info->held ? "held" : "free");
    if (info->held) {
        printf("  owner    %s\n", *info->owner ? info->owner : "a key of another kind");
        if (info->pid)
            printf("  process  %" PRId64 " on %s\n", info->pid, info->host);
        if (info->since_us)
            print_since(info->since_us);
        if (info->ttl_ms >= 0)
            printf("  expires  in %.1f s unless renewed\n", (double)info->ttl_ms / 1000);
        else
            printf("  expires  never\n");
    }
    if (info->fence)
        printf("  fence    %" PRIu64 "\n", info->fence);
    if (info->held || info->waiters)
        printf("  waiting  %" PRId64 "\n", info->waiters);
}

int command_status(int argc, char **argv)
{
    lock_query query = {0};
    const struct option json = {"json", no_argument, NULL, 'j'};
    int code = read_options(&query, argc, argv, json, status_help);
    if (code >= 0)
        return code;
    code = open_lock(&query);
    if (code)
        return code;
    dlock_info info;
    dlock_status status = dlock_inspect(query.session.lock, &info);
    if (status != DLOCK_OK) {
        code = complain_of(&query, status);
    } else {
        code = info.held ? 0 : EXIT_FREE;
        if (query.json)
            print_json(query.name, &info);
        else
            print_text(query.name, &info);
    }
    command_session_close(&query.session);
    return code;
}

int command_release(int argc, char **argv)
{
    lock_query query = {0};
    const struct option force = {"force", no_argument, NULL, 'f'};
    int code = read_options(&query, argc, argv, force, release_help);
    if (code >= 0)
        return code;
    if (!query.force) {
        command_complain("a lock is released by its holder; --force takes it away from it");
        return command_usage("release");
    }
    code = open_lock(&query);
    if (code)
        return code;
    dlock_status status = dlock_force_release(query.session.lock);
    if (status == DLOCK_OK) {
        printf("%s is released\n", query.name);
    } else if (status == DLOCK_NOT_OWNER) {
        printf("%s was free\n", query.name);
        code = EXIT_FREE;
    } else {
        code = complain_of(&query, status);
    }
    command_session_close(&query.session);
    return code;
}
