/* What dlock status sees of a lock, whatever its kind, and shows. */
#ifndef DLOCK_CMD_SIGHT_H
#define DLOCK_CMD_SIGHT_H

#include "dlock.h"

typedef struct sight {
    dlock_info info;
    dlock_holder *holders; /* a moment later than info */
    int holders_len;
} sight;

/* With DLOCK_OK the sight must be freed. */
DLOCK_MUST_CHECK dlock_status sight_look(dlock_lock *lock, sight *ret);
void sight_free(sight *s);

void sight_print_text(const sight *s, const char *name);
void sight_print_json(const sight *s, const char *name);

#endif
