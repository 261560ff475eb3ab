/*
 * front.h - the real haproxy with docker/haproxy.cfg in front of three real instances (fx.server),
 * as a group's setup and teardown.
 *
 * Where there is no haproxy, nothing of it is started, and each case begins with fx_front_need().
 * The limits for one address are those of the file, but for FLASHSALE_ADDRESS_REQUESTS: a crowd has
 * one address. What a test sets in the environment before a start holds for the proxy it starts.
 */
#ifndef TESTS_SUPPORT_DOCKER_FRONT_H
#define TESTS_SUPPORT_DOCKER_FRONT_H

#include "tests/support/service.h"

extern int fx_front_port;
extern char fx_front_url[64];
extern fx_process *fx_front_proxy; /* its log is its stdout */

int fx_front_start(void **state); /* setup, teardown */
int fx_front_stop(void **state);
void fx_front_need(void); /* skips the case where no haproxy is */

/* Instance i again, on the port that it had. */
fx_server *fx_front_instance(int i);

/* Another proxy, as the environment says; its metrics have a port of their own. Free it. */
fx_process *fx_front_another(void);

/* Sets a variable to 127.0.0.1:port. */
void fx_front_set(const char *name, int port);

/* Asks the proxy; the status. Any thread. Free the reply. */
int fx_front_ask(const char *method, const char *path, const char *body, fx_reply *ret);
bool fx_front_is_ready(void *unused);
int fx_front_orders(void); /* of P0001 */

/* Sends bytes to the proxy from an address (NULL: the usual one), and reads the answer to the end
 * of the connection. */
void fx_front_send(const char *from, const char *bytes, char *reply, size_t len);

/* The value of a sample of haproxy's exporter, `name{labels}` as it stands there; -1: none. */
double fx_front_metric(const char *sample);

#endif
