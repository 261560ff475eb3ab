/* words.c - the lines of a history, as tables: event.h in a form that a program can read. */
#include "tests/tools/buycheck/words.h"

#include <string.h>

/* A field of bc_STRUCTURE, by its name in the line and in the structure. */
#define FIELD(structure, name, member, kind, need)                                                 \
    {                                                                                              \
        name, KIND_##kind, NEED_##need, offsetof(bc_##structure, member)                           \
    }

static const bc_field sale_fields[] = {
    FIELD(sale, "id", id, TEXT, VALUE),
    FIELD(sale, "item", item, TEXT, VALUE),
    FIELD(sale, "strategy", strategy, TEXT, VALUE),
    FIELD(sale, "durability", durability, TEXT, VALUE),
    FIELD(sale, "stock", stock, UNITS, VALUE),
    FIELD(sale, "limit", limit, UNITS, VALUE),
    FIELD(sale, "segments", segments, UNITS, VALUE),
    FIELD(sale, "lease_us", lease_us, TIME, VALUE),
    FIELD(sale, "fences", fences, FLAG, NONE),
};

static const bc_field ask_fields[] = {
    FIELD(ask, "from", from_us, TIME, VALUE),
    FIELD(ask, "to", to_us, TIME, MEMBER),
    FIELD(ask, "request", request_name, TEXT, VALUE),
    FIELD(ask, "user", user_name, TEXT, VALUE),
    FIELD(ask, "quantity", quantity, UNITS, VALUE),
    FIELD(ask, "status", status, UNITS, VALUE),
    FIELD(ask, "code", code, TEXT, NONE),
    FIELD(ask, "order", order, TEXT, NONE),
    FIELD(ask, "remaining", remaining, SIGNED, NONE),
    FIELD(ask, "fence", fence, NUMBER, NONE),
    FIELD(ask, "sale", sale, TEXT, NONE),
    FIELD(ask, "instance", instance, TEXT, NONE),
};

static const bc_field look_fields[] = {
    FIELD(look, "from", from_us, TIME, VALUE),
    FIELD(look, "to", to_us, TIME, VALUE),
    FIELD(look, "request", request_name, TEXT, VALUE),
    FIELD(look, "status", status, UNITS, VALUE),
    FIELD(look, "found", found, FLAG, NONE),
    FIELD(look, "final", final, FLAG, NONE),
    FIELD(look, "order", order, TEXT, NONE),
    FIELD(look, "quantity", quantity, UNITS, NONE),
    FIELD(look, "user", user_name, TEXT, NONE),
};

static const bc_field stock_fields[] = {
    FIELD(stock, "at", at_us, TIME, NONE),
    FIELD(stock, "from", from_us, TIME, NONE),
    FIELD(stock, "to", to_us, TIME, NONE),
    FIELD(stock, "remaining", remaining, SIGNED, MEMBER),
    FIELD(stock, "units", units, UNITS, MEMBER),
    FIELD(stock, "segment", segment, UNITS, NONE),
    FIELD(stock, "oversold", oversold, UNITS, NONE),
    FIELD(stock, "source", source, TEXT, NONE),
};

static const bc_field lock_fields[] = {
    FIELD(lock, "at", at_us, TIME, VALUE),
    FIELD(lock, "key", key, TEXT, VALUE),
    FIELD(lock, "owner", owner, TEXT, MEMBER),
    FIELD(lock, "fence", fence, NUMBER, VALUE),
};

static const bc_field stranger_fields[] = {
    FIELD(stranger, "from", from_us, TIME, VALUE),
    FIELD(stranger, "to", to_us, TIME, VALUE),
    FIELD(stranger, "kept", kept, FLAG, VALUE),
};

static const bc_field fault_fields[] = {
    FIELD(turn, "at", at_us, TIME, VALUE),
    FIELD(turn, "name", name, TEXT, VALUE),
};

static const bc_field heal_fields[] = {
    FIELD(turn, "at", at_us, TIME, VALUE),
    FIELD(turn, "name", name, TEXT, NONE),
};

static const bc_field landed_fields[] = {FIELD(landed, "count", count, UNITS, VALUE)};

static const bc_field order_fields[] = {
    FIELD(order, "number", number, NUMBER, VALUE),
    FIELD(order, "request", request_name, TEXT, VALUE),
    FIELD(order, "user", user_name, TEXT, VALUE),
    FIELD(order, "quantity", quantity, UNITS, VALUE),
    FIELD(order, "fence", fence, NUMBER, VALUE),
    FIELD(order, "segment", segment, UNITS, NONE),
    FIELD(order, "remaining", remaining, SIGNED, NONE),
    FIELD(order, "instance", instance, TEXT, NONE),
};

static const bc_field rest_fields[] = {
    FIELD(rest, "remaining", remaining, SIGNED, MEMBER),
    FIELD(rest, "segment", segment, UNITS, NONE),
};

static const bc_field left_fields[] = {
    FIELD(left, "locks", locks, NUMBER, NONE),
    FIELD(left, "waiters", waiters, NUMBER, NONE),
    FIELD(left, "threads", threads, NUMBER, NONE),
    FIELD(left, "descriptors", descriptors, NUMBER, NONE),
};

/* ---- the words ------------------------------------------------------------------------------- */

#define LEN(array) (sizeof(array) / sizeof((array)[0]))
#define WORD(name, structure, fields)                                                              \
    {                                                                                              \
        name, sizeof(bc_##structure), LEN(fields), fields                                          \
    }

const bc_word_form word_forms[WORDS] = {
    [WORD_ASK] = WORD("ask", ask, ask_fields),
    [WORD_ORDER] = WORD("order", order, order_fields),
    [WORD_LOOK] = WORD("look", look, look_fields),
    [WORD_STOCK] = WORD("stock", stock, stock_fields),
    [WORD_LOCK] = WORD("lock", lock, lock_fields),
    [WORD_STRANGER] = WORD("stranger", stranger, stranger_fields),
    [WORD_FAULT] = WORD("fault", turn, fault_fields),
    [WORD_HEAL] = WORD("heal", turn, heal_fields),
    [WORD_REST] = WORD("rest", rest, rest_fields),
    [WORD_LEFT] = WORD("left", left, left_fields),
    [WORD_LANDED] = WORD("landed", landed, landed_fields),
    [WORD_SALE] = WORD("sale", sale, sale_fields),
};

bc_word word_of(const char *name)
{
    int word = 0;
    while (word < WORDS && strcmp(word_forms[word].name, name) != 0)
        word++;
    return (bc_word)word;
}

static const char *ends_late(int64_t from_us, int64_t to_us)
{
    return to_us < from_us ? "it ends before it begins" : NULL;
}

static const char *check_stock(bc_stock *stock)
{
    if (stock->at_us != UNKNOWN)
        stock->from_us = stock->to_us = stock->at_us;
    if (stock->from_us == UNKNOWN || stock->to_us == UNKNOWN)
        return "at, or from and to, is missing";
    return ends_late(stock->from_us, stock->to_us);
}

static bool is_status(int64_t status)
{
    return status == 0 || (status >= 100 && status <= 599);
}

static const char *check_ask(bc_ask *ask)
{
    if (!is_status(ask->status))
        return "the status is none of HTTP's";
    if (ask->to_us == UNKNOWN)
        ask->to_us = NEVER;
    if (ask->status == 201 && !ask->order)
        return "a 201 must have its order";
    return ends_late(ask->from_us, ask->to_us);
}

const char *word_check(bc_word word, bc_line *line)
{
    switch (word) {
    case WORD_ASK:
        return check_ask(&line->ask);
    case WORD_LOOK:
        if (!is_status(line->look.status))
            return "the status is none of HTTP's";
        return ends_late(line->look.from_us, line->look.to_us);
    case WORD_STRANGER:
        return ends_late(line->stranger.from_us, line->stranger.to_us);
    case WORD_STOCK:
        return check_stock(&line->stock);
    case WORD_ORDER:
        return line->order.number == 0 ? "orders are numbered from 1 on" : NULL;
    case WORD_HEAL:
        line->turn.heal = true;
        return NULL;
    case WORD_FAULT:
        line->turn.heal = false;
        return NULL;
    default:
        return NULL;
    }
}
