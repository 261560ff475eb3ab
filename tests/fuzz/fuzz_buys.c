/*
 * fuzz_buys.c - buycheck: its reader and its checks. A checker that is to catch liars must not be
 * talked into "ok": what has no end is unreadable, the order of the lines says nothing, and what is
 * not in the history is never found to be in order.
 */
#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/base/text.h"
#include "tests/tools/buycheck/checks.h"

/* Takes the text over. */
static bool take(bc_history *ret, char *text, size_t len)
{
    char err[512] = "";
    bool good = history_parse(ret, "history", text, len, err, sizeof(err));
    FUZZ_HOLDS(good == (err[0] == '\0'), "what can not be read has a sentence, and only that");
    return good;
}

static void judge(bc_report *report, const bc_history *history)
{
    *report = (bc_report){.history = history, .options = {.i7_us = UNKNOWN, .final_us = 30000000}};
    count_figures(report);
    check_units(report);
    check_stock(report);
    check_ledger(report);
    check_refusals(report);
    check_fences(report);
    check_heals(report);
    check_left(report);
    check_order(report);
    check_limit(report);
}

/* ---- other histories from this one ----------------------------------------------------------- */

/* The lines between the first and the last, backwards; without those of the ledger if it is to be
 * left out. Free it. */
static char *rearranged(const char *text, size_t len, bool ledger, size_t *ret_len)
{
    const char *first = memchr(text, '\n', len), *last = text + len - 1;
    fs_text out;
    text_init(&out);
    text_add_bytes(&out, text, (size_t)(first + 1 - text));
    while (last > first) {
        const char *begin = memrchr(text, '\n', (size_t)(last - text)) + 1;
        bool end = strncmp(begin, "end\n", 4) == 0;
        bool left_out =
            !ledger && (strncmp(begin, "order ", 6) == 0 || strncmp(begin, "rest ", 5) == 0);
        if (!end && !left_out)
            text_add_bytes(&out, begin, (size_t)(last + 1 - begin));
        last = begin - 1;
    }
    text_add(&out, "end\n");
    *ret_len = out.len;
    char *copy = fuzz_text((const uint8_t *)text_bytes(&out), out.len);
    text_free(&out);
    return copy;
}

/* Where lines contradict each other, each is violated that one of them violates; which, may depend
 * on whom one believes. */
static void hold_any_order(const char *text, size_t len, const bc_report *report)
{
    bc_history history;
    bc_report again;
    size_t size;
    char *backwards = rearranged(text, len, true, &size);
    FUZZ_HOLDS(take(&history, backwards, size), "the lines' order does not matter to the reader");
    judge(&again, &history);
    bool bad = report_exit(report) == 1;
    FUZZ_HOLDS((report_exit(&again) == 1) == bad, "to the verdict");
    FUZZ_HOLDS(bad || memcmp(&again.figures, &report->figures, sizeof(again.figures)) == 0,
               "nor to the figures");
    for (int i = 0; i < CHECKS && !bad; i++)
        if (again.findings[i].state != report->findings[i].state)
            fuzz_broken("check %d: the lines' order matters: %s%s", i, report->findings[i].first,
                        again.findings[i].first);
    history_free(&history);
}

static void hold_without_ledger(const char *text, size_t len)
{
    static const bc_check of_ledger[] = {CHECK_I1, CHECK_I3, CHECK_I4};
    bc_history history;
    bc_report report;
    size_t size;
    char *shorter = rearranged(text, len, false, &size);
    FUZZ_HOLDS(take(&history, shorter, size), "a history without a ledger is one");
    judge(&report, &history);
    for (size_t i = 0; i < sizeof(of_ledger) / sizeof(of_ledger[0]); i++)
        FUZZ_HOLDS(report.findings[of_ledger[i]].state != STATE_OK,
                   "what nobody has looked at is not in order");
    FUZZ_HOLDS(report_exit(&report) != 0, "nor is the whole");
    history_free(&history);
}

/* ---- what was found -------------------------------------------------------------------------- */

static void hold_report(const bc_report *report)
{
    char *text = NULL;
    size_t len = 0;
    bool violated_one = false;
    for (int i = 0; i < CHECKS; i++) {
        const bc_finding *finding = &report->findings[i];
        bool bad = finding->state == STATE_VIOLATED;
        violated_one = violated_one || bad;
        FUZZ_HOLDS((finding->count > 0) == bad, "violations are counted, and only they");
        FUZZ_HOLDS(!bad || finding->first[0] != '\0', "the first of them is named");
    }
    FUZZ_HOLDS((report_exit(report) == 1) == violated_one, "one violation is enough");
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return;
    report_print_json(report, out);
    fclose(out);
    cJSON *json = cJSON_Parse(text);
    FUZZ_HOLDS(cJSON_IsObject(json), "the report is JSON");
    cJSON_Delete(json);
    free(text);
}

void fuzz_buys(const uint8_t *data, size_t len)
{
    bc_history history, cut;
    bc_report report;
    if (take(&history, fuzz_text(data, len), len)) {
        judge(&report, &history);
        hold_report(&report);
        hold_any_order((const char *)data, len, &report);
        hold_without_ledger((const char *)data, len);
        FUZZ_HOLDS(!take(&cut, fuzz_text(data, len - 4), len - 4), "without its end it is cut off");
        history_free(&cut);
    }
    history_free(&history);
}
