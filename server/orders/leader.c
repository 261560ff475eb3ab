/* leader.c - a fair lock, renewed in the background while the process lives. */
#include "server/orders/leader.h"

#include <stdio.h>
#include <stdlib.h>

#include "lock/dlock.h"

#define WAIT_MS 500

struct leader {
    dlock_client *client;
    dlock_lock *lock;
    dlock_hold *hold; /* NULL = none */
    char err[256];
};

leader *leader_new(const char *redis_url, const char *name, char *err, size_t err_len)
{
    leader *lead = calloc(1, sizeof(*lead));
    const dlock_options fair = {.kind = DLOCK_FAIR};
    if (lead && dlock_client_open(redis_url, NULL, &lead->client, err, err_len) == DLOCK_OK &&
        dlock_lock_new(lead->client, name, &fair, &lead->lock, err, err_len) == DLOCK_OK)
        return lead;
    if (!lead)
        snprintf(err, err_len, "out of memory");
    leader_free(lead);
    return NULL;
}

void leader_resign(leader *lead)
{
    if (lead->hold)
        dlock_release(lead->hold);
    lead->hold = NULL;
}

void leader_free(leader *lead)
{
    if (!lead)
        return;
    leader_resign(lead);
    dlock_lock_free(lead->lock);
    dlock_client_free(lead->client);
    free(lead);
}

bool leader_leads(leader *lead)
{
    const dlock_wait wait = {.wait_ms = WAIT_MS};
    if (lead->hold && dlock_held(lead->hold))
        return true;
    leader_resign(lead);
    dlock_status status = dlock_acquire(lead->lock, &wait, &lead->hold);
    lead->err[0] = '\0';
    if (status != DLOCK_OK && status != DLOCK_BUSY) {
        dlock_last_error(lead->client, lead->err, sizeof(lead->err));
        if (lead->err[0] == '\0')
            snprintf(lead->err, sizeof(lead->err), "%s", dlock_status_text(status));
    }
    return status == DLOCK_OK;
}

uint64_t leader_fence(const leader *lead)
{
    return lead->hold ? dlock_fence(lead->hold) : 0;
}

const char *leader_error(leader *lead)
{
    return lead->err;
}
