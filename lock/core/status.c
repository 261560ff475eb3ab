/* Statuses in words. */
#include "dlock.h"

const char *dlock_status_text(dlock_status status)
{
    switch (status) {
    case DLOCK_OK:
        return "ok";
    case DLOCK_BUSY:
        return "held by another";
    case DLOCK_CANCELLED:
        return "cancelled";
    case DLOCK_EXPIRED:
        return "its time was over";
    case DLOCK_NOT_OWNER:
        return "not the owner";
    case DLOCK_STALE:
        return "stale: not the owner, or a later fence was issued";
    case DLOCK_UNAVAILABLE:
        return "Redis could not be asked";
    case DLOCK_UNKNOWN:
        return "unknown: asked, but no reply";
    case DLOCK_FAILED:
        return "Redis answered with an error";
    case DLOCK_INVALID:
        return "bad argument";
    case DLOCK_NO_MEMORY:
        return "out of memory";
    case DLOCK_FORKED:
        return "called in a forked child";
    }
    return "no such status";
}
