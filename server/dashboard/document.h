/*
 * document.h - the live document of an item as JSON: see API.md, GET /dashboard.
 *
 * It names no user and no request: whoever can see the page may read it.
 */
#ifndef FLASHSALE_DOCUMENT_H
#define FLASHSALE_DOCUMENT_H

#include "server/dashboard/instances.h"
#include "server/dashboard/item_view.h"

/* Appends its members, from "item" on, with the brace that ends it. */
void document_write(fs_text *out, const item_view *view, const instances *in);

#endif
