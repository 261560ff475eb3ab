/* The client of WebDriver, on a page of its own: what it says of a page can be relied on. */
#include "tests/support/browser/webdriver.h"

#include <stdio.h>
#include <stdlib.h>

static fx_browser *b;
static char dir[256], url[300];

static const char page[] =
    "<!DOCTYPE html><meta charset=utf-8><title>t</title><link rel=icon href='data:,'>\n"
    "<style>@media (prefers-color-scheme: dark) { body { color: rgb(1, 2, 3) } }</style>\n"
    "<label>a <input id=a value=old></label> <select id=s><option value=x>x<option>y\n"
    "</select> <button id=go onclick='document.title += \"!\"'>go</button>\n"
    "<p style='height:3000px'>tall</p>\n";

static int setup(void **state)
{
    char path[290];
    (void)state;
    fx_dir_make(dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/page.html", dir);
    FILE *out = fopen(path, "we");
    assert_non_null(out);
    fputs(page, out);
    fclose(out);
    snprintf(url, sizeof(url), "file://%s", path);
    if (fx_browser_is_there())
        b = fx_browser_start();
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    fx_browser_stop(b);
    fx_dir_remove(dir);
    return 0;
}

static void a_page_is_worked_as_by_a_person(void **state)
{
    (void)state;
    fx_need_browser();
    fx_browser_open(b, url);
    fx_browser_type(b, "#a", "new \"\xc3\xa4\"");
    fx_browser_choose(b, "#s", "y");
    fx_browser_click(b, "#go");
    assert_string_equal(fx_browser_text(b, "return document.querySelector('#a').value"),
                        "new \"\xc3\xa4\"");
    assert_string_equal(fx_browser_text(b, "return document.querySelector('#s').value"), "y");
    fx_browser_do(b, "document.querySelector('#s').focus()");
    fx_browser_press(b, KEY_TAB KEY_ENTER);
    fx_browser_press(b, KEY_SPACE);
    fx_browser_await(b, "document.title === 't!%s'", "!!");
    assert_false(fx_browser_holds(b, "document.title === 't'"));
}

static void its_size_and_colours_are_chosen(void **state)
{
    (void)state;
    static const char colour[] = "return getComputedStyle(document.body).color";
    fx_need_browser();
    fx_browser_open(b, url);
    fx_browser_resize(b, 375, 700);
    assert_int_equal((int)fx_browser_number(b, "return document.documentElement.clientWidth"), 980);
    fx_browser_do(b, "document.head.insertAdjacentHTML('beforeend',"
                     "'<meta name=viewport content=width=device-width>')");
    fx_browser_await(b, "document.documentElement.clientWidth === 375");
    fx_browser_prefer(b, "dark");
    assert_string_equal(fx_browser_text(b, colour), "rgb(1, 2, 3)");
    fx_browser_prefer(b, "light");
    assert_string_equal(fx_browser_text(b, colour), "rgb(0, 0, 0)");
    fx_browser_resize(b, 1280, 900);
}

/* Width and height stand in a PNG's first chunk. */
static void a_picture_has_all_of_the_page(void **state)
{
    (void)state;
    unsigned char head[24];
    char path[300];
    fx_need_browser();
    fx_browser_resize(b, 640, 480);
    fx_browser_open(b, url);
    snprintf(path, sizeof(path), "%s/shot.png", dir);
    fx_browser_shoot(b, path);
    FILE *in = fopen(path, "re");
    assert_non_null(in);
    assert_int_equal(fread(head, 1, sizeof(head), in), sizeof(head));
    fclose(in);
    assert_memory_equal(head, "\x89PNG\r\n\x1a\n", 8);
    assert_int_equal(head[18] << 8 | head[19], 640);
    assert_true((head[22] << 8 | head[23]) > 3000);
    fx_browser_resize(b, 1280, 900);
}

static bool console_has(const char *source, const char *words)
{
    bool found = false;
    const cJSON *entry;
    cJSON *console = fx_browser_console(b);
    cJSON_ArrayForEach(entry, console) {
        const cJSON *by = cJSON_GetObjectItemCaseSensitive(entry, "source");
        const cJSON *message = cJSON_GetObjectItemCaseSensitive(entry, "message");
        found =
            found || (strcmp(by->valuestring, source) == 0 && strstr(message->valuestring, words));
    }
    cJSON_Delete(console);
    return found;
}

static void what_goes_wrong_is_heard(void **state)
{
    (void)state;
    fx_need_browser();
    fx_browser_open(b, url);
    cJSON_Delete(fx_browser_console(b));
    free(fx_browser_asked(b));
    fx_browser_do(b, "setTimeout(() => { nosuch.thing(); }); console.error('said');"
                     "const i = new Image(); i.src = 'http://127.0.0.1:9/far.png';"
                     "i.onerror = () => { document.title = 'failed'; }");
    fx_browser_await(b, "document.title === 'failed'");
    char *asked = fx_browser_asked(b);
    assert_non_null(strstr(asked, "http://127.0.0.1:9/far.png\n"));
    free(asked);
    assert_true(console_has("javascript", "nosuch is not defined"));
    assert_false(console_has("javascript", "")); /* each is told once */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_is_worked_as_by_a_person),
        cmocka_unit_test(its_size_and_colours_are_chosen),
        cmocka_unit_test(a_picture_has_all_of_the_page),
        cmocka_unit_test(what_goes_wrong_is_heard),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
