/*
 * control.h - where the proxy's orders come from: a script file and a control socket.
 *
 * On the socket each line is answered with one line, once it is in force.
 */
#ifndef FAULTPROXY_CONTROL_H
#define FAULTPROXY_CONTROL_H

#include "tests/tools/faultproxy/proxy.h"

typedef struct fp_control fp_control;

/* Takes orders on `listen_fd` (taken over). NULL: out of memory. */
fp_control *control_new(fp_loop *loop, fp_proxy *proxy, int listen_fd);
void control_free(fp_control *control); /* NULL is allowed */

/* Obeys all lines of the file. False with a sentence in err. */
bool control_run_script(fp_proxy *proxy, const char *path, char *err, size_t err_len);

#endif
