/*
 * proxy.h - the proxy: its listener, its links, and the language in which faults are ordered.
 */
#ifndef FAULTPROXY_PROXY_H
#define FAULTPROXY_PROXY_H

#include "tests/tools/faultproxy/loop.h"
#include "tests/tools/faultproxy/net.h"

typedef struct fp_proxy fp_proxy;

/* Serves on `listen_fd` (taken over). NULL: out of memory. */
fp_proxy *proxy_new(fp_loop *loop, int listen_fd, const net_address *upstream, uint64_t seed);
void proxy_free(fp_proxy *proxy);

/* Obeys one line (without its newline) of tests/tools/README.md. `answer` gets "ok", the figures
 * asked for, or "error: ..."; false in the last case. */
bool proxy_obey(fp_proxy *proxy, const char *line, char *answer, size_t answer_len);

#endif
