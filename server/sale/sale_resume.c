/*
 * sale_resume.c - lifting a halt: the segments first, then the item's own pointer, which is what
 * the instances go by (sale_check.c). Whoever is interrupted leaves the item halted, and asks
 * again.
 */
#include "server/sale/sale_resume.h"

#include <string.h>

#include "server/store/ledger.h"

static resume_status read_halt(fs_store *store, const char *item, int segment, dlock_time deadline,
                               sale_current *ret)
{
    switch (terms_in_force(store, item, segment, deadline, ret)) {
    case SALE_HALTED:
        return RESUME_OK;
    case SALE_UNAVAILABLE:
        return RESUME_UNAVAILABLE;
    case SALE_DAMAGED:
        return RESUME_GONE;
    default:
        return RESUME_NOT_HALTED;
    }
}

static resume_status lift(fs_store *store, const char *item, int segment, dlock_time deadline,
                          const sale_current *found)
{
    switch (halt_lift(store, item, segment, found->text, found->id, deadline)) {
    case HALT_OVER:
        return RESUME_OK;
    case HALT_GONE:
        return RESUME_GONE;
    default: /* another has lifted it, or added to it what it knew: ask again */
        return RESUME_UNAVAILABLE;
    }
}

static resume_status lift_segment(fs_store *store, const sale_terms *terms, int k,
                                  dlock_time deadline)
{
    sale_current found;
    resume_status status = read_halt(store, terms->item, k, deadline, &found);
    if (status == RESUME_NOT_HALTED && strcmp(found.id, terms->id) == 0)
        return RESUME_OK; /* lifted by one who was interrupted */
    if (status == RESUME_NOT_HALTED || (status == RESUME_OK && strcmp(found.id, terms->id) != 0))
        return RESUME_GONE;
    return status == RESUME_OK ? lift(store, terms->item, k, deadline, &found) : status;
}

/* Who had looked at a segment before it was lifted may have halted it since. */
static resume_status verify_segment(fs_store *store, const sale_terms *terms, int k,
                                    dlock_time deadline)
{
    sale_current found;
    sale_status status = terms_in_force(store, terms->item, k, deadline, &found);
    return status == SALE_OK && strcmp(found.id, terms->id) == 0 ? RESUME_OK : RESUME_UNAVAILABLE;
}

/* The terms and the stock must be there, and add up. */
static resume_status read_sale(fs_store *store, const char *item, const char *sale,
                               dlock_time deadline, sale_terms *ret)
{
    char err[256];
    ledger_numbers numbers;
    sale_status status = terms_read(store, item, sale, deadline, ret, err, sizeof(err));
    if (status != SALE_OK)
        return status == SALE_UNAVAILABLE ? RESUME_UNAVAILABLE : RESUME_GONE;
    ledger_status counted = ledger_count(store, ret, false, deadline, &numbers);
    return counted == LEDGER_FOUND         ? RESUME_OK
           : counted == LEDGER_UNAVAILABLE ? RESUME_UNAVAILABLE
                                           : RESUME_GONE;
}

resume_status sale_resume(fs_store *store, const char *item, const char *sale, int64_t lost_orders,
                          dlock_time deadline, sale_halt *halt)
{
    sale_current found;
    sale_terms terms;
    resume_status status = read_halt(store, item, SEGMENT_NONE, deadline, &found);
    if (status != RESUME_OK)
        return status;
    *halt = found.halt;
    if (strcmp(found.id, sale) != 0 || halt_lost_orders(halt) != lost_orders)
        return RESUME_OTHER;
    status = read_sale(store, item, sale, deadline, &terms);
    for (int k = 0; status == RESUME_OK && k < terms.segments; k++)
        status = lift_segment(store, &terms, k, deadline);
    if (status == RESUME_OK)
        status = lift(store, item, SEGMENT_NONE, deadline, &found);
    for (int k = 0; status == RESUME_OK && k < terms.segments; k++)
        status = verify_segment(store, &terms, k, deadline);
    return status;
}
