/*
 * proxy.h - a fault proxy between a test and its server; tests/tools/README.md has its language.
 *
 *     fx_proxy *proxy = fx_proxy_start(fx_redis_url(redis));
 *     ... connect to fx_proxy_url(proxy) ...
 *     fx_proxy_say(proxy, "drop reply 1 match %s", key);
 *
 * Like all fixtures: for the main thread, and what goes wrong fails the running test.
 */
#ifndef TESTS_SUPPORT_PROXY_H
#define TESTS_SUPPORT_PROXY_H

#include <stdint.h>

#include "tests/support/process.h"

typedef struct fx_proxy fx_proxy;

/* Starts a proxy before the server at "unix:///..." or "redis://HOST:PORT". It listens on the same
 * kind of address: faults that TCP alone can show, such as RST, need a TCP upstream. */
fx_proxy *fx_proxy_start(const char *upstream_url);
void fx_proxy_stop(fx_proxy *proxy); /* NULL is allowed */

const char *fx_proxy_url(const fx_proxy *proxy);
pid_t fx_proxy_pid(const fx_proxy *proxy);

/* Gives one order, and returns when it is in force. The answer, "ok" or figures, is valid until
 * the next call. An order that is not understood fails the test. */
const char *fx_proxy_say(fx_proxy *proxy, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* One of the counters of `stats`, "resets" for one. */
int64_t fx_proxy_count(fx_proxy *proxy, const char *counter);

#endif
