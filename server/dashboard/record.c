/* record.c - the words of a record, in their order. */
#include "server/dashboard/record.h"

#include <stdio.h>
#include <string.h>

#define WORD_MAX RECORD_CLIENT_MAX

/* No instance counts further. The sums of many records are numbers that JSON's readers take. */
#define NUMBER_MOST 10000000000000

/* The numbers before the counts; the flags too. */
enum { NUMBERS = 7 };

static void name_form(char ret[32])
{
    snprintf(ret, 32, "1.%d.%d", BUY_OUTCOMES, LATENCY_BUCKETS);
}

static void put_numbers(fs_text *out, const int64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        text_add(out, " ");
        text_add_int(out, numbers[i]);
    }
}

void record_write(fs_text *out, const instance_record *record)
{
    char form[32];
    const int64_t numbers[NUMBERS] = {record->draining,     record->watched, record->in_flight,
                                      record->waiting,      record->batches, record->batched,
                                      record->largest_batch};
    name_form(form);
    text_add_all(out, form, " ", record->client);
    put_numbers(out, numbers, NUMBERS);
    put_numbers(out, record->counts.outcomes, BUY_OUTCOMES);
    put_numbers(out, record->counts.latency, LATENCY_BUCKETS);
}

/* The next word of *text, copied into `ret`. */
static bool next_word(const char **text, char ret[WORD_MAX + 1])
{
    size_t len = strcspn(*text, " ");
    if (len == 0 || len > WORD_MAX)
        return false;
    memcpy(ret, *text, len);
    ret[len] = '\0';
    *text += len + ((*text)[len] == ' ');
    return true;
}

static bool next_numbers(const char **text, int64_t *ret, int count)
{
    char word[WORD_MAX + 1];
    for (int i = 0; i < count; i++)
        if (!next_word(text, word) || !decimal_read(word, strlen(word), &ret[i]) ||
            ret[i] > NUMBER_MOST)
            return false;
    return true;
}

bool record_read(const char *text, instance_record *ret)
{
    int64_t numbers[NUMBERS];
    char word[WORD_MAX + 1], form[32];
    name_form(form);
    if (!next_word(&text, word) || strcmp(word, form) != 0 || !next_word(&text, ret->client) ||
        !next_numbers(&text, numbers, NUMBERS) ||
        !next_numbers(&text, ret->counts.outcomes, BUY_OUTCOMES) ||
        !next_numbers(&text, ret->counts.latency, LATENCY_BUCKETS) || *text != '\0')
        return false;
    ret->draining = numbers[0] != 0;
    ret->watched = numbers[1] != 0;
    ret->in_flight = numbers[2];
    ret->waiting = numbers[3];
    ret->batches = numbers[4];
    ret->batched = numbers[5];
    ret->largest_batch = numbers[6];
    return true;
}
