/*
 * faultproxy - a TCP and Unix-socket proxy for Redis that breaks things on order.
 *
 * tests/tools/README.md has the language. One line on standard output tells that it is ready, and
 * where: `faultproxy listening on URL`.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tests/tools/faultproxy/control.h"

#define EXIT_USAGE 64

static fp_loop *main_loop; /* for the signal handler */

struct options {
    const char *listen, *upstream, *control, *script;
    uint64_t seed;
};

static const char usage[] =
    "usage: faultproxy --listen ADDRESS --upstream ADDRESS [--control ADDRESS] [--script FILE]\n"
    "                  [--seed N]\n"
    "ADDRESS is unix:PATH or HOST:PORT; port 0 takes a free one, which is printed.\n"
    "The lines of FILE are obeyed before the first connection, those sent to the control address\n"
    "at once. tests/tools/README.md has the language.\n";

static bool read_options(int argc, char **argv, struct options *ret)
{
    static const struct option names[] = {{"listen", required_argument, NULL, 'l'},
                                          {"upstream", required_argument, NULL, 'u'},
                                          {"control", required_argument, NULL, 'c'},
                                          {"script", required_argument, NULL, 's'},
                                          {"seed", required_argument, NULL, 'n'},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    for (int name; (name = getopt_long(argc, argv, "", names, NULL)) >= 0;) {
        switch (name) {
        case 'l':
            ret->listen = optarg;
            break;
        case 'u':
            ret->upstream = optarg;
            break;
        case 'c':
            ret->control = optarg;
            break;
        case 's':
            ret->script = optarg;
            break;
        case 'n':
            ret->seed = strtoull(optarg, NULL, 10);
            break;
        default:
            return false;
        }
    }
    return ret->listen && ret->upstream && optind == argc;
}

static int fail(const char *what, const char *why)
{
    fprintf(stderr, "faultproxy: %s: %s\n", what, why);
    return EXIT_FAILURE;
}

static void on_signal(int signo)
{
    (void)signo;
    loop_stop(main_loop);
}

/* Without SA_RESTART, so that it ends the wait for events. */
static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static void raise_descriptor_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static int listen_at(const char *text, char *err, size_t err_len)
{
    net_address address;
    if (!net_parse(text, &address, err, err_len))
        return -1;
    int fd = net_listen(&address);
    if (fd < 0)
        snprintf(err, err_len, "%s", strerror(errno));
    return fd;
}

static int serve(const struct options *options, fp_proxy *proxy, const char *url)
{
    char err[256];
    fp_control *control = NULL;
    if (options->script && !control_run_script(proxy, options->script, err, sizeof(err)))
        return fail("script", err);
    if (options->control) {
        int fd = listen_at(options->control, err, sizeof(err));
        if (fd < 0)
            return fail(options->control, err);
        control = control_new(main_loop, proxy, fd);
    }
    printf("faultproxy listening on %s\n", url);
    fflush(stdout);
    loop_run(main_loop);
    control_free(control);
    return EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
    struct options options = {.seed = 1};
    if (!read_options(argc, argv, &options)) {
        fputs(usage, stderr);
        return EXIT_USAGE;
    }
    char err[256], url[256];
    net_address upstream;
    if (!net_parse(options.upstream, &upstream, err, sizeof(err)))
        return fail(options.upstream, err);
    raise_descriptor_limit();
    int fd = listen_at(options.listen, err, sizeof(err));
    if (fd < 0)
        return fail(options.listen, err);
    net_url(fd, url, sizeof(url));
    main_loop = loop_new();
    fp_proxy *proxy = main_loop ? proxy_new(main_loop, fd, &upstream, options.seed) : NULL;
    if (!proxy)
        return fail("start", strerror(errno));
    catch_signals();
    int status = serve(&options, proxy, url);
    proxy_free(proxy);
    loop_free(main_loop);
    return status;
}
