/*
 * Two measurements held against the stub's own log: what loadtest prints is what happened.
 *
 * The stub writes down when it received and when it answered each request, on the same clock. So
 * the true latency of every request is known without loadtest's help.
 */
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/stats/histogram.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ATTEMPTS  4
#define ARGS(...) ((const char *const[]){__VA_ARGS__, NULL})

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
        log.count++;
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

/*
 * The latency of each request in ms from when it was due, by the stub's log alone. The schedule is
 * taken from the log too: request i was due i / rate after the start, and the one that came
 * soonest after its time tells when that was.
 */
static double *latencies_from_schedule(const struct log *log, double rate)
{
    double start = INFINITY, *latency_ms = calloc((size_t)log->count, sizeof(double));
    for (int i = 0; i < log->count; i++)
        start = fmin(start, (double)log->entries[i].received - i * 1e9 / rate);
    for (int i = 0; i < log->count; i++)
        latency_ms[i] = ((double)log->entries[i].replied - start - i * 1e9 / rate) / 1e6;
    return latency_ms;
}

/*
 * What the log can not see is how long loadtest needs to notice an answer. On a machine that is
 * busy with other things that can be too long: then the measurement is repeated. `measure` gives a
 * sentence about what differs, or NULL.
 */
static void agrees_with_the_log(const char *(*measure)(void))
{
    const char *difference = NULL;
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        difference = measure();
        if (difference == NULL)
            return;
    }
    fail_msg("%s", difference);
}

/* ---- a stall --------------------------------------------------------------------------------- */

static const char *measure_stall(void)
{
    enum { RATE = 200, SECONDS = 12, REQUESTS = RATE * SECONDS };
    static char difference[160];
    stub = fx_stub_start(ARGS("--stall", "10000:1000", "--log", log_path));
    fx_load *load = fx_load_run(stub, "run",
                                ARGS("--rate", "200", "--requests", "2400", "--workers", "1",
                                     "--stock", "100000", "--users", "1000"));
    struct log log = read_log(REQUESTS);
    assert_int_equal(log.count, REQUESTS);
    /* On a machine that is busy with other things the run may be INVALID, but still not wrong. */
    assert_true(load->exit_code == 0 || load->exit_code == 3);

    double *latency_ms = latencies_from_schedule(&log, RATE);
    double exact = exact_quantile(latency_ms, REQUESTS, 0.99);
    double printed = fx_load_number(load, "latency_ms.p99");
    assert_true(exact > 500.0); /* the stall did happen */
    snprintf(difference, sizeof(difference), "p99 printed %.3f ms, by the stub's log %.3f ms",
             printed, exact);
    free(latency_ms);
    free(log.entries);
    fx_load_free(load);
    return fabs(printed - exact) > 0.05 * exact ? difference : NULL;
}

/*
 * A service that stalls for 1 s of every 10. A generator that waits for answers before it sends
 * the next request hides the stall: only the few requests that were in flight see it. Measured from
 * the schedule, a tenth of all requests meets it.
 */
static void a_stall_is_not_omitted(void **unused)
{
    (void)unused;
    agrees_with_the_log(measure_stall);
}

/* ---- known latencies ------------------------------------------------------------------------- */

/* Runs against known latencies; the first percentile that is not as the log has it, or NULL. */
static const char *differing_percentile(const char *delays)
{
    enum { RATE = 240, REQUESTS = 1200 };
    static const struct {
        const char *path;
        double quantile;
    } printed[] = {{"latency_ms.p50", 0.50},
                   {"latency_ms.p90", 0.90},
                   {"latency_ms.p95", 0.95},
                   {"latency_ms.p99", 0.99}};
    static char difference[160];
    difference[0] = '\0';
    stub = fx_stub_start(ARGS("--delay-us", delays, "--log", log_path));
    fx_load *load = fx_load_run(
        stub, "run",
        ARGS("--rate", "240", "--requests", "1200", "--workers", "1", "--stock", "100000"));
    struct log log = read_log(REQUESTS);
    assert_int_equal(log.count, REQUESTS);
    double *latency_ms = latencies_from_schedule(&log, RATE);
    for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++) {
        double exact = exact_quantile(latency_ms, REQUESTS, printed[i].quantile);
        double bucket = (double)histogram_bucket_width((int64_t)(exact * 1000.0)) / 1000.0;
        double value = fx_load_number(load, printed[i].path);
        if (fabs(value - exact) > 0.001 * exact + bucket)
            snprintf(difference, sizeof(difference),
                     "%s printed %.3f ms, by the stub's log %.3f ms", printed[i].path, value,
                     exact);
    }
    free(latency_ms);
    free(log.entries);
    fx_load_free(load);
    return difference[0] == '\0' ? NULL : difference;
}

static const char *measure_known_latencies(void)
{
    char delays[8192] = "";
    size_t length = 0;
    for (int i = 0; i < 600; i++) {
        /* 331 and 600 have no common divisor: every delay once, in a mixed-up order */
        int ms = 2000 + (i * 331 % 600) * 29 / 3;
        length += (size_t)snprintf(delays + length, sizeof(delays) - length, "%s%d",
                                   i == 0 ? "" : ",", ms * 1000);
    }
    return differing_percentile(delays);
}

/*
 * Known latencies: 2.0 to 7.8 s, spread evenly, long enough that loopback and scheduling are small
 * beside one bucket plus 0.1 %.
 */
static void percentiles_are_those_of_the_log(void **unused)
{
    (void)unused;
    agrees_with_the_log(measure_known_latencies);
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
    stub = fx_stub_start(ARGS("--delay-us", "0x20,300x20,5000x5,40000"));
    fx_load *load = fx_load_run(
        stub, "run",
        ARGS("--users", "50", "--requests", "6000", "--stock", "100000", "--log", log_path));
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
    for (size_t i = 0; i < sizeof(printed) / sizeof(printed[0]); i++) {
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
        cmocka_unit_test_setup_teardown(percentiles_are_those_of_the_log, set_up, tear_down),
        cmocka_unit_test_setup_teardown(percentiles_are_those_of_the_raw_log, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
