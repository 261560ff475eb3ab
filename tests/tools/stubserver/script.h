/*
 * script.h - when the stub is slow, and when it fails.
 *
 * Everything goes by the number of the POST /buy, or by the clock from the first one on, so that a
 * test knows beforehand what will happen.
 */
#ifndef STUBSERVER_SCRIPT_H
#define STUBSERVER_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#define SCRIPT_DELAYS_MAX 4096

struct script {
    int64_t delays_us[SCRIPT_DELAYS_MAX]; /* of the 1st, 2nd, ... buy; then again from the start */
    int delay_count;
    unsigned reset_every;   /* every Nth request of the load gets a reset instead of an answer */
    int64_t stall_every_ns; /* the whole process sleeps after so long ... */
    int64_t stall_ns;       /* ... for so long; 0: never */
    int64_t next_stall;     /* when; 0 until the first buy */
};

/* Parses "1000,2000x9": delays in us, each optionally repeated. */
bool script_delays(struct script *script, const char *text);

/* Parses "EVERY_MS:LENGTH_MS". */
bool script_stall(struct script *script, const char *text);

/* The delay of buy `number`, counted from 1, in ns. */
int64_t script_delay(const struct script *script, int64_t number);

/* Sleeps if a stall is due at `now`. The clock of stalls starts at the first buy. */
void script_maybe_stall(struct script *script, int64_t now, bool any_buy);

#endif
