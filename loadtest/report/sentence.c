/*
 * A sentence claims no more than was checked: one table says what each verdict may claim.
 */
#include "loadtest/report/sentence.h"

#include "loadtest/report/json_figure.h"
#include "loadtest/report/style.h"

#include <stdarg.h>
#include <string.h>

#define SENTENCE_MAX 2048

/* From the worst to the best. A run's sentence is "sold S of T", `of_run`, the figure, `after`. */
static const struct {
    const char *verdict, *figure;
    const char *of_run, *after;
    const char *of_row; /* of a strategy, before the figure; of so many strategies */
} words[] = {
    {"OVERSOLD", "oversold", ": ", " too many", "oversold by "},
    {"DUPLICATED", "duplicates", "; ", " orders beyond one a request", "orders beyond one each: "},
    {"LOST", "lost_updates", "; ", " of them never left the stock", "lost "},
    {"BROKEN", NULL, "", "", ""},
    {"INVALID", NULL, "", "", ""},
    {"UNDERSOLD", "undersold", "; ", " were left although buyers were turned away", "left over "},
    {"COUNTS_ONLY", NULL, "; no ledger: only counts were compared", "", "judged by counts only"},
    {"SAFE", NULL, ", each to one buyer, each in the ledger", "", "safe"},
};

enum { INVALID = 4, COUNTS_ONLY = 6, SAFE = 7 };

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *text, const char *format, ...)
{
    size_t at = strlen(text);
    va_list args;
    va_start(args, format);
    vsnprintf(text + at, SENTENCE_MAX - at, format, args);
    va_end(args);
}

static int words_of(const cJSON *run)
{
    int i = 0;
    while (i <= SAFE && strcmp(words[i].verdict, json_text(run, "verdict")) != 0)
        i++;
    return i > SAFE ? INVALID : i;
}

/* The first guarantee that is violated and stands for the verdict of the run, or NULL. */
static const cJSON *violated(const cJSON *run)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, json_member(run, "invariants")) {
        if (strcmp(json_text(item, "state"), "violated") == 0 &&
            strcmp(json_text(item, "verdict"), json_text(run, "verdict")) == 0)
            return item;
    }
    return NULL;
}

/* The figure that a verdict is about; 0: another guarantee than the figure's is violated. */
static double figure_at(const cJSON *run, int i)
{
    double figure = !words[i].figure ? 0.0 : json_number(run, words[i].figure);
    return isnan(figure) ? 0.0 : figure;
}

void sentence_of_violation(const cJSON *guarantee, char *text, size_t size)
{
    snprintf(text, size, "%s: %s", json_text(guarantee, "name"), json_text(guarantee, "first"));
}

static bool is_expected(const cJSON *run, int i)
{
    return json_true(run, "expect_unsafe") && i != INVALID && i < COUNTS_ONLY;
}

static void say_run(const cJSON *run, char *text)
{
    const cJSON *broken = violated(run), *reasons = json_member(run, "invalid_because");
    int i = words_of(run);
    double figure = figure_at(run, i);
    if (i == INVALID) {
        const char *reason = cJSON_GetStringValue(cJSON_GetArrayItem(reasons, 0));
        append(text, "can not be judged: %s", !reason ? "no reason is known" : reason);
        return;
    }
    append(text, "sold %s of %s", figure_count(json_number(run, "sold_units")).text,
           figure_count(json_number(run, "stock")).text);
    if (figure > 0.0)
        append(text, "%s%s%s", words[i].of_run, figure_count(figure).text, words[i].after);
    else if (i >= COUNTS_ONLY)
        append(text, "%s", words[i].of_run);
    else if (broken) {
        char violation[SENTENCE_MAX];
        sentence_of_violation(broken, violation, sizeof(violation));
        append(text, "; %s", violation);
    }
}

static void add_to_run(cJSON *run)
{
    char text[SENTENCE_MAX] = "";
    const cJSON *broken = violated(run);
    int i = words_of(run);
    double figure = figure_at(run, i);
    if (figure == 0.0 && broken)
        figure = json_number(broken, "observed");
    add_figure(run, "wrong", i == INVALID ? NAN : figure);
    say_run(run, text);
    if (is_expected(run, i))
        append(text, ", as expected of it");
    cJSON_AddStringToObject(run, "sentence", text);
}

/* "none oversold by 4,000, as expected of it": the rows with the verdict `i` that were, or were
 * not, expected to have it. How many there are. */
static int say_rows(const cJSON *runs, int i, bool expected, char *text)
{
    int count = 0;
    const cJSON *run;
    cJSON_ArrayForEach(run, runs) {
        if (words_of(run) != i || is_expected(run, i) != expected)
            continue;
        count++;
        if (i >= COUNTS_ONLY)
            continue;
        double figure = figure_at(run, i);
        append(text, "%s%s ", text[0] == '\0' ? "" : "; ", json_text(run, "strategy"));
        if (figure > 0.0)
            append(text, "%s%s", words[i].of_row, figure_count(figure).text);
        else
            append(text, "is %s", words[i].verdict);
        append(text, "%s", expected ? ", as expected of it" : "");
    }
    return count;
}

/* Bad news first: what was not expected, then how many are safe, then what was expected. */
static void add_to_document(cJSON *document)
{
    char text[SENTENCE_MAX] = "";
    const cJSON *runs = json_member(document, "runs");
    int worst = SAFE;
    if (cJSON_GetArraySize(runs) == 0)
        append(text, "no run finished");
    if (json_true(document, "control_missed"))
        append(text, "nothing is proven: no unlocked run sold wrongly");
    if (text[0] != '\0')
        worst = INVALID;
    for (int i = 0; i <= SAFE; i++) {
        int count = say_rows(runs, i, false, text);
        worst = count > 0 && i < worst ? i : worst;
        if (count > 0 && i >= COUNTS_ONLY)
            append(text, "%s%d %s", text[0] == '\0' ? "" : "; ", count, words[i].of_row);
    }
    for (int i = 0; i < COUNTS_ONLY; i++)
        say_rows(runs, i, true, text);
    cJSON_AddStringToObject(document, "verdict", words[worst].verdict);
    cJSON_AddStringToObject(document, "headline", text);
}

void sentence_add_all(cJSON *document)
{
    cJSON *run;
    cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(document, "runs"))
        add_to_run(run);
    add_to_document(document);
}
