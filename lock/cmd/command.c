/* What every subcommand does alike: complain, read a number, find the server and reach it. */
#include "cmd/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define DEFAULT_URL "redis://127.0.0.1:6379"

/* How long a server may take to answer the first PING, the connect included. */
#define HELLO_MS 3000

void command_complain(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    fputs("dlock: ", stderr);
    vfprintf(stderr, format, ap);
    fputc('\n', stderr);
    va_end(ap);
}

int command_usage(void)
{
    fputs("Try 'dlock --help'.\n", stderr);
    return EXIT_USAGE;
}

int command_exit_code(dlock_status status)
{
    switch (status) {
    case DLOCK_OK:
        return 0;
    case DLOCK_BUSY:
    case DLOCK_CANCELLED:
        return EXIT_NOT_OBTAINED;
    case DLOCK_INVALID:
        return EXIT_USAGE;
    case DLOCK_NO_MEMORY:
        return EXIT_SYSTEM;
    default:
        return EXIT_UNREACHABLE;
    }
}

bool command_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *ret)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (end == text || *end || errno || number < min || number > max) {
        command_complain("--%s takes a whole number from %lld to %lld, not \"%s\"", option,
                         (long long)min, (long long)max, text);
        return false;
    }
    *ret = number;
    return true;
}

const char *command_redis_url(const char *url)
{
    if (!url)
        url = getenv("DLOCK_REDIS");
    return url && *url ? url : DEFAULT_URL;
}

static bool answers(dlock_redis *redis)
{
    dlock_args ping;
    dlock_args_init(&ping);
    dlock_args_text(&ping, "PING");
    dlock_redis_outcome outcome =
        dlock_redis_command(redis, NULL, &ping, dlock_in_ms(HELLO_MS), NULL);
    dlock_args_free(&ping);
    return outcome == DLOCK_REDIS_OK;
}

int command_session_open(const char *url, const char *name, const dlock_options *options,
                         command_session *ret)
{
    char err[256] = "";
    command_session session = {NULL, NULL, NULL};
    dlock_redis_options address = {.url = command_redis_url(url), .name = "dlock"};
    if (dlock_redis_open(&address, &session.redis, err, sizeof(err)) != 0) {
        command_complain("%s", err);
        return EXIT_USAGE;
    }
    if (!answers(session.redis)) {
        dlock_redis_last_error(session.redis, err, sizeof(err));
        command_complain("Redis can not be reached: %s", err);
        command_session_close(&session);
        return EXIT_UNREACHABLE;
    }
    dlock_client_options client = {.redis = session.redis};
    dlock_status status = dlock_client_new(&client, &session.client, err, sizeof(err));
    if (status == DLOCK_OK && name)
        status = dlock_lock_new(session.client, name, options, &session.lock, err, sizeof(err));
    if (status != DLOCK_OK) {
        command_complain("%s", err);
        command_session_close(&session);
        return command_exit_code(status);
    }
    *ret = session;
    return 0;
}

void command_session_close(command_session *session)
{
    dlock_lock_free(session->lock);
    dlock_client_free(session->client);
    dlock_redis_close(session->redis);
}
