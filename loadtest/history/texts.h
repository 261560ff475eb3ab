/*
 * texts.h - numbers for texts: a text that occurs in a thousand lines is stored once, and two texts
 * are equal if their numbers are.
 */
#ifndef LOADTEST_TEXTS_H
#define LOADTEST_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t lt_text;

#define TEXT_NONE  0 /* not known, not told */
#define TEXT_UNFIT 1 /* told, but not as a text */

typedef struct lt_texts {
    char **blocks; /* of characters, which never move */
    size_t blocks_len, blocks_cap, used, room;
    const char **texts; /* by number; those of NONE and UNFIT are NULL */
    size_t len, cap;
    uint32_t *slots; /* number; 0: free */
    size_t slots_len;
} lt_texts;

/* Of all zero. */
void texts_init(lt_texts *texts);
void texts_release(lt_texts *texts);

/* The text's number; a new text gets a new one. */
lt_text texts_add(lt_texts *texts, const char *text);

/* Whether it is a text at all. */
static inline bool text_told(lt_text text)
{
    return text > TEXT_UNFIT;
}

/* Makes room for one more element of an array; ends the program when there is no memory. */
void *grown(void *array, size_t len, size_t *cap, size_t size);

/* `len` elements, all zero; ends the program when there is no memory. */
void *zeroed(size_t len, size_t size);

#endif
