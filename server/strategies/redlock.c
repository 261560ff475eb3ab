/*
 * redlock - a lock is acquired when a majority of independent servers grants it. (Article 003
 * recommends it for clusters; the algorithm is Redis's own "Redlock".)
 *
 * The loss of one server does not free the lock, as a failover to a lagging replica does. But its
 * safety still depends on timing, and it has no fence, because no single server could issue one.
 */
#include "server/base/log.h"
#include "server/selling/locked_section.h"

static int redlock_open(const open_sale *sale, void **ret, char *err, size_t err_len)
{
    if (sale->store->quorum.len == 0)
        log_event(LOG_WARN, "quorum_of_one", "item", sale->terms.item, "detail",
                  "no --redlock given: redlock uses the sale's own server alone", NULL);
    return locked_section_open(sale, ret, err, err_len);
}

const fs_strategy strategy_redlock = {
    .name = "redlock",
    .summary = "a majority of independent servers must grant the lock",
    .source = "article 003's pointer: Redlock",
    .weakness = "several servers to ask, waiters poll, no fence; oversells when a "
                "holder stops, a write comes late or a server of --redlock forgets",
    .place = 8,
    .locked = true,
    .renews = true,
    .lease_ms = 10000,
    .wait_ms = 5000,
    .lock = {.kind = DLOCK_QUORUM},
    .open = redlock_open,
    .buy = locked_section_buy,
    .close = locked_section_close,
};
