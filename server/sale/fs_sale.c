/* fs_sale.c - opening and closing a sale in this process, and its line of descent. */
#include "server/sale/fs_sale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/strategies/registry.h"

/* NULL and a sentence in err. */
static fs_sale *open_strategy(fs_store *store, const sale_terms *terms, const fs_strategy *strategy,
                              char *err, size_t err_len)
{
    fs_sale *sale = calloc(1, sizeof(*sale));
    snprintf(err, err_len, "out of memory");
    bool opened = sale && sale_open(&sale->open_sale, terms, strategy, store);
    if (opened &&
        (!strategy->open || strategy->open(&sale->open_sale, &sale->strategy, err, err_len) == 0))
        return sale;
    if (opened)
        sale_close(&sale->open_sale);
    free(sale);
    return NULL;
}

sale_status fs_sale_open(fs_store *store, const char *item, const char *id, dlock_time deadline,
                         fs_sale **ret, char *err, size_t err_len)
{
    sale_terms terms;
    sale_status status = terms_read(store, item, id, deadline, &terms, err, err_len);
    const fs_strategy *strategy = status == SALE_OK ? strategy_find(terms.strategy) : NULL;
    if (status == SALE_OK && !strategy) {
        snprintf(err, err_len, "the sale wants strategy '%s' and durability '%s'", terms.strategy,
                 durability_name(terms.durability));
        status = SALE_UNREADABLE;
    }
    if (status != SALE_OK)
        return status == SALE_NONE ? SALE_DAMAGED : status;
    *ret = open_strategy(store, &terms, strategy, err, err_len);
    return *ret ? SALE_OK : SALE_UNREADABLE;
}

void fs_sale_close(fs_sale *sale)
{
    if (sale->open_sale.strategy->close)
        sale->open_sale.strategy->close(sale->strategy);
    sale_close(&sale->open_sale);
    free(sale);
}

/* A sale's id is the moment of its start. */
static bool was_accepted_after(const sale_terms *terms, const sale_terms *remembered)
{
    return terms->accepted > strtoll(remembered->id, NULL, 16) &&
           terms->accepted > remembered->accepted;
}

sale_status fs_sale_descends(const fs_sale *sale, const sale_terms *remembered, dlock_time deadline)
{
    char err[256];
    fs_store *store = sale->open_sale.store;
    sale_terms at = sale->open_sale.terms;
    while (!was_accepted_after(&at, remembered) && strcmp(at.previous, remembered->id) > 0) {
        sale_terms before;
        sale_status status =
            terms_read(store, at.item, at.previous, deadline, &before, err, sizeof(err));
        if (status == SALE_UNAVAILABLE)
            return status;
        if (status == SALE_UNREADABLE) /* its program has seen to what it follows */
            return SALE_OK;
        if (status != SALE_OK) /* no wonder, if it is not kept any more */
            return terms_keep_previous(&at, store) ? SALE_NONE : SALE_OK;
        at = before;
    }
    bool follows = strcmp(at.previous, remembered->id) == 0;
    return follows || was_accepted_after(&at, remembered) ? SALE_OK : SALE_NONE;
}
