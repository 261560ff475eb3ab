/* targets.c - the list of targets, and what they share. */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const fuzz_target fuzz_targets[] = {
    {"address", NULL, fuzz_address, 20000},
    {"buys", "tests/loadtest/judge/histories", fuzz_buys, 5000},
    {"history", NULL, fuzz_history, 5000},
    {"key", NULL, fuzz_key, 20000},
    {"order", NULL, fuzz_order, 20000},
    {"query", NULL, fuzz_query, 20000},
    {"redis_error", NULL, fuzz_redis_error, 20000},
    {"request", NULL, fuzz_request, 300}, /* each by a connection */
    {"sale_request", NULL, fuzz_sale_request, 20000},
    {NULL, NULL, NULL, 0},
};

char *fuzz_text(const uint8_t *data, size_t len)
{
    char *text = malloc(len + 1);
    if (!text) {
        perror("fuzz");
        exit(2);
    }
    memcpy(text, data, len);
    text[len] = '\0';
    return text;
}
