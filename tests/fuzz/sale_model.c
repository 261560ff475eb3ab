/* sale_model.c - see sale_model.h. The order of the questions is what the API promises. */
#include "tests/fuzz/sale_model.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/hash.h"

void model_open(model_sale *sale)
{
    for (int k = 0; k < sale->segments; k++)
        sale->left[k] = model_units(sale, k);
}

int model_units(const model_sale *sale, int k)
{
    return sale->initial / sale->segments + (k < sale->initial % sale->segments);
}

int model_left(const model_sale *sale)
{
    int left = 0;
    for (int k = 0; k < sale->segments; k++)
        left += sale->left[k];
    return left;
}

bool model_is_id(const model_sale *sale, const model_order *order, const char *id)
{
    char wanted[MODEL_ID + 40], part[16] = "";
    if (sale->sharded)
        snprintf(part, sizeof(part), "%d-", order->segment);
    size_t before = strlen(sale->id) + 1 + strlen(part);
    const char *epoch = strlen(id) > before + 12 ? id + before : "";
    snprintf(wanted, sizeof(wanted), "%s-%s%.12s-%d", sale->id, part, epoch, order->number);
    return strcmp(id, wanted) == 0;
}

const model_order *model_find(const model_sale *sale, const char *request)
{
    for (int i = 0; i < sale->orders_len; i++)
        if (strcmp(sale->orders[i].request, request) == 0)
            return &sale->orders[i];
    return NULL;
}

static int units_of(const model_sale *sale, const char *user)
{
    int units = 0;
    for (int i = 0; i < sale->orders_len; i++)
        units += strcmp(sale->orders[i].user, user) == 0 ? sale->orders[i].quantity : 0;
    return units;
}

static model_answer refused(int status, const char *code)
{
    return (model_answer){.status = status, .code = code};
}

static model_answer sell(model_sale *sale, int k, const char *request, const char *user,
                         int quantity)
{
    model_order *order = &sale->orders[sale->orders_len++];
    sale->left[k] -= quantity;
    *order = (model_order){.quantity = quantity,
                           .remaining = sale->left[k],
                           .segment = k,
                           .number = ++sale->numbers[k]};
    snprintf(order->request, sizeof(order->request), "%s", request);
    snprintf(order->user, sizeof(order->user), "%s", user);
    return (model_answer){.status = 201, .order = order};
}

model_answer model_buy(model_sale *sale, model_note *note, const char *request, const char *user,
                       int quantity, bool late)
{
    const model_order *earlier = model_find(sale, request);
    if (earlier && earlier->quantity == quantity && strcmp(earlier->user, user) == 0)
        return (model_answer){.status = 201, .order = earlier, .replayed = true};
    if (earlier)
        return refused(422, "request_reused");
    if (note && note->never)
        return refused(409, "request_void");
    if (sale->closed)
        return refused(409, "sale_closed");
    if (late)
        return refused(409, "too_late");
    if (sale->limit > 0 && units_of(sale, user) + quantity > sale->limit)
        return refused(409, quantity > sale->limit ? "quantity_above_limit" : "limit_reached");
    for (int i = 0; i < sale->segments; i++) {
        int k = (int)((fx_hash(request) + (uint32_t)i) % (uint32_t)sale->segments);
        if (note && note->passed[k])
            continue;
        if (quantity <= sale->left[k])
            return sell(sale, k, request, user, quantity);
        if (note) /* a smaller quantity must not come back to where the larger was refused */
            note->passed[k] =
                sale->segments > 1 && sale->left[k] > 0 && quantity <= model_units(sale, 0);
    }
    if (note && !sale->replayable)
        note->never = true;
    return refused(409, "sold_out");
}
