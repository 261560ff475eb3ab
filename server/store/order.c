/* order.c - reading an order's record. The scripts write it: sell.lua and record.lua. */
#include "server/store/order.h"

#include <stdlib.h>
#include <string.h>

bool ident_ok(const char *text, size_t len)
{
    if (len == 0 || len > IDENT_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '_' && c != '-')
            return false;
    }
    return true;
}

/* The next word of *text, up to a blank or the end, copied into word. */
static bool next_word(const char **text, const char *end, char *word, size_t word_len)
{
    const char *from = *text;
    const char *to = memchr(from, ' ', (size_t)(end - from));
    if (!to)
        to = end;
    size_t len = (size_t)(to - from);
    if (len == 0 || len >= word_len)
        return false;
    memcpy(word, from, len);
    word[len] = '\0';
    *text = to < end ? to + 1 : end;
    return true;
}

static bool next_number(const char **text, const char *end, int64_t *ret)
{
    char word[24], *rest;
    if (!next_word(text, end, word, sizeof(word)))
        return false;
    *ret = strtoll(word, &rest, 10);
    return *rest == '\0';
}

bool order_read(const char *record, size_t len, fs_order *ret)
{
    const char *text = record, *end = record + len;
    int64_t fence;
    bool whole = next_number(&text, end, &ret->number) &&
                 next_word(&text, end, ret->user, sizeof(ret->user)) &&
                 next_number(&text, end, &ret->quantity) &&
                 next_number(&text, end, &ret->remaining) && next_number(&text, end, &fence) &&
                 next_word(&text, end, ret->instance, sizeof(ret->instance)) &&
                 next_number(&text, end, &ret->time_us);
    ret->fence = whole ? (uint64_t)fence : 0;
    return whole;
}
