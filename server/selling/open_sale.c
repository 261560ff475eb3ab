/* open_sale.c - what more than one of the frames does with a sale: its lock, its section. */
#include "server/selling/open_sale.h"

dlock_status sale_lock_new(const open_sale *sale, const dlock_options *options, const char *name,
                           const char *companion, dlock_lock **ret, char *err, size_t err_len)
{
    dlock_options all = *options;
    all.lease_ms = sale->terms.lease_ms;
    all.companion = companion;
    return dlock_lock_new(sale->store->locks, name, &all, ret, err, err_len);
}

void sale_hold(const open_sale *sale, dlock_time deadline)
{
    if (sale->terms.hold_ms > 0)
        dlock_sleep(dlock_sooner(dlock_in_ms(sale->terms.hold_ms), deadline));
}
