/*
 * fuzz_redis_error.c - what an error reply says about execution. "Refused" means that nothing was
 * executed, and a buyer may be told so: it is said by whole first words that Redis uses before it
 * runs a command, and never of an error from inside a script.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/dlock_redis.h"

static bool is_refusal(const char *word)
{
    static const char *const words[] = {
        "ASK",     "BUSY",     "CLUSTERDOWN", "LOADING",   "MASTERDOWN",
        "MISCONF", "MOVED",    "NOAUTH",      "NOPERM",    "NOREPLICAS",
        "OOM",     "READONLY", "TRYAGAIN",    "UNBLOCKED", "WRONGPASS",
    };
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The text with something before or behind it; free it. */
static char *joined(const char *a, const char *b, const char *c)
{
    size_t len = strlen(a) + strlen(b) + strlen(c) + 1;
    char *text = malloc(len);
    if (text)
        snprintf(text, len, "%s%s%s", a, b, c);
    return text;
}

/* Whatever it says: what comes out of a script may have been preceded by writes. */
static void hold_in_scripts(const char *text)
{
    static const char *const tails[] = {" script: 6a1f, on @user_script:12.",
                                        " user_script:3: @user_script: 3: oops"};
    for (size_t i = 0; i < sizeof(tails) / sizeof(tails[0]); i++) {
        char *inside = joined("", text, tails[i]);
        FUZZ_HOLDS(inside && dlock_redis_classify(inside) == DLOCK_REDIS_ERROR,
                   "an error inside a script is none before its execution");
        free(inside);
    }
}

void fuzz_redis_error(const uint8_t *data, size_t len)
{
    char word[32] = "", *text = fuzz_text(data, len);
    size_t word_len = strcspn(text, " ");
    if (word_len < sizeof(word))
        memcpy(word, text, word_len);

    dlock_redis_outcome outcome = dlock_redis_classify(text);
    FUZZ_HOLDS(outcome == DLOCK_REDIS_REFUSED || outcome == DLOCK_REDIS_ERROR,
               "an error is one or the other");
    bool known = is_refusal(word) || begins(text, "ERR unknown command") ||
                 begins(text, "ERR max number of clients reached") ||
                 begins(text, "NOSCRIPT No matching script");
    bool script = strstr(text, "user_script") != NULL;
    FUZZ_HOLDS(outcome == DLOCK_REDIS_ERROR || (known && !strstr(text, "@user_script")),
               "nothing else is a refusal");
    FUZZ_HOLDS(outcome == DLOCK_REDIS_REFUSED || !known || script, "a refusal is taken for one");
    hold_in_scripts(text);

    char *longer = joined("X", text, "");
    FUZZ_HOLDS(longer && dlock_redis_classify(longer) == DLOCK_REDIS_ERROR,
               "the word stands at the beginning");
    free(longer);
    free(text);
}
