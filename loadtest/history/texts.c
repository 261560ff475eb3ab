/* texts.c - a hash table with open addressing, at most half full, over characters in blocks. */
#include "loadtest/history/texts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadtest/base/hash.h"

enum { BLOCK_SIZE = 1 << 16, EXIT_NO_MEMORY = 3 };

static void *or_exit(void *memory)
{
    if (!memory) {
        perror("loadtest");
        exit(EXIT_NO_MEMORY);
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

/* The text's slot, or the free slot where it belongs. */
static uint32_t *slot_of(const lt_texts *texts, const char *text)
{
    size_t at = lt_hash(text, strlen(text)) & (texts->slots_len - 1);
    while (texts->slots[at] != 0 && strcmp(texts->texts[texts->slots[at]], text) != 0)
        at = (at + 1) & (texts->slots_len - 1);
    return &texts->slots[at];
}

static void make_room(lt_texts *texts)
{
    texts->texts = grown(texts->texts, texts->len, &texts->cap, sizeof(texts->texts[0]));
    if (2 * (texts->len + 1) <= texts->slots_len)
        return;
    free(texts->slots);
    texts->slots_len = texts->slots_len ? 2 * texts->slots_len : 1024;
    texts->slots = zeroed(texts->slots_len, sizeof(texts->slots[0]));
    for (size_t i = TEXT_UNFIT + 1; i < texts->len; i++)
        *slot_of(texts, texts->texts[i]) = (uint32_t)i;
}

static const char *keep(lt_texts *texts, const char *text)
{
    size_t size = strlen(text) + 1;
    if (size > texts->room) {
        texts->room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
        texts->used = 0;
        texts->blocks =
            grown(texts->blocks, texts->blocks_len, &texts->blocks_cap, sizeof(texts->blocks[0]));
        texts->blocks[texts->blocks_len++] = zeroed(texts->room, 1);
    }
    char *kept = texts->blocks[texts->blocks_len - 1] + texts->used;
    memcpy(kept, text, size);
    texts->used += size;
    texts->room -= size;
    return kept;
}

void texts_init(lt_texts *texts)
{
    for (int i = TEXT_NONE; i <= TEXT_UNFIT; i++) {
        make_room(texts);
        texts->texts[texts->len++] = NULL;
    }
}

lt_text texts_add(lt_texts *texts, const char *text)
{
    make_room(texts);
    uint32_t *slot = slot_of(texts, text);
    if (*slot == 0) {
        *slot = (uint32_t)texts->len;
        texts->texts[texts->len++] = keep(texts, text);
    }
    return *slot;
}

void texts_release(lt_texts *texts)
{
    for (size_t i = 0; i < texts->blocks_len; i++)
        free(texts->blocks[i]);
    free(texts->blocks);
    free(texts->texts);
    free(texts->slots);
}
