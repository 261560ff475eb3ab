/* dlock latch and dlock wait: a count-down latch is set, counted down, looked at and waited for. */
#include "cmd/command.h"
#include "cmd/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define COUNT_MAX   1000000000
#define LIFE_MAX_MS INT64_C(31536000000)
#define WHO_MAX     128

static const char latch_help[] =
    "usage: dlock latch set [options] N NAME\n"
    "       dlock latch down [options] NAME\n"
    "       dlock latch left [options] NAME\n"
    "\n"
    "A latch has a count. It is open when it has been counted down to zero, and \"dlock wait\n"
    "NAME\" waits until then. So one program waits for N others, on any machines. To give a latch\n"
    "up, delete the key NAME: then the waiters end with 76.\n"
    "\n"
    "  set                    set the latch NAME to N, 1 to 1000000000. A latch that is set\n"
    "                         already must have opened first\n"
    "  down                   count it down by one, and print what is left\n"
    "  left                   print what is left; 0: it is open\n"
    "\n"
    "  --life-ms N            set: how long the latch lives after that, and after each count-down\n"
    "                         that counted, 1 to 31536000000 (a year). Default: a day\n"
    "  --who WORD             down: count only once for this WORD, until the latch is set again.\n"
    "                         So a worker may repeat it if it was restarted, or got no answer\n"
    "                         (69). Default: each call counts\n"
    "  --json                 left: as one JSON object, \"schema\": 1\n" COMMAND_REDIS_HELP
    "  -h, --help             show this\n"
    "\n"
    "Exit codes:\n"
    "  0   done; of left: it is set\n"
    "  64  usage, or NAME is no latch but something else, such as a lock\n"
    "  69  Redis not reached (dlock asks once, for 3 s at most), or no answer came: the latch may\n"
    "      be set, or counted down, or not\n"
    "  75  set: the latch is set already, and has not opened yet\n"
    "  76  down, left: the latch is not set, or its life is over\n"
    "\n"
    "Example, two workers, and a script that waits for both of them, at most an hour:\n"
    "  dlock latch set 2 import\n"
    "  ssh one 'import --part 1 && dlock latch down --who part1 import' &\n"
    "  ssh two 'import --part 2 && dlock latch down --who part2 import' &\n"
    "  dlock wait --wait 3600 import && report\n";

static const char wait_help[] =
    "usage: dlock wait [options] NAME\n"
    "\n"
    "Waits until the latch NAME is open, that is counted down to zero (dlock latch). It also\n"
    "waits for a latch that is not set yet, and goes on if Redis falls silent meanwhile.\n"
    "\n"
    "  -w, --wait SECONDS     give up after so long, as in 2.5; 0 to 31536000 (a year). Default:\n"
    "                         no limit\n"
    "  --wait-ms N            the same in ms\n"
    "  -n, --nonblock         look once, as --wait 0\n" COMMAND_REDIS_HELP
    "  -h, --help             show this\n"
    "\n"
    "Exit codes:\n"
    "  0   it is open, or was open during the wait\n"
    "  64  usage, or NAME is no latch but something else, such as a lock\n"
    "  69  Redis not reached at the start (dlock asks once, for 3 s at most), or no answer came\n"
    "      at the end of the wait\n"
    "  75  it was not open by the end of the wait\n"
    "  76  it was set, and is gone: its life ended before it opened, or Redis has lost it\n"
    "\n"
    "Example: dlock wait --wait 3600 import && report\n";

typedef struct latch_query {
    const char *url, *name, *who;
    int64_t count, life_ms, wait_ms;
    bool json;
    command_session session;
    dlock_latch *latch;
} latch_query;

/* ---- what both have in common ---------------------------------------------------------------- */

/* 0, or the exit code after a complaint. */
static int open_latch(latch_query *query)
{
    char err[256] = "";
    int code = command_session_open(query->url, NULL, NULL, &query->session);
    if (code)
        return code;
    dlock_status status =
        dlock_latch_new(query->session.client, query->name, &query->latch, err, sizeof(err));
    if (status == DLOCK_OK)
        return 0;
    command_complain("%s", err);
    command_session_close(&query->session);
    return command_exit_code(status);
}

static void close_latch(latch_query *query)
{
    dlock_latch_free(query->latch);
    command_session_close(&query->session);
}

static int complain_of(const latch_query *query, dlock_status status)
{
    char err[256] = "";
    if (status == DLOCK_NOT_OWNER) {
        command_complain("%s is no latch: something else stands there, such as a lock",
                         query->name);
        return EXIT_USAGE;
    }
    dlock_last_error(query->session.client, err, sizeof(err));
    command_complain("%s: %s%s%s", query->name, dlock_status_text(status), *err ? ": " : "", err);
    return command_exit_code(status);
}

/* ---- dlock latch ----------------------------------------------------------------------------- */

static int set(latch_query *query)
{
    dlock_status status = dlock_latch_set(query->latch, query->count, query->life_ms);
    if (status == DLOCK_OK) {
        printf("%s is set to %" PRId64 "\n", query->name, query->count);
        return 0;
    }
    if (status != DLOCK_BUSY)
        return complain_of(query, status);
    command_complain("%s is set already, and has not opened yet", query->name);
    return EXIT_NOT_OBTAINED;
}

static int down(latch_query *query)
{
    int64_t left = 0;
    dlock_status status = dlock_latch_count_down(query->latch, query->who, &left);
    if (status == DLOCK_OK) {
        printf("%" PRId64 "\n", left);
        return 0;
    }
    if (status != DLOCK_EXPIRED)
        return complain_of(query, status);
    command_complain("%s is not set, or its life is over", query->name);
    return EXIT_LOST;
}

static void print_json(const char *name, bool is_set, int64_t left)
{
    json_writer json = {.file = stdout};
    json_open(&json, NULL, '{');
    json_int(&json, "schema", 1);
    json_text(&json, "name", name);
    json_bool(&json, "set", is_set);
    json_int(&json, "left", left);
    json_bool(&json, "open", is_set && left == 0);
    json_close(&json, '}');
}

static int left(latch_query *query)
{
    int64_t count = 0;
    dlock_status status = dlock_latch_left(query->latch, &count);
    if (status != DLOCK_OK && status != DLOCK_EXPIRED)
        return complain_of(query, status);
    if (query->json)
        print_json(query->name, status == DLOCK_OK, count);
    else if (status == DLOCK_OK)
        printf("%" PRId64 "\n", count);
    else
        command_complain("%s is not set, or its life is over", query->name);
    return status == DLOCK_OK ? 0 : EXIT_LOST;
}

/* What `dlock latch` is to do: its word, the option that is this one's alone. */
typedef struct latch_verb {
    const char *word;
    int option;
    int words; /* N and NAME, or NAME */
    int (*run)(latch_query *query);
} latch_verb;

static const latch_verb verbs[] = {
    {"set", 'l', 2, set}, {"down", 'W', 1, down}, {"left", 'j', 1, left}};

static bool take_option(latch_query *query, int c)
{
    switch (c) {
    case 'r':
        query->url = optarg;
        return true;
    case 'l':
        return command_number("life-ms", optarg, 1, LIFE_MAX_MS, &query->life_ms);
    case 'W':
        query->who = optarg;
        if (*optarg && strlen(optarg) <= WHO_MAX)
            return true;
        command_complain("latch: --who takes 1 to %d bytes", WHO_MAX);
        return false;
    case 'j':
        query->json = true;
        return true;
    default:
        return false;
    }
}

/* The words behind the options: the verb, and what it takes. NULL after a complaint. */
static const latch_verb *take_words(latch_query *query, char **words, int len)
{
    for (size_t i = 0; len > 0 && i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        const latch_verb *verb = &verbs[i];
        if (strcmp(words[0], verb->word) != 0)
            continue;
        if (len != 1 + verb->words) {
            command_complain("latch %s: what is needed is %sNAME", verb->word,
                             verb->words == 2 ? "N " : "");
            return NULL;
        }
        query->name = words[verb->words];
        if (verb->words == 1 || command_is_number(words[1], 1, COUNT_MAX, &query->count))
            return verb;
        command_complain("latch set: N is a whole number from 1 to %d, not \"%s\"", COUNT_MAX,
                         words[1]);
        return NULL;
    }
    command_complain("latch: what is needed is set, down or left");
    return NULL;
}

/* NULL and *code: help was shown, or an error. */
static const latch_verb *read_latch(latch_query *query, int argc, char **argv, int *code)
{
    static const struct option options[] = {{"redis", required_argument, NULL, 'r'},
                                            {"life-ms", required_argument, NULL, 'l'},
                                            {"who", required_argument, NULL, 'W'},
                                            {"json", no_argument, NULL, 'j'},
                                            COMMAND_HELP,
                                            {NULL, 0, NULL, 0}};
    int given = 0; /* an option that is one verb's alone */
    *code = 0;
    for (int c; (c = command_option(argc, argv, "h", options)) != -1;) {
        if (c == 'h') {
            fputs(latch_help, stdout);
            return NULL;
        }
        bool good = take_option(query, c);
        bool other = good && c != 'r' && given && given != c;
        if (other)
            command_complain("latch: no two of --life-ms, --who and --json go together");
        if (!good || other) {
            *code = command_usage("latch");
            return NULL;
        }
        given = c == 'r' ? given : c;
    }
    const latch_verb *verb = take_words(query, argv + optind, argc - optind);
    if (verb && given && given != verb->option) {
        command_complain("latch: --life-ms is for set, --who for down, --json for left");
        verb = NULL;
    }
    if (!verb)
        *code = command_usage("latch");
    return verb;
}

int command_latch(int argc, char **argv)
{
    latch_query query = {0};
    int code;
    const latch_verb *verb = read_latch(&query, argc, argv, &code);
    if (!verb)
        return code;
    code = open_latch(&query);
    if (code)
        return code;
    code = verb->run(&query);
    close_latch(&query);
    return code;
}

/* ---- dlock wait ------------------------------------------------------------------------------ */

/* -1, or the exit code: help was shown, or an error. */
static int read_wait(latch_query *query, int argc, char **argv)
{
    static const struct option options[] = {{"redis", required_argument, NULL, 'r'},
                                            {"wait", required_argument, NULL, 'w'},
                                            {"wait-ms", required_argument, NULL, 'm'},
                                            {"nonblock", no_argument, NULL, 'n'},
                                            COMMAND_HELP,
                                            {NULL, 0, NULL, 0}};
    int waits = 0;
    for (int c; (c = command_option(argc, argv, "w:nh", options)) != -1;) {
        bool good = c != '?';
        if (c == 'h') {
            fputs(wait_help, stdout);
            return 0;
        }
        if (c == 'r')
            query->url = optarg;
        if (c == 'n')
            query->wait_ms = 0;
        if (c == 'w')
            good = command_seconds("wait", optarg, &query->wait_ms);
        if (c == 'm')
            good = command_number("wait-ms", optarg, 0, LIFE_MAX_MS, &query->wait_ms);
        waits += c != 'r';
        if (good && waits > 1) {
            command_complain("wait: only one of --wait, --wait-ms and --nonblock may be given, "
                             "once");
            good = false;
        }
        if (!good)
            return command_usage("wait");
    }
    if (argc - optind != 1) {
        command_complain("wait: one NAME is needed");
        return command_usage("wait");
    }
    query->name = argv[optind];
    return -1;
}

int command_wait(int argc, char **argv)
{
    latch_query query = {.wait_ms = DLOCK_FOREVER};
    int code = read_wait(&query, argc, argv);
    if (code >= 0)
        return code;
    code = open_latch(&query);
    if (code)
        return code;
    dlock_status status = dlock_latch_wait(query.latch, &(dlock_wait){.wait_ms = query.wait_ms});
    if (status == DLOCK_BUSY) {
        command_complain("%s is not open", query.name);
        code = EXIT_NOT_OBTAINED;
    } else if (status == DLOCK_EXPIRED) {
        command_complain("%s was set, and is gone: its life was over before it opened, or Redis "
                         "has lost it",
                         query.name);
        code = EXIT_LOST;
    } else if (status != DLOCK_OK) {
        code = complain_of(&query, status);
    }
    close_latch(&query);
    return code;
}
