/* history.c - reads a history: its text is kept, and cut into values in place. */
#include "tests/tools/buycheck/history.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/tools/buycheck/words.h"

/* The elements of one kind of line, while they are read. */
typedef struct bc_list {
    char *elements;
    size_t len, cap;
} bc_list;

typedef struct bc_reading {
    bc_list lists[WORDS];
    bool ended;
} bc_reading;

static void append(bc_list *list, const bc_line *line, size_t size)
{
    list->elements = grown(list->elements, list->len, &list->cap, size);
    memcpy(list->elements + list->len++ * size, line, size);
}

/* Reads one line behind the first. False with a sentence that lacks its place. */
static bool read_line(bc_reading *reading, char *text, int64_t number, char *err, size_t err_len)
{
    bc_line line;
    char *members = strchr(text, ' ');
    if (members)
        *members++ = '\0';
    reading->ended = strcmp(text, "end") == 0 && !members;
    if (reading->ended)
        return true;
    bc_word word = word_of(text);
    if (word == WORDS) {
        snprintf(err, err_len, "'%.40s' is no word of a history", text);
        return false;
    }
    memset(&line, 0, sizeof(line));
    const bc_word_form *form = &word_forms[word];
    if (!line_read(members, form->fields, form->fields_len, &line, err, err_len))
        return false;
    line.number = number;
    const char *wrong = word_check(word, &line);
    if (wrong)
        snprintf(err, err_len, "%s", wrong);
    append(&reading->lists[word == WORD_HEAL ? WORD_FAULT : word], &line, form->size);
    return !wrong;
}

static bool read_lines(bc_reading *reading, char *text, char *err, size_t err_len)
{
    int64_t number = 0;
    char why[256];
    while (*text != '\0') {
        char *line = text, *end = strchr(text, '\n');
        number++;
        if (!end || reading->ended) {
            snprintf(err, err_len, ":%lld: %s", (long long)number,
                     end ? "a line behind the end" : "the line is cut off");
            return false;
        }
        *end = '\0';
        text = end + 1;
        if (number == 1 && strcmp(line, BUYS_FIRST_LINE) != 0) {
            snprintf(err, err_len, ": it does not begin with '%s'", BUYS_FIRST_LINE);
            return false;
        }
        if (number > 1 && *line != '\0' && *line != '#' &&
            !read_line(reading, line, number, why, sizeof(why))) {
            snprintf(err, err_len, ":%lld: %s", (long long)number, why);
            return false;
        }
    }
    if (!reading->ended)
        snprintf(err, err_len, ": it has no end, so it is cut off");
    return reading->ended;
}

#define TAKE(history, array, list)                                                                 \
    ((history)->array = (void *)(list).elements, (history)->array##_len = (list).len)

/* The lists become the history's, whatever came of reading them. */
static void take_lists(bc_history *h, bc_reading *reading)
{
    bc_list *lists = reading->lists;
    TAKE(h, asks, lists[WORD_ASK]);
    TAKE(h, looks, lists[WORD_LOOK]);
    TAKE(h, stocks, lists[WORD_STOCK]);
    TAKE(h, locks, lists[WORD_LOCK]);
    TAKE(h, strangers, lists[WORD_STRANGER]);
    TAKE(h, turns, lists[WORD_FAULT]);
    TAKE(h, orders, lists[WORD_ORDER]);
    TAKE(h, rests, lists[WORD_REST]);
    TAKE(h, lefts, lists[WORD_LEFT]);
    const bc_landed *landed = (const bc_landed *)(void *)lists[WORD_LANDED].elements;
    h->landed = landed ? 0 : UNKNOWN;
    for (size_t i = 0; i < lists[WORD_LANDED].len; i++)
        h->landed += landed[i].count;
    if (lists[WORD_SALE].len > 0)
        memcpy(&h->sale, lists[WORD_SALE].elements, sizeof(h->sale));
    free(lists[WORD_LANDED].elements);
    free(lists[WORD_SALE].elements);
}

/* ---- what lines say of each other ------------------------------------------------------------ */

size_t history_segments(const bc_history *history)
{
    return history->sale.segments > 0 ? (size_t)history->sale.segments : 1;
}

static bool say(char *err, size_t err_len, int64_t line, const char *what)
{
    snprintf(err, err_len, ":%lld: %s", (long long)line, what);
    return false;
}

/* Left out, or one of the sale's. `ret` becomes 0 where it was left out and there is but one. */
static bool is_segment(const bc_history *h, int64_t *segment)
{
    if (*segment == UNKNOWN && h->sale.segments == 0)
        *segment = 0;
    return *segment == UNKNOWN || *segment < (int64_t)history_segments(h);
}

static bool check_rests(bc_history *h, char *err, size_t err_len)
{
    bool *seen = zeroed(history_segments(h), sizeof(bool));
    size_t known = 0;
    for (size_t i = 0; i < h->rests_len; i++) {
        bc_rest *rest = &h->rests[i];
        bool ok = is_segment(h, &rest->segment) && rest->segment != UNKNOWN;
        if (!ok || seen[rest->segment]) {
            free(seen);
            return say(err, err_len, rest->line, ok ? "a second rest" : "no segment of the sale");
        }
        seen[rest->segment] = true;
        known++;
    }
    free(seen);
    h->has_ledger = known == history_segments(h);
    return true;
}

static bool check_segments(bc_history *h, char *err, size_t err_len)
{
    for (size_t i = 0; i < h->orders_len; i++) {
        bc_order *order = &h->orders[i];
        if (!is_segment(h, &order->segment) || order->segment == UNKNOWN)
            return say(err, err_len, order->line, "no segment of the sale");
    }
    for (size_t i = 0; i < h->stocks_len; i++) {
        bc_stock *stock = &h->stocks[i];
        if (!is_segment(h, &stock->segment))
            return say(err, err_len, stock->line, "no segment of the sale");
    }
    return check_rests(h, err, err_len);
}

static bool check_sale(bc_history *h, const bc_reading *reading, char *err, size_t err_len)
{
    size_t sales = reading->lists[WORD_SALE].len;
    if (sales != 1)
        snprintf(err, err_len, ": it has %s sale", sales ? "more than one" : "no");
    else if (h->sale.segments > BUYS_SEGMENTS_MAX)
        snprintf(err, err_len, ": too many segments");
    return sales == 1 && h->sale.segments <= BUYS_SEGMENTS_MAX;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool history_parse(bc_history *ret, const char *path, char *text, size_t len, char *err,
                   size_t err_len)
{
    char why[320] = "";
    bc_reading reading = {0};
    *ret = (bc_history){.path = path, .text = text};
    bool ok = strlen(text) == len;
    if (!ok)
        snprintf(why, sizeof(why), ": it is no text");
    ok = ok && read_lines(&reading, text, why, sizeof(why));
    take_lists(ret, &reading);
    ok = ok && check_sale(ret, &reading, why, sizeof(why)) && check_segments(ret, why, sizeof(why));
    if (ok)
        history_collect(ret);
    else
        snprintf(err, err_len, "%s%s", path, why);
    return ok;
}

/* The whole file and a NUL; NULL and errno. */
static char *read_all(FILE *file, size_t *ret_len)
{
    size_t len = 0, cap = 0, got;
    char *text = NULL;
    do {
        text = grown(text, len + 1, &cap, 1);
        got = fread(text + len, 1, cap - len - 1, file);
        len += got;
    } while (got > 0);
    text[len] = '\0';
    *ret_len = len;
    if (!ferror(file))
        return text;
    free(text);
    return NULL;
}

bool history_read(bc_history *ret, const char *path, char *err, size_t err_len)
{
    size_t len;
    *ret = (bc_history){.path = path};
    FILE *file = fopen(path, "r");
    char *text = file ? read_all(file, &len) : NULL;
    int why = errno;
    if (file)
        fclose(file);
    if (text)
        return history_parse(ret, path, text, len, err, err_len);
    snprintf(err, err_len, "%s: %s", path, strerror(why));
    return false;
}

void history_free(bc_history *history)
{
    void *const arrays[] = {history->asks,  history->looks,     history->stocks,  history->locks,
                            history->turns, history->strangers, history->orders,  history->rests,
                            history->lefts, history->text,      history->requests};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]);
    names_free(&history->request_names);
    names_free(&history->user_names);
}
