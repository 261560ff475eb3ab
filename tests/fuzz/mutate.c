/* mutate.c - small changes that parsers stumble over: other bytes, holes, repetitions, splices,
 * and bytes that mean something to one of them. */
#include "tests/fuzz/mutate.h"

#include <string.h>

mutator mutate_begin(uint64_t seed)
{
    return (mutator){.state = seed * 0x9e3779b97f4a7c15u | 1};
}

/* xorshift64* (Marsaglia; Vigna 2016). */
static uint64_t next(mutator *dice)
{
    uint64_t x = dice->state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    dice->state = x;
    return x * 0x2545f4914f6cdd1du;
}

size_t mutate_below(mutator *dice, size_t below)
{
    return (size_t)((next(dice) >> 16) % below);
}

/* Puts more[0..more_len) at `at`, as far as there is room. */
static size_t insert(uint8_t *bytes, size_t len, size_t at, const uint8_t *more, size_t more_len)
{
    if (more_len > MUTATE_MAX - len)
        more_len = MUTATE_MAX - len;
    memmove(bytes + at + more_len, bytes + at, len - at);
    memcpy(bytes + at, more, more_len);
    return len + more_len;
}

static size_t cut_out(mutator *dice, uint8_t *bytes, size_t len, size_t at)
{
    size_t hole = 1 + mutate_below(dice, len - at);
    if (mutate_below(dice, 4) > 0 && hole > 4)
        hole = 4;
    memmove(bytes + at, bytes + at + hole, len - at - hole);
    return len - hole;
}

static size_t repeat(mutator *dice, uint8_t *bytes, size_t len, size_t at)
{
    uint8_t copy[256];
    size_t size = 1 + mutate_below(dice, len - at < sizeof(copy) ? len - at : sizeof(copy));
    memcpy(copy, bytes + at, size);
    return insert(bytes, len, mutate_below(dice, len + 1), copy, size);
}

static size_t splice(mutator *dice, uint8_t *bytes, size_t len, size_t at, const uint8_t *other,
                     size_t other_len)
{
    if (other_len == 0)
        return len;
    size_t from = mutate_below(dice, other_len);
    return insert(bytes, len, at, other + from, 1 + mutate_below(dice, other_len - from));
}

static size_t add_word(mutator *dice, uint8_t *bytes, size_t len, size_t at)
{
    static const char *const words[] = {
        "\r\n",
        "\n",
        " ",
        "\t",
        ":",
        "@",
        "%",
        "%00",
        "%2f",
        "&",
        "=",
        "+",
        ",",
        "\"",
        "{",
        "}",
        "[",
        "]",
        "/",
        "?",
        "\\",
        "-1",
        "0",
        "00",
        "1e9",
        "1.0",
        "*",
        "999",
        "#",
        "\xff",
        "\xc3\xa9",
        "\\u0000",
        "99999999999999999999",
        "Content-Length: 5\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        " @user_script:1",
        "BUSY",
    };
    const char *word = words[mutate_below(dice, sizeof(words) / sizeof(words[0]))];
    return insert(bytes, len, at, (const uint8_t *)word, strlen(word));
}

static size_t change(mutator *dice, uint8_t *bytes, size_t len, const uint8_t *other,
                     size_t other_len)
{
    size_t at = mutate_below(dice, len + 1);
    size_t how = mutate_below(dice, 6);
    if (at == len || how == 0)
        return add_word(dice, bytes, len, at);
    switch (how) {
    case 1:
        bytes[at] = (uint8_t)next(dice);
        return len;
    case 2:
        bytes[at] ^= (uint8_t)(1u << mutate_below(dice, 8));
        return len;
    case 3:
        return cut_out(dice, bytes, len, at);
    case 4:
        return repeat(dice, bytes, len, at);
    default:
        return splice(dice, bytes, len, at, other, other_len);
    }
}

size_t mutate(mutator *dice, uint8_t *bytes, size_t len, const uint8_t *other, size_t other_len)
{
    for (size_t i = 1 + mutate_below(dice, 4); i > 0; i--)
        len = change(dice, bytes, len, other, other_len);
    return len;
}
