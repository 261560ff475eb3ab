/* report.c - what was found, as text for people and as one JSON object a history. */
#include "tests/tools/buycheck/report.h"

#include <inttypes.h>
#include <stdarg.h>

static const char *const names[CHECKS] = {"I1", "I2", "I3",    "I4",    "I5",      "I6",
                                          "I7", "I8", "order", "limit", "sold_out"};
static const char *const states[] = {"unchecked", "ok", "nothing", "violated"};

void violated(bc_report *report, bc_check check, const char *format, ...)
{
    bc_finding *finding = &report->findings[check];
    finding->state = STATE_VIOLATED;
    if (finding->count++ > 0)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(finding->first, sizeof(finding->first), format, args);
    va_end(args);
}

void settle(bc_report *report, bc_check check, bc_state state, const char *why)
{
    bc_finding *finding = &report->findings[check];
    if (finding->state == STATE_VIOLATED)
        return;
    finding->state = state;
    snprintf(finding->first, sizeof(finding->first), "%s", state == STATE_UNCHECKED ? why : "");
}

static const char *verdict(const bc_report *report)
{
    static const char *const words[] = {"HELD", "VIOLATED", "", "UNCHECKED"};
    return words[report_exit(report)];
}

int report_exit(const bc_report *report)
{
    bool unchecked = false;
    for (int i = 0; i < CHECKS; i++) {
        if (report->findings[i].state == STATE_VIOLATED)
            return 1;
        unchecked = unchecked || report->findings[i].state == STATE_UNCHECKED;
    }
    return unchecked ? 3 : 0;
}

/* ---- figures --------------------------------------------------------------------------------- */

#define FIGURES 13

typedef struct bc_named {
    const char *name;
    int64_t value;
} bc_named;

static void name_figures(const bc_figures *f, bc_named ret[FIGURES])
{
    const bc_named named[FIGURES] = {{"requests", f->requests},
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
                                     {"landed", f->landed}};
    for (int i = 0; i < FIGURES; i++)
        ret[i] = named[i];
}

/* ---- text ------------------------------------------------------------------------------------ */

void report_print(const bc_report *report, FILE *to)
{
    const bc_history *h = report->history;
    bc_named figures[FIGURES];
    name_figures(&report->figures, figures);
    fprintf(to, "%s: %s, %s, stock %" PRId64 "\n", h->path, h->sale.strategy, h->sale.durability,
            h->sale.stock);
    for (int i = 0; i < FIGURES; i++) {
        fprintf(to, "%s%s ", i ? ", " : "", figures[i].name);
        if (figures[i].value == UNKNOWN)
            fputc('?', to);
        else
            fprintf(to, "%" PRId64, figures[i].value);
    }
    fputc('\n', to);
    for (int i = 0; i < CHECKS; i++) {
        const bc_finding *finding = &report->findings[i];
        fprintf(to, "%s: %s", names[i], states[finding->state]);
        if (finding->count > 0)
            fprintf(to, ", %" PRId64 " x", finding->count);
        fprintf(to, "%s%s\n", finding->first[0] ? ": " : "", finding->first);
    }
    fprintf(to, "%s\n", verdict(report));
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A string; what is not printable ASCII becomes "?". */
static void put_text(FILE *to, const char *text)
{
    fputc('"', to);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fputc('\\', to);
        fputc(c < 32 || c > 126 ? '?' : c, to);
    }
    fputc('"', to);
}

static void put_member(FILE *to, const char *name, const char *text)
{
    fprintf(to, "\"%s\":", name);
    put_text(to, text);
    fputc(',', to);
}

static void put_figures(const bc_report *report, FILE *to)
{
    bc_named figures[FIGURES];
    name_figures(&report->figures, figures);
    fputs("\"figures\":{", to);
    for (int i = 0; i < FIGURES; i++) {
        fprintf(to, "%s\"%s\":", i ? "," : "", figures[i].name);
        if (figures[i].value == UNKNOWN)
            fputs("null", to);
        else
            fprintf(to, "%" PRId64, figures[i].value);
    }
    fputs("},", to);
}

void report_print_json(const bc_report *report, FILE *to)
{
    const bc_sale *sale = &report->history->sale;
    fputs("{\"schema\":1,", to);
    put_member(to, "history", report->history->path);
    put_member(to, "sale", sale->id);
    put_member(to, "strategy", sale->strategy);
    put_member(to, "durability", sale->durability);
    fprintf(to, "\"stock\":%" PRId64 ",", sale->stock);
    put_figures(report, to);
    fputs("\"invariants\":[", to);
    for (int i = 0; i < CHECKS; i++) {
        const bc_finding *finding = &report->findings[i];
        fprintf(to, "%s{", i ? "," : "");
        put_member(to, "name", names[i]);
        put_member(to, "state", states[finding->state]);
        fprintf(to, "\"count\":%" PRId64 ",\"first\":", finding->count);
        put_text(to, finding->first);
        fputc('}', to);
    }
    fprintf(to, "],\"verdict\":\"%s\"}\n", verdict(report));
}
