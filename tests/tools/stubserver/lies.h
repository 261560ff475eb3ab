/*
 * lies.h - what the stub says or does that is not true, and when.
 *
 * A lie is "[CONDITION,...:]PLACE.FIELD=VALUE": in answers of that kind ("*": of any) the field has
 * the value, written as it is. Without a value the field is left out. These values are made of the
 * true one:
 *
 *     +N     N more (may be negative); of a text: its last number      N-     N minus it
 *     /N     rounded down to a multiple of N                           #      without quotes
 *     other  what another order has there                              zero   a 0 before its last
 * number
 *
 * Fields of every place: status; as=CODE, a problem instead of the answer; reset=1, the connection
 * is reset instead; tail, what follows the last bracket. service.h lists places and the rest.
 *
 * Conditions, all of which must hold:
 *
 *     every=N  each Nth occasion           first=N  no more than N times
 *     nth=N    each Nth order of the sale  audit=N  reading of the ledger
 *     old=MS   the order is that old       young=MS it is not
 *     target=N at the Nth port             away     the order was made at another
 *     from=N, to=N     buys so far         left=N   at most N % of the stock is left
 *     page=N   of the ledger
 */
#ifndef STUBSERVER_LIES_H
#define STUBSERVER_LIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tests/tools/stubserver/ledger.h"

#define LIES_MAX       16
#define CONDITIONS_MAX 4

/* When something is said. */
struct occasion {
    const struct order *order; /* the one it is about, or NULL */
    int target;                /* the port asked, counted from 1 */
    int64_t now_ms;
    int64_t buys, left, initial;
    int audit, page;
};

struct lie {
    char place[16], field[16], value[96];
    int count; /* occasions of `every` and `first` */
    int condition_count;
    struct {
        int kind;
        int64_t value;
    } conditions[CONDITIONS_MAX];
};

struct lies {
    int count;
    struct lie lies[LIES_MAX];
    struct occasion at; /* kept up to date by the service */
};

/* Parses one more lie. */
bool lies_add(struct lies *lies, const char *text);

/* What is said instead, or NULL. Asking is an occasion. */
const char *lies_about(struct lies *lies, const char *place, const char *field);

/* Likewise, of what is done: whether there is such a lie at all, or with this value. */
bool lies_does(struct lies *lies, const char *place, const char *field, const char *value);

/* An answer in the making: members of a JSON object. */
struct text {
    char *text;
    size_t length, room;
    struct lies *lies;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a member's name and colon, with a comma before it, unless it is the first. */
void text_name(struct text *text, const char *field);

/* Writes what is said of a field whose truth is `value`, and of another order `other` (or NULL).
 * False when nothing is. */
bool lies_value(struct lies *lies, const char *place, const char *field, bool quoted,
                const char *value, const char *other, char *said, size_t size);

/* Adds a member: truthfully, or not. */
void text_word(struct text *text, const char *place, const char *field, const char *value);
void text_number(struct text *text, const char *place, const char *field, int64_t value);

/* Adds a member that only a lie brings. */
void text_invented(struct text *text, const char *place, const char *field);

#endif
