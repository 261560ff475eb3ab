/*
 * scripts.h - the texts of the scripts that went through the proxy, by their hash.
 *
 * EVALSHA names a script by a hash that means nothing to the reader of a test. The proxy remembers
 * what SCRIPT LOAD was answered with, so that a rule can say `match script TEXT`.
 */
#ifndef FAULTPROXY_SCRIPTS_H
#define FAULTPROXY_SCRIPTS_H

#include <stdbool.h>
#include <stddef.h>

#define SCRIPT_SHA_LEN 40

typedef struct fp_scripts fp_scripts;

fp_scripts *scripts_new(void);
void scripts_free(fp_scripts *scripts);

void scripts_learn(fp_scripts *scripts, const char *sha, const char *text, size_t len);

/* The text known for `sha`; NULL: never seen. Valid until the next scripts_learn(). */
const char *scripts_text(const fp_scripts *scripts, const char *sha, size_t *ret_len);

#endif
