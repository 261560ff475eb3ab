/* export.h - the orders of the database as comma-separated values (RFC 4180) on stdout. */
#ifndef FLASHSALE_ORDERS_EXPORT_H
#define FLASHSALE_ORDERS_EXPORT_H

#include "server/orders/database.h"

/* `item`, `sale`: NULL = all. Returns 0, or 69 after an error message. */
int export_csv(database *db, const char *item, const char *sale);

#endif
