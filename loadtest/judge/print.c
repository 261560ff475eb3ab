/* print.c - prints a judgement as text for people and as one JSON object. */
#include "loadtest/judge/judge.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FIGURES = 18, WIDTH = 80, LINES = 24, FINDING_LINES = 3 };

typedef struct lt_named {
    const char *name;
    int64_t value;
} lt_named;

static void name_figures(const lt_figures *f, lt_named ret[FIGURES])
{
    const lt_named named[FIGURES] = {{"requests", f->requests},
                                     {"attempts", f->attempts},
                                     {"sold", f->sold},
                                     {"oversold", f->oversold},
                                     {"lost_updates", f->lost_updates},
                                     {"unordered", f->unordered},
                                     {"undersold", f->undersold},
                                     {"duplicates", f->duplicates},
                                     {"acked_lost", f->acked_lost},
                                     {"refused_sold", f->refused_sold},
                                     {"unresolved", f->unresolved},
                                     {"stuck", f->stuck},
                                     {"landed", f->landed},
                                     {"reserved", f->reserved},
                                     {"confirmed", f->confirmed},
                                     {"cancelled", f->cancelled},
                                     {"expired", f->expired},
                                     {"retold", f->retold}};
    for (int i = 0; i < FIGURES; i++)
        ret[i] = named[i];
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Prints a text in at most `most` lines, all but the first indented. Returns how many lines. */
static int put_lines(FILE *to, const char *text, int indent, int most)
{
    int lines = 0;
    for (size_t room = WIDTH; *text != '\0' && lines < most; room = WIDTH - (size_t)indent) {
        size_t len = strlen(text);
        if (len > room) {
            len = room;
            while (len > 0 && text[len] != ' ')
                len--;
            if (len == 0)
                len = room;
        }
        fprintf(to, "%*s%.*s\n", lines > 0 ? indent : 0, "", (int)len, text);
        text += len + (text[len] == ' ');
        lines++;
    }
    return lines;
}

static int put_figures(FILE *to, const lt_figures *figures)
{
    lt_named named[FIGURES];
    char text[FIGURES * 48];
    size_t used = 0;
    name_figures(figures, named);
    for (int i = 0; i < FIGURES; i++) {
        char number[24] = "?";
        if (named[i].value != JUDGE_UNKNOWN)
            snprintf(number, sizeof(number), "%" PRId64, named[i].value);
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s", i ? ", " : "",
                                 named[i].name, number);
    }
    return put_lines(to, text, 0, FINDING_LINES);
}

/* The names of all guarantees with the same finding, for the first of them, as far as there is
 * room; "" for the others. */
static void join_names(const lt_judgement *judgement, int first, char *ret, size_t len)
{
    static const char etc[] = " and more";
    const lt_finding *wanted = &judgement->findings[first];
    size_t used = 0;
    bool all = true;
    ret[0] = '\0';
    for (int i = 0; i < guarantee_count; i++) {
        const lt_finding *finding = &judgement->findings[i];
        if (finding->state != wanted->state || strcmp(finding->first, wanted->first) != 0)
            continue;
        if (i < first)
            return;
        all = all && used + strlen(guarantees[i].name) + strlen(", ") + sizeof(etc) <= len;
        if (all)
            used += (size_t)snprintf(ret + used, len - used, "%s%s", used ? ", " : "",
                                     guarantees[i].name);
    }
    if (!all)
        snprintf(ret + used, len - used, "%s", etc);
}

/* Prints the findings in a state, as far as there is room. Returns how many lines. */
static int put_findings(FILE *to, const lt_judgement *judgement, lt_state state, int room)
{
    int lines = 0, more = 0;
    for (int i = 0; i < guarantee_count; i++) {
        const lt_finding *finding = &judgement->findings[i];
        char text[sizeof(finding->first) + 192], names[128], count[32] = "";
        if (finding->state != state)
            continue;
        join_names(judgement, i, names, sizeof(names));
        if (names[0] == '\0')
            continue;
        if (room - lines <= FINDING_LINES) {
            more++;
            continue;
        }
        if (finding->count > 1)
            snprintf(count, sizeof(count), ", %" PRId64 " x", finding->count);
        snprintf(text, sizeof(text), "%s %s%s: %s", names, state_name(state), count,
                 finding->first);
        lines += put_lines(to, text, 2, FINDING_LINES);
    }
    if (more > 0)
        fprintf(to, "and %d more %s\n", more, state_name(state));
    return lines + (more > 0);
}

static int count_states(const lt_judgement *judgement, lt_state state)
{
    int count = 0;
    for (int i = 0; i < guarantee_count; i++)
        count += judgement->findings[i].state == state;
    return count;
}

/* Prints the reasons that come from no guarantee. */
static int put_doubts(FILE *to, const lt_judgement *judgement, int room)
{
    int lines = 0;
    for (int i = 0; i < judgement->reason_count && lines + FINDING_LINES <= room; i++) {
        const char *reason = judgement->reasons[i];
        bool named = false;
        for (int k = 0; k < guarantee_count && !named; k++) {
            size_t len = strlen(guarantees[k].name);
            named = strncmp(reason, guarantees[k].name, len) == 0 && reason[len] == ':';
        }
        if (!named)
            lines += put_lines(to, reason, 2, FINDING_LINES);
    }
    return lines;
}

void judgement_print(const char *path, const lt_judgement *judgement, FILE *to)
{
    char head[512];
    snprintf(head, sizeof(head), "%s: %s, %s, stock %" PRId64, path, judgement->strategy,
             judgement->durability, judgement->stock);
    int room = LINES - 3; /* the states, the verdict, and "more" */
    room -= put_lines(to, head, 2, FINDING_LINES);
    room -= put_figures(to, &judgement->figures);
    room -= put_findings(to, judgement, STATE_VIOLATED, room);
    room -= put_doubts(to, judgement, room);
    put_findings(to, judgement, STATE_UNCHECKED, room);
    fprintf(to, "%d guarantees hold, %d do not apply, %d unchecked, %d violated\n",
            count_states(judgement, STATE_OK), count_states(judgement, STATE_NOTHING),
            count_states(judgement, STATE_UNCHECKED), count_states(judgement, STATE_VIOLATED));
    fprintf(to, "%s\n", verdict_name(judgement->verdict));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static cJSON *figures_json(const lt_figures *figures)
{
    cJSON *json = cJSON_CreateObject();
    lt_named named[FIGURES];
    name_figures(figures, named);
    for (int i = 0; i < FIGURES; i++)
        cJSON_AddItemToObject(json, named[i].name,
                              named[i].value == JUDGE_UNKNOWN
                                  ? cJSON_CreateNull()
                                  : cJSON_CreateNumber((double)named[i].value));
    return json;
}

static cJSON *guarantee_json(const lt_guarantee *guarantee, const lt_finding *finding)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "id", guarantee->id);
    cJSON_AddStringToObject(json, "name", guarantee->name);
    cJSON_AddStringToObject(json, "sentence", guarantee->sentence);
    cJSON_AddStringToObject(json, "state", state_name(finding->state));
    cJSON_AddNumberToObject(json, "count", (double)finding->count);
    cJSON_AddStringToObject(json, "first", finding->first);
    cJSON_AddStringToObject(json, "verdict", verdict_name(guarantee->verdict));
    return json;
}

void judgement_print_json(const char *path, const lt_judgement *judgement, FILE *to)
{
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "file", path);
    cJSON_AddStringToObject(json, "strategy", judgement->strategy);
    cJSON_AddStringToObject(json, "durability", judgement->durability);
    cJSON_AddNumberToObject(json, "stock", (double)judgement->stock);
    cJSON_AddStringToObject(json, "verdict", verdict_name(judgement->verdict));
    cJSON *reasons = cJSON_AddArrayToObject(json, "reasons");
    for (int i = 0; i < judgement->reason_count; i++)
        cJSON_AddItemToArray(reasons, cJSON_CreateString(judgement->reasons[i]));
    cJSON_AddItemToObject(json, "figures", figures_json(&judgement->figures));
    cJSON *rows = cJSON_AddArrayToObject(json, "guarantees");
    for (int i = 0; i < guarantee_count; i++)
        cJSON_AddItemToArray(rows, guarantee_json(&guarantees[i], &judgement->findings[i]));
    char *text = cJSON_PrintUnformatted(json);
    if (text)
        fprintf(to, "%s\n", text);
    free(text);
    cJSON_Delete(json);
}
