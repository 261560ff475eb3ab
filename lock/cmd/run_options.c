/* The options that run, semaphore and elect share, and their words. The names of those that
 * flock(1) has too are flock's. */
#include "cmd/run_options.h"
#include "cmd/command.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define YEAR_S       31536000
#define LEASE_MIN_MS 100
#define LEASE_MAX_MS 86400000
#define LEASE_MS     10000
#define GRACE_PART   5 /* of the lease, unless given; at most a third of it */
#define GRACE_MAX_MS LEASE_MAX_MS
#define PERMITS_MAX  1000000000

static bool take_option(run_options *ret, int c)
{
    switch (c) {
    case 'r':
        ret->url = optarg;
        return true;
    case 's':
        ret->kind = DLOCK_READ;
        return true;
    case 'x':
        ret->kind = DLOCK_WRITE;
        return true;
    case 'w':
        return command_seconds("wait", optarg, &ret->wait_ms);
    case 'm':
        return command_number("wait-ms", optarg, 0, (int64_t)YEAR_S * 1000, &ret->wait_ms);
    case 'n':
        ret->wait_ms = 0;
        return true;
    case 'E':
        return command_number("conflict-exit-code", optarg, 0, 255, &ret->busy_code);
    case 'l':
        return command_number("lease-ms", optarg, LEASE_MIN_MS, LEASE_MAX_MS, &ret->lease_ms);
    case 'g':
        return command_number("grace-ms", optarg, 0, GRACE_MAX_MS, &ret->grace_ms);
    case 't':
        return command_number("take", optarg, 1, PERMITS_MAX, &ret->take);
    case 'z':
        ret->resize = true;
        return true;
    case 'a':
        return command_duration("at-least", optarg, LEASE_MAX_MS, &ret->at_least_ms);
    case 'o':
        return command_duration("once-per", optarg, (int64_t)YEAR_S * 1000, &ret->once_per_ms);
    default:
        return false;
    }
}

/* ---- options --------------------------------------------------------------------------------- */

#define LEASE_OPTIONS                                                                              \
    {"redis", required_argument, NULL, 'r'}, {"lease-ms", required_argument, NULL, 'l'},           \
        {"grace-ms", required_argument, NULL, 'g'}, COMMAND_HELP
#define COMMON_OPTIONS                                                                             \
    {"wait", required_argument, NULL, 'w'}, {"wait-ms", required_argument, NULL, 'm'},             \
        {"nonblock", no_argument, NULL, 'n'},                                                      \
        {"conflict-exit-code", required_argument, NULL, 'E'}, LEASE_OPTIONS

static const struct option of_run[] = {{"shared", no_argument, NULL, 's'},
                                       {"exclusive", no_argument, NULL, 'x'},
                                       {"at-least", required_argument, NULL, 'a'},
                                       {"once-per", required_argument, NULL, 'o'},
                                       COMMON_OPTIONS,
                                       {NULL, 0, NULL, 0}};
static const struct option of_semaphore[] = {{"take", required_argument, NULL, 't'},
                                             {"resize", no_argument, NULL, 'z'},
                                             COMMON_OPTIONS,
                                             {NULL, 0, NULL, 0}};

static const struct option of_elect[] = {LEASE_OPTIONS, {NULL, 0, NULL, 0}};

/* Of those that exclude each other the letter is the same. */
static unsigned char group_of(int c)
{
    return (unsigned char)(c == 'm' || c == 'n' ? 'w' : c == 'x' ? 's' : c);
}

/* Notes that the option was given. Complains if that was one too many. */
static bool note_option(const run_form *form, bool *seen, int c)
{
    unsigned char group = group_of(c);
    const char *names = group == 'w'   ? "only one of --wait, --wait-ms and --nonblock may be given"
                        : group == 's' ? "only one of --shared and --exclusive may be given"
                                       : NULL;
    if (seen[group])
        command_complain("%s: %s", form->name, names ? names : "an option is given twice");
    bool first = !seen[group];
    seen[group] = true;
    return first;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* N, the number of permits. */
static bool take_permits(run_options *ret, const char *word)
{
    int64_t least = ret->command ? 1 : 0;
    if (!command_is_number(word, least, PERMITS_MAX, &ret->permits)) {
        command_complain("semaphore: N is a whole number from %d to %d, not \"%s\"", (int)least,
                         PERMITS_MAX, word);
        return false;
    }
    if (ret->command && ret->take > ret->permits) {
        command_complain("semaphore: --take %lld is more than all permits, %lld",
                         (long long)ret->take, (long long)ret->permits);
        return false;
    }
    return true;
}

/* NAME, and the command: behind "--", at words[dashes], or else right behind NAME. Before NAME
 * stands N, if it is a semaphore, which can do without a command. */
static bool take_words(run_options *ret, const run_form *form, char **words, int len, int dashes)
{
    bool semaphore = form->kind == DLOCK_SEMAPHORE;
    int name = semaphore ? 1 : 0, command = dashes < len ? dashes + 1 : name + 1;
    bool alone = ret->resize && len == name + 1 && dashes == len;
    if (!alone && (command >= len || (dashes < len && dashes != name + 1))) {
        command_complain("%s: what is needed is %sNAME -- COMMAND", form->name,
                         semaphore ? "N " : "");
        return false;
    }
    ret->name = words[name];
    ret->command = alone ? NULL : words + command;
    return !semaphore || take_permits(ret, words[0]);
}

/* Without a command there is nothing to wait for. */
static bool may_be_alone(const run_options *ret, const bool *seen)
{
    for (const char *letter = "wElgt"; !ret->command && *letter; letter++) {
        if (seen[(unsigned char)*letter]) {
            command_complain("semaphore: without a COMMAND there is nothing but --resize and "
                             "--redis");
            return false;
        }
    }
    return true;
}

/* Only who is alone has a name to keep, and can be asked about it in one script with the check that
 * it is the holder. */
static bool may_be_spaced(const run_options *ret)
{
    if (ret->kind != DLOCK_READ || (!ret->at_least_ms && !ret->once_per_ms))
        return true;
    command_complain("run: --shared has the lock together with others: it takes neither "
                     "--at-least nor --once-per");
    return false;
}

/* Options may stand behind NAME as long as "--" tells them from the command's own. */
static bool read_words(run_options *ret, int argc, char **argv, const run_form *form,
                       bool *help_wanted)
{
    bool semaphore = form->kind == DLOCK_SEMAPHORE, elect = form->kind == DLOCK_FAIR;
    bool seen[UCHAR_MAX + 1] = {false};
    int dashes = 1;
    while (dashes < argc && strcmp(argv[dashes], "--") != 0)
        dashes++;
    const char *letters = elect ? "+h" : semaphore ? "+w:nE:h" : "+sxw:nE:h";
    if (dashes < argc)
        letters++;
    const struct option *options = elect ? of_elect : semaphore ? of_semaphore : of_run;
    for (int c; (c = command_option(dashes, argv, letters, options)) != -1;) {
        *help_wanted = c == 'h';
        if (*help_wanted || !take_option(ret, c))
            return *help_wanted;
        if (!note_option(form, seen, c))
            return false;
    }
    return take_words(ret, form, argv + optind, argc - optind, dashes - optind) &&
           may_be_alone(ret, seen) && may_be_spaced(ret);
}

int run_options_read(run_options *ret, int argc, char **argv, const run_form *form)
{
    bool help_wanted = false;
    *ret = (run_options){.kind = form->kind,
                         .wait_ms = DLOCK_FOREVER,
                         .lease_ms = LEASE_MS,
                         .grace_ms = -1,
                         .busy_code = EXIT_NOT_OBTAINED,
                         .take = form->kind == DLOCK_SEMAPHORE ? 1 : 0};
    if (!read_words(ret, argc, argv, form, &help_wanted))
        return command_usage(form->name);
    if (help_wanted) {
        fputs(form->help, stdout);
        return 0;
    }
    if (ret->grace_ms < 0)
        ret->grace_ms = ret->lease_ms / GRACE_PART;
    if (ret->grace_ms > ret->lease_ms / 3)
        ret->grace_ms = ret->lease_ms / 3;
    return -1;
}
