/*
 * lies.h - single fields of the stub's answers that are not true.
 *
 * A lie is "PLACE.FIELD=VALUE": in answers of that kind the field has the value, written as it is;
 * "+N" is
 * added to the true number (N may be negative); without a value the field is left out.
 * "PLACE.status" is the answer's HTTP status, "PLACE.tail" what follows its last bracket. The
 * service itself goes on as it would; only what it says is wrong.
 */
#ifndef STUBSERVER_LIES_H
#define STUBSERVER_LIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LIES_MAX 8

struct lies {
    int count;
    struct {
        char place[16], field[16], value[64];
    } lies[LIES_MAX];
};

/* Parses one more lie. */
bool lies_add(struct lies *lies, const char *text);

/* What is said instead, or NULL. */
const char *lies_about(const struct lies *lies, const char *place, const char *field);

/* The status of an answer that is truly `status`. */
int lies_status(const struct lies *lies, const char *place, int status);

/* An answer in the making: members of a JSON object. */
struct text {
    char *text;
    size_t length, room;
    const struct lies *lies;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a member's name and colon, with a comma before it, unless it is the first. */
void text_name(struct text *text, const char *field);

/* Adds a member: truthfully, or not. */
void text_word(struct text *text, const char *place, const char *field, const char *value);
void text_number(struct text *text, const char *place, const char *field, int64_t value);

#endif
