/* history.c - reads a history line by line; texts that occur in many lines are kept once. */
#include "loadtest/history/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "loadtest/history/words.h"

/* The elements of one kind of line, while they are read. */
typedef struct lt_list {
    char *elements;
    size_t len, cap;
} lt_list;

typedef struct lt_reading {
    lt_list lists[WORDS];
    lt_texts *texts;
    lt_end end;
    bool ended;
} lt_reading;

static void append(lt_list *list, const lt_line *line, size_t size)
{
    list->elements = grown(list->elements, list->len, &list->cap, size);
    memcpy(list->elements + list->len++ * size, line, size);
}

/* Reads one line after the first. False, with a sentence that does not name the line. */
static bool read_line(lt_reading *reading, char *text, int64_t number, char *err, size_t err_len)
{
    lt_line line;
    char *members = strchr(text, ' ');
    if (members)
        *members++ = '\0';
    lt_word word = word_of(text);
    if (word == WORDS) {
        snprintf(err, err_len, "'%.40s' is no word of a history", text);
        return false;
    }
    memset(&line, 0, sizeof(line));
    const lt_word_form *form = &word_forms[word];
    if (!line_read(members, form->fields, form->fields_len, reading->texts, &line, err, err_len))
        return false;
    line.number = number;
    const char *wrong = word_check(word, &line);
    if (wrong)
        snprintf(err, err_len, "%s", wrong);
    else if (word == WORD_END)
        reading->end = line.end;
    reading->ended = word == WORD_END;
    bool ending = word == WORD_CONFIRM || word == WORD_CANCEL;
    word = word == WORD_HEAL ? WORD_FAULT : ending ? WORD_LOOK : word;
    append(&reading->lists[word], &line, form->size);
    return !wrong;
}

/* Whether the line without its end is all of it. */
static bool take_line(lt_reading *reading, char *line, size_t len, int64_t number, char *err,
                      size_t err_len)
{
    char why[256] = "";
    if (strlen(line) != len)
        snprintf(why, sizeof(why), "it is no text");
    else if (reading->ended)
        snprintf(why, sizeof(why), "a line behind the end");
    else if (number > 1 && (*line == '\0' || *line == '#'))
        return true;
    else if (number > 1)
        read_line(reading, line, number, why, sizeof(why));
    else if (strcmp(line, HISTORY_FIRST_LINE) != 0)
        snprintf(why, sizeof(why), "it does not begin with '%s'", HISTORY_FIRST_LINE);
    if (why[0] != '\0')
        snprintf(err, err_len, ":%lld: %s", (long long)number, why);
    return why[0] == '\0';
}

/* False, with a sentence. A last line without an end is not read. */
static bool read_lines(lt_reading *reading, FILE *file, char *err, size_t err_len)
{
    char *line = NULL;
    size_t size = 0;
    int64_t number = 0;
    bool ok = true;
    for (ssize_t len; ok && (len = getline(&line, &size, file)) > 0;) {
        if (line[len - 1] != '\n') {
            if (reading->ended)
                snprintf(err, err_len, ":%lld: a line behind the end", (long long)number + 1);
            ok = !reading->ended;
            break;
        }
        line[len - 1] = '\0';
        ok = take_line(reading, line, (size_t)len - 1, ++number, err, err_len);
    }
    free(line);
    if (ok && ferror(file))
        snprintf(err, err_len, ": %s", strerror(errno));
    return ok && !ferror(file);
}

#define TAKE(history, array, list)                                                                 \
    ((history)->array = (void *)(list).elements, (history)->array##_len = (list).len)

/* Hands the lists over to the history, also after an error. */
static void take_lists(lt_history *h, lt_reading *reading)
{
    lt_list *lists = reading->lists;
    TAKE(h, asks, lists[WORD_ASK]);
    TAKE(h, looks, lists[WORD_LOOK]);
    TAKE(h, stocks, lists[WORD_STOCK]);
    TAKE(h, locks, lists[WORD_LOCK]);
    TAKE(h, strangers, lists[WORD_STRANGER]);
    TAKE(h, turns, lists[WORD_FAULT]);
    TAKE(h, orders, lists[WORD_ORDER]);
    TAKE(h, audits, lists[WORD_AUDIT]);
    TAKE(h, rests, lists[WORD_REST]);
    TAKE(h, lefts, lists[WORD_LEFT]);
    TAKE(h, doubts, lists[WORD_DOUBT]);
    const lt_landed *landed = (const lt_landed *)(void *)lists[WORD_LANDED].elements;
    h->landed = landed ? 0 : UNKNOWN;
    for (size_t i = 0; landed && i < lists[WORD_LANDED].len; i++)
        h->landed += landed[i].count;
    if (lists[WORD_SALE].len > 0)
        memcpy(&h->sale, lists[WORD_SALE].elements, sizeof(h->sale));
    free(lists[WORD_LANDED].elements);
    free(lists[WORD_SALE].elements);
    free(lists[WORD_END].elements);
    if (!reading->ended)
        snprintf(h->cut, sizeof(h->cut), "the history has no end, so it is cut off");
    else if (reading->end.truncated != TEXT_NONE)
        snprintf(h->cut, sizeof(h->cut), "the recorder lost a part of the history: %s",
                 history_text(h, reading->end.truncated));
}

/* ---- what lines say of each other ------------------------------------------------------------ */

size_t history_segments(const lt_history *history)
{
    return history->sale.segments > 0 ? (size_t)history->sale.segments : 1;
}

const char *history_text(const lt_history *history, lt_text text)
{
    return text_told(text) ? history->texts.texts[text] : text == TEXT_UNFIT ? "?" : "-";
}

static bool say(char *err, size_t err_len, int64_t line, const char *what)
{
    snprintf(err, err_len, ":%lld: %s", (long long)line, what);
    return false;
}

/* Whether the segment was left out or is one of the sale's. `segment` becomes 0 if it was left
 * out and there is only one. */
static bool is_segment(const lt_history *h, int64_t *segment)
{
    if (*segment == UNKNOWN && h->sale.segments == 0)
        *segment = 0;
    return *segment == UNKNOWN || *segment < (int64_t)history_segments(h);
}

/* One line for the whole sale, or one for each segment. */
static bool check_rests(lt_history *h, char *err, size_t err_len)
{
    bool seen[HISTORY_SEGMENTS_MAX + 1] = {false};
    for (size_t i = 0; i < h->rests_len; i++) {
        lt_rest *rest = &h->rests[i];
        if (!is_segment(h, &rest->segment))
            return say(err, err_len, rest->line, "no segment of the sale");
        size_t at = rest->segment == UNKNOWN ? HISTORY_SEGMENTS_MAX : (size_t)rest->segment;
        if (seen[at] || seen[HISTORY_SEGMENTS_MAX] || (rest->segment == UNKNOWN && i > 0))
            return say(err, err_len, rest->line, "a second rest");
        seen[at] = true;
    }
    return true;
}

static bool check_audits(const lt_history *h, char *err, size_t err_len)
{
    for (size_t i = 0; i < h->audits_len; i++) {
        for (size_t k = 0; k < i; k++) {
            if (h->audits[k].n == h->audits[i].n)
                return say(err, err_len, h->audits[i].line, "a second audit of this number");
        }
    }
    return true;
}

static bool check_segments(lt_history *h, char *err, size_t err_len)
{
    EACH(lt_order, order, h->orders) {
        bool known_of =
            order->number == UNKNOWN || order->segment != UNKNOWN || h->sale.segments == 0;
        if (!is_segment(h, &order->segment) || !known_of)
            return say(err, err_len, order->line, "no segment of the sale");
    }
    EACH(lt_stock_line, stock, h->stocks) {
        if (!is_segment(h, &stock->segment))
            return say(err, err_len, stock->line, "no segment of the sale");
    }
    return check_rests(h, err, err_len) && check_audits(h, err, err_len);
}

static bool check_sale(const lt_history *h, size_t sales, char *err, size_t err_len)
{
    const char *wrong = NULL;
    if (sales != 1)
        wrong = sales ? "it has more than one sale" : "it has no sale";
    else if (h->sale.segments > HISTORY_SEGMENTS_MAX)
        wrong = "too many segments";
    else if (history_text(h, h->sale.id)[0] == '\0')
        wrong = "the sale has no id";
    if (wrong)
        snprintf(err, err_len, ": %s", wrong);
    return !wrong;
}

/* Fills in what the contract says of the strategy, where the sale's line does not. */
static void fill_in_strategy(lt_history *h)
{
    static const struct {
        const char *name;
        int64_t guarded, fences;
    } strategies[] = {{"none", 0, 0},    {"fenced", 1, 1}, {"combined", 1, 1},
                      {"sharded", 1, 1}, {"atomic", 1, 0}, {"batched", 1, 0}};
    const char *strategy = history_text(h, h->sale.strategy);
    size_t len = strcspn(strategy, ":");
    int64_t guarded = 0, fences = UNKNOWN;
    for (size_t i = 0; i < sizeof(strategies) / sizeof(strategies[0]); i++) {
        if (strlen(strategies[i].name) != len || strncmp(strategies[i].name, strategy, len) != 0)
            continue;
        guarded = strategies[i].guarded;
        fences = strategies[i].fences;
    }
    if (h->sale.guarded == UNKNOWN)
        h->sale.guarded = guarded;
    if (h->sale.fences == UNKNOWN)
        h->sale.fences = fences;
}

/* ---- reading --------------------------------------------------------------------------------- */

bool history_parse(lt_history *ret, const char *path, FILE *file, char *err, size_t err_len)
{
    char why[320] = "";
    *ret = (lt_history){0};
    texts_init(&ret->texts);
    lt_reading reading = {.texts = &ret->texts};
    bool ok = read_lines(&reading, file, why, sizeof(why));
    size_t sales = reading.lists[WORD_SALE].len;
    take_lists(ret, &reading);
    ok = ok && check_sale(ret, sales, why, sizeof(why)) && check_segments(ret, why, sizeof(why));
    if (ok)
        fill_in_strategy(ret);
    else
        snprintf(err, err_len, "%s%s", path, why);
    return ok;
}

bool history_read(lt_history *ret, const char *path, char *err, size_t err_len)
{
    struct stat is;
    bool regular =
        stat(path, &is) == 0 && S_ISREG(is.st_mode); /* a pipe, or /dev/full, has no end */
    FILE *file = regular ? fopen(path, "re") : NULL;
    if (!file) {
        *ret = (lt_history){0};
        snprintf(err, err_len, "%s: %s", path, regular ? strerror(errno) : "no regular file");
        return false;
    }
    bool ok = history_parse(ret, path, file, err, err_len);
    fclose(file);
    return ok;
}

void history_release(lt_history *history)
{
    void *const arrays[] = {history->asks,   history->looks,     history->stocks, history->locks,
                            history->turns,  history->strangers, history->orders, history->audits,
                            history->doubts, history->rests,     history->lefts};
    for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++)
        free(arrays[i]);
    texts_release(&history->texts);
}
