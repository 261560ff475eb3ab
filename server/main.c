/*
 * main.c - flashsale's life cycle: options, connections, the first sale, serving, draining.
 *
 * On SIGTERM or SIGINT it drains: /readyz fails, and it still sells for a while, so that no buyer
 * is refused before the proxy has noticed. Then it refuses requests, finishes those in flight,
 * releases its locks and exits. A second signal ends it at once.
 */
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/base/log.h"
#include "server/http.h"
#include "server/options.h"
#include "server/sale/keeper.h"
#include "server/sale/sale_find.h"
#include "server/sale/sale_start.h"
#include "server/strategies/registry.h"

#define FILES_RESERVE 256 /* descriptors beyond one a connection: Redis, locks, files */
#define IN_FLIGHT_MS  65000
#define FIRST_LOOK_MS 2000
#define ADMISSION_MS  4000  /* to wait for a Redis that has just been started */
#define FIRST_SALE_MS 30000 /* to wait for a Redis that is still starting */

static void raise_file_limit(int64_t threads)
{
    struct rlimit limit;
    rlim_t need = (rlim_t)threads * 2 + 1024 + FILES_RESERVE;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= need)
        return;
    limit.rlim_cur = limit.rlim_max < need ? limit.rlim_max : need;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < need)
        log_event(LOG_WARN, "few_descriptors", "detail",
                  "the limit of open files is too low for --threads", NULL);
}

/* malloc() has up to eight arenas a processor, and each grows to what its threads ever had at once.
 * Our threads wait more than they allocate: with fewer an instance takes an eighth less, and stays
 * at that (make soak), at the same cost of an order. */
static void limit_arenas(void)
{
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    mallopt(M_ARENA_MAX, processors > 2 ? (int)processors / 2 : 1);
}

/* The instance's name in orders: as told, or host and port, made an identifier. */
static void name_instance(const fs_options *options, const char *address, char *ret, size_t ret_len)
{
    char host[40] = "host";
    if (options->name[0] != '\0') {
        snprintf(ret, ret_len, "%s", options->name);
        return;
    }
    gethostname(host, sizeof(host) - 1);
    const char *colon = strrchr(address, ':');
    snprintf(ret, ret_len, "%.*s-%s", (int)sizeof(host) - 1, host, colon + 1);
    for (char *c = ret; *c != '\0'; c++)
        if (!ident_ok(c, 1))
            *c = '-';
}

static bool wait_signal(const sigset_t *signals, int64_t ms)
{
    struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L};
    return sigtimedwait(signals, NULL, &time) > 0;
}

/* ---- the first sale -------------------------------------------------------------------------- */

/* Warns of what the sale that was joined has otherwise than the options. */
static void compare(const sale_terms *mine, fs_store *store)
{
    char err[256], here[24], there[24];
    sale_terms is;
    dlock_time deadline = dlock_in_ms(STORE_READ_MS);
    if (terms_read(store, mine->item, mine->id, deadline, &is, err, sizeof(err)) != SALE_OK ||
        !strategy_find(is.strategy))
        return;
    if (strcmp(mine->strategy, is.strategy) != 0)
        log_event(LOG_WARN, "option_differs", "option", "strategy", "here", mine->strategy, "sale",
                  is.strategy, NULL);
    const struct {
        const char *name;
        int64_t mine, is;
    } numbers[] = {
        {"stock", mine->initial, is.initial},
        {"per-user-limit", mine->per_user_limit, is.per_user_limit},
        {"reserve-max-s", mine->reserve_max_s, is.reserve_max_s},
        {"lease-ms", mine->lease_ms, is.lease_ms},
        {"wait-ms", mine->wait_ms, is.wait_ms},
        {"hold-ms", mine->hold_ms, is.hold_ms},
        {"segments", mine->segments, is.segments},
        {"durability", mine->durability, is.durability},
        {"min-replicas", mine->min_replicas, is.min_replicas},
    };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        snprintf(here, sizeof(here), "%lld", (long long)numbers[i].mine);
        snprintf(there, sizeof(there), "%lld", (long long)numbers[i].is);
        if (numbers[i].mine != numbers[i].is)
            log_event(LOG_WARN, "option_differs", "option", numbers[i].name, "here", here, "sale",
                      there, "detail", "the sale was joined as it is", NULL);
    }
}

/* Starts the sale of the options unless its item has one. False: a signal came meanwhile, or what
 * went wrong is said in the log. */
static bool start_first_sale(const fs_options *options, const fs_api *api, const sigset_t *signals,
                             bool *stopped)
{
    fs_store *store = api->store;
    char err[512];
    sale_terms terms;
    if (options->sale.item[0] == '\0')
        return true;
    start_status status;
    bool again;
    dlock_time deadline = dlock_in_ms(FIRST_SALE_MS);
    do {
        if (!sale_request_finish(&options->sale, &terms, err, sizeof(err)))
            return false;
        status = sale_start(store, &terms, true, deadline, err, sizeof(err));
        again = status == START_UNAVAILABLE || status == START_PAUSED || status == START_UNKNOWN;
        *stopped = again && wait_signal(signals, 200);
    } while (again && !*stopped && !dlock_passed(deadline));
    if (*stopped)
        return false;

    if (status == START_JOINED)
        compare(&terms, store);
    bool good = status == START_OK || status == START_JOINED;
    /* A halted or damaged sale needs the admin, who may use this instance for that. */
    bool there = good || status == START_HALTED || status == START_DAMAGED;
    if (there) /* so that it is a witness, and not ready if need be, before it is asked to sell */
        sale_watch(api->sales, terms.item, dlock_in_ms(STORE_READ_MS));
    log_event(good ? LOG_INFO : LOG_ERROR,
              status == START_JOINED ? "sale_joined"
              : good                 ? "sale_started"
                                     : "sale_not_started",
              "item", terms.item, "sale", terms.id, "detail", good ? NULL : err, NULL);
    return there;
}

/* Whether a server answers that may not be written to as yet; or none has been met. */
static bool is_to_be_admitted(fs_store *store, dlock_time deadline)
{
    server_answer answer;
    int servers = dlock_redis_servers(store->redis);
    for (int i = 0; i < servers; i++)
        if (store_serves(store, i) && !node_reachable(store_node_at(store, i)) &&
            server_run_ask(store->asking, i, deadline, &answer))
            return true;
    return servers == 0;
}

/* A new process remembers nothing. If Redis was just started too, it gives the other instances time
 * to object (sale/admission.h); it does not wait for a Redis that is silent. */
static void wait_for_admission(fs_store *store, const sigset_t *signals, bool *stopped)
{
    dlock_time deadline = dlock_in_ms(ADMISSION_MS);
    while (!*stopped && !dlock_passed(deadline) && is_to_be_admitted(store, deadline))
        *stopped = wait_signal(signals, 50);
}

/* ---- draining -------------------------------------------------------------------------------- */

static void drain(fs_api *api, const sigset_t *signals, int64_t delay_s)
{
    log_event(LOG_INFO, "draining", NULL);
    atomic_store(&api->metrics->draining, true);
    bool hurry = wait_signal(signals, delay_s * 1000);
    atomic_store(&api->refusing, true);
    dlock_time deadline = dlock_in_ms(hurry ? 0 : IN_FLIGHT_MS);
    while (atomic_load(&api->metrics->in_flight) > 0 && !dlock_passed(deadline))
        dlock_sleep(dlock_in_ms(5));
}

/* ---- main ------------------------------------------------------------------------------------ */

/* A server that is too old refuses every script. One that does not answer may be recent. */
static bool redis_is_recent(fs_store *store)
{
    char err[256];
    redisReply *reply = NULL;
    dlock_args args = store_words(WORDS("INFO", "server"));
    dlock_redis_outcome outcome =
        dlock_redis_command(store->asking, NULL, &args, dlock_in_ms(FIRST_LOOK_MS), &reply);
    dlock_args_free(&args);
    bool recent = outcome != DLOCK_REDIS_OK || !reply->str ||
                  dlock_redis_is_recent(reply->str, err, sizeof(err));
    if (!recent)
        fprintf(stderr, "flashsale: --redis: %s\n", err);
    freeReplyObject(reply);
    return recent;
}

/* From here on it can be asked; ends by a signal. */
static void serve_requests(const fs_options *options, fs_api *api, const fs_http *http,
                           const sigset_t *signals)
{
    int signo;
    atomic_store(&api->open, true);
    log_event(api->auth->open ? LOG_WARN : LOG_INFO, "started", "version", FLASHSALE_VERSION,
              "listen", http_address(http), "instance", api->store->instance, "admin",
              auth_needs(api->auth), NULL);
    printf("flashsale listening on %s\n", http_address(http));
    fflush(stdout);
    sigwait(signals, &signo);
    drain(api, signals, options->drain_delay_s);
}

/* Serves until a signal comes, then drains. The exit code. */
static int serve(const fs_options *options, fs_api *api, keeper *looking, const sigset_t *signals)
{
    char err[512];
    if (!redis_is_recent(api->store))
        return 1;
    fs_http *http = http_start(api, options->listen, (int)options->threads, err, sizeof(err));
    if (!http) {
        fprintf(stderr, "flashsale: --listen: %s\n", err);
        return 1;
    }
    name_instance(options, http_address(http), api->store->instance, sizeof(api->store->instance));
    bool stopped = false;
    wait_for_admission(api->store, signals, &stopped);
    keeper_wait(looking, dlock_in_ms(FIRST_LOOK_MS));
    bool ready = !stopped && start_first_sale(options, api, signals, &stopped) &&
                 (api->dashboard = dashboard_start(api->store, api->sales, api->metrics));
    if (ready)
        serve_requests(options, api, http, signals);
    http_stop(http);
    dashboard_stop(api->dashboard);
    if (ready)
        log_event(LOG_INFO, "stopped", NULL);
    return ready || stopped ? 0 : 1;
}

static int run(const fs_options *options, const sigset_t *signals)
{
    char err[768];
    static fs_store store;
    static fs_metrics metrics;
    static fs_auth auth;
    static fs_rate rate;
    bool may_be_open =
        options_is_loopback(options->listen) && strcmp(options->require_token, "yes") != 0;
    if (auth_init(&auth, options->admin_token_file, options->admin_token, options->buyer_key_file,
                  may_be_open, err, sizeof(err)) != 0) {
        fprintf(stderr, "flashsale: %s\n", err);
        return 64;
    }
    if (store_open(&store, options->redis, options->redlock, "", err, sizeof(err)) != 0) {
        fprintf(stderr, "flashsale: --redis or --redlock: %s\n", err);
        return 64;
    }
    store.allow_eviction = strcmp(options->allow_eviction, "yes") == 0;
    rate.store = &store;
    rate.user = options->rate_user;
    rate.address = options->rate_address;
    rate.burst = options->rate_burst;
    rate.question = options->rate_question;
    fs_api api = {.store = &store,
                  .metrics = &metrics,
                  .auth = &auth,
                  .rate = &rate,
                  .max_quantity = options->max_quantity,
                  .demo = strcmp(options->demo, "yes") == 0,
                  .item = options->sale.item[0] != '\0' ? options->sale.item : "P0001",
                  .sales = sale_table_open(&store)};
    keeper *looking =
        api.sales && quorum_watch(&store.quorum) ? keeper_start(&store, api.sales) : NULL;
    int code = looking ? serve(options, &api, looking, signals) : 1;
    keeper_stop(looking);
    if (api.sales)
        sale_table_close(api.sales);
    store_close(&store);
    return code;
}

int main(int argc, char **argv)
{
    static fs_options options;
    dlock_redis_hide_words(argc, argv);
    switch (options_read(&options, argc, argv)) {
    case OPTIONS_DONE:
        return 0;
    case OPTIONS_BAD:
        return 64;
    case OPTIONS_RUN:
        break;
    }
    /* Threads inherit the mask, so only sigwait() here sees these. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    raise_file_limit(options.threads);
    limit_arenas();
    return run(&options, &signals);
}
