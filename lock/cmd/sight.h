/* What dlock status sees of a lock, whatever its kind, and shows. */
#ifndef DLOCK_CMD_SIGHT_H
#define DLOCK_CMD_SIGHT_H

#include "cmd/command.h"

typedef struct sight {
    dlock_info info;
    dlock_holder *holders; /* a moment later than info */
    int holders_len;
    bool latch;   /* it is none of the locks; nobody holds it */
    int64_t left; /* count-downs that the latch waits for; 0: it is open */
} sight;

/* At the session's lock `name`. With DLOCK_OK the sight must be freed. */
DLOCK_MUST_CHECK dlock_status sight_look(const command_session *session, const char *name,
                                         sight *ret);
void sight_free(sight *s);

/* Nobody has it, and it is no semaphore without permits. */
bool sight_is_free(const sight *s);

/* How many count-downs the latch at this name waits for. DLOCK_NOT_OWNER, _EXPIRED: it is none. */
DLOCK_MUST_CHECK dlock_status sight_latch(const command_session *session, const char *name,
                                          int64_t *left);

void sight_print_text(const sight *s, const char *name);
void sight_print_json(const sight *s, const char *name);

#endif
