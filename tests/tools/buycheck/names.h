/*
 * names.h - numbers for names: requests and users, 0, 1, 2 ... in the order in which they come.
 */
#ifndef BUYCHECK_NAMES_H
#define BUYCHECK_NAMES_H

#include <stddef.h>

/* All zero: empty. */
typedef struct bc_names {
    const char **names; /* (borrowed) by number */
    size_t len, cap;
    size_t *slots; /* number + 1; 0: free */
    size_t slots_len;
} bc_names;

/* The name's number, a new one if need be; it must last as long as the names. */
size_t names_add(bc_names *names, const char *name);

void names_free(bc_names *names);

/* Makes room for one more element of an array; exits when there is no memory. */
void *grown(void *array, size_t len, size_t *cap, size_t size);

/* `len` elements, all zero; exits when there is no memory. */
void *zeroed(size_t len, size_t size);

#endif
