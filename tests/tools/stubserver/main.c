/*
 * stubserver - plays flashsale for tests of loadtest, with every delay and failure by script.
 *
 *   --ports N              listen on N free ports (default 1); one line of output for each
 *   --delay-us A,BxN,...   delays of the buys, in turn, in microseconds
 *   --stall EVERY:LENGTH   the whole process sleeps for LENGTH ms after every EVERY ms
 *   --reset-every N        every Nth buy: the connection is reset
 *   --busy-every N         every Nth buy is refused as busy
 *   --unknown-every N      every Nth buy is answered 504; every second of them has not bought
 *   --serve-connections N  as a server with N threads: further connections wait for one to close
 *   --replay-busy N        every Nth replay is refused as busy
 *   --hang-last            buys at the last port are never answered
 *   --drop-pages N         the first N requests for a page of the ledger are reset
 *   --empty-pages N        the ledger goes on for N pages without orders, as with empty segments
 *   --final-after-ms N     "no such order" becomes final so long after the first question
 *   --defect NAME          what the service does wrong: service.h lists the names' meanings
 *   --lie PLACE.FIELD=V    what it says wrong (lies.h); may be repeated. Places: told (a 201),
 *                          replayed, stock (mid, before the 200th buy), ledger (its entries), page,
 * page2, found, missing, sale
 *   --log FILE             each buy: request,received_ns,replied_ns (CLOCK_MONOTONIC)
 *
 * The log is the truth that tests hold loadtest's figures against.
 */
#include "tests/tools/stubserver/server.h"

#include <getopt.h>
#include <stdlib.h>
#include <sys/resource.h>

struct setup {
    struct server_options server;
    struct service_options service;
    struct script script;
};

static bool read_option(struct setup *setup, int option, const char *value)
{
    unsigned number = (unsigned)strtoul(value, NULL, 10);
    switch (option) {
    case 'p':
        setup->server.ports = (int)number;
        return number >= 1 && number <= 64;
    case 'd':
        return script_delays(&setup->script, value);
    case 's':
        return script_stall(&setup->script, value);
    case 'r':
        setup->script.reset_every = number;
        return number > 0;
    case 'b':
        setup->service.busy_every = number;
        return number > 0;
    case 'u':
        setup->service.unknown_every = number;
        return number > 0;
    case 'c':
        setup->server.serve_connections = (int)number;
        return number > 0;
    case 'R':
        setup->service.replay_busy = number;
        return number > 0;
    case 'h':
        setup->server.hang_last = true;
        return true;
    case 'P':
        setup->server.drop_pages = number;
        return number > 0;
    case 'e':
        setup->service.empty_pages = number;
        return number > 0;
    case 'f':
        setup->service.final_after_ms = number;
        return number > 0;
    case 'L':
        return lies_add(&setup->service.lies, value);
    case 'x':
        return defect_parse(value, &setup->service.defect);
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
        {"lie", required_argument, NULL, 'L'},
        {"defect", required_argument, NULL, 'x'},
        {"log", required_argument, NULL, 'l'},
        {NULL, 0, NULL, 0},
    };
    static struct setup setup = {.server = {.ports = 1}};
    int option;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (!read_option(&setup, option, optarg == NULL ? "" : optarg)) {
            fputs("stubserver: a mistake on the command line\n", stderr);
            return 64;
        }
    }
    raise_descriptor_limit();
    struct service *service = service_new(setup.service);
    if (service == NULL)
        return 1;
    int code = server_run(&setup.server, service, &setup.script);
    if (setup.server.log != NULL)
        fclose(setup.server.log);
    service_free(service);
    return code;
}
