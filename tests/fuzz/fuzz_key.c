/*
 * fuzz_key.c - Idempotency-Key: what is taken for a request id is one, and the quoted form is the
 * same key as the bare one.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/api/query.h"

/* [A-Za-z0-9_-]{1,64}, spelt in another way than in text.c. */
static bool is_id(const char *text, size_t len)
{
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-";
    return len >= 1 && len <= 64 && strspn(text, allowed) >= len;
}

void fuzz_key(const uint8_t *data, size_t len)
{
    char key[IDENT_MAX + 1] = "untouched", again[IDENT_MAX + 1], quoted[IDENT_MAX + 3];
    char *header = fuzz_text(data, len);
    size_t text_len = strlen(header);
    bool quotes = text_len >= 2 && header[0] == '"' && header[text_len - 1] == '"';
    bool wanted = quotes ? is_id(header + 1, text_len - 2) : is_id(header, text_len);

    bool taken = query_read_key(header, key);
    FUZZ_HOLDS(taken == wanted, "a key is 1 to 64 of [A-Za-z0-9_-], bare or in double quotes");
    if (taken) {
        FUZZ_HOLDS(strlen(key) == text_len - (quotes ? 2 : 0), "the key is whole");
        FUZZ_HOLDS(strncmp(key, header + quotes, strlen(key)) == 0, "the key is what was sent");
        snprintf(quoted, sizeof(quoted), "\"%s\"", key);
        FUZZ_HOLDS(query_read_key(quoted, again) && strcmp(again, key) == 0,
                   "in quotes it is the same key");
    } else {
        FUZZ_HOLDS(strcmp(key, "untouched") == 0, "nothing is given back of what is no key");
    }
    free(header);
}
