/*
 * sale_metrics.h - the current sales as metrics.
 *
 * The numbers are those that the keeper saw at its last look (sale/keeper.h, every 250 ms for up to
 * 64 items), so a scrape asks Redis nothing. Every instance tells of the items that it knows: sum
 * over instances what they did, take the maximum of what they saw.
 */
#ifndef FLASHSALE_SALE_METRICS_H
#define FLASHSALE_SALE_METRICS_H

#include "server/sale/sale_table.h"

/* Items that are told of one by one: an item is a label, and whoever starts sales chooses it.
 * Those in trouble go first. */
#define SALE_METRICS_ITEMS 64

void sale_metrics_write(sale_table *sales, fs_text *out);

#endif
