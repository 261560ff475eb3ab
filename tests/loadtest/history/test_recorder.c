/* What is written is what can be read again: escapes, whole lines, no `end` where lines are lost.
 */
#include "tests/support/fixture.h"

#include "loadtest/history/order.h"

#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>

enum { PENS = 4, LINES = 20000, TEXT_MOST = 512 };

static char *read_history(const lt_recorder *recorder, char *text, size_t size)
{
    FILE *file = fopen(recorder_path(recorder), "r");
    assert_non_null(file);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    fclose(file);
    assert_int_equal(strlen(text), length);
    return text;
}

static void values_are_escaped(void **unused)
{
    (void)unused;
    char err[256], text[1024];
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    lt_pen *pen = pen_new(recorder);
    pen_word(pen, "ask");
    pen_text(pen, "a", "x y=\t%\n\x7f");
    pen_text(pen, "b", "-");
    pen_text(pen, "c", "?");
    pen_text(pen, "d", "");
    pen_text(pen, "e", "--\xc3\xa4");
    pen_number(pen, "f", INT64_MIN);
    pen_number(pen, "g", 0);
    pen_time(pen, "h", 1999);
    pen_line(pen);
    pen_free(pen);
    recorder_end(recorder);
    assert_string_equal(read_history(recorder, text, sizeof(text)),
                        "flashsale-history 2\n"
                        "ask a=x%20y=%09%25%0A%7F b=%2D c=%3F d= e=--\xc3\xa4 "
                        "f=-9223372036854775808 g=0 h=1\n"
                        "end\n");
    recorder_free(recorder);
}

static void numbers_have_all_their_digits(void **unused)
{
    (void)unused;
    static const int64_t numbers[] = {0, 1, 9, 10, 17, 100, -1, -10, INT64_MAX, INT64_MIN};
    char err[256], text[1024], expected[1024];
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    lt_pen *pen = pen_new(recorder);
    int at = snprintf(expected, sizeof(expected), "flashsale-history 2\nall");
    pen_word(pen, "all");
    for (size_t i = 0; i < COUNT(numbers); i++) {
        pen_number(pen, "n", numbers[i]);
        at += snprintf(expected + at, sizeof(expected) - (size_t)at, " n=%lld",
                       (long long)numbers[i]);
    }
    snprintf(expected + at, sizeof(expected) - (size_t)at, "\n");
    pen_line(pen);
    pen_free(pen);
    assert_string_equal(read_history(recorder, text, sizeof(text)), expected);
    recorder_free(recorder);
}

/* Whoever told it: a line has room for all that is told in it. */
static void a_long_text_is_cut_off(void **unused)
{
    (void)unused;
    static char told[4096], text[8192];
    char err[256];
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    lt_pen *pen = pen_new(recorder);
    memset(told, 'a', sizeof(told) - 1);
    pen_word(pen, "ask");
    pen_text(pen, "told", told);
    pen_line(pen);
    pen_free(pen);
    const char *at = strstr(read_history(recorder, text, sizeof(text)), "told=");
    assert_non_null(at);
    assert_int_equal(strspn(at + strlen("told="), "a"), TEXT_MOST);
    recorder_free(recorder);
}

/* Numbers that no history can have are told, and not of their form. */
static void orders_are_written_as_told(void **unused)
{
    (void)unused;
    static const char json[] =
        "{\"order\":12,\"request\":\"r\",\"user\":7,\"quantity\":-1,\"remaining\":-1,"
        "\"fence\":99999999999999999,\"sale\":\"s\"}";
    char err[256], text[1024];
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    lt_pen *pen = pen_new(recorder);
    cJSON *object = json_parse(json, strlen(json));
    lt_order order, page;
    order_from_json(object, &order);
    order_from_json(NULL, &page);
    page.item = (lt_text){FORM_GOOD, "P"};
    pen_word(pen, "ask");
    order_write_told(pen, &order);
    pen_line(pen);
    pen_word(pen, "order");
    order_write_listed(pen, &order, &page);
    pen_line(pen);
    pen_free(pen);
    cJSON_Delete(object);
    assert_string_equal(
        read_history(recorder, text, sizeof(text)),
        "flashsale-history 2\n"
        "ask order=12 told_request=r sale=s told_user=? told_quantity=? remaining=-1 fence=?\n"
        "order order=12 request=r item=P sale=s user=? quantity=? remaining=-1 fence=?\n");
    recorder_free(recorder);
}

static void *write_lines(void *arg)
{
    lt_pen *pen = arg;
    for (int i = 0; i < LINES; i++) {
        pen_word(pen, "line");
        pen_number(pen, "number", i);
        pen_line(pen);
    }
    pen_free(pen);
    return NULL;
}

static void lines_of_several_pens_stay_whole(void **unused)
{
    (void)unused;
    char err[256], line[256];
    int lines = 0;
    pthread_t threads[PENS];
    lt_recorder *recorder = recorder_open(NULL, err, sizeof(err));
    for (int i = 0; i < PENS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, pen_new(recorder)), 0);
    for (int i = 0; i < PENS; i++)
        pthread_join(threads[i], NULL);
    FILE *file = fopen(recorder_path(recorder), "r");
    assert_non_null(fgets(line, sizeof(line), file));
    for (int number, end; fgets(line, sizeof(line), file); lines++)
        assert_true(sscanf(line, "line number=%d\n%n", &number, &end) == 1 &&
                    (size_t)end == strlen(line));
    assert_int_equal(lines, PENS * LINES);
    fclose(file);
    recorder_free(recorder);
}

static void without_room_there_is_no_end(void **unused)
{
    (void)unused;
    char err[256], path[512];
    static char text[100000];
    struct rlimit before, limit;
    char folder[256];
    fx_dir_make(folder, sizeof(folder));
    snprintf(path, sizeof(path), "%s/history", folder);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = (struct rlimit){.rlim_cur = 70000, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    lt_recorder *recorder = recorder_open(path, err, sizeof(err));
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    write_lines(pen_new(recorder));
    recorder_end(recorder);
    setrlimit(RLIMIT_FSIZE, &before);
    read_history(recorder, text, sizeof(text));
    assert_true(strlen(text) <= 70000 && !strstr(text, "\nend\n"));
    recorder_free(recorder);
    assert_null(recorder_open("/nowhere/at/all", err, sizeof(err)));
    assert_non_null(strstr(err, "/nowhere/at/all"));
    fx_dir_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_escaped),
        cmocka_unit_test(numbers_have_all_their_digits),
        cmocka_unit_test(a_long_text_is_cut_off),
        cmocka_unit_test(orders_are_written_as_told),
        cmocka_unit_test(lines_of_several_pens_stay_whole),
        cmocka_unit_test(without_room_there_is_no_end),
    };
    return cmocka_run_group_tests_name("recorder", tests, NULL, NULL);
}
