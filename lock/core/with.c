/*
 * with.c - declarative use: a callback that runs under a lock named by a template.
 *
 * Composes the public functions only, so it is also the shortest example of their order.
 */
#include "dlock.h"

/* Room for a filled template, its final NUL included. */
#define NAME_MAX_BYTES 1024

/* Whether the lock was ours to the body's end. A release that got no answer says nothing about
 * that; what this process knew just before it does. */
static dlock_status settle(dlock_hold *hold)
{
    bool held = dlock_held(hold);
    dlock_status released = dlock_release(hold);
    switch (released) {
    case DLOCK_OK:
    case DLOCK_EXPIRED:
    case DLOCK_NOT_OWNER:
        return released;
    default:
        return held ? DLOCK_OK : DLOCK_EXPIRED;
    }
}

dlock_status dlock_with(dlock_client *client, const char *key_template, const dlock_named_arg *args,
                        const dlock_options *options, const dlock_wait *wait,
                        int (*body)(void *arg, dlock_hold *hold), void *arg, int *body_ret)
{
    char name[NAME_MAX_BYTES], err[128];
    dlock_lock *lock;
    dlock_hold *hold;

    dlock_status status = dlock_template(key_template, args, name, sizeof(name), err, sizeof(err));
    if (status != DLOCK_OK)
        return status;
    status = dlock_lock_new(client, name, options, &lock, err, sizeof(err));
    if (status != DLOCK_OK)
        return status;
    status = dlock_acquire(lock, wait, &hold);
    if (status == DLOCK_OK) {
        int value = body(arg, hold);
        if (body_ret)
            *body_ret = value;
        status = settle(hold);
    }
    dlock_lock_free(lock);
    return status;
}
