/*
 * The reports of three runs whose figures are known, word by word: known.txt and known.json beside
 * this file were looked through by hand. Whoever changes a report changes them: with RENEW=1 in the
 * environment they are written anew, to be looked through again.
 */
#include "tests/loadtest/result/sound_run.h"

#include "loadtest/report/report.h"
#include "loadtest/report/sentence.h"
#include "loadtest/report/style.h"
#include "loadtest/result/comparison.h"

#include <math.h>
#include <stdio.h>

#define FOLDER "tests/loadtest/report/"

enum { ROWS = 3, PAGE_MAX = 128 * 1024 };

typedef struct known {
    lt_plan plan;
    lt_threshold thresholds[2];
    lt_comparison comparison;
    sound sounds[ROWS], faster; /* `faster`: the first one again */
} known;

/* ---- the runs -------------------------------------------------------------------------------- */

/* So many latencies in ms, spread evenly from `low` to `high`. */
static void spread(lt_histogram_slot *slot, double low, double high, int count)
{
    for (int i = 0; i < count; i++)
        sound_record(slot, (int64_t)((low + (high - low) * i / count) * 1000), 1);
}

static void finish_latencies(sound *s)
{
    histogram_free(s->result.all_due);
    s->result.all_due = tally_all(s->tally);
}

/* What the judge would say of a guarantee. */
static void add_finding(lt_result *r, const char *name, lt_state state, int64_t count,
                        const char *first)
{
    int i = 0;
    while (i < guarantee_count && strcmp(guarantees[i].name, name) != 0)
        i++;
    assert_in_range(i, 0, guarantee_count - 1);
    lt_invariant *invariant = &r->invariants[r->invariant_count++];
    *invariant = (lt_invariant){.guarantee = &guarantees[i],
                                .finding = {.state = state, .count = count},
                                .ok = state == STATE_OK || state == STATE_NOTHING};
    snprintf(invariant->finding.first, sizeof(invariant->finding.first), "%s", first);
}

/* All that a run can tell, and nothing wrong. */
static void make_rich(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    spread(&t->from_due[OUT_SOLD], 2, 12, STOCK);
    spread(&t->from_due[OUT_SOLD_OUT], 1, 40, REQUESTS - STOCK);
    spread(&t->from_send, 1, 39, REQUESTS);
    spread(&t->from_due[SERIES_UNANSWERED], 900, 900, 1);
    spread(&t->lag, 0, 0.5, REQUESTS);
    r->silence_s = 0.25;
    r->silent_from_s = 1.5;
    t->retries = 7;
    r->retries_probed = 10;
    t->connects = 21;
    t->waited = 5;
    t->unsent = 2;
    t->bytes_received = 30000;
    t->bytes_sent = 60000;
    t->targets[0].sold = 60;
    t->targets[1].sold = 40;
    t->targets[1].failed = 1;
    spread(&t->targets[1].latency, 2, 3, 30);
    t->outcomes[OUT_SOLD_OUT] -= 4;
    t->outcomes[OUT_UNKNOWN] = 4;
    r->fairness = (lt_fairness){.users = USERS,
                                .never_served = 2,
                                .starved = 3,
                                .least = 4,
                                .most = 6,
                                .ratio = 4.0 / 6,
                                .jain = 0.95};
    r->user_sales = calloc(USERS, sizeof(r->user_sales[0]));
    for (int i = 0; i < USERS; i++)
        r->user_sales[i] = 4 + i / 8;
    r->error_count = 2;
    r->errors[0] = (lt_error_entry){PHASE_WAIT, "timeout", 1, 8};
    r->errors[1] = (lt_error_entry){PHASE_CONNECT, "refused", 0, 2};
    r->health = (lt_generator_health){.cpu_s = 0.6, .cores = 2, .share = 0.15};
    r->costs = (lt_costs){{.service_us = 70, .redis_us = 25.5, .redis_commands = 3.25},
                          {.service_us = 40, .redis_us = 12},
                          .lock_wait_p50_ms = 1.5,
                          .lock_wait_p99_ms = 22};
    r->bin_count = 2;
    r->bin_width_s = 1;
    r->bins = calloc(2, sizeof(r->bins[0]));
    r->bins[0] = (lt_timeline_bin){.outcomes = {[OUT_SOLD] = 100}, .p50_ms = 5, .p99_ms = 9};
    r->bins[1] = (lt_timeline_bin){
        .start_s = 1, .outcomes = {[OUT_SOLD_OUT] = 200, [SERIES_UNANSWERED] = 1}, .p50_ms = 7};
    r->watch.samples = calloc(2, sizeof(r->watch.samples[0]));
    r->watch.samples[0] = (lt_stock_sample){0.5, 70, 30, 0};
    r->watch.samples[1] = (lt_stock_sample){1, 0, 100, 0};
    r->watch.count = 2;
    add_finding(r, "units", STATE_OK, 0, "");
    add_finding(r, "limit", STATE_NOTHING, 0, "");
    snprintf(r->invariants[0].check, sizeof(r->invariants[0].check),
             "redis-cli GET 'fs:{P0001}:s1:stock'");
    finish_latencies(s);
}

/* Oversold, without a ledger, and requests that left late. */
static void make_oversold(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    snprintf(s->spec.strategy, sizeof(s->spec.strategy), "none");
    snprintf(s->spec.label, sizeof(s->spec.label), "none");
    s->spec.expect_unsafe = true;
    t->outcomes[OUT_SOLD] = 130;
    t->outcomes[OUT_SOLD_OUT] = 150;
    t->outcomes[OUT_BUSY] = 10;
    t->outcomes[OUT_UNKNOWN] = 6;
    t->outcomes[OUT_ERROR] = 4;
    t->completed = 296;
    t->failed = 3;
    t->unfinished = 1;
    spread(&t->from_due[OUT_SOLD], 30, 60, 130);
    spread(&t->from_send, 10, 20, 130);
    r->evidence.ledger = LEDGER_NONE;
    r->verdict = VERDICT_OVERSOLD;
    r->sold = r->sold_units = 130;
    r->oversold = 30;
    r->lost_updates = 10;
    add_finding(r, "oversold", STATE_VIOLATED, 30, "130 sold of 100");
    add_finding(r, "units", STATE_UNCHECKED, 0, "there is no ledger");
    add_finding(r, "range", STATE_VIOLATED, 1, "line 7: -20 left");
    r->invariants[r->invariant_count - 1].of_old_sale = true;
    r->sellout_s = NAN;
    r->costs = cost_meter_stop(NULL);
    r->fairness = (lt_fairness){.ratio = NAN, .jain = NAN};
    finish_latencies(s);
}

/* Interrupted, its ledger unreadable; and one request in all. */
static void make_partial(sound *s)
{
    lt_tally *t = s->tally;
    lt_result *r = &s->result;
    snprintf(s->spec.strategy, sizeof(s->spec.strategy), "fair");
    snprintf(s->spec.label, sizeof(s->spec.label), "fair:wait_ms=0");
    t->issued = t->completed = 1;
    t->outcomes[OUT_SOLD] = 1;
    t->outcomes[OUT_SOLD_OUT] = 0;
    spread(&t->from_due[OUT_SOLD], 5, 5, 1);
    spread(&t->from_send, 5, 5, 1);
    spread(&t->lag, 3, 3, 1);
    r->partial = true;
    r->stop_reason = STOP_INTERRUPTED;
    r->evidence.ledger = LEDGER_BROKEN;
    r->verdict = VERDICT_INVALID;
    r->sold = r->sold_units = 1;
    result_invalid(r, "GET /orders: the ledger can not be relied upon: no page");
    result_invalid(r, "interrupted: this is a partial report");
    r->sellout_s = NAN;
    r->costs = cost_meter_stop(NULL);
    r->fairness = (lt_fairness){.users = 1, .least = 1, .most = 1, .ratio = NAN, .jain = NAN};
    finish_latencies(s);
}

static void make_known(known *k)
{
    static void (*const makers[ROWS])(sound *) = {make_rich, make_oversold, make_partial};
    char err[256];
    memset(k, 0, sizeof(*k));
    sound_make(&k->faster);
    k->faster.tally->issued = k->faster.tally->completed = 360;
    k->faster.result.costs.sale = (lt_cost){.service_us = 60, .redis_us = 20};
    k->plan = k->faster.plan;
    k->plan.runs = 2;
    k->plan.preset = PRESET_REFERENCE;
    k->plan.needs_control = true;
    k->comparison.plan = &k->plan;
    assert_true(threshold_parse("p99>10ms", &k->thresholds[0], err, sizeof(err)));
    assert_true(threshold_parse("sold<50", &k->thresholds[1], err, sizeof(err)));
    k->comparison.thresholds = k->thresholds;
    k->comparison.threshold_count = 2;
    k->comparison.row_count = ROWS;
    for (int i = 0; i < ROWS; i++) {
        sound *s = &k->sounds[i];
        lt_row *row = &k->comparison.rows[i];
        sound_make(s);
        makers[i](s);
        s->result.spec = row->spec = &s->spec;
        row->runs = calloc(2, sizeof(row->runs[0]));
        row->runs[row->run_count++] = s->result;
    }
    k->comparison.rows[0].runs[k->comparison.rows[0].run_count++] = k->faster.result;
    comparison_rank(&k->comparison);
}

static void free_known(known *k)
{
    comparison_release(&k->comparison);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static void is_as_known(const char *name, const char *text)
{
    static char expected[PAGE_MAX];
    char path[128];
    snprintf(path, sizeof(path), FOLDER "%s", name);
    FILE *file = fopen(path, getenv("RENEW") ? "w+" : "r");
    assert_non_null(file);
    if (getenv("RENEW"))
        fputs(text, file);
    rewind(file);
    expected[fread(expected, 1, sizeof(expected) - 1, file)] = '\0';
    fclose(file);
    const char *a = expected, *b = text;
    for (int line = 1; *a || *b; line++) {
        size_t a_len = strcspn(a, "\n"), b_len = strcspn(b, "\n");
        if (a_len != b_len || memcmp(a, b, a_len) != 0)
            fail_msg("%s, line %d:\n  known: %.*s\n  found: %.*s", name, line, (int)a_len, a,
                     (int)b_len, b);
        a += a_len + (a[a_len] == '\n');
        b += b_len + (b[b_len] == '\n');
    }
}

/* What one of the reports says of a result file; to be freed. */
static char *said_of(void (*report)(FILE *, const cJSON *), const cJSON *document)
{
    char *text = NULL;
    size_t len;
    FILE *out = open_memstream(&text, &len);
    report(out, document);
    fclose(out);
    return text;
}

/* Each run alone, all side by side, and all that is known. */
static void texts_are_as_known(void **unused)
{
    (void)unused;
    static known k;
    char *text = NULL;
    size_t len;
    make_known(&k);
    cJSON *document = report_json(&k.comparison), *runs = cJSON_GetObjectItem(document, "runs");
    FILE *out = open_memstream(&text, &len);
    for (int i = 0; i < ROWS; i++) {
        report_text(out, document);
        cJSON_AddItemToArray(runs, cJSON_DetachItemFromArray(runs, 0));
        fputc('\n', out);
    }
    report_table(out, document);
    report_details(out, document);
    fclose(out);
    is_as_known("known.txt", text);
    free(text);
    cJSON_Delete(document);
    free_known(&k);
}

static void the_result_file_is_as_known(void **unused)
{
    (void)unused;
    static known k;
    make_known(&k);
    cJSON *json = report_json(&k.comparison);
    cJSON_DeleteItemFromObject(json, "environment"); /* this machine's */
    char *text = cJSON_Print(json);
    is_as_known("known.json", text);
    free(text);
    cJSON_Delete(json);
    free_known(&k);
}

/* ---- what fits on a screen ------------------------------------------------------------------- */

static cJSON *document_of(sound *s)
{
    lt_row row = {.spec = &s->spec, .runs = &s->result, .run_count = 1};
    lt_comparison comparison = {.plan = &s->plan, .row_count = 1};
    comparison.rows[0] = row;
    return report_json(&comparison);
}

/* A run that never came to be has a verdict, a reason, and nothing more. */
static void a_run_without_figures_is_three_lines(void **unused)
{
    (void)unused;
    sound s = {.spec = {.label = "fair"}, .plan = {.stock = STOCK, .item = "P0001"}};
    s.result = (lt_result){.spec = &s.spec, .verdict = VERDICT_INVALID, .stock_asked = STOCK};
    result_invalid(&s.result, "target http://a is down");
    cJSON *document = document_of(&s);
    char *text = said_of(report_text, document);
    assert_string_equal(text, "fair: closed model, 0 users, 0 targets, stock 100\n"
                              "doubts       target http://a is down\n"
                              "INVALID  can not be judged: target http://a is down\n");
    free(text);
    cJSON_Delete(document);
}

/* Without an answer there are no latencies to show; the rest is shown all the same. */
static void a_run_without_answers_shows_no_latencies(void **unused)
{
    (void)unused;
    sound s;
    sound_make(&s);
    s.tally->completed = s.tally->outcomes[OUT_SOLD] = s.tally->outcomes[OUT_SOLD_OUT] = 0;
    s.tally->failed = REQUESTS;
    s.result.sold = s.result.sold_units = 0;
    cJSON *document = document_of(&s);
    char *text = said_of(report_text, document);
    assert_null(strstr(text, "latency"));
    assert_non_null(strstr(text, "answers      none\n"));
    assert_non_null(strstr(text, "guarantees "));
    free(text);
    cJSON_Delete(document);
    sound_free(&s);
}

static void set_number(cJSON *json, const char *name, double value)
{
    cJSON_DeleteItemFromObject(json, name);
    cJSON_AddNumberToObject(json, name, value);
}

static void set_text(cJSON *json, const char *name, const char *value)
{
    cJSON_DeleteItemFromObject(json, name);
    cJSON_AddStringToObject(json, name, value);
}

#define LONG_TEXT                                                                                  \
    "a sentence that goes on and on, names http://127.0.0.1:7000/orders?sale=5f03a1 and does not " \
    "come to its end on this line, nor on the next one, which a screen of eighty columns shows: "  \
    "so it has to be cut somewhere, and it is"

/* All that a run can say, and more of it than there is room for. */
static void make_wordy(cJSON *run, const char *strategy)
{
    static const char *const figures[] = {
        "sold",         "sold_units",  "sold_out",    "limit_reached",  "busy",
        "errors",       "unavailable", "unknown",     "oversold",       "undersold",
        "lost_updates", "duplicates",  "users_asked", "users_starved",  "users_never_served",
        "stock",        "wrong",       "sellout_s",   "throughput_rps", "goodput_sps"};
    set_text(run, "strategy", strategy);
    set_text(run, "sentence", LONG_TEXT);
    for (size_t i = 0; i < COUNT(figures); i++)
        set_number(run, figures[i], 1234567891);
    cJSON *latencies = cJSON_GetObjectItem(run, "latency_by_outcome");
    cJSON_DeleteItemFromObject(latencies, "unanswered");
    cJSON_AddItemToObject(latencies, "unanswered",
                          cJSON_Duplicate(cJSON_GetObjectItem(latencies, "all"), true));
    for (cJSON *latency = latencies->child; latency; latency = latency->next) {
        set_number(latency, "n", 123456789);
        set_number(latency, "max", 123456789.5);
    }
    cJSON_DeleteItemFromObject(run, "silence_s");
    cJSON_DeleteItemFromObject(run, "cpu_us_per_sale");
    cJSON_DeleteItemFromObject(run, "errors_by_kind");
    cJSON *silence = cJSON_AddObjectToObject(run, "silence_s");
    set_number(silence, "from", 0.25);
    set_number(silence, "length", 12345.5);
    cJSON *cpu = cJSON_AddObjectToObject(run, "cpu_us_per_sale");
    set_number(cpu, "service", 1234567);
    set_number(cpu, "redis", 1234567);
    set_number(cpu, "total", 1234567);
    cJSON *list = cJSON_AddArrayToObject(run, "errors_by_kind");
    for (int i = 0; i < 4; i++) {
        cJSON *entry = cJSON_CreateObject();
        set_number(entry, "count", 1000000 + i);
        set_text(entry, "phase", "warm-up");
        set_text(entry, "code", "an_error_code_that_has_the_full_length_of_sixty_characters");
        set_text(entry, "target", "http://[2001:db8:0000:0000:0000:0000:0000:1]:7000");
        set_text(entry, "hint", LONG_TEXT);
        cJSON_AddItemToArray(list, entry);
    }
    cJSON *item = cJSON_GetArrayItem(cJSON_GetObjectItem(run, "invariants"), 0);
    set_text(item, "state", "violated");
    set_text(item, "first", LONG_TEXT);
    cJSON *reasons = cJSON_GetObjectItem(run, "invalid_because");
    for (int i = 0; i < 5; i++)
        cJSON_AddItemToArray(reasons, cJSON_CreateString(LONG_TEXT));
}

/* Every line, and how many there are; the last one has the verdict. */
static void fits_a_screen(const char *text, const char *last)
{
    int lines = 0;
    const char *line = text;
    for (; *line != '\0'; line += strcspn(line, "\n") + 1) {
        lines++;
        if (strcspn(line, "\n") > 80)
            fail_msg("%zu columns: %.*s", strcspn(line, "\n"), (int)strcspn(line, "\n"), line);
        if (line[strcspn(line, "\n") + 1] == '\0' && strncmp(line, last, strlen(last)) != 0)
            fail_msg("the last line is %s", line);
    }
    if (lines > 24)
        fail_msg("%d lines:\n%s", lines, text);
}

static void all_that_can_be_said_fits_a_screen(void **unused)
{
    (void)unused;
    enum { STRATEGIES = 14 };
    static known k;
    char name[160];
    make_known(&k);
    cJSON *document = report_json(&k.comparison), *runs = cJSON_GetObjectItem(document, "runs");
    while (cJSON_GetArraySize(runs) < STRATEGIES)
        cJSON_AddItemToArray(runs, cJSON_Duplicate(cJSON_GetArrayItem(runs, 0), true));
    for (int i = 0; i < STRATEGIES; i++) {
        cJSON *run = cJSON_GetArrayItem(runs, i);
        snprintf(name, sizeof(name), "a_strategy_with_options:wait_ms=%d:lease_ms=%d", i, i);
        make_wordy(run, name);
        set_text(run, "verdict", i % 2 ? "COUNTS_ONLY" : "DUPLICATED");
        set_number(run, "rank", 14);
    }
    set_text(document, "headline", LONG_TEXT);
    set_text(document, "verdict", "DUPLICATED");
    char *table = said_of(report_table, document), *text = said_of(report_text, document);
    fits_a_screen(table, "DUPLICATED  a sentence that");
    fits_a_screen(text, "DUPLICATED  a sentence that");
    assert_non_null(strstr(table, "a_strate~e_ms=13"));
    free(table);
    free(text);
    cJSON_Delete(document);
    free_known(&k);
}

/* ---- what is said of a verdict --------------------------------------------------------------- */

static void a_sentence_claims_what_was_checked(void **unused)
{
    (void)unused;
    static const struct {
        const char *run, *sentence; /* members of the run */
    } table[] = {
        {"'verdict':'SAFE'", "sold 90 of 100, each to one buyer, each in the ledger"},
        {"'verdict':'COUNTS_ONLY'", "sold 90 of 100; no ledger: only counts were compared"},
        {"'verdict':'OVERSOLD','oversold':4000", "sold 90 of 100: 4,000 too many"},
        {"'verdict':'OVERSOLD','oversold':4,'expect_unsafe':true",
         "sold 90 of 100: 4 too many, as expected of it"},
        {"'verdict':'LOST','lost_updates':0,'invariants':["
         "{'state':'violated','verdict':'BROKEN','name':'fences','first':'r1 has fence 3'},"
         "{'state':'unchecked','verdict':'LOST','name':'units','first':'no ledger'},"
         "{'state':'violated','verdict':'LOST','name':'I4 orders','first':'r2 has none'}]",
         "sold 90 of 100; I4 orders: r2 has none"},
        {"'verdict':'UNDERSOLD','undersold':10",
         "sold 90 of 100; 10 were left although buyers were turned away"},
        {"'verdict':'INVALID','expect_unsafe':true,'invalid_because':['a','b']",
         "can not be judged: a"},
        {"'verdict':'ANOTHER'", "can not be judged: no reason is known"},
        {"'verdict':'INVALID'", "can not be judged: no reason is known"},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        char text[600];
        snprintf(text, sizeof(text), "{'runs':[{'sold_units':90,'stock':100,%s}]}", table[i].run);
        for (char *at = text; *at != '\0'; at++)
            *at = *at == '\'' ? '"' : *at;
        cJSON *document = cJSON_Parse(text);
        assert_non_null(document);
        sentence_add_all(document);
        const cJSON *run = cJSON_GetArrayItem(cJSON_GetObjectItem(document, "runs"), 0);
        assert_string_equal(cJSON_GetObjectItem(run, "sentence")->valuestring, table[i].sentence);
        cJSON_Delete(document);
    }
}

/* Strategies by their verdicts, "!" before one that is expected to break its word. */
static void the_headline_has_the_bad_news_first(void **unused)
{
    (void)unused;
    static const struct {
        const char *rows[4], *verdict, *headline;
        bool control_missed;
    } table[] = {
        {{"SAFE", "SAFE", "!OVERSOLD"},
         "SAFE",
         "2 safe; s2 oversold by 4,000, as expected of it",
         false},
        {{"UNDERSOLD", "SAFE", "LOST", "!OVERSOLD"},
         "LOST",
         "s2 lost 4,000; s0 left over 4,000; 1 safe; s3 oversold by 4,000, as expected of it",
         false},
        {{"!INVALID", "SAFE", "BROKEN"}, "BROKEN", "s2 is BROKEN; s0 is INVALID; 1 safe", false},
        {{"COUNTS_ONLY", "SAFE"}, "COUNTS_ONLY", "1 judged by counts only; 1 safe", false},
        {{"SAFE", "!SAFE"},
         "INVALID",
         "nothing is proven: no unlocked run sold wrongly; 2 safe",
         true},
        {{NULL}, "INVALID", "no run finished", false},
    };
    for (size_t i = 0; i < COUNT(table); i++) {
        cJSON *document = cJSON_CreateObject(), *runs = cJSON_AddArrayToObject(document, "runs");
        cJSON_AddBoolToObject(document, "control_missed", table[i].control_missed);
        for (int row = 0; row < 4 && table[i].rows[row]; row++) {
            char name[8];
            bool expected = table[i].rows[row][0] == '!';
            cJSON *run = cJSON_CreateObject();
            snprintf(name, sizeof(name), "s%d", row);
            set_text(run, "strategy", name);
            set_text(run, "verdict", table[i].rows[row] + expected);
            cJSON_AddBoolToObject(run, "expect_unsafe", expected);
            set_number(run, "oversold", 4000);
            set_number(run, "lost_updates", 4000);
            set_number(run, "undersold", 4000);
            cJSON_AddItemToArray(runs, run);
        }
        sentence_add_all(document);
        assert_string_equal(cJSON_GetObjectItem(document, "headline")->valuestring,
                            table[i].headline);
        assert_string_equal(cJSON_GetObjectItem(document, "verdict")->valuestring,
                            table[i].verdict);
        cJSON_Delete(document);
    }
}

/* ---- figures --------------------------------------------------------------------------------- */

/* With three digits, and never fewer before the point than there are. */
static void figures_have_three_digits(void **unused)
{
    (void)unused;
    static const struct {
        double value;
        const char *text;
    } table[] = {{0, "0"},       {0.5, "0.500"},   {0.9994, "0.999"}, {1, "1.00"},
                 {9.99, "9.99"}, {10, "10.0"},     {99.9, "99.9"},    {100, "100"},
                 {-20, "-20.0"}, {12345, "12345"}, {NAN, "n/a"}};
    for (size_t i = 0; i < COUNT(table); i++)
        assert_string_equal(figure_of(table[i].value).text, table[i].text);
}

static void short_figures_keep_to_their_width(void **unused)
{
    (void)unused;
    static const struct {
        double value;
        int width;
        const char *text;
    } table[] = {
        {5, 5, "5"},           {5.5, 5, "5.50"},      {99999, 5, "99999"},    {100000, 5, "100k"},
        {100000, 6, "100000"}, {1234567, 5, "1.23M"}, {12345678, 6, "12.3M"}, {999999, 5, "1.00M"},
        {99.97, 5, "100.0"},   {1e20, 5, "100000P"},  {NAN, 5, "n/a"}};
    for (size_t i = 0; i < COUNT(table); i++)
        assert_string_equal(figure_short(table[i].value, table[i].width).text, table[i].text);
    assert_string_equal(figure_count(-1234567).text, "-1,234,567");
    assert_string_equal(figure_count(999).text, "999");
    assert_string_equal(figure_name("setnx:wait_ms=500", 17).text, "setnx:wait_ms=500");
    assert_string_equal(figure_name("setnx:wait_ms=500", 16).text, "setnx:wa~_ms=500");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_are_as_known),
        cmocka_unit_test(the_result_file_is_as_known),
        cmocka_unit_test(figures_have_three_digits),
        cmocka_unit_test(short_figures_keep_to_their_width),
        cmocka_unit_test(a_run_without_figures_is_three_lines),
        cmocka_unit_test(a_run_without_answers_shows_no_latencies),
        cmocka_unit_test(all_that_can_be_said_fits_a_screen),
        cmocka_unit_test(a_sentence_claims_what_was_checked),
        cmocka_unit_test(the_headline_has_the_bad_news_first),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
