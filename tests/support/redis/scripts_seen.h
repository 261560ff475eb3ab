/*
 * scripts_seen.h - which of the service's Lua scripts a server was ever sent.
 *
 * A server keeps scripts by their hash alone, but shows every EVAL and SCRIPT LOAD to a MONITOR,
 * text and all. A script is known by its longest line that stands in no other one.
 */
#ifndef TESTS_SUPPORT_SCRIPTS_SEEN_H
#define TESTS_SUPPORT_SCRIPTS_SEEN_H

#include <stdbool.h>

typedef struct fx_scripts fx_scripts;

/* Watches the server at this port of 127.0.0.1 from now on, for the scripts below `folder`
 * ("server"). Free with fx_scripts_free(), NULL is allowed. */
fx_scripts *fx_scripts_watch(int port, const char *folder);
void fx_scripts_free(fx_scripts *scripts);

/* Takes in what the server has been sent so far. Call it now and then: the server keeps it all. */
void fx_scripts_look(fx_scripts *scripts);

/* The path of a script that it was not sent as far as was looked; NULL = it was sent all of them.
 */
const char *fx_scripts_missing(const fx_scripts *scripts);

#endif
