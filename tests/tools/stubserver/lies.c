/* lies.c - a table of lies, searched whenever something is said. */
#include "tests/tools/stubserver/lies.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum kind { EVERY, FIRST, NTH, OLD, YOUNG, TARGET, AWAY, FROM, TO, LEFT, AUDIT, PAGE, KINDS };

static const char *const kinds[KINDS] = {"every", "first", "nth", "old",  "young", "target",
                                         "away",  "from",  "to",  "left", "audit", "page"};

/* ---- reading --------------------------------------------------------------------------------- */

static bool add_condition(struct lie *lie, const char *word, size_t length)
{
    size_t name = strcspn(word, "=,:");
    for (int kind = 0; kind < KINDS && lie->condition_count < CONDITIONS_MAX; kind++) {
        if (strlen(kinds[kind]) != name || memcmp(kinds[kind], word, name) != 0)
            continue;
        lie->conditions[lie->condition_count].kind = kind;
        lie->conditions[lie->condition_count++].value =
            name < length ? strtoll(word + name + 1, NULL, 10) : 0;
        return true;
    }
    return false;
}

bool lies_add(struct lies *lies, const char *text)
{
    if (lies->count == LIES_MAX)
        return false;
    struct lie *lie = &lies->lies[lies->count++];
    size_t colon = strcspn(text, ":.");
    for (const char *word = text; text[colon] == ':' && word <= text + colon;) {
        size_t length = strcspn(word, ",:");
        if (!add_condition(lie, word, length))
            return false;
        word += length + 1;
    }
    text += text[colon] == ':' ? colon + 1 : 0;
    const char *dot = strchr(text, '.'), *equals = strchr(text, '=');
    if (dot == NULL || equals == NULL || equals < dot)
        return false;
    snprintf(lie->place, sizeof(lie->place), "%.*s", (int)(dot - text), text);
    snprintf(lie->field, sizeof(lie->field), "%.*s", (int)(equals - dot - 1), dot + 1);
    snprintf(lie->value, sizeof(lie->value), "%s", equals + 1);
    return true;
}

/* ---- when ------------------------------------------------------------------------------------ */

static bool holds(const struct occasion *at, int kind, int64_t value)
{
    const struct order *order = at->order;
    switch (kind) {
    case NTH:
        return order != NULL && order->sequence % value == 0;
    case OLD:
        return order != NULL && at->now_ms - order->made_ms >= value;
    case YOUNG:
        return order != NULL && at->now_ms - order->made_ms < value;
    case TARGET:
        return at->target == value;
    case AWAY:
        return order != NULL && order->target != at->target;
    case FROM:
        return at->buys >= value;
    case TO:
        return at->buys <= value;
    case LEFT:
        return at->left * 100 <= at->initial * value;
    case AUDIT:
        return at->audit == value;
    case PAGE:
        return at->page == value;
    default:
        return true;
    }
}

static bool is_told(struct lie *lie, const struct occasion *at)
{
    int64_t every = 1, first = INT64_MAX;
    for (int i = 0; i < lie->condition_count; i++) {
        int64_t value = lie->conditions[i].value;
        if (!holds(at, lie->conditions[i].kind, value))
            return false;
        every = lie->conditions[i].kind == EVERY ? value : every;
        first = lie->conditions[i].kind == FIRST ? value : first;
    }
    lie->count++;
    return lie->count % every == 0 && lie->count <= first;
}

const char *lies_about(struct lies *lies, const char *place, const char *field)
{
    for (int i = 0; i < lies->count; i++) {
        struct lie *lie = &lies->lies[i];
        bool here = lie->place[0] == '*' || strcmp(lie->place, place) == 0;
        if (here && strcmp(lie->field, field) == 0 && is_told(lie, &lies->at))
            return lie->value;
    }
    return NULL;
}

bool lies_does(struct lies *lies, const char *place, const char *field, const char *value)
{
    const char *lie = lies_about(lies, place, field);
    return lie != NULL && (value == NULL || strcmp(lie, value) == 0);
}

/* ---- what ------------------------------------------------------------------------------------ */

/* The number at the end of a value, and where it begins. */
static int64_t last_number(const char *value, size_t *ret_start)
{
    size_t start = strlen(value);
    while (start > 0 && isdigit((unsigned char)value[start - 1]))
        start--;
    *ret_start = start;
    return (int64_t)strtoll(value + start, NULL, 10);
}

bool lies_value(struct lies *lies, const char *place, const char *field, bool quoted,
                const char *value, const char *other, char *said, size_t size)
{
    const char *lie = lies_about(lies, place, field), *quote = quoted ? "\"" : "";
    size_t start, minus = lie == NULL ? 0 : strspn(lie, "0123456789");
    int64_t number = last_number(value, &start), operand = 0;
    if (lie != NULL && lie[0] != '\0')
        operand = strtoll(lie[0] == '/' || lie[0] == '+' ? lie + 1 : lie, NULL, 10);
    if (lie == NULL)
        snprintf(said, size, "%s%s%s", quote, value, quote);
    else if (lie[0] == '\0')
        return false;
    else if (strcmp(lie, "other") == 0)
        snprintf(said, size, "%s%s%s", quote, other == NULL ? value : other, quote);
    else if (strcmp(lie, "#") == 0)
        snprintf(said, size, "%s", value);
    else if (strcmp(lie, "zero") == 0)
        snprintf(said, size, "%s%.*s0%s%s", quote, (int)start, value, value + start, quote);
    else if (lie[0] == '+')
        snprintf(said, size, "%s%.*s%" PRId64 "%s", quote, (int)start, value, number + operand,
                 quote);
    else if (minus > 0 && strcmp(lie + minus, "-") == 0)
        snprintf(said, size, "%" PRId64, operand - number);
    else if (lie[0] == '/')
        snprintf(said, size, "%" PRId64, number / operand * operand);
    else
        snprintf(said, size, "%s", lie);
    return true;
}

/* ---- text ------------------------------------------------------------------------------------ */

void text_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(text->text + text->length, text->room - text->length, format, args);
    va_end(args);
    if (length > 0 && text->length + (size_t)length < text->room)
        text->length += (size_t)length;
}

void text_name(struct text *text, const char *field)
{
    bool first = text->length == 0 || text->text[text->length - 1] == '{';
    text_add(text, "%s\"%s\":", first ? "" : ",", field);
}

static void add_member(struct text *text, const char *place, const char *field, bool quoted,
                       const char *value)
{
    char said[256];
    if (!lies_value(text->lies, place, field, quoted, value, NULL, said, sizeof(said)))
        return;
    text_name(text, field);
    text_add(text, "%s", said);
}

void text_word(struct text *text, const char *place, const char *field, const char *value)
{
    add_member(text, place, field, true, value);
}

void text_number(struct text *text, const char *place, const char *field, int64_t value)
{
    char number[32];
    snprintf(number, sizeof(number), "%" PRId64, value);
    add_member(text, place, field, false, number);
}

void text_invented(struct text *text, const char *place, const char *field)
{
    const char *lie = lies_about(text->lies, place, field);
    if (lie == NULL)
        return;
    text_name(text, field);
    text_add(text, "%s", lie);
}
