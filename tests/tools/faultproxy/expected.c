/*
 * expected.c - a ring of replies that are still due. A subscription gets one for each
 * channel, and a SCRIPT LOAD keeps its text until the reply tells the script's SHA1.
 */
#include "tests/tools/faultproxy/expected.h"

#include <stdlib.h>
#include <string.h>

#include "tests/tools/faultproxy/resp.h"

void expected_free(fp_expected *expected)
{
    expected_reply reply;
    while (expected_take(expected, &reply))
        free(reply.script);
    free(expected->ring);
    memset(expected, 0, sizeof(*expected));
}

static expected_reply *reply_at(const fp_expected *expected, size_t index)
{
    return &expected->ring[(expected->first + index) & (expected->cap - 1)];
}

static void grow(fp_expected *expected)
{
    size_t cap = expected->cap ? 2 * expected->cap : 16;
    expected_reply *ring = calloc(cap, sizeof(*ring));
    if (!ring)
        abort();
    for (size_t i = 0; i < expected->count; i++)
        ring[i] = *reply_at(expected, i);
    free(expected->ring);
    expected->ring = ring;
    expected->cap = cap;
    expected->first = 0;
}

/* How many replies a request gets: (UN)SUBSCRIBE and the like answer for each channel. */
static int replies_of(const char *request, size_t len)
{
    static const char *const subscriptions[] = {"SUBSCRIBE",    "UNSUBSCRIBE", "PSUBSCRIBE",
                                                "PUNSUBSCRIBE", "SSUBSCRIBE",  "SUNSUBSCRIBE"};
    int words = resp_words(request, len);
    for (size_t i = 0; i < sizeof(subscriptions) / sizeof(subscriptions[0]); i++) {
        if (words > 2 && resp_word_is(request, len, 0, subscriptions[i]))
            return words - 1;
    }
    return 1;
}

static void keep_script(expected_reply *reply, const char *request, size_t len)
{
    const char *text;
    size_t text_len;
    if (!resp_word_is(request, len, 0, "SCRIPT") || !resp_word_is(request, len, 1, "LOAD") ||
        !resp_word(request, len, 2, &text, &text_len))
        return;
    reply->script = malloc(text_len + 1);
    if (!reply->script)
        abort();
    memcpy(reply->script, text, text_len);
    reply->script_len = text_len;
}

void expected_add(fp_expected *expected, const char *request, size_t len,
                  const fp_judgement *judgement)
{
    int replies = replies_of(request, len);
    for (int i = 0; i < replies; i++) {
        if (expected->count == expected->cap)
            grow(expected);
        expected_reply *reply = reply_at(expected, expected->count++);
        *reply = (expected_reply){.judgement = *judgement};
        keep_script(reply, request, len);
    }
}

bool expected_take(fp_expected *expected, expected_reply *ret)
{
    if (!expected->count)
        return false;
    *ret = *reply_at(expected, 0);
    expected->first++;
    expected->count--;
    return true;
}
