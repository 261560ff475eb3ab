/* names.c - a hash table with open addressing, at most half full. */
#include "tests/tools/buycheck/names.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_UNREADABLE 2

static void *or_exit(void *memory)
{
    if (!memory) {
        perror("buycheck");
        exit(EXIT_UNREADABLE);
    }
    return memory;
}

void *grown(void *array, size_t len, size_t *cap, size_t size)
{
    if (len < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 64;
    return or_exit(realloc(array, *cap * size));
}

void *zeroed(size_t len, size_t size)
{
    return or_exit(calloc(len ? len : 1, size));
}

/* FNV-1a. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = 14695981039346656037ull;
    for (; *name != '\0'; name++)
        hash = (hash ^ (unsigned char)*name) * 1099511628211ull;
    return hash;
}

/* Where the name is, or may be put. */
static size_t *slot_of(const bc_names *names, const char *name)
{
    size_t at = hash_of(name) & (names->slots_len - 1);
    while (names->slots[at] != 0 && strcmp(names->names[names->slots[at] - 1], name) != 0)
        at = (at + 1) & (names->slots_len - 1);
    return &names->slots[at];
}

static void make_room(bc_names *names)
{
    names->names = grown(names->names, names->len, &names->cap, sizeof(names->names[0]));
    if (2 * (names->len + 1) <= names->slots_len)
        return;
    free(names->slots);
    names->slots_len = names->slots_len ? 2 * names->slots_len : 256;
    names->slots = zeroed(names->slots_len, sizeof(names->slots[0]));
    for (size_t i = 0; i < names->len; i++)
        *slot_of(names, names->names[i]) = i + 1;
}

size_t names_add(bc_names *names, const char *name)
{
    make_room(names);
    size_t *slot = slot_of(names, name);
    if (*slot == 0) {
        names->names[names->len++] = name;
        *slot = names->len;
    }
    return *slot - 1;
}

void names_free(bc_names *names)
{
    free(names->names);
    free(names->slots);
}
