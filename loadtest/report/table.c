/*
 * Several strategies on a screen: a row of 80 columns for each and eight lines around them, the
 * verdict last; and the limits and verdict of any report. Made from the result file.
 */
#include "loadtest/report/json_figure.h"
#include "loadtest/report/report.h"
#include "loadtest/report/style.h"

#include <string.h>

#define DOUBTS_SHOWN 2

/* Whether a row's rank is by what a sale costs. */
static bool by_cost(const cJSON *runs)
{
    const cJSON *run;
    cJSON_ArrayForEach(run, runs) {
        if (strcmp(json_text(run, "rank_by"), "cost") == 0)
            return true;
    }
    return false;
}

static void table_title(FILE *out, const cJSON *document)
{
    const cJSON *load = json_member(document, "load");
    double runs = json_number(load, "runs"), length = json_number(load, "run_length_s");
    char each[64] = "";
    if (length > 0.0)
        snprintf(each, sizeof(each), " of %.40s s", figure_of(length).text);
    style_wrap(out, NULL, 1, "%s model, %s users, stock %s, %.0f run%s%s; by %s",
               json_text(load, "model"), figure_count(json_number(load, "users")).text,
               figure_count(json_number(load, "stock")).text, runs, runs == 1.0 ? "" : "s", each,
               by_cost(json_member(document, "runs")) ? "throughput, CPU" : "throughput");
    fprintf(out, "%s%-16s %-11s %6s %5s %4s %9s %6s %5s %5s %4s%s\n", style_bold(out), "strategy",
            "verdict", "sold", "wrong", "rank", "answers/s", "CPU us", "p50", "p99", "fair",
            style_end(out));
}

static void table_row(FILE *out, const cJSON *row)
{
    char rank[16] = "-", fair[16] = "n/a";
    double fairness = json_number(row, "fairness");
    const char *verdict = json_text(row, "verdict");
    if (!isnan(json_number(row, "rank")))
        snprintf(rank, sizeof(rank), "%.0f%s", json_number(row, "rank"),
                 json_true(row, "shares_rank") ? "=" : "");
    if (!isnan(fairness))
        snprintf(fair, sizeof(fair), "%.2f", fairness);
    fprintf(out, "%-16s %s%-11s%s %6s %5s %4s %9s %6s %5s %5s %4s\n",
            figure_name(json_text(row, "strategy"), 16).text, style_verdict(out, verdict), verdict,
            style_end(out), figure_short(json_number(row, "sold_units"), 6).text,
            figure_short(json_number(row, "wrong"), 5).text, rank,
            figure_short(json_number(row, "throughput_rps"), 5).text,
            figure_short(json_number(row, "cpu_us_per_sale.total"), 5).text,
            figure_short(json_number(row, "latency_ms.p50"), 5).text,
            figure_short(json_number(row, "latency_ms.p99"), 5).text, fair);
}

/* What the first strategy that is expected to sell wrongly did. */
static void table_control(FILE *out, const cJSON *runs)
{
    const cJSON *run;
    cJSON_ArrayForEach(run, runs) {
        if (!json_true(run, "expect_unsafe"))
            continue;
        style_wrap(out, NULL, 1, "%s%s: %s", figure_name(json_text(run, "strategy"), 16).text,
                   strstr(json_text(run, "sentence"), "as expected") ? ""
                                                                     : ", expected to be unsafe",
                   json_text(run, "sentence"));
        return;
    }
}

static void table_doubts(FILE *out, const cJSON *runs)
{
    int count = 0;
    const cJSON *run, *reason;
    cJSON_ArrayForEach(run, runs) {
        cJSON_ArrayForEach(reason, json_member(run, "invalid_because")) {
            if (++count < DOUBTS_SHOWN)
                style_wrap(out, NULL, 1, "doubt, %s: %s",
                           figure_name(json_text(run, "strategy"), 16).text, reason->valuestring);
        }
    }
    if (count >= DOUBTS_SHOWN)
        style_wrap(out, NULL, 1, "doubts in all: %d, see --details", count);
}

void report_table(FILE *out, const cJSON *document)
{
    const cJSON *runs = json_member(document, "runs"), *run;
    const char *verdict = json_text(document, "verdict");
    table_title(out, document);
    cJSON_ArrayForEach(run, runs)
        table_row(out, run);
    fputs("wrong: by the verdict. CPU: of service and Redis, us a sale. p50, p99: ms.\n"
          "fair: fewest sales of a user by most. rank 2=: runs do not tell which is first.\n",
          out);
    table_doubts(out, runs);
    report_limits(out, document);
    table_control(out, runs);
    report_verdict(out, strcmp(verdict, "SAFE") == 0 ? "" : verdict,
                   json_text(document, "headline"));
}

void report_limits(FILE *out, const cJSON *document)
{
    char text[1000] = "";
    int kept = 0;
    const cJSON *run, *limit;
    cJSON_ArrayForEach(run, json_member(document, "runs")) {
        bool counts = !json_true(run, "expect_unsafe");
        cJSON_ArrayForEach(limit, json_member(run, "thresholds")) {
            size_t at = strlen(text);
            bool ok = strcmp(json_text(limit, "state"), "ok") == 0;
            kept += counts && ok;
            if (counts && !ok)
                snprintf(text + at, sizeof(text) - at, "%s %s: %s (%s); ",
                         json_text(limit, "state"), json_text(limit, "fail_if"),
                         figure_of(json_number(limit, "observed")).text,
                         json_text(run, "strategy"));
        }
    }
    if (kept > 0 || text[0] != '\0')
        style_wrap(out, "limits", 1, "%s%d kept", text, kept);
}

void report_verdict(FILE *out, const char *verdict, const char *sentence)
{
    const char *gap = verdict[0] == '\0' ? "" : "  ";
    int room = STYLE_COLUMNS - (int)(strlen(verdict) + strlen(gap));
    bool cut = (int)strlen(sentence) > room;
    fprintf(out, "%s%s%s%s%.*s%s\n", style_verdict(out, verdict), verdict, style_end(out), gap,
            cut ? room - 3 : room, sentence, cut ? "..." : "");
}
