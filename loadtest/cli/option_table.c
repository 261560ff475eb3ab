/*
 * An option is a row: its name, the kind of its value, and the member of lt_parsing that takes it.
 * Only the few that need more have a function.
 */
#include "loadtest/cli/option_table.h"

#include "loadtest/base/number.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MS_MAX      86400000L
#define COUNT_MAX   1000000000L
#define WORKERS_MAX 64

typedef enum lt_option_kind {
    KIND_FLAG,     /* no value; bool */
    KIND_TEXT,     /* const char * */
    KIND_LONG,     /* long within low..high */
    KIND_DOUBLE,   /* double within low..high */
    KIND_DURATION, /* mono_ns */
    KIND_SPECIAL   /* a function reads it */
} lt_option_kind;

struct lt_option {
    const char *name;
    lt_option_kind kind;
    size_t offset; /* into lt_parsing */
    double low, high;
    bool (*read)(lt_parsing *parsing, const char *value);
};

bool option_fail(lt_parsing *parsing, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(parsing->err, parsing->err_len, format, args);
    va_end(args);
    return false;
}

/* ---- options that need a function ------------------------------------------------------------ */

static bool read_target(lt_parsing *parsing, const char *value)
{
    lt_plan *plan = &parsing->options.plan;
    size_t scheme = strncmp(value, "http://", 7) == 0    ? 7
                    : strncmp(value, "https://", 8) == 0 ? 8
                                                         : 0;
    size_t host = strcspn(value + scheme, "/?# ");
    const char *rest = value + scheme + host;
    if (scheme == 0 || host == 0)
        return option_fail(parsing, "--target needs a URL such as http://127.0.0.1:7000");
    if (scheme + host > PLAN_TARGET_MAX || (*rest != '\0' && strcmp(rest, "/") != 0))
        return option_fail(parsing, "--target takes scheme, host and port only");
    if (plan->target_count == PLAN_TARGETS_MAX)
        return option_fail(parsing, "too many targets");
    snprintf(plan->targets[plan->target_count++], PLAN_TARGET_MAX + 1, "%.*s", (int)(scheme + host),
             value);
    return true;
}

static bool read_redis_info(lt_parsing *parsing, const char *value)
{
    lt_plan *plan = &parsing->options.plan;
    if (plan->redis_count == PLAN_TARGETS_MAX)
        return option_fail(parsing, "too many --redis-info");
    plan->redis_info[plan->redis_count++] = value;
    return value[0] != '\0';
}

static bool read_item(lt_parsing *parsing, const char *value)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                  "0123456789_-";
    size_t length = strlen(value);
    if (length < 1 || length > 64 || strspn(value, allowed) != length)
        return option_fail(parsing, "--item needs 1 to 64 letters, digits, _ or -");
    parsing->options.plan.item = value;
    return true;
}

static bool read_arrivals(lt_parsing *parsing, const char *value)
{
    parsing->options.plan.poisson = strcmp(value, "poisson") == 0;
    return parsing->options.plan.poisson || strcmp(value, "constant") == 0 ||
           option_fail(parsing, "--arrivals is constant or poisson");
}

static bool read_durability(lt_parsing *parsing, const char *value)
{
    size_t room = sizeof(parsing->defaults.durability);
    int length = snprintf(parsing->defaults.durability, room, "%s", value);
    return length > 0 && (size_t)length < room;
}

static bool read_preset(lt_parsing *parsing, const char *value)
{
    for (int i = PRESET_CONTENDED; i <= PRESET_REFERENCE; i++) {
        if (strcmp(value, preset_name((lt_preset)i)) == 0) {
            parsing->options.plan.preset = (lt_preset)i;
            return true;
        }
    }
    return option_fail(parsing, "--preset is contended or reference");
}

static bool read_fail_if(lt_parsing *parsing, const char *value)
{
    lt_options *options = &parsing->options;
    if (options->threshold_count == THRESHOLDS_MAX)
        return option_fail(parsing, "too many --fail-if");
    return threshold_parse(value, &options->thresholds[options->threshold_count++], parsing->err,
                           parsing->err_len);
}

/* ---- the table ------------------------------------------------------------------------------- */

#define AT(member)   offsetof(lt_parsing, member)
#define PLAN(member) offsetof(lt_parsing, options.plan.member)
#define SPEC(member) offsetof(lt_parsing, defaults.member)

static const lt_option rows[] = {
    {"target", KIND_SPECIAL, 0, 0, 0, read_target},
    {"strategy", KIND_TEXT, AT(strategies), 0, 0, NULL},
    {"strategies", KIND_TEXT, AT(strategies), 0, 0, NULL},
    {"preset", KIND_SPECIAL, 0, 0, 0, read_preset},
    {"runs", KIND_LONG, AT(runs), 1, 99, NULL},
    {"run-length", KIND_DURATION, PLAN(run_length), 0, 0, NULL},
    /* the sale */
    {"item", KIND_SPECIAL, 0, 0, 0, read_item},
    {"stock", KIND_LONG, AT(stock), 0, COUNT_MAX, NULL},
    {"quantity", KIND_LONG, PLAN(quantity), 1, 1000000, NULL},
    {"reserve-s", KIND_LONG, PLAN(reserve_s), 1, 43200, NULL},
    {"confirm", KIND_DOUBLE, PLAN(confirm), 0, 1, NULL},
    {"cancel", KIND_DOUBLE, PLAN(cancel), 0, 1, NULL},
    {"lease-ms", KIND_LONG, SPEC(lease_ms), 0, MS_MAX, NULL},
    {"wait-ms", KIND_LONG, SPEC(wait_ms), 0, MS_MAX, NULL},
    {"hold-ms", KIND_LONG, SPEC(hold_ms), 0, MS_MAX, NULL},
    {"per-user-limit", KIND_LONG, SPEC(per_user_limit), 0, COUNT_MAX, NULL},
    {"segments", KIND_LONG, SPEC(segments), 1, 1024, NULL},
    {"durability", KIND_SPECIAL, 0, 0, 0, read_durability},
    {"admin-token", KIND_TEXT, PLAN(admin_token), 0, 0, NULL},
    /* the load */
    {"users", KIND_LONG, AT(users), 1, PLAN_USERS_MAX, NULL},
    {"think-ms", KIND_DOUBLE, AT(think_ms), 0, 3600000, NULL},
    {"rate", KIND_DOUBLE, PLAN(rate), 0.001, 1e7, NULL},
    {"arrivals", KIND_SPECIAL, 0, 0, 0, read_arrivals},
    {"seed", KIND_LONG, PLAN(seed), 0, 0x1p62, NULL},
    {"flash", KIND_FLAG, AT(flash), 0, 0, NULL},
    {"requests", KIND_LONG, AT(requests), 1, COUNT_MAX, NULL},
    {"duration", KIND_DURATION, PLAN(duration), 0, 0, NULL},
    {"until-sold-out", KIND_FLAG, PLAN(until_sold_out), 0, 0, NULL},
    {"rotate", KIND_FLAG, PLAN(rotate), 0, 0, NULL},
    {"same-names", KIND_FLAG, PLAN(same_names), 0, 0, NULL},
    {"timeout-ms", KIND_LONG, PLAN(timeout_ms), 1, 3600000, NULL},
    {"retry", KIND_LONG, PLAN(retries), 0, 100, NULL},
    {"replay", KIND_DOUBLE, PLAN(replay), 0, 1, NULL},
    {"expect-failover", KIND_FLAG, PLAN(expect_failover), 0, 0, NULL},
    {"workers", KIND_LONG, AT(workers), 1, WORKERS_MAX, NULL},
    /* the reports */
    {"json", KIND_TEXT, AT(options.json_path), 0, 0, NULL},
    {"html", KIND_TEXT, AT(options.html_path), 0, 0, NULL},
    {"hgrm", KIND_TEXT, AT(options.hgrm_path), 0, 0, NULL},
    {"log", KIND_TEXT, AT(options.log_path), 0, 0, NULL},
    {"history", KIND_TEXT, AT(options.history_path), 0, 0, NULL},
    {"redis-info", KIND_SPECIAL, 0, 0, 0, read_redis_info},
    {"accept-counts", KIND_FLAG, PLAN(accept_counts), 0, 0, NULL},
    {"expect-unsafe", KIND_TEXT, AT(expect_unsafe), 0, 0, NULL},
    {"fail-if", KIND_SPECIAL, 0, 0, 0, read_fail_if},
    {"details", KIND_FLAG, AT(options.details), 0, 0, NULL},
    {"quiet", KIND_FLAG, AT(options.quiet), 0, 0, NULL},
    {"help", KIND_FLAG, AT(help), 0, 0, NULL},
    {"version", KIND_FLAG, AT(version), 0, 0, NULL},
};

const lt_option *option_find(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    }
    return NULL;
}

bool option_has_value(const lt_option *option)
{
    return option->kind != KIND_FLAG;
}

static bool read_value(const lt_option *option, lt_parsing *parsing, const char *value)
{
    void *field = (char *)parsing + option->offset;
    switch (option->kind) {
    case KIND_FLAG:
        *(bool *)field = true;
        return true;
    case KIND_TEXT:
        *(const char **)field = value;
        return value[0] != '\0';
    case KIND_LONG:
        return number_parse_long(value, (long)option->low, (long)option->high, field);
    case KIND_DOUBLE:
        return number_parse_double(value, option->low, option->high, field);
    case KIND_DURATION:
        return number_parse_duration(value, field);
    default:
        return option->read(parsing, value);
    }
}

bool option_read(const lt_option *option, lt_parsing *parsing, const char *value)
{
    parsing->err[0] = '\0';
    if (read_value(option, parsing, value))
        return true;
    if (parsing->err[0] != '\0')
        return false;
    if (option->kind == KIND_LONG || option->kind == KIND_DOUBLE)
        return option_fail(parsing, "--%s: \"%s\" is not a number from %g to %.10g", option->name,
                           value, option->low, option->high);
    return option_fail(parsing, "--%s can not be \"%s\"", option->name, value);
}
