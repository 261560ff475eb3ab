/*
 * A ledger page by page: which answers make it whole, none or broken, what is said of a broken one,
 * and what of it stands in the history.
 */
#include "tests/loadtest/service/canned.h"

#include "loadtest/service/ledger.h"

#define PAGE(orders, more) "{\"sale\":\"s\",\"item\":\"P\",\"orders\":[" orders "]" more "}"
#define ORDER(n)           "{\"order\":" n ",\"request\":\"r" n "\",\"user\":\"u\",\"quantity\":1}"

enum { ANSWERS = 8 };

typedef struct reading {
    canned_answer answers[ANSWERS];
    int64_t most;
    lt_ledger result;
    const char *why; /* NULL: nothing is said */
    int orders, asked, status;
} reading;

static lt_plan plan;
static lt_http *http;

static int start(void **state)
{
    plan = (lt_plan){.target_count = 1, .item = "P"};
    http = http_new(NULL);
    if (!http || canned_start(state) != 0)
        return -1;
    snprintf(plan.targets[0], sizeof(plan.targets[0]), "http://127.0.0.1:%d", canned.port);
    return 0;
}

static int stop(void **state)
{
    http_free(http);
    return canned_stop(state);
}

/* Reads it; its history is in `text`. */
static lt_ledger read_ledger(int64_t most, char *err, size_t err_len, char *text, size_t size)
{
    char failed[256];
    lt_recorder *recorder = recorder_open(NULL, failed, sizeof(failed));
    assert_non_null(recorder);
    lt_pen *pen = pen_new(recorder);
    lt_ledger result = ledger_read(http, pen, &plan, "s", 0, 7, most, err, err_len);
    pen_free(pen);
    recorder_end(recorder);
    FILE *file = fopen(recorder_path(recorder), "r");
    assert_non_null(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
    recorder_free(recorder);
    return result;
}

static int count_of(const char *text, const char *word)
{
    int count = 0;
    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

static const reading readings[] = {
    /* whole */
    {{{200, PAGE("", ""), NULL}}, 0, LEDGER_WHOLE, NULL, 0, 1, 200},
    {{{200, PAGE("", ",\"cursor\":\"0\""), NULL}}, 0, LEDGER_WHOLE, NULL, 0, 1, 200},
    {{{200, PAGE("", ",\"cursor\":0"), NULL}}, 0, LEDGER_WHOLE, NULL, 0, 1, 200},
    {{{200, PAGE("", ",\"cursor\":null"), NULL}}, 0, LEDGER_WHOLE, NULL, 0, 1, 200},
    {{{200, PAGE(ORDER("1") "," ORDER("2"), ""), NULL}}, 2, LEDGER_WHOLE, NULL, 2, 1, 200},
    {{{200, "{\"orders\":[" ORDER("1") "]}", NULL}}, 1, LEDGER_WHOLE, NULL, 1, 1, 200},
    {{{200, PAGE(ORDER("1"), ",\"cursor\":\"a\""), NULL},
      {200, PAGE("", ",\"cursor\":\"b\""), NULL},
      {200, PAGE(ORDER("2"), ""), NULL}},
     2,
     LEDGER_WHOLE,
     NULL,
     2,
     3,
     200},
    /* a passing trouble, and a page that is lost once */
    {{{503, "{}", NULL}, {429, "{}", NULL}, {200, PAGE(ORDER("1"), ""), NULL}},
     1,
     LEDGER_WHOLE,
     NULL,
     1,
     3,
     200},
    {{{0, "", NULL}, {200, PAGE("", ""), NULL}}, 0, LEDGER_WHOLE, NULL, 0, 2, 200},
    /* none */
    {{{404, "{}", NULL}}, 0, LEDGER_NONE, "page 1: status 404 ", 0, 1, 404},
    {{{405, "{}", NULL}}, 0, LEDGER_NONE, "page 1: status 405 ", 0, 1, 405},
    /* broken */
    {{{403, "{}", NULL}}, 0, LEDGER_BROKEN, "page 1: status 403 ", 0, 1, 403},
    {{{200, PAGE("", ",\"cursor\":\"a\""), NULL}, {404, "{}", NULL}},
     0,
     LEDGER_BROKEN,
     "page 2: status 404 ",
     0,
     2,
     0},
    {{{200, PAGE("", ",\"cursor\":\"a\""), NULL}, {405, "{}", NULL}},
     0,
     LEDGER_BROKEN,
     "page 2: status 405 ",
     0,
     2,
     0},
    {{{200, PAGE("", ",\"cursor\":\"a\""), NULL}, {403, "{}", NULL}},
     0,
     LEDGER_BROKEN,
     "page 2: status 403 ",
     0,
     2,
     403},
    {{{200, "not JSON", NULL}}, 9, LEDGER_BROKEN, "not a page of orders (page 1)", 0, 1, 0},
    {{{200, "{}", NULL}}, 9, LEDGER_BROKEN, "not a page of orders (page 1)", 0, 1, 0},
    {{{200, "{\"orders\":{}}", NULL}}, 9, LEDGER_BROKEN, "not a page of orders (page 1)", 0, 1, 0},
    {{{200, "{\"sale\":\"t\",\"orders\":[]}", NULL}},
     9,
     LEDGER_BROKEN,
     "it is another sale's (page 1)",
     0,
     1,
     0},
    {{{200, "{\"sale\":[],\"orders\":[]}", NULL}},
     9,
     LEDGER_BROKEN,
     "it is another sale's (page 1)",
     0,
     1,
     0},
    {{{200, "{\"item\":\"Q\",\"orders\":[]}", NULL}},
     9,
     LEDGER_BROKEN,
     "it is another item's (page 1)",
     0,
     1,
     0},
    {{{200, PAGE("{\"order\":1}", ""), NULL}},
     9,
     LEDGER_BROKEN,
     "an entry is no order (page 1)",
     0,
     1,
     0},
    {{{200, PAGE("7", ""), NULL}}, 9, LEDGER_BROKEN, "an entry is no order (page 1)", 0, 1, 0},
    {{{200, PAGE(ORDER("1") "," ORDER("2"), ""), NULL}},
     1,
     LEDGER_BROKEN,
     "its pages never end (page 1)",
     1,
     1,
     0},
    {{{200, PAGE("", ",\"cursor\":[]"), NULL}},
     9,
     LEDGER_BROKEN,
     "its cursor is not valid (page 1)",
     0,
     1,
     0},
    {{{200, PAGE("", ",\"cursor\":\"a\",\"cursor\":\"a\""), NULL}},
     9,
     LEDGER_BROKEN,
     "its cursor is not valid (page 1)",
     0,
     1,
     0},
    {{{200, PAGE("", ",\"cursor\":\"a\""), NULL},
      {200, PAGE("", ",\"cursor\":\"b\""), NULL},
      {200, PAGE("", ",\"cursor\":\"a\""), NULL}},
     9,
     LEDGER_BROKEN,
     "its cursor leads back to an earlier page (page 4)",
     0,
     4,
     0},
};

static void pages_are_read_to_the_end_or_not_at_all(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(readings); i++) {
        const reading *r = &readings[i];
        char err[256] = "stale", text[8192], tail[64];
        int answers = 0;
        while (answers < ANSWERS && r->answers[answers].body)
            answers++;
        canned_set(r->answers, answers);
        lt_ledger result = read_ledger(r->most, err, sizeof(err), text, sizeof(text));
        snprintf(tail, sizeof(tail), " target=0 status=%d%s", r->status, r->why ? " why=" : "\n");
        if (result != r->result || canned.asked_len != r->asked ||
            count_of(text, "\norder audit=7 ") != r->orders ||
            count_of(text, "\naudit n=7 ") != 1 || !strstr(text, tail) ||
            strcmp(err, r->why ? r->why : "") != 0)
            fail_msg("reading %zu: %d, asked %d times, \"%s\", %s", i, (int)result,
                     canned.asked_len, err, text);
    }
}

static void a_cursor_is_handed_back_as_it_came(void **unused)
{
    (void)unused;
    char err[256], text[8192], longest[128], body[256];
    memset(longest, 'c', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    snprintf(body, sizeof(body), "{\"orders\":[],\"cursor\":\"%s\"}", longest);
    canned_set((const canned_answer[]){{200, body, NULL}, {200, PAGE("", ""), NULL}}, 2);
    assert_int_equal(read_ledger(0, err, sizeof(err), text, sizeof(text)), LEDGER_WHOLE);
    assert_string_equal(canned.asked[0], "GET /orders?item=P");
    char expected[256];
    snprintf(expected, sizeof(expected), "GET /orders?item=P&cursor=%s", longest);
    assert_string_equal(canned.asked[1], expected);
    snprintf(body, sizeof(body), "{\"orders\":[],\"cursor\":\"%sx\"}", longest);
    canned_set((const canned_answer[]){{200, body, NULL}}, 1);
    assert_int_equal(read_ledger(0, err, sizeof(err), text, sizeof(text)), LEDGER_BROKEN);
    assert_string_equal(err, "its cursor is not valid (page 1)");
}

/* One page more than orders and segments can have. */
static void a_ledger_of_ever_new_empty_pages_ends(void **unused)
{
    (void)unused;
    enum { MOST = 3, ALLOWED = MOST + 100 };
    static char bodies[ALLOWED + 1][64];
    char err[256], text[8192];
    canned_answer answers[ALLOWED + 1];
    for (int i = 0; i <= ALLOWED; i++) {
        snprintf(bodies[i], sizeof(bodies[i]), "{\"orders\":[],\"cursor\":\"c%d\"}", i);
        answers[i] = (canned_answer){200, bodies[i], NULL};
    }
    canned_set(answers, ALLOWED + 1);
    assert_int_equal(read_ledger(MOST, err, sizeof(err), text, sizeof(text)), LEDGER_BROKEN);
    assert_string_equal(err, "its pages never end (page 104)");
    answers[ALLOWED - 1].body = "{\"orders\":[]}";
    canned_set(answers, ALLOWED);
    assert_int_equal(read_ledger(MOST, err, sizeof(err), text, sizeof(text)), LEDGER_WHOLE);
    assert_int_equal(canned.asked_len, ALLOWED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pages_are_read_to_the_end_or_not_at_all),
        cmocka_unit_test(a_cursor_is_handed_back_as_it_came),
        cmocka_unit_test(a_ledger_of_ever_new_empty_pages_ends),
    };
    return cmocka_run_group_tests(tests, start, stop);
}
