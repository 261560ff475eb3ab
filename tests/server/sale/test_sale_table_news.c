/*
 * What an instance knows of an item after each piece of news, and what it logs of it: once when
 * something has changed, with what it was before, and never again for the same.
 */
#include "tests/support/fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "server/sale/sale_table.h"

static sale_table *table;
static char log_path[300], dir[256];

static int set_up(void **unused)
{
    (void)unused;
    fx_dir_make(dir, sizeof(dir));
    snprintf(log_path, sizeof(log_path), "%s/log", dir);
    table = sale_table_open(NULL); /* which asks no store by itself */
    return table ? 0 : -1;
}

static int tear_down(void **unused)
{
    (void)unused;
    sale_table_close(table);
    fx_dir_remove(dir);
    return 0;
}

/* Tells the news; what is logged of it, from the level on, is in `said`. */
static void tell(const char *item, const sale_news *news, char *said, size_t size)
{
    int out = dup(STDERR_FILENO), file = open(log_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(out >= 0 && file >= 0);
    dup2(file, STDERR_FILENO);
    sale_table_change(table, item, news);
    dup2(out, STDERR_FILENO);
    ssize_t len = pread(file, said, size - 1, 0);
    said[len > 0 ? len : 0] = '\0';
    close(out);
    close(file);
    char *level = strstr(said, "\"level\"");
    if (level)
        memmove(said, level, strlen(level) + 1);
}

static void note_state(void *arg, const char *item, sale_state state)
{
    if (strcmp(item, "P") == 0)
        *(sale_state *)arg = state;
}

static sale_state state_of_p(void)
{
    sale_state state = STATE_NONE;
    sale_table_each_unopened(table, note_state, &state);
    return state;
}

static const sale_halt first = {"s1", "lost", 9, 7, "i1", 0},
                       other = {"s1", "limits", 9, 7, "i1", 0},
                       later = {"s1", "lost", 9, 7, "i2", 5};

static const struct {
    sale_news news;
    sale_state state;
    const char *said; /* "" = nothing */
} story[] = {
    {{.event = EVENT_LIFTED}, STATE_NONE, ""},
    {{.event = EVENT_DAMAGED, .detail = "a field"},
     STATE_DAMAGED,
     "\"level\":\"error\",\"event\":\"sale_damaged\",\"item\":\"P\",\"sale\":\"\",\"was\":\"none\","
     "\"detail\":\"a field\"}\n"},
    {{.event = EVENT_DAMAGED, .detail = "a field"}, STATE_DAMAGED, ""},
    {{.event = EVENT_DAMAGED}, STATE_DAMAGED, ""},
    {{.event = EVENT_DAMAGED, .detail = "another"},
     STATE_DAMAGED,
     "\"level\":\"error\",\"event\":\"sale_damaged\",\"item\":\"P\",\"sale\":\"\",\"was\":"
     "\"damaged\",\"detail\":\"another\"}\n"},
    {{.event = EVENT_HALTED, .halt = &first},
     STATE_HALTED,
     "\"level\":\"error\",\"event\":\"sale_halted\",\"item\":\"P\",\"sale\":\"s1\",\"was\":"
     "\"damaged\",\"why\":\"lost\",\"known\":\"9\",\"found\":\"7\",\"gap\":\"2\",\"by\":\"i1\"}\n"},
    {{.event = EVENT_HALTED, .halt = &later}, STATE_HALTED, ""},
    {{.event = EVENT_HALTED}, STATE_HALTED, ""},
    {{.event = EVENT_HALTED, .halt = &other},
     STATE_HALTED,
     "\"level\":\"error\",\"event\":\"sale_halted\",\"item\":\"P\",\"sale\":\"s1\",\"was\":"
     "\"halted\",\"why\":\"limits\",\"known\":\"9\",\"found\":\"7\",\"gap\":\"2\",\"by\":\"i1\"}"
     "\n"},
    {{.event = EVENT_SUPERSEDED},
     STATE_OVER,
     "\"level\":\"info\",\"event\":\"sale_over\",\"item\":\"P\",\"sale\":\"\",\"was\":\"halted\"}"
     "\n"},
    {{.event = EVENT_SUPERSEDED}, STATE_OVER, ""},
    {{.event = EVENT_LIFTED},
     STATE_NONE,
     "\"level\":\"info\",\"event\":\"sale_dropped\",\"item\":\"P\",\"sale\":\"\",\"was\":\"over\"}"
     "\n"},
    {{.event = EVENT_SOUND},
     STATE_OPEN,
     "\"level\":\"info\",\"event\":\"sale_mended\",\"item\":\"P\",\"sale\":\"\",\"was\":\"none\"}"
     "\n"},
    {{.event = EVENT_SOUND}, STATE_OPEN, ""},
};

static void each_change_is_logged_once(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < COUNT(story); i++) {
        char said[2048];
        sale_halt halt;
        tell("P", &story[i].news, said, sizeof(said));
        if (state_of_p() != story[i].state || strcmp(said, story[i].said) != 0)
            fail_msg("news %zu: state %d, %s", i, (int)state_of_p(), said);
        assert_int_equal(sale_table_halt(table, "P", &halt), story[i].state == STATE_HALTED);
        if (story[i].state == STATE_HALTED && story[i].news.halt) {
            assert_string_equal(halt.why, story[i].news.halt->why);
            assert_string_equal(halt.instance, story[i].news.halt->instance);
        }
    }
}

/* Each member by which two halts differ. */
static void a_halt_is_news_when_it_is_another(void **unused)
{
    (void)unused;
    static const struct {
        sale_halt halt;
        bool is_news;
    } halts[] = {
        {{"s1", "lost", 9, 7, "i1", 0}, true},    {{"s1", "lost", 9, 7, "i2", 7}, false},
        {{"s2", "lost", 9, 7, "i1", 0}, true},    {{"s2", "limits", 9, 7, "i1", 0}, true},
        {{"s2", "limits", 8, 7, "i1", 0}, true},  {{"s2", "limits", 8, 6, "i1", 0}, true},
        {{"s2", "limits", 8, 6, "i1", 0}, false},
    };
    for (size_t i = 0; i < COUNT(halts); i++) {
        char said[2048];
        tell("P", &(sale_news){.event = EVENT_HALTED, .halt = &halts[i].halt}, said, sizeof(said));
        if ((said[0] != '\0') != halts[i].is_news)
            fail_msg("halt %zu: %s", i, said);
    }
}

/* News of a sale that is not the item's any more, and of an item that nobody knows. */
static void news_of_another_sale_is_none(void **unused)
{
    (void)unused;
    static const fs_sale gone;
    char said[2048];
    sale_halt halt;
    tell("P", &(sale_news){.event = EVENT_HALTED, .halt = &first, .of = &gone}, said, sizeof(said));
    assert_string_equal(said, "");
    assert_int_equal(state_of_p(), STATE_NONE);
    assert_false(sale_table_halt(table, "Q", &halt));
    assert_false(sale_table_knows(table, "Q"));
}

/* Many share a bucket. */
static void items_are_told_apart(void **unused)
{
    (void)unused;
    enum { ITEMS = 2000 };
    for (int i = 0; i < ITEMS; i++) {
        char item[16], said[2048], why[16];
        sale_halt halt = {.known = i};
        snprintf(item, sizeof(item), "i%d", i);
        snprintf(why, sizeof(why), "w%d", i);
        memcpy(halt.why, why, sizeof(halt.why));
        tell(item, &(sale_news){.event = EVENT_HALTED, .halt = &halt}, said, sizeof(said));
    }
    for (int i = 0; i < ITEMS; i++) {
        char item[16];
        sale_halt halt;
        snprintf(item, sizeof(item), "i%d", i);
        assert_true(sale_table_halt(table, item, &halt));
        assert_int_equal(halt.known, i);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_change_is_logged_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_halt_is_news_when_it_is_another, set_up, tear_down),
        cmocka_unit_test_setup_teardown(news_of_another_sale_is_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(items_are_told_apart, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
