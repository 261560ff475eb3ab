/* order.c - the members of an order, as a table of names in JSON and in the history. */
#include "loadtest/history/order.h"

#include "loadtest/history/format.h"

#define LEN(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
    const char *json, *told, *listed;
    size_t offset;
    bool is_id; /* a number will do */
} texts[] = {
    {"order", "order", "order", offsetof(lt_order, order), true},
    {"request", "told_request", "request", offsetof(lt_order, request), false},
    {"item", "told_item", "item", offsetof(lt_order, item), false},
    {"sale", "sale", "sale", offsetof(lt_order, sale), true},
    {"user", "told_user", "user", offsetof(lt_order, user), false},
    {"instance", "instance", "instance", offsetof(lt_order, instance), false},
    {"state", "state", "state", offsetof(lt_order, state), false},
};

static const struct {
    const char *json, *told;
    size_t offset;
    int64_t low, high; /* beyond which it is none that the history can have */
} wholes[] = {
    {"quantity", "told_quantity", offsetof(lt_order, quantity), 0, HISTORY_UNITS_MAX},
    {"remaining", "remaining", offsetof(lt_order, remaining), -HISTORY_UNITS_MAX,
     HISTORY_UNITS_MAX},
    {"fence", "fence", offsetof(lt_order, fence), 0, HISTORY_NUMBER_MAX},
    {"time_us", "time_us", offsetof(lt_order, time_us), 0, HISTORY_NUMBER_MAX},
    {"expires_us", "expires_us", offsetof(lt_order, expires_us), 0, HISTORY_NUMBER_MAX},
};

static const void *at(const lt_order *order, size_t offset)
{
    return (const char *)order + offset;
}

void order_from_json(const cJSON *object, lt_order *ret)
{
    for (size_t i = 0; i < LEN(texts); i++)
        *(lt_text *)(void *)((char *)ret + texts[i].offset) =
            texts[i].is_id ? json_read_id(object, texts[i].json)
                           : json_read_text(object, texts[i].json);
    for (size_t i = 0; i < LEN(wholes); i++) {
        lt_whole whole = json_read_whole(object, wholes[i].json);
        if (whole.form == FORM_GOOD &&
            (whole.value < wholes[i].low || whole.value > wholes[i].high))
            whole = (lt_whole){.form = FORM_OTHER};
        *(lt_whole *)(void *)((char *)ret + wholes[i].offset) = whole;
    }
}

static void write_text(lt_pen *pen, const char *name, const lt_text *text)
{
    if (text->form == FORM_GOOD)
        pen_text(pen, name, text->text);
    else if (text->form != FORM_ABSENT)
        pen_raw(pen, name, "?");
}

static void write_whole(lt_pen *pen, const char *name, const lt_whole *whole)
{
    if (whole->form == FORM_GOOD)
        pen_number(pen, name, whole->value);
    else if (whole->form != FORM_ABSENT)
        pen_raw(pen, name, "?");
}

void order_write_told(lt_pen *pen, const lt_order *order)
{
    for (size_t i = 0; i < LEN(texts); i++)
        write_text(pen, texts[i].told, at(order, texts[i].offset));
    for (size_t i = 0; i < LEN(wholes); i++)
        write_whole(pen, wholes[i].told, at(order, wholes[i].offset));
}

void order_write_listed(lt_pen *pen, const lt_order *order, const lt_order *page)
{
    for (size_t i = 0; i < LEN(texts); i++) {
        const lt_text *text = at(order, texts[i].offset);
        bool of_page = text->form == FORM_ABSENT && (text == &order->item || text == &order->sale);
        write_text(pen, texts[i].listed, of_page ? at(page, texts[i].offset) : text);
    }
    for (size_t i = 0; i < LEN(wholes); i++)
        write_whole(pen, wholes[i].json, at(order, wholes[i].offset));
}
