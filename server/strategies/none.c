/*
 * none - no lock at all: the baseline, and the reason for all the others.
 *
 * Two buyers who read the stock at the same time both write back the same number. One of the two
 * sales is then missing from the stock, and in the end more is sold than there was.
 */
#include "server/selling/read_then_write.h"

static int none_open(const sale_terms *terms, void **state, char *err, size_t err_len)
{
    (void)err, (void)err_len;
    *state = (void *)terms;
    return 0;
}

static void none_buy(void *state, const buy_request *request, buy_result *result)
{
    read_then_write(state, request, (fs_section){.fence = 0}, result);
}

static void none_close(void *state)
{
    (void)state;
}

const fs_strategy strategy_none = {
    .name = "none",
    .summary = "reads the stock, checks it, writes it back; no lock",
    .source = "the baseline",
    .weakness = "loses sales between reading and writing, and so oversells",
    .open = none_open,
    .buy = none_buy,
    .close = none_close,
};
