/* A hold: what its owner may ask of it without a word to Redis, and how it hears of a loss. */
#include <sys/eventfd.h>
#include <unistd.h>

#include "core/internal.h"

/* Whoever comes second, the loss or the wish for an eventfd, finds what the first one left: the
 * state is set before the descriptor is looked for, the descriptor is set before the state. */
static void ring(int fd)
{
    uint64_t one = 1;
    if (fd >= 0 && write(fd, &one, sizeof(one)) < 0)
        return; /* already readable */
}

void dlock_hold_tell_lost(dlock_hold *hold)
{
    const dlock_options *options = &hold->lock->options;
    if (options->lost)
        options->lost(options->lost_arg, hold);
    ring(atomic_load(&hold->lost_fd));
}

int dlock_lost_fd(dlock_hold *hold)
{
    if (dlock_client_forked(hold->lock->client))
        return -1;
    int none = -1;
    if (atomic_load(&hold->lost_fd) < 0) {
        int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (fd >= 0 && !atomic_compare_exchange_strong(&hold->lost_fd, &none, fd))
            close(fd);
    }
    grant_state state = (grant_state)atomic_load(&hold->grant->state);
    if (state == GRANT_EXPIRED || state == GRANT_TAKEN)
        ring(atomic_load(&hold->lost_fd));
    return atomic_load(&hold->lost_fd);
}

bool dlock_held(const dlock_hold *hold)
{
    return !dlock_client_forked(hold->lock->client) && dlock_grant_alive(hold->grant);
}

int64_t dlock_validity_ms(const dlock_hold *hold)
{
    return dlock_client_forked(hold->lock->client) ? 0 : dlock_grant_left_ms(hold->grant);
}

uint64_t dlock_fence(const dlock_hold *hold)
{
    return dlock_client_forked(hold->lock->client) ? 0 : hold->grant->fence;
}

const char *dlock_owner(const dlock_hold *hold)
{
    return hold->grant->token;
}

int64_t dlock_redis_offset_us(const dlock_hold *hold)
{
    return hold->grant->offset_us;
}
