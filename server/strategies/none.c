/*
 * none - no lock at all: the baseline, and the reason for all the others.
 *
 * Two buyers who read the stock at the same time both write back the same number. One of the two
 * sales is then missing from the stock, and in the end more is sold than there was.
 */
#include "server/selling/read_then_write.h"
#include "server/selling/strategy.h"

static void none_buy(const open_sale *sale, void *state, const purchase *request,
                     purchase_result *result)
{
    (void)state;
    read_then_write(sale, request, (fs_section){.fence = 0}, result);
}

const fs_strategy strategy_none = {
    .name = "none",
    .summary = "reads the stock, checks it, writes it back; no lock",
    .source = "the baseline",
    .weakness = "loses sales between reading and writing, and so oversells",
    .place = 1,
    .buy = none_buy,
};
