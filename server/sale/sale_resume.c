/*
 * sale_resume.c - lifts a halt: of the segments first, then of the item's own pointer, which the
 * instances obey (sale_check.c). If it is interrupted, the item stays halted; ask again.
 */
#include <stdlib.h>
#include <string.h>

#include "server/sale/sale_start.h"
#include "server/store/ledger.h"

/* The halt under a tag, of this sale only; NULL = of any sale. */
static resume_status read_halt(fs_store *store, const char *item, int segment, const char *sale,
                               dlock_time deadline, sale_current *ret)
{
    sale_status status = terms_in_force(store, item, segment, deadline, ret);
    if (status == SALE_UNAVAILABLE)
        return RESUME_UNAVAILABLE;
    if (status == SALE_DAMAGED || (sale && strcmp(ret->id, sale) != 0))
        return RESUME_GONE;
    return status == SALE_HALTED ? RESUME_OK : RESUME_NOT_HALTED;
}

/* Lifts the segments' halts. Together they must have no more lost orders than the item's halt,
 * which the admin was told. */
static resume_status lift_segments(fs_store *store, const sale_terms *terms, const sale_halt *item,
                                   dlock_time deadline)
{
    int64_t lost = 0;
    resume_status status = RESUME_OK;
    sale_current *found = calloc(SEGMENTS_MAX, sizeof(*found));
    if (!found)
        return RESUME_UNAVAILABLE;
    for (int k = 0; status == RESUME_OK && k < terms->segments; k++) {
        status = read_halt(store, terms->item, k, terms->id, deadline, &found[k]);
        lost += halt_lost_orders(&found[k].halt);
        if (status == RESUME_NOT_HALTED) /* an interrupted resume has lifted it */
            status = RESUME_OK;
    }
    if (status == RESUME_OK && lost > halt_lost_orders(item)) /* an instance is about to add it */
        status = RESUME_UNAVAILABLE;
    for (int k = 0; status == RESUME_OK && k < terms->segments; k++)
        if (found[k].halt.sale[0] != '\0')
            status = halt_lift(store, terms->item, k, found[k].text, terms->id, deadline);
    free(found);
    return status;
}

/* The terms and the stock must be there, and add up. */
static resume_status read_sale(fs_store *store, const char *item, const char *sale,
                               dlock_time deadline, sale_terms *ret)
{
    ledger_numbers numbers;
    sale_status status = terms_read(store, item, sale, deadline, ret, NULL, 0);
    ledger_status found = status == SALE_OK ? ledger_count(store, ret, false, deadline, &numbers)
                                            : ledger_of_sale(status);
    return found == LEDGER_FOUND         ? RESUME_OK
           : found == LEDGER_UNAVAILABLE ? RESUME_UNAVAILABLE
                                         : RESUME_GONE;
}

resume_status sale_resume(fs_store *store, const char *item, const char *sale, int64_t lost_orders,
                          dlock_time deadline, sale_halt *halt)
{
    sale_current found;
    sale_terms terms;
    resume_status status = read_halt(store, item, SEGMENT_NONE, NULL, deadline, &found);
    if (status != RESUME_OK)
        return status;
    *halt = found.halt;
    if (strcmp(found.id, sale) != 0 || halt_lost_orders(halt) != lost_orders)
        return RESUME_OTHER;
    status = read_sale(store, item, sale, deadline, &terms);
    if (status == RESUME_OK)
        status = lift_segments(store, &terms, halt, deadline);
    if (status == RESUME_OK)
        status = halt_lift(store, item, SEGMENT_NONE, found.text, sale, deadline);
    /* a process that looked at a segment before it was lifted may have halted it since */
    for (int k = 0; status == RESUME_OK && k < terms.segments; k++)
        if (read_halt(store, item, k, sale, deadline, &found) != RESUME_NOT_HALTED)
            status = RESUME_UNAVAILABLE;
    return status;
}
