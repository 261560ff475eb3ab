/*
 * fuzz_buys.c - the judge: its reader and its checks. A judge that is to catch liars must not be
 * talked into "safe": what has no end is not whole, the order of the lines says nothing, and what
 * is not in the history is never found to be in order.
 */
#include "tests/fuzz/fuzz.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loadtest/judge/judging.h"
#include "server/base/text.h"

/* NULL: it can not be read. */
static lt_judgement *judge(const char *text, size_t len)
{
    lt_history history;
    char err[512] = "";
    FILE *file = len > 0 ? fmemopen((void *)(uintptr_t)text, len, "r") : fopen("/dev/null", "r");
    if (!file)
        return NULL;
    bool good = history_parse(&history, "history", file, err, sizeof(err));
    FUZZ_HOLDS(good == (err[0] == '\0'), "what can not be read has a sentence, and only that");
    lt_judgement *judgement = good ? judge_history(&history, NULL) : NULL;
    history_release(&history);
    fclose(file);
    return judgement;
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
            !ledger && (strncmp(begin, "order ", 6) == 0 || strncmp(begin, "rest ", 5) == 0 ||
                        strncmp(begin, "audit ", 6) == 0);
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

static int worst_of(const lt_judgement *judgement, lt_state state)
{
    for (int i = 0; i < guarantee_count; i++) {
        if (judgement->findings[i].state == state)
            return i;
    }
    return -1;
}

/* Where lines contradict each other, something is violated; what, may depend on the line
 * that one believes. */
static void hold_any_order(const char *text, size_t len, const lt_judgement *judgement)
{
    size_t size;
    char *backwards = rearranged(text, len, true, &size);
    lt_judgement *again = judge(backwards, size);
    FUZZ_HOLDS(again, "the lines' order does not matter to the reader");
    bool bad = worst_of(judgement, STATE_VIOLATED) >= 0;
    FUZZ_HOLDS((worst_of(again, STATE_VIOLATED) >= 0) == bad, "to the verdict");
    FUZZ_HOLDS(bad || memcmp(&again->figures, &judgement->figures, sizeof(again->figures)) == 0,
               "nor to the figures");
    for (int i = 0; i < guarantee_count && !bad; i++)
        if (again->findings[i].state != judgement->findings[i].state)
            fuzz_broken("%s: the lines' order matters: %s%s", guarantees[i].name,
                        judgement->findings[i].first, again->findings[i].first);
    judgement_free(again);
    free(backwards);
}

/* Without the ledger, and without the end. */
static void hold_less(const char *text, size_t len)
{
    size_t size;
    char *shorter = rearranged(text, len, false, &size);
    lt_judgement *judgement = judge(shorter, size);
    FUZZ_HOLDS(judgement, "a history without a ledger is one");
    FUZZ_HOLDS(judgement->verdict != VERDICT_SAFE, "but it proves nothing good");
    judgement_free(judgement);
    judgement = judge(text, len - strlen("end\n"));
    if (judgement) {
        FUZZ_HOLDS(judgement->verdict >= VERDICT_INVALID, "without its end it is cut off");
        FUZZ_HOLDS(worst_of(judgement, STATE_OK) < 0, "and nothing in it is known to be so");
    }
    judgement_free(judgement);
    free(shorter);
}

/* ---- what was found -------------------------------------------------------------------------- */

static void hold_judgement(const lt_judgement *judgement)
{
    char *text = NULL;
    size_t len = 0;
    lt_verdict worst = VERDICT_SAFE;
    for (int i = 0; i < guarantee_count; i++) {
        const lt_finding *finding = &judgement->findings[i];
        bool bad = finding->state == STATE_VIOLATED;
        if (bad && guarantees[i].verdict > worst)
            worst = guarantees[i].verdict;
        FUZZ_HOLDS((finding->count > 0) == bad, "violations are counted, and only they");
        FUZZ_HOLDS(!bad || finding->first[0] != '\0', "the first of them is named");
    }
    FUZZ_HOLDS(judgement->verdict >= worst, "the verdict is the worst");
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return;
    judgement_print_json("history", judgement, out);
    fclose(out);
    cJSON *json = cJSON_Parse(text);
    FUZZ_HOLDS(cJSON_IsObject(json), "the judgement is JSON");
    cJSON_Delete(json);
    free(text);
}

void fuzz_buys(const uint8_t *data, size_t len)
{
    const char *text = (const char *)data;
    lt_judgement *judgement = judge(text, len);
    if (judgement) {
        hold_judgement(judgement);
        if (len > 5 && memcmp(text + len - 5, "\nend\n", 5) == 0) {
            hold_any_order(text, len, judgement);
            hold_less(text, len);
        }
    }
    judgement_free(judgement);
}
