/*
 * The command line in three steps: read every option by its row in the table, fill in what was not
 * given (presets first), check what only several options together can get wrong.
 */
#include "loadtest/cli/options.h"

#include "loadtest/base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS_MIN  15000L /* a buyer's patience, unless the lock's wait is longer */
#define WAIT_MARGIN_MS  5000L  /* then the buyer waits this much longer than the lock */
#define COMPARE_WAIT_MS 30000L
#define COMPARE_RUNS    3
#define CLOSED_USERS    100
#define OPEN_USERS      1000 /* connections of an open model */
#define REQUESTS        5000
#define LIMIT_ANY       1000000000L /* more than any run reaches */
#define CONFIRM         0.7         /* shares of reserved orders */
#define CANCEL          0.1
#define NOT_GIVEN       (-1L)
#define RESERVING       "fenced,combined,atomic,batched" /* by the service's contract */

/* ---- reading --------------------------------------------------------------------------------- */

/* Reads "--name value", "--name=value" or "--name" at argv[*at]; moves *at to its last word. */
static bool parse_option(lt_parsing *parsing, char **argv, int *at)
{
    const char *name = argv[*at] + 2, *value = NULL;
    size_t length = strcspn(name, "=");
    const lt_option *option = option_find(name, length);
    if (!option || (!option_has_value(option) && name[length] == '='))
        return option_fail(parsing, "no such option: %s (see loadtest --help)", argv[*at]);
    if (option != option_find("html", strlen("html")))
        parsing->not_chart = argv[*at];
    if (option != option_find("fail-if", strlen("fail-if")))
        parsing->not_diff = argv[*at];
    if (name[length] == '=')
        value = name + length + 1;
    else if (option_has_value(option))
        value = argv[++*at];
    if (option_has_value(option) && !value)
        return option_fail(parsing, "--%.*s needs a value", (int)length, name);
    return option_read(option, parsing, value);
}

static bool parse_word(lt_parsing *parsing, const char *word, int position)
{
    lt_options *options = &parsing->options;
    if (strcmp(word, "-h") == 0)
        return parsing->help = true;
    if (position == 0 && strcmp(word, "run") == 0) {
        options->command = COMMAND_RUN;
        return true;
    }
    if (position == 0 && strcmp(word, "compare") == 0) {
        options->command = COMMAND_COMPARE;
        return true;
    }
    if (position == 0 && strcmp(word, "chart") == 0) {
        options->command = COMMAND_CHART;
        return true;
    }
    if (position == 0 && strcmp(word, "help") == 0)
        return parsing->help = true;
    if (options->command == COMMAND_COMPARE && (position == 1 || position == 2)) {
        options->diff[position - 1] = word;
        return true;
    }
    if (options->command == COMMAND_CHART && position == 1) {
        options->chart_path = word;
        return true;
    }
    return option_fail(parsing, "\"%s\": expected %s", word,
                       position == 0 ? "run, compare, chart, verify or --help" : "options");
}

static bool parse_words(lt_parsing *parsing, int argc, char **argv)
{
    int words = 0;
    for (int i = 1; i < argc && !parsing->help && !parsing->version; i++) {
        bool good = strncmp(argv[i], "--", 2) == 0 ? parse_option(parsing, argv, &i)
                                                   : parse_word(parsing, argv[i], words++);
        if (!good)
            return false;
    }
    if (words > 0 || parsing->help || parsing->version)
        return true;
    return option_fail(
        parsing, "the first word must be run, compare, chart or verify; loadtest --help explains");
}

/* ---- filling in ------------------------------------------------------------------------------ */

static long given_or(long given, long otherwise)
{
    return given == NOT_GIVEN ? otherwise : given;
}

/* A preset stands for options that were not given, so each of its figures can be changed. */
static void apply_preset(lt_parsing *parsing)
{
    bool reference = parsing->options.plan.preset == PRESET_REFERENCE;
    if (parsing->options.plan.preset == PRESET_NONE)
        return;
    parsing->stock = given_or(parsing->stock, reference ? 5000 : 1000);
    parsing->requests = given_or(parsing->requests, 5000);
    parsing->users = given_or(parsing->users, 100);
    if (parsing->think_ms < 0.0 && reference)
        parsing->think_ms = 10.0;
}

static void fill_in_load(lt_parsing *parsing)
{
    lt_plan *plan = &parsing->options.plan;
    long half = sysconf(_SC_NPROCESSORS_ONLN) / 2;
    plan->model = parsing->flash ? MODEL_FLASH : plan->rate > 0.0 ? MODEL_OPEN : MODEL_CLOSED;
    plan->users =
        (int)given_or(parsing->users, plan->model == MODEL_OPEN ? OPEN_USERS : CLOSED_USERS);
    bool limited = plan->duration > 0 || plan->until_sold_out;
    long requests = plan->model == MODEL_FLASH ? plan->users : limited ? 0 : REQUESTS;
    plan->requests = given_or(parsing->requests, requests);
    plan->stock = given_or(parsing->stock, 1000);
    plan->think = parsing->think_ms > 0.0 ? (mono_ns)(parsing->think_ms * (double)NS_PER_MS) : 0;
    plan->workers = (int)given_or(parsing->workers, half < 1 ? 1 : half > 64 ? 64 : half);
    if (plan->target_count > 0)
        return;
    for (int port = 7000; port <= 7002; port++)
        snprintf(plan->targets[plan->target_count++], PLAN_TARGET_MAX + 1, "http://127.0.0.1:%d",
                 port);
}

/* Fills in the options of reservations that were not given. A sale that offers them has a limit. */
static void fill_in_reservations(lt_parsing *parsing)
{
    lt_plan *plan = &parsing->options.plan;
    if (plan->reserve_s == 0)
        return;
    if (plan->confirm < 0)
        plan->confirm = plan->cancel < 0 ? CONFIRM : fmin(CONFIRM, 1 - plan->cancel);
    if (plan->cancel < 0)
        plan->cancel = fmin(CANCEL, 1 - plan->confirm);
    if (parsing->defaults.per_user_limit == SALE_NOT_GIVEN)
        parsing->defaults.per_user_limit = LIMIT_ANY;
}

static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    while (list && *list != '\0') {
        size_t item = strcspn(list, ",");
        if (item == length && memcmp(list, word, length) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return false;
}

static bool add_strategy(lt_parsing *parsing, const char *word)
{
    lt_plan *plan = &parsing->options.plan;
    if (plan->spec_count == PLAN_SALES_MAX)
        return option_fail(parsing, "too many strategies");
    lt_sale_spec *spec = &plan->specs[plan->spec_count++];
    if (!sale_spec_parse(word, &parsing->defaults, spec, parsing->err, parsing->err_len))
        return false;
    spec->expect_unsafe = strcmp(spec->strategy, "none") == 0 ||
                          list_has(parsing->expect_unsafe, spec->label) ||
                          list_has(parsing->expect_unsafe, spec->strategy);
    return true;
}

static bool fill_in_strategies(lt_parsing *parsing)
{
    lt_plan *plan = &parsing->options.plan;
    bool comparing = parsing->options.command == COMMAND_COMPARE;
    const char *list = !comparing            ? "combined"
                       : plan->reserve_s > 0 ? RESERVING
                                             : "none,reentrant,combined,atomic";
    if (parsing->strategies)
        list = parsing->strategies;
    if (comparing && parsing->defaults.wait_ms == SALE_NOT_GIVEN)
        parsing->defaults.wait_ms = COMPARE_WAIT_MS;
    plan->runs = (int)given_or(parsing->runs, comparing ? COMPARE_RUNS : 1);
    plan->needs_control = comparing && plan->preset != PRESET_NONE && plan->reserve_s == 0;
    char *copy = strdup(list), *rest = copy, *word;
    bool good = copy;
    while (good && (word = strsep(&rest, ",")))
        good = add_strategy(parsing, word);
    free(copy);
    return good;
}

/* A buyer must wait longer than the longest lock wait, or busy answers would look like timeouts.
 * A wait that was not given is -1, less than any. */
static void fill_in_timeout(lt_plan *plan)
{
    long longest = TIMEOUT_MS_MIN;
    for (int i = 0; i < plan->spec_count; i++)
        longest = number_larger(longest, plan->specs[i].wait_ms + WAIT_MARGIN_MS);
    if (plan->timeout_ms == 0)
        plan->timeout_ms = longest;
}

/* ---- checking -------------------------------------------------------------------------------- */

static bool check_reservations(lt_parsing *parsing)
{
    const lt_plan *plan = &parsing->options.plan;
    if (plan->reserve_s == 0)
        return (plan->confirm < 0 && plan->cancel < 0) ||
               option_fail(parsing, "--confirm and --cancel are for orders that --reserve-s has "
                                    "reserved");
    if (plan->confirm + plan->cancel > 1)
        return option_fail(parsing, "--confirm and --cancel are shares of the same orders: no more "
                                    "than 1 together");
    for (int i = 0; i < plan->spec_count; i++) {
        const lt_sale_spec *spec = &plan->specs[i];
        if (!list_has(RESERVING, spec->strategy))
            return option_fail(parsing, "--reserve-s: %s does not reserve; " RESERVING " do",
                               spec->strategy);
        if (spec->per_user_limit < 1)
            return option_fail(parsing, "--reserve-s needs a --per-user-limit of 1 or more, which "
                                        "a sale with reservations has");
    }
    return true;
}

static bool check(lt_parsing *parsing)
{
    const lt_options *options = &parsing->options;
    const lt_plan *plan = &options->plan;
    if (options->command == COMMAND_RUN && plan->spec_count != 1)
        return option_fail(parsing, "run takes one strategy; use compare for several");
    if (parsing->flash && plan->rate > 0.0)
        return option_fail(parsing, "--flash sends everything at once; it has no --rate");
    if (plan->poisson && plan->model != MODEL_OPEN)
        return option_fail(parsing, "--arrivals needs --rate");
    if (plan->run_length > 0 &&
        (options->command != COMMAND_COMPARE || plan->model != MODEL_CLOSED || plan->duration > 0 ||
         plan->until_sold_out))
        return option_fail(parsing, "--run-length is for compare, with users of a closed model who "
                                    "have a number of requests");
    for (int i = 0; i < options->threshold_count; i++) {
        if (options->thresholds[i].relative)
            return option_fail(parsing, "--fail-if %s is a change: it is for compare BEFORE AFTER",
                               options->thresholds[i].text);
    }
    if (plan->think > 0 && plan->model != MODEL_CLOSED)
        return option_fail(parsing, "only users of a closed model think: no --think-ms here");
    return check_reservations(parsing);
}

static bool check_chart(lt_parsing *parsing)
{
    const lt_options *options = &parsing->options;
    if (!options->chart_path || !options->html_path)
        return option_fail(parsing, "chart takes a bench file and --html FILE");
    if (parsing->not_chart)
        return option_fail(parsing, "chart runs nothing: no %s here", parsing->not_chart);
    return true;
}

static bool check_diff(lt_parsing *parsing)
{
    if (!parsing->options.diff[1])
        return option_fail(parsing,
                           "compare takes two result files, or strategies by --strategies");
    if (parsing->not_diff)
        return option_fail(parsing, "compare of two files runs nothing: no %s here",
                           parsing->not_diff);
    return true;
}

static bool finish(lt_parsing *parsing)
{
    lt_options *options = &parsing->options;
    if (parsing->help || parsing->version) {
        options->command = parsing->help ? COMMAND_HELP : COMMAND_VERSION;
        return true;
    }
    if (options->diff[0]) {
        options->command = COMMAND_DIFF;
        return check_diff(parsing);
    }
    if (options->command == COMMAND_CHART)
        return check_chart(parsing);
    apply_preset(parsing);
    fill_in_load(parsing);
    fill_in_reservations(parsing);
    if (!fill_in_strategies(parsing) || !check(parsing))
        return false;
    fill_in_timeout(&options->plan);
    return true;
}

bool options_parse(int argc, char **argv, lt_options *ret, char *err, size_t err_len)
{
    lt_parsing parsing = {
        .options = {.plan = {.item = "P0001",
                             .admin_token = getenv("FLASHSALE_ADMIN_TOKEN"),
                             .quantity = 1,
                             .confirm = -1,
                             .cancel = -1,
                             .seed = 1}},
        .defaults = sale_spec_none(),
        .stock = NOT_GIVEN,
        .requests = NOT_GIVEN,
        .users = NOT_GIVEN,
        .workers = NOT_GIVEN,
        .runs = NOT_GIVEN,
        .think_ms = -1.0,
        .err = err,
        .err_len = err_len,
    };
    if (!parse_words(&parsing, argc, argv) || !finish(&parsing))
        return false;
    *ret = parsing.options;
    return true;
}
