/* words.c - the lines of a history as tables: format.h in a form that a program can read. */
#include "loadtest/history/words.h"

#include <string.h>

/* A field of lt_STRUCTURE, by its name in the line and in the structure. */
#define FIELD(structure, name, member, kind, need)                                                 \
    {                                                                                              \
        name, KIND_##kind, NEED_##need, offsetof(lt_##structure, member)                           \
    }

static const lt_field sale_fields[] = {
    FIELD(sale_line, "id", id, TEXT, VALUE),
    FIELD(sale_line, "item", item, TEXT, VALUE),
    FIELD(sale_line, "strategy", strategy, TEXT, VALUE),
    FIELD(sale_line, "durability", durability, TEXT, VALUE),
    FIELD(sale_line, "stock", stock, UNITS, VALUE),
    FIELD(sale_line, "limit", limit, UNITS, VALUE),
    FIELD(sale_line, "segments", segments, UNITS, VALUE),
    FIELD(sale_line, "lease_us", lease_us, TIME, VALUE),
    FIELD(sale_line, "reserve_us", reserve_us, TIME, NONE),
    FIELD(sale_line, "wait_us", wait_us, TIME, NONE),
    FIELD(sale_line, "guarded", guarded, FLAG, NONE),
    FIELD(sale_line, "fences", fences, FLAG, NONE),
    FIELD(sale_line, "failovers", failovers, FLAG, NONE),
    FIELD(sale_line, "wall_us", wall_us, TIME, NONE),
    FIELD(sale_line, "at", at_us, TIME, NONE),
};

/* The members that an answer tells of an order. */
#define TOLD_FIELDS(structure)                                                                     \
    FIELD(structure, "order", told.order, TEXT, TOLD),                                             \
        FIELD(structure, "told_request", told.request, TEXT, TOLD),                                \
        FIELD(structure, "told_item", told.item, TEXT, TOLD),                                      \
        FIELD(structure, "told_user", told.user, TEXT, TOLD),                                      \
        FIELD(structure, "told_quantity", told.quantity, NUMBER, TOLD),                            \
        FIELD(structure, "sale", told.sale, TEXT, TOLD),                                           \
        FIELD(structure, "remaining", told.remaining, SIGNED, TOLD),                               \
        FIELD(structure, "fence", told.fence, NUMBER, TOLD),                                       \
        FIELD(structure, "instance", told.instance, TEXT, TOLD),                                   \
        FIELD(structure, "state", told.state, TEXT, TOLD),                                         \
        FIELD(structure, "time_us", told.time_us, TIME, TOLD),                                     \
        FIELD(structure, "expires_us", told.expires_us, TIME, TOLD)

static const lt_field ask_fields[] = {
    FIELD(ask, "from", from_us, TIME, VALUE),
    FIELD(ask, "to", to_us, TIME, MEMBER),
    FIELD(ask, "request", request_name, TEXT, VALUE),
    FIELD(ask, "user", user, TEXT, VALUE),
    FIELD(ask, "quantity", quantity, UNITS, NONE),
    FIELD(ask, "target", target, TEXT, VALUE),
    FIELD(ask, "asked", asked, TEXT, NONE),
    FIELD(ask, "keyed", keyed, FLAG, NONE),
    FIELD(ask, "not_after", not_after_us, TIME, NONE),
    FIELD(ask, "reserve_us", reserve_us, TIME, NONE),
    FIELD(ask, "status", status, UNITS, VALUE),
    FIELD(ask, "sent", sent, FLAG, NONE),
    FIELD(ask, "code", code, TEXT, TOLD),
    FIELD(ask, "replayed", replayed, FLAG, NONE),
    FIELD(ask, "location", location, TEXT, NONE),
    FIELD(ask, "body", body, TEXT, NONE),
    FIELD(ask, "unread", unread, TEXT, NONE),
    TOLD_FIELDS(ask),
};

static const lt_field look_fields[] = {
    FIELD(look, "from", from_us, TIME, VALUE),
    FIELD(look, "to", to_us, TIME, VALUE),
    FIELD(look, "request", request_name, TEXT, VALUE),
    FIELD(look, "target", target, TEXT, VALUE),
    FIELD(look, "asked", asked, TEXT, NONE),
    FIELD(look, "not_after", not_after_us, TIME, NONE),
    FIELD(look, "status", status, UNITS, VALUE),
    FIELD(look, "code", code, TEXT, TOLD),
    FIELD(look, "final", final, FLAG, TOLD),
    FIELD(look, "body", body, TEXT, NONE),
    FIELD(look, "unread", unread, TEXT, NONE),
    TOLD_FIELDS(look),
};

static const lt_field stock_fields[] = {
    FIELD(stock_line, "at", at_us, TIME, NONE),
    FIELD(stock_line, "from", from_us, TIME, NONE),
    FIELD(stock_line, "to", to_us, TIME, NONE),
    FIELD(stock_line, "target", target, TEXT, NONE),
    FIELD(stock_line, "segment", segment, UNITS, NONE),
    FIELD(stock_line, "source", source, TEXT, NONE),
    FIELD(stock_line, "status", status, UNITS, NONE),
    FIELD(stock_line, "remaining", remaining, SIGNED, TOLD),
    FIELD(stock_line, "units", units, NUMBER, TOLD),
    FIELD(stock_line, "orders", orders, NUMBER, TOLD),
    FIELD(stock_line, "initial", initial, NUMBER, TOLD),
    FIELD(stock_line, "strategy", strategy, TEXT, TOLD),
    FIELD(stock_line, "sale", sale, TEXT, TOLD),
    FIELD(stock_line, "oversold", oversold, NUMBER, TOLD),
    FIELD(stock_line, "lost_updates", lost_updates, NUMBER, TOLD),
    FIELD(stock_line, "unordered", unordered, NUMBER, TOLD),
    FIELD(stock_line, "halted", halted, TEXT, TOLD),
    FIELD(stock_line, "lost_orders", lost_orders, NUMBER, TOLD),
    FIELD(stock_line, "reserved", reserved, NUMBER, TOLD),
    FIELD(stock_line, "sold", sold, NUMBER, TOLD),
    FIELD(stock_line, "time_us", time_us, TIME, TOLD),
};

static const lt_field lock_fields[] = {
    FIELD(lock_line, "at", at_us, TIME, VALUE),
    FIELD(lock_line, "key", key, TEXT, VALUE),
    FIELD(lock_line, "owner", owner, TEXT, MEMBER),
    FIELD(lock_line, "fence", fence, NUMBER, VALUE),
};

static const lt_field stranger_fields[] = {
    FIELD(stranger, "from", from_us, TIME, VALUE),
    FIELD(stranger, "to", to_us, TIME, VALUE),
    FIELD(stranger, "kept", kept, FLAG, VALUE),
};

static const lt_field fault_fields[] = {
    FIELD(turn, "at", at_us, TIME, VALUE),
    FIELD(turn, "name", name, TEXT, VALUE),
    FIELD(turn, "clocks", clocks, FLAG, NONE),
};

static const lt_field heal_fields[] = {
    FIELD(turn, "at", at_us, TIME, VALUE),
    FIELD(turn, "name", name, TEXT, NONE),
};

static const lt_field order_fields[] = {
    FIELD(order, "number", number, NUMBER, NONE),
    FIELD(order, "segment", segment, UNITS, NONE),
    FIELD(order, "audit", audit, UNITS, NONE),
    FIELD(order, "request", told.request, TEXT, VALUE),
    FIELD(order, "user", told.user, TEXT, BOOK),
    FIELD(order, "quantity", told.quantity, UNITS, BOOK),
    FIELD(order, "order", told.order, TEXT, TOLD),
    FIELD(order, "item", told.item, TEXT, TOLD),
    FIELD(order, "sale", told.sale, TEXT, TOLD),
    FIELD(order, "remaining", told.remaining, SIGNED, TOLD),
    FIELD(order, "fence", told.fence, NUMBER, TOLD),
    FIELD(order, "instance", told.instance, TEXT, TOLD),
    FIELD(order, "state", told.state, TEXT, TOLD),
    FIELD(order, "time_us", told.time_us, TIME, TOLD),
    FIELD(order, "expires_us", told.expires_us, TIME, TOLD),
};

static const lt_field audit_fields[] = {
    FIELD(audit_line, "n", n, UNITS, VALUE),
    FIELD(audit_line, "from", from_us, TIME, VALUE),
    FIELD(audit_line, "to", to_us, TIME, VALUE),
    FIELD(audit_line, "status", status, UNITS, VALUE),
    FIELD(audit_line, "target", target, TEXT, NONE),
    FIELD(audit_line, "why", why, TEXT, NONE),
};

static const lt_field rest_fields[] = {
    FIELD(rest, "remaining", remaining, SIGNED, MEMBER),
    FIELD(rest, "segment", segment, UNITS, NONE),
};

static const lt_field left_fields[] = {
    FIELD(left, "locks", locks, NUMBER, NONE),
    FIELD(left, "waiters", waiters, NUMBER, NONE),
    FIELD(left, "threads", threads, NUMBER, NONE),
    FIELD(left, "descriptors", descriptors, NUMBER, NONE),
};

static const lt_field doubt_fields[] = {FIELD(doubt, "why", why, TEXT, VALUE)};
static const lt_field landed_fields[] = {FIELD(landed, "count", count, NUMBER, VALUE)};
static const lt_field end_fields[] = {FIELD(end, "truncated", truncated, TEXT, NONE)};

/* ---- the words ------------------------------------------------------------------------------- */

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define WORD(name, structure, fields)                                                              \
    {                                                                                              \
        name, sizeof(lt_##structure), LEN(fields), fields                                          \
    }

const lt_word_form word_forms[WORDS] = {
    [WORD_ASK] = WORD("ask", ask, ask_fields),
    [WORD_ORDER] = WORD("order", order, order_fields),
    [WORD_LOOK] = WORD("look", look, look_fields),
    [WORD_CONFIRM] = WORD("confirm", look, look_fields),
    [WORD_CANCEL] = WORD("cancel", look, look_fields),
    [WORD_STOCK] = WORD("stock", stock_line, stock_fields),
    [WORD_LOCK] = WORD("lock", lock_line, lock_fields),
    [WORD_STRANGER] = WORD("stranger", stranger, stranger_fields),
    [WORD_FAULT] = WORD("fault", turn, fault_fields),
    [WORD_HEAL] = WORD("heal", turn, heal_fields),
    [WORD_AUDIT] = WORD("audit", audit_line, audit_fields),
    [WORD_REST] = WORD("rest", rest, rest_fields),
    [WORD_LEFT] = WORD("left", left, left_fields),
    [WORD_DOUBT] = WORD("doubt", doubt, doubt_fields),
    [WORD_LANDED] = WORD("landed", landed, landed_fields),
    [WORD_SALE] = WORD("sale", sale_line, sale_fields),
    [WORD_END] = WORD("end", end, end_fields),
};

_Static_assert(LEN(ask_fields) <= FIELDS_MAX && LEN(look_fields) <= FIELDS_MAX, "one bit each");

lt_word word_of(const char *name)
{
    int word = 0;
    while (word < WORDS && strcmp(word_forms[word].name, name) != 0)
        word++;
    return (lt_word)word;
}

static const char *ends_late(int64_t from_us, int64_t to_us)
{
    return to_us < from_us ? "it ends before it begins" : NULL;
}

static bool is_status(int64_t status)
{
    return status == 0 || (status >= 100 && status <= 999);
}

static const char *check_stock(lt_stock_line *stock)
{
    if (stock->at_us != UNKNOWN)
        stock->from_us = stock->to_us = stock->at_us;
    if (stock->from_us == UNKNOWN || stock->to_us == UNKNOWN)
        return "at, or from and to, is missing";
    if (stock->status == UNKNOWN)
        stock->status = 200;
    if (stock->status != 200 && (stock->remaining != UNKNOWN || stock->units != UNKNOWN))
        return "it has numbers although it failed";
    return ends_late(stock->from_us, stock->to_us);
}

static const char *check_ask(lt_ask *ask)
{
    if (!is_status(ask->status))
        return "the status is none of HTTP's";
    if (ask->to_us == UNKNOWN)
        ask->to_us = NEVER;
    if (ask->quantity == UNKNOWN)
        ask->quantity = 1;
    ask->told.time_us = UNKNOWN; /* told only by a lookup */
    return ends_late(ask->from_us, ask->to_us);
}

static const char *check_order(lt_order *order)
{
    if (order->number == 0)
        return "orders are numbered from 1 on";
    if ((order->number == UNKNOWN) == (order->told.order == TEXT_NONE))
        return "it needs an order or a number";
    if (order->audit == UNKNOWN)
        order->audit = 1;
    return NULL;
}

const char *word_check(lt_word word, lt_line *line)
{
    switch (word) {
    case WORD_ASK:
        return check_ask(&line->ask);
    case WORD_LOOK:
    case WORD_CONFIRM:
    case WORD_CANCEL:
        line->look.ending = (lt_ending)(word - WORD_LOOK);
        if (!is_status(line->look.status))
            return "the status is none of HTTP's";
        return ends_late(line->look.from_us, line->look.to_us);
    case WORD_STRANGER:
        return ends_late(line->stranger.from_us, line->stranger.to_us);
    case WORD_AUDIT:
        if (!is_status(line->audit.status))
            return "the status is none of HTTP's";
        return ends_late(line->audit.from_us, line->audit.to_us);
    case WORD_STOCK:
        return check_stock(&line->stock);
    case WORD_ORDER:
        return check_order(&line->order);
    case WORD_HEAL:
        line->turn.heal = true;
        return NULL;
    default:
        return NULL;
    }
}
