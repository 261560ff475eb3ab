/*
 * stubserver - plays flashsale for tests of loadtest, with every delay and failure by script.
 *
 *   --ports N              listen on N free ports (default 1); one line of output for each
 *   --delay-us A,BxN,...   delays of the buys, in turn, in microseconds
 *   --stall EVERY:LENGTH   the whole process sleeps for LENGTH ms after every EVERY ms
 *   --reset-every N        every Nth request of the load, when it comes first: the connection is
 *                          reset
 *   --busy-every N         every Nth buy is refused as busy
 *   --unknown-every N      every Nth buy is answered 504; every second of them has not bought
 *   --serve-connections N  as a server with N threads: further connections wait for one to close
 *   --replay-busy N        every Nth replay is refused as busy
 *   --hang-last            buys at the last port are never answered
 *   --drop-pages N         the first N requests for a page of the ledger are reset
 *   --empty-pages N        the ledger goes on for N pages without orders, as with empty segments
 *   --final-after-ms N     "no such order" becomes final so long after the first question
 *   --page-orders N        entries on a page of the ledger (default 40)
 *   --page-delay-ms N      before each page
 *   --earlier-sale         the item had a sale before the first
 *   --ids plain|big|uuid|gaps  what order ids look like: service.h
 *   --style NAME,...       how answers are written: wire.h; backwards: the members of orders
 *   --defect NAME          a lie that has a name (service.c)
 *   --lie [WHEN:]PLACE.FIELD=V   what it says or does wrong (lies.h, service.h); may be repeated
 *   --log FILE             each buy: request,received_ns,replied_ns (CLOCK_MONOTONIC)
 *
 * The log is the truth that tests hold loadtest's figures against.
 */
#include "tests/tools/stubserver/server.h"
#include "tests/tools/stubserver/wire.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

struct setup {
    struct server_options server;
    struct service_options service;
    struct script script;
};

static bool read_ids(struct setup *setup, const char *value)
{
    static const char *const names[] = {"sale", "plain", "big", "uuid", "gaps"};
    for (int i = 0; i < 5; i++) {
        setup->service.ids = (enum ids)i;
        if (strcmp(value, names[i]) == 0)
            return true;
    }
    return false;
}

/* Where an option goes that is but a number; NULL: it is not. */
static unsigned *number_of(struct setup *setup, int option)
{
    switch (option) {
    case 'r':
        return &setup->script.reset_every;
    case 'b':
        return &setup->service.busy_every;
    case 'u':
        return &setup->service.unknown_every;
    case 'R':
        return &setup->service.replay_busy;
    case 'P':
        return &setup->server.drop_pages;
    case 'e':
        return &setup->service.empty_pages;
    case 'o':
        return &setup->service.page_orders;
    default:
        return NULL;
    }
}

static bool read_option(struct setup *setup, int option, const char *value)
{
    unsigned number = (unsigned)strtoul(value, NULL, 10), *plain = number_of(setup, option);
    if (plain != NULL) {
        *plain = number;
        return number > 0;
    }
    switch (option) {
    case 'p':
        setup->server.ports = (int)number;
        return number >= 1 && number <= 64;
    case 'd':
        return script_delays(&setup->script, value);
    case 's':
        return script_stall(&setup->script, value);
    case 'c':
        setup->server.serve_connections = (int)number;
        return number > 0;
    case 'h':
        setup->server.hang_last = true;
        return true;
    case 'f':
        setup->service.final_after_ms = number;
        return number > 0;
    case 'D':
        setup->server.page_delay_ns = number * INT64_C(1000000);
        return number > 0;
    case 'E':
        setup->service.earlier_sale = true;
        return true;
    case 'i':
        return read_ids(setup, value);
    case 'S':
        setup->service.backwards = strcmp(value, "backwards") == 0;
        return setup->service.backwards || wire_style_parse(value, &setup->server.style);
    case 'L':
        return lies_add(&setup->service.lies, value);
    case 'x':
        return defect_add(&setup->service.lies, value);
    case 'l':
        setup->server.log = fopen(value, "w");
        return setup->server.log != NULL;
    default:
        return false;
    }
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"ports", required_argument, NULL, 'p'},
        {"delay-us", required_argument, NULL, 'd'},
        {"stall", required_argument, NULL, 's'},
        {"reset-every", required_argument, NULL, 'r'},
        {"busy-every", required_argument, NULL, 'b'},
        {"unknown-every", required_argument, NULL, 'u'},
        {"serve-connections", required_argument, NULL, 'c'},
        {"replay-busy", required_argument, NULL, 'R'},
        {"hang-last", no_argument, NULL, 'h'},
        {"drop-pages", required_argument, NULL, 'P'},
        {"empty-pages", required_argument, NULL, 'e'},
        {"final-after-ms", required_argument, NULL, 'f'},
        {"page-orders", required_argument, NULL, 'o'},
        {"page-delay-ms", required_argument, NULL, 'D'},
        {"earlier-sale", no_argument, NULL, 'E'},
        {"ids", required_argument, NULL, 'i'},
        {"style", required_argument, NULL, 'S'},
        {"lie", required_argument, NULL, 'L'},
        {"defect", required_argument, NULL, 'x'},
        {"log", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    static struct setup setup = {.server = {.ports = 1}, .service = {.page_orders = 40}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(&setup, option, optarg == NULL ? "" : optarg)) {
            fputs("stubserver: a mistake on the command line\n", stderr);
            return 64;
        }
    }
    raise_descriptor_limit();
    struct service *service = service_new(&setup.service);
    if (service == NULL)
        return 1;
    int code = server_run(&setup.server, service, &setup.script);
    if (setup.server.log != NULL)
        fclose(setup.server.log);
    service_free(service);
    return code;
}
