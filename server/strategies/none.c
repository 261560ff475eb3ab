/*
 * none - no lock: the baseline, which shows why the others exist.
 *
 * Two buyers who read the stock at the same time write back the same number. The stock then lacks
 * one of the two sales (a lost update), and in the end the sale is oversold.
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
