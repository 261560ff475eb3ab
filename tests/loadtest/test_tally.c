/*
 * Measurements held against the stub's own log: what loadtest prints is what happened.
 *
 * The stub writes down when it received and when it answered each request, on the same clock. So
 * the true latency of every request is known without loadtest's help.
 */
#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/stub.h"

#include "loadtest/stats/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS   4
#define CROWDED_MS 50 /* small beside what a hidden stall would hide */
struct log_entry {
    int64_t ticket, received, replied; /* ns */
};

struct log {
    struct log_entry *entries;
    int count;
};

static char dir[256], log_path[300];
static fx_stub *stub;

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    snprintf(log_path, sizeof(log_path), "%s/stub.csv", dir);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fx_stub_stop(stub);
    stub = NULL;
    fx_dir_remove(dir);
    return 0;
}

static int by_ticket(const void *a, const void *b)
{
    int64_t x = ((const struct log_entry *)a)->ticket, y = ((const struct log_entry *)b)->ticket;
    return (x > y) - (x < y);
}

/* Ends the stub, so that its log is complete, and reads it. */
static struct log read_log(int expected)
{
    struct log log = {.entries = calloc((size_t)expected, sizeof(struct log_entry))};
    char key[80];
    fx_stub_stop(stub);
    stub = NULL;
    FILE *in = fopen(log_path, "r");
    assert_non_null(in);
    while (log.count < expected &&
           fscanf(in, "%79[^,],%" SCNd64 ",%" SCNd64 "\n", key, &log.entries[log.count].received,
                  &log.entries[log.count].replied) == 3) {
        log.entries[log.count].ticket = strtoll(strrchr(key, '-') + 1, NULL, 10);
        log.count += strchr(key, '-') == strrchr(key, '-'); /* the others ask for other sales */
    }
    fclose(in);
    qsort(log.entries, (size_t)log.count, sizeof(log.entries[0]), by_ticket);
    return log;
}

static int rising(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* By nearest rank; sorts the values. */
static double exact_quantile(double *values, int count, double quantile)
{
    qsort(values, (size_t)count, sizeof(values[0]), rising);
    return values[(int)ceil(quantile * count - 1e-9) - 1];
}

/* A load at a rate, and the percentiles of it that must be as the stub's log has them. */
struct measured {
    const char *stub[3]; /* its option and value */
    int rate, requests, unanswered;
    const char *stock; /* as many as are answered, so that none is left */
    const char *fail_if;
    int exit_code; /* a busy machine may make it 3 */
    int first;     /* of the quantiles below */
    double tolerance;
};

static const struct {
    const char *path;
    double quantile;
} quantiles[] = {{"latency_ms.p50", 0.50},
                 {"latency_ms.p90", 0.90},
                 {"latency_ms.p95", 0.95},
                 {"latency_ms.p99", 0.99}};

#define TIMEOUT_MS  "12000" /* but where some are never answered */
#define GIVEN_UP_MS 2000

/*
 * The latency of each request in ms from when it was due, by the stub's log alone. The schedule is
 * taken from the log too: request i was due i / rate after the start, and the one that came
 * soonest after its time tells when that was. What is not in the log in time was given up; of what
 * is there twice the first answer counts.
 */
static double *latencies_from_schedule(const struct log *log, const struct measured *m)
{
    double start = INFINITY, gap = 1e9 / m->rate;
    double *latency_ms = calloc((size_t)m->requests, sizeof(double));
    for (int i = 0; i < m->requests; i++)
        latency_ms[i] = m->unanswered > 0 ? GIVEN_UP_MS : INFINITY;
    for (int i = 0; i < log->count; i++) {
        const struct log_entry *entry = &log->entries[i];
        start = fmin(start, (double)entry->received - (double)entry->ticket * gap);
    }
    for (int i = 0; i < log->count; i++) {
        const struct log_entry *entry = &log->entries[i];
        double ms = ((double)entry->replied - start - (double)entry->ticket * gap) / 1e6;
        latency_ms[entry->ticket] = fmin(latency_ms[entry->ticket], ms);
    }
    return latency_ms;
}

/* Runs it; the first percentile that is not as the log has it, or NULL. The run to look at further
 * is in `ret`, to be freed. */
static const char *measure(const struct measured *m, fx_load **ret)
{
    static char difference[160];
    char rate[16], requests[16], given_up[16];
    difference[0] = '\0';
    snprintf(rate, sizeof(rate), "%d", m->rate);
    snprintf(requests, sizeof(requests), "%d", m->requests);
    snprintf(given_up, sizeof(given_up), "%d", GIVEN_UP_MS);
    stub = fx_stub_start(FX_ARGS(m->stub[0], m->stub[1], "--log", log_path));
    *ret = fx_load_run(stub, "run",
                       FX_ARGS("--rate", rate, "--requests", requests, "--workers", "1", "--stock",
                               m->stock, "--timeout-ms", m->unanswered > 0 ? given_up : TIMEOUT_MS,
                               "--fail-if", m->fail_if));
    struct log log = read_log(2 * m->requests);
    assert_true(log.count >= m->requests - m->unanswered);
    double *latency_ms = latencies_from_schedule(&log, m);
    for (size_t i = (size_t)m->first; i < COUNT(quantiles); i++) {
        double exact = exact_quantile(latency_ms, m->requests, quantiles[i].quantile);
        double bucket = (double)histogram_bucket_width((int64_t)(exact * 1000.0)) / 1000.0;
        double value = fx_load_number(*ret, quantiles[i].path);
        double late_ms = fx_is_crowded() ? CROWDED_MS : 0; /* until an answer is noticed */
        if (!(fabs(value - exact) <= m->tolerance * exact + bucket + late_ms))
            snprintf(difference, sizeof(difference),
                     "%s printed %.3f ms, by the stub's log %.3f ms", quantiles[i].path, value,
                     exact);
    }
    free(latency_ms);
    free(log.entries);
    if (difference[0] == '\0' && (*ret)->exit_code != m->exit_code)
        snprintf(difference, sizeof(difference), "it ended with %d", (*ret)->exit_code);
    return difference[0] == '\0' ? NULL : difference;
}

/*
 * What the log can not see is how long loadtest needs to notice an answer. On a machine that is
 * busy with other things that can be too long: then the measurement is repeated.
 */
static fx_load *agrees_with_the_log(const struct measured *m)
{
    const char *difference = NULL;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        fx_load *load;
        difference = measure(m, &load);
        if (!difference)
            return load;
        fx_load_free(load);
    }
    fail_msg("%s", difference);
    return NULL;
}

/* A number of the last bin of the timeline, NAN without it. */
static double last_bin(const fx_load *load, const char *name)
{
    const cJSON *timeline = cJSON_GetObjectItem(load->row, "timeline");
    const cJSON *bins = cJSON_GetObjectItem(timeline, "bins");
    const cJSON *bin = cJSON_GetArrayItem(bins, cJSON_GetArraySize(bins) - 1);
    const cJSON *number = cJSON_GetObjectItem(bin, name);
    return number ? number->valuedouble : NAN;
}

/*
 * A service that stalls for two of six seconds. A generator that waits for answers before it sends
 * the next request hides the stall: only the few requests that were in flight see it. Measured from
 * the schedule, a third of all requests meets it.
 */
static void a_stall_is_not_omitted(void **unused)
{
    (void)unused;
    static const struct measured stall = {.stub = {"--stall", "4000:2000"},
                                          .rate = 200,
                                          .requests = 1200,
                                          .stock = "1200",
                                          .fail_if = "p99>1000ms",
                                          .exit_code = 2,
                                          .first = 1,
                                          .tolerance = 0.01};
    fx_load *load = agrees_with_the_log(&stall);
    assert_true(fx_load_number(load, "latency_ms.p99") > 1500.0);
    assert_true(fx_load_number(load, "silence_s.from") > 3.5);
    assert_true(fx_load_number(load, "silence_s.length") > 1.8);
    assert_non_null(strstr(load->text, "silence      no answer for"));
    fx_load_free(load);
}

/* Three of a hundred are never answered. Their age is what p99 is about; those that were answered
 * took a third of a second. The run lasts until the last one is given up. */
static void requests_without_an_answer_count_with_their_age(void **unused)
{
    (void)unused;
    static const struct measured silent = {.stub = {"--delay-us", "300000x97,60000000x3"},
                                           .rate = 240,
                                           .requests = 1200,
                                           .unanswered = 36,
                                           .stock = "1164",
                                           .fail_if = "p99>1000ms",
                                           .exit_code = 2,
                                           .tolerance = 0.01};
    fx_load *load = agrees_with_the_log(&silent);
    assert_true(fx_load_number(load, "latency_sold_ms.p99") < 1000.0);
    assert_int_equal((int)fx_load_number(load, "latency_sold_ms.n"), 1164);
    /* One of the 36 may have been a probe's. */
    assert_in_range((int)fx_load_number(load, "latency_by_outcome.unanswered.n"), 30, 36);
    assert_true(fx_load_number(load, "latency_by_outcome.unanswered.min") >= GIVEN_UP_MS);
    assert_int_equal((int)fx_load_number(load, "latency_by_outcome.all.n"), 1200);
    assert_true(last_bin(load, "unanswered") >= 1);
    assert_true(last_bin(load, "t_s") > fx_load_number(load, "elapsed_s") + 1);
    assert_true(fx_load_number(load, "silence_s.length") > 1);
    assert_non_null(strstr(load->text, "limits       broken p99>1000ms: "));
    fx_load_free(load);
}

/* Nine in ten take half a second, the others two and a half. */
static void percentiles_of_two_kinds_of_answers(void **unused)
{
    (void)unused;
    static const struct measured bimodal = {.stub = {"--delay-us", "500000x88,2500000x12"},
                                            .rate = 240,
                                            .requests = 1200,
                                            .stock = "1200",
                                            .fail_if = "p90<2500ms",
                                            .tolerance = 0.01};
    fx_load_free(agrees_with_the_log(&bimodal));
}

/*
 * Known latencies: 2.0 to 7.8 s, spread evenly, long enough that loopback and scheduling are small
 * beside one bucket plus 0.1 %.
 */
static void percentiles_are_those_of_the_log(void **unused)
{
    (void)unused;
    static char delays[8192];
    size_t length = 0;
    for (int i = 0; i < 600; i++) {
        /* 331 and 600 have no common divisor: every delay once, in a mixed-up order */
        int ms = 2000 + (i * 331 % 600) * 29 / 3;
        length += (size_t)snprintf(delays + length, sizeof(delays) - length, "%s%d",
                                   i == 0 ? "" : ",", ms * 1000);
    }
    const struct measured known = {.stub = {"--delay-us", delays},
                                   .rate = 240,
                                   .requests = 1200,
                                   .stock = "1200",
                                   .fail_if = "p50<2s",
                                   .tolerance = 0.001};
    fx_load_free(agrees_with_the_log(&known));
}

/* The same without any clock in between: loadtest's figures against its own raw log. */
static void percentiles_are_those_of_the_raw_log(void **unused)
{
    (void)unused;
    enum { REQUESTS = 6000 };
    static const struct {
        const char *path;
        double quantile;
    } printed[] = {{"latency_ms.p50", 0.50}, {"latency_ms.p90", 0.90},   {"latency_ms.p95", 0.95},
                   {"latency_ms.p99", 0.99}, {"latency_ms.p999", 0.999}, {"latency_ms.max", 1.0}};
    stub = fx_stub_start(FX_ARGS("--delay-us", "0x20,300x20,5000x5,40000"));
    fx_load *load = fx_load_run(
        stub, "run",
        FX_ARGS("--users", "50", "--requests", "6000", "--stock", "100000", "--log", log_path));
    assert_true(load->exit_code == 0 || load->exit_code == 3); /* as above */
    double *latency_us = calloc(REQUESTS, sizeof(double));
    char line[256];
    int count = 0;
    FILE *in = fopen(log_path, "r");
    assert_non_null(fgets(line, sizeof(line), in));
    while (fgets(line, sizeof(line), in) != NULL) {
        int64_t due, sent, done;
        assert_int_equal(
            sscanf(line, "%*[^,],%*d,%*d,%" SCNd64 ",%" SCNd64 ",%" SCNd64 ",", &due, &sent, &done),
            3);
        assert_true(due <= sent && sent <= done);
        latency_us[count++] = floor((double)(done - due) / 1e3);
    }
    fclose(in);
    assert_int_equal(count, REQUESTS);
    for (size_t i = 0; i < COUNT(printed); i++) {
        double exact = exact_quantile(latency_us, REQUESTS, printed[i].quantile);
        double value = fx_load_number(load, printed[i].path) * 1000.0;
        double bucket = (double)histogram_bucket_width((int64_t)exact);
        /* JSON has six significant digits */
        assert_true(value >= exact * (1.0 - 1e-5) && value <= (exact + bucket) * (1.0 + 1e-5));
    }
    free(latency_us);
    fx_load_free(load);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_stall_is_not_omitted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(requests_without_an_answer_count_with_their_age, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(percentiles_of_two_kinds_of_answers, set_up, tear_down),
        cmocka_unit_test_setup_teardown(percentiles_are_those_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(percentiles_are_those_of_the_raw_log, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
