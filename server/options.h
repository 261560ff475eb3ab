/*
 * options.h - flashsale's options, from the command line or FLASHSALE_ variables.
 *
 * The command line wins. An error names the option and the accepted values.
 */
#ifndef FLASHSALE_OPTIONS_H
#define FLASHSALE_OPTIONS_H

#include "server/sale/sale_request.h"

typedef struct fs_options {
    char listen[128];         /* one host:port */
    char redis[2048];         /* URL */
    char redlock[2048];       /* URLs, comma-separated; "" = none */
    char name[IDENT_MAX + 1]; /* of this instance, in its orders; "" = from host and port */
    char admin_token_file[512];
    char admin_token[512]; /* from the environment only */
    char buyer_key_file[512];
    char require_token[4];  /* "yes" or "no" */
    char demo[4];           /* likewise */
    sale_request sale;      /* to start if its item has none; no item: none */
    char allow_eviction[4]; /* "yes" or "no" */
    int64_t threads;
    int64_t drain_delay_s;
    int64_t max_quantity;
    int64_t rate_user, rate_address, rate_burst; /* tries a second; 0 = no limit */
    int64_t rate_question;
} fs_options;

typedef enum options_answer {
    OPTIONS_RUN = 0,
    OPTIONS_DONE, /* --help and the like: printed on stdout */
    OPTIONS_BAD   /* explained on stderr */
} options_answer;

options_answer options_read(fs_options *options, int argc, char **argv);

/* Whether the address is a loopback one: 127.x.x.x, localhost or [::1], and a port. */
bool options_is_loopback(const char *listen);

#endif
