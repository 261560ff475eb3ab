/*
 * options.c - one table for the command line, the environment and --help.
 *
 * Options of the sale have the names and limits of POST /sales; sale_request.c has them.
 */
#include "server/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/authority.h"
#include "server/strategies/registry.h"

#define PREFIX       "FLASHSALE_"
#define HOST_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*"

typedef struct option_spec {
    const char *name;    /* without the dashes */
    const char *value;   /* what it takes, as --help names it: a form, or a unit */
    size_t offset, size; /* a text of `size` bytes, or a number when `size` is 0 */
    int64_t least, most;
    const char *help;
    const char *preset, *otherwise; /* its default; or NULL, and what not to say it means */
} option_spec;

#define TEXT(field)             offsetof(fs_options, field), sizeof(((fs_options *)0)->field), 0, 0
#define INT(field, least, most) offsetof(fs_options, field), 0, least, most
#define SALE_INT(member)        offsetof(fs_options, sale.member), 0, 0, 0
#define SET(preset)             preset, NULL
#define SHOW(otherwise)         NULL, otherwise
#define SALE_FIRST              offsetof(fs_options, sale)
#define SALE_END                (SALE_FIRST + sizeof(sale_request))

static const option_spec specs[] = {
    {"listen", "HOST:PORT", TEXT(listen), "address to serve; port 0 takes a free one and prints it",
     SET("127.0.0.1:7000")},
    {"redis", "URL", TEXT(redis),
     "redis://[USER:PASSWORD@]HOST:PORT[/DB], unix://[USER:PASSWORD@]/PATH[?db=N],\n"
     "redis+sentinel://HOST:PORT,.../MASTER or redis+cluster://HOST:PORT,...;\n"
     "rediss://, rediss+sentinel:// and rediss+cluster:// with TLS",
     SET("redis://127.0.0.1:6379")},
    {"redlock", "URL,URL,...", TEXT(redlock),
     "independent servers of strategy redlock, 16 at most:\n"
     "3 tolerate the loss of one, 5 of two",
     SHOW("--redis alone")},
    {"name", "NAME", TEXT(name), "of this instance, stored in its orders",
     SHOW("host name and port")},
    {"threads", "COUNT", INT(threads, 4, 16384),
     "requests answered at once, and connections kept open", SET("512")},
    {"drain-delay", "SECONDS", INT(drain_delay_s, 0, 600), "to sell on after SIGTERM", SET("2")},
    {"admin-token-file", "FILE", TEXT(admin_token_file),
     "with the admin's token; else " PREFIX "ADMIN_TOKEN holds it",
     SHOW("none: on loopback every client is the admin, elsewhere none")},
    {"require-token", "yes|no", TEXT(require_token),
     "without a token there is no admin, not even on loopback", SET("no")},
    {"buyer-key-file", "FILE", TEXT(buyer_key_file),
     "with the key, 32 to 256 characters, that signs the\n"
     "Buyer-Token which each buy then needs",
     SHOW("none: a buy's user is taken as given")},
    {"max-quantity", "COUNT", INT(max_quantity, 1, 1000), "units that one buy may ask for",
     SET("1000")},
    {"rate-user", "COUNT", INT(rate_user, 0, 1000000), "tries to buy a second and user, 0 = any",
     SET("0")},
    {"rate-address", "COUNT", INT(rate_address, 0, 1000000),
     "tries to buy a second and address, 0 = any", SET("0")},
    {"rate-burst", "COUNT", INT(rate_burst, 1, 1000000), "tries at once within those rates",
     SET("10")},
    {"rate-question", "COUNT", INT(rate_question, 0, 1000000),
     "public questions a second and address, 0 = any", SET("1000")},
    {"demo", "yes|no", TEXT(demo),
     "lets the admin stop the holder of a lock for 15 s: POST /locks/stop", SET("no")},
    {"allow-eviction", "yes|no", TEXT(allow_eviction),
     "sells even if Redis's maxmemory-policy may evict\n"
     "a sale's keys: the sale may oversell",
     SET("no")},
    {"item", "ITEM", TEXT(sale.item), "starts a sale if the item has none, else joins it",
     SHOW("no sale; POST /sales starts one")},
    {"stock", "UNITS", SALE_INT(stock), "for sale", SHOW("none: --item needs it")},
    {"strategy", "NAME", TEXT(sale.strategy), "how to sell, one of --list-strategies",
     SHOW("combined")},
    {"per-user-limit", "UNITS", SALE_INT(per_user_limit), "a user may have, 0 = any", SHOW("0")},
    {"reserve-max-s", "SECONDS", SALE_INT(reserve_max_s),
     "for which a buyer may reserve, 0 = none; needs\n--per-user-limit", SHOW("0")},
    {"lease-ms", "MS", SALE_INT(lease_ms), "lease of the sale's lock",
     SHOW("the strategy's; of combined 3000")},
    {"wait-ms", "MS", SALE_INT(wait_ms), "how long a buyer waits for the lock",
     SHOW("the strategy's; of combined 5000")},
    {"hold-ms", "MS", SALE_INT(hold_ms), "how long the critical section lasts on purpose",
     SHOW("0")},
    {"durability", "memory|replicated|disk", TEXT(sale.durability),
     "where an order is kept before its buyer is told: in Redis's\n"
     "memory, also on its replicas, or on its disk",
     SHOW("memory")},
    {"min-replicas", "COUNT", SALE_INT(min_replicas),
     "with durability replicated: sells while so many are online", SHOW("1")},
    {"segments", "COUNT", SALE_INT(segments), "parts of the stock with strategy sharded",
     SHOW("4")},
};
#define SPECS (sizeof(specs) / sizeof(specs[0]))

static void find_limits(const option_spec *spec, int64_t *ret_least, int64_t *ret_most)
{
    char member[64];
    snprintf(member, sizeof(member), "%s", spec->name);
    for (char *c = member; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
    *ret_least = spec->least;
    *ret_most = spec->most;
    sale_request_limits(member, ret_least, ret_most);
}

/* ---- --help ---------------------------------------------------------------------------------- */

#define HELP_COLUMN 30

/* "lease-ms" -> "FLASHSALE_LEASE_MS" */
static void env_name(const char *name, char *ret, size_t ret_len)
{
    snprintf(ret, ret_len, PREFIX "%s", name);
    for (char *c = ret; *c != '\0'; c++)
        *c = *c == '-' ? '_' : (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c);
}

static void print_option(const option_spec *spec)
{
    int left = printf("  --%s %s", spec->name, spec->value);
    if (left >= HELP_COLUMN)
        left = printf("\n") - 1;
    for (const char *line = spec->help, *end; line; line = *end == '\0' ? NULL : end + 1) {
        end = line + strcspn(line, "\n");
        printf("%*s%.*s\n", HELP_COLUMN - left, "", (int)(end - line), line);
        left = 0;
    }
    printf("%*s(", HELP_COLUMN, "");
    if (spec->size == 0) {
        int64_t least, most;
        find_limits(spec, &least, &most);
        printf("%lld to %lld; ", (long long)least, (long long)most);
    }
    printf("default: %s)\n", spec->preset ? spec->preset : spec->otherwise);
}

static void print_help(void)
{
    printf("flashsale - sells limited stock from Redis over HTTP\n\n"
           "usage: flashsale [--OPTION VALUE] ...\n\n"
           "Every option is also read from the environment, --lease-ms from " PREFIX "LEASE_MS\n"
           "and so on; the command line wins.\n\n");
    for (size_t i = 0; i < SPECS; i++) {
        if (specs[i].offset == SALE_FIRST)
            printf("\nThe sale, as POST /sales names it too:\n");
        print_option(&specs[i]);
    }
    printf("\n  --list-strategies           the strategies, and the weakness of each\n"
           "  --version                   of this program\n"
           "  -h, --help                  this\n\n"
           "Exit codes:\n"
           "  0   stopped by SIGTERM or SIGINT, after draining\n"
           "  1   could not start: the address is taken, Redis did not answer, or the sale was\n"
           "      refused\n"
           "  64  a mistake in options or environment\n\n"
           "Example, 1000 units for sale, and one of them bought:\n"
           "  flashsale --listen 127.0.0.1:7000 --item P0001 --stock 1000\n"
           "  curl -X POST -H 'Idempotency-Key: cart-1' \\\n"
           "      'http://127.0.0.1:7000/buy?item=P0001&user=u1'\n");
}

static void print_strategies(void)
{
    for (const fs_strategy *const *s = strategy_list(); *s; s++)
        printf("%-10s %s\n           source: %s; weakness: %s\n", (*s)->name, (*s)->summary,
               (*s)->source, (*s)->weakness);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The word without the passwords in it; the caller frees it. */
static char *to_be_shown(const char *word, size_t len)
{
    char *shown = strndup(word, len);
    if (shown)
        dlock_redis_hide(shown);
    return shown;
}

static bool bad(const char *from, const char *value, const char *accepted)
{
    char *shown = to_be_shown(value, strlen(value));
    fprintf(stderr, "flashsale: %s '%.100s': must be %s\n", from, shown ? shown : "", accepted);
    free(shown);
    return false;
}

static bool set_number(const option_spec *spec, const char *from, const char *value, int64_t *ret)
{
    char accepted[80], *end;
    int64_t least, most;
    find_limits(spec, &least, &most);
    snprintf(accepted, sizeof(accepted), "a number from %lld to %lld", (long long)least,
             (long long)most);
    long long number = strtoll(value, &end, 10);
    if (value[0] < '0' || value[0] > '9' || *end != '\0' || strlen(value) > 18 || number < least ||
        number > most)
        return bad(from, value, accepted);
    *ret = number;
    return true;
}

/* A secret that was to be given but is empty must not pass for "none". */
static bool is_not_empty(const char *from, const char *value, const char *accepted)
{
    return value[0] != '\0' || bad(from, value, accepted);
}

/* Sets one option; `from` is its name as the user wrote it. */
static bool set(fs_options *options, const option_spec *spec, const char *from, const char *value)
{
    char *target = (char *)options + spec->offset;
    if (spec->size == 0)
        return set_number(spec, from, value, (int64_t *)target);
    if (strlen(value) >= spec->size) { /* not shown: it may hold a password */
        fprintf(stderr, "flashsale: %s: must be at most %zu characters\n", from, spec->size - 1);
        return false;
    }
    memcpy(target, value, strlen(value) + 1);
    return (target != options->admin_token_file && target != options->buyer_key_file) ||
           is_not_empty(from, value, "the name of a file, or not given");
}

static void set_defaults(fs_options *options)
{
    memset(options, 0, sizeof(*options));
    sale_request_init(&options->sale);
    for (size_t i = 0; i < SPECS; i++)
        if (specs[i].preset)
            set(options, &specs[i], specs[i].name, specs[i].preset);
}

static bool read_env(fs_options *options)
{
    char name[64];
    for (size_t i = 0; i < SPECS; i++) {
        env_name(specs[i].name, name, sizeof(name));
        const char *value = getenv(name);
        if (value && !set(options, &specs[i], name, value))
            return false;
    }
    const char *token = getenv(PREFIX "ADMIN_TOKEN");
    if (!token)
        return true;
    snprintf(options->admin_token, sizeof(options->admin_token), "%s", token);
    return is_not_empty(PREFIX "ADMIN_TOKEN", token, "a token, or not set");
}

static const option_spec *find(const char *arg, size_t len)
{
    for (size_t i = 0; i < SPECS; i++)
        if (strlen(specs[i].name) == len && strncmp(specs[i].name, arg, len) == 0)
            return &specs[i];
    return NULL;
}

/* "--name value" or "--name=value". */
static bool read_args(fs_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        char from[64];
        size_t len = strcspn(argv[i], "=");
        const option_spec *spec =
            strncmp(argv[i], "--", 2) == 0 ? find(argv[i] + 2, len - 2) : NULL;
        if (!spec) {
            char *shown = to_be_shown(argv[i], len);
            fprintf(stderr, "flashsale: unknown option '%s'; see --help\n", shown ? shown : "");
            free(shown);
            return false;
        }
        snprintf(from, sizeof(from), "--%s", spec->name);
        const char *value = argv[i][len] == '=' ? argv[i] + len + 1 : argv[++i];
        if (!value) {
            fprintf(stderr, "flashsale: %s needs a value: %s\n", from, spec->value);
            return false;
        }
        if (!set(options, spec, from, value))
            return false;
    }
    return true;
}

/* One address: civetweb also takes lists, and letters behind a port. */
static bool is_address(const char *listen)
{
    bool bracket = listen[0] == '[';
    size_t host = strspn(listen + bracket, bracket ? "0123456789abcdefABCDEF:." : HOST_LETTERS);
    size_t len = bracket ? host + 2 : host;
    if (host == 0 || (bracket && listen[host + 1] != ']') || listen[len] != ':')
        return false;
    const char *port = listen + len + 1;
    size_t digits = strspn(port, "0123456789");
    return digits > 0 && digits <= 5 && port[digits] == '\0' && strtol(port, NULL, 10) <= 65535;
}

/* Terms without an item would start no sale, unnoticed. */
static bool has_no_terms(const fs_options *options)
{
    for (size_t i = 0; i < SPECS; i++) {
        const char *at = (const char *)options + specs[i].offset;
        bool said = specs[i].size > 0 ? *at != '\0' : *(const int64_t *)at >= 0;
        if (specs[i].offset < SALE_FIRST || specs[i].offset >= SALE_END || !said)
            continue;
        fprintf(stderr, "flashsale: --%s needs --item: without an item there is no sale\n",
                specs[i].name);
        return false;
    }
    return true;
}

static bool is_yes_or_no(const char *from, const char *value)
{
    return strcmp(value, "yes") == 0 || strcmp(value, "no") == 0 || bad(from, value, "yes or no");
}

/* Checks values against each other. */
static bool check(fs_options *options)
{
    char err[512];
    sale_terms terms;
    if (!is_address(options->listen))
        return bad("--listen", options->listen, "one HOST:PORT with a port from 0 to 65535");
    if (options->name[0] != '\0' && !ident_ok(options->name, strlen(options->name)))
        return bad("--name", options->name, "1 to 64 of [A-Za-z0-9_-]");
    if (!is_yes_or_no("--require-token", options->require_token) ||
        !is_yes_or_no("--demo", options->demo))
        return false;
    if (options->redis[0] == '\0')
        return bad("--redis", "", "a URL");
    if (options->sale.item[0] == '\0')
        return has_no_terms(options);
    if (options->sale.stock < 0) {
        fprintf(stderr, "flashsale: --item needs --stock: units for sale\n");
        return false;
    }
    if (sale_request_finish(&options->sale, &terms, err, sizeof(err)) &&
        sale_request_reserves(&terms, err, sizeof(err)))
        return true;
    fprintf(stderr, "flashsale: --item and its sale: %s\n", err);
    return false;
}

options_answer options_read(fs_options *options, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            print_help();
        else if (strcmp(argv[i], "--version") == 0)
            printf("flashsale %s\n", FLASHSALE_VERSION);
        else if (strcmp(argv[i], "--list-strategies") == 0)
            print_strategies();
        else
            continue;
        return OPTIONS_DONE;
    }
    set_defaults(options);
    bool good = read_env(options) && read_args(options, argc, argv) && check(options);
    return good ? OPTIONS_RUN : OPTIONS_BAD;
}

bool options_is_loopback(const char *listen)
{
    return is_address(listen) && authority_is_loopback(listen);
}
