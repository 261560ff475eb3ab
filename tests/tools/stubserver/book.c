#include "tests/tools/stubserver/book.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t hash_of(const char *text)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (; *text != '\0'; text++)
        hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return (size_t)(hash ^ (hash >> 32));
}

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("stubserver: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* The slot of a request: the one that has it, or the free one where it would go. */
static uint32_t *slot_of(const struct book *book, const char *request)
{
    size_t mask = book->slot_count - 1;
    for (size_t i = hash_of(request) & mask;; i = (i + 1) & mask) {
        uint32_t *slot = &book->slots[i];
        if (*slot == 0 || strcmp(book->orders[*slot - 1].request, request) == 0)
            return slot;
    }
}

static void enter(struct book *book, size_t index)
{
    uint32_t *slot = slot_of(book, book->orders[index].request);
    if (*slot == 0)
        *slot = (uint32_t)index + 1;
}

static void grow(struct book *book)
{
    book->room = book->room == 0 ? 1024 : book->room * 2;
    book->orders = must(realloc(book->orders, book->room * sizeof(book->orders[0])));
    free(book->slots);
    book->slot_count = book->room * 2;
    book->slots = must(calloc(book->slot_count, sizeof(book->slots[0])));
    for (size_t i = 0; i < book->count; i++)
        enter(book, i);
}

void book_add(struct book *book, const struct order *order)
{
    if (book->count == book->room)
        grow(book);
    book->orders[book->count] = *order;
    enter(book, book->count++);
}

const struct order *book_find(const struct book *book, const char *request)
{
    if (book->slot_count == 0)
        return NULL;
    uint32_t slot = *slot_of(book, request);
    return slot == 0 ? NULL : &book->orders[slot - 1];
}

void book_clear(struct book *book)
{
    free(book->orders);
    free(book->slots);
    *book = (struct book){0};
}
