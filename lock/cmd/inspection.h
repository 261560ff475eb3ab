/* What dlock status and dlock leader read about a lock of any kind, and show. */
#ifndef DLOCK_CMD_INSPECTION_H
#define DLOCK_CMD_INSPECTION_H

#include "cmd/command.h"

typedef struct inspection {
    dlock_info info;
    dlock_holder *holders; /* a moment later than info */
    int holders_len;
    bool latch;   /* it is none of the locks; nobody holds it */
    int64_t left; /* count-downs that the latch waits for; 0: it is open */
} inspection;

/* At the session's lock `name`. With DLOCK_OK the inspection must be freed. */
DLOCK_MUST_CHECK dlock_status inspection_look(const command_session *session, const char *name,
                                              inspection *ret);
void inspection_free(inspection *s);

/* Nobody holds it, and it is no semaphore with 0 permits. */
bool inspection_is_free(const inspection *s);

/* How many count-downs the latch at this name waits for. DLOCK_NOT_OWNER, _EXPIRED: it is none. */
DLOCK_MUST_CHECK dlock_status inspection_latch(const command_session *session, const char *name,
                                               int64_t *left);

void inspection_print_text(const inspection *s, const char *name);
void inspection_print_json(const inspection *s, const char *name);

/* Whether the holder may be a candidate, which looks as one of kind STRING or HASH does: it is no
 * writer or other share, no name that is kept, and no stranger. */
bool inspection_may_lead(const dlock_info *info);

/* The same of an election. */
void inspection_print_leader_text(const dlock_info *info, const char *name);
void inspection_print_leader_json(const dlock_info *info, const char *name);

#endif
