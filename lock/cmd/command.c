/* What every subcommand does alike: complain, read a number, find the server and reach it. */
#include "cmd/command.h"
#include "cmd/plain.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_URL "redis://127.0.0.1:6379"
#define YEAR_S      31536000

void command_complain(const char *format, ...)
{
    char *text; /* written at once: several processes may complain */
    va_list ap;
    va_start(ap, format);
    int len = vasprintf(&text, format, ap);
    va_end(ap);
    if (len < 0)
        return;
    dlock_redis_hide(text);
    char *plain = plain_text(text);
    fprintf(stderr, "dlock: %s\n", plain ? plain : "out of memory");
    free(plain);
    free(text);
}

int command_usage(const char *subcommand)
{
    fprintf(stderr, "Try 'dlock%s%s --help'.\n", subcommand ? " " : "",
            subcommand ? subcommand : "");
    return EXIT_USAGE;
}

/* The word on the command line that was taken for this option. */
static bool spelt_out(char **argv, const struct option *option)
{
    const char *word = argv[optind - 1];
    if (optarg == word)
        word = argv[optind - 2];
    size_t len = strlen(option->name);
    return strncmp(word, "--", 2) == 0 && strncmp(word + 2, option->name, len) == 0 &&
           (word[2 + len] == '\0' || word[2 + len] == '=');
}

/* In getopt_long()'s words, but never what stands behind '='. */
static void complain_of(char **argv, const char *letters)
{
    const char *word = argv[optind - 1];
    int len = (int)strcspn(word, "=");
    if (optopt == 0)
        fprintf(stderr, "%s: unrecognized option '%.*s'\n", argv[0], len, word);
    else if (strncmp(word, "--", 2) == 0)
        fprintf(stderr, "%s: option '%.*s' %s an argument\n", argv[0], len, word,
                word[len] ? "doesn't allow" : "requires");
    else
        fprintf(stderr, "%s: %s -- '%c'\n", argv[0],
                strchr(letters, optopt) ? "option requires an argument" : "invalid option", optopt);
}

int command_option(int argc, char **argv, const char *letters, const struct option *options)
{
    int index = -1;
    opterr = 0; /* getopt_long() would repeat the whole word */
    int c = getopt_long(argc, argv, letters, options, &index);
    if (c == '?')
        complain_of(argv, letters);
    if (c == -1 || c == '?' || index < 0 || spelt_out(argv, &options[index]))
        return c;
    fprintf(stderr, "%s: options are not abbreviated: is --%s meant?\n", argv[0],
            options[index].name);
    return '?';
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

bool command_is_number(const char *text, int64_t min, int64_t max, int64_t *ret)
{
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || number < min || number > max)
        return false;
    *ret = number;
    return true;
}

bool command_number(const char *option, const char *text, int64_t min, int64_t max, int64_t *ret)
{
    if (command_is_number(text, min, max, ret))
        return true;
    command_complain("--%s takes a whole number from %lld to %lld, not \"%s\"", option,
                     (long long)min, (long long)max, text);
    return false;
}

bool command_seconds(const char *option, const char *text, int64_t *ret_ms)
{
    char *end;
    bool plain = *text && strspn(text, "0123456789.") == strlen(text);
    double seconds = plain ? strtod(text, &end) : -1;
    if (!plain || end == text || *end || seconds > YEAR_S) {
        command_complain("--%s takes seconds from 0 to %d, such as 5 or 0.5, not \"%s\"", option,
                         YEAR_S, text);
        return false;
    }
    *ret_ms = (int64_t)ceil(seconds * 1000);
    return true;
}

bool command_duration(const char *option, const char *text, int64_t max_ms, int64_t *ret_ms)
{
    static const char units[] = "smh";
    char *end = NULL;
    size_t digits = strspn(text, "0123456789.");
    double ms = digits ? strtod(text, &end) * 1000 : 0;
    bool good = end == text + digits;
    const char *unit = good && *end ? strchr(units, *end) : NULL;
    for (const char *at = units; unit && at < unit; at++)
        ms *= 60;
    if (!good || (*end && (!unit || end[1])) || ms <= 0 || ms > (double)max_ms) {
        command_complain("--%s takes a time above 0, up to %lldh, such as 90s, 5m or 1h, not "
                         "\"%s\"",
                         option, (long long)max_ms / 3600000, text);
        return false;
    }
    *ret_ms = (int64_t)ceil(ms);
    return true;
}

const char *command_redis_url(const char *url)
{
    const char *source = "--redis";
    if (!url) {
        source = "DLOCK_REDIS";
        url = getenv(source);
    }
    if (!url)
        return DEFAULT_URL;
    if (*url)
        return url;
    command_complain("%s is empty", source);
    return NULL;
}

bool command_answers(const command_session *session, dlock_time deadline, char *err, size_t err_len)
{
    dlock_args ping;
    dlock_args_init(&ping);
    dlock_args_text(&ping, "PING");
    dlock_redis_outcome outcome = dlock_redis_command(session->redis, NULL, &ping, deadline, NULL);
    dlock_args_free(&ping);
    if (outcome == DLOCK_REDIS_OK)
        return true;
    dlock_redis_last_error(session->redis, err, err_len);
    return false;
}

/* INFO's text; the caller frees the reply. NULL: it may not be asked, or there is no answer. */
static redisReply *ask_info(const command_session *session)
{
    redisReply *reply = NULL;
    dlock_args args;
    dlock_args_init(&args);
    dlock_args_text(&args, "INFO");
    dlock_redis_outcome outcome =
        dlock_redis_command(session->redis, NULL, &args, dlock_in_ms(HELLO_MS), &reply);
    dlock_args_free(&args);
    if (outcome == DLOCK_REDIS_OK && reply->str)
        return reply;
    freeReplyObject(reply);
    return NULL;
}

/* The locks expire, so every policy but noeviction may take them, once memory is short. */
static void warn_of_eviction(const char *info)
{
    static const char name[] = "\nmaxmemory_policy:";
    const char *policy = strstr(info, name);
    if (strstr(info, "\nmaxmemory:0\r") || !policy)
        return;
    policy += strlen(name);
    int len = (int)strcspn(policy, "\r\n");
    if (strncmp(policy, "noeviction", (size_t)len) != 0)
        command_complain("warning: the server's maxmemory-policy %.*s may throw locks away, and "
                         "with them the exclusion; set it to noeviction",
                         len, policy);
}

int command_check_server(const command_session *session)
{
    char err[256];
    redisReply *reply = ask_info(session);
    bool recent = !reply || dlock_redis_is_recent(reply->str, err, sizeof(err));
    if (!recent)
        command_complain("%s", err);
    else if (reply)
        warn_of_eviction(reply->str);
    freeReplyObject(reply);
    return recent ? 0 : EXIT_UNREACHABLE;
}

int command_session_make(const char *url, const char *label, const char *name,
                         const dlock_options *options, command_session *ret)
{
    char err[256] = "";
    command_session session = {NULL, NULL, NULL};
    signal(SIGPIPE, SIG_IGN); /* the library asks for that */
    dlock_redis_options address = {.url = command_redis_url(url), .name = "dlock"};
    if (!address.url)
        return EXIT_USAGE;
    if (dlock_redis_open(&address, &session.redis, err, sizeof(err)) != 0) {
        command_complain("%s", err);
        return EXIT_USAGE;
    }
    dlock_client_options client = {.redis = session.redis, .label = label};
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

int command_session_open(const char *url, const char *name, const dlock_options *options,
                         command_session *ret)
{
    char err[256] = "";
    int code = command_session_make(url, NULL, name, options, ret);
    if (code)
        return code;
    if (command_answers(ret, dlock_in_ms(HELLO_MS), err, sizeof(err))) {
        code = command_check_server(ret);
    } else {
        command_complain("Redis can not be reached: %s", err);
        code = EXIT_UNREACHABLE;
    }
    if (code)
        command_session_close(ret);
    return code;
}

void command_session_close(command_session *session)
{
    dlock_lock_free(session->lock);
    dlock_client_free(session->client);
    dlock_redis_close(session->redis);
}
