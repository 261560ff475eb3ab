/*
 * flashsale-orders - copies orders into a database, each exactly once.
 *
 *     instances --HTTP--> follow --one transaction a page--> SQLite or PostgreSQL
 *
 * main.c reads the options. follow.c copies, check.c and compare.c compare, and export.c prints.
 * They ask the instances through pages.c (source.c), and the database through records.c
 * (database.c). leader.c lets one of several followers lead.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sysexits.h>

#include "server/orders/check.h"
#include "server/orders/export.h"
#include "server/orders/follow.h"
#include "server/orders/pages.h"
#include "server/orders/say.h"

#define TOKEN_MAX_LEN 256
#define LOCK_NAME     "fs:orders"

static const char help[] =
    "flashsale-orders - copies orders into a database, each exactly once\n"
    "\n"
    "usage: flashsale-orders follow --from URL[,URL...] --to DATABASE [OPTIONS]\n"
    "       flashsale-orders check --from URL[,URL...] --to DATABASE [OPTIONS]\n"
    "       flashsale-orders export --csv --to DATABASE [--item ITEM] [--sale SALE]\n"
    "\n"
    "`follow` copies what instances of flashsale sell, as long as it runs. It may be killed:\n"
    "the database says where it goes on. `check` compares the database with Redis, and prints\n"
    "each difference. `export` prints the orders that the database has.\n"
    "\n"
    "  --from URLS        the instances: http://127.0.0.1:7000,http://127.0.0.1:7001\n"
    "  --to DATABASE      sqlite:FILE or postgresql://[USER@]HOST[:PORT]/NAME\n"
    "  --token-file FILE  a file with the admin's token in its first line\n"
    "  --item ITEM        this item only\n"
    "  --sale SALE        export: this sale only\n"
    "  --csv              export: comma-separated values, with a line of names\n"
    "  --lock URL         follow: a Redis that elects one of several followers\n"
    "  --lock-name NAME   follow: the lock's name (default: " LOCK_NAME ")\n"
    "  --once             follow: ends when everything is copied\n"
    "  --metrics FILE     follow: writes Prometheus's text there, once a second\n"
    "  --version          prints the version\n"
    "  --help             prints this\n"
    "\n"
    "The environment may give options instead: FLASHSALE_ORDERS_FROM, FLASHSALE_ORDERS_TO,\n"
    "FLASHSALE_ORDERS_LOCK, FLASHSALE_ADMIN_TOKEN_FILE, and FLASHSALE_ADMIN_TOKEN, the token.\n"
    "PostgreSQL's own variables work, too: a password belongs in the file PGPASSFILE names.\n"
    "\n"
    "Exit codes:\n"
    "  0   done\n"
    "  1   check: there are differences\n"
    "  64  a mistake in the options\n"
    "  69  the database or the instances did not answer, or refused\n";

typedef struct settings {
    const char *from, *to, *token_file, *token, *item, *sale, *lock, *lock_name, *metrics;
    const char *csv, *once; /* NULL = not given */
} settings;

static volatile sig_atomic_t stop;

static void end_it(int signal)
{
    (void)signal;
    stop = 1;
}

static const char *from_environment(const char *name)
{
    const char *value = getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

/* Reads the options of `command`. False: one is wrong, and was reported. */
static bool read_options(const char *command, int argc, char **argv, settings *ret)
{
    static const struct option all[] = {{"from", required_argument, NULL, 'f'},
                                        {"to", required_argument, NULL, 't'},
                                        {"token-file", required_argument, NULL, 'T'},
                                        {"item", required_argument, NULL, 'i'},
                                        {"sale", required_argument, NULL, 's'},
                                        {"lock", required_argument, NULL, 'l'},
                                        {"lock-name", required_argument, NULL, 'n'},
                                        {"metrics", required_argument, NULL, 'm'},
                                        {"csv", no_argument, NULL, 'c'},
                                        {"once", no_argument, NULL, 'o'},
                                        {0}};
    const char **const to[] = {
        ['f'] = &ret->from, ['t'] = &ret->to,   ['T'] = &ret->token_file, ['i'] = &ret->item,
        ['s'] = &ret->sale, ['l'] = &ret->lock, ['n'] = &ret->lock_name,  ['m'] = &ret->metrics,
        ['c'] = &ret->csv,  ['o'] = &ret->once};
    const char *its = strcmp(command, "follow") == 0  ? "ftTilnmo"
                      : strcmp(command, "check") == 0 ? "ftTi"
                                                      : "tisc";
    int c, at;
    while ((c = getopt_long(argc, argv, "", all, &at)) != -1) {
        if (c != '?' && !strchr(its, c))
            say("%s has no option --%s", command, all[at].name);
        if (c == '?' || !strchr(its, c))
            return false;
        *to[c] = optarg ? optarg : "";
        if (optarg && optarg[0] == '\0')
            say("--%s needs a value", all[at].name);
        if (optarg && optarg[0] == '\0')
            return false;
    }
    if (optind < argc)
        say("what is '%s'?", argv[optind]);
    return optind == argc;
}

/* False: the file can not be read, or has no token. */
static bool read_token(const settings *set, char *ret, size_t room)
{
    snprintf(ret, room, "%s", set->token ? set->token : "");
    FILE *from = set->token_file ? fopen(set->token_file, "r") : NULL;
    bool read = !set->token_file || (from && fgets(ret, (int)room, from));
    ret[strcspn(ret, "\r\n")] = '\0';
    if (from)
        fclose(from);
    if (!read || (set->token_file && ret[0] == '\0'))
        say("--token-file %s can not be read, or its first line is empty", set->token_file);
    return read && (!set->token_file || ret[0] != '\0');
}

static int run_follow(const settings *set, source *from, database *db)
{
    char err[512];
    leader *lead = NULL;
    const follow_options options = {set->item, set->once != NULL, set->metrics, &stop};
    if (set->lock && !(lead = leader_new(set->lock, set->lock_name, err, sizeof(err)))) {
        say("--lock: %s", err);
        return EX_USAGE;
    }
    int code = follow(from, db, lead, &options);
    leader_free(lead);
    return code;
}

static int run(const char *command, const settings *set)
{
    char err[512], token[TOKEN_MAX_LEN + 1], item[NAME_MAX_LEN + 1];
    source *from = NULL;
    database *db = NULL;
    int code = EX_USAGE;
    bool exports = strcmp(command, "export") == 0, follows = strcmp(command, "follow") == 0;
    if (!set->to || (!exports && !set->from))
        say("%s needs --%s", command, set->to ? "from" : "to");
    else if (exports && !set->csv)
        say("export needs --csv: there is no other form");
    else if (set->item && !pages_copy_word(item, sizeof(item), set->item))
        say("--item: '%s' is no item's name", set->item);
    else if (!(db = database_new(set->to, follows, err, sizeof(err))))
        say("--to: %s", err);
    else if (exports)
        code = export_csv(db, set->item, set->sale);
    else if (!read_token(set, token, sizeof(token)))
        code = EX_USAGE;
    else if (!(from = source_new(set->from, token, err, sizeof(err))))
        say("%s", err);
    else
        code = follows ? run_follow(set, from, db) : check(from, db, set->item);
    source_free(from);
    database_free(db);
    return code;
}

int main(int argc, char **argv)
{
    settings set = {.from = from_environment("FLASHSALE_ORDERS_FROM"),
                    .to = from_environment("FLASHSALE_ORDERS_TO"),
                    .token_file = from_environment("FLASHSALE_ADMIN_TOKEN_FILE"),
                    .token = from_environment("FLASHSALE_ADMIN_TOKEN"),
                    .lock = from_environment("FLASHSALE_ORDERS_LOCK"),
                    .lock_name = LOCK_NAME};
    static char name[] = "flashsale-orders"; /* in what getopt says */
    const char *command = argc > 1 ? argv[1] : "";
    struct sigaction action = {.sa_handler = end_it};
    if (strcmp(command, "--help") == 0 || (argc > 2 && strcmp(argv[2], "--help") == 0)) {
        fputs(help, stdout);
        return 0;
    }
    if (strcmp(command, "--version") == 0) {
        puts("flashsale-orders " FLASHSALE_VERSION);
        return 0;
    }
    if (strcmp(command, "follow") != 0 && strcmp(command, "check") != 0 &&
        strcmp(command, "export") != 0) {
        say("the first word is follow, check or export; see --help");
        return EX_USAGE;
    }
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stderr, NULL, _IOLBF, 0);
    argv[1] = name;
    return read_options(command, argc - 1, argv + 1, &set) ? run(command, &set) : EX_USAGE;
}
