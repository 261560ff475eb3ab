/*
 * test_verdicts.c - what is made of a cell: harm is called harm, also where the fault did not land,
 * the cell failed behind it, or loss was expected; and what shows nothing is no success.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/chaos/faults/fault.h"
#include "tests/chaos/judge.h"
#include "tests/chaos/matrix/matrix.h"
#include "tests/chaos/slowness.h"
#include "tests/support/sale/rest.h"

static char dir[200], history[256];

static int setup(void **state)
{
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    snprintf(history, sizeof(history), "%s/cell.buys", dir);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_dir_remove(dir);
    return 0;
}

static cell cell_of(const char *row_name, const char *fault_name)
{
    cell c = {.items = 1, .stock = 3, .lease_ms = CELL_LEASE_MS, .landed = 1};
    assert_true(row_read(row_name, &c.row));
    c.fault = fault_find(fault_name);
    snprintf(c.histories[0], sizeof(c.histories[0]), "%s", history);
    assert_non_null(c.fault);
    return c;
}

static void expect(const char *what, const cell *c, int failed, const char *expected)
{
    cJSON *said = judge_cell(c, failed);
    if (strcmp(fx_json_text(said, "verdict"), expected) != 0)
        fail_msg("%s: %s, not %s (%s)", what, fx_json_text(said, "verdict"), expected,
                 fx_json_text(said, "why"));
    cJSON_Delete(said);
}

/* ---- one cell -------------------------------------------------------------------------------- */

/* So many buyers were told "sold", of two units; so many of them are in the ledger, if it is
 * known. `more`: another line, or NULL. */
static void write_history_with(int told, int ordered, const char *more)
{
    journal *j = journal_open(history);
    journal_write(
        j, "sale id=5f item=P0001 strategy=atomic durability=memory stock=2 limit=0 segments=0 "
           "lease_us=0");
    journal_write(j, "stock at=1 remaining=2 units=0");
    for (int i = 1; i <= told; i++)
        journal_write(j, "ask from=%d to=%d request=r%d user=u1 target=0 status=201 order=5f-%d",
                      i * 10, i * 10 + 5, i, i);
    for (int i = 1; i <= ordered; i++)
        journal_write(j, "order number=%d request=r%d user=u1 quantity=1 fence=0", i, i);
    if (ordered >= 0)
        journal_write(j, "rest remaining=0");
    if (more)
        journal_write(j, "%s", more);
    journal_write(j, "left locks=0 waiters=0 threads=0 descriptors=0");
    journal_close(j);
}

static void write_history(int told, int ordered)
{
    write_history_with(told, ordered, NULL);
}

static void harm_is_not_excused(void **state)
{
    enum { LEDGER_UNKNOWN = -1 };
    static const struct {
        const char *fault;
        int landed, failed, told, ordered;
        const char *verdict;
    } cases[] = {
        {"load", 1, 0, 2, 2, "HELD"},
        {"load", 0, 0, 2, 2, "INCONCLUSIVE"},
        {"load", 0, 0, 3, 3, "BROKEN"},
        {"load", 1, 1, 2, LEDGER_UNKNOWN, "INCONCLUSIVE"},
        {"load", 1, 1, 3, LEDGER_UNKNOWN, "BROKEN"}, /* it failed behind the oversell */
        {"flushall", 1, 0, 2, 0, "NOT_COVERED"},
        {"flushall", 0, 0, 2, 0, "INCONCLUSIVE"},
        {"flushall", 1, 0, 3, 3, "BROKEN"},
        {"flushall", 0, 0, 3, 3, "BROKEN"}, /* no loss: it sold on */
        {"flushall", 1, 0, 2, LEDGER_UNKNOWN, "INCONCLUSIVE"},
        {"flushall", 1, 0, 3, LEDGER_UNKNOWN, "INCONCLUSIVE"}, /* sold again, perhaps */
        {"planned-failover", 1, 0, 2, 2, "NOT_COVERED"},
        {"planned-failover", 1, 0, 2, 0, "BROKEN"}, /* one of two is said to be lost */
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        cell c = cell_of("atomic", cases[i].fault);
        char what[64];
        c.landed = cases[i].landed;
        c.failed_over = strcmp(cases[i].fault, "planned-failover") == 0;
        c.told_lost[0] = 1;
        snprintf(what, sizeof(what), "%s, case %zu", cases[i].fault, i);
        write_history(cases[i].told, cases[i].ordered);
        expect(what, &c, cases[i].failed, cases[i].verdict);
    }
}

/* A request that both sides of a split brain have sold; or has two orders at rest. */
static void only_a_lost_second_order_is_excused(void **state)
{
    static const struct {
        bool failed_over;
        const char *more, *verdict;
    } cases[] = {
        {true, "look from=16 to=17 request=r1 target=1 status=200 final=0 order=5f-2",
         "NOT_COVERED"},
        {false, "look from=16 to=17 request=r1 target=1 status=200 final=0 order=5f-2", "BROKEN"},
        {true, "order number=2 request=r1 user=u1 quantity=1 fence=0", "BROKEN"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        cell c = cell_of("atomic", "split-brain");
        c.failed_over = cases[i].failed_over;
        write_history_with(1, 1, cases[i].more);
        expect(cases[i].more, &c, 0, cases[i].verdict);
    }
}

/* Whatever the history says: it does not know of it. */
static void an_attack_that_got_through_is_harm(void **state)
{
    (void)state;
    for (int failed = 0; failed < 2; failed++) {
        cell c = cell_of("atomic", "replays");
        write_history(2, 2);
        expect("nothing got through", &c, failed, failed ? "INCONCLUSIVE" : "HELD");
        cell_got_through(&c, "%s", "the first");
        cell_got_through(&c, "%s", "the second");
        expect("two got through", &c, failed, "BROKEN");
        cJSON *said = judge_cell(&c, failed);
        assert_string_equal(fx_json_text(said, "why"), "the first");
        cJSON_Delete(said);
    }
}

/* A wait of as long as it ran is no slowness, and what was not counted is none. */
static void slow_is_what_waits_for_longer_than_it_runs(void **state)
{
    (void)state;
    assert_true(slowness_of(2, 2) == 1);
    assert_true(slowness_of(2, 6) == 2);
    assert_true(slowness_of(2, 1) == 1);
    assert_true(slowness_of(2, 1000) == 10);
    assert_true(slowness_of(0, 5) == 1);
}

/* The heal of line 5 is followed by a buy 2 s later: too late, unless the machine is so much
 * slower. */
static void a_deadline_is_as_long_as_the_machine_is_slow(void **state)
{
    static const struct {
        double slowness;
        const char *verdict;
    } cases[] = {{0, "BROKEN"}, {1, "BROKEN"}, {1.3, "BROKEN"}, {1.4, "HELD"}};
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        cell c = cell_of("atomic", "readonly");
        c.slowness = cases[i].slowness;
        journal *j = journal_open(history);
        journal_write(j,
                      "sale id=5f item=P0001 strategy=atomic durability=memory stock=1 limit=0 "
                      "segments=0 lease_us=%d",
                      CELL_LEASE_MS * 1000);
        journal_write(j, "stock at=1 remaining=1 units=0");
        journal_write(j, "fault at=10 name=readonly");
        journal_write(j, "heal at=20");
        journal_write(j, "ask from=30 to=40 request=r0 user=u1 target=0 status=503 code=busy");
        journal_write(j, "ask from=2000000 to=2000020 request=r1 user=u1 target=0 status=201 "
                         "order=5f-1");
        journal_write(j, "order number=1 request=r1 user=u1 quantity=1 fence=0");
        journal_write(j, "rest remaining=0");
        journal_write(j, "left locks=0 waiters=0 threads=0 descriptors=0");
        journal_close(j);
        expect("sold after two seconds", &c, 0, cases[i].verdict);
    }
}

/* The ledger, read at rest, is evidence whatever fails behind it; one that was not read to its end
 * is none. */
static void a_ledger_that_was_read_outlives_the_cell(void **state)
{
    static const struct {
        const char *what, *answer, *user, *rest, *verdict;
    } cases[] = {
        {"sold", "status=201 order=5f-1", "u1", "rest remaining=0", "INCONCLUSIVE"},
        {"refused", "status=409 code=sold_out", "u1", "rest remaining=0", "BROKEN"},
        {"of another user", "status=201 order=5f-1", "u2", "rest remaining=0", "BROKEN"},
        {"of another user, perhaps", "status=201 order=5f-1", "u2", NULL, "INCONCLUSIVE"},
        {"lost", "status=201 order=5f-1", NULL, "rest remaining=1", "BROKEN"},
        {"lost, perhaps", "status=201 order=5f-1", NULL, NULL, "INCONCLUSIVE"},
        {"beyond the limit", "status=201 order=5f-1", "u1 more", "rest remaining=0", "BROKEN"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        bool more = cases[i].user && strcmp(cases[i].user, "u1 more") == 0;
        cell c = cell_of("atomic", "load");
        journal *j = journal_open(history);
        journal_write(j,
                      "sale id=5f item=P0001 strategy=atomic durability=memory stock=%d "
                      "limit=1 segments=0 lease_us=0",
                      more ? 2 : 1);
        journal_write(j, "stock at=1 remaining=%d units=0", more ? 2 : 1);
        journal_write(j, "ask from=10 to=15 request=r1 user=u1 quantity=1 target=0 %s",
                      cases[i].answer);
        if (more)
            journal_write(j, "ask from=20 to=25 request=r2 user=u1 quantity=1 target=0 status=201 "
                             "order=5f-2");
        if (cases[i].user)
            journal_write(j, "order number=1 request=r1 user=%.2s quantity=1 fence=0",
                          cases[i].user);
        if (more)
            journal_write(j, "order number=2 request=r2 user=u1 quantity=1 fence=0");
        if (cases[i].rest)
            journal_write(j, "%s", cases[i].rest);
        journal_close(j);
        expect(cases[i].what, &c, 1, cases[i].verdict);
    }
}

/* ---- what is read out of Redis --------------------------------------------------------------- */

/* All that is for sale is bought; then the record of the second order goes, if it is to. */
static void sell_all(cell *c, bool lose_record)
{
    char request[16];
    fx_terms terms = cell_terms(c);
    rest_before(&terms);
    cell_start_sales(c, 0);
    for (int i = 0; i < c->stock; i++) {
        snprintf(request, sizeof(request), "r-%d", i);
        assert_int_equal(crew_ask(request, i, 1, i % FX_INSTANCES), 201);
    }
    if (lose_record)
        assert_int_equal(fx_redis_number(fx.redis, "HDEL %s r-1", cell_key("orders")), 1);
    c->over = true; /* nobody could close a sale that is damaged */
    cell_rest(c);
}

static void an_order_without_its_record_is_none(void **state)
{
    (void)state;
    for (int lose = 0; lose < 2; lose++) {
        cell c = cell_of("atomic", "load");
        sell_all(&c, lose);
        expect(lose ? "a record is lost" : "nothing is lost", &c, 0, lose ? "BROKEN" : "HELD");
    }
}

/* The last case: it leaves dead instances behind. */
static void an_instance_that_dies_unasked_is_harm(void **state)
{
    static const struct {
        int signal;
        bool told;
        int died;
    } cases[FX_INSTANCES] = {{SIGKILL, false, 0}, {SIGTERM, true, 0}, {SIGABRT, true, 1}};
    cell c = cell_of("atomic", "load");
    (void)state;
    write_history(2, 2);
    for (int i = 0; i < FX_INSTANCES; i++) {
        cell_look_for_death(&c, i, false);
        expect("it runs", &c, 0, "HELD");
        fx_server_signal(fx.server[i], cases[i].signal);
        assert_true(fx_process_wait(fx_server_process(fx.server[i]), FX_ANSWER_MS) >= 0);
        cell_look_for_death(&c, i, cases[i].told);
        if (c.died != cases[i].died)
            fail_msg("signal %d: %d died", cases[i].signal, c.died);
    }
    for (int failed = 0; failed < 2; failed++)
        expect(c.first_dead, &c, failed, "BROKEN");
    cell_look_for_death(&c, 1, false); /* it ended with 0, and nobody had told it to */
    assert_int_equal(c.died, 2);
    assert_non_null(strstr(c.first_dead, "number 3, exit code 134"));
}

/* ---- the sum --------------------------------------------------------------------------------- */

static void a_loss_that_is_expected_excuses_nothing_else(void **state)
{
    static const struct {
        const char *run;
        bool as_expected;
    } runs[] = {
        {"{\"verdict\":\"NOT_COVERED\",\"acked_lost\":3}", true},
        {"{\"verdict\":\"NOT_COVERED\",\"acked_lost\":0}", false},
        {"{\"verdict\":\"BROKEN\",\"acked_lost\":3,\"duplicates\":1}", false},
        {"{\"verdict\":\"INCONCLUSIVE\",\"acked_lost\":3}", false},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(runs); i++) {
        matrix_cell cells[1] = {{.fault = fault_find("failover")}};
        matrix m = {.cells = cells, .len = 1};
        cJSON *run = cJSON_Parse(runs[i].run);
        assert_true(row_read("combined", &cells[0].row));
        matrix_add(&cells[0], run, 1, 1, "");
        matrix_sum_up(&m);
        if (m.unexpected == runs[i].as_expected)
            fail_msg("%s: %d not as expected", runs[i].run, m.unexpected);
        cJSON_Delete(run);
    }
}

static void what_dies_or_hangs_is_never_as_expected(void **state)
{
    static const char dead[] = "{\"verdict\":\"BROKEN\",\"guarantees\":"
                               "[{\"name\":\"alive\",\"state\":\"violated\"}]}";
    static const struct {
        const char *row, *run; /* NULL: it said nothing */
        int unexpected;
    } cases[] = {
        {"none", "{\"verdict\":\"BROKEN\"}", 0}, /* a control */
        {"none", dead, 1},
        {"none", NULL, 1},
        {"combined", "{\"verdict\":\"HELD\"}", 0},
        {"combined", "{\"verdict\":\"INCONCLUSIVE\"}", 0},
        {"combined", dead, 1},
        {"combined", NULL, 1},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        matrix_cell cells[1] = {{.fault = fault_find("load")}};
        matrix m = {.cells = cells, .len = 1};
        cJSON *run = cases[i].run ? cJSON_Parse(cases[i].run) : NULL;
        assert_true(row_read(cases[i].row, &cells[0].row));
        matrix_add(&cells[0], run, 1, 3, "died");
        matrix_sum_up(&m);
        if (m.unexpected != cases[i].unexpected)
            fail_msg("case %zu: %d not as expected", i, m.unexpected);
        cJSON_Delete(run);
    }
}

/* Three columns of three rows; '?': inconclusive, 'H': held, '-': skipped. */
static void nobody_has_looked_where_most_is_inconclusive(void **state)
{
    static const char *const rows[] = {"none", "fenced", "combined:reserve"};
    static const char *const columns[] = {"load", "replays", "noperm"};
    static const struct {
        const char *cells[3]; /* a string for each row */
        const char *blind;
    } cases[] = {
        {{"HHH", "HHH", "HHH"}, ""},
        {{"?HH", "H?H", "HH?"}, ""},
        {{"HHH", "H?H", "H?H"}, "replays"},
        {{"H-H", "H?H", "H-H"}, ""}, /* one is not many */
        {{"H-H", "H?H", "H?H"}, "replays"},
        {{"H-H", "H?H", "HHH"}, ""}, /* half of them */
        {{"HHH", "HHH", "H??"}, "combined:reserve"},
        {{"H??", "HHH", "HHH"}, ""}, /* promises nothing */
        {{"HHH", "---", "H?-"}, ""},
        {{"?H?", "???", "?H?"}, "load noperm fenced combined:reserve"},
    };
    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        matrix_cell cells[9] = {0};
        matrix m = {.cells = cells, .len = 9};
        char said[128] = "";
        for (int k = 0; k < m.len; k++) {
            char is = cases[i].cells[k / 3][k % 3];
            cells[k].verdict = is == '?' ? INCONCLUSIVE : is == 'H' ? HELD : SKIPPED;
            cells[k].fault = fault_find(columns[k % 3]);
            assert_true(row_read(rows[k / 3], &cells[k].row));
        }
        const char *name;
        for (int k = 0; (name = matrix_blind(&m, k)); k++)
            snprintf(said + strlen(said), sizeof(said) - strlen(said), "%s%s", k ? " " : "", name);
        if (strcmp(said, cases[i].blind) != 0)
            fail_msg("case %zu: \"%s\" is blind, not \"%s\"", i, said, cases[i].blind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(harm_is_not_excused, setup, teardown),
        cmocka_unit_test_setup_teardown(only_a_lost_second_order_is_excused, setup, teardown),
        cmocka_unit_test_setup_teardown(an_attack_that_got_through_is_harm, setup, teardown),
        cmocka_unit_test(slow_is_what_waits_for_longer_than_it_runs),
        cmocka_unit_test_setup_teardown(a_deadline_is_as_long_as_the_machine_is_slow, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_ledger_that_was_read_outlives_the_cell, setup, teardown),
        cmocka_unit_test_setup_teardown(an_order_without_its_record_is_none, setup, teardown),
        cmocka_unit_test(a_loss_that_is_expected_excuses_nothing_else),
        cmocka_unit_test(what_dies_or_hangs_is_never_as_expected),
        cmocka_unit_test(nobody_has_looked_where_most_is_inconclusive),
        cmocka_unit_test_setup_teardown(an_instance_that_dies_unasked_is_harm, setup, teardown),
    };
    return fx_run(tests, .instances = FX_INSTANCES, .one_server = true);
}
