/*
 * What is left when a run, or a part of it, has ended: no thread that still works, no descriptor,
 * no memory.
 */
#include "tests/loadtest/run/waiter_service.h"
#include "tests/support/fixture.h"
#include "tests/support/stub.h"

#include "loadtest/load/arrivals.h"
#include "loadtest/load/engine.h"
#include "loadtest/run/run.h"
#include "loadtest/service/stock_sampler.h"

#include <curl/curl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { WRONG_MS = 100 };

static lt_plan plan_of(const waiter_service *service)
{
    lt_plan plan = {.item = "P0001",
                    .stock = 10,
                    .quantity = 1,
                    .target_count = 1,
                    .users = 1,
                    .requests = 1,
                    .workers = 1,
                    .rate = 1000,
                    .timeout_ms = SOON_MS};
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "%s", service->url);
    return plan;
}

/* ---- the stock's reader ---------------------------------------------------------------------- */

typedef struct stopping {
    lt_stock_sampler *sampler;
    lt_stock_watch seen;
    lt_engine *engine;
    atomic_bool done;
} stopping;

static void *stop_sampler(void *arg)
{
    stopping *s = arg;
    s->seen = stock_sampler_stop(s->sampler);
    atomic_store(&s->done, true);
    return NULL;
}

/* It is not freed while its thread is in the middle of a reading; that one counts, and the one at
 * the end, when nothing changes any more. */
static void the_stocks_reader_ends_after_its_last_reading(void **unused)
{
    (void)unused;
    waiter_service service;
    pthread_t thread;
    char err[256];
    service_start(&service);
    lt_plan plan = plan_of(&service);
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    stopping s = {.sampler = stock_sampler_start(&plan, "s1", recorder, clock_now())};
    assert_non_null(s.sampler);
    assert_true(fx_wait_until(was_asked, &service, SOON_MS));
    pthread_create(&thread, NULL, stop_sampler, &s);
    fx_let_pass(WRONG_MS);
    assert_false(atomic_load(&s.done));
    atomic_store(&service.may_answer, true);
    pthread_join(thread, NULL);
    assert_int_equal(s.seen.count, 2);
    assert_int_equal(s.seen.samples[1].remaining, 7);
    assert_int_equal(s.seen.samples[1].units, 3);
    free(s.seen.samples);
    recorder_free(recorder);
    service_stop(&service);
}

/* ---- the engine ------------------------------------------------------------------------------ */

static void *join_engine(void *arg)
{
    stopping *s = arg;
    engine_join(s->engine);
    atomic_store(&s->done, true);
    return NULL;
}

/* Of both models: joined is who waits for no answer any more, or has given up waiting. */
static void the_engine_ends_after_its_last_buyer(void **unused)
{
    (void)unused;
    static const lt_model models[] = {MODEL_CLOSED, MODEL_OPEN};
    for (int i = 0; i < 4; i++) {
        bool cut = i >= 2;
        waiter_service service;
        char err[256];
        pthread_t thread;
        service_start(&service);
        lt_plan plan = plan_of(&service);
        plan.model = models[i % 2];
        lt_run_state state = {.plan = &plan,
                              .key_prefix = "k",
                              .sale = "s1",
                              .recorder = recorder_open(NULL, err, sizeof(err))};
        assert_true(run_state_init(&state, engine_workers(&plan)));
        stopping s = {.engine = engine_start(&state, err, sizeof(err))};
        assert_non_null(s.engine);
        run_state_start(&state, engine_workers(&plan));
        assert_true(fx_wait_until(was_asked, &service, SOON_MS));
        run_state_stop(&state, STOP_DURATION);
        if (cut) {
            engine_cut(s.engine);
            engine_join(s.engine);
        } else {
            pthread_create(&thread, NULL, join_engine, &s);
            fx_let_pass(WRONG_MS);
            assert_false(atomic_load(&s.done));
            atomic_store(&service.may_answer, true);
            pthread_join(thread, NULL);
        }
        lt_tally *sum = tallies_sum(&state.tallies);
        assert_int_equal(counter_get(&sum->issued), 1);
        assert_int_equal(counter_get(&sum->unfinished), cut);
        assert_int_equal(counter_get(&sum->completed), !cut);
        tally_free(sum);
        run_state_release(&state);
        recorder_free(state.recorder);
        service_stop(&service);
    }
}

typedef struct arrived {
    const lt_tally *tally;
    int64_t wanted;
} arrived;

static bool have_arrived(void *arg)
{
    const arrived *a = arg;
    return counter_get(&a->tally->waited) == a->wanted;
}

/* More requests than the backlog takes, and nobody answers: each one that is not sent counts, those
 * that found no room in it, too. */
static void what_finds_no_room_to_wait_counts_as_not_sent(void **unused)
{
    (void)unused;
    enum { MORE = 1000 };
    const int64_t all = (int64_t)BACKLOG_MAX + MORE;
    waiter_service service;
    char err[256];
    service_start(&service);
    lt_plan plan = plan_of(&service);
    plan.model = MODEL_OPEN;
    plan.rate = 1e9;
    plan.requests = all;
    lt_run_state state = {.plan = &plan,
                          .key_prefix = "k",
                          .sale = "s1",
                          .recorder = recorder_open(NULL, err, sizeof(err))};
    assert_true(run_state_init(&state, engine_workers(&plan)));
    lt_engine *engine = engine_start(&state, err, sizeof(err));
    assert_non_null(engine);
    run_state_start(&state, engine_workers(&plan));
    arrived late = {.tally = &state.tallies.items[0], .wanted = all - 1};
    assert_true(fx_wait_until(have_arrived, &late, SOON_MS));
    engine_cut(engine);
    engine_join(engine);
    assert_int_equal(counter_get(&late.tally->issued), 1);
    assert_int_equal(counter_get(&late.tally->unsent), all - 1);
    run_state_release(&state);
    recorder_free(state.recorder);
    atomic_store(&service.may_answer, true);
    service_stop(&service);
}

/* ---- whole runs ------------------------------------------------------------------------------ */

static bool is_alone(void *before)
{
    return fx_threads_alive() == *(int *)before;
}

static void run_once(fx_stub *stub, lt_model model)
{
    lt_plan plan = {.item = "P0001",
                    .stock = 100,
                    .quantity = 1,
                    .target_count = 1,
                    .users = 20,
                    .requests = 200,
                    .workers = 2,
                    .rate = 4000,
                    .runs = 1,
                    .spec_count = 1,
                    .replay = 0.5,
                    .timeout_ms = SOON_MS,
                    .model = model};
    plan.specs[0] = sale_spec_none();
    snprintf(plan.specs[0].strategy, sizeof(plan.specs[0].strategy), "fair");
    snprintf(plan.specs[0].label, sizeof(plan.specs[0].label), "fair");
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "%s", fx_stub_url(stub, 0));
    lt_comparison comparison = {.plan = &plan};
    assert_true(comparison_init(&comparison));
    run_all(&comparison, true, NULL);
    assert_int_equal(comparison.row_count, 1);
    assert_int_equal(row_shown(&comparison.rows[0])->sold, 100);
    assert_int_equal(counter_get(&row_shown(&comparison.rows[0])->tally->issued), 200);
    comparison_release(&comparison);
}

/* The first run makes what libraries keep; every further one must give back what it took. */
static void a_run_leaves_nothing_behind(void **unused)
{
    (void)unused;
    static const lt_model models[] = {MODEL_CLOSED, MODEL_OPEN, MODEL_FLASH};
    enum { RUNS = 3, SPARE_BYTES = 100 * 1024 };
    fx_stub *stub = fx_stub_start(NULL);
    for (int i = 0; i < 3; i++) {
        run_once(stub, models[i]);
        int descriptors = fx_descriptors_open(), threads = fx_threads_alive();
        size_t bytes = fx_bytes_allocated();
        for (int n = 0; n < RUNS; n++)
            run_once(stub, models[i]);
        assert_int_equal(fx_descriptors_open(), descriptors);
        assert_true(fx_wait_until(is_alone, &threads, SOON_MS));
        if (fx_bytes_allocated() > bytes + SPARE_BYTES)
            fail_msg("%zu bytes more", fx_bytes_allocated() - bytes);
    }
    fx_stub_stop(stub);
}

static int set_up(void **unused)
{
    (void)unused;
    return curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK;
}

static int tear_down(void **unused)
{
    (void)unused;
    curl_global_cleanup();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_stocks_reader_ends_after_its_last_reading),
        cmocka_unit_test(the_engine_ends_after_its_last_buyer),
        cmocka_unit_test(what_finds_no_room_to_wait_counts_as_not_sent),
        cmocka_unit_test(a_run_leaves_nothing_behind),
    };
    return cmocka_run_group_tests_name("run_ends", tests, set_up, tear_down);
}
